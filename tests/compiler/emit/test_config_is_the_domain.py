"""`Config.validate` accepts exactly the configurations that capacities are proved for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from enum import StrEnum
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.generated import analysed, barrel, generated_barrel
from support.small_specs import mode_text, small
from ullage.bound.problem import Domain
from ullage.bound.specialise import specialise
from ullage.emit.package import emit
from ullage.expr.environment import EvaluationError, Value
from ullage.expr.evaluate import evaluate
from ullage.read import read
from ullage.spec.check import ResolvedSpec
from ullage_generated import sglang
from ullage_generated.sglang import strategies
from ullage_runtime.errors import ConfigurationError

SPECS = Path(__file__).parents[3] / "specs" / "sglang"


@cache
def sglang_domain() -> tuple[ResolvedSpec, Domain]:
    resolved = read(SPECS)[1]
    return resolved, specialise(resolved).domain


def codes(resolved: ResolvedSpec, given_values: Mapping[str, object]) -> dict[str, Value]:
    """Values as the expression language has them: enums by code, None left out."""
    values: dict[str, Value] = {}
    enums = {each.name: each.choices for each in resolved.spec.parameters if each.choices}
    for name, value in given_values.items():
        if isinstance(value, str):
            values[name] = enums[name].index(value)
        elif isinstance(value, bool | int | tuple | list):
            values[name] = value if isinstance(value, bool | int) else list(value)
    return values


def is_legal(resolved: ResolvedSpec, domain: Domain, given_values: Mapping[str, object]) -> bool:
    """Whether values are in the domain, by evaluating its own expressions."""
    values = codes(resolved, given_values)
    try:
        for definition in domain.definitions:
            if evaluate(definition.guard, values) is True:
                try:
                    values[definition.name] = evaluate(definition.value, values)
                except EvaluationError:
                    continue
        for variable in domain.variables:
            exists = evaluate(variable.guard, values)
            if exists != (variable.name in values):
                return False
            if not exists or variable.low is None or variable.high is None:
                continue
            value = values[variable.name]
            low, high = evaluate(variable.low, values), evaluate(variable.high, values)
            members = value if isinstance(value, list) else [value]
            if not members or not all(low <= each <= high for each in members):
                return False
        return all(evaluate(each.that, values) is True for each in domain.constraints)
    except EvaluationError:
        return False


def accepts(config: object) -> bool:
    try:
        config.validate()  # type: ignore[attr-defined]
    except ConfigurationError:
        return False
    return True


@st.composite
def changed(draw: st.DrawFn, config: object, domain: Domain, python: Mapping[str, str]) -> object:
    """A legal configuration of which a few values are replaced, most of them by wrong ones."""
    names = draw(st.lists(st.sampled_from([each.name for each in domain.variables]), max_size=3))
    changes: dict[str, object] = {}
    for name in names:
        attribute = python.get(name, name)
        old = getattr(config, attribute)
        numbers = st.sampled_from((-2, -1, 0, 1, 2, 3, 5, 8, 13, 64, 65, 513, 2**31, 2**40))
        match old:
            case bool():
                changes[attribute] = draw(st.booleans())
            case StrEnum():
                changes[attribute] = draw(st.sampled_from(tuple(type(old))))
            case tuple():
                changes[attribute] = tuple(draw(st.lists(numbers, max_size=3)))
            case _:
                changes[attribute] = draw(st.none() | numbers)
    return replace(config, **changes)  # type: ignore[type-var]  # any generated configuration


@given(st.data())
@pytest.mark.slow
def test_sglang_accepts_what_its_specs_allow_and_nothing_else(data: st.DataObject) -> None:
    resolved, domain = sglang_domain()
    config = data.draw(changed(data.draw(strategies.configs()), domain, {}))
    assert isinstance(config, sglang.Config)
    assert accepts(config) is is_legal(resolved, domain, asdict(config))


@given(st.data())
@pytest.mark.slow
def test_another_engine_accepts_what_its_specs_allow_and_nothing_else(data: st.DataObject) -> None:
    analysis = generated_barrel()[0]
    python = {"input": "input_", "validate": "validate_"}
    spec_names = {value: name for name, value in python.items()}
    drawn = data.draw(barrel("strategies").configs())
    config = data.draw(changed(drawn, analysis.problem.domain, python))
    values = {spec_names.get(name, name): value for name, value in asdict(config).items()}
    expected = is_legal(analysis.resolved, analysis.problem.domain, values)
    assert accepts(config) is expected


@given(st.data())
@pytest.mark.slow
def test_generated_capacities_are_the_formulas_that_were_proved(data: st.DataObject) -> None:
    analysis = generated_barrel()[0]
    config = data.draw(barrel("strategies").configs())
    python = {"input": "input_", "validate": "validate_"}
    names = [each.name for each in analysis.problem.domain.variables]
    given_values = {name: getattr(config, python.get(name, name)) for name in names}
    values = codes(analysis.resolved, given_values)
    for definition in analysis.problem.domain.definitions:
        values[definition.name] = evaluate(definition.value, values)
    capacities = barrel().PlainMainCapacities.of(config)
    for capacity in analysis.capacities.by_target:
        field = capacity.target.replace(".", "_")
        assert getattr(capacities, field) == evaluate(capacity.formula, values)


def test_what_was_not_looked_at_has_not_passed(tmp_path: Path) -> None:
    """`inner` is not looked at where its range is wrong, and so neither is what rests on it."""
    files = small(
        mode_text(live={"requests": "1; outer"}, requests="requests", tokens="requests"),
        parameters=(
            "outer: {type: int, range: [1, 3]}",
            "flag: {type: bool}",
            "inner: {type: int, range: [0, outer + 1], when: flag}",
        ),
        constraints=('"1 <= (inner if flag else 1)"',),
    )
    emitted = emit(analysed(tmp_path, "unseen", files))["config.py"]
    checks = emitted[emitted.index("def validate") :]
    assert 'if problems.passed("outer", "flag", "inner"):' in checks
