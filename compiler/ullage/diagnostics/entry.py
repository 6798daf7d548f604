"""One entry of the error catalogue."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Code:
    """A kind of error: what it means, how it looks and what to do about it.

    The message of a diagnostic says what was found at one place; a code explains the rule.
    """

    id: str
    title: str
    meaning: str
    example: str
    remedy: str
