"""Expressions as z3 terms.

A quotient, remainder or alignment becomes an integer constant with its defining inequalities,
which hold where the divisor is at least one; z3 leaves x/0 open and rounds differently for
negative divisors, and `ullage.wellformed.problem` proves that no such divisor is reached. Of a list
z3 knows the range and filter of its elements, and its extreme elements.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

import z3

from ullage.bound.problem import Definition, Variable
from ullage.expr.spell import spell
from ullage.expr.tree import (
    Binary,
    Boolean,
    Call,
    Comparison,
    ComparisonOperator,
    Comprehension,
    Conditional,
    Enumerant,
    Expr,
    Integer,
    ListOf,
    Logical,
    Name,
    Not,
    Progression,
    has_ranges,
    substitute,
)
from ullage.prove.lists import has_at_least, has_element, known_elements
from ullage.prove.terms import (
    above,
    at_least,
    at_most,
    below,
    chosen,
    chosen_truth,
    equal,
    every,
    implied,
    minus,
    negated,
    plus,
    some,
    times,
    unequal,
)

Define = Callable[[z3.ArithRef], z3.BoolRef]


@dataclass(frozen=True, slots=True)
class NamedTerm:
    """A name in z3, with all that holds of it and all names that this takes in."""

    term: z3.ExprRef
    axioms: tuple[z3.BoolRef, ...]
    names: Mapping[str, z3.ExprRef]


_COMPARED: Mapping[ComparisonOperator, Callable[[z3.ArithRef, z3.ArithRef], z3.BoolRef]] = {
    "==": equal,
    "!=": unequal,
    "<": below,
    "<=": at_most,
    ">": above,
    ">=": at_least,
}

Terms = dict[str, NamedTerm]
Make = Callable[[str, z3.Context | None], z3.ExprRef]
AddAxioms = Callable[["Encoder", str, z3.ExprRef], None]


@dataclass
class Encoder:
    """Translates expressions of one query; collects the axioms of the terms it introduced.

    `lower_bounds` are proven lower bounds of definitions, which stand in for their values while
    `opaque_definitions`. Encoders with the same `shared` translate each name once; the terms are
    of `context`, or of the one that z3 shares by default.
    """

    variables: Mapping[str, Variable]
    definitions: Mapping[str, Definition]
    booleans: frozenset[str]
    opaque_definitions: bool = False
    lower_bounds: Mapping[str, int] = field(default_factory=dict)
    shared: Terms = field(default_factory=dict)
    context: z3.Context | None = None
    axioms: list[z3.BoolRef] = field(default_factory=list)
    names: dict[str, z3.ExprRef] = field(default_factory=dict)
    terms: dict[str, z3.ArithRef] = field(default_factory=dict)

    @property
    def _context(self) -> z3.Context:
        return self.context or z3.main_ctx()

    def integer(self, node: Expr) -> z3.ArithRef:
        """The z3 integer term of an integer (or enum) expression."""
        match node:
            case Integer(value=value):
                return z3.IntVal(value, self.context)
            case Enumerant(code=code):
                return z3.IntVal(code, self.context)
            case Name(name=name):
                return self._integer_name(name)
            case Binary("+", left, right):
                return plus(self.integer(left), self.integer(right))
            case Binary("-", left, right):
                return minus(self.integer(left), self.integer(right))
            case Binary("*", left, right):
                return times(self.integer(left), self.integer(right))
            case Binary("//", left, right):
                return self._quotient(node, self.integer(left), self.integer(right))
            case Binary("%", left, right):
                numerator, divisor = self.integer(left), self.integer(right)
                quotient = self._quotient(Binary("//", left, right), numerator, divisor)
                return minus(numerator, times(quotient, divisor))
            case Conditional(condition, then, otherwise):
                return chosen(self.boolean(condition), self.integer(then), self.integer(otherwise))
            case Call():
                return self._call(node)
            case _:
                raise AssertionError(f"not an integer term: {spell(node)}")

    def boolean(self, node: Expr) -> z3.BoolRef:
        """The z3 formula of a boolean expression."""
        match node:
            case Boolean(value=value):
                return z3.BoolVal(value, self.context)
            case Name(name=name):
                return self._boolean_name(name)
            case Comparison(operator, left, right):
                return self._comparison(operator, left, right)
            case Logical("and", operands):
                return every([self.boolean(operand) for operand in operands], self._context)
            case Logical("or", operands):
                return some([self.boolean(operand) for operand in operands], self._context)
            case Not(operand=operand):
                return negated(self.boolean(operand))
            case Conditional(condition, then, otherwise):
                return chosen_truth(
                    self.boolean(condition), self.boolean(then), self.boolean(otherwise)
                )
            case _:
                raise AssertionError(f"not a boolean term: {spell(node)}")

    def _comparison(self, operator: ComparisonOperator, left: Expr, right: Expr) -> z3.BoolRef:
        if self._is_boolean(left):
            return self._compare_booleans(operator, self.boolean(left), self.boolean(right))
        return _COMPARED[operator](self.integer(left), self.integer(right))

    @staticmethod
    def _compare_booleans(
        operator: ComparisonOperator, left: z3.BoolRef, right: z3.BoolRef
    ) -> z3.BoolRef:
        """False is less than true, as in Python."""
        match operator:
            case "==":
                return equal(left, right)
            case "!=":
                return negated(equal(left, right))
            case "<":
                return every((negated(left), right), left.ctx)
            case "<=":
                return implied(left, right)
            case ">":
                return every((left, negated(right)), left.ctx)
            case _:
                return implied(right, left)

    def _is_boolean(self, node: Expr) -> bool:
        match node:
            case Boolean() | Comparison() | Logical() | Not():
                return True
            case Name(name=name):
                return name in self.booleans
            case Conditional(then=then):
                return self._is_boolean(then)
            case _:
                return False

    def _integer_name(self, name: str) -> z3.ArithRef:
        found = self._named(name, z3.Int, Encoder._axioms_of_integer)
        assert isinstance(found, z3.ArithRef)
        return found

    def _boolean_name(self, name: str) -> z3.BoolRef:
        found = self._named(name, z3.Bool, Encoder._axioms_of_boolean)
        assert isinstance(found, z3.BoolRef)
        return found

    def _named(self, name: str, make: Make, add_axioms: AddAxioms) -> z3.ExprRef:
        """The term of a name; what holds of it is translated once for all that share it."""
        if name not in self.names:
            if name not in self.shared:
                inner = replace(self, axioms=[], names={}, terms={})
                term = inner.names[name] = make(name, self.context)
                add_axioms(inner, name, term)
                self.shared[name] = NamedTerm(term, tuple(inner.axioms), inner.names)
            known = self.shared[name]
            self.axioms.extend(known.axioms)
            self.names.update(known.names)
        return self.names[name]

    def _axioms_of_boolean(self, name: str, term: z3.ExprRef) -> None:
        definition = self.definitions.get(name)
        if definition is not None and not self.opaque_definitions:
            guard = self.boolean(definition.guard)
            self.axioms.append(implied(guard, equal(term, self.boolean(definition.value))))

    def _axioms_of_integer(self, name: str, term: z3.ExprRef) -> None:
        variable = self.variables.get(name)
        if variable is not None:
            guard = self.boolean(variable.guard)
            if variable.low is not None:
                self.axioms.append(implied(guard, at_most(self.integer(variable.low), term)))
            if variable.high is not None:
                self.axioms.append(implied(guard, at_most(term, self.integer(variable.high))))
            return
        definition = self.definitions.get(name)
        if definition is None:
            return
        guard = self.boolean(definition.guard)
        if not self.opaque_definitions:
            self.axioms.append(implied(guard, equal(term, self.integer(definition.value))))
        if name in self.lower_bounds:
            least = z3.IntVal(self.lower_bounds[name], self.context)
            self.axioms.append(implied(guard, at_least(term, least)))

    def _quotient(self, key: Expr, numerator: z3.ArithRef, divisor: z3.ArithRef) -> z3.ArithRef:
        def define(term: z3.ArithRef) -> z3.BoolRef:
            whole = times(term, divisor)
            below_next = below(numerator, plus(whole, divisor))
            return every((at_most(whole, numerator), below_next), self._context)

        return self._defined(spell(key), divisor, define)

    def _call(self, node: Call) -> z3.ArithRef:
        match node.function, node.arguments:
            case "align_up", (operand, alignment):
                multiple = self._rounded_up(operand, alignment)
                return times(multiple, self.integer(alignment))
            case "cdiv", (operand, divisor):
                return self._rounded_up(operand, divisor)
            case "next_in", (operand, source):
                return self._next_in(node, operand, source)
            case ("max" | "min") as extreme, (single,):
                return self._extreme(extreme, single)
            case ("max" | "min") as extreme, arguments:
                return self._fold(extreme, [self.integer(argument) for argument in arguments])
            case _:
                return self._integer_name(spell(node))

    def _rounded_up(self, operand: Expr, divisor: Expr) -> z3.ArithRef:
        key = spell(Call("cdiv", (operand, divisor)))
        a, b = self.integer(operand), self.integer(divisor)

        def define(term: z3.ArithRef) -> z3.BoolRef:
            whole = times(term, b)
            return every((at_least(whole, a), above(a, minus(whole, b))), self._context)

        return self._defined(key, b, define)

    def _defined(self, key: str, divisor: z3.ArithRef, define: Define) -> z3.ArithRef:
        if key not in self.terms:
            term = z3.Int(key, self.context)
            self.terms[key] = term
            one = z3.IntVal(1, self.context)
            self.axioms.append(implied(at_least(divisor, one), define(term)))
        return self.terms[key]

    @staticmethod
    def _fold(extreme: str, terms: list[z3.ArithRef]) -> z3.ArithRef:
        result = terms[0]
        for term in terms[1:]:
            beyond = above(term, result) if extreme == "max" else below(term, result)
            result = chosen(beyond, term, result)
        return result

    def _next_in(self, node: Expr, operand: Expr, source: Expr) -> z3.ArithRef:
        key = spell(node)
        if key not in self.terms:
            term = z3.Int(key, self.context)
            self.terms[key] = term
            value, largest = self.integer(operand), self._extreme("max", source)
            # Where no element is large enough, nobody looks: then it stands for some element.
            inhabited = self._inhabited(source)
            inside = every((at_most(term, largest), self._element(source, term)), self._context)
            self.axioms.append(implied(inhabited, inside))
            large_enough = self.boolean(has_at_least(operand, source))
            exists = every((inhabited, large_enough), self._context)
            self.axioms.append(implied(exists, at_most(value, term)))
        return self.terms[key]

    def _extreme(self, extreme: str, source: Expr) -> z3.ArithRef:
        if isinstance(source, ListOf) and not has_ranges(source):
            return self._fold(extreme, [self.integer(element) for element in source.elements])
        key = f"{extreme}({spell(source)})"
        if key not in self.terms:
            term = z3.Int(key, self.context)
            self.terms[key] = term
            known = [self._element(source, term), *self._beyond(extreme, source, term)]
            if extreme == "min":
                known.append(at_most(term, self._extreme("max", source)))
            self.axioms.append(implied(self._inhabited(source), every(known, self._context)))
        return self.terms[key]

    def _inhabited(self, source: Expr) -> z3.BoolRef:
        """Where a list is known to have an element: `validate` refuses an empty named list."""
        match source:
            case Name(name=name) if name in self.definitions:
                return self.boolean(self.definitions[name].guard)
            case Name(name=name) if name in self.variables:
                return self.boolean(self.variables[name].guard)
            case ListOf():
                return self.boolean(has_element(source))
            case Comprehension(source=inner):
                return every(
                    (self._inhabited(inner), self.boolean(has_element(source))), self._context
                )
            case Conditional(condition, then, otherwise):
                return chosen_truth(
                    self.boolean(condition), self._inhabited(then), self._inhabited(otherwise)
                )
            case _:
                return z3.BoolVal(False, self.context)

    def _element(self, source: Expr, element: z3.ArithRef) -> z3.BoolRef:
        """What is known of any element of a list."""
        match source:
            case Name(name=name) if name in self.definitions:
                return self._element(self.definitions[name].value, element)
            case Name(name=name):
                return self._element_of_parameter(name, element)
            case ListOf(elements=elements):
                return some([self._is_item(item, element) for item in elements], self._context)
            case Comprehension():
                return self._element_of_comprehension(source, element)
            case Conditional(condition, then, otherwise):
                return chosen_truth(
                    self.boolean(condition),
                    self._element(then, element),
                    self._element(otherwise, element),
                )
            case _:
                return z3.BoolVal(True, self.context)

    def _is_item(self, item: Expr, element: z3.ArithRef) -> z3.BoolRef:
        """Whether an element of a written list is this item of it, or one of its range."""
        if not isinstance(item, Progression):
            return equal(element, self.integer(item))
        distance, step = element - self.integer(item.first), self.integer(item.step)
        inside = z3.And(distance >= 0, element < self.integer(item.end))
        return z3.And(inside, z3.Implies(step >= 1, distance % step == 0))

    def _beyond(self, extreme: str, source: Expr, term: z3.ArithRef) -> Iterator[z3.BoolRef]:
        """An extreme of a written list is beyond each item, and beyond the ends of each range."""
        for where, item in known_elements(source) if isinstance(source, ListOf) else ():
            value = self.integer(item)
            beyond = at_least(term, value) if extreme == "max" else at_most(term, value)
            yield implied(self.boolean(where), beyond)

    def _element_of_parameter(self, name: str, element: z3.ArithRef) -> z3.BoolRef:
        variable = self.variables.get(name)
        if variable is None:
            return z3.BoolVal(True, self.context)
        known = [at_least(self._extreme_unconstrained(name), element)]
        if variable.low is not None:
            known.append(at_most(self.integer(variable.low), element))
        if variable.high is not None:
            known.append(at_most(element, self.integer(variable.high)))
        return every(known, self._context)

    def _extreme_unconstrained(self, name: str) -> z3.ArithRef:
        return z3.Int(f"max({name})", self.context)

    def _element_of_comprehension(self, source: Comprehension, element: z3.ArithRef) -> z3.BoolRef:
        drawn = z3.Int(f"{element}.from({source.variable})", self.context)
        inner = f"{source.variable}@{element}"
        self.names[inner] = drawn
        names: dict[str, Expr] = {source.variable: Name(inner)}
        known = [self._element(source.source, drawn)]
        known.append(equal(element, self.integer(substitute(source.element, names))))
        if source.condition is not None:
            known.append(self.boolean(substitute(source.condition, names)))
        return every(known, self._context)
