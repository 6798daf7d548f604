"""Transforms that stand before one that they have to follow, and come to something else there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ullage.bound.domain import for_worker
from ullage.bound.problem import Live
from ullage.counterexample.examples import Examples
from ullage.diagnostics.diagnostic import Collector
from ullage.expr.simplify import fold
from ullage.expr.spell import spell
from ullage.expr.tree import (
    TRUE,
    Comparison,
    Conditional,
    Expr,
    Integer,
    Name,
    Over,
    conjunction,
    substitute,
    transform,
)
from ullage.prove.solver import Solver
from ullage.spec.check import ResolvedSpec
from ullage.spec.model import Mode, PipelineEntry, Transform

OUT_OF_ORDER = "U621"
LARGEST = 2**31

Axes = dict[str, Expr]


def check_orders(resolved: ResolvedSpec, solver: Solver, collector: Collector) -> None:
    """Report each pair of a pipeline in the wrong order, unless both orders are proved the same."""
    for mode, pipeline in _pipelines(resolved):
        for place, first in enumerate(pipeline):
            follows = resolved.transforms[first.transform].after
            for second in pipeline[place + 1 :]:
                if second.transform in follows:
                    _Pair(resolved, solver, mode, first, second).check(collector)


def _pipelines(resolved: ResolvedSpec) -> Iterator[tuple[Mode, tuple[PipelineEntry, ...]]]:
    """What batches of a mode go through: its own pipeline, and that of each runner behind it."""
    for mode in resolved.spec.modes:
        yield mode, mode.pipeline
    for runner in resolved.spec.runners:
        if runner.pipeline:
            for mode in resolved.modes_of(runner):
                yield mode, (*mode.pipeline, *runner.pipeline)


@dataclass(frozen=True, slots=True)
class _Pair:
    """Two entries of a pipeline, of which the first has to follow the second."""

    resolved: ResolvedSpec
    solver: Solver
    mode: Mode
    first: PipelineEntry
    second: PipelineEntry

    def check(self, collector: Collector) -> None:
        """Report the pair with both compositions, where they are not proved to be the same."""
        axes: Axes = {axis.name: Name(axis.name) for axis in self.resolved.spec.axes}
        written = self._through(self._through(axes, self.first), self.second)
        wanted = self._through(self._through(axes, self.second), self.first)
        live = tuple(
            Live(name, Integer(0), Integer(LARGEST), TRUE, "own", name, self.mode.place)
            for name in axes
        )
        rewrite = for_worker(self.resolved, self.resolved.spec.workers[0].name)
        same = conjunction(
            *(Comparison("==", _alone(written[name]), _alone(wanted[name])) for name in axes)
        )
        given = tuple(
            rewrite(each) for each in (self.mode.when, *(s.when for s in self._steps()))
        ) + tuple(Comparison("<=", Integer(0), Name(name)) for name in axes)
        together = any(step.collective for step in self._steps())
        if not together and self.solver.proves(rewrite(same), given):
            return
        example = Examples(self.resolved, self.solver).against(rewrite(same), given, live)
        self._report(written, wanted, example, collector)

    def _steps(self) -> tuple[Transform, Transform]:
        known = self.resolved.transforms
        return known[self.first.transform], known[self.second.transform]

    def _through(self, axes: Axes, entry: PipelineEntry) -> Axes:
        """The axes after a transform, over those at first."""
        step = self.resolved.transforms[entry.transform]
        local: Axes = {**axes, **dict(entry.arguments)}
        for name, value in step.let:
            local[name] = substitute(value, local)
        new = {name: substitute(value, local) for name, value in step.assigns}
        return {
            name: fold(Conditional(step.when, new[name], old)) if name in new else old
            for name, old in axes.items()
        }

    def _report(
        self, written: Axes, wanted: Axes, example: str | None, collector: Collector
    ) -> None:
        first, second = self.first.transform, self.second.transform
        differing = [name for name in written if written[name] != wanted[name]]
        formulas = "; ".join(
            f"{name} is {spell(written[name])} here, and {spell(wanted[name])} in the order "
            f"'{second}', '{first}'"
            for name in differing
        )
        message = (
            f"mode '{self.mode.name}' runs '{first}' before '{second}', which it has to follow: "
            f"{formulas or 'not all ranks would bring what they have to'}"
        )
        hint = f"put '{first}' behind '{second}'" + (f"; {example}" if example else "")
        related = (
            (self.second.place, f"'{second}' stands here"),
            (self._steps()[0].place, f"'{first}' says what it follows"),
        )
        collector.error(OUT_OF_ORDER, message, self.first.place, hint=hint, related=related)


def _alone(node: Expr) -> Expr:
    """What an expression comes to where there is no other rank."""

    def without(part: Expr) -> Expr:
        return part.operand if isinstance(part, Over) else part

    return transform(node, without)
