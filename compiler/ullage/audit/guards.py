"""Which switches must be on for a formula to be too small.

A switch is the condition of a transform, a boolean parameter, or an enum that is not at its first
value. Those that the mode or the formula rests on are no news. Where the condition of a transform
must hold, the parameters that it follows from are not counted again: there are many ways to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ullage.bound.domain import worker_name
from ullage.bound.problem import ModeProblem, Variable
from ullage.counterexample.finder import Finder
from ullage.counterexample.space import Assignment, excess
from ullage.expr.environment import EvaluationError
from ullage.expr.evaluate import evaluate_boolean
from ullage.expr.spell import spell
from ullage.expr.tree import (
    TRUE,
    Comparison,
    Enumerant,
    Expr,
    Logical,
    Name,
    Not,
    conjunction,
    free_names,
    negation,
)
from ullage.prove.solver import Solver
from ullage.spec.check import ResolvedSpec


@dataclass(frozen=True, slots=True)
class Switch:
    """A condition that may be needed; `names` are what it rests on."""

    label: str
    on: Expr
    names: frozenset[str]

    @property
    def off(self) -> Expr:
        """The condition that it is off."""
        return negation(self.on)


@dataclass(frozen=True, slots=True)
class Switches:
    """The switches that a mode has: of its transforms, and of the engine."""

    of_transforms: tuple[Switch, ...]
    of_parameters: tuple[Switch, ...]


def switches_of(resolved: ResolvedSpec, mode: ModeProblem, known: Expr, solver: Solver) -> Switches:
    """What can be on or off in a mode, but for what is `known` there and its `when` asks for."""
    asked = solver.closure(_asked_for(known))
    guards = dict.fromkeys(stage.guard for stage in mode.stages if stage.guard != TRUE)
    transforms = (
        Switch(spell(guard), guard, solver.closure(free_names(guard)))
        for guard in guards
        if not solver.proves(guard, (known,))
    )
    parameters = (each for each in _of_parameters(resolved, solver) if not each.names & asked)
    return Switches(tuple(transforms), tuple(parameters))


def _asked_for(condition: Expr) -> frozenset[str]:
    """The names in the parts of a condition that are on or off, not those that count."""
    match condition:
        case Logical(operands=operands):
            return frozenset[str]().union(*(_asked_for(operand) for operand in operands))
        case Not(operand=operand):
            return _asked_for(operand)
        case Comparison(left=Name(name=name), right=Enumerant()) | Name(name=name):
            return frozenset((name,))
        case _:
            return frozenset()


def _of_parameters(resolved: ResolvedSpec, solver: Solver) -> Iterable[Switch]:
    workers = [worker.name for worker in resolved.spec.workers]
    for parameter in resolved.spec.parameters:
        own = [worker_name(parameter.name, worker) for worker in workers]
        for name in own if parameter.per_worker else [parameter.name]:
            on: Expr
            if parameter.type == "bool":
                on = Name(name)
            elif parameter.type == "enum":
                first = Enumerant(parameter.name, parameter.choices[0], 0)
                on = Comparison("!=", Name(name), first)
            else:
                continue
            guard = solver.variables[name].guard
            yield Switch(spell(on), conjunction(guard, on), frozenset((name,)))


@dataclass(frozen=True, slots=True)
class Raised:
    """The integers above their least values as switches, and that all others are at theirs."""

    switches: tuple[Switch, ...]
    others_least: tuple[Expr, ...]


@dataclass
class Narrowing:
    """Turns off what can be off while something is still to be found.

    `found` is the last that was found, with all off that is, if anything was. `certain`: each
    switch that was kept on is known to be needed.
    """

    finder: Finder
    found: Assignment | None = None
    off: tuple[Expr, ...] = ()
    certain: bool = True

    def needed(self, switches: Switches) -> tuple[Switch, ...]:
        """A least set of switches that must be on; all others are then off."""
        transforms = self.kept(switches.of_transforms)
        reached = frozenset[str]().union(*(each.names for each in transforms))
        others = tuple(each for each in switches.of_parameters if not each.names & reached)
        return (*transforms, *self.kept(others))

    def raised(self, found: Assignment, variables: Iterable[Variable]) -> tuple[Switch, ...]:
        """A least set of the integers above their least values in `found` that must be so."""
        raised = raised_in(found, variables)
        self.off = (*self.off, *raised.others_least)
        return self.kept(raised.switches)

    def kept(self, switches: Sequence[Switch]) -> tuple[Switch, ...]:
        """The switches that stay on when as many as possible are turned off, in their order."""
        if not switches or self._turn_off(switches):
            return ()
        if len(switches) == 1:
            return tuple(switches)
        return tuple(each for each in switches if not self._turn_off((each,)))

    def _turn_off(self, switches: Sequence[Switch]) -> bool:
        off = (*self.off, *(each.off for each in switches))
        if self.found is not None and all(_is_off(each, self.found) for each in switches):
            self.off = off
            return True
        answer = self.finder.exists(off)
        if answer.kind == "found":
            self.off, self.found = off, answer.assignment
        elif len(switches) == 1:
            self.certain = self.certain and answer.kind == "none"
        return answer.kind == "found"


def _is_off(switch: Switch, found: Assignment) -> bool:
    try:
        return evaluate_boolean(switch.off, found)
    except EvaluationError:
        return False


def raised_in(found: Assignment, variables: Iterable[Variable]) -> Raised:
    """The integer parameters that are above their least values, as switches, and the others."""
    raised: list[Switch] = []
    least: list[Expr] = []
    for each in variables:
        if each.type == "int" and each.low is not None:
            above = Comparison(">", Name(each.name), each.low)
            switch = Switch(spell(above), conjunction(each.guard, above), frozenset((each.name,)))
            if excess(Name(each.name), each.low, each.guard, found) > 0:
                raised.append(switch)
            else:
                least.append(switch.off)
    return Raised(tuple(raised), tuple(least))
