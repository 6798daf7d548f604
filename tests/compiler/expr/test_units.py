"""Units: how they are read and printed, and how they multiply."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.expr import errors
from ullage.expr.errors import ExpressionError
from ullage.expr.units import BASES, Unit
from ullage.place import Place

REQUESTS = Unit.parse("requests")


def at(offset: int, width: int) -> Place:
    return Place("a.yaml", 1, offset + 1, width)


def units() -> st.SearchStrategy[Unit]:
    powers = st.tuples(*(st.integers(-9, 9) for _ in BASES))
    return powers.map(Unit)


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("tokens/requests", "tokens/requests"),
        ("requests * tokens", "requests*tokens"),
        ("tokens^2 / pages", "tokens^2/pages"),
        ("1/requests", "1/requests"),
        ("tokens*tokens", "tokens^2"),
        ("tokens/tokens", "1"),
        ("none", "1"),
        ("1", "1"),
        (" bytes ", "bytes"),
    ],
)
def test_a_unit_is_read_and_printed(text: str, printed: str) -> None:
    assert str(Unit.parse(text)) == printed


@given(units())
def test_a_printed_unit_reads_as_itself(unit: Unit) -> None:
    assert Unit.parse(str(unit)) == unit


@given(units(), units())
def test_dividing_by_a_unit_undoes_multiplying_by_it(left: Unit, right: Unit) -> None:
    assert left * right / right == left
    assert left * right == right * left
    assert (left / left).dimensionless


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("", 1),
        ("tokenz", 1),
        ("tokens/", 8),
        ("tokens requests", 8),
        ("tokens per pages", 8),
        ("tokens/pagez", 8),
        ("tokens^0", 7),
        ("tokens^12", 9),
        ("tokens**2", 8),
        ("tokens\0", 7),
    ],
)
def test_a_text_that_is_no_unit_is_refused_where_it_goes_wrong(text: str, column: int) -> None:
    with pytest.raises(ExpressionError) as caught:
        Unit.parse(text, at)
    assert caught.value.code == errors.NOT_A_UNIT
    assert caught.value.place.column == column


@given(st.text())
def test_any_text_is_a_unit_or_an_expression_error(text: str) -> None:
    try:
        unit = Unit.parse(text, at)
    except ExpressionError as error:
        assert error.code == errors.NOT_A_UNIT  # noqa: PT017
    else:
        assert Unit.parse(str(unit)) == unit


@given(units())
def test_a_sum_over_requests_is_of_no_request(unit: Unit) -> None:
    assert unit.summed() in (unit, unit * REQUESTS)
    assert (unit.summed() == unit) == (unit.powers[BASES.index("requests")] >= 0)
