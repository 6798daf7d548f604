"""A model that z3 found counts against what it makes false, and against nothing else."""

from __future__ import annotations

import pytest

from support.bounds import read
from ullage.prove.refutations import KEPT, Refutations


@pytest.fixture
def kept() -> Refutations:
    found = Refutations()
    found.keep({"rows": 7, "cap": 9, "sync": 1}, frozenset({"sync"}))
    return found


def test_a_claim_that_is_false_in_a_model_is_refuted(kept: Refutations) -> None:
    assert kept.refute(read("cap <= rows"), ())
    assert kept.refute(read("rows * 2 <= cap"), (read("sync"), read("rows < cap")))


def test_a_claim_that_is_true_in_every_model_is_not(kept: Refutations) -> None:
    assert not kept.refute(read("rows <= cap"), ())


def test_a_model_without_what_is_given_says_nothing(kept: Refutations) -> None:
    assert not kept.refute(read("cap <= rows"), (read("not sync"),))


@pytest.mark.parametrize("text", ["tokens <= 1", "rows // (rows - 7) <= 1"])
def test_a_claim_without_a_value_in_a_model_is_not_refuted(kept: Refutations, text: str) -> None:
    assert not kept.refute(read(text), ())
    assert not kept.refute(read("cap <= rows"), (read(text),))


def test_the_oldest_models_are_forgotten(kept: Refutations) -> None:
    for rows in range(KEPT):
        kept.keep({"rows": rows + 20, "cap": rows + 30}, frozenset())
    assert not kept.refute(read("rows != 7"), ())
    assert kept.refute(read("rows != 20"), ())
