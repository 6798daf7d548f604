"""The codes, from the catalogue of diagnostics, under which problems of a spec are reported."""

from __future__ import annotations

from typing import Final

from ullage.expr import errors

UNKNOWN_KEY: Final = "U201"
MISSING_KEY: Final = "U202"
WRONG_VALUE: Final = "U203"
DEFINED_TWICE: Final = "U205"
UNKNOWN_REFERENCE: Final = "U211"
OTHER_LANGUAGE: Final = "U212"
CONTRADICTING_KEYS: Final = "U213"
WRONG_COUNT: Final = "U214"
NO_CHAIN: Final = "U215"
NO_TAKER: Final = "U216"
NOT_EXCLUSIVE: Final = "U217"
NO_CLASS: Final = "U219"
NOT_TOGETHER: Final = "U220"
NOT_FLAT: Final = "U222"

UNKNOWN_NAME: Final = errors.UNKNOWN_NAME
OVER_A_LIMIT: Final = errors.OVER_A_LIMIT
WRONG_ARGUMENTS: Final = errors.WRONG_ARGUMENTS
WRONG_KIND: Final = errors.WRONG_KIND
UNITS_DIFFER: Final = errors.UNITS_DIFFER
NOT_ALLOWED_HERE: Final = "U313"
EMPTY_RANGE: Final = "U314"
DEFAULT_OUT_OF_RANGE: Final = "U316"

UNGIVEN_VALUE: Final = "U213"

CYCLE: Final = "U404"
UNWRITTEN_TAIL: Final = "U602"
COLLECTIVE_ORDER: Final = "U609"
NOTHING_TO_COMPARE: Final = "U803"
