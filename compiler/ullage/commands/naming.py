"""Two names of a specs folder: the one that generated code cites, the one that opens it here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from ullage.diagnostics.diagnostic import Diagnostic, DiagnosticError
from ullage.place import Place
from ullage.text.listing import name_below, shown_name, stable_name


@dataclass(frozen=True, slots=True)
class Naming:
    """`stable` wherever it is compiled; `shown` leads there from the working folder."""

    stable: str
    shown: str

    def place(self, place: Place) -> Place:
        """A place in the folder by its shown name; any other as it is."""
        return replace(place, file=self._file(place.file))

    def diagnostics(self, found: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
        """The diagnostics with shown names in all of their places."""
        return tuple(
            replace(
                each,
                place=self.place(each.place),
                related=tuple((self.place(place), note) for place, note in each.related),
            )
            for each in found
        )

    def texts(self, texts: Mapping[str, str]) -> dict[str, str]:
        """Texts by the shown names of their files."""
        return {self._file(name): text for name, text in texts.items()}

    def error(self, error: DiagnosticError) -> DiagnosticError:
        """The same error with shown names."""
        return DiagnosticError(self.diagnostics(error.diagnostics), self.texts(error.sources))

    def _file(self, name: str) -> str:
        if name == self.stable:
            return self.shown
        below = name.removeprefix(f"{self.stable}/")
        return name if below == name else name_below(self.shown, below)


def naming_of(specs: Path) -> Naming:
    """The names of a specs folder, seen from the working folder."""
    return Naming(stable_name(specs), shown_name(specs, Path.cwd()))
