"""What an expression needs in order to have a value, part by part.

Each divisor and alignment is at least one, each guarded name is used only where its guard holds,
each list whose elements are compared has one, and each `next_in` has an element to find. Every
need is an obligation where the part is reached.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from ullage.bound.problem import Live
from ullage.expr.tree import (
    TRUE,
    Binary,
    Call,
    Comprehension,
    Conditional,
    Expr,
    Integer,
    Logical,
    Name,
    Progression,
    children,
    negation,
)
from ullage.place import Place
from ullage.prove.lists import has_at_least, has_element
from ullage.prove.solver import Solver, at_least_one, at_most

Need = Literal["divisor", "guard", "element", "large element", "extent", "share", "rows"]

CODES: Mapping[Need, str] = {
    "divisor": "U306",
    "guard": "U305",
    "element": "U405",
    "large element": "U405",
    "extent": "U408",
    "share": "U408",
    "rows": "U221",
}

Related = tuple[tuple[Place, str], ...]


@dataclass(frozen=True, slots=True)
class Reached:
    """Where a part is reached: under which conditions, with which names besides parameters.

    `live` are live variables and elements drawn from a list; `members` says from which parameter.
    """

    conditions: tuple[Expr, ...] = ()
    live: tuple[Live, ...] = ()
    members: tuple[tuple[str, str], ...] = ()

    def under(self, *conditions: Expr) -> Reached:
        """The same where these conditions hold as well."""
        return replace(self, conditions=(*self.conditions, *conditions))

    def drawing(self, live: Live, source: str) -> Reached:
        """The same for each element of the list parameter `source`."""
        inside = (at_most(live.low, Name(live.name)), at_most(Name(live.name), live.high))
        return Reached(
            (*self.conditions, *inside),
            (*self.live, live),
            (*self.members, (live.name, source)),
        )


@dataclass(frozen=True, slots=True)
class Use:
    """One part of an expression that needs something: `claim`, where it is reached.

    `subject` is the part that the message is about. A use in a constraint may rest on the
    constraints `before` it only: by itself it would prove what it needs to have a value.
    """

    need: Need
    claim: Expr
    reached: Reached
    subject: Expr
    place: Place
    before: int | None = None
    related: Related = ()

    @property
    def code(self) -> str:
        """The code of the error where the need is not met."""
        return CODES[self.need]


@dataclass(frozen=True, slots=True)
class Walker:
    """Walks an expression with the conditions under which each part is reached."""

    solver: Solver

    def uses(self, node: Expr, reached: Reached) -> Iterator[Use]:
        """What the expression and its parts need."""
        yield from self._own(node, reached)
        match node:
            case Conditional(condition, then, otherwise):
                yield from self.uses(condition, reached)
                yield from self.uses(then, reached.under(condition))
                yield from self.uses(otherwise, reached.under(negation(condition)))
            case Logical(junction, operands):
                for operand in operands:
                    yield from self.uses(operand, reached)
                    known = operand if junction == "and" else negation(operand)
                    reached = reached.under(known)
            case Comprehension():
                yield from self._inside(node, reached)
            case _:
                for child in children(node):
                    yield from self.uses(child, reached)

    def _inside(self, node: Comprehension, reached: Reached) -> Iterator[Use]:
        """A comprehension: its element is reached for what the filter lets through."""
        yield from self.uses(node.source, reached)
        drawn = self._drawn(node, reached)
        if node.condition is not None:
            yield from self.uses(node.condition, drawn)
            drawn = drawn.under(node.condition)
        yield from self.uses(node.element, drawn)

    def _drawn(self, node: Comprehension, reached: Reached) -> Reached:
        """The range of an element of a list parameter."""
        source = node.source
        variable = self.solver.variables.get(source.name) if isinstance(source, Name) else None
        if variable is None or variable.low is None or variable.high is None:
            return reached
        name, low, high = node.variable, variable.low, variable.high
        element = Live(name, low, high, TRUE, "drawn", name, node.place)
        return reached.drawing(element, variable.name)

    def _own(self, node: Expr, reached: Reached) -> Iterator[Use]:
        match node:
            case (
                Binary("//" | "%", _, divisor)
                | Call("align_up" | "cdiv", (_, divisor))
                | Progression(step=divisor)
            ):
                if not (isinstance(divisor, Integer) and divisor.value >= 1):
                    yield Use("divisor", at_least_one(divisor), reached, divisor, divisor.place)
            case Call("max" | "min", (source,)):
                yield from _element(source, reached)
            case Call("next_in", (operand, source)):
                claim = has_at_least(operand, source)
                yield Use("large element", claim, reached, node, node.place)
            case Name(name=name):
                guard = self._guard(name)
                if guard != TRUE:
                    yield Use("guard", guard, reached, node, node.place)

    def _guard(self, name: str) -> Expr:
        if name in self.solver.variables:
            return self.solver.variables[name].guard
        if name in self.solver.definitions:
            return self.solver.definitions[name].guard
        return TRUE


def _element(source: Expr, reached: Reached) -> Iterator[Use]:
    """A list without a name is not looked at by `validate`, so it must be known to have one."""
    claim = has_element(source)
    if claim != TRUE:
        yield Use("element", claim, reached, source, source.place)
