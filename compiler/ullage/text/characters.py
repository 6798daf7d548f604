"""Which characters a spec may contain."""

from __future__ import annotations

import re
from typing import Final

# Besides controls: line breaks that only some programs honour, and marks that reorder what is
# shown, so that the text which is read would not be the text that is compiled.
FORBIDDEN: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff"
    "\ufeff\ufffe\uffff]"
)


def refusal(char: str) -> str:
    """The message for a forbidden character."""
    return f"the character U+{ord(char):04X} is not allowed in a spec"
