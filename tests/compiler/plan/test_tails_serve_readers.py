"""Whoever reads padded rows finds what it wants there; who cannot be served is told so."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from support.plans import READERS, RUNNER, TINY, planned, tiny
from support.specs import Files, with_file
from ullage.expr.evaluate import evaluate
from ullage.expr.parse import parse
from ullage.expr.tree import Expr
from ullage.place import Place

CONDITIONS = ("true", "drafting", "not drafting", "step > 8", "not drafting and step <= 8")
FILLS = ("0", "1", "5", "step", "sink + 1", "min(step, 1)", "5 if drafting else 1")
RANGES = (("0", "9"), ("1", "70"), ("sink", "sink + 4"), ("5", "64"))


@dataclass(frozen=True)
class Wish:
    """A reader of padded rows: a fill, or a range of which any value will do."""

    when: str
    ends: tuple[str, ...]

    @property
    def yaml(self) -> str:
        if len(self.ends) == 1:
            return f'fill: "{self.ends[0]}"'
        return f'range: ["{self.ends[0]}", "{self.ends[1]}"]'

    def allows(self, value: int, configuration: dict[str, int | bool]) -> bool:
        if not evaluate(parsed(self.when), configuration):
            return True
        low, high = (evaluate(parsed(self.ends[end]), configuration) for end in (0, -1))
        assert isinstance(low, int)
        assert isinstance(high, int)
        return low <= value <= high


def parsed(text: str) -> Expr:
    return parse(text, Place("wish", 1, 1).within)


def spec_of(wishes: list[Wish]) -> Files:
    """The tiny spec where these readers, and no others, read `lengths`."""
    files = tiny(READERS, ("{lengths: {rows: padded, fill: 1}}", "{lengths: {rows: live}}"))
    names = [f"reader_{index}" for index in range(len(wishes))]
    lines = [
        f'  {name}: {{when: "{wish.when}", reads: {{lengths: {{rows: padded, {wish.yaml}}}}}}}\n'
        for name, wish in zip(names, wishes, strict=True)
    ]
    runner = TINY[RUNNER].replace("[planner,", f"[planner, {', '.join(names)},")
    return with_file("z.yaml", "readers:\n" + "".join(lines), files={**files, RUNNER: runner})


def configurations() -> Iterator[dict[str, int | bool]]:
    for drafting, step, sink in product((False, True), (1, 2, 5, 8, 9, 64), (0, 3, 4, 9)):
        yield {"drafting": drafting, "step": step, "sink": sink}


def is_servable(wishes: list[Wish], configuration: dict[str, int | bool]) -> bool:
    """Whether some value satisfies every wish: the slow way, value by value."""
    return any(all(wish.allows(value, configuration) for wish in wishes) for value in range(71))


WISHES = st.builds(
    Wish,
    st.sampled_from(CONDITIONS),
    st.one_of(st.sampled_from(FILLS).map(lambda fill: (fill,)), st.sampled_from(RANGES)),
)


@settings(max_examples=25)
@example([Wish("drafting", ("0",)), Wish("not drafting", ("1", "70"))])
@example([Wish("drafting", ("5",)), Wish("drafting", ("5",)), Wish("not drafting", ("0", "9"))])
@given(st.lists(WISHES, min_size=1, max_size=3))
@pytest.mark.slow
def test_a_tail_serves_all_its_readers_or_is_refused(wishes: list[Wish]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        found = planned(Path(folder), spec_of(wishes))
    unservable = [each for each in configurations() if not is_servable(wishes, each)]
    fill = found.slots()["lengths"].tails["extend"].fill
    if found.problems:
        # Of several ranges one value is looked for that is in all of them.
        several_ranges = sum(len(wish.ends) == 2 for wish in wishes) > 1
        assert unservable or several_ranges, found.problems
        return
    assert fill is not None
    for configuration in configurations():
        value = evaluate(fill, configuration)
        assert isinstance(value, int)
        assert all(wish.allows(value, configuration) for wish in wishes)
