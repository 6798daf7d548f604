"""Names are found in generated source as a parser finds them."""

from __future__ import annotations

import ast

import pytest

from support.generated import ENGINES
from support.generated import generated as generated_files
from ullage.emit.model import EngineModel
from ullage.emit.modules import IMPORTED, PREPARED
from ullage.emit.package import modules_of
from ullage.emit.scan import names_of, without_unused


def parsed_names(source: str) -> set[str]:
    return {node.id for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name)}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.slow
def test_imports_follow_from_the_names_that_a_parser_finds(engine: str) -> None:
    for module in modules_of(EngineModel(generated_files(engine)[0])):
        known = {*IMPORTED, *module.siblings}
        found = {each.name for each in names_of(module.body)}
        assert found & known == parsed_names(module.body) & known, module.path


def unused_statements(source: str) -> set[str]:
    """Functions and prepared variables of theirs that are set only, as a parser finds them."""
    found: set[str] = set()
    for function in ast.walk(ast.parse(source)):
        if isinstance(function, ast.FunctionDef):
            named = [node.id for node in ast.walk(function) if isinstance(node, ast.Name)]
            for statement in function.body:
                text = ast.unparse(statement)
                if text in PREPARED and named.count(text.partition(" ")[0]) == 1:
                    found.add(f"{function.name}: {text}")
    return found


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.slow
def test_no_variable_is_prepared_that_nothing_uses_and_all_others_stay(engine: str) -> None:
    for module in modules_of(EngineModel(generated_files(engine)[0])):
        left = without_unused(module.body, names_of(module.body), PREPARED)
        assert not unused_statements(left), module.path
        dropped = len(module.body.split("\n")) - len(left.split("\n"))
        assert dropped == len(unused_statements(module.body)), module.path
        assert not parsed_names(module.body) - parsed_names(left) - {"config", "mode", "views"}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("a.b.c(d, e=f)", ["a", "d", "f"]),
        ("x: Final = (1,)", ["x", "Final"]),
        ("'a' \"b's\" '\\'c' # d\ne", ["e"]),
        ('"""a\nb "c" \\"""d"""\ne', ["e"]),
        ('f"a {b} c {d.e}" "{f}"', ["b", "d"]),
        ("def f(a: B) -> C: ...", ["a", "B", "C"]),
        ("a == b", ["a", "b"]),
        ("ä1 + 1e5", ["ä1"]),
    ],
)
def test_only_names_that_stand_for_themselves_are_found(source: str, expected: list[str]) -> None:
    assert [each.name for each in names_of(source)] == expected


def test_names_have_the_line_that_they_stand_on() -> None:
    source = '"""a\n\nb"""\nc(\n    d, f"{e}")\n'
    assert [(each.name, each.line) for each in names_of(source)] == [("c", 3), ("d", 4), ("e", 4)]
