"""Generated Python computes what the expression means."""

from __future__ import annotations

import pytest
from hypothesis import assume, given

from support.expressions import PLAIN, environments, expressions, value_or_none
from ullage.expr.environment import Environment
from ullage.expr.parse import parse
from ullage.expr.python_source import python_source, runtime_functions
from ullage.expr.tree import Comparison, Enumerant, Expr, Name, Over
from ullage.place import Place
from ullage_runtime.integers import align_up, cdiv, next_in

RUNTIME = {"align_up": align_up, "cdiv": cdiv, "next_in": next_in}


def at(offset: int, width: int) -> Place:
    return Place("a.yaml", 1, offset + 1, width)


def field(name: str) -> str:
    return f"self.{name}"


def source(text: str) -> str:
    return python_source(parse(text, at), name=field, enumerant=lambda value: value.value)


def run(text: str, environment: Environment) -> object:
    """What the text computes; running it as Python is the point of the comparison."""
    names = {"max": max, "min": min, "range": range, "values": environment.values, **RUNTIME}
    return eval(text, {"__builtins__": {}, **names})


@given(expressions(PLAIN, depth=4), environments(PLAIN))
def test_python_agrees_with_the_meaning(expr: Expr, environment: Environment) -> None:
    value = value_or_none(expr, environment)
    assume(value is not None)
    text = python_source(
        expr, name=lambda name: f"values[{name!r}]", enumerant=lambda value: str(value.code)
    )
    assert run(text, environment) == value


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a + b * c", "self.a + self.b * self.c"),
        ("(a + b) * c // 2", "(self.a + self.b) * self.c // 2"),
        ("-a", "-self.a"),
        ("p and not q == true", "self.p and not self.q == True"),
        ("a if p else b", "self.a if self.p else self.b"),
        ("align_up(cdiv(a, 2^4), b)", "align_up(cdiv(self.a, 16), self.b)"),
        ("next_in(a, xs)", "next_in(self.a, self.xs)"),
        ("max(xs) + min(a, 3)", "max(self.xs) + min(self.a, 3)"),
        ("[a, *range(2, b, 3)]", "[self.a, *range(2, self.b, 3)]"),
        ("[b + a for b in xs if b < c]", "[b + self.a for b in self.xs if b < self.c]"),
    ],
)
def test_source_has_the_fewest_brackets(text: str, expected: str) -> None:
    assert source(text) == expected


def test_a_bound_element_shadows_a_field_of_its_name_only_inside() -> None:
    assert source("[a * 2 for a in [a, b]]") == "[a * 2 for a in [self.a, self.b]]"


def test_enumerants_are_named_by_the_caller() -> None:
    expr = Comparison("!=", Name("worker"), Enumerant("worker", "draft", 1))
    text = python_source(
        expr, name=field, enumerant=lambda value: f"{value.enum.title()}.{value.value.upper()}"
    )
    assert text == "self.worker != Worker.DRAFT"


def test_upper_and_aggregates_are_written_by_the_caller() -> None:
    def over(expr: Over) -> str:
        inner = python_source(expr.operand, name=field, enumerant=lambda value: value.value)
        return f"reduce({inner})"

    text = python_source(
        parse("max_ranks(a + 1) * upper(width)", at),
        name=field,
        enumerant=lambda value: value.value,
        upper=lambda name: f"self.max_{name}",
        over=over,
    )
    assert text == "reduce(self.a + 1) * self.max_width"


@pytest.mark.parametrize("text", ["1 + upper(width)", "1 + sum_requests(seq_len)"])
def test_what_the_caller_cannot_write_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match="has no source here"):
        source(text)


def test_the_runtime_functions_of_a_source_are_known() -> None:
    expr = parse("max(align_up(a, 2), cdiv(a, cdiv(b, c)))", at)
    assert runtime_functions(expr) == {"align_up", "cdiv"}
    assert runtime_functions(parse("max(a, b) + 1", at)) == frozenset()
