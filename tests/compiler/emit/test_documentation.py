"""What help() says of a generated package: how an engine uses it, and what it is given."""

from __future__ import annotations

import ast
import textwrap
from dataclasses import fields
from pathlib import Path

import pytest

from support.barrel import BARREL
from support.generated import ENGINES, analysed, generated, package
from ullage.emit.package import emit
from ullage.emit.text import docstring, entries


def example_of(engine: str) -> str:
    """The code in the package's docstring."""
    lines = (package(engine).__doc__ or "").split("\n")
    return textwrap.dedent("\n".join(line for line in lines if line.startswith("    ")))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.slow
def test_the_example_of_a_package_uses_what_it_exports(engine: str) -> None:
    tree = ast.parse(example_of(engine))
    named = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    given = {node.targets[0] for node in tree.body if isinstance(node, ast.Assign)}
    made = {name.id for each in given for name in ast.walk(each) if isinstance(name, ast.Name)}
    assert named - made - {"engine", "SingleRank"} <= set(package(engine).__all__)
    assert {"Config", "Arenas", "LiveBatch", "Mode"} <= named


@pytest.mark.parametrize("engine", ["sluice", "weir"])
def test_the_example_selects_where_several_runners_may_take_a_batch(engine: str) -> None:
    asked = "live, engine" if engine == "weir" else "live"
    assert f"runner, offer = runners.select({asked})" in example_of(engine)
    assert "runner.load(live, pad=offer)" in example_of(engine)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", ["Config", "LiveBatch"])
def test_every_field_is_described_where_help_shows_it(engine: str, name: str) -> None:
    described = getattr(package(engine), name)
    for field in fields(described):
        if field.name != "mode":
            assert f"\n    {field.name}: " in described.__doc__, field.name


def test_fields_say_in_which_modes_they_are_needed() -> None:
    doc = package("sluice").LiveBatch.__doc__
    assert "seq_lens: [requests], int32: " in doc
    assert "needed in every mode" in doc


@pytest.mark.slow
def test_a_file_changes_only_with_its_content(tmp_path: Path) -> None:
    files = {name: f"{text}\n# one more line\n" for name, text in BARREL.items()}
    assert emit(analysed(tmp_path, "barrel", files)) == generated("barrel")[1]


def test_lines_of_a_listing_stay_as_they_are() -> None:
    text = docstring(("One.",), 4, listing=("", "a:  b", "", '    c"'))
    assert text == '"""One.\n\n\n    a:  b\n\n        c\'\n    """'
    assert list(entries([("name", "word " * 30)], 4))[1].startswith("    word")
