"""What can be wrong with an expression as it is written."""

from __future__ import annotations

from collections.abc import Iterable

from ullage.diagnostics.diagnostic import Diagnostic, nearest
from ullage.place import Place

NOT_AN_EXPRESSION = "U301"
NOT_IN_THE_LANGUAGE = "U310"
OVER_A_LIMIT = "U307"
NOT_A_NAME = "U308"
UNKNOWN_NAME = "U302"
UNKNOWN_FUNCTION = "U312"
UNKNOWN_VALUE = "U309"
WRONG_ARGUMENTS = "U311"
WRONG_KIND = "U303"
UNITS_DIFFER = "U304"
NOT_A_UNIT = "U315"

SHORT_LIST = 8


class ExpressionError(Exception):
    """An expression that the language does not allow, with the place of the offending part."""

    def __init__(self, code: str, message: str, place: Place, hint: str | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.place = place
        self.hint = hint

    def __str__(self) -> str:
        return str(self.diagnostic)

    @property
    def diagnostic(self) -> Diagnostic:
        """The error as a value to collect."""
        return Diagnostic(self.code, self.message, self.place, self.hint)


def suggestion(word: str, candidates: Iterable[str]) -> str | None:
    """The nearest candidate as a hint; where none is alike, all of them if they are few."""
    known = sorted(candidates)
    alike = nearest(word, known)
    if alike is not None:
        return f"did you mean '{alike}'?"
    return "known: " + ", ".join(known) if 0 < len(known) <= SHORT_LIST else None
