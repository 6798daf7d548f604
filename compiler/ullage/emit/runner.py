"""One module for each runner: pure functions of its modes, and the class that loads and runs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ullage.emit.arenas import names_of_runners
from ullage.emit.axes import differ
from ullage.emit.blocks import lines_of
from ullage.emit.engine import ValueTypes
from ullage.emit.execution import ExecuteView, Execution
from ullage.emit.extents import extents_class
from ullage.emit.loading import Loading
from ullage.emit.model import RunnerModel
from ullage.emit.modules import Module
from ullage.emit.rendering import render
from ullage.emit.seen import exchanging_modes, seen_of
from ullage.emit.selection import can_run
from ullage.emit.text import comment, docstring, literal, sentence
from ullage.emit.warm_up import WarmUps
from ullage.expr.simplify import fold
from ullage.expr.tree import FALSE, TRUE, Expr, disjunction


@dataclass(frozen=True, slots=True)
class ServedView:
    """One mode with the condition under which it is served."""

    member: str
    condition: str


@dataclass(frozen=True, slots=True)
class CaseView:
    """Modes that one method takes, and which of the methods of debug mode there are for them."""

    pattern: str
    method: str
    poisons: bool = False
    verifies: bool = False


@dataclass(frozen=True, slots=True)
class ExecuteMethod:
    """One method that runs the steps of some modes."""

    name: str
    pattern: str
    doc: str
    lines: tuple[str, ...]
    result: str


@dataclass(frozen=True, slots=True)
class RunnerEmitter:
    """Writes the module of one runner."""

    runner: RunnerModel

    def modules(self) -> Iterator[Module]:
        """The module of the runner, alone."""
        yield self.module()

    def module(self) -> Module:
        """The module of the runner."""
        runner, loading, execution = self.runner, Loading(self.runner), Execution(self.runner)
        types = ValueTypes(execution)
        engine = runner.engine
        groups = loading.groups
        chosen = can_run(runner)
        body = render(
            "runner.py.j2",
            place=comment(runner.planned.place.short),
            classes=runner.classes,
            runner_name=literal(runner.planned.runner),
            runner_place=literal(runner.planned.place.short),
            doc=docstring(
                (sentence(runner.runner.doc or runner.title), f"The {runner.title}."), indent=4
            ),
            differ=differ(engine, "rows", "padded"),
            extents_class=extents_class(runner),
            own_extents=runner.own_extents,
            functions=list(loading.functions()),
            extents=list(loading.extents()),
            served=[self._served(name, guard) for name, guard in self._guards()],
            ranks=[(runner.ranks_name(group), group) for group in runner.collective_groups],
            rank_checks=list(self._rank_checks()),
            extents_cases=[
                CaseView(_pattern((mode.name,)), f"_extents_{mode.name}")
                for mode, _ in runner.modes
            ],
            load_cases=[
                CaseView(_pattern(each.modes), each.name, each.poisons, each.verifies)
                for each in groups
            ],
            seen=list(seen_of(runner)),
            exchanging=list(exchanging_modes(runner)),
            groups=groups,
            constants=bool(runner.constants),
            carried=[
                (runner.field(each.name), engine.live_field(each.source).name)
                for each in runner.carried
            ],
            executes=[self._execute(view) for view in execution.groups()],
            variables=self._variables(types),
            engine_type=self._engine_type(types),
            result=self._result(execution, types),
            warm_up=WarmUps(runner).view(),
            pad_type="bool | Offer" if chosen else "bool",
            can_run=chosen,
            arenas_field=names_of_runners(engine).of(runner.planned.name),
        )
        about = (sentence(f"The {runner.title} of {engine.spec.engine}"),)
        return Module(f"{runner.classes.module}.py", about, body, self._siblings())

    def _siblings(self) -> dict[str, str]:
        runner = self.runner
        siblings = {"Arenas": "arenas", "Config": "config", "Rows": "batch", "Extents": "batch"}
        siblings |= {"LiveBatch": "batch", "Mode": "batch", "Offer": "batch"}
        siblings |= dict.fromkeys(runner.engine.settings.enum_classes, "config")
        siblings |= {runner.classes.batch: "batch", runner.classes.capacities: "capacities"}
        siblings |= {runner.classes.registry: "registry"}
        return siblings | dict.fromkeys((runner.classes.engine, runner.classes.facts), "engine")

    def _guards(self) -> list[tuple[str, Expr]]:
        return [(mode.name, problem.guard) for mode, problem in self.runner.modes]

    def _served(self, name: str, guard: Expr) -> ServedView:
        source = self.runner.engine.settings.source("config")
        return ServedView(name.upper(), "" if guard == TRUE else source.of(guard))

    def _rank_checks(self) -> list[tuple[str, str]]:
        """For each group: when collectives can happen, and the call that looks at its ranks."""
        count = self.runner.engine.spec.rank_count
        if count is None:
            return []
        source = self.runner.engine.settings.source("config")
        expected = source.of(fold(self.runner.rewrite(count)))
        place = literal(self.runner.engine.spec.place.short)
        return [
            (
                self._joins(group),
                f"require_ranks({literal(name)}, {name}, {literal(group)}, {expected}, "
                f"place={place})",
            )
            for group in self.runner.collective_groups
            for name in (self.runner.ranks_name(group),)
        ]

    def _joins(self, group: str) -> str:
        """When some pipeline of the runner joins in a collective of the group."""
        engine = self.runner.engine
        conditions = [
            fold(self.runner.rewrite(step.when))
            for mode, _ in self.runner.modes
            for entry in mode.pipeline
            for step in (engine.transform(entry.transform),)
            if step.collective is not None and step.collective.group == group
        ]
        joined = fold(disjunction(*conditions)) if conditions else FALSE
        source = engine.settings.source("config")
        return "" if joined == TRUE else source.of(joined)

    def _execute(self, view: ExecuteView) -> ExecuteMethod:
        listed = ", ".join(view.modes)
        pattern = _pattern(view.modes)
        doc = docstring((sentence(f"The steps of {listed}"),), indent=8)
        return ExecuteMethod(view.name, pattern, doc, tuple(lines_of(view.block)), view.result)

    def _variables(self, types: ValueTypes) -> list[str]:
        return [types.variable(value) for value in types.values]

    def _engine_type(self, types: ValueTypes) -> str:
        listed = ", ".join(types.variable(value) for value in types.values)
        name = self.runner.classes.engine
        return f"{name}[{listed}]" if listed else name

    def _result(self, execution: Execution, types: ValueTypes) -> str:
        results = {view.result for view in execution.groups()}
        kinds = sorted(
            "None" if result == "None" else types.variable(self._value_of(result))
            for result in results
        )
        return " | ".join(kinds)

    def _value_of(self, local: str) -> str:
        names = [value.name for value in self.runner.runner.values]
        return local if local in names else local.rstrip("_")


def _pattern(modes: tuple[str, ...]) -> str:
    return " | ".join(f"Mode.{mode.upper()}" for mode in modes)
