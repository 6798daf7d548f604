"""The relations that a live batch satisfies, and how they bound one variable."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from ullage.bound.canonical import additive_terms, canonical, linear_in, negated
from ullage.bound.problem import ModeProblem
from ullage.bound.search import Oracle, Search
from ullage.expr.simplify import fold
from ullage.expr.tree import (
    TRUE,
    Binary,
    Call,
    Comparison,
    Conditional,
    Expr,
    Integer,
    Logical,
    Name,
    Not,
    conjunction,
    disjunction,
    free_names,
    negation,
)


@dataclass(frozen=True, slots=True)
class Relation:
    """`left <= right` wherever `guard` holds; `chooses`: it says which batches a runner gets."""

    left: Expr
    right: Expr
    guard: Expr = TRUE
    chooses: bool = False
    claim: Expr = field(init=False, compare=False, repr=False)
    """The relation as a boolean expression."""

    def __post_init__(self) -> None:
        claim = disjunction(negation(self.guard), Comparison("<=", self.left, self.right))
        object.__setattr__(self, "claim", fold(claim))

    def mentions(self, name: str) -> bool:
        """Whether the variable takes part."""
        return name in free_names(self.left) | free_names(self.right)


def in_case(relations: tuple[Relation, ...], case: Expr) -> tuple[Relation, ...]:
    """The relations that are left where a condition holds, without that part of their guards.

    Those that a mode itself has stay as they are.
    """
    opposite = fold(negation(case))
    found: list[Relation] = []
    for relation in relations:
        guard = relation.guard if relation.chooses else TRUE
        parts = (
            guard.operands if isinstance(guard, Logical) and guard.junction == "and" else (guard,)
        )
        if opposite not in parts:
            rest = tuple(part for part in parts if part != fold(case))
            found.append(relation if rest == parts else replace(relation, guard=conjunction(*rest)))
    return tuple(found)


class NotLinearError(Exception):
    """A relation from which no bound on the variable can be read."""

    def __init__(self, relation: Relation, variable: str) -> None:
        super().__init__(variable)
        self.relation = relation
        self.variable = variable


def relations_of(mode: ModeProblem) -> tuple[Relation, ...]:
    """The ranges of the live variables, then the couplings of `where`."""
    found: list[Relation] = []
    for live in mode.live:
        found.append(Relation(live.low, Name(live.name), live.guard))
        found.append(Relation(Name(live.name), live.high, live.guard))
    for coupling in (each for each in mode.couplings if each.bounds):
        relations = _from_condition(coupling.condition, coupling.guard)
        if coupling.chooses:
            relations = [replace(each, chooses=True) for each in relations]
        found.extend(relations)
    return tuple(found)


def from_condition(condition: Expr) -> tuple[Relation, ...] | None:
    """The relations of a conjunction of comparisons, or None where it is of another form."""
    try:
        return tuple(_from_condition(condition, TRUE))
    except NotLinearError:
        return None


def _from_condition(condition: Expr, guard: Expr) -> list[Relation]:
    match condition:
        case Logical("and", operands):
            return [part for operand in operands for part in _from_condition(operand, guard)]
        case Comparison(operator, left, right):
            return _from_comparison(operator, left, right, guard)
        case Not(Comparison(operator, left, right)):
            opposite = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "!=": "=="}
            if operator in opposite:
                return _from_comparison(opposite[operator], left, right, guard)
    raise NotLinearError(Relation(Integer(0), Integer(0), condition), "")


def _from_comparison(operator: str, left: Expr, right: Expr, guard: Expr) -> list[Relation]:
    one = Integer(1)
    match operator:
        case "<=":
            return [Relation(left, right, guard)]
        case "<":
            return [Relation(fold(Binary("+", left, one)), right, guard)]
        case ">=":
            return [Relation(right, left, guard)]
        case ">":
            return [Relation(fold(Binary("+", right, one)), left, guard)]
        case "==":
            return [Relation(left, right, guard), Relation(right, left, guard)]
        case _:
            raise NotLinearError(Relation(left, right, guard), "")


@dataclass(frozen=True, slots=True)
class Interval:
    """The lower and upper bounds of one variable by earlier ones, and what is left without it."""

    lows: tuple[Expr, ...]
    highs: tuple[Expr, ...]
    rest: tuple[Relation, ...]

    @property
    def low(self) -> Expr:
        """The largest lower bound."""
        return fold(Call("max", self.lows)) if len(self.lows) > 1 else self.lows[0]

    @property
    def high(self) -> Expr:
        """The smallest upper bound."""
        return fold(Call("min", self.highs)) if len(self.highs) > 1 else self.highs[0]


def bounds_each(condition: Expr, names: frozenset[str], oracle: Oracle) -> bool:
    """Whether a bound on each of the names can be read off a condition, and off its opposite."""
    search = Search(oracle, ())
    for case in (condition, negation(condition)):
        relations = from_condition(case)
        if relations is None:
            return False
        for relation in relations:
            for name in sorted(names & (free_names(relation.left) | free_names(relation.right))):
                try:
                    _solve(name, relation, search)
                except NotLinearError:
                    return False
    return True


def isolate(
    name: str, relations: tuple[Relation, ...], oracle: Oracle, given: tuple[Expr, ...]
) -> Interval:
    """Read the bounds of `name` off the relations, and project them onto the other variables.

    The range of the variable comes first; a bound that does not hold wherever it does is that of
    the range elsewhere.

    Raises:
        NotLinearError: a relation holds the variable in a form that gives no bound.
    """
    lows: list[Expr] = []
    highs: list[Expr] = []
    rest: list[Relation] = []
    guards: list[Expr] = []
    for relation in relations:
        if not relation.mentions(name):
            rest.append(relation)
            continue
        for guard, side, bound in _solutions(name, relation, oracle, given):
            bounds = lows if side == "low" else highs
            if bounds and guard not in (TRUE, guards[0]):
                bound = fold(Conditional(guard, bound, bounds[0]))
            bounds.append(bound)
            guards.append(guard)
    guard = guards[0] if guards else TRUE
    known = (*given, *(relation.claim for relation in rest))
    kept_lows = _without_dominated(lows, oracle, known, largest=True)
    kept_highs = _without_dominated(highs, oracle, known, largest=False)
    for low in kept_lows:
        for high in kept_highs:
            if Search(oracle, (*known, guard)).at_most(low, high) is None:
                rest.append(Relation(low, high, guard))
    return Interval(kept_lows, kept_highs, tuple(rest))


def _solutions(
    name: str, relation: Relation, oracle: Oracle, given: tuple[Expr, ...]
) -> Iterator[tuple[Expr, str, Expr]]:
    """The bounds of `name` in a relation, each with its guard: one for each arm of a choice."""
    search = Search(oracle, given if relation.guard == TRUE else (*given, relation.guard))
    try:
        side, bound = _solve(name, relation, search)
    except NotLinearError:
        arms = _arms(name, relation)
        if not arms:
            raise
        for arm in arms:
            yield from _solutions(name, arm, oracle, given)
    else:
        yield relation.guard, side, bound


def _arms(name: str, relation: Relation) -> tuple[Relation, ...]:
    """The relation in each arm of a choice that the variable does not decide, if it has one."""
    sides: tuple[tuple[Expr, Callable[[Expr], Relation]], ...] = (
        (relation.left, lambda arm: replace(relation, left=arm)),
        (relation.right, lambda arm: replace(relation, right=arm)),
    )
    for node, with_arm in sides:
        if isinstance(node, Conditional) and name not in free_names(node.condition):
            cases = ((node.condition, node.then), (negation(node.condition), node.otherwise))
            return tuple(
                replace(with_arm(arm), guard=fold(conjunction(relation.guard, case)))
                for case, arm in cases
            )
    return ()


def _solve(name: str, relation: Relation, search: Search) -> tuple[str, Expr]:
    """`left <= right` as a bound of `name`: right - left = slope * name + offset >= 0."""
    if relation.right == Name(name) and name not in free_names(relation.left):
        return "low", relation.left
    if relation.left == Name(name) and name not in free_names(relation.right):
        return "high", relation.right
    product = _product_bound(name, relation, search)
    if product is not None:
        return product
    relation = _unrounded(name, relation)
    parts = linear_in(Binary("-", relation.right, relation.left), Name(name))
    if parts is None:
        raise NotLinearError(relation, name)
    slope, offset = parts
    if search.at_least(slope, 1):
        opposite = _minus(offset)
        low = opposite if slope == Integer(1) else Call("cdiv", (opposite, slope))
        return "low", canonical(low)
    opposite_slope = _minus(slope)
    if search.at_least(opposite_slope, 1):
        high = offset if opposite_slope == Integer(1) else Binary("//", offset, opposite_slope)
        return "high", canonical(high)
    raise NotLinearError(relation, name)


def _product_bound(name: str, relation: Relation, search: Search) -> tuple[str, Expr] | None:
    """The bound by `name * factor` alone on one side, as it is written."""
    for side, product, other in (
        ("high", relation.left, relation.right),
        ("low", relation.right, relation.left),
    ):
        match product:
            case Binary("*", Name(name=found), factor) | Binary("*", factor, Name(name=found)) if (
                found == name and name not in free_names(other) | free_names(factor)
            ):
                if search.at_least(factor, 1):
                    return side, (
                        Binary("//", other, factor)
                        if side == "high"
                        else Call("cdiv", (other, factor))
                    )
            case _:
                pass
    return None


def _unrounded(name: str, relation: Relation) -> Relation:
    """A rounded left side made linear: cdiv(x, p) <= k is x <= k * p, and so on."""
    left, right = relation.left, relation.right
    match left:
        case Call("cdiv", (inner, p)) if name in free_names(inner):
            return Relation(inner, Binary("*", right, p), relation.guard)
        case Binary("//", inner, p) if name in free_names(inner):
            room = Binary("-", Binary("+", Binary("*", right, p), p), Integer(1))
            return Relation(inner, room, relation.guard)
        case Call("align_up", (inner, p)) if name in free_names(inner):
            return Relation(inner, Binary("*", Binary("//", right, p), p), relation.guard)
        case _:
            return relation


def _minus(node: Expr) -> Expr:
    result: Expr = Integer(0)
    for term in additive_terms(node):
        result = Binary("+", result, negated(term))
    return canonical(result)


def _without_dominated(
    bounds: list[Expr], oracle: Oracle, given: tuple[Expr, ...], *, largest: bool
) -> tuple[Expr, ...]:
    kept: list[Expr] = []
    for bound in dict.fromkeys(bounds):
        if any(_implied(bound, other, oracle, given, largest) for other in kept):
            continue
        kept = [other for other in kept if not _implied(other, bound, oracle, given, largest)]
        kept.append(bound)
    return tuple(kept)


def _implied(
    weaker: Expr, stronger: Expr, oracle: Oracle, given: tuple[Expr, ...], largest: bool
) -> bool:
    left, right = (weaker, stronger) if largest else (stronger, weaker)
    return oracle(Comparison("<=", left, right), given)
