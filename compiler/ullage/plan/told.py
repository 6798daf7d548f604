"""What is wrong with plans: the same mistake in many modes, runners and workers is told once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from ullage.diagnostics.diagnostic import Diagnostic, Related, Severity
from ullage.place import Place


@dataclass(slots=True)
class Told:
    """Errors by code and the places that make two of them the same mistake."""

    found: dict[tuple[str, tuple[Place, ...]], Diagnostic] = field(default_factory=dict)

    def add(
        self,
        same: tuple[Place, ...],
        code: str,
        message: str,
        *,
        hint: str | None = None,
        related: Related = (),
        severity: Severity = "error",
    ) -> None:
        """An error or warning at the first place of `same`, unless it is known already."""
        diagnostic = Diagnostic(code, message, same[0], hint, related, severity)
        self.found.setdefault((code, same), diagnostic)


def joined(several: Iterable[Told]) -> tuple[Diagnostic, ...]:
    """What all have told, each once."""
    found: dict[tuple[str, tuple[Place, ...]], Diagnostic] = {}
    for told in several:
        for key, diagnostic in told.found.items():
            found.setdefault(key, diagnostic)
    return tuple(found.values())
