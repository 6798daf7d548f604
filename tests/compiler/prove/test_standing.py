"""Questions that have conditions in common are answered as if each were the only one."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
import z3
from hypothesis import given
from hypothesis import strategies as st

from support.bounds import claim, defined, domain, flag, limit, number, read, solver
from ullage.expr.tree import Expr
from ullage.prove.encode import Encoder
from ullage.prove.oracle import examples
from ullage.prove.solver import Solver
from ullage.prove.standing import StandingSolver, Translated

POOL = tuple(
    read(text)
    for text in (
        "a <= 4",
        "a >= 3",
        "b < a",
        "b >= 4",
        "on",
        "not on or a == b",
        "align_up(a, 4) <= b",
        "a // 2 >= 3",
    )
)
NAMES = domain(number("a", 0, 9), number("b", 0, 9), flag("on"))
EFFORT = 100_000


def translated(context: z3.Context) -> Mapping[Expr, Translated]:
    """Every condition of the pool for one context of z3."""
    known = Solver(NAMES)
    found: dict[Expr, Translated] = {}
    for condition in POOL:
        encoder = Encoder(known.variables, {}, known.booleans, context=context)
        term = encoder.boolean(condition)
        axioms = {each.get_id(): each for each in encoder.axioms}
        found[condition] = Translated(term, axioms, encoder.names)
    return found


def alone(conditions: Mapping[Expr, Translated], context: z3.Context) -> z3.CheckSatResult:
    """The answer of a solver that is asked nothing else."""
    fresh = z3.SimpleSolver(context)
    for each in conditions.values():
        fresh.add(each.term, *each.axioms.values())
    return fresh.check()


@given(st.lists(st.sets(st.sampled_from(POOL)), min_size=1, max_size=6))
def test_an_answer_does_not_depend_on_earlier_questions(questions: list[set[Expr]]) -> None:
    context = z3.Context()
    known = translated(context)
    standing = StandingSolver(context)
    for question in questions:
        conditions = {each: known[each] for each in POOL if each in question}
        answer = standing.check(conditions, EFFORT)
        assert answer == alone(conditions, context)
        if answer == z3.unsat:
            needed = {each: known[each] for each in standing.needed()}
            assert needed.keys() <= conditions.keys()
            assert alone(needed, context) == z3.unsat


def unasked(monkeypatch: pytest.MonkeyPatch) -> None:
    """From here on, z3 must not be asked."""

    def refuse(*_: object) -> None:
        raise AssertionError("z3 was asked")

    monkeypatch.setattr(StandingSolver, "check", refuse)
    monkeypatch.setattr(Solver, "query", refuse)


def test_a_proof_counts_wherever_what_it_needed_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    found = solver(number("a", 0, 9), number("b", 0, 9))
    wanted = claim("2 * b <= 9")
    assert found.proves(wanted, (read("a + b <= 12"), read("b <= 4")))
    unasked(monkeypatch)
    assert found.proves(wanted, (read("b <= 4"),))
    assert found.proves(wanted, (read("b != a"), read("b <= 4")))


def test_what_an_example_satisfies_is_possible_without_asking(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = solver(number("a", 0, 9), defined("twice", "2 * a"), limit("a >= 5"))
    for example in examples(found.domain):
        found.examples.add(example)
    unasked(monkeypatch)
    assert not found.excludes(read("twice >= 10"))
    with pytest.raises(AssertionError):
        found.excludes(read("a < 5"))
