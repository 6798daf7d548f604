"""Walking the steps of a runner, and expanding the names of families."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ullage.expr.tree import TRUE, Expr, conjunction
from ullage.spec.model import Mode, Runner, Step, Writer


def flattened(steps: tuple[Step, ...]) -> Iterator[Step]:
    """Every step in order, groups before what they hold."""
    for step in steps:
        yield step
        yield from flattened(step.steps)


def writing_steps(writer: Writer, runner: Runner) -> tuple[str, ...]:
    """Those of the steps that write a slot that the runner has."""
    own = {step.name for step in flattened(runner.steps) if step.action == "call"}
    return tuple(step for step in writer.steps if step in own)


def modes_named(modes: tuple[Mode, ...], names: tuple[str, ...]) -> tuple[Mode, ...]:
    """The modes that a list of modes and families means; an empty list means all.

    A family with the name of a mode has no other modes.
    """
    if not names:
        return modes
    families = {family for mode in modes for family in mode.families}
    named, own = families.intersection(names), set(names) - families
    return tuple(mode for mode in modes if mode.name in own or not named.isdisjoint(mode.families))


@dataclass(frozen=True, slots=True)
class Circumstances:
    """When something runs: a condition, the names of modes, and whether rows are padded."""

    when: Expr
    modes: frozenset[str]
    rows: frozenset[bool]

    def of(self, step: Step, modes: tuple[Mode, ...]) -> Circumstances:
        """The part of these in which `step` runs; `modes` are those of the runner."""
        named = frozenset(mode.name for mode in modes_named(modes, step.modes))
        when = conjunction(self.when, step.when)
        return Circumstances(when, self.modes & named, self.rows & _rows(step.padded))


def _rows(padded: bool | None) -> frozenset[bool]:
    """Whether rows may be padded where a step runs only with padded rows, or only without."""
    return frozenset((True, False)) if padded is None else frozenset((padded,))


def circumstances(
    steps: tuple[Step, ...], modes: tuple[Mode, ...]
) -> Iterator[tuple[Step, Circumstances]]:
    """The steps that are no groups, in order, each with all that decides whether it runs."""
    everything = frozenset(mode.name for mode in modes)
    yield from _within(steps, modes, Circumstances(TRUE, everything, _rows(None)))


def _within(
    steps: tuple[Step, ...], modes: tuple[Mode, ...], outer: Circumstances
) -> Iterator[tuple[Step, Circumstances]]:
    for step in steps:
        inner = outer.of(step, modes)
        if step.action == "group":
            yield from _within(step.steps, modes, inner)
        else:
            yield step, inner


def readers_named(runner: Runner) -> frozenset[str]:
    """The readers that steps of a runner name."""
    return frozenset(name for step in flattened(runner.steps) for name in step.readers)
