"""The checker accepts each rule in its right form, and nothing else."""

from __future__ import annotations

from dataclasses import replace

import pytest

from support.bounds import defined, domain, flag, limit, number, read, values
from support.proofs import altered, claim_of, leaf, same, shortened, step
from ullage.bound.steps import RuleName, Step
from ullage.expr.tree import Comparison
from ullage.prove.checker import Checker
from ullage.prove.solver import Solver

# small <= middle <= large; few <= many divide; signed and factor may be below and at zero.
DOMAIN = domain(
    number("small", 1, 5),
    number("middle", 6, 9),
    number("large", 10, 12),
    number("few", 1, 3),
    number("many", 4, 7),
    number("signed", -9, 9),
    number("factor", 0, 4),
    flag("wide"),
    flag("graphs"),
    values("sizes", 10, 20),
    defined("rows", "middle + 1"),
    defined("captured", "large", when="graphs"),
    limit("middle <= large"),
)
SOLVER = Solver(DOMAIN)
SMALLER, LARGER = leaf("small", "middle"), leaf("middle", "large")

RIGHT: dict[str, Step] = {
    "same": same("signed * many"),
    "leaf": leaf("small * 2 - 1", "large"),
    "chain": step("chain", "small", "large", SMALLER, LARGER),
    "sum": step("monotone", "small + middle", "middle + large", SMALLER, LARGER),
    "difference": step("monotone", "small - large", "middle - middle", SMALLER, LARGER),
    "product": step("monotone", "small * factor", "middle * factor", SMALLER, same("factor")),
    "quotient": step("monotone", "signed // many", "signed // many", same("signed"), same("many")),
    "quotient by less": step(
        "monotone", "small // many", "middle // few", SMALLER, leaf("few", "many")
    ),
    "rounded quotient": step(
        "monotone", "cdiv(small, few)", "cdiv(middle, few)", SMALLER, same("few")
    ),
    "rounded quotient by less": step(
        "monotone", "cdiv(small, many)", "cdiv(middle, few)", SMALLER, leaf("few", "many")
    ),
    "alignment": step("monotone", "align_up(small, few)", "align_up(middle, few)", SMALLER),
    "next element": step("monotone", "next_in(small, sizes)", "next_in(middle, sizes)", SMALLER),
    "larger of several": step(
        "monotone", "max(small, 1, middle)", "max(middle, 1, large)", SMALLER, same("1"), LARGER
    ),
    "smaller of several": step(
        "monotone", "min(small, middle)", "min(middle, large)", SMALLER, LARGER
    ),
    "max_below": step("max_below", "max(small, middle)", "large", leaf("small", "large"), LARGER),
    "below_max": step("below_max", "small", "max(signed, middle)", SMALLER),
    "min_below": step("min_below", "min(signed, small)", "middle", SMALLER),
    "below_min": step("below_min", "small", "min(middle, large)", SMALLER, leaf("small", "large")),
    "cases_left": step(
        "cases_left", "small if wide else middle", "large", leaf("small", "large"), LARGER
    ),
    "cases_right": step(
        "cases_right", "small", "middle if wide else large", SMALLER, leaf("small", "large")
    ),
    "cases that know": step(
        "cases_left", "signed if signed < 3 else 2", "2", leaf("signed", "2"), same("2")
    ),
    "a case that cannot be": step(
        "cases_left",
        "99 if small > 5 else middle",
        "large",
        step("impossible", "99", "large"),
        LARGER,
    ),
    "align_scales": step(
        "align_scales", "align_up(signed * factor, few)", "align_up(signed, few) * factor"
    ),
    "cdiv_scales": step("cdiv_scales", "cdiv(factor * signed, few)", "cdiv(signed, few) * factor"),
    "above_itself": step("above_itself", "signed", "align_up(signed, few)"),
    "shifted_quotient": step(
        "shifted_quotient",
        "small + (signed - small) // few",
        "middle + (signed - middle) // few",
        SMALLER,
    ),
    "exact_quotient": step("exact_quotient", "signed * few // few", "signed"),
    "exact_quotient, turned": step("exact_quotient", "signed", "signed * few // few"),
    "element": step("element", "next_in(large * many, sizes)", "max(sizes)"),
    "next element that is seen to exist": step(
        "next_within",
        "next_in(signed, sizes)",
        "next_in(min(max(sizes), large), sizes)",
        step(
            "below_min",
            "signed",
            "min(max(sizes), large)",
            leaf("signed", "max(sizes)"),
            leaf("signed", "large"),
        ),
        step("min_below", "min(max(sizes), large)", "max(sizes)", same("max(sizes)")),
    ),
    "alignment unrounded": step(
        "unrounds", "align_up(small, few)", "9", leaf("small", "9 // few * few")
    ),
    "rounded quotient unrounded": step(
        "unrounds", "cdiv(middle, many)", "3", leaf("middle", "3 * many")
    ),
    "quotient unrounded": step(
        "unrounds", "middle // many", "2", leaf("middle", "2 * many + many - 1")
    ),
    "product unrounded": step("unrounds", "small * many", "36", leaf("small", "36 // many")),
    "product unrounded, turned": step(
        "unrounds", "many * small", "36", leaf("small", "36 // many")
    ),
    "unfold_left": step(
        "unfold_left",
        "rows",
        "large + 1",
        step("monotone", "middle + 1", "large + 1", LARGER, same("1")),
    ),
    "unfold_right": step(
        "unfold_right",
        "small + 1",
        "rows",
        step("monotone", "small + 1", "middle + 1", SMALLER, same("1")),
    ),
}

NEEDS_SOMETHING = {
    "a sum needs both premises": step("monotone", "small + middle", "middle + large", SMALLER),
    "premises stand in order": step(
        "monotone", "small + middle", "middle + large", LARGER, SMALLER
    ),
    "a difference falls with what is subtracted": step(
        "monotone", "large - small", "large - middle", same("large"), SMALLER
    ),
    "an alignment may pass a limit that is no multiple": step(
        "unrounds", "align_up(small, few)", "5", leaf("small", "5")
    ),
    "a quotient is limited by less than one more": step(
        "unrounds", "middle // few", "2", leaf("middle", "2 * few + many")
    ),
    "a product with what may be below one has no limit": step(
        "unrounds", "small * factor", "36", leaf("small", "36 // many")
    ),
    "what is limited is inside": step("unrounds", "small * many", "36", leaf("few", "36 // many")),
    "an element is no more than the largest of its own list": step(
        "element", "next_in(small, sizes)", "max([small])"
    ),
    "an element may be more than the amount": step("element", "next_in(small, sizes)", "middle"),
    "a quotient falls with its divisor": step(
        "monotone", "middle // few", "middle // many", same("middle"), leaf("few", "many")
    ),
    "a rounded quotient falls with its divisor": step(
        "monotone", "cdiv(middle, few)", "cdiv(middle, many)", same("middle"), leaf("few", "many")
    ),
    "the factors of a product are not negative": step(
        "monotone", "signed * factor", "9 * factor", leaf("signed", "9"), same("factor")
    ),
    "nor is the second one": step(
        "monotone", "small * signed", "middle * signed", SMALLER, same("signed")
    ),
    "what a smaller divisor divides is not negative": step(
        "monotone",
        "(signed - 10) // many",
        "(signed - 10) // few",
        same("signed - 10"),
        leaf("few", "many"),
    ),
    "nor where the quotient is rounded up": step(
        "monotone",
        "cdiv(signed - 10, many)",
        "cdiv(signed - 10, few)",
        same("signed - 10"),
        leaf("few", "many"),
    ),
    "a divisor is at least one": step(
        "monotone", "small // factor", "middle // factor", SMALLER, same("factor")
    ),
    "a rounded divisor is at least one": step(
        "monotone", "cdiv(small, factor)", "cdiv(middle, factor)", SMALLER, same("factor")
    ),
    "an alignment is at least one": step(
        "monotone", "align_up(small, factor)", "align_up(middle, factor)", SMALLER
    ),
    "alignments do not differ": step(
        "monotone", "align_up(small, few)", "align_up(middle, many)", SMALLER
    ),
    "nor if one divides the other": step(
        "monotone", "align_up(small, few)", "align_up(middle, few * 2)", SMALLER
    ),
    "the next element exists": step(
        "monotone", "next_in(small, sizes)", "next_in(large + 9, sizes)", leaf("small", "large + 9")
    ),
    "lists do not differ": step(
        "monotone", "next_in(small, sizes)", "next_in(middle, [40, 50])", SMALLER
    ),
    "operators do not differ": step(
        "monotone", "small + middle", "middle * large", SMALLER, LARGER
    ),
    "functions do not differ": step(
        "monotone", "min(small, middle)", "max(middle, large)", SMALLER, LARGER
    ),
    "nor how many operands there are": step(
        "monotone", "max(small, middle, 30)", "max(middle, large)", SMALLER, LARGER
    ),
    "a remainder has no direction": step(
        "monotone", "small % many", "middle % many", SMALLER, same("many")
    ),
    "the larger of all is below only if each is": step(
        "max_below", "max(small, signed, large)", "middle", SMALLER
    ),
    "the larger is not below because one is": step(
        "max_below", "max(small, large)", "middle", SMALLER
    ),
    "what is below one is not below the smaller": step(
        "below_min", "small", "min(middle, signed)", SMALLER
    ),
    "the smaller is not a larger": step("below_max", "small", "min(middle, signed)", SMALLER),
    "the larger is not a smaller": step("min_below", "max(small, 30)", "middle", SMALLER),
    "one of several is named by the premise": step(
        "below_max", "small", "max(signed, middle)", leaf("small", "large")
    ),
    "an extreme of a list has no operands": step(
        "max_below", "max(sizes)", "20", leaf("sizes", "20")
    ),
    "each case has its premise": step("cases_left", "small if wide else large", "middle", SMALLER),
    "cases stand in order": step(
        "cases_left", "small if wide else middle", "large", LARGER, leaf("small", "large")
    ),
    "a case knows its own condition only": step(
        "cases_left", "2 if signed < 3 else signed", "2", same("2"), leaf("signed", "2")
    ),
    "cases are of the side of the rule": step(
        "cases_right", "small if wide else middle", "large", leaf("small", "large"), LARGER
    ),
    "a chain is linked": step("chain", "small", "large", SMALLER, leaf("large", "large")),
    "a chain starts where it says": step("chain", "signed", "large", SMALLER, LARGER),
    "a chain ends where it says": step("chain", "small", "signed", SMALLER, LARGER),
    "a chain has links": step("chain", "small", "large"),
    "what is the same does not differ": step("same", "small", "middle"),
    "a leaf is true": leaf("middle", "small"),
    "a leaf is true of all values": leaf("signed", "8"),
    "a scaling factor is not negative": step(
        "align_scales", "align_up(small * signed, few)", "align_up(small, few) * signed"
    ),
    "a scaled alignment is at least one": step(
        "align_scales", "align_up(small * factor, factor)", "align_up(small, factor) * factor"
    ),
    "scaling keeps the alignment": step(
        "align_scales", "align_up(signed * factor, few)", "align_up(signed, many) * factor"
    ),
    "scaling keeps the factor": step(
        "align_scales", "align_up(signed * 3, few)", "align_up(signed, few) * factor"
    ),
    "scaling rounds what it scales": step(
        "align_scales", "align_up(signed, few) * factor", "align_up(signed * factor, few)"
    ),
    "scaling is of one function": step(
        "align_scales", "cdiv(signed * factor, few)", "cdiv(signed, few) * factor"
    ),
    "scaling does not mix functions": step(
        "cdiv_scales", "cdiv(signed * factor, few)", "align_up(signed, few) * factor"
    ),
    "what is rounded is not below itself": step("above_itself", "align_up(signed, few)", "signed"),
    "what is above is rounded from the same": step(
        "above_itself", "middle", "align_up(small, few)"
    ),
    "and by at least one": step("above_itself", "signed", "align_up(signed, factor)"),
    "a shifted quotient shifts twice by the same": step(
        "shifted_quotient",
        "small + (signed - 1) // few",
        "middle + (signed - middle) // few",
        SMALLER,
    ),
    "a shifted quotient grows": step(
        "shifted_quotient",
        "middle + (signed - middle) // few",
        "small + (signed - small) // few",
        leaf("middle", "small"),
    ),
    "a shifted quotient divides by one number": step(
        "shifted_quotient",
        "small + (signed - small) // many",
        "middle + (signed - middle) // few",
        SMALLER,
    ),
    "a shifted divisor is at least one": step(
        "shifted_quotient",
        "small + (signed - small) // factor",
        "middle + (signed - middle) // factor",
        SMALLER,
    ),
    "an exact quotient divides by what it multiplied with": step(
        "exact_quotient", "signed * few // many", "signed"
    ),
    "an exact quotient multiplies first": step("exact_quotient", "signed // few * few", "signed"),
    "an exact divisor is at least one": step(
        "exact_quotient", "signed * factor // factor", "signed"
    ),
    "a case that can be has to be proved": step(
        "cases_left", "99 if wide else middle", "large", step("impossible", "99", "large"), LARGER
    ),
    "nothing is impossible without a case": step("impossible", "large", "small"),
    "only definitions unfold": step("unfold_left", "small", "middle", SMALLER),
    "an unfolded definition is meant where its guard holds": step(
        "unfold_left", "captured", "12", leaf("large", "12")
    ),
    "unfolding takes the value of the definition": step(
        "unfold_left", "rows", "large + 1", leaf("middle", "large + 1")
    ),
}


def accepts(proof: Step, *given: str) -> bool:
    """Whether the checker takes the proof for what the proof itself claims."""
    return Checker(SOLVER).holds(proof, claim_of(proof), [read(each) for each in given])


@pytest.mark.parametrize("name", RIGHT)
def test_a_rule_in_its_right_form_is_accepted(name: str) -> None:
    checker = Checker(SOLVER)
    assert checker.holds(RIGHT[name], claim_of(RIGHT[name]), ())
    assert checker.flaws == []


@pytest.mark.parametrize("name", NEEDS_SOMETHING)
def test_a_rule_in_another_form_is_rejected(name: str) -> None:
    checker = Checker(SOLVER)
    assert not checker.holds(NEEDS_SOMETHING[name], claim_of(NEEDS_SOMETHING[name]), ())
    assert checker.flaws


def test_every_rule_is_tried_in_its_right_form() -> None:
    def rules_of(proof: Step) -> set[str]:
        return {proof.rule}.union(*(rules_of(premise) for premise in proof.premises))

    assert set().union(*map(rules_of, RIGHT.values())) == set(RuleName.__args__)


@pytest.mark.parametrize("name", RIGHT)
def test_a_proof_with_one_altered_side_is_rejected(name: str) -> None:
    """The claim that is asked for stays, so wherever one side differs a link is broken."""
    wanted = claim_of(RIGHT[name])
    for other in altered(RIGHT[name]):
        assert not Checker(SOLVER).holds(other, wanted, ()), str(other)


@pytest.mark.parametrize("name", RIGHT)
def test_a_proof_without_one_of_its_premises_is_rejected(name: str) -> None:
    wanted = claim_of(RIGHT[name])
    for other in shortened(RIGHT[name]):
        assert not Checker(SOLVER).holds(other, wanted, ()), str(other)


@pytest.mark.parametrize("rule", RuleName.__args__)
def test_no_rule_proves_a_false_claim(rule: RuleName) -> None:
    for proof in NEEDS_SOMETHING.values():
        left, right = claim_of(proof)
        if SOLVER.decide(Comparison("<=", left, right)).answer == "refuted":
            assert not accepts(replace(proof, rule=rule)), str(proof)


@pytest.mark.parametrize("name", RIGHT)
def test_a_proof_of_another_claim_is_rejected(name: str) -> None:
    left, right = claim_of(RIGHT[name])
    turned = (right, left)
    if left != right:
        assert not Checker(SOLVER).holds(RIGHT[name], turned, ())
    assert not Checker(SOLVER).holds(RIGHT[name], (read("large"), read("1")), ())


def test_an_unknown_rule_is_rejected() -> None:
    strange: RuleName = "because"  # type: ignore[assignment]  # what a faulty deriver might say
    assert not accepts(step(strange, "large", "small"))


def test_assumptions_count_where_they_are_given() -> None:
    proof = leaf("signed", "3")
    assert not accepts(proof)
    assert accepts(proof, "signed <= 3")
    assert not accepts(proof, "signed <= 4")


def test_a_case_is_not_assumed_outside_of_it() -> None:
    """What holds in one arm is of no use in the other, or beside the choice."""
    inner = step("cases_left", "signed if signed < 3 else 2", "2", leaf("signed", "2"), same("2"))
    beside = step(
        "monotone",
        "(signed if signed < 3 else 2) + signed",
        "2 + 2",
        inner,
        leaf("signed", "2"),
    )
    assert accepts(inner)
    assert not accepts(beside)


def test_a_definition_unfolds_where_its_guard_is_assumed() -> None:
    proof = step("unfold_left", "captured", "12", leaf("large", "12"))
    assert not accepts(proof)
    assert accepts(proof, "graphs")


def test_constraints_are_known_to_every_leaf() -> None:
    assert accepts(leaf("middle", "large"))


def test_a_side_condition_may_rest_on_assumptions() -> None:
    proof = step("monotone", "small // factor", "middle // factor", SMALLER, same("factor"))
    assert not accepts(proof)
    assert accepts(proof, "factor >= 1")


def test_signs_are_seen_through_sums_products_and_rounding() -> None:
    factor = "align_up(factor * small + cdiv(factor, few), many) // few"
    proof = step("monotone", f"({factor}) * small", f"({factor}) * middle", same(factor), SMALLER)
    assert accepts(proof)


def test_signs_of_parts_are_not_taken_for_granted() -> None:
    for factor in (
        "align_up(signed, many)",
        "signed // few",
        "cdiv(signed, few)",
        "factor * signed",
        "factor + signed",
        "min(factor, signed)",
        "factor - small",
        "align_up(factor, signed)",
        "factor // signed",
    ):
        proof = step(
            "monotone", f"({factor}) * small", f"({factor}) * middle", same(factor), SMALLER
        )
        assert not accepts(proof), factor


def test_obligations_are_counted() -> None:
    checker = Checker(SOLVER)
    proof = RIGHT["chain"]
    assert checker.holds(proof, claim_of(proof), ())
    assert checker.obligations == 2


def test_a_flaw_says_which_step_is_wrong_and_why() -> None:
    checker = Checker(SOLVER)
    proof = step("chain", "small", "large", leaf("small", "middle"), leaf("middle", "signed"))
    checker.holds(proof, claim_of(proof), ())
    assert [str(flaw) for flaw in checker.flaws] == [
        "chain: small <= large: the links do not meet",
        "leaf: middle <= signed: z3 does not prove middle <= signed",
    ]
