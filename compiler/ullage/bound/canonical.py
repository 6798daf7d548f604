"""Sums and products in canonical form.

Their variables are the parts that are no polynomials: names, quotients, alignments, extremes.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field

from ullage.expr.simplify import fold
from ullage.expr.tree import Binary, Call, Conditional, Expr, Integer, children, rebuild


def canonical(node: Expr) -> Expr:
    """The expression with every sum and product expanded and collected, innermost first."""
    parts = children(node)
    if parts:
        node = rebuild(node, tuple(canonical(part) for part in parts))
    if isinstance(node, Binary) and node.operator in ("+", "-", "*"):
        return fold(_collected(node))
    return fold(node)


def additive_terms(node: Expr) -> list[Expr]:
    """The terms of a sum: `a - b + c` gives a, -1 * b, c."""
    match node:
        case Binary("+", left, right):
            return additive_terms(left) + additive_terms(right)
        case Binary("-", left, right):
            return additive_terms(left) + [negated(term) for term in additive_terms(right)]
        case _:
            return [node]


def negated(node: Expr) -> Expr:
    """-1 times a term."""
    match node:
        case Integer(value=value):
            return Integer(-value)
        case Binary("*", Integer(value=value), right):
            return right if value == -1 else Binary("*", Integer(-value), right)
        case _:
            return Binary("*", Integer(-1), node)


def distribute(node: Expr) -> Expr:
    """Move sums inside extremes and conditionals: `x + min(a, b)` to `min(x + a, x + b)`."""
    parts = children(node)
    if parts:
        node = rebuild(node, tuple(distribute(part) for part in parts))
    if not isinstance(node, Binary) or node.operator not in ("+", "-"):
        return node
    terms = additive_terms(node)
    for position, term in enumerate(terms):
        rest = terms[:position] + terms[position + 1 :]
        match term:
            case Call("min" | "max" as extreme, arguments) if len(arguments) > 1:
                moved = tuple(distribute(canonical(_sum([*rest, each]))) for each in arguments)
                return fold(Call(extreme, moved))
            case Conditional(condition, then, otherwise):
                first, second = (
                    distribute(canonical(_sum([*rest, each]))) for each in (then, otherwise)
                )
                return fold(Conditional(condition, first, second))
    return canonical(node)


def linear_in(node: Expr, name: Expr) -> tuple[Expr, Expr] | None:
    """(a, b) with node = a * name + b and neither containing name; None if there are none."""
    slope: list[Expr] = []
    offset: list[Expr] = []
    for term in additive_terms(canonical(node)):
        factors = _factors(term)
        if name in factors:
            factors.remove(name)
            slope.append(_product(factors))
        else:
            offset.append(term)
    if any(_contains(part, name) for part in (*slope, *offset)):
        return None
    return fold(_sum(slope)), fold(_sum(offset))


def _factors(term: Expr) -> list[Expr]:
    if isinstance(term, Binary) and term.operator == "*":
        return _factors(term.left) + _factors(term.right)
    return [term]


def _contains(node: Expr, part: Expr) -> bool:
    return node == part or any(_contains(child, part) for child in children(node))


def _product(factors: list[Expr]) -> Expr:
    return functools.reduce(_times, factors) if factors else Integer(1)


def _times(left: Expr, right: Expr) -> Expr:
    return Binary("*", left, right)


def _sum(terms: list[Expr]) -> Expr:
    if not terms:
        return Integer(0)
    return functools.reduce(_plus, terms)


def _plus(left: Expr, right: Expr) -> Expr:
    match right:
        case Integer(value=value) if value < 0:
            return Binary("-", left, Integer(-value))
        case Binary("*", Integer(value=value), rest) if value < 0:
            return Binary("-", left, rest if value == -1 else Binary("*", Integer(-value), rest))
        case _:
            return Binary("+", left, right)


Powers = tuple[tuple[int, int], ...]
"""The variables of a monomial by number, each with its power, which is at least 1."""


@dataclass
class _Polynomials:
    """Polynomials over numbered variables, as coefficients by monomial; none of them is zero."""

    variables: dict[Expr, int] = field(default_factory=dict)

    def of(self, node: Expr) -> dict[Powers, int]:
        """The expression as a polynomial; variables have numbers as they are met."""
        match node:
            case Integer(value=value):
                return {(): value} if value else {}
            case Binary("+", left, right):
                return _added(self.of(left), self.of(right), 1)
            case Binary("-", left, right):
                return _added(self.of(left), self.of(right), -1)
            case Binary("*", left, right):
                return _multiplied(self.of(left), self.of(right))
            case _:
                return {((self.variables.setdefault(node, len(self.variables)), 1),): 1}


def _added(left: dict[Powers, int], right: dict[Powers, int], sign: int) -> dict[Powers, int]:
    result = dict(left)
    for powers, coefficient in right.items():
        result[powers] = result.get(powers, 0) + sign * coefficient
    return {powers: coefficient for powers, coefficient in result.items() if coefficient}


def _multiplied(left: dict[Powers, int], right: dict[Powers, int]) -> dict[Powers, int]:
    result: dict[Powers, int] = {}
    for mine, coefficient in left.items():
        for others, factor in right.items():
            together = dict(mine)
            for variable, power in others:
                together[variable] = together.get(variable, 0) + power
            powers = tuple(sorted(together.items()))
            result[powers] = result.get(powers, 0) + coefficient * factor
    return {powers: coefficient for powers, coefficient in result.items() if coefficient}


def _collected(node: Expr) -> Expr:
    polynomials = _Polynomials()
    polynomial = polynomials.of(node)
    order = list(range(len(polynomials.variables)))
    terms = _ordered_terms(polynomial, order)
    for _ in polynomials.variables:  # variables stand in the order in which they appear
        seen = [each for powers in terms for each in order if each in dict(powers)]
        appearing = list(dict.fromkeys(seen))
        if appearing == order:
            break
        order = appearing
        terms = _ordered_terms(polynomial, order)
    atoms = list(polynomials.variables)
    return _sum([_monomial(polynomial[powers], powers, order, atoms) for powers in terms])


def _ordered_terms(polynomial: dict[Powers, int], order: list[int]) -> list[Powers]:
    """The monomials: positive ones first, then by the powers of variables, high ones first."""

    def rank(powers: Powers) -> tuple[bool, list[int]]:
        known = dict(powers)
        return polynomial[powers] < 0, [-known.get(each, 0) for each in order]

    return sorted(polynomial, key=rank)


def _monomial(coefficient: int, powers: Powers, order: list[int], atoms: list[Expr]) -> Expr:
    known = dict(powers)
    factors = [atoms[each] for each in order for _ in range(known.get(each, 0))]
    if not factors:
        return Integer(coefficient)
    product = _product(factors)
    return product if coefficient == 1 else Binary("*", Integer(coefficient), product)
