"""Which capacity each dimension of a slot takes: that of an axis, or one of its own."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace

from ullage.bound.declared import Counts, declared_lows
from ullage.bound.polarity import Polarity
from ullage.bound.problem import ModeProblem, RunnerProblem
from ullage.expr.tree import Expr, Name, Over, free_names, substitute, walk
from ullage.spec.check import ResolvedSpec
from ullage.spec.model import Mode, Runner, Slot

Dimensions = Mapping[str, tuple[str | None, ...]]
"""The target of each dimension by slot; None where parameters alone decide."""


@dataclass(frozen=True, slots=True)
class Targets:
    """The modes with the extents of every target, and the targets that slots take."""

    modes: tuple[ModeProblem, ...]
    dimensions: Dimensions
    along: Mapping[str, str]
    slack: Mapping[str, str]


def loaded_slots(resolved: ResolvedSpec, runner: Runner, mode: Mode) -> list[Slot]:
    """The slots of the runner that a batch of this mode loads."""
    labels = {mode.name, *mode.families}
    return [
        slot
        for slot in resolved.slots_of(runner)
        if not slot.modes or not labels.isdisjoint(slot.modes)
    ]


def needed_axes(resolved: ResolvedSpec, runner: Runner) -> frozenset[str]:
    """The axes that need a capacity: those of every batch, and others that something asks for.

    That are slots, limits of the runner, and what an audit states of it.
    """
    shapes = (extent for slot in resolved.slots_of(runner) for extent in slot.shape)
    formulas = (each for audit in resolved.spec.audits for each in audit.formulas)
    asked = (
        *(each.name for each in shapes if isinstance(each, Name)),
        *(axis for axis, _ in runner.limits),
        *(each.target for each in formulas if each.runner == runner.name),
    )
    return resolved.brought_axes | (resolved.axes & frozenset(asked))


def own_target(slot: Slot, position: int) -> str:
    """What the capacity of a slot's own dimension is called."""
    return f"{slot.name}.{position}"


def needs_own_capacity(resolved: ResolvedSpec, dimension: Expr) -> bool:
    """Whether a dimension neither follows from parameters alone nor rises with a single axis."""
    if axis_of(resolved, dimension) is not None:
        return False
    axes, kinds = resolved.axes, resolved.kinds
    names = free_names(substitute(dimension, resolved.serving))
    if names & resolved.varying:
        return True
    if any(name not in axes and name not in kinds and name != "worker" for name in names):
        return True
    if any(isinstance(part, Over) for part in walk(dimension)):
        return True
    return bool(names & axes)


def own_dimensions(resolved: ResolvedSpec, runner: Runner) -> Mapping[str, Mapping[str, Expr]]:
    """The dimensions with a capacity of their own by its name, for each slot of a runner."""
    return {
        slot.name: {
            own_target(slot, position): dimension
            for position, dimension in enumerate(slot.shape)
            if needs_own_capacity(resolved, dimension)
        }
        for slot in resolved.slots_of(runner)
    }


def axis_of(resolved: ResolvedSpec, dimension: Expr) -> str | None:
    """The axis that the dimension is, or that it rises with: it is longest where that is."""
    if isinstance(dimension, Name):
        return dimension.name if dimension.name in resolved.axes else None
    names = free_names(substitute(dimension, resolved.serving))
    axes = names & resolved.axes
    known = names <= {*axes, *resolved.kinds, "worker"} and not names & resolved.varying
    if len(axes) != 1 or not known or any(isinstance(part, Over) for part in walk(dimension)):
        return None
    form = Polarity(axes, Counts(declared_lows(resolved, lambda written: written)))
    return next(iter(axes)) if form.rises(dimension) and form.is_count(dimension) else None


def with_targets(resolved: ResolvedSpec, runner: Runner, modes: tuple[ModeProblem, ...]) -> Targets:
    """What the slots of a runner take on one worker, whose modes `modes` are.

    A slot that only some of them load has an axis as long as those need it; slots that the same
    ones load share that capacity, which has the name of the first. What rises with an axis has no
    capacity of its own.
    """
    found = _Search(resolved, runner, modes)
    dimensions = {slot.name: tuple(found.targets(slot)) for slot in resolved.slots_of(runner)}
    longer = tuple(
        _with_extents(mode, found.extents[mode.name], found.along)
        if mode.name in found.extents
        else mode
        for mode in modes
    )
    return Targets(longer, dimensions, found.along, {**dict(runner.slack), **found.slack})


def _with_extents(
    mode: ModeProblem, extents: Mapping[str, Expr], along: Mapping[str, str]
) -> ModeProblem:
    """The mode with further extents, each of which is an axis by another name."""
    rounds = tuple(
        replace(
            each, extents={**each.extents, **{new: each.extents[along[new]] for new in extents}}
        )
        for each in mode.rounds
    )
    return replace(mode, extents={**mode.extents, **extents}, rounds=rounds)


def with_axes(runner: RunnerProblem, taken: Collection[str]) -> RunnerProblem:
    """The runner where the slots with some targets of `along` take the axes instead."""
    if not taken:
        return runner

    def other(target: str | None) -> str | None:
        return target if target is None or target not in taken else runner.along[target]

    modes = tuple(
        replace(mode, extents={k: v for k, v in mode.extents.items() if k not in taken})
        for mode in runner.modes
    )
    return replace(
        runner,
        modes=modes,
        targets=tuple(each for each in runner.targets if each not in taken),
        dimensions={slot: tuple(map(other, each)) for slot, each in runner.dimensions.items()},
        along={k: v for k, v in runner.along.items() if k not in taken},
    )


@dataclass(slots=True)
class _Search:
    """Goes through the slots of one runner in order."""

    resolved: ResolvedSpec
    runner: Runner
    modes: tuple[ModeProblem, ...]
    loading: dict[str, list[ModeProblem]] = field(init=False)
    named: dict[tuple[str, ...], str] = field(default_factory=dict)
    extents: dict[str, dict[str, Expr]] = field(default_factory=dict)
    along: dict[str, str] = field(default_factory=dict)
    slack: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.loading = {slot.name: [] for slot in self.resolved.slots_of(self.runner)}
        for mode in self.modes:
            declared = self.resolved.modes[mode.name]
            for slot in loaded_slots(self.resolved, self.runner, declared):
                self.loading[slot.name].append(mode)

    def targets(self, slot: Slot) -> Iterator[str | None]:
        """The target of each dimension of a slot."""
        for position, dimension in enumerate(slot.shape):
            axis = axis_of(self.resolved, dimension)
            if axis is not None:
                yield self._along(axis, slot, position)
            elif needs_own_capacity(self.resolved, dimension):
                self._allow_slack(own_target(slot, position), slot.name)
                yield own_target(slot, position)
            else:
                yield None

    def _along(self, axis: str, slot: Slot, position: int) -> str:
        """The axis itself, if all modes load the slot; else the axis as those do that load it."""
        loading = self.loading[slot.name]
        if len(loading) in (0, len(self.modes)):
            return axis
        key = (axis, *(mode.name for mode in loading))
        if key not in self.named:
            self.named[key] = own_target(slot, position)
            self.along[self.named[key]] = axis
            self._allow_slack(self.named[key], axis)
            for mode in loading:
                own = self.extents.setdefault(mode.name, {})
                own[self.named[key]] = mode.extents[axis]
        return self.named[key]

    def _allow_slack(self, target: str, stated: str) -> None:
        """What the author allows of an axis or slot is allowed of each capacity it comes to."""
        reason = dict(self.runner.slack).get(stated)
        if reason is not None:
            self.slack[target] = reason
