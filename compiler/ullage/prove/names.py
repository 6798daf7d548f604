"""Live variables as a person calls them, in texts that the compiler spelled."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ullage.bound.problem import Live

_TOTAL = "total("


def with_labels(text: str, live: Iterable[Live]) -> str:
    """The text with every name that the compiler gave a live variable replaced.

    A total is what the author would write, any other one has the words of its label in quotes.
    """
    called = {each.name: _called(each) for each in live if each.label != each.name}
    if not called:
        return text
    longest_first = sorted(called, key=len, reverse=True)
    wanted = re.compile("|".join(rf"(?<!\w){re.escape(name)}(?![\w@])" for name in longest_first))
    return wanted.sub(lambda found: called[found[0]], text)


def _called(live: Live) -> str:
    if live.name.startswith(_TOTAL) and "@" not in live.name:
        return f"sum_requests({live.name.removeprefix(_TOTAL)}"
    return f"'{live.label}'"
