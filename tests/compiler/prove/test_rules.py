"""Every rule of proof is true of all integers, and each of its premises is needed."""

from __future__ import annotations

import pytest
import z3

from ullage.prove.rules import LEMMAS, Lemma, lemma_holds

RLIMIT = 20_000_000

NEEDED = {
    "+": 2,
    "-": 2,
    "*": 4,
    "//": 3,
    "// smaller divisor": 5,
    "cdiv": 3,
    "cdiv smaller divisor": 5,
    "align_up": 3,
    "next_in": 3,
    "max": 2,
    "min": 2,
    "max_below": 2,
    "below_max": 1,
    "min_below": 1,
    "below_min": 2,
    "chain": 2,
    "align_scales": 1,
    "cdiv_scales": 1,
    "multiply both sides": 2,
    "above_itself": 1,
    "shifted_quotient": 3,
    "exact_quotient": 2,
    "multiples": 1,
    "align_up below": 2,
    "cdiv below": 1,
    "// below": 1,
    "* below": 1,
    "align_up above": 2,
    "cdiv above": 1,
    "// above": 1,
    "signs": 4,
    "total of quotients": 4,
}
"""How many premises a lemma is false without; the rest says what others imply or helps z3."""


def refuted(lemma: Lemma, without: int) -> bool:
    """Whether z3 finds integers that break the claim when one premise is left out."""
    given, claim = lemma
    solver = z3.Solver()
    solver.set("rlimit", RLIMIT)
    solver.add(given[:without] + given[without + 1 :])
    solver.add(z3.Not(claim))
    return bool(solver.check() == z3.sat)


@pytest.mark.parametrize("name", sorted(LEMMAS))
def test_every_lemma_holds_for_all_integers(name: str) -> None:
    assert lemma_holds(name)


@pytest.mark.parametrize("name", sorted(LEMMAS))
def test_no_lemma_rests_on_premises_that_contradict_each_other(name: str) -> None:
    given, claim = LEMMAS[name]()
    solver = z3.Solver()
    solver.set("rlimit", RLIMIT)
    solver.add(given)
    assert solver.check() == z3.sat
    solver.add(claim)
    assert solver.check() == z3.sat


@pytest.mark.parametrize("name", sorted(NEEDED))
@pytest.mark.slow
def test_a_lemma_is_refuted_without_a_premise_that_it_needs(name: str) -> None:
    lemma = LEMMAS[name]()
    needed = [place for place in range(len(lemma[0])) if refuted(lemma, without=place)]
    assert len(needed) == NEEDED[name]


def test_every_lemma_but_that_of_cases_has_premises_that_it_needs() -> None:
    assert LEMMAS.keys() - NEEDED.keys() == {"cases"}


def test_cases_with_exchanged_arms_are_refuted() -> None:
    """The lemma of cases holds its premises inside of its claim, so it is broken by hand."""
    a, b, c = z3.Ints("a b c")
    p = z3.Bool("p")
    exchanged = z3.And(z3.Implies(p, b <= c), z3.Implies(z3.Not(p), a <= c))
    assert refuted(([exchanged, z3.BoolVal(True)], z3.If(p, a, b) <= c), without=1)
