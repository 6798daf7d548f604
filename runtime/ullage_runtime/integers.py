"""Exact integer functions of the spec language, as generated code calls them."""

from __future__ import annotations

from collections.abc import Iterable


def align_up(value: int, alignment: int) -> int:
    """Smallest multiple of `alignment` that is at least `value`. ValueError if alignment < 1."""
    return cdiv(value, alignment) * alignment


def cdiv(value: int, divisor: int) -> int:
    """`value / divisor`, rounded up. ValueError if divisor < 1."""
    if divisor < 1:
        raise ValueError(f"A divisor or alignment must be at least 1, and this one is {divisor}.")
    return -(-value // divisor)


def next_in(value: int, members: Iterable[int]) -> int:
    """Smallest of `members` (in any order) that is at least `value`. ValueError if there is none.

    Exact for any order because engines do not promise sorted bucket lists.
    """
    found = min((member for member in members if member >= value), default=None)
    if found is None:
        raise ValueError(f"No member of the list is at least {value}.")
    return found
