"""Random batches lie within their ranges, and satisfy what they are asked to satisfy."""

from __future__ import annotations

import random

import pytest

from support.bounds import live, mode, read
from ullage.expr.environment import Environment
from ullage.expr.evaluate import evaluate
from ullage.prove.batches import batch_of, with_batch

CONFIGURATION = Environment({"cap": 6, "pool": 40})
WANTED = mode(
    live("rows", 1, "cap"),
    live("toks", "rows", "pool"),
    where=["toks <= rows * 4"],
    tokens="toks",
)
RANGES = read("1 <= rows and rows <= cap and rows <= toks and toks <= pool")


@pytest.mark.parametrize("seed", range(20))
def test_a_batch_lies_within_ranges_that_rest_on_one_another(seed: int) -> None:
    batch = with_batch(CONFIGURATION, WANTED, random.Random(seed))
    assert evaluate(RANGES, batch) is True


@pytest.mark.parametrize("seed", range(20))
def test_a_batch_satisfies_the_conditions_that_it_is_asked_for(seed: int) -> None:
    conditions = (*WANTED.where, read("rows >= 2"))
    batch = batch_of(CONFIGURATION, WANTED, conditions, random.Random(seed))
    assert batch is not None
    assert all(evaluate(each, batch) is True for each in (RANGES, *conditions))


def test_there_is_no_batch_for_what_no_batch_satisfies() -> None:
    assert batch_of(CONFIGURATION, WANTED, (read("rows > toks"),), random.Random(1)) is None


def test_a_live_variable_without_a_range_here_has_no_value() -> None:
    """Its guard is false in this configuration."""
    wanted = mode(live("rows", 1, "cap // (cap - 6)"), tokens="1")
    assert "rows" not in with_batch(CONFIGURATION, wanted, random.Random(1)).values
