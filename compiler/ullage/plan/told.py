"""What is wrong with plans: the same mistake in many modes, runners and workers is told once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from ullage.diagnostics.diagnostic import Diagnostic, Related
from ullage.place import Place


@dataclass(slots=True)
class Told:
    """Errors by code and the places that make two of them the same mistake."""

    found: dict[tuple[str, tuple[Place, ...]], Diagnostic] = field(default_factory=dict)

    def error(
        self,
        same: tuple[Place, ...],
        code: str,
        message: str,
        *,
        hint: str | None = None,
        related: Related = (),
    ) -> None:
        """An error at the first place of `same`, unless that mistake is known already."""
        diagnostic = Diagnostic(code, message, same[0], hint, related)
        self.found.setdefault((code, same), diagnostic)


def joined(several: Iterable[Told]) -> tuple[Diagnostic, ...]:
    """The errors of all, each once."""
    found: dict[tuple[str, tuple[Place, ...]], Diagnostic] = {}
    for told in several:
        for key, diagnostic in told.found.items():
            found.setdefault(key, diagnostic)
    return tuple(found.values())
