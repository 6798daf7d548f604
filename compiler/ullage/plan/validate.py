"""Checking a placement anew, without anything that made it.

What may be alive together is read from the spec's own groups once more, and slots are compared two
by two: no bytes in common, every start aligned, every slot inside of its arena.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from ullage.expr.evaluate import evaluate_boolean
from ullage.plan.arenas import PlacedArena
from ullage.spec.check import ResolvedSpec
from ullage.spec.model import Concurrent, Spec

Values = Mapping[str, int | bool | Sequence[int]]
Beside = Callable[[str, str], bool]
"""Whether two runners, named as in the plan, may be alive together."""


@dataclass(frozen=True, slots=True)
class Placed:
    """One slot of one runner: bytes [start, end) of an arena. A `kept` one is always alive."""

    runner: str
    slot: str
    start: int
    end: int
    kept: bool = False

    def __str__(self) -> str:
        return f"{self.runner}.{self.slot} in bytes {self.start} to {self.end}"


@dataclass(frozen=True, slots=True)
class Flaw:
    """What is wrong, in words, and the slots that it is wrong with."""

    text: str
    slots: tuple[Placed, ...]

    def __str__(self) -> str:
        return self.text


def flaws_of(
    arenas: Iterable[PlacedArena], resolved: ResolvedSpec, values: Values, alignment: int
) -> tuple[Flaw, ...]:
    """What is wrong with the arenas of a configuration; nothing if all is well.

    `values` is a whole configuration with its definitions.
    """
    groups = [each for each in resolved.spec.concurrent if evaluate_boolean(each.when, values)]

    kept = frozenset(slot.name for slot in resolved.spec.slots if slot.lifetime != "load")

    def beside(one: str, two: str) -> bool:
        return any(_beside(group, resolved.spec, one, two) for group in groups)

    return tuple(
        Flaw(f"{arena.device} arena: {flaw}", flaw.slots)
        for arena in arenas
        for flaw in flaws_of_slots(tuple(_slots(arena, kept)), arena.bytes, alignment, beside)
    )


def flaws_of_slots(
    slots: Sequence[Placed], size: int, alignment: int, beside: Beside
) -> Iterator[Flaw]:
    """What is wrong with slots in one arena of `size` bytes."""
    for slot in slots:
        if slot.start % alignment != 0:
            yield Flaw(f"{slot} does not begin at a multiple of {alignment}", (slot,))
        if not 0 <= slot.start <= slot.end <= size:
            yield Flaw(f"{slot} leaves the {size} bytes of the arena", (slot,))
    for one, two in combinations(slots, 2):
        shared = min(one.end, two.end) - max(one.start, two.start)
        alive = one.kept or two.kept or one.runner == two.runner or beside(one.runner, two.runner)
        if shared > 0 and alive:
            text = f"{one} and {two} are alive together and share {shared} bytes"
            yield Flaw(text, (one, two))


def _slots(arena: PlacedArena, kept: frozenset[str]) -> Iterator[Placed]:
    for runner in arena.runners:
        for slot in runner.slots:
            end = slot.offset + slot.bytes
            yield Placed(runner.name, slot.name, slot.offset, end, slot.name in kept)


def _beside(group: Concurrent, spec: Spec, one: str, two: str) -> bool:
    """Whether the group has the two runners under two different names."""
    named_one = {name for name in group.runners if _means(spec, name, one)}
    named_two = {name for name in group.runners if _means(spec, name, two)}
    return bool(named_one and named_two and not named_one & named_two)


def _means(spec: Spec, name: str, runner: str) -> bool:
    own = {f"{name}_{w}" for each in spec.runners if each.name == name for w in each.workers}
    return runner == name or runner in own
