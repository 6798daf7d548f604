"""Units and kinds: what may meet what, and which bare names are values of an enum."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.expressions import FULL, boolean_expressions, integer_expressions
from ullage.expr import errors
from ullage.expr.errors import ExpressionError
from ullage.expr.kinds import (
    BOOLEAN,
    LITERAL,
    NO_UNIT,
    BoolKind,
    EnumKind,
    IntKind,
    Kind,
    ListKind,
    Unit,
    enumerant,
    infer,
    resolve,
)
from ullage.expr.parse import parse
from ullage.expr.tree import Comparison, Enumerant, Expr, Name, walk
from ullage.expr.units import BASES
from ullage.place import Place

TOKENS, REQUESTS = Unit.parse("tokens"), Unit.parse("requests")
WORKER = EnumKind("worker", ("target", "draft"))
SPECULATION = EnumKind("speculation", ("none", "eagle", "ngram"))
KINDS: dict[str, Kind] = {
    "rows": IntKind(REQUESTS),
    "tokens": IntKind(TOKENS),
    "width": IntKind(TOKENS / REQUESTS),
    "pages": IntKind(Unit.parse("pages")),
    "page_size": IntKind(Unit.parse("tokens/pages")),
    "ranks": IntKind(NO_UNIT),
    "three": LITERAL,
    "chunked": BOOLEAN,
    "captured": ListKind(REQUESTS),
    "worker": WORKER,
    "speculation": SPECULATION,
}


def at(offset: int, width: int) -> Place:
    return Place("a.yaml", 1, offset + 1, width)


def kind_of(text: str) -> Kind:
    return infer(resolve(parse(text, at), KINDS), KINDS)


def refusal(text: str) -> ExpressionError:
    with pytest.raises(ExpressionError) as caught:
        kind_of(text)
    return caught.value


def units() -> st.SearchStrategy[Unit]:
    powers = st.tuples(*(st.integers(-9, 9) for _ in BASES))
    return powers.map(Unit)


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("rows + 1", "requests"),
        ("max(rows, 8, three)", "requests"),
        ("rows * width", "tokens"),
        ("rows * width + tokens", "tokens"),
        ("tokens // width", "requests"),
        ("cdiv(tokens, page_size)", "pages"),
        ("pages * page_size", "tokens"),
        ("rows // 2", "requests"),
        ("5 * tokens // 4", "tokens"),
        ("rows * ranks", "requests"),
        ("ranks // ranks", "1"),
        ("tokens // tokens", "1"),
        ("1 // rows", "1/requests"),
        ("tokens * tokens", "tokens^2"),
        ("tokens % ranks", "tokens"),
        ("tokens % 4", "tokens"),
        ("tokens % tokens", "tokens"),
        ("7 % tokens", "tokens"),
        ("align_up(rows, ranks)", "requests"),
        ("align_up(rows, 8)", "requests"),
        ("align_up(rows, rows)", "requests"),
        ("align_up(8, rows)", "requests"),
        ("rows if chunked else 1", "requests"),
        ("1 if chunked else rows", "requests"),
        ("next_in(rows, captured)", "requests"),
        ("next_in(5, captured)", "requests"),
        ("max(captured)", "requests"),
        ("upper(width)", "tokens/requests"),
        ("sum_requests(tokens)", "tokens"),
        ("sum_ranks(rows) - max_ranks(rows)", "requests"),
        ("max([b * width for b in captured if b < rows])", "tokens"),
    ],
)
def test_an_amount_is_in_the_unit_that_its_parts_give(text: str, unit: str) -> None:
    assert kind_of(text) == IntKind(Unit.parse(unit))


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("sum_requests(tokens + width)", "tokens"),
        ("sum_requests(width + tokens)", "tokens"),
        ("sum_requests(width)", "tokens"),
        ("sum_requests(2 * width + 1)", "tokens"),
        ("sum_requests(max(width, tokens, width))", "tokens"),
        ("sum_requests(tokens if width < tokens else width)", "tokens"),
        ("sum_requests(cdiv(tokens + width, page_size))", "pages"),
        ("sum_requests(cdiv(tokens, page_size) + cdiv(width, page_size))", "pages"),
        ("sum_requests(align_up(tokens, width))", "tokens"),
        ("sum_requests(tokens % width)", "tokens"),
        ("sum_requests(cdiv(tokens, width))", "requests"),
        ("sum_requests(pages)", "pages"),
        ("sum_requests(ranks)", "1"),
        ("sum_requests(upper(width))", "tokens"),
        ("rows + sum_requests(1)", "requests"),
        ("tokens + sum_requests(width)", "tokens"),
        ("tokens + rows * width + sum_requests(tokens - width)", "tokens"),
        ("sum_ranks(sum_requests(width))", "tokens"),
    ],
)
def test_what_is_per_request_meets_what_one_request_has_in_a_sum(text: str, unit: str) -> None:
    assert kind_of(text) == IntKind(Unit.parse(unit))


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("tokens + width", 1),
        ("sum_requests(tokens) + width", 1),
        ("sum_requests(tokens) < width", 1),
        ("rows + sum_requests(width)", 1),
        ("sum_requests(tokens + rows)", 14),
        ("sum_requests(tokens + pages)", 14),
        ("sum_requests(width + cdiv(tokens, page_size))", 14),
        ("sum_requests(tokens + tokens * width)", 14),
        ("sum_requests(tokens + width // rows)", 14),
        ("sum_requests(rows + ranks)", 14),
        ("sum_ranks(tokens + width)", 11),
    ],
)
def test_only_what_is_per_request_does_and_only_in_a_sum(text: str, column: int) -> None:
    error = refusal(text)
    assert error.code == errors.UNITS_DIFFER
    assert error.place.column == column


def test_a_sum_of_what_is_made_of_literals_is_a_literal() -> None:
    assert kind_of("sum_requests(2 * 3)") == LITERAL


def test_an_amount_of_one_request_is_known_as_one_outside_of_sums_too() -> None:
    expr = resolve(parse("tokens + width", at), KINDS)
    assert infer(expr, KINDS, of_request=True) == IntKind(TOKENS)


@given(units(), st.permutations(("one", "each", "one", "each")))
def test_the_order_in_which_amounts_of_one_request_meet_does_not_matter(
    unit: Unit, names: list[str]
) -> None:
    without_requests = Unit((0, *unit.powers[1:]))
    kinds: dict[str, Kind] = {
        "one": IntKind(without_requests),
        "each": IntKind(without_requests / REQUESTS),
    }
    for text in (" + ".join(names), f"max({', '.join(names)})"):
        assert infer(parse(f"sum_requests({text})", at), kinds) == IntKind(without_requests)


@pytest.mark.parametrize("text", ["3", "-3", "2 + 3", "2 * 3 // 4 % 5", "max(1, 2)", "three + 1"])
def test_what_is_made_of_literals_only_is_a_literal(text: str) -> None:
    assert kind_of(text) == LITERAL


@pytest.mark.parametrize(
    "text",
    ["true", "rows < 3", "tokens == rows * width", "not chunked and 1 < 2", "chunked == (1 < 2)"],
)
def test_what_holds_or_not_is_a_boolean(text: str) -> None:
    assert kind_of(text) == BOOLEAN


def test_a_list_is_in_the_unit_of_its_elements() -> None:
    assert kind_of("[rows, 4]") == ListKind(REQUESTS)
    assert kind_of("[4, 8]") == ListKind(None)
    assert kind_of("[b * page_size for b in [pages, 2]]") == ListKind(TOKENS)
    assert kind_of("captured if chunked else [1, 2]") == ListKind(REQUESTS)
    assert kind_of("[1, *range(2, rows, 2)]") == ListKind(REQUESTS)
    assert kind_of("range(1, tokens, 16)") == ListKind(TOKENS)


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("rows + tokens", 1),
        ("1 + (rows - tokens)", 6),
        ("rows < tokens", 1),
        ("max(rows, 3, tokens)", 14),
        ("rows if chunked else tokens", 22),
        ("tokens % rows", 10),
        ("align_up(tokens, rows)", 18),
        ("next_in(tokens, captured)", 1),
        ("[rows, tokens]", 8),
        ("[rows, *range(1, tokens, 2)]", 9),
        ("range(1, rows, tokens)", 16),
        ("rows in [tokens, 1]", 1),
        ("tokens // width == tokens", 1),
        ("pages + tokens // 2", 1),
        ("rows + ranks", 1),
    ],
)
def test_different_units_do_not_meet(text: str, column: int) -> None:
    error = refusal(text)
    assert error.code == errors.UNITS_DIFFER
    assert error.place.column == column


def test_the_message_names_both_units() -> None:
    assert "requests meets tokens/requests" in refusal("rows + width").message


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("chunked + 1", 1),
        ("1 + chunked", 5),
        ("rows and chunked", 1),
        ("not rows", 5),
        ("rows if rows else rows", 9),
        ("rows if chunked else true", 22),
        ("rows == true", 9),
        ("chunked < true", 1),
        ("captured + 1", 1),
        ("captured == captured", 1),
        ("max(rows)", 5),
        ("max(captured, 1)", 5),
        ("next_in(rows, rows)", 15),
        ("[chunked]", 2),
        ("[range(1, rows, 1)]", 2),
        ("range(1, chunked, 1)", 10),
        ("[b for b in rows]", 13),
        ("[b for b in captured if b]", 25),
        ("worker + 1", 1),
        ("worker < draft", 1),
        ("worker == speculation", 11),
        ("sum_ranks(chunked)", 11),
    ],
)
def test_integers_booleans_lists_and_enums_do_not_mix(text: str, column: int) -> None:
    expr = parse(text, at)
    with pytest.raises(ExpressionError) as caught:
        infer(resolve(expr, KINDS | {"draft": WORKER}), KINDS | {"draft": WORKER})
    assert caught.value.code == errors.WRONG_KIND
    assert caught.value.place.column == column


def test_an_unknown_name_is_told_the_nearest_one() -> None:
    error = refusal("rows + 2 * tokns")
    assert (error.code, error.place.column, error.place.width) == (errors.UNKNOWN_NAME, 12, 5)
    assert error.hint == "did you mean 'tokens'?"


def test_a_bound_element_is_known_only_inside_its_list() -> None:
    assert refusal("max([b for b in captured]) + b").place.column == 30
    assert refusal("[1 for b in [b]]").place.column == 14


@pytest.mark.parametrize(
    "text", ["worker == draft", "draft == worker", "worker in [draft]", "not worker != draft"]
)
def test_a_bare_name_beside_an_enum_is_its_value(text: str) -> None:
    resolved = resolve(parse(text, at), KINDS)
    assert Enumerant("worker", "draft", 1) in list(walk(resolved))
    assert infer(resolved, KINDS) == BOOLEAN


def test_membership_in_values_of_an_enum_names_each() -> None:
    resolved = resolve(parse("speculation in [eagle, ngram]", at), KINDS)
    codes = [node.code for node in walk(resolved) if isinstance(node, Enumerant)]
    assert codes == [1, 2]


def test_a_value_keeps_its_place() -> None:
    resolved = resolve(parse("chunked and worker == draft", at), KINDS)
    (value,) = (node for node in walk(resolved) if isinstance(node, Enumerant))
    assert value.place == at(22, 5)


def test_a_value_of_an_enum_wins_over_a_name_of_another_kind() -> None:
    kinds: dict[str, Kind] = {"worker": EnumKind("worker", ("rows", "b")), "rows": IntKind(TOKENS)}
    assert resolve(parse("worker == rows", at), kinds) == Comparison(
        "==", Name("worker"), Enumerant("worker", "rows", 0)
    )


def test_a_choice_between_enums_is_an_enum() -> None:
    kinds = KINDS | {"other": WORKER}
    resolved = resolve(parse("(worker if chunked else other) == draft", at), kinds)
    assert infer(resolved, kinds) == BOOLEAN


def test_two_parameters_of_one_enum_are_compared_as_they_are() -> None:
    kinds = KINDS | {"other": WORKER}
    expr = parse("worker == other", at)
    assert resolve(expr, kinds) == expr
    assert infer(expr, kinds) == BOOLEAN


def test_an_unknown_value_is_told_the_nearest_one() -> None:
    error = refusal("speculation == eagel")
    assert (error.code, error.place.column) == (errors.UNKNOWN_VALUE, 16)
    assert error.hint == "did you mean 'eagle'?"
    assert refusal("worker == xyz").hint == "known: draft, target"


def test_a_default_is_a_value_of_its_enum() -> None:
    assert enumerant(Name("eagle"), SPECULATION) == Enumerant("speculation", "eagle", 1)
    with pytest.raises(ExpressionError):
        enumerant(Name("draft"), SPECULATION)


@given(integer_expressions(FULL), boolean_expressions(FULL))
def test_well_typed_trees_are_accepted(amount: Expr, truth: Expr) -> None:
    assert isinstance(infer(amount, FULL.kinds), IntKind)
    assert isinstance(infer(truth, FULL.kinds), BoolKind)


@given(integer_expressions(FULL))
def test_resolving_twice_changes_nothing(expr: Expr) -> None:
    once = resolve(expr, FULL.kinds)
    assert once == expr
    assert resolve(once, FULL.kinds) == once
