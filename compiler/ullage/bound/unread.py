"""Transforms without what nobody reads.

What a transform makes of an axis that a runner neither has room for nor asks about binds nothing
there, though to say what ranks bring to it can cost as much as all the rest of a pipeline.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from ullage.bound.targets import needed_axes
from ullage.expr.tree import Expr, free_names
from ullage.spec.check import ResolvedSpec
from ullage.spec.model import Runner, Transform


def read_transforms(resolved: ResolvedSpec, runner: Runner) -> Mapping[str, Transform]:
    """The transforms by name, without the axes that nobody reads where `runner` loads."""
    unneeded = resolved.axes - needed_axes(resolved, runner)
    if not unneeded:
        return resolved.transforms
    named = frozenset[str]().union(*map(free_names, _expressions(resolved, runner)))
    unread = unneeded - {name.removeprefix("live_").removeprefix("padded_") for name in named}
    return {
        name: replace(step, assigns=tuple(each for each in step.assigns if each[0] not in unread))
        for name, step in resolved.transforms.items()
    }


def _expressions(resolved: ResolvedSpec, runner: Runner) -> Iterator[Expr]:
    """All in which an axis may stand."""
    for step in resolved.transforms.values():
        for _, value in (*step.let, *step.assigns):
            yield value
    for each in resolved.spec.runners:  # those that are asked before this one as well
        yield from each.accepts
        yield from (promise.condition for promise in each.promises)
    for slot in resolved.slots_of(runner):
        yield from slot.shape
        if slot.value is not None:
            yield slot.value
    for reader in resolved.spec.readers:
        for read in reader.reads:
            ends = () if read.range is None else (read.range.low, read.range.high)
            yield from (each for each in (read.fill, *ends) if each is not None)
