"""The rules of proof, each a lemma that z3 proves for all integers.

The checker applies a rule only after its lemma was proved in this process. Quotients enter a lemma
as integers with their defining inequalities: q = a // b is q * b <= a < q * b + b for b >= 1.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import z3

RLIMIT_LEMMA = 20_000_000

Lemma = tuple[list[z3.BoolRef], z3.BoolRef]


def _ints(names: str) -> tuple[z3.ArithRef, ...]:
    return tuple(z3.Ints(names))


def _quotient(q: z3.ArithRef, a: z3.ArithRef, b: z3.ArithRef) -> z3.BoolRef:
    return z3.And(q * b <= a, a < q * b + b)


def _rounded_up(q: z3.ArithRef, a: z3.ArithRef, b: z3.ArithRef) -> z3.BoolRef:
    return z3.And(q * b >= a, a > q * b - b)


def _larger(a: z3.ArithRef, b: z3.ArithRef) -> z3.ArithRef:
    return z3.If(a > b, a, b)


def _smaller(a: z3.ArithRef, b: z3.ArithRef) -> z3.ArithRef:
    return z3.If(a < b, a, b)


def _add() -> Lemma:
    a, b, c, d = _ints("a b c d")
    return [a <= c, b <= d], a + b <= c + d


def _subtract() -> Lemma:
    a, b, c, d = _ints("a b c d")
    return [a <= c, d <= b], a - b <= c - d


def _multiply() -> Lemma:
    a, b, c, d = _ints("a b c d")
    return [a >= 0, b >= 0, a <= c, b <= d], a * b <= c * d


def _quotient_same_divisor() -> Lemma:
    a, b, c, p, q = _ints("a b c p q")
    return [b >= 1, a <= c, _quotient(p, a, b), _quotient(q, c, b)], p <= q


def _quotient_smaller_divisor() -> Lemma:
    a, b, c, d, p, q = _ints("a b c d p q")
    given = [d >= 1, d <= b, c >= 0, a <= c, _quotient(p, a, b), _quotient(q, c, d)]
    return given, p <= q


def _cdiv_same_divisor() -> Lemma:
    a, b, c, p, q = _ints("a b c p q")
    return [b >= 1, a <= c, _rounded_up(p, a, b), _rounded_up(q, c, b)], p <= q


def _cdiv_smaller_divisor() -> Lemma:
    a, b, c, d, p, q = _ints("a b c d p q")
    given = [d >= 1, d <= b, c >= 0, a <= c, _rounded_up(p, a, b), _rounded_up(q, c, d)]
    return given, p <= q


def _align_up() -> Lemma:
    a, b, c, p, q = _ints("a b c p q")
    return [b >= 1, a <= c, _rounded_up(p, a, b), _rounded_up(q, c, b)], p * b <= q * b


def _next_in() -> Lemma:
    """r is the least element >= x, s an element >= y >= x: so r <= s."""
    x, y, r, s = _ints("x y r s")
    least = z3.Implies(s >= x, r <= s)
    return [x <= y, least, y <= s], r <= s


def _max() -> Lemma:
    a, b, c, d = _ints("a b c d")
    return [a <= c, b <= d], _larger(a, b) <= _larger(c, d)


def _min() -> Lemma:
    a, b, c, d = _ints("a b c d")
    return [a <= c, b <= d], _smaller(a, b) <= _smaller(c, d)


def _max_below() -> Lemma:
    a, b, c = _ints("a b c")
    return [a <= c, b <= c], _larger(a, b) <= c


def _below_max() -> Lemma:
    a, b, c = _ints("a b c")
    return [a <= b], z3.And(a <= _larger(b, c), a <= _larger(c, b))


def _min_below() -> Lemma:
    a, b, c = _ints("a b c")
    return [a <= b], z3.And(_smaller(a, c) <= b, _smaller(c, a) <= b)


def _below_min() -> Lemma:
    a, b, c = _ints("a b c")
    return [a <= b, a <= c], a <= _smaller(b, c)


def _cases() -> Lemma:
    a, b, c = _ints("a b c")
    p = z3.Bool("p")
    left = z3.If(p, a, b)
    right = z3.If(p, b, c)
    given = [z3.Implies(p, a <= c), z3.Implies(z3.Not(p), b <= c)]
    other = [z3.Implies(p, a <= b), z3.Implies(z3.Not(p), a <= c)]
    return [z3.BoolVal(True)], z3.And(
        z3.Implies(z3.And(given), left <= c), z3.Implies(z3.And(other), a <= right)
    )


def _chain() -> Lemma:
    a, b, c = _ints("a b c")
    return [a <= b, b <= c], a <= c


def _align_scales() -> Lemma:
    """The right side is a multiple of a and no less than x * w."""
    x, w, a, p, q = _ints("x w a p q")
    given = [a >= 1, w >= 0, _rounded_up(p, x * w, a), _rounded_up(q, x, a)]
    helped = [*given, x * w <= q * a * w]
    return helped, p * a <= q * a * w


def _multiply_both_sides() -> Lemma:
    """What scaling uses: x <= q * a multiplied by w >= 0."""
    x, w, m = _ints("x w m")
    return [w >= 0, x <= m], x * w <= m * w


def _cdiv_scales() -> Lemma:
    x, w, a, p, q = _ints("x w a p q")
    given = [a >= 1, w >= 0, _rounded_up(p, x * w, a), _rounded_up(q, x, a)]
    return [*given, x * w <= q * a * w], p <= q * w


def _above_itself() -> Lemma:
    x, a, p = _ints("x a p")
    return [a >= 1, _rounded_up(p, x, a)], x <= p * a


def _shifted_quotient() -> Lemma:
    a, b, s, d, p, q = _ints("a b s d p q")
    return [d >= 1, a <= b, _quotient(p, s - a, d), _quotient(q, s - b, d)], a + p <= b + q


def _exact_quotient() -> Lemma:
    """(x * w) // w = x: with q between, the difference d = q - x has |d * w| < w."""
    w, d = _ints("w d")
    return [w >= 1, d * w <= 0, d * w + w > 0], d == 0


def _multiples() -> Lemma:
    """What comparing alignments uses: how many of a step there are, by what they come to."""
    d, a = _ints("d a")
    return [a >= 1], _is_multiple(d, a)


def _is_multiple(d: z3.ArithRef, a: z3.ArithRef) -> z3.BoolRef:
    return z3.And(z3.Implies(d >= 1, d * a >= a), z3.Implies(d <= 0, d * a <= 0))


def _align_up_below() -> Lemma:
    """With p = q + d."""
    x, a, k, d, q = _ints("x a k d q")
    p = q + d
    given = [a >= 1, _quotient(q, k, a), _rounded_up(p, x, a), _is_multiple(d, a)]
    return given, (p * a <= k) == (x <= q * a)


def _cdiv_below() -> Lemma:
    x, a, k, p = _ints("x a k p")
    return [a >= 1, _rounded_up(p, x, a)], (p <= k) == (x <= k * a)


def _quotient_below() -> Lemma:
    x, a, k, p = _ints("x a k p")
    return [a >= 1, _quotient(p, x, a)], (p <= k) == (x <= k * a + a - 1)


def _product_below() -> Lemma:
    """x <= k // a, multiplied by a >= 1."""
    x, a, k, q = _ints("x a k q")
    return [a >= 1, _quotient(q, k, a), x <= q, x * a <= q * a], x * a <= k


def _align_up_above() -> Lemma:
    """With q = p + d."""
    x, a, k, d, p = _ints("x a k d p")
    q = p + d
    given = [a >= 1, _rounded_up(q, k, a), _rounded_up(p, x, a), _is_multiple(d, a)]
    return given, (k <= p * a) == ((q - 1) * a < x)


def _cdiv_above() -> Lemma:
    x, a, k, p = _ints("x a k p")
    return [a >= 1, _rounded_up(p, x, a)], (k <= p) == (k * a - a < x)


def _quotient_above() -> Lemma:
    x, a, k, p = _ints("x a k p")
    return [a >= 1, _quotient(p, x, a)], (k <= p) == (k * a <= x)


def _signs() -> Lemma:
    """What is never negative: products, sums, quotients and alignments of what is not."""
    a, b, d, p, q = _ints("a b d p q")
    given = [a >= 0, b >= 0, d >= 1, _quotient(p, a, d), _rounded_up(q, a, d)]
    return given, z3.And(a * b >= 0, a + b >= 0, p >= 0, q >= 0, a <= q * d)


def _total_of_quotients() -> Lemma:
    """Induction on the requests: sum of cdiv(x, d) <= n + (sum of x - n) // d for x >= 1."""
    n, s, c, x, d, e, p, q = _ints("n s c x d e p q")
    given = [d >= 1, x >= 1, n >= 0, n <= s, c <= n + p]
    given += [_rounded_up(e, x, d), _quotient(p, s - n, d), _quotient(q, s + x - n - 1, d)]
    return given, c + e <= n + 1 + q


LEMMAS: dict[str, Callable[[], Lemma]] = {
    "+": _add,
    "-": _subtract,
    "*": _multiply,
    "//": _quotient_same_divisor,
    "// smaller divisor": _quotient_smaller_divisor,
    "cdiv": _cdiv_same_divisor,
    "cdiv smaller divisor": _cdiv_smaller_divisor,
    "align_up": _align_up,
    "next_in": _next_in,
    "max": _max,
    "min": _min,
    "max_below": _max_below,
    "below_max": _below_max,
    "min_below": _min_below,
    "below_min": _below_min,
    "cases": _cases,
    "chain": _chain,
    "align_scales": _align_scales,
    "cdiv_scales": _cdiv_scales,
    "multiply both sides": _multiply_both_sides,
    "above_itself": _above_itself,
    "shifted_quotient": _shifted_quotient,
    "exact_quotient": _exact_quotient,
    "multiples": _multiples,
    "align_up below": _align_up_below,
    "cdiv below": _cdiv_below,
    "// below": _quotient_below,
    "* below": _product_below,
    "align_up above": _align_up_above,
    "cdiv above": _cdiv_above,
    "// above": _quotient_above,
    "signs": _signs,
    "total of quotients": _total_of_quotients,
}


@functools.cache
def lemma_holds(name: str) -> bool:
    """Whether z3 proves the lemma for all integers."""
    given, claim = LEMMAS[name]()
    solver = z3.SimpleSolver()  # the other one prepares for much longer than it proves
    solver.set("rlimit", RLIMIT_LEMMA)
    solver.add(given)
    solver.add(z3.Not(claim))
    return bool(solver.check() == z3.unsat)
