"""Random well-typed expressions and the environments that give them a value.

A `Vocabulary` says which names there are. All integers are dimensionless, so that every tree is
accepted by `infer`; most divisors are at least 1, so that most trees have a value.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from hypothesis import strategies as st

from ullage.expr.environment import Environment, EvaluationError, Result, Value
from ullage.expr.evaluate import evaluate
from ullage.expr.kinds import NO_UNIT, BoolKind, EnumKind, IntKind, Kind, ListKind
from ullage.expr.tree import (
    Binary,
    Boolean,
    Call,
    Comparison,
    Comprehension,
    Conditional,
    Enumerant,
    Expr,
    Integer,
    ListOf,
    Logical,
    Name,
    Not,
    Over,
    Progression,
)

SMALLEST, LARGEST = -40, 90
MAX_ELEMENTS = 4
ELEMENT = "b"


@dataclass(frozen=True)
class Vocabulary:
    """The names that expressions are made of; `enums` are pairs of a name and its values.

    `per_request` names stand only inside `sum_requests`; with `ranks`, expressions may ask for
    sums and maxima over the ranks of a group.
    """

    integers: tuple[str, ...] = ("m", "n", "x")
    booleans: tuple[str, ...] = ("p", "q")
    lists: tuple[str, ...] = ("xs",)
    enums: tuple[tuple[str, tuple[str, ...]], ...] = (("worker", ("target", "draft", "other")),)
    per_request: tuple[str, ...] = ()
    ranks: bool = False

    @property
    def kinds(self) -> dict[str, Kind]:
        """The kind of every name, as `infer` and `resolve` take them."""
        return {
            **{name: IntKind(NO_UNIT) for name in (*self.integers, *self.per_request)},
            **{name: BoolKind() for name in self.booleans},
            **{name: ListKind(NO_UNIT) for name in self.lists},
            **{name: EnumKind(name, values) for name, values in self.enums},
        }

    def with_integer(self, name: str) -> Vocabulary:
        """This one with one more integer."""
        names = tuple(dict.fromkeys((*self.integers, name)))
        return Vocabulary(
            names, self.booleans, self.lists, self.enums, self.per_request, self.ranks
        )


PLAIN = Vocabulary()
FULL = Vocabulary(per_request=("seq_len", "new_tokens"), ranks=True)


def literals() -> st.SearchStrategy[Integer]:
    """Small literals, with the neutral elements more often than others."""
    return st.one_of(st.sampled_from((1, 0, 2, -1)), st.integers(SMALLEST, LARGEST)).map(Integer)


def integer_names(vocabulary: Vocabulary) -> st.SearchStrategy[Name]:
    return st.sampled_from(vocabulary.integers).map(Name)


@cache
def integer_expressions(vocabulary: Vocabulary = PLAIN, depth: int = 3) -> st.SearchStrategy[Expr]:
    """Expressions of integer kind, at most about `depth` operators deep."""
    leaves = st.one_of(integer_names(vocabulary), literals())
    if depth == 0:
        return leaves
    inner = st.deferred(lambda: integer_expressions(vocabulary, depth - 1))
    lists = st.deferred(lambda: list_expressions(vocabulary, depth - 1))
    forms: list[st.SearchStrategy[Expr]] = [
        leaves,
        st.builds(Binary, st.sampled_from(("+", "-", "*")), inner, inner),
        st.builds(Binary, st.sampled_from(("//", "%")), inner, _divisors(vocabulary, depth - 1)),
        st.builds(_call, st.sampled_from(("min", "max")), st.lists(inner, min_size=2, max_size=3)),
        st.builds(
            _call,
            st.sampled_from(("align_up", "cdiv")),
            st.tuples(inner, _divisors(vocabulary, depth - 1)),
        ),
        st.builds(_call, st.sampled_from(("min", "max")), st.tuples(lists)),
        st.builds(_call, st.just("next_in"), st.tuples(inner, lists)),
        st.builds(Conditional, _booleans(vocabulary, depth - 1), inner, inner),
    ]
    return st.one_of(*forms, *_aggregates(vocabulary, depth - 1))


def _call(function: str, arguments: list[Expr] | tuple[Expr, ...]) -> Call:
    return Call(function, tuple(arguments))  # type: ignore[arg-type]  # sampled from the functions


@cache
def _divisors(vocabulary: Vocabulary, depth: int) -> st.SearchStrategy[Expr]:
    """Mostly at least 1 by their form; some that may be anything."""
    inner = st.deferred(lambda: integer_expressions(vocabulary, depth))
    positive = st.integers(1, 9).map(Integer)
    raised = inner.map(lambda expr: Call("max", (expr, Integer(1))))
    return st.one_of(positive, integer_names(vocabulary), raised, inner)


def _booleans(vocabulary: Vocabulary, depth: int) -> st.SearchStrategy[Expr]:
    return st.deferred(lambda: boolean_expressions(vocabulary, depth))


def _aggregates(vocabulary: Vocabulary, depth: int) -> list[st.SearchStrategy[Expr]]:
    found: list[st.SearchStrategy[Expr]] = []
    if vocabulary.per_request:
        names = (*vocabulary.integers, *vocabulary.per_request)
        each = Vocabulary(names, vocabulary.booleans, vocabulary.lists, vocabulary.enums)
        operands = st.deferred(lambda: integer_expressions(each, depth))
        found.append(operands.map(lambda operand: Over("sum_requests", operand)))
    if vocabulary.ranks:
        alone = Vocabulary(
            vocabulary.integers,
            vocabulary.booleans,
            vocabulary.lists,
            vocabulary.enums,
            vocabulary.per_request,
        )
        of_rank = st.deferred(lambda: integer_expressions(alone, depth))
        found.append(st.builds(Over, st.sampled_from(("sum_ranks", "max_ranks")), of_rank))
    return found


@cache
def boolean_expressions(vocabulary: Vocabulary = PLAIN, depth: int = 3) -> st.SearchStrategy[Expr]:
    """Expressions of boolean kind, at most about `depth` operators deep."""
    leaves = st.one_of(
        st.sampled_from(vocabulary.booleans).map(Name),
        st.booleans().map(Boolean),
        _enum_tests(vocabulary),
    )
    if depth == 0:
        return leaves
    inner = _booleans(vocabulary, depth - 1)
    integers = st.deferred(lambda: integer_expressions(vocabulary, depth - 1))
    orders = st.sampled_from(("==", "!=", "<", "<=", ">", ">="))
    return st.one_of(
        leaves,
        st.builds(Comparison, orders, integers, integers),
        st.builds(Comparison, st.sampled_from(("==", "!=")), inner, inner),
        st.builds(
            Logical,
            st.sampled_from(("and", "or")),
            st.lists(inner, min_size=2, max_size=3).map(tuple),
        ),
        st.builds(Not, inner),
        st.builds(Conditional, inner, inner, inner),
    )


def enumerants(name: str, values: tuple[str, ...]) -> st.SearchStrategy[Enumerant]:
    """Any value of one enum."""
    return st.integers(0, len(values) - 1).map(lambda code: Enumerant(name, values[code], code))


def _enum_tests(vocabulary: Vocabulary) -> st.SearchStrategy[Expr]:
    """An enum parameter compared with one of its values, either way round."""
    sides = st.one_of(
        *(
            st.tuples(st.just(Name(name)), enumerants(name, values))
            for name, values in vocabulary.enums
        )
    )
    turned = st.one_of(sides, sides.map(lambda pair: (pair[1], pair[0])))
    return st.builds(
        lambda operator, pair: Comparison(operator, *pair),
        st.sampled_from(("==", "!=")),
        turned,
    )


@cache
def list_expressions(vocabulary: Vocabulary = PLAIN, depth: int = 3) -> st.SearchStrategy[Expr]:
    """Expressions of list kind: names, lists written out, and filtered or mapped lists.

    The ends of ranges are names and literals, so that none has too many elements to try.
    """
    names = st.sampled_from(vocabulary.lists).map(Name)
    if depth == 0:
        return names
    elements = st.deferred(lambda: integer_expressions(vocabulary, depth - 1))
    leaves = st.deferred(lambda: integer_expressions(vocabulary, 0))
    ranges = st.builds(Progression, leaves, leaves, st.integers(1, 9).map(Integer))
    parts = st.one_of(elements, elements, ranges)
    written = st.lists(parts, min_size=1, max_size=MAX_ELEMENTS).map(
        lambda parts: ListOf(tuple(parts))
    )
    inside = vocabulary.with_integer(ELEMENT)
    made = st.builds(
        Comprehension,
        st.deferred(lambda: integer_expressions(inside, depth - 1)),
        st.just(ELEMENT),
        st.deferred(lambda: list_expressions(vocabulary, depth - 1)),
        st.one_of(st.none(), _booleans(inside, depth - 1)),
    )
    return st.one_of(names, written, made)


def expressions(vocabulary: Vocabulary = PLAIN, depth: int = 3) -> st.SearchStrategy[Expr]:
    """Expressions of any kind."""
    return st.one_of(
        integer_expressions(vocabulary, depth),
        boolean_expressions(vocabulary, depth),
        list_expressions(vocabulary, depth),
    )


def values(vocabulary: Vocabulary = PLAIN) -> st.SearchStrategy[Mapping[str, Value]]:
    """A value for every name of the whole batch; integers are at least 1."""
    fields: dict[str, st.SearchStrategy[Value]] = {
        **{name: st.integers(1, LARGEST) for name in vocabulary.integers},
        **{name: st.booleans() for name in vocabulary.booleans},
        **{
            name: st.lists(st.integers(1, LARGEST), min_size=1, max_size=MAX_ELEMENTS)
            for name in vocabulary.lists
        },
        **{name: st.integers(0, len(values) - 1) for name, values in vocabulary.enums},
    }
    return st.fixed_dictionaries(fields)


@st.composite
def ranks(draw: st.DrawFn, vocabulary: Vocabulary) -> Environment:
    """One rank with between one and four requests."""
    count = draw(st.integers(1, MAX_ELEMENTS))
    column = st.lists(st.integers(1, LARGEST), min_size=count, max_size=count)
    requests = {name: draw(column) for name in vocabulary.per_request}
    return Environment(draw(values(vocabulary)), requests)


@st.composite
def environments(draw: st.DrawFn, vocabulary: Vocabulary = PLAIN) -> Environment:
    """One rank, and up to two others where the vocabulary has ranks."""
    own = draw(ranks(vocabulary))
    others = draw(st.lists(ranks(vocabulary), max_size=2)) if vocabulary.ranks else []
    return Environment(own.values, own.requests, tuple(others))


def value_or_none(expr: Expr, environment: Environment) -> Result | None:
    """The value of `expr`, or None where it has none."""
    try:
        return evaluate(expr, environment)
    except EvaluationError:
        return None
