"""Replays proof steps: the part of Ullage that has to be right.

Each step must have the form that its rule prescribes, its premises must be exactly the claims that
the rule asks for, its side conditions and leaves are put to z3, and the rule's lemma must hold.
Nothing here knows how a proof was found.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import get_args

from ullage.bound.steps import RuleName, Step
from ullage.expr.spell import spell
from ullage.expr.tree import (
    Binary,
    Call,
    Comparison,
    Conditional,
    Expr,
    Integer,
    Name,
    negation,
)
from ullage.prove.rules import lemma_holds
from ullage.prove.solver import Solver

RULES = frozenset(get_args(RuleName))

Claim = tuple[Expr, Expr]
Given = tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Flaw:
    """A step that does not hold, and why."""

    step: Step
    reason: str

    def __str__(self) -> str:
        claim = f"{spell(self.step.left)} <= {spell(self.step.right)}"
        return f"{self.step.rule}: {claim}: {self.reason}"


@dataclass
class Checker:
    """Checks steps against one domain; counts the obligations that z3 settled."""

    solver: Solver
    obligations: int = 0
    flaws: list[Flaw] = field(default_factory=list)

    def holds(self, step: Step, claim: Claim, given: Sequence[Expr]) -> bool:
        """Whether `step` proves `claim` under `given`; flaws are collected."""
        before = len(self.flaws)
        if (step.left, step.right) != claim:
            self.flaws.append(Flaw(step, "claims something else than what was asked"))
        self._check(step, tuple(given))
        return len(self.flaws) == before

    def _check(self, step: Step, given: Given) -> None:
        if not self._require(step, step.rule in RULES, "no such rule"):
            return
        match step.rule:
            case "same":
                self._require(step, step.left == step.right, "the sides differ")
            case "leaf":
                self._obligation(step, Comparison("<=", step.left, step.right), given)
            case "chain":
                self._chain(step, given)
            case "monotone":
                self._monotone(step, given)
            case "max_below" | "min_below" | "below_max" | "below_min":
                self._extreme(step, given)
            case "cases_left" | "cases_right":
                self._cases(step, given)
            case "unfold_left" | "unfold_right":
                self._unfold(step, given)
            case "align_scales" | "cdiv_scales":
                self._scales(step, given)
            case "above_itself" | "shifted_quotient" | "exact_quotient":
                self._rounding(step, given)

    # What every rule uses

    def _require(self, step: Step, condition: bool, reason: str) -> bool:
        if not condition:
            self.flaws.append(Flaw(step, reason))
        return condition

    def _obligation(self, step: Step, claim: Expr, given: Given) -> None:
        self.obligations += 1
        if not self.solver.proves(claim, given):
            self.flaws.append(Flaw(step, f"z3 does not prove {spell(claim)}"))

    def _at_least(self, step: Step, bound: int, operand: Expr, given: Given) -> None:
        """`bound <= operand`: by signs where `bound` is 0 and the form shows it, else by z3."""
        match operand:
            case Binary("*" | "+", left, right) | Call("min", (left, right)) if (
                bound == 0 and lemma_holds("signs")
            ):
                self._at_least(step, 0, left, given)
                self._at_least(step, 0, right, given)
            case Binary("//", left, right) | Call("align_up" | "cdiv", (left, right)) if (
                bound == 0 and lemma_holds("signs")
            ):
                self._at_least(step, 0, left, given)
                self._at_least(step, 1, right, given)
            case _:
                self._obligation(step, Comparison("<=", Integer(bound), operand), given)

    def _premises(self, step: Step, claims: Sequence[Claim], given: Given, lemma: str) -> None:
        self._require(step, lemma_holds(lemma), f"lemma '{lemma}' is not proved")
        stated = [(premise.left, premise.right) for premise in step.premises]
        if self._require(step, stated == list(claims), "the premises are not those of the rule"):
            for premise in step.premises:
                self._check(premise, given)

    # The rules

    def _chain(self, step: Step, given: Given) -> None:
        steps = step.premises
        linked = bool(steps) and all(a.right == b.left for a, b in itertools.pairwise(steps))
        ends = bool(steps) and (steps[0].left, steps[-1].right) == (step.left, step.right)
        self._require(step, linked and ends, "the links do not meet")
        self._require(step, lemma_holds("chain"), "lemma 'chain' is not proved")
        for premise in steps:
            self._check(premise, given)

    def _monotone(self, step: Step, given: Given) -> None:
        match step.left, step.right:
            case Binary("+", a, b), Binary("+", c, d):
                self._premises(step, [(a, c), (b, d)], given, "+")
            case Binary("-", a, b), Binary("-", c, d):
                self._premises(step, [(a, c), (d, b)], given, "-")
            case Binary("*", a, b), Binary("*", c, d):
                self._at_least(step, 0, a, given)
                self._at_least(step, 0, b, given)
                self._premises(step, [(a, c), (b, d)], given, "*")
            case (Binary("//", a, b), Binary("//", c, d)):
                self._divided(step, "//", (a, b), (c, d), given)
            case (Call("cdiv", (a, b)), Call("cdiv", (c, d))):
                self._divided(step, "cdiv", (a, b), (c, d), given)
            case Call("align_up", (a, b)), Call("align_up", (c, d)):
                self._require(step, b == d, "the alignments differ")
                self._at_least(step, 1, b, given)
                self._premises(step, [(a, c)], given, "align_up")
            case Call("next_in", (a, b)), Call("next_in", (c, d)):
                self._require(step, b == d, "the lists differ")
                self._obligation(step, Comparison("<=", c, Call("max", (d,))), given)
                self._premises(step, [(a, c)], given, "next_in")
            case Call(f, xs), Call(g, ys) if f == g and f in ("min", "max") and len(xs) > 1:
                self._require(step, len(xs) == len(ys), "the numbers of operands differ")
                self._premises(step, list(zip(xs, ys, strict=False)), given, f)
            case _:
                self._require(step, False, "the sides are not of one monotone operator")

    def _divided(self, step: Step, lemma: str, left: Claim, right: Claim, given: Given) -> None:
        (a, b), (c, d) = left, right
        self._at_least(step, 1, d, given)
        if b != d:
            self._at_least(step, 0, c, given)
            lemma = f"{lemma} smaller divisor"
        self._premises(step, [(a, c), (d, b)], given, lemma)

    def _extreme(self, step: Step, given: Given) -> None:
        one_of = step.rule in ("below_max", "min_below")
        side, other = (
            (step.right, step.left)
            if step.rule in ("below_max", "below_min")
            else (step.left, step.right)
        )
        extreme = "max" if "max" in step.rule else "min"
        if not (isinstance(side, Call) and side.function == extreme and len(side.arguments) > 1):
            self._require(step, False, f"the side is not a {extreme} of several operands")
            return
        on_right = side is step.right
        claims = [(other, each) if on_right else (each, other) for each in side.arguments]
        if one_of:
            claims = [claim for claim in claims if claim == self._first_premise(step)][:1]
            self._require(step, bool(claims), "no operand is the one that the premise names")
        self._premises(step, claims, given, step.rule)

    def _first_premise(self, step: Step) -> Claim | None:
        return (step.premises[0].left, step.premises[0].right) if step.premises else None

    def _cases(self, step: Step, given: Given) -> None:
        side = step.left if step.rule == "cases_left" else step.right
        if not isinstance(side, Conditional) or len(step.premises) != 2:
            self._require(step, False, "the side is not a conditional with two premises")
            return
        self._require(step, lemma_holds("cases"), "lemma 'cases' is not proved")
        arms = ((side.condition, side.then), (negation(side.condition), side.otherwise))
        for premise, (case, arm) in zip(step.premises, arms, strict=True):
            claim = (arm, step.right) if step.rule == "cases_left" else (step.left, arm)
            stated = (premise.left, premise.right) == claim
            self._require(step, stated, "a premise is not the claim of its case")
            self._check(premise, (*given, case))

    def _unfold(self, step: Step, given: Given) -> None:
        side = step.left if step.rule == "unfold_left" else step.right
        definition = self.solver.definitions.get(side.name) if isinstance(side, Name) else None
        if definition is None:
            self._require(step, False, "the side is no definition")
            return
        self._obligation(step, definition.guard, given)
        value = definition.value
        claim = (value, step.right) if step.rule == "unfold_left" else (step.left, value)
        self._premises(step, [claim], given, "chain")

    def _scales(self, step: Step, given: Given) -> None:
        match step.left, step.right:
            case (
                Call("align_up" | "cdiv" as f, (Binary("*", u, v), a)),
                Binary("*", Call(g, (x, b)), w),
            ) if f == g and a == b and (x, w) in ((u, v), (v, u)):
                self._require(
                    step,
                    step.rule == ("align_scales" if f == "align_up" else "cdiv_scales"),
                    "the rule is of another function",
                )
                self._at_least(step, 1, a, given)
                self._at_least(step, 0, w, given)
                helped = lemma_holds("multiply both sides")
                self._require(step, helped, "lemma 'multiply both sides' is not proved")
                self._premises(step, [], given, step.rule)
            case _:
                self._require(step, False, "the sides do not have the form of the rule")

    def _rounding(self, step: Step, given: Given) -> None:
        match step.rule, step.left, step.right:
            case "above_itself", x, Call("align_up", (y, a)) if x == y:
                self._at_least(step, 1, a, given)
                self._premises(step, [], given, "above_itself")
            case "exact_quotient", x, Binary("//", Binary("*", y, w), v) if x == y and w == v:
                self._at_least(step, 1, w, given)
                self._premises(step, [], given, "exact_quotient")
            case "exact_quotient", Binary("//", Binary("*", y, w), v), x if x == y and w == v:
                self._at_least(step, 1, w, given)
                self._premises(step, [], given, "exact_quotient")
            case (
                "shifted_quotient",
                Binary("+", a, Binary("//", Binary("-", s, a2), p)),
                Binary("+", b, Binary("//", Binary("-", t, b2), q)),
            ) if a == a2 and b == b2 and s == t and p == q:
                self._at_least(step, 1, p, given)
                self._premises(step, [(a, b)], given, "shifted_quotient")
            case _:
                self._require(step, False, "the sides do not have the form of the rule")
