"""Records survive as text, and no other text becomes a record of the wanted type."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.spec_records import specs
from ullage.analysis import Derived
from ullage.audit.model import AuditReport
from ullage.expr.tree import Binary, Boolean, Expr, Integer, Name
from ullage.place import Place
from ullage.records import from_text, to_text
from ullage.spec.model import Spec


@dataclass(frozen=True, slots=True)
class Leaf:
    """A record of plain values."""

    number: int
    flag: bool
    text: str
    kind: Literal["round", "square"] = "round"


@dataclass(frozen=True, slots=True)
class Tree:
    """A record that holds everything that one may hold."""

    leaf: Leaf | None
    parts: tuple[Tree, ...] = ()
    pair: tuple[str, int] = ("", 7)
    named: Mapping[str, Leaf | Tree] | None = None
    names: frozenset[str] = frozenset()
    shown: int | bool | str | tuple[int, ...] = 5


LEAF = Leaf(3, True, "ß\n", "square")
TREE = Tree(
    LEAF,
    (Tree(None), Tree(LEAF, shown=(1, 2))),
    ("a", -4),
    {"second": LEAF, "first": Tree(None, shown="three")},
    frozenset(("y", "x")),
    True,
)
OUTSIDE = Leaf.__module__


def leaves() -> st.SearchStrategy[Leaf]:
    kinds: st.SearchStrategy[Literal["round", "square"]] = st.sampled_from(["round", "square"])
    return st.builds(Leaf, st.integers(), st.booleans(), st.text(), kinds)


def trees() -> st.SearchStrategy[Tree]:
    shown = st.one_of(
        st.integers(), st.booleans(), st.text(), st.lists(st.integers()).map(tuple[int, ...])
    )
    return st.recursive(
        st.builds(Tree, leaves() | st.none(), shown=shown),
        lambda inner: st.builds(
            Tree,
            leaves() | st.none(),
            st.lists(inner, max_size=3).map(tuple[Tree, ...]),
            st.tuples(st.text(), st.integers()),
            st.dictionaries(st.text(), leaves() | inner, max_size=3) | st.none(),
            st.frozensets(st.text(), max_size=3),
            shown,
        ),
        max_leaves=6,
    )


@given(trees())
def test_a_record_survives_as_text(tree: Tree) -> None:
    text = to_text(tree)
    found = from_text(Tree, text)
    assert found == tree
    assert to_text(found) == text


@given(specs())
@pytest.mark.slow
def test_a_spec_survives_with_all_of_its_places(spec: Spec) -> None:
    text = to_text(spec)
    found = from_text(Spec, text)
    assert found == spec
    assert to_text(found) == text  # equal expressions may stand in different places


def test_mappings_keep_their_order_and_sets_have_none() -> None:
    found = from_text(Tree, to_text(TREE))
    assert found is not None
    assert found.named is not None
    assert [*found.named] == ["second", "first"]
    assert to_text(TREE) == to_text(replace(TREE, names=frozenset(("x", "y"))))
    turned = dict(reversed([*(TREE.named or {}).items()]))
    assert to_text(TREE) != to_text(replace(TREE, named=turned))


def test_the_place_of_an_expression_counts_although_it_does_not_in_comparisons() -> None:
    here, there = (Name("rows", place=Place("a.yaml", line, 1)) for line in (3, 4))
    assert here == there
    assert to_text(here) != to_text(there)


def test_true_is_not_one() -> None:
    assert to_text(Integer(1)) != to_text(Boolean(True))
    found = from_text(Tree, to_text(Tree(None, (Tree(None, shown=True), Tree(None, shown=1)))))
    assert found is not None
    assert [each.shown for each in found.parts] == [True, 1]
    assert isinstance(found.parts[0].shown, bool)
    assert not isinstance(found.parts[1].shown, bool)


def test_what_is_shared_is_written_once_and_read_as_one() -> None:
    expr: Expr = Name("rows")
    for _ in range(60):  # 2^60 nodes, were they not shared
        expr = Binary("+", expr, expr)
    text = to_text(expr)
    assert len(text) < 4000
    found = from_text(Binary, text)
    assert found is not None
    assert found.left is found.right


@pytest.mark.parametrize("kind", [Derived, AuditReport, Spec])
def test_what_the_compiler_remembers_can_be_read(kind: type) -> None:
    assert from_text(kind, to_text(LEAF)) is None


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("3,", '"3",'),
        ("3,", "true,"),
        ("3,", "3.0,"),
        ("3,", "null,"),
        ("true,", "1,"),
        ('"square"', '"oval"'),
        ('"square"', "4"),
        (f"{OUTSIDE}.Leaf", "builtins.object"),
        (f"{OUTSIDE}.Leaf", "ullage.place.Place"),
        (f"{OUTSIDE}.Leaf", f"{OUTSIDE}.Tree"),
        ('"root": 0', '"root": 1'),
        ('"root": 0', '"root": -1'),
        ('"root": 0', '"root": "0"'),
        ('"root": 0', '"root": [0]'),
        ("[[0,", "[[1,"),
        ("[[0,", "[[-1,"),
        ("[[0,", "[[true,"),
        ("[[0,", '[["0",'),
        ('"rows"', '"lines"'),
        (',"square"]', "]"),
        (',"square"]', ',"square",0]'),
    ],
)
def test_a_text_of_another_form_is_no_record(old: str, new: str) -> None:
    text = to_text(LEAF)
    assert old in text
    assert from_text(Leaf, text.replace(old, new, 1)) is None


def test_a_row_refers_to_earlier_rows_only() -> None:
    document = json.loads(to_text(TREE))
    document["rows"].reverse()
    assert from_text(Tree, json.dumps(document)) is None


def test_a_key_that_stands_twice_is_refused() -> None:
    once = to_text(replace(TREE, named={"a": LEAF}))
    (pair,) = [each for each in ('["a",0]',) if each in once]
    assert from_text(Tree, once.replace(pair, f"{pair},{pair}")) is None


@given(st.data())
def test_no_edited_text_raises_anything(data: st.DataObject) -> None:
    """Whatever becomes of it, what is read is a record of the wanted type or nothing."""
    document = json.loads(to_text(TREE))
    inside: object = document
    path: list[int | str] = []
    while isinstance(inside, list | dict) and inside and (not path or data.draw(st.booleans())):
        keys = range(len(inside)) if isinstance(inside, list) else [*inside]
        path.append(data.draw(st.sampled_from(keys)))
        parent, inside = inside, inside[path[-1]]  # type: ignore[index]
    other = st.none() | st.booleans() | st.integers(-2, 9) | st.text(max_size=3)
    parent[path[-1]] = data.draw(other | st.lists(other, max_size=3) | st.just({}))  # type: ignore[index]
    found = from_text(Tree, json.dumps(document))
    assert found is None or isinstance(found, Tree)


@pytest.mark.parametrize("text", ["", "null", "[]", "{}", "[" * 100_000, "1e999", "nonsense"])
def test_what_is_no_text_of_a_record_is_none(text: str) -> None:
    assert from_text(Leaf, text) is None


def test_what_is_no_record_cannot_be_written() -> None:
    with pytest.raises(TypeError, match="is not a record"):
        to_text(object())
    with pytest.raises(TypeError, match="is not a record"):
        to_text(1.5)
