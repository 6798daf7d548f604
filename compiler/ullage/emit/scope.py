"""What the expressions of one mode may name, and how Python writes it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ullage.emit.model import RunnerModel
from ullage.emit.modules import IMPORTED
from ullage.emit.names import Names
from ullage.emit.source import Source
from ullage.expr.tree import Expr, free_names
from ullage.spec.model import Mode, Parameter, Transform
from ullage.spec.steps import flattened

RESERVED_LOCALS = (
    *("config", "engine", "extents", "live", "mode", "offer", "pad", "padded_rows", "ranks"),
    *("refusal", "registry", "rows", "self", "sources", "value"),
    *IMPORTED,
)
"""Names that functions about one mode use themselves."""


@dataclass(frozen=True, slots=True)
class Scope:
    """What the expressions of one mode may name, as Python writes it.

    `serving`: parameters that vary, under the names they have for this worker; `live`: the
    live variables that load sees.
    """

    runner: RunnerModel
    mode: Mode
    names: Names
    serving: Mapping[str, Parameter]
    visible: frozenset[str]

    def source(self, extra: Mapping[str, str] | None = None) -> Source:
        """Writes expressions over live variables, axes, local names and the configuration."""
        base = self.runner.engine.settings.source("config")
        known: dict[str, str] = {}
        for name in self.serving:
            local = self.names.of(name)
            guarded = self.runner.engine.settings.of(name).guarded
            known[name] = f"present({local})" if guarded else local
        return base.with_names(known | dict(extra or {}))

    def local(self, name: str) -> str:
        """A live variable, axis or `let` as a local name."""
        return self.names.of(name)


def scope_of(runner: RunnerModel, mode: Mode) -> Scope:
    """The scope of one mode of one runner, the same one each time."""
    if mode.name not in runner.scopes:
        runner.scopes[mode.name] = _scope_of(runner, mode)
    return runner.scopes[mode.name]


def _scope_of(runner: RunnerModel, mode: Mode) -> Scope:
    engine = runner.engine
    serving = runner.serving
    if serving:
        used = _used(runner, mode)
        serving = {name: each for name, each in serving.items() if name in used}
    names = [
        *(axis.name for axis in engine.axes),
        *(variable.name for variable in mode.live),
        *serving,
        *(
            name
            for entry in (*mode.pipeline, *runner.runner.pipeline_in(mode.name))
            for name in local_names(engine.transform(entry.transform))
        ),
    ]
    visible = frozenset(variable.name for variable in mode.live if variable.seen_in)
    return Scope(runner, mode, Names(names, RESERVED_LOCALS), serving, visible)


def _used(runner: RunnerModel, mode: Mode) -> frozenset[str]:
    """The names, as this worker has them, that expressions about batches of a mode depend on."""
    engine = runner.engine
    entries = (*mode.pipeline, *runner.runner.pipeline_in(mode.name))
    steps = [engine.transform(entry.transform) for entry in entries]
    expressions = [
        *(value for _, value in mode.axes),
        *(value for entry in entries for _, value in entry.arguments),
        *runner.runner.accepts_in(mode.name),
        *(value for step in steps for _, value in (*step.let, *step.assigns)),
        *(end for each in mode.live for end in (each.range.low, each.range.high)),
        *mode.where,
        *(extent for slot in runner.slots for extent in engine.slot(slot.name).shape),
        *_written(runner, mode),
        *(step.when for step in flattened(runner.runner.steps)),
        *(each.when for step in flattened(runner.runner.steps) for each in step.within),
    ]
    return frozenset[str]().union(*(free_names(runner.of_batch(each)) for each in expressions))


def _written(runner: RunnerModel, mode: Mode) -> Iterator[Expr]:
    """What load writes into slots by itself."""
    for slot in runner.slots:
        if mode.name in slot.tails:
            values = (slot.value, slot.tails[mode.name].fill)
            yield from (value for value in values if value is not None)


def local_names(step: Transform) -> tuple[str, ...]:
    """The names that a transform has for itself."""
    return (*step.arguments, *(name for name, _ in step.let))
