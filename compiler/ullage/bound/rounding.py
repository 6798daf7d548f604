"""The rules of proof about alignments and quotients."""

from __future__ import annotations

from abc import ABC, abstractmethod

from ullage.bound.steps import RuleName, Step
from ullage.expr.tree import Binary, Call, Expr, Function, Integer, children


class RoundingRules(ABC):
    """Looks for proofs by rounding; what it needs of a search is abstract here."""

    @abstractmethod
    def at_most(self, left: Expr, right: Expr, depth: int = 0) -> Step | None:
        """A proposed proof of `left <= right`, or None."""

    @abstractmethod
    def at_least(self, operand: Expr, bound: int) -> bool:
        """Whether `operand >= bound` holds for a bound of 0 or 1."""

    @abstractmethod
    def non_negative(self, operand: Expr) -> bool:
        """Whether `operand` is never below zero."""

    @abstractmethod
    def congruence(self, left: Expr, right: Expr, depth: int) -> Step | None:
        """A proof by the same operator on both sides."""

    @abstractmethod
    def by(
        self,
        rule: RuleName,
        left: Expr,
        right: Expr,
        claims: tuple[tuple[Expr, Expr], ...],
        depth: int,
    ) -> Step | None:
        """A proof by one rule from the given claims."""

    def rounding(self, left: Expr, right: Expr, depth: int) -> Step | None:
        return (
            self._commuted(left, right, depth)
            or self._scales(left, right, depth)
            or self._shifted_quotient(left, right, depth)
            or self._spread_quotient(left, right, depth)
            or self._above_itself(left, right, depth)
            or self._quotient_cancels(left, right, depth)
        )

    def _commuted(self, left: Expr, right: Expr, depth: int) -> Step | None:
        """a * b = b * a, and the same of sums."""
        match left, right:
            case Binary("*" | "+" as operator, a, b), Binary(other, c, _) if (
                operator == other and a != b and a != c
            ):
                swapped = Binary(operator, b, a)
                rest = self.at_most(swapped, right, depth)
                return rest and Step("chain", left, right, (Step("leaf", left, swapped), rest))
        return None

    def _scales(self, left: Expr, right: Expr, depth: int) -> Step | None:
        """Rounding a multiple up gives no more than the multiple of the rounded, and on to `right`.

        align_up(x * w, a) <= align_up(x, a) * w, and the same of cdiv.
        """
        match left:
            case Call("align_up" | "cdiv" as function, (Binary("*", x, w), a)):
                for operand, factor in ((x, w), (w, x)):
                    step = self._scaled(function, left, right, (operand, factor, a), depth)
                    if step is not None:
                        return step
        return None

    def _scaled(
        self,
        function: Function,
        left: Expr,
        right: Expr,
        parts: tuple[Expr, Expr, Expr],
        depth: int,
    ) -> Step | None:
        operand, factor, alignment = parts
        if not _mentions(function, right):
            return None
        if not (self.non_negative(factor) and self.at_least(alignment, 1)):
            return None
        scaled = Binary("*", Call(function, (operand, alignment)), factor)
        rest = self._multiple(scaled, right, depth)
        if rest is None:
            return None
        rule: RuleName = "align_scales" if function == "align_up" else "cdiv_scales"
        return Step("chain", left, right, (Step(rule, left, scaled), rest))

    def _multiple(self, scaled: Binary, right: Expr, depth: int) -> Step | None:
        """`scaled` against `right`, whose factors may stand in the other order."""
        match right:
            case Binary("*", first, second) if first == scaled.right and second == scaled.left:
                return Step("leaf", scaled, right)
            case _:
                return self.at_most(scaled, right, depth)

    def _shifted_quotient(self, left: Expr, right: Expr, depth: int) -> Step | None:
        """a + (s - a) // p grows with s, and with a."""
        match left, right:
            case (
                Binary("+", a, Binary("//", Binary("-", s, a2), p)),
                Binary("+", b, Binary("//", Binary("-", t, b2), q)),
            ) if a == a2 and b == b2 and p == q and self.at_least(p, 1):
                middle = Binary("+", a, Binary("//", Binary("-", t, a), p))
                first = self.congruence(left, middle, depth) if s != t else None
                last = self.by("shifted_quotient", middle, right, ((a, b),), depth)
                if s == t or last is None:
                    return last
                return first and Step("chain", left, right, (first, last))
        return None

    def _spread_quotient(self, left: Expr, right: Expr, depth: int) -> Step | None:
        """cdiv(s, p) = 1 + (s - 1) // p <= n + (s - n) // p for n >= 1."""
        match left, right:
            case Call("cdiv", (s, p)), Binary("+", n, Binary("//", Binary("-", t, m), q)) if (
                n == m and s == t and p == q and self.at_least(n, 1) and self.at_least(p, 1)
            ):
                one = Integer(1)
                middle = Binary("+", one, Binary("//", Binary("-", s, one), p))
                rest = self.at_most(middle, right, depth)
                return rest and Step("chain", left, right, (Step("leaf", left, middle), rest))
        return None

    def _above_itself(self, left: Expr, right: Expr, depth: int) -> Step | None:
        """x <= align_up(x, a)."""
        match right:
            case Call("align_up", (inner, alignment)) if self.at_least(alignment, 1):
                premise = self.at_most(left, inner, depth)
                if premise is not None:
                    last = Step("above_itself", inner, right)
                    return Step("chain", left, right, (premise, last))
        return None

    def _quotient_cancels(self, left: Expr, right: Expr, depth: int) -> Step | None:
        """x // w <= y when x <= y * w, and y <= x // w when y * w <= x."""
        match left:
            case Binary("//", numerator, divisor) if self.at_least(divisor, 1):
                product = Binary("*", right, divisor)
                premise = self.at_most(numerator, product, depth)
                if premise is not None:
                    quotient = Binary("//", product, divisor)
                    first = Step(
                        "monotone",
                        left,
                        quotient,
                        (premise, Step("same", divisor, divisor)),
                    )
                    return Step(
                        "chain", left, right, (first, Step("exact_quotient", quotient, right))
                    )
        match right:
            case Binary("//", numerator, divisor) if self.at_least(divisor, 1):
                product = Binary("*", left, divisor)
                premise = self.at_most(product, numerator, depth)
                if premise is not None:
                    quotient = Binary("//", product, divisor)
                    premises = (premise, Step("same", divisor, divisor))
                    last = Step("monotone", quotient, right, premises)
                    return Step(
                        "chain", left, right, (Step("exact_quotient", left, quotient), last)
                    )
        return None


def _mentions(function: Function, node: Expr) -> bool:
    if isinstance(node, Call) and node.function == function:
        return True
    return any(_mentions(function, child) for child in children(node))
