"""Values fit the dtype of their slot, and 64 bits count its elements."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.plans import ENGINE, SLOTS, TINY, planned, tiny
from support.specs import Files
from ullage.bound.problem import Domain, Variable
from ullage.expr.environment import EvaluationError
from ullage.expr.evaluate import evaluate
from ullage.expr.parse import parse
from ullage.expr.spell import spell
from ullage.expr.tree import TRUE, Expr, Integer
from ullage.place import BUILT_IN, Place
from ullage.plan.dtypes import holds_all_of, integers_of
from ullage.plan.intervals import Intervals
from ullage.spec.model import Dtype
from ullage.spec.reading import DTYPES

LENGTHS = "dtype: int32, source: batch.lengths, range: [0, 9999]"


def lengths(text: str, files: Files = TINY) -> Files:
    """The tiny spec with another `lengths`."""
    return {**files, SLOTS: files[SLOTS].replace(LENGTHS, f"{text}, source: batch.lengths")}


NARROW: dict[str, Files] = {
    "a constant range fits the dtype": lengths("dtype: int8, range: [0, 128]"),
    "a range fits the dtype for each configuration": lengths("dtype: uint8, range: [0, step * 4]"),
    "the least value fits too": lengths("dtype: uint8, range: [0 - sink, 99]"),
    "a range fits both dtypes": lengths(
        "dtype: {accelerator: int64, cpu: int16}, range: [0, max_requests * step]"
    ),
    "a float holds integers exactly": lengths("dtype: bfloat16, range: [0, 300]"),
    "a range of a guarded parameter is judged under the guard": lengths(
        'dtype: uint8, range: [0, "width * step if drafting else 255"]'
    ),
    "elements are counted in 63 bits": {
        **TINY,
        ENGINE: TINY[ENGINE].replace("range: [1, 64]", "range: [1, 2^48]"),
        SLOTS: TINY[SLOTS].replace("[3, tokens], dtype: int32", "[step, tokens], dtype: int32"),
    },
    "a wider source states its values": lengths("dtype: int32, casts_from: [int64]"),
    "a fraction is not copied into integers": lengths("dtype: int64, casts_from: [float32]"),
}


@pytest.mark.parametrize("rule", NARROW)
@pytest.mark.slow
def test_what_does_not_fit_is_an_error_with_a_counterexample(
    tmp_path: Path, golden: Callable[[str, str], None], rule: str
) -> None:
    shown = planned(tmp_path, NARROW[rule]).problems
    assert shown.count("error[U60") == 1
    golden(f"plan/{rule.replace(' ', '_')}.txt", shown)


@pytest.mark.parametrize(
    "text",
    [
        "dtype: uint8, range: [0, 255]",
        "dtype: int16, range: [0, max_requests * 63]",
        "dtype: int32, casts_from: [int16, uint8, bool]",
        "dtype: int32, range: [0, 9], casts_from: [int64]",
        "dtype: {accelerator: int32, cpu: int64}, range: [0, 2^31 - 1]",
        "dtype: float32, casts_from: [float16, bfloat16, int16]",
    ],
)
def test_what_fits_passes(tmp_path: Path, text: str) -> None:
    assert planned(tmp_path, lengths(text)).problems == ""


def test_a_host_slot_needs_to_fit_only_its_cpu_dtype(tmp_path: Path) -> None:
    text = "device: host, dtype: {accelerator: int8, cpu: int32}, range: [0, 9999]"
    assert planned(tmp_path, lengths(text)).problems == ""


def test_constraints_of_the_spec_count(tmp_path: Path) -> None:
    constraint = "constraints: [{that: step <= 63, else: small steps}]\n"
    files = {**TINY, ENGINE: TINY[ENGINE] + constraint}
    text = "dtype: uint8, range: [0, step * 4]"
    assert planned(tmp_path, lengths(text, files)).problems == ""


def test_a_slot_may_refuse_the_configurations_that_overflow_it(tmp_path: Path) -> None:
    text = "dtype: uint8, range: [0, step * 4], on_overflow: refuse_config"
    found = planned(tmp_path, lengths(text))
    assert found.problems == ""
    refusals = [(spell(that), reason, place.line) for that, reason, place in found.plan.refusals]
    reason = "the values [0, step * 4] of 'lengths' must fit uint8"
    assert refusals == [
        ("step * 4 <= 255", reason, 4),
        ("not drafting or step * 4 <= 255", reason, 4),
    ]


def test_a_slot_that_never_overflows_refuses_nothing(tmp_path: Path) -> None:
    text = "dtype: int32, range: [0, step * 4], on_overflow: refuse_config"
    assert planned(tmp_path, lengths(text)).plan.refusals == ()


def test_a_guard_narrows_what_must_fit(tmp_path: Path) -> None:
    text = "when: step <= 63, dtype: uint8, range: [0, step * 4]"
    files = tiny("readers.yaml", ("lengths: {rows: padded, fill: 1}", "lengths: {rows: live}"))
    assert planned(tmp_path, lengths(text, files)).problems == ""


@given(st.sampled_from(DTYPES), st.sampled_from(DTYPES))
def test_a_dtype_holds_all_of_another_only_if_its_integers_reach_as_far(
    dtype: Dtype, other: Dtype
) -> None:
    low, high = integers_of(other)
    least, most = integers_of(dtype)
    if holds_all_of(dtype, other):
        assert least <= low
        assert high <= most


def parsed(text: str) -> Expr:
    return parse(text, Place("formula", 1, 1).within)


FORMULAS = [
    "a + b * 3 - c",
    "a * c",
    "(a - 4) * c",
    "a // b",
    "(a - 9) // b",
    "c % b",
    "cdiv(c, b)",
    "align_up(c, b)",
    "align_up(a, b) * 2",
    "max(a, b, c)",
    "min(a, c - b)",
    "a if b > 2 else c",
    "max(xs) + a",
    "max([x for x in xs if x > a])",
    "max([align_up(x, b) - c for x in xs])",
]


def _variable(name: str, kind: str, low: int, high: int) -> Variable:
    assert kind in ("int", "list")
    return Variable(
        name, "int" if kind == "int" else "list", Integer(low), Integer(high), TRUE, BUILT_IN
    )


DOMAIN = Domain(
    (
        _variable("a", "int", 0, 12),
        _variable("b", "int", 1, 5),
        _variable("c", "int", -7, 9),
        _variable("xs", "list", 2, 30),
    ),
    (),
    (),
)


@given(
    st.sampled_from(FORMULAS),
    st.integers(0, 12),
    st.integers(1, 5),
    st.integers(-7, 9),
    st.lists(st.integers(2, 30), min_size=1, max_size=4),
)
def test_an_interval_holds_every_value(formula: str, a: int, b: int, c: int, xs: list[int]) -> None:
    expression = parsed(formula)
    try:
        value = evaluate(expression, {"a": a, "b": b, "c": c, "xs": xs})
    except EvaluationError:
        return
    assert isinstance(value, int)
    found = Intervals(DOMAIN).of(expression)
    assert found.low is None or found.low <= value
    assert found.high is None or value <= found.high


@pytest.mark.parametrize(
    ("formula", "ends"),
    [
        ("a + b * 3 - c", (-6, 34)),
        ("a * c", (-84, 108)),
        ("(a - 9) // b", (-9, 3)),
        ("align_up(a, b)", (0, 16)),
        ("min(a, c - b)", (-12, 8)),
        ("max(a, b, c)", (1, 12)),
        ("c % b", (0, 4)),
        ("max([align_up(x, b) - c for x in xs])", (-7, 41)),
        ("unknown", (None, None)),
    ],
)
def test_an_interval_is_no_wider_than_its_parts_imply(
    formula: str, ends: tuple[int | None, int | None]
) -> None:
    found = Intervals(DOMAIN).of(parsed(formula))
    assert (found.low, found.high) == ends
