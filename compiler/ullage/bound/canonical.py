"""Sums and products in canonical form.

sympy expands and collects polynomials whose symbols stand for the parts that are no polynomials
(names, quotients, alignments, extremes). Nothing is parsed from text, and the result is built
from our own tree again.
"""

from __future__ import annotations

import functools

import sympy

from ullage.expr.simplify import fold
from ullage.expr.tree import (
    REMEMBERED,
    Binary,
    Call,
    Conditional,
    Expr,
    Integer,
    Name,
    children,
    rebuild,
)

_Term = tuple[tuple[int, ...], int]
"""The powers of the symbols, and the coefficient."""


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


def _collected(node: Expr) -> Expr:
    atoms: list[Expr] = []
    order, terms = _expanded(_over_symbols(node, atoms))
    parts = [atoms[position] for position in order]
    return _sum([_monomial(coefficient, powers, parts) for powers, coefficient in terms])


def _over_symbols(node: Expr, atoms: list[Expr]) -> Expr:
    """The polynomial over a name for each atom, by its position among those that are gathered."""
    match node:
        case Integer():
            return node
        case Binary("+" | "-" | "*" as operator, left, right):
            return Binary(operator, _over_symbols(left, atoms), _over_symbols(right, atoms))
        case _:
            if node not in atoms:
                atoms.append(node)
            return Name(str(atoms.index(node)))


@functools.lru_cache(maxsize=REMEMBERED)
def _expanded(form: Expr) -> tuple[tuple[int, ...], tuple[_Term, ...]]:
    """The names in the order in which they appear in the terms, and the terms.

    Remembered by form, since most are a sum or a product of two.
    """
    symbols: dict[str, sympy.Symbol] = {}
    polynomial = sympy.expand(_to_sympy(form, symbols))
    order = tuple(symbols)
    terms = _ordered_terms(polynomial, [symbols[name] for name in order])
    for _ in symbols:  # the form is its own: symbols stand in the order in which they appear
        seen = (n for powers, _ in terms for n, power in zip(order, powers, strict=True) if power)
        appearing = tuple(dict.fromkeys(seen))
        if appearing == order:
            break
        order = appearing
        terms = _ordered_terms(polynomial, [symbols[name] for name in order])
    return tuple(map(int, order)), terms


def _ordered_terms(polynomial: sympy.Expr, symbols: list[sympy.Symbol]) -> tuple[_Term, ...]:
    """The powers and coefficients of a polynomial, positive ones first."""
    if not symbols:
        return (((), int(polynomial)),)
    terms = [(powers, int(value)) for powers, value in sympy.Poly(polynomial, *symbols).terms()]
    return (*(each for each in terms if each[1] > 0), *(each for each in terms if each[1] < 0))


def _monomial(coefficient: int, powers: tuple[int, ...], atoms: list[Expr]) -> Expr:
    factors = [atom for atom, power in zip(atoms, powers, strict=True) for _ in range(power)]
    if not factors:
        return Integer(coefficient)
    product = _product(factors)
    return product if coefficient == 1 else Binary("*", Integer(coefficient), product)


def _to_sympy(form: Expr, symbols: dict[str, sympy.Symbol]) -> sympy.Expr:
    match form:
        case Integer(value=value):
            return sympy.Integer(value)
        case Binary("+", left, right):
            return _to_sympy(left, symbols) + _to_sympy(right, symbols)
        case Binary("-", left, right):
            return _to_sympy(left, symbols) - _to_sympy(right, symbols)
        case Binary("*", left, right):
            return _to_sympy(left, symbols) * _to_sympy(right, symbols)
        case Name(name=name):
            if name not in symbols:
                symbols[name] = sympy.Symbol(f"t{name}", integer=True)
            return symbols[name]
        case _:
            raise AssertionError(f"not a polynomial: {form}")
