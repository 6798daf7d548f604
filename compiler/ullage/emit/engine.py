"""The module `engine`: what each runner asks of the engine, as protocols."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ullage.emit.accepting import asked_facts
from ullage.emit.execution import Execution, Use
from ullage.emit.model import EngineModel, RunnerModel
from ullage.emit.modules import Module
from ullage.emit.names import camel
from ullage.emit.rendering import render
from ullage.emit.text import comment, docstring, sentence
from ullage.spec.model import NamedText


@dataclass(frozen=True, slots=True)
class MethodView:
    """One method of a protocol."""

    place: str
    name: str
    arguments: str
    returns: str
    doc: str


@dataclass(frozen=True, slots=True)
class ProtocolView:
    """The protocol of one runner; `base` with its type variables."""

    place: str
    name: str
    base: str
    doc: str
    methods: tuple[MethodView, ...]


@dataclass(frozen=True, slots=True)
class TypeVariable:
    """A type variable: its name, and what stands behind the name."""

    name: str
    options: str


@dataclass(frozen=True, slots=True)
class ValueTypes:
    """The type variables of the values of one runner."""

    execution: Execution

    def variable(self, value: str) -> str:
        """The variable inside of functions."""
        return f"{camel(value)}T"

    def in_protocol(self, value: str) -> str:
        """The variable in the protocol, which is covariant for a value that no step takes."""
        taken = {name for use in self.execution.uses().values() for name in use.step.takes}
        name = self.variable(value)
        return name if value in taken else f"{name}_co"

    @property
    def declared(self) -> Iterator[TypeVariable]:
        """What has to be declared for the protocol."""
        for value in self.values:
            name = self.in_protocol(value)
            yield TypeVariable(name, ", covariant=True" if name.endswith("_co") else "")

    @property
    def values(self) -> tuple[str, ...]:
        """The values that steps of the engine take or give."""
        used = {
            value
            for use in self.execution.uses().values()
            for value in (*use.step.takes, *((use.step.gives,) if use.step.gives else ()))
        }
        return tuple(value for value in self.execution.values if value in used)


@dataclass(frozen=True, slots=True)
class EngineEmitter:
    """Writes the protocols of one engine."""

    engine: EngineModel

    def module(self) -> Module:
        """The module `engine`."""
        runners = [
            view for each in self.engine.runners for view in (*_facts(each), self._protocol(each))
        ]
        variables: dict[str, TypeVariable] = {}
        for runner in self.engine.runners:
            for variable in ValueTypes(Execution(runner)).declared:
                variables.setdefault(variable.name, variable)
        body = render("engine.py.j2", variables=list(variables.values()), runners=runners)
        about = (sentence(f"What the runners of {self.engine.spec.engine} ask of the engine"),)
        siblings = {"LiveBatch": "batch"}
        siblings |= {each.classes.batch: "batch" for each in self.engine.runners}
        return Module("engine.py", about, body, siblings)

    def _protocol(self, runner: RunnerModel) -> ProtocolView:
        execution = Execution(runner)
        types = ValueTypes(execution)
        listed = ", ".join(types.in_protocol(value) for value in types.values)
        doc = docstring(
            (
                sentence(f"What the {runner.title} asks of the engine"),
                *(
                    f"{types.in_protocol(each.name)}: {each.doc}."
                    for each in runner.runner.values
                    if each.name in types.values
                ),
            )
        )
        return ProtocolView(
            comment(runner.planned.place.short),
            runner.classes.engine,
            f"Protocol[{listed}]" if listed else "Protocol",
            doc,
            tuple(self._methods(runner, execution, types)),
        )

    def _methods(
        self, runner: RunnerModel, execution: Execution, types: ValueTypes
    ) -> Iterator[MethodView]:
        asked = execution.asked()
        for fact in runner.runner.facts:
            if fact.name in asked:
                yield _asked(runner, fact, asked[fact.name], "bool", "Whether ")
        for context in runner.runner.contexts:
            if context.name in asked:
                manager = "AbstractContextManager[object]"
                yield _asked(runner, context, asked[context.name], manager, "")
        for use in execution.uses().values():
            yield _step(runner, use, types)
        if runner.runner.warm_up is not None and runner.runner.warm_up.step not in execution.uses():
            yield _warm_up(runner)


def _facts(runner: RunnerModel) -> Iterator[ProtocolView]:
    """What the runner asks before it takes a batch, if anything."""
    asked = asked_facts(runner)
    if asked:
        doc = docstring((sentence(f"What the {runner.title} asks before it takes a batch"),))
        methods = tuple(
            MethodView(
                comment(fact.place.short, 4),
                fact.name,
                "self, batch: LiveBatch, /",
                "bool",
                docstring((sentence(f"Whether {fact.doc}"),), indent=8),
            )
            for fact in asked
        )
        place = comment(runner.planned.place.short)
        yield ProtocolView(place, runner.classes.facts, "Protocol", doc, methods)


def batch_types(runner: RunnerModel, use: Use) -> str:
    """The batches that a method of the engine gets."""
    kinds = ["LiveBatch"] if use.before_load else []
    if use.after_load:
        kinds.append(runner.classes.batch)
    return " | ".join(kinds)


def _asked(runner: RunnerModel, text: NamedText, use: Use, returns: str, prefix: str) -> MethodView:
    arguments = f"self, batch: {batch_types(runner, use)}, /"
    doc = docstring((sentence(f"{prefix}{text.doc}"),), indent=8)
    return MethodView(comment(text.place.short, 4), text.name, arguments, returns, doc)


def _step(runner: RunnerModel, use: Use, types: ValueTypes) -> MethodView:
    step = use.step
    taken = "".join(f", {name}: {types.in_protocol(name)}" for name in step.takes)
    arguments = f"self, batch: {batch_types(runner, use)}{taken}, /"
    returns = "None" if step.gives is None else types.in_protocol(step.gives)
    docs = {value.name: value.doc for value in runner.runner.values}
    parts = [step.doc or step.name.replace("_", " ")]
    if step.gives is not None and docs.get(step.gives):
        parts.append(f"gives {docs[step.gives]}")
    if step.readers:
        parts.append(f"reads for {', '.join(step.readers)}")
    doc = docstring((sentence("; ".join(parts)),), indent=8)
    return MethodView(comment(step.place.short, 4), step.name, arguments, returns, doc)


def _warm_up(runner: RunnerModel) -> MethodView:
    warm_up = runner.runner.warm_up
    name, place = (warm_up.step, warm_up.place.short) if warm_up is not None else ("", "")
    doc = docstring(("Runs once before serving, on the largest batch of a mode.",), indent=8)
    arguments = f"self, batch: {runner.classes.batch}, /"
    return MethodView(comment(place, 4), name, arguments, "None", doc)
