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
                self._leaf(step, given)
            case "impossible":
                self._impossible(step, given)
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
            case "unrounds":
                self._unrounds(step, given)
            case "element" | "next_within":
                self._of_list(step, given)
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
        """`bound <= operand`, a side condition of a rule."""
        if not self._is_at_least(bound, operand, given):
            self.flaws.append(Flaw(step, f"z3 does not prove {bound} <= {spell(operand)}"))

    def _is_at_least(self, bound: int, operand: Expr, given: Given) -> bool:
        """By the signs of the parts where `bound` is 0 and the form shows it, else by z3."""
        if bound == 0 and self._is_seen_not_negative(operand, given):
            return True
        self.obligations += 1
        return self.solver.proves(Comparison("<=", Integer(bound), operand), given)

    def _is_seen_not_negative(self, operand: Expr, given: Given) -> bool:
        match operand:
            case Integer(value=value):
                return value >= 0
            case Binary("*" | "+", left, right):
                parts, lemma = ((0, left), (0, right)), "signs"
            case Binary("//", left, right) | Call("align_up" | "cdiv", (left, right)):
                parts, lemma = ((0, left), (1, right)), "signs"
            case Conditional(condition, then, otherwise):
                return (
                    lemma_holds("cases")
                    and self._is_at_least(0, then, (*given, condition))
                    and self._is_at_least(0, otherwise, (*given, negation(condition)))
                )
            case Call("next_in", (_, source)):
                return lemma_holds("chain") and self._is_at_least(0, Call("min", (source,)), given)
            case Call("max", arguments) if len(arguments) > 1:
                one = next((a for a in arguments if isinstance(a, Integer)), arguments[0])
                return lemma_holds("below_max") and self._is_at_least(0, one, given)
            case _:
                return False
        return lemma_holds(lemma) and all(self._is_at_least(b, part, given) for b, part in parts)

    def _premises(self, step: Step, claims: Sequence[Claim], given: Given, lemma: str) -> None:
        self._require(step, lemma_holds(lemma), f"lemma '{lemma}' is not proved")
        stated = [(premise.left, premise.right) for premise in step.premises]
        if self._require(step, stated == list(claims), "the premises are not those of the rule"):
            for premise in step.premises:
                self._check(premise, given)

    # The rules

    def _leaf(self, step: Step, given: Given) -> None:
        if step.left == Integer(0):
            self._at_least(step, 0, step.right, given)
        else:
            self._obligation(step, Comparison("<=", step.left, step.right), given)

    def _impossible(self, step: Step, given: Given) -> None:
        """The case that was entered last cannot be, so that any claim holds in it."""
        if self._require(step, bool(given), "there is no case that could be impossible"):
            self._obligation(step, negation(given[-1]), given[:-1])

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

    def _of_list(self, step: Step, given: Given) -> None:
        """An element is no more than the largest; the next one is no less for a larger amount."""
        match step.rule, step.left, step.right:
            case "element", Call("next_in", (_, a)), Call("max", (b,)):
                self._require(step, a == b, "the lists differ")
            case "next_within", Call("next_in", (a, b)), Call("next_in", (c, d)):
                self._require(step, b == d, "the lists differ")
                claims = [(a, c), (c, Call("max", (d,)))]
                self._premises(step, claims, given, "next_in")
            case _:
                self._require(step, False, "the sides do not have the form of the rule")

    def _unrounds(self, step: Step, given: Given) -> None:
        """The premise limits what is inside, by no more than the limit of the outside allows."""
        inner, limit = self._first_premise(step) or (step.left, step.right)
        one, whole = Integer(1), step.right
        match step.left:
            case Call("align_up" | "cdiv" as function, (x, a)) if x == inner:
                steps = Binary("//", whole, a) if function == "align_up" else whole
                room, lemma = Binary("*", steps, a), f"{function} below"
            case Binary("//", x, a) if x == inner:
                room = Binary("-", Binary("+", Binary("*", whole, a), a), one)
                lemma = "// below"
            case Binary("*", x, a) if x == inner:
                room, lemma = Binary("//", whole, a), "* below"
            case Binary("*", a, x) if x == inner:
                room, lemma = Binary("//", whole, a), "* below"
            case _:
                self._require(step, False, "the premise is not about what is inside")
                return
        helped = all(map(lemma_holds, ("multiples", "multiply both sides")))
        self._require(step, helped, "a lemma about multiples is not proved")
        self._at_least(step, 1, a, given)
        self._obligation(step, Comparison("<=", limit, room), given)
        self._premises(step, [(inner, limit)], given, lemma)

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
