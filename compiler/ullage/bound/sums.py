"""Totals over the requests of a batch.

A sum over requests of `a * x + b * cdiv(x, p) + c` depends on the batch only through the number of
requests n, the total S of x, and the total C of cdiv(x, p). Under low <= x <= high:

    n * low <= S <= n * high          every integer in between is reached
    C <= n * cdiv(high, p)
    C <= n + (S - n) // p             where low >= 1, because cdiv(x, p) = 1 + (x - 1) // p

An `align_up(x, p)` is `cdiv(x, p) * p`. So a sum becomes an expression over totals, which are live
variables of their own. The two limits on C are together exact (`ullage.prove.rules` proves the
second by induction on n).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from ullage.bound.problem import Coupling, Live
from ullage.expr.spell import spell
from ullage.expr.tree import (
    Binary,
    Call,
    Comparison,
    Conditional,
    Expr,
    Integer,
    Name,
    Over,
    children,
    free_names,
    rebuild,
)
from ullage.spec.model import LiveVariable


@dataclass(frozen=True, slots=True)
class PerRequest:
    """A per-request variable with its range and the variable that counts its instances."""

    variable: LiveVariable
    low: Expr
    high: Expr
    count: Expr


class NotSummableError(Exception):
    """The operand of a sum over requests is not of the form that has a closed maximum."""

    def __init__(self, operand: Expr) -> None:
        super().__init__(spell(operand))
        self.operand = operand


@dataclass
class Totals:
    """The totals that the sums of one mode need, collected while sums are rewritten."""

    suffix: str
    guard: Expr
    declared: dict[str, PerRequest] = field(default_factory=dict)
    live: list[Live] = field(default_factory=list)
    couplings: list[Coupling] = field(default_factory=list)

    def apart(self) -> Totals:
        """The same, to which more can be added without changing these."""
        return replace(
            self, declared={**self.declared}, live=[*self.live], couplings=[*self.couplings]
        )

    def declare(self, variable: LiveVariable, low: Expr, high: Expr, count: Expr) -> None:
        """Make a per-request variable known."""
        self.declared[variable.name + self.suffix] = PerRequest(variable, low, high, count)

    def sum_free(self, node: Expr) -> Expr:
        """The expression with every sum over requests written in totals."""
        if isinstance(node, Over) and node.aggregate == "sum_requests":
            return self._sum(node.operand)
        parts = children(node)
        return rebuild(node, tuple(self.sum_free(part) for part in parts)) if parts else node

    def _sum(self, operand: Expr) -> Expr:
        per_request = free_names(operand) & self.declared.keys()
        if not per_request:
            return Binary("*", self._count(), operand)
        match operand:
            case Name(name=name):
                return Name(self._total(name))
            case Binary("+" | "-" as operator, left, right):
                return Binary(operator, self._sum(left), self._sum(right))
            case Binary("*", factor, rest) if not free_names(factor) & self.declared.keys():
                return Binary("*", factor, self._sum(rest))
            case Binary("*", rest, factor) if not free_names(factor) & self.declared.keys():
                return Binary("*", factor, self._sum(rest))
            case Call("cdiv", (Name(name=name), divisor)) if not (
                free_names(divisor) & self.declared.keys()
            ):
                return Name(self._total_of_quotients(name, divisor))
            case Call("align_up", (inner, step)):
                return self._sum(Binary("*", Call("cdiv", (inner, step)), step))
            case Conditional(condition, then, otherwise) if not (
                free_names(condition) & self.declared.keys()
            ):
                return Conditional(condition, self._sum(then), self._sum(otherwise))
            case _:
                raise NotSummableError(operand)

    def _count(self) -> Expr:
        counts = {spell(each.count): each.count for each in self.declared.values()}
        if len(counts) != 1:
            raise NotSummableError(Integer(len(counts)))
        return next(iter(counts.values()))

    def _total(self, name: str) -> str:
        total = f"total({name})"
        if all(each.name != total for each in self.live):
            known = self.declared[name]
            low, high = (Binary("*", known.count, end) for end in (known.low, known.high))
            label = f"sum of {known.variable.name} over the requests"
            self.live.append(
                Live(total, low, high, self.guard, "total", label, known.variable.place)
            )
        return total

    def _total_of_quotients(self, name: str, divisor: Expr) -> str:
        total = self._total(name)
        quotients = f"total(cdiv({name}, {spell(divisor)}))"
        if all(each.name != quotients for each in self.live):
            known = self.declared[name]
            low = Call("cdiv", (Name(total), divisor))
            high = Binary("*", known.count, Call("cdiv", (known.high, divisor)))
            one = known.low == Integer(1)
            label = f"sum of cdiv({known.variable.name}, {spell(divisor)}) over the requests"
            self.live.append(
                Live(quotients, low, high, self.guard, "total", label, known.variable.place, one)
            )
            spread = Binary("//", Binary("-", Name(total), known.count), divisor)
            limit = Binary("+", known.count, spread)
            least = Binary("*", known.count, Call("cdiv", (known.low, divisor)))
            self._couple(Comparison("<=", least, Name(quotients)))
            if known.low != Integer(0):
                self._couple(Comparison("<=", Name(quotients), limit))
        return quotients

    def _couple(self, condition: Expr) -> None:
        self.couplings.append(Coupling(condition, self.guard, stated=False))
