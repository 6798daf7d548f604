"""A plan's arenas in one configuration: every slot's place, and how good the plan is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ullage.expr.evaluate import evaluate_boolean
from ullage.plan.bytes import PlacedSlot, Values, aligned, bytes_by_device, layout_for
from ullage.plan.lifetimes import pairs_of
from ullage.plan.model import Base, Plan, PlannedRunner
from ullage.spec.model import DeviceRole

ROLES: tuple[DeviceRole, ...] = ("compute", "host")

Pairs = frozenset[frozenset[str]]
"""Runners that may be alive together, two by two."""


@dataclass(frozen=True, slots=True)
class PlacedRunner:
    """A runner or kept part in an arena: bytes [start, start + bytes), its slots from there on."""

    name: str
    start: int
    bytes: int
    slots: tuple[PlacedSlot, ...]

    @property
    def end(self) -> int:
        """The first byte behind the runner."""
        return self.start + self.bytes


@dataclass(frozen=True, slots=True)
class PlacedArena:
    """The arena of one device role; slots' offsets count from the start of the arena.

    `lower_bound`: the bytes of the largest set of runners alive at once, which every placement
    needs.
    """

    device: DeviceRole
    bytes: int
    lower_bound: int
    runners: tuple[PlacedRunner, ...]

    @property
    def gap(self) -> int:
        """Bytes that a better placement might save, at most."""
        return self.bytes - self.lower_bound

    @property
    def alone(self) -> int:
        """What the runners would take if each had an arena of its own."""
        return sum(runner.bytes for runner in self.runners)

    def sharing(self, slot: PlacedSlot) -> Iterator[tuple[str, PlacedSlot]]:
        """The runners and slots that a slot shares bytes with, except itself."""
        for runner in self.runners:
            for other in runner.slots:
                if other is not slot and slot.offset < other.end and other.offset < slot.end:
                    yield runner.name, other


def arenas_for(plan: Plan, values: Values) -> tuple[PlacedArena, ...]:
    """The arena of each device role that has slots; `values` as `layout_for` takes them."""
    slots = dict(pair for runner in plan.runners for pair in _parts(runner, values))
    alive = alive_together(plan, values)
    arenas = (_arena(role, plan.bases, slots, alive) for role in ROLES)
    return tuple(arena for arena in arenas if arena.runners)


def _parts(runner: PlannedRunner, values: Values) -> Iterator[tuple[str, tuple[PlacedSlot, ...]]]:
    """The slots of a runner, then those that are kept, each part from its own start."""
    placed = layout_for(runner, values)
    yield runner.name, tuple(slot for slot in placed if not slot.kept)
    if runner.kept is not None:
        ends = bytes_by_device(slot for slot in placed if not slot.kept)
        yield (
            runner.kept,
            tuple(
                replace(slot, offset=slot.offset - ends.get(slot.device, 0))
                for slot in placed
                if slot.kept
            ),
        )


def alive_together(plan: Plan, values: Values) -> Pairs:
    """Which runners may be alive at the same time in a configuration."""
    occurring = (each for each in plan.groups if evaluate_boolean(each.condition, values))
    return frozenset(pair for group in occurring for pair in pairs_of(group))


def _arena(
    device: DeviceRole,
    bases: Sequence[Base],
    slots: Mapping[str, tuple[PlacedSlot, ...]],
    alive: Pairs,
) -> PlacedArena:
    own = {
        base.runner: tuple(slot for slot in slots[base.runner] if slot.device == device)
        for base in bases
    }
    sizes = {name: _end(each) for name, each in own.items()}
    starts = starts_of(bases, sizes, alive)
    runners = tuple(
        _moved(name, starts[name], sizes[name], own[name]) for name in slots if own[name]
    )
    size = max((runner.end for runner in runners), default=0)
    return PlacedArena(device, size, heaviest(sizes, alive), runners)


def _end(slots: Sequence[PlacedSlot]) -> int:
    return max((aligned(slot.end) for slot in slots), default=0)


def starts_of(bases: Sequence[Base], sizes: Mapping[str, int], alive: Pairs) -> Mapping[str, int]:
    """The first byte of every runner: the largest end of those below that are alive with it."""
    starts: dict[str, int] = {}
    for base in bases:
        ends = (
            starts[each.runner] + sizes[each.runner]
            for each in base.below
            if frozenset((each.runner, base.runner)) in alive
        )
        starts[base.runner] = max(ends, default=0)
    return starts


def _moved(name: str, start: int, size: int, slots: Sequence[PlacedSlot]) -> PlacedRunner:
    placed = tuple(replace(slot, offset=start + slot.offset) for slot in slots)
    return PlacedRunner(name, start, size, placed)


def heaviest(sizes: Mapping[str, int], alive: Pairs) -> int:
    """The largest sum of sizes of runners that are all alive together."""

    def best(candidates: tuple[str, ...]) -> int:
        found = 0
        for position, name in enumerate(candidates):
            beside = tuple(
                other for other in candidates[position + 1 :] if frozenset((name, other)) in alive
            )
            found = max(found, sizes[name] + best(beside))
        return found

    return best(tuple(sizes))
