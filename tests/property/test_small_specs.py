"""Random small specs: whatever is certified is what all configurations and batches need."""

from __future__ import annotations

import itertools
import random
from dataclasses import dataclass
from pathlib import Path

import pytest

from support.bounds import Derived, derived
from support.comparing import differences, false_witnesses
from support.random_specs import random_spec
from support.simulation import Configuration, configurations
from ullage.diagnostics.diagnostic import DiagnosticError
from ullage.expr.environment import Value
from ullage.expr.evaluate import evaluate
from ullage.expr.python_source import python_source
from ullage.expr.tree import (
    Call,
    Comparison,
    Expr,
    Integer,
    Name,
    conjunction,
    free_names,
    negation,
    walk,
)
from ullage.prove.solver import Solver
from ullage_runtime.integers import align_up, cdiv, next_in

FAST = range(8)
SLOW = range(8, 80)
LEAST_SHARE = 0.92
BATCHED = 16
"""Configurations tried for each of the fast specs."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one random spec; `found` is None where it was refused."""

    seed: int
    found: Derived | None
    codes: tuple[str, ...]


def outcome(seed: int, folder: Path) -> Outcome:
    try:
        return Outcome(seed, derived(folder, random_spec(seed)), ())
    except DiagnosticError as error:
        return Outcome(seed, None, tuple(each.code for each in error.diagnostics))


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> list[Outcome]:
    return [outcome(seed, tmp_path_factory.mktemp(f"spec_{seed}")) for seed in FAST]


@pytest.mark.parametrize("place", range(len(FAST)))
@pytest.mark.slow
def test_what_is_certified_is_what_batches_need(place: int, outcomes: list[Outcome]) -> None:
    found = outcomes[place].found
    if found is not None:
        assert differences(found, at_most=BATCHED, seed=place) == []
        assert false_witnesses(found, at_most=4, seed=place) == []


@pytest.mark.slow
def test_most_random_specs_are_derived(outcomes: list[Outcome]) -> None:
    share = sum(each.found is not None for each in outcomes) / len(outcomes)
    assert share >= LEAST_SHARE, [(each.seed, each.codes) for each in outcomes if each.codes]


@pytest.mark.slow
def test_a_refusal_says_that_no_maximum_or_proof_is_known(outcomes: list[Outcome]) -> None:
    said = {code for each in outcomes for code in each.codes}
    assert said <= {"U402", "U503"}


@pytest.mark.slow
@pytest.mark.parametrize("seed", SLOW)
def test_what_is_certified_is_what_batches_need_in_more_specs(seed: int, tmp_path: Path) -> None:
    found = outcome(seed, tmp_path).found
    if found is not None:
        assert differences(found, at_most=60, seed=seed) == []
        assert false_witnesses(found, at_most=10, seed=seed) == []
        check_evaluators(found, seed, at_most=12)


# Four ways to the value of one formula


@pytest.mark.parametrize("place", range(len(FAST)))
@pytest.mark.slow
def test_four_evaluators_agree_on_every_formula(place: int, outcomes: list[Outcome]) -> None:
    """`evaluate`, z3, generated Python; brute force is the fourth, see above."""
    found = outcomes[place].found
    if found is not None:
        check_evaluators(found, place, at_most=3)


def check_evaluators(found: Derived, seed: int, at_most: int) -> None:
    every = list(configurations(found.resolved))
    chosen = random.Random(seed).sample(every, min(at_most, len(every)))
    solver = Solver(found.problem.domain)
    formulas = {each.formula for each in found.capacities.by_target}
    for formula, configuration in itertools.product(formulas, chosen):
        values = configuration.expanded
        value = evaluate(formula, values)
        assert by_python(formula, values) == value
        pins = pinned(formula, found, configuration)
        agrees = Comparison("==", formula, Integer(int(value)))  # type: ignore[arg-type]  # no list
        assert not solver.proves(negation(agrees), pins)
        if not has_lists(formula):
            assert solver.proves(agrees, pins)


def by_python(formula: Expr, values: dict[str, Value]) -> object:
    """The value of the formula as generated code computes it."""
    source = python_source(
        formula, name=lambda name: f"values[{name!r}]", enumerant=lambda each: str(each.code)
    )
    functions = {"align_up": align_up, "cdiv": cdiv, "next_in": next_in, "min": min, "max": max}
    return eval(source, {"__builtins__": {}, "values": values, **functions})


def has_lists(formula: Expr) -> bool:
    """Whether z3 knows less of the formula than its value."""
    return any(isinstance(each, Call) and each.function == "next_in" for each in walk(formula))


def pinned(formula: Expr, found: Derived, configuration: Configuration) -> tuple[Expr, ...]:
    """What fixes the parameters that the formula rests on."""
    names = found.solver.closure(free_names(formula))
    pins: list[Expr] = []
    for variable in found.problem.domain.variables:
        value = configuration.expanded.get(variable.name)
        if variable.name not in names or value is None:
            continue
        match value:
            case bool():
                pins.append(Name(variable.name) if value else negation(Name(variable.name)))
            case int():
                pins.append(Comparison("==", Name(variable.name), Integer(value)))
            case _:
                largest = Call("max", (Name(variable.name),))
                pins.append(Comparison("==", largest, Integer(max(value))))
    return (conjunction(*pins),)
