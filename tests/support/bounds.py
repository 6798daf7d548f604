"""Domains, modes and solvers in a line each, and what a whole spec folder comes to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from support.specs import Files, write_spec
from ullage.bound.capacities import Capacities, Capacity
from ullage.bound.eliminate import Eliminator
from ullage.bound.problem import (
    Constraint,
    Coupling,
    Definition,
    Domain,
    Live,
    ModeProblem,
    Problem,
    RunnerProblem,
    Variable,
)
from ullage.bound.specialise import specialise
from ullage.diagnostics.diagnostic import Collector, DiagnosticError
from ullage.diagnostics.render import render_text
from ullage.expr.kinds import NO_UNIT, BoolKind, EnumKind, IntKind, Kind, ListKind, resolve
from ullage.expr.parse import parse
from ullage.expr.tree import Comparison, Expr
from ullage.place import BUILT_IN
from ullage.prove.certificate import certify
from ullage.prove.oracle import Oracles
from ullage.prove.proof import Certificate
from ullage.prove.solver import Solver
from ullage.settle import settle
from ullage.spec.check import ResolvedSpec
from ullage.spec.check import resolve as resolve_spec
from ullage.spec.load import load_spec
from ullage.text.sources import load_sources
from ullage.wellformed.problem import check_problem

Entity = Variable | Definition | Constraint


def read(text: str, kinds: Mapping[str, Kind] | None = None) -> Expr:
    """The tree of an expression; `kinds` are needed only where it has values of enums."""
    tree = parse(text, lambda offset, width: BUILT_IN)
    return tree if kinds is None else resolve(tree, kinds)


def claim(text: str) -> Comparison:
    """The tree of one comparison."""
    tree = read(text)
    assert isinstance(tree, Comparison)
    return tree


def number(
    name: str, low: str | int | None = None, high: str | int | None = None, when: str = "true"
) -> Variable:
    """An integer parameter within an inclusive range."""
    return Variable(name, "int", _end(low), _end(high), read(when), BUILT_IN)


def _end(end: str | int | None) -> Expr | None:
    return None if end is None else read(str(end))


def flag(name: str, when: str = "true") -> Variable:
    """A parameter that is true or false."""
    return Variable(name, "bool", None, None, read(when), BUILT_IN)


def values(name: str, low: str | int, high: str | int, when: str = "true") -> Variable:
    """A list parameter, whose elements are within an inclusive range."""
    return Variable(name, "list", _end(low), _end(high), read(when), BUILT_IN)


def defined(name: str, value: str, when: str = "true") -> Definition:
    """A named expression; its kind is seen from the form of its value."""
    tree = read(value)
    match tree:
        case _ if value.startswith("["):
            return Definition(name, "list", tree, read(when), BUILT_IN)
        case Comparison():
            return Definition(name, "bool", tree, read(when), BUILT_IN)
        case _:
            return Definition(name, "int", tree, read(when), BUILT_IN)


def limit(that: str) -> Constraint:
    """What every legal configuration satisfies."""
    return Constraint(read(that), "a test says so", BUILT_IN)


def domain(*entities: Entity) -> Domain:
    """The legal domain of some parameters, definitions and constraints."""
    return Domain(
        tuple(each for each in entities if isinstance(each, Variable)),
        tuple(each for each in entities if isinstance(each, Definition)),
        tuple(each for each in entities if isinstance(each, Constraint)),
    )


def solver(*entities: Entity) -> Solver:
    """A solver for the legal domain of some parameters, definitions and constraints."""
    return Solver(domain(*entities))


@dataclass(frozen=True, slots=True)
class Proving:
    """The solver itself as the oracle of a search, without samples."""

    decider: Solver

    def __call__(self, wanted: Expr, given: tuple[Expr, ...]) -> bool:
        return self.decider.decide(wanted, given).proved

    def refutes(self, wanted: Expr, given: tuple[Expr, ...]) -> bool:
        return False


def live(name: str, low: str | int, high: str | int) -> Live:
    """A live variable of this rank."""
    return Live(name, read(str(low)), read(str(high)), read("true"), "own", name, BUILT_IN)


def mode(
    *variables: Live,
    where: Sequence[str] = (),
    when: str = "true",
    name: str = "decode",
    **extents: str,
) -> ModeProblem:
    """A mode over live variables with the extents that it loads."""
    read_extents = {axis: read(text) for axis, text in extents.items()}
    return ModeProblem(
        name,
        read(when),
        variables,
        tuple(Coupling(read(each)) for each in where),
        read_extents,
        (),
        BUILT_IN,
    )


def problem(found: Domain, *modes: ModeProblem, when: str = "true") -> Problem:
    """One runner that serves the modes, on one worker."""
    targets = dict.fromkeys(target for each in modes for target in each.extents)
    runner = RunnerProblem(
        "eager_target", "eager", "target", read(when), modes, tuple(targets), BUILT_IN
    )
    return Problem(found, (runner,))


def eliminator(found: Domain, wanted: ModeProblem, *, slack: bool = False) -> Eliminator:
    """The eliminator of one mode, asking what the deriver would ask."""
    decider = Solver(found)
    (runner,) = problem(found, wanted).runners
    return Eliminator(wanted, Oracles(decider).of(runner), slack)


def kinds_of(found: Domain, enums: Mapping[str, tuple[str, ...]] | None = None) -> dict[str, Kind]:
    """The kind of each parameter and definition, as `read` takes them for values of enums."""
    kinds: dict[str, Kind] = {}
    for each in (*found.variables, *found.definitions):
        kind = each.type if isinstance(each, Variable) else each.kind
        named: dict[str, Kind] = {"bool": BoolKind(), "list": ListKind(NO_UNIT)}
        kinds[each.name] = named.get(kind, IntKind(NO_UNIT))
    return kinds | {name: EnumKind(name, each) for name, each in (enums or {}).items()}


@dataclass(frozen=True, slots=True)
class Derived:
    """A spec folder with its capacities and what was proved of them."""

    resolved: ResolvedSpec
    problem: Problem
    solver: Solver
    capacities: Capacities
    certificate: Certificate


def derived(folder: Path, files: Files) -> Derived:
    """Everything up to the certificate of a spec. Raises DiagnosticError."""
    sources = load_sources(write_spec(folder, files))
    resolved = resolve_spec(load_spec(sources), sources.texts)
    collector = Collector(sources.texts)
    found = specialise(resolved, collector)
    decider = Solver(found.domain)
    check_problem(resolved, found, decider, collector)
    collector.raise_if_errors()
    settled = settle(found, Oracles(decider), collector)
    collector.raise_if_errors()
    certificate = Certificate(settled.proofs, ())
    return Derived(resolved, settled.problem, decider, settled.capacities, certificate)


def certified(found: Problem, capacities: Iterable[Capacity], solver: Solver) -> Certificate:
    """What is proved of given capacities, derived or not."""
    runners = {runner.name: runner for runner in found.runners}
    proofs = (certify(runners[each.runner], each, solver) for each in capacities)
    return Certificate(tuple(proofs), ())


def refusal(folder: Path, files: Files) -> str:
    """What is said about a spec that is refused on the way to its certificate; else empty."""
    try:
        derived(folder, files)
    except DiagnosticError as error:
        return render_text(error.diagnostics, error.sources)
    return ""
