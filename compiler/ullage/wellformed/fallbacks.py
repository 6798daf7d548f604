"""Modes whose batches fall back by configuration alone, though no one switch says that they should.

What is so of a batch, and what the engine answers about it, is no part of this: only conditions
over parameters and definitions are looked at.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from ullage.bound.domain import ForWorker, for_worker
from ullage.counterexample.examples import Examples
from ullage.diagnostics.diagnostic import Collector
from ullage.expr.conditions import conjuncts
from ullage.expr.spell import spell
from ullage.expr.tree import (
    Expr,
    Logical,
    Name,
    Not,
    conjunction,
    disjunction,
    free_names,
    negation,
)
from ullage.place import Place
from ullage.prove.solver import Solver
from ullage.spec.chains import chain
from ullage.spec.check import ResolvedSpec
from ullage.spec.model import Mode, Runner, Worker

LEFT: Final = "U634"


def check_fallbacks(resolved: ResolvedSpec, solver: Solver, collector: Collector) -> None:
    """Warn of each condition by which all batches of a mode fall back though a switch is on.

    A runner that one switch turns off as a whole is meant to be. Where a runner promises something
    of a mode, the promise says which batches fall back.
    """
    found: dict[tuple[Place, str], list[_Left]] = {}
    for worker in resolved.spec.workers:
        rewrite = for_worker(resolved, worker.name)
        for mode in resolved.spec.modes:
            asked = chain(resolved.spec.runners, worker.name, mode.name)
            promises = (promise for each in asked[:-1] for promise in each.promises)
            if len(asked) < 2 or any(mode.name in promise.modes for promise in promises):
                continue
            left = _Chain(resolved, solver, worker, mode, asked, rewrite).left()
            if left is not None:
                found.setdefault((left.condition.place, left.fallback.name), []).append(left)
    for several in found.values():
        _report(several, collector)


@dataclass(frozen=True, slots=True)
class _Left:
    """A mode whose batches all fall back in some configuration.

    `condition`: what `runner` takes none by, of which `part` does not hold although `switch` does;
    there may be no switch.
    """

    mode: Mode
    runner: Runner
    fallback: Runner
    condition: Expr
    part: Expr
    switch: Expr | None
    example: str


def _report(several: list[_Left], collector: Collector) -> None:
    """One condition, with all modes that it is so of."""
    first, runner = several[0], several[0].runner.name
    modes = tuple(dict.fromkeys(each.mode.name for each in several))
    named = ", ".join(f"'{name}'" for name in modes)
    though = "" if first.switch is None else f" even where {spell(first.switch)}"
    message = (
        f"all batches of {'mode' if len(modes) == 1 else 'modes'} {named} can fall back to "
        f"'{first.fallback.name}'{though}: runner '{runner}' takes them only where "
        f"{spell(first.part)}"
    )
    meant = f"if that is meant, say by 'promises' which batches '{runner}' takes"
    places = {each.mode.name: each.mode.place for each in several}
    related = tuple((place, f"mode '{name}'") for name, place in places.items())
    if first.part.place != first.condition.place:
        related = ((first.part.place, "the condition"), *related)
    collector.warn(
        LEFT, message, first.condition.place, hint=f"{first.example}; {meant}", related=related
    )


@dataclass(frozen=True, slots=True)
class _Chain:
    """The runners that take the batches of one mode on one worker, one after another."""

    resolved: ResolvedSpec
    solver: Solver
    worker: Worker
    mode: Mode
    asked: tuple[Runner, ...]
    rewrite: ForWorker

    def left(self) -> _Left | None:
        """What leaves all batches to the last runner; None where nothing does, or one switch."""
        occurs = (self.rewrite(self.worker.when), self.rewrite(self.mode.when))
        takes = disjunction(*map(self._takes, self.asked[:-1]))
        switches = tuple(self._switches())
        ways = tuple((*occurs, self._on(each)) for each in switches) or (occurs,)
        if any(self.solver.proves(takes, given) for given in (occurs, *ways)):
            return None
        examples = Examples(self.resolved, self.solver)
        found = [example for given in ways if (example := examples.against(takes, given))]
        refusal = self._refusal((*ways[0], negation(takes)))
        if len(found) < len(ways) or refusal is None:
            return None  # not decided within the solver's limit
        switch = switches[0] if switches else None
        runner, fallback = self.asked[-2:]
        return _Left(self.mode, runner, fallback, *refusal, switch, found[0])

    def _takes(self, runner: Runner) -> Expr:
        """Whether a runner exists and takes batches, as far as the configuration tells."""
        return conjunction(*(each for _, parts in self._conditions(runner) for each in parts))

    def _conditions(self, runner: Runner) -> Iterator[tuple[Expr, tuple[Expr, ...]]]:
        """What must hold of a configuration: each condition as written, with its parts."""
        yield runner.when, conjuncts(self.rewrite(runner.when))
        for condition in runner.accepts_in(self.mode.name):
            parts = conjuncts(self.rewrite(condition))
            yield condition, tuple(each for each in parts if free_names(each) <= self._fixed())

    def _fixed(self) -> frozenset[str]:
        """The names of what is so of a configuration: parameters and definitions, none varying."""
        varying = (*self.resolved.varying, *self.resolved.serving)
        changing = frozenset[str]().union(*(free_names(self.rewrite(Name(n))) for n in varying))
        return frozenset({**self.solver.variables, **self.solver.definitions}) - changing

    def _switches(self) -> Iterator[Expr]:
        """The boolean parameters that one of the runners asks to be on, or off."""
        for runner in self.asked[:-1]:
            for part in self._written_out(self.rewrite(runner.when)):
                name = part.operand if isinstance(part, Not) else part
                if isinstance(name, Name) and name.name in self.solver.booleans:
                    yield part

    def _on(self, switch: Expr) -> Expr:
        """That the switch has a value, and that it is on."""
        guards = (self.solver.variables[name].guard for name in free_names(switch))
        return conjunction(*guards, switch)

    def _refusal(self, given: tuple[Expr, ...]) -> tuple[Expr, Expr] | None:
        """By which condition, and which part of it, the last but one takes none."""
        for condition, parts in self._conditions(self.asked[-2]):
            for part in (leaf for each in parts for leaf in self._written_out(each)):
                if not self.solver.proves(part, given):
                    return condition, part
        return None

    def _written_out(self, condition: Expr) -> Iterator[Expr]:
        """What a condition says in the end, definitions put in."""
        definitions = self.solver.definitions
        match condition:
            case Logical("and", operands):
                inner = operands
            case Not(Logical("or", operands)):
                inner = tuple(map(negation, operands))
            case Name(name) if name in definitions:
                inner = (definitions[name].value,)
            case Not(Name(name)) if name in definitions:
                inner = (negation(definitions[name].value),)
            case _:
                yield condition
                return
        for each in inner:
            yield from self._written_out(each)
