"""What the texts of identifiers and integers may look like."""

from __future__ import annotations

import keyword
import re

IDENTIFIER_RULE = (
    "a name starts with a-z, goes on with a-z, 0-9 or _, has at most 64 characters "
    "and is not a reserved word of Python"
)
INTEGER_RULE = "an integer such as 65536, 65_536, 2^16 or -1"
INTEGER_LIMIT = 2**63

_IDENTIFIER = re.compile(r"[a-z][a-z0-9_]{0,63}")
_INTEGER = re.compile(r"(-?)(0|[1-9][0-9]{0,18}|[1-9][0-9]{0,2}(?:_[0-9]{3}){1,6})")
_POWER = re.compile(r"(-?)([1-9][0-9]{0,2})\^(0|[1-9][0-9]?)")

# `type` became a soft keyword in Python 3.12; the others would shadow a literal or a receiver.
_RESERVED = frozenset(keyword.kwlist) | {"match", "case", "type", "true", "false", "self", "cls"}


def is_identifier(text: str) -> bool:
    """Whether `text` may name something in a spec, and so in generated code."""
    return _IDENTIFIER.fullmatch(text) is not None and text not in _RESERVED


def is_reserved(text: str) -> bool:
    """Whether `text` looks like a name but is taken by Python."""
    return text in _RESERVED


def suggest_identifier(text: str) -> str | None:
    """A legal name close to `text`, or None if nothing of it can be kept."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", text[:200])
    name = re.sub(r"[^a-z0-9]+", "_", words.lower()).strip("_").lstrip("0123456789_")[:64]
    candidate = f"{name}_" if is_reserved(name) else name
    return candidate if is_identifier(candidate) else None


def parse_integer(text: str) -> int | None:
    """The value of an integer text, or None if it is not one of magnitude up to 2^63."""
    if (plain := _INTEGER.fullmatch(text)) is not None:
        value = int(plain[2].replace("_", ""))
        sign = plain[1]
    elif (power := _POWER.fullmatch(text)) is not None:
        value = int(power[2]) ** int(power[3])
        sign = power[1]
    else:
        return None
    return None if value > INTEGER_LIMIT else -value if sign else value
