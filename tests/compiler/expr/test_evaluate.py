"""What an expression means: exact integers, short circuit, and no value where there is none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.expressions import FULL, environments, expressions, value_or_none
from ullage.expr.environment import Environment, EvaluationError, Result, Value
from ullage.expr.evaluate import evaluate, evaluate_boolean, evaluate_integer
from ullage.expr.kinds import BoolKind, IntKind, infer
from ullage.expr.parse import parse
from ullage.expr.tree import Comparison, Enumerant, Expr, Integer, Name
from ullage.place import Place

VALUES: dict[str, Value] = {"a": 7, "b": 3, "p": True, "q": False, "xs": [16, 4, 8]}
BATCH = Environment(
    {"rows": 3, "width": 4},
    requests={"seq_len": [5, 9, 2], "drafts": [1, 4, 3]},
    upper={"width": 6},
)


def at(offset: int, width: int) -> Place:
    return Place("a.yaml", 1, offset + 1, width)


def value_of(text: str, environment: Environment | dict[str, Value] = VALUES) -> Result:
    return evaluate(parse(text, at), environment)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a + b * 2", 13),
        ("a - b - 2", 2),
        ("a // b", 2),
        ("-a // b", -3),
        ("a % b", 1),
        ("-a % b", 2),
        ("2^63 * 2^63", 2**126),
        ("a < b or a == 7", True),
        ("1 < b < a", True),
        ("not p", False),
        ("a if q else b", 3),
        ("a in [1, 7]", True),
        ("a not in [1, 7]", False),
        ("min(a, b, 5)", 3),
        ("max(xs)", 16),
        ("min(xs)", 4),
        ("align_up(a, b)", 9),
        ("align_up(-a, b)", -6),
        ("align_up(9, b)", 9),
        ("cdiv(a, b)", 3),
        ("cdiv(-a, b)", -2),
        ("next_in(5, xs)", 8),
        ("next_in(4, xs)", 4),
        ("[a, b + 1]", [7, 4]),
        ("[x * a for x in xs if x != 4]", [112, 56]),
        ("[a for a in xs if a < 9]", [4, 8]),
        ("sum_ranks(a) + max_ranks(b)", 10),
    ],
)
def test_an_expression_has_its_value(text: str, value: Result) -> None:
    found = value_of(text)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    "text",
    [
        "a // 0",
        "a % 0",
        "a // (b - a)",
        "align_up(a, 0)",
        "cdiv(a, -1)",
        "next_in(17, xs)",
        "max([x for x in xs if x > 99])",
        "min([])",
        "a + absent",
        "upper(a)",
        "sum_requests(a)",
        "p + 1",
        "a and p",
        "a + xs",
        "max(p, p)",
        "max(a)",
        "xs == xs",
        "[p]",
    ],
)
def test_an_expression_without_a_value_raises(text: str) -> None:
    with pytest.raises(EvaluationError):
        value_of(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("q and a // 0 == 1", False),
        ("p or a // 0 == 1", True),
        ("a // 0 if q else b", 3),
        ("b if p else absent", 3),
    ],
)
def test_only_what_decides_is_evaluated(text: str, value: Result) -> None:
    assert value_of(text) == value


def test_an_enumerant_is_its_code() -> None:
    expr = Comparison("==", Name("worker"), Enumerant("worker", "draft", 1))
    assert evaluate(expr, {"worker": 1}) is True
    assert evaluate(expr, {"worker": 2}) is False


def test_a_sum_over_requests_adds_the_amount_of_each() -> None:
    assert value_of("sum_requests(seq_len)", BATCH) == 16
    assert value_of("sum_requests(seq_len * width + drafts)", BATCH) == 72
    assert value_of("sum_requests(cdiv(seq_len, width))", BATCH) == 6
    assert value_of("sum_requests(1)", BATCH) == 3
    assert value_of("max([x + sum_requests(x) for x in [rows]])", BATCH) == 12


def test_a_batch_without_requests_sums_to_nothing() -> None:
    assert value_of("sum_requests(seq_len)", Environment({}, {"seq_len": []})) == 0


def test_requests_of_different_number_have_no_sum() -> None:
    uneven = Environment({}, {"seq_len": [1, 2], "drafts": [1]})
    with pytest.raises(EvaluationError):
        value_of("sum_requests(seq_len)", uneven)


def test_the_largest_value_of_a_parameter_is_not_its_current_one() -> None:
    assert value_of("upper(width) - width", BATCH) == 2


def test_ranks_are_summed_and_compared_with_their_own_values() -> None:
    peers = (
        Environment({"rows": 8, "width": 4}, {"seq_len": [50]}),
        Environment({"rows": 5, "width": 4}, {"seq_len": []}),
    )
    group = Environment(BATCH.values, BATCH.requests, peers)
    assert value_of("sum_ranks(rows)", group) == 16
    assert value_of("max_ranks(align_up(rows, width))", group) == 8
    assert value_of("max_ranks(sum_requests(seq_len))", group) == 50
    assert value_of("sum_ranks(max_ranks(rows) - rows)", group) == 8


def test_the_typed_forms_refuse_the_other_kind() -> None:
    assert evaluate_integer(Integer(3), {}) == 3
    assert evaluate_boolean(parse("a > b", at), VALUES) is True
    with pytest.raises(EvaluationError):
        evaluate_integer(parse("a > b", at), VALUES)
    with pytest.raises(EvaluationError):
        evaluate_boolean(Integer(3), {})


@given(expressions(FULL), environments(FULL))
def test_a_value_is_of_the_inferred_kind(expr: Expr, environment: Environment) -> None:
    kind, value = infer(expr, FULL.kinds), value_or_none(expr, environment)
    if value is not None:
        wanted = {IntKind: int, BoolKind: bool}.get(type(kind), list)
        assert type(value) is wanted


@given(st.integers(), st.integers(1, 10**20))
def test_rounding_up_is_exact_for_every_size(value: int, step: int) -> None:
    environment: dict[str, Value] = {"v": value, "s": step}
    rounded = evaluate_integer(parse("align_up(v, s)", at), environment)
    assert rounded % step == 0
    assert value <= rounded < value + step
    assert evaluate_integer(parse("cdiv(v, s)", at), environment) * step == rounded


@given(st.lists(expressions(FULL), min_size=2, max_size=4), environments(FULL))
def test_a_remembering_environment_gives_the_same_values(
    exprs: list[Expr], environment: Environment
) -> None:
    remembering = environment.remembering()
    for expr in (*exprs, *exprs):
        assert value_or_none(expr, remembering) == value_or_none(expr, environment)
