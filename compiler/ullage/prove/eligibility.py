"""Checks what the deriver makes of `accepts`: its rewritings, and where no batch is left.

Nothing that was found there is taken on trust. A rewriting that removes a rounding is an instance
of a lemma; of any other z3 proves that both sides say the same whatever the amounts compared are.
Each claim about what batches come to is replayed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from ullage.bound.eligibility import leaves
from ullage.bound.problem import ModeProblem, Reach, Rewriting, Taken
from ullage.bound.relations import relations_of
from ullage.bound.steps import Step
from ullage.expr.spell import spell
from ullage.expr.tree import (
    Binary,
    Call,
    Comparison,
    Expr,
    Integer,
    Name,
    children,
    rebuild,
)
from ullage.prove.checker import Checker, Flaw
from ullage.prove.rules import lemma_holds

Given = tuple[Expr, ...]


def is_eligible(checker: Checker, mode: ModeProblem) -> bool:
    """Whether the batches of a mode are just those that its couplings and its guard let through."""
    before = len(checker.flaws)
    for condition in mode.accepts:
        check_rewriting(checker, condition, (mode.offered,))
    for taken in mode.taken:
        check_rewriting(checker, taken.left, (mode.offered,))
        _check_taken(checker, mode, taken)
    _check_couplings(checker, mode)
    if mode.taken:
        _check(checker, mode.guard, (mode.offered, *(each.some_left for each in mode.taken)))
    return len(checker.flaws) == before


def _check_couplings(checker: Checker, mode: ModeProblem) -> None:
    """The couplings say what the rewritten conditions do."""
    rewritten = (*mode.accepts, *(taken.left for taken in mode.taken))
    found = tuple(leaf.claim for condition in rewritten for leaf in leaves(condition))
    stated = tuple(coupling.claim for coupling in mode.couplings if coupling.chooses)
    for claims, given in ((stated, found), (found, stated)):
        for claim in claims:
            _check_form(checker, claim, given)


def check_rewriting(checker: Checker, found: Rewriting, given: Given) -> None:
    """The condition follows from its parts together, and each part from the condition."""
    if not found.parts:
        return
    unrounded = _unrounded(found)
    if unrounded is not None:
        step, lemma = unrounded
        _require(checker, lemma_holds("multiples") and lemma_holds(lemma), f"lemma '{lemma}'")
        _check(checker, Comparison("<=", Integer(1), step), (*given, found.guard))
    else:
        claims = tuple(part.claim for part in found.parts)
        _check_form(checker, found.condition, (found.guard, *claims))
        for claim in claims:
            _check_form(checker, claim, (found.guard, found.condition))
    for part in found.parts:
        check_rewriting(checker, part, given)


def _unrounded(found: Rewriting) -> tuple[Expr, str] | None:
    """The divisor and the lemma, if the only part is the condition without one rounding."""
    condition, first = found.condition, found.parts[0]
    if len(found.parts) > 1 or first.guard != found.guard:
        return None
    if not isinstance(condition, Comparison) or condition.operator != "<=":
        return None
    forms = (_below(condition.left, condition.right), _above(condition.left, condition.right))
    for form in forms:
        if form is not None and form[0] == first.condition:
            return form[1:]
    return None


def _below(rounded: Expr, k: Expr) -> tuple[Expr, Expr, str] | None:
    match rounded:
        case Call("align_up", (x, a)):
            limit = Binary("*", Binary("//", k, a), a)
            return Comparison("<=", x, limit), a, "align_up below"
        case Call("cdiv", (x, a)):
            return Comparison("<=", x, Binary("*", k, a)), a, "cdiv below"
        case Binary("//", x, a):
            limit = Binary("-", Binary("+", Binary("*", k, a), a), Integer(1))
            return Comparison("<=", x, limit), a, "// below"
        case _:
            return None


def _above(k: Expr, rounded: Expr) -> tuple[Expr, Expr, str] | None:
    match rounded:
        case Call("align_up", (x, a)):
            steps = Binary("-", Call("cdiv", (k, a)), Integer(1))
            return Comparison("<", Binary("*", steps, a), x), a, "align_up above"
        case Call("cdiv", (x, a)):
            limit = Binary("-", Binary("*", k, a), a)
            return Comparison("<", limit, x), a, "cdiv above"
        case Binary("//", x, a):
            return Comparison("<=", Binary("*", k, a), x), a, "// above"
        case _:
            return None


def _check_taken(checker: Checker, mode: ModeProblem, taken: Taken) -> None:
    """Where every amount stays within its limit, all batches meet all conditions."""
    given = (mode.offered, taken.exists)
    for condition in taken.accepts:
        check_rewriting(checker, condition, given)
    if taken.reaches is None:
        return
    relations = tuple(relation.claim for relation in relations_of(mode))
    for reach in taken.reaches:
        claim = (reach.amount, reach.most)
        checker.holds(reach.sound, claim, (*given, reach.guard, *relations))
    limited = tuple(_limited(taken.reaches))
    for leaf in (leaf for condition in taken.accepts for leaf in leaves(condition)):
        _check_form(checker, leaf.claim, limited)


def _limited(reaches: tuple[Reach, ...]) -> Iterator[Expr]:
    """What follows of every batch where no amount passes its limit."""
    for reach in reaches:
        yield Rewriting(Comparison("<=", reach.amount, reach.limit), reach.guard, ()).claim


@dataclass
class _Amounts:
    """Gives amounts that only products, roundings and lists could tell apart names of their own."""

    names: dict[Expr, Name] = field(default_factory=dict)

    def hidden(self, node: Expr) -> Expr:
        """The expression over those names."""
        match node:
            case Binary("*" | "//" | "%", _, _) | Call("align_up" | "cdiv" | "next_in" | "upper"):
                return self.names.setdefault(node, Name(f"amount {len(self.names)}"))
            case Call("min" | "max", (_,)):
                return self.names.setdefault(node, Name(f"amount {len(self.names)}"))
            case _:
                parts = children(node)
                return rebuild(node, tuple(map(self.hidden, parts))) if parts else node


def _check_form(checker: Checker, claim: Expr, given: Given) -> None:
    """The claim follows whatever the amounts in it are."""
    amounts = _Amounts()
    hidden = tuple(amounts.hidden(each) for each in (claim, *given))
    checker.obligations += 1
    is_proved = checker.solver.proves(hidden[0], hidden[1:])
    _require(checker, is_proved, f"z3 does not prove {spell(claim)}")


def _check(checker: Checker, claim: Expr, given: Given) -> None:
    checker.obligations += 1
    _require(checker, checker.solver.proves(claim, given), f"z3 does not prove {spell(claim)}")


def _require(checker: Checker, holds: bool, reason: str) -> None:
    if not holds:
        nothing = Integer(0)
        checker.flaws.append(Flaw(Step("leaf", nothing, nothing), reason))
