"""Errors and warnings as values, collected during a pass and reported together."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from ullage.place import Place

Severity = Literal["error", "warning"]
Related = tuple[tuple[Place, str], ...]


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """What is wrong at one place; `related` are other places, each with what is to be seen there.

    The message says what was found and what was expected. The hint is something to type.
    """

    code: str
    message: str
    place: Place
    hint: str | None = None
    related: Related = ()
    severity: Severity = "error"

    def __str__(self) -> str:
        return f"{self.place}: {self.severity}[{self.code}]: {self.message}"


class DiagnosticError(Exception):
    """One or more errors in what the user wrote; `sources` are the texts they point into."""

    def __init__(
        self, diagnostics: Iterable[Diagnostic], sources: Mapping[str, str] | None = None
    ) -> None:
        self.diagnostics = tuple(diagnostics)
        self.sources: Mapping[str, str] = dict(sources or {})
        super().__init__("\n".join(map(str, self.diagnostics)))

    def __reduce__(self) -> tuple[type[DiagnosticError], tuple[object, ...]]:
        """As another process passes it on: exceptions are made again of their message alone."""
        return type(self), (self.diagnostics, self.sources)


class Collector:
    """Gathers the diagnostics of a run, so that one mistake does not hide the next."""

    def __init__(self, sources: Mapping[str, str] | None = None) -> None:
        self._found: dict[Diagnostic, None] = {}
        self._sources: dict[str, str] = dict(sources or {})

    def error(
        self,
        code: str,
        message: str,
        place: Place,
        *,
        hint: str | None = None,
        related: Related = (),
    ) -> None:
        """Record an error."""
        self.add(Diagnostic(code, message, place, hint, related))

    def warn(
        self,
        code: str,
        message: str,
        place: Place,
        *,
        hint: str | None = None,
        related: Related = (),
    ) -> None:
        """Record a warning; it never fails a run."""
        self.add(Diagnostic(code, message, place, hint, related, "warning"))

    def add(self, *diagnostics: Diagnostic) -> None:
        """Record diagnostics made elsewhere."""
        self._found.update(dict.fromkeys(diagnostics))

    def add_source(self, name: str, text: str) -> None:
        """Remember a text that diagnostics may point into."""
        self._sources[name] = text

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """Everything recorded, once each, in the order of the places."""
        return tuple(sorted(self._found, key=_order))

    @property
    def sources(self) -> Mapping[str, str]:
        """The remembered texts by file name."""
        return dict(self._sources)

    @property
    def has_errors(self) -> bool:
        """Whether anything worse than a warning was recorded."""
        return any(found.severity == "error" for found in self._found)

    def raise_if_errors(self) -> None:
        """Raise DiagnosticError with everything recorded, if any of it is an error."""
        if self.has_errors:
            raise DiagnosticError(self.diagnostics, self._sources)


def _order(diagnostic: Diagnostic) -> tuple[Place, str, str, str]:
    return diagnostic.place, diagnostic.severity, diagnostic.code, diagnostic.message


def nearest(word: str, candidates: Iterable[str]) -> str | None:
    """The candidate most like `word`, or None if none is alike."""
    if len(word) > 100:  # nobody mistypes that much, and difflib is quadratic
        return None
    found = difflib.get_close_matches(word, sorted(set(candidates)), n=1, cutoff=0.6)
    return found[0] if found else None


def did_you_mean(word: str, candidates: Iterable[str]) -> str | None:
    """`did you mean 'x'?` for the nearest candidate, or None if none is alike."""
    candidate = nearest(word, candidates)
    return None if candidate is None else f"did you mean '{candidate}'?"
