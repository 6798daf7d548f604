"""What can be wrong with an expression as it is written."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from ullage.place import Place


class ExpressionError(Exception):
    """An expression that the language does not allow, with the place of the offending part.

    `code` is stable (`expression-*`, `name-*`, `kind-*`, `unit-*`); `hint` says what to write
    instead, where that is known.
    """

    def __init__(self, code: str, message: str, place: Place, hint: str | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.place = place
        self.hint = hint

    def __str__(self) -> str:
        tail = f" ({self.hint})" if self.hint else ""
        return f"{self.place}: {self.message}{tail}"


def nearest(name: str, candidates: Iterable[str]) -> str | None:
    """The candidate most like `name`, or None when none is close."""
    close = difflib.get_close_matches(name, sorted(candidates), n=1, cutoff=0.6)
    return close[0] if close else None


def did_you_mean(name: str, candidates: Iterable[str]) -> str | None:
    """A hint that names the nearest candidate; with a few candidates, all of them."""
    known = sorted(candidates)
    close = nearest(name, known)
    if close is not None:
        return f"did you mean `{close}`?"
    if 0 < len(known) <= 6:
        return "known here: " + ", ".join(known)
    return None
