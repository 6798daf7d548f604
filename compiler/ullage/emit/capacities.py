"""The module `capacities`: how large the buffers of each runner are, and why."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ullage.bound.capacities import Candidate, Capacity
from ullage.emit.model import EngineModel, RunnerModel
from ullage.emit.modules import Module
from ullage.emit.rendering import render
from ullage.emit.source import Source, negated, shortened
from ullage.emit.text import comment, docstring, literal, sentence
from ullage.expr.simplify import fold
from ullage.expr.tree import TRUE, Call, Conditional, Expr, Integer
from ullage.prove.proof import Proof


@dataclass(frozen=True, slots=True)
class TermView:
    """One argument of a maximum, with the mode that it is about."""

    note: str
    value: str


@dataclass(frozen=True, slots=True)
class CapacityView:
    """One capacity; it is the largest of `terms` if there is more than one."""

    place: str
    name: str
    doc: str
    terms: tuple[TermView, ...]


@dataclass(frozen=True, slots=True)
class CapacitiesView:
    """The capacities of one runner; `absent` says when its `owner`, worker or runner, is not."""

    place: str
    name: str
    doc: str
    absent: str
    owner: str
    refusal: str
    capacities: tuple[CapacityView, ...]


@dataclass(frozen=True, slots=True)
class CapacitiesEmitter:
    """Writes the capacities of all runners of one engine."""

    engine: EngineModel

    def module(self) -> Module:
        """The module `capacities`."""
        body = render(
            "capacities.py.j2", runners=[self._runner(each) for each in self.engine.runners]
        )
        about = (sentence(f"How large the static buffers of {self.engine.spec.engine} are"),)
        siblings = dict.fromkeys(("Config", *self.engine.settings.enum_classes), "config")
        return Module("capacities.py", about, body, siblings)

    @property
    def _source(self) -> Source:
        return self.engine.settings.source("config")

    def _runner(self, runner: RunnerModel) -> CapacitiesView:
        guard = runner.planned.guard
        worker = next(w for w in self.engine.spec.workers if w.name == runner.planned.worker)
        has_own = runner.runner.when != TRUE
        parts = (
            literal(f"the {runner.title}" if has_own else f"worker {worker.name}"),
            "None",
            literal(f"it exists only where {shortened(guard)}"),
            literal(runner.planned.place.short if has_own else worker.place.short),
        )
        return CapacitiesView(
            comment(runner.planned.place.short),
            runner.classes.capacities,
            docstring(
                (
                    sentence(f"Elements along each axis that the {runner.title} holds"),
                    self._assumed(runner),
                )
            ),
            "" if guard == TRUE else self._source.of(negated(guard)),
            "runner" if has_own else "worker",
            f'"U702", {", ".join(parts)}',
            tuple(self._capacity(runner, each) for each in runner.problem.targets),
        )

    def _assumed(self, runner: RunnerModel) -> str:
        """What the proofs take for granted because load cannot see it."""
        modes = {mode.name for mode, _ in runner.modes}
        assumed = self.engine.analysis.certificate.assumed
        listed = ", ".join(each for each in assumed if each.partition(".")[0] in modes)
        return f"Assumed to be in range, since load cannot see it: {listed}." if listed else ""

    def _capacity(self, runner: RunnerModel, target: str) -> CapacityView:
        capacity = runner.capacity(target)
        proof = runner.proof(target)
        place = _place_of(self.engine, target)
        return CapacityView(
            comment(place, 4),
            runner.capacity_field(target),
            docstring(tuple(self._about(runner, capacity, proof))),
            tuple(self._terms(capacity)),
        )

    def _about(self, runner: RunnerModel, capacity: Capacity, proof: Proof) -> Iterator[str]:
        binding = tuple(dict.fromkeys(each.mode for each in capacity.binding))
        yield sentence(f"Bound by {', '.join(binding) or 'nothing'}; {verdict(proof)}")
        yield f"Formula: {self._spelled(capacity.formula)}."
        modes = {mode.name: mode for mode in runner.problem.modes}
        for each in capacity.binding:
            seen = modes[each.mode].seen_in(capacity.target, each.others)
            values = {k: v for k, v in each.witness.items() if k in seen}
            witness = ", ".join(f"{k} = {self._spelled(v)}" for k, v in values.items())
            if witness:
                yield f"Attained in {each.mode} by {witness}."

    def _spelled(self, expr: Expr) -> str:
        return shortened(expr)

    def _terms(self, capacity: Capacity) -> Iterator[TermView]:
        notes = {_part(each): self._note(each) for each in capacity.binding}
        formula = capacity.formula
        listed = isinstance(formula, Call) and formula.function == "max"
        parts = formula.arguments if isinstance(formula, Call) and listed else (formula,)
        if len(parts) == 1:
            listed, parts = False, (formula,)
        for part in parts if listed else (formula,):
            yield TermView(notes.get(part, "") if listed else "", self._source.of(part))

    def _note(self, candidate: Candidate) -> str:
        mode = self.engine.mode(candidate.mode)
        return comment(f"{mode.name}, {mode.place.short}", 12)


def _part(candidate: Candidate) -> Expr:
    """What a candidate contributes to its capacity: zero where it cannot occur."""
    return fold(Conditional(candidate.condition, candidate.formula, Integer(0)))


def verdict(proof: Proof) -> str:
    """What was proved of a capacity, in words."""
    if proof.proved:
        return "proved: sound and tight"
    if proof.sound:
        return "proved: sound; UNPROVEN: tight"
    return "UNPROVEN"


def _place_of(engine: EngineModel, target: str) -> str:
    slot_name, _, dimension = target.partition(".")
    if dimension:
        return engine.slot(slot_name).place.short
    return next(axis for axis in engine.spec.axes if axis.name == target).place.short
