"""The solver proves what holds in every legal configuration, and nothing else."""

from __future__ import annotations

import itertools

import pytest

from support.bounds import claim, defined, domain, flag, limit, number, read, solver, values
from ullage.bound.problem import Domain
from ullage.expr.environment import Value
from ullage.expr.evaluate import evaluate
from ullage.expr.tree import FALSE, TRUE, Expr
from ullage.prove.solver import Level, Solver

RANKS = domain(
    number("tp", 1, 8),
    number("dp", 1, 8),
    number("cap", 1, 100),
    flag("sync"),
    number("align", 1, 16, when="sync"),
    defined("per_rank", "tp // dp"),
    defined("step", "align if sync else 1"),
    defined("rows", "align_up(cap, step)"),
    limit("tp % dp == 0"),
    limit("not sync or align <= cap"),
)
SOLVER = Solver(RANKS)


@pytest.mark.parametrize(
    "text",
    [
        "tp >= 1 and tp <= 8",
        "per_rank >= 1",
        "per_rank <= tp",
        "step >= 1",
        "step <= 16",
        "cap <= rows",
        "rows < cap + step",
        "rows <= cap + 15",
        "not sync or align <= cap",
        "step <= cap",
    ],
)
def test_what_follows_from_ranges_definitions_and_constraints_is_proved(text: str) -> None:
    assert SOLVER.proves(read(text))


@pytest.mark.parametrize(
    "text",
    [
        "tp == dp",
        "tp >= 2",
        "rows <= cap",
        "align <= cap",
        "sync",
        "not sync",
        "per_rank <= 7",
        "rows <= cap + 14",
    ],
)
def test_what_breaks_in_one_configuration_is_not_proved(text: str) -> None:
    assert SOLVER.decide(read(text)).answer == "refuted"


def test_assumptions_narrow_the_configurations() -> None:
    assert not SOLVER.proves(read("rows <= cap"))
    assert SOLVER.proves(read("rows <= cap"), [read("not sync")])
    assert SOLVER.proves(read("rows <= cap"), [read("cap % step == 0")])


def test_an_assumption_is_not_kept_for_the_next_question() -> None:
    assert SOLVER.proves(read("tp <= 4"), [read("dp <= 1"), read("tp <= 4 * dp")])
    assert not SOLVER.proves(read("tp <= 4"), [read("tp <= 4 * dp")])
    assert not SOLVER.proves(read("tp <= 4"))


def test_an_assumption_proves_itself() -> None:
    strange = read("cap * tp // 3 == dp * 7")
    assert SOLVER.proves(strange, [strange])
    assert not SOLVER.proves(strange)


def test_a_contradiction_proves_everything_and_the_domain_is_none() -> None:
    assert SOLVER.proves(FALSE, [read("cap >= 101")])
    assert not SOLVER.proves(FALSE)
    assert SOLVER.proves(TRUE)


def test_a_counterexample_is_a_legal_configuration_that_breaks_the_claim() -> None:
    for text in ("rows <= cap", "per_rank <= 7", "tp == dp", "step != 16"):
        verdict = SOLVER.decide(read(text))
        assert verdict.model is not None
        found = _complete(verdict.model)
        assert all(_true(each.that, found) for each in RANKS.constraints)
        assert not _true(read(text), found)


def _complete(model: dict[str, int] | object) -> dict[str, Value]:
    """The model with the first legal value for every parameter that it leaves out."""
    assert isinstance(model, dict)
    found: dict[str, Value] = {"tp": 1, "dp": 1, "cap": 1, "align": 1, "sync": False}
    found |= {name: bool(value) if name == "sync" else value for name, value in model.items()}
    for definition in RANKS.definitions:
        found[definition.name] = evaluate(definition.value, found)
    return found


def _true(condition: Expr, found: dict[str, Value]) -> bool:
    return bool(evaluate(condition, found))


def test_find_answers_with_a_legal_assignment_or_none() -> None:
    found = SOLVER.find(read("sync and rows == 32"))
    assert found is not None
    assert found["sync"] == 1
    assert found["rows"] == 32
    assert SOLVER.find(read("rows > 115")) is None


@pytest.mark.parametrize("level", ["opaque", "related", "full"])
def test_no_level_proves_what_is_false(level: Level) -> None:
    for text in ("rows <= cap", "tp == dp", "per_rank <= 7", "step <= 15", "sync"):
        assert not SOLVER.decide(read(text), (), level).proved


def test_only_the_last_level_refutes() -> None:
    """A name without its definition takes values that no configuration gives it."""
    assert SOLVER.decide(read("per_rank <= 8"), (), "opaque").answer != "refuted"
    assert SOLVER.decide(read("per_rank <= 8"), (), "full").answer == "proved"


def test_signs_of_definitions_are_known_without_their_values() -> None:
    assert SOLVER.decide(read("per_rank >= 1 and step >= 1 and rows >= 1"), (), "opaque").proved


def test_the_sign_of_a_definition_is_not_taken_from_where_its_guard_is_false() -> None:
    found = solver(
        flag("on"),
        number("low", -5, 5),
        defined("high", "low + 6", when="on"),
        defined("free", "low"),
    )
    assert found.lower_bounds.get("high") == 1
    assert "free" not in found.lower_bounds
    assert not found.proves(claim("high >= 1"))
    assert found.proves(claim("high >= 1"), [read("on")])


def test_a_constraint_far_away_counts_at_the_last_level() -> None:
    found = solver(
        number("a", 1, 9),
        number("b", 1, 9),
        number("c", 1, 9),
        limit("a <= b"),
        limit("b <= c"),
    )
    assert found.proves(read("a <= c"))
    assert not found.proves(read("c <= a"))


def test_parameters_of_a_range_that_depends_on_others_stay_inside_of_it() -> None:
    found = solver(number("a", 1, 9), number("b", "a + 1", "2 * a"), limit("b >= 1"))
    assert found.proves(read("a < b and b <= 18"))
    assert not found.proves(read("b <= 17"))


def test_an_empty_range_rules_out_the_configurations_that_cause_it() -> None:
    """There is no legal value for `b` where `a` is 1, so `a` is never 1 in what concerns `b`."""
    found = solver(number("a", 1, 9), number("b", 2, "a"))
    assert found.proves(read("b <= a and a >= 2"), [read("b == b + 0")])
    assert not found.proves(read("a >= 2"))


def test_an_empty_range_under_a_false_guard_rules_nothing_out() -> None:
    found = solver(flag("on"), number("a", 1, 9), number("b", 2, "a", when="on"))
    assert not found.proves(read("(b if on else 2) <= a"))
    assert found.proves(read("(b if on else a) <= a"))


def test_the_same_question_has_the_same_answer() -> None:
    again = Solver(RANKS)
    for text in ("rows <= cap + 15", "rows <= cap", "per_rank * dp == tp"):
        assert SOLVER.decide(read(text)).answer == again.decide(read(text)).answer
        assert SOLVER.decide(read(text)) == SOLVER.decide(read(text))


def test_questions_spelled_alike_are_kept_apart() -> None:
    """An assumption of one question is not one of another, whatever their texts look like."""
    assert SOLVER.proves(read("cap <= 5"), [read("cap <= 5 and sync")])
    assert not SOLVER.proves(read("cap <= 5"), [read("cap <= 5 or sync")])
    assert not SOLVER.proves(read("cap <= 5 or sync"), [read("not sync")])


@pytest.mark.slow
def test_what_is_asked_apart_shows_in_no_answer() -> None:
    """A level that does not prove a claim by itself takes it from a higher one that was asked."""
    first = solver(number("a", 0, 9), number("b", 0, 9), limit("a < b"))
    wanted = claim("a <= b")
    apart, another = first.apart(), first.apart()
    assert apart.proves(wanted)
    assert apart.decide(wanted, (), "opaque").proved
    assert [each.decide(wanted, (), "opaque").answer for each in (first, another)] == ["open"] * 2


@pytest.mark.slow
def test_effort_is_bounded() -> None:
    """A question beyond the effort is answered `unknown` in the end."""
    names = [f"x{place}" for place in range(6)]
    found = solver(*(number(name, 2, 2**31) for name in names))
    hard = read(f"{' * '.join(names)} != 1000000016000000063 * 999999937")
    assert found.decide(hard).answer in ("unknown", "refuted")


SMALL = domain(
    number("a", 1, 3),
    number("b", 0, 3),
    flag("on"),
    values("xs", 1, 3),
    defined("sum", "a + b"),
    defined("part", "sum // a"),
    limit("a + b <= 5"),
)


@pytest.mark.parametrize(
    "text",
    [
        f"{left} {operator} {right}"
        for left, operator, right in itertools.product(
            ("a * b", "align_up(sum, a)", "part * a", "max(xs)", "cdiv(sum, a)"),
            ("<=", "==", "<"),
            ("sum", "a * part + b", "align_up(b, a) + a", "(6 if on else sum)"),
        )
    ],
)
def test_a_verdict_is_what_trying_all_configurations_says(text: str) -> None:
    expr = read(text)
    always = all(_true(expr, found) for found in _all_of(SMALL))
    answer = Solver(SMALL).decide(expr).answer
    assert answer == ("proved" if always else "refuted")


def _all_of(found: Domain) -> list[dict[str, Value]]:
    """Every legal configuration of a domain of small constant ranges."""
    choices: list[list[Value]] = [_choices(each) for each in found.variables]
    legal: list[dict[str, Value]] = []
    for chosen in itertools.product(*choices):
        names = [each.name for each in found.variables]
        values_of: dict[str, Value] = dict(zip(names, chosen, strict=True))
        for definition in found.definitions:
            values_of[definition.name] = evaluate(definition.value, values_of)
        if all(_true(each.that, values_of) for each in found.constraints):
            legal.append(values_of)
    return legal


def _choices(variable: object) -> list[Value]:
    kind = getattr(variable, "type", "")
    if kind == "bool":
        return [False, True]
    low, high = (evaluate(getattr(variable, end), {}) for end in ("low", "high"))
    assert isinstance(low, int)
    assert isinstance(high, int)
    every = range(low, high + 1)
    if kind == "list":
        return [list(each) for n in (1, 2, 3) for each in itertools.combinations(every, n)]
    return list(every)
