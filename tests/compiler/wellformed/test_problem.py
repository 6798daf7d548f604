"""Nothing is compiled in which a divisor, a guarded name or a look-up can go wrong."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from support.bounds import refusal
from support.small_specs import SLOT, mode_text, small
from support.specs import Files

PARAMETERS = (
    "cap: {type: int, range: [1, 8]}",
    "zero: {type: int, range: [0, 8]}",
    "one: {type: int, range: [1, 8]}",
    "on: {type: bool}",
    "extra: {type: int, range: [1, 8], when: on}",
    "sizes: {type: list, range: [0, 8]}",
)
ROWS = {"requests": "1; cap"}


def spec(
    tokens: str = "1",
    *,
    live: dict[str, str] | None = None,
    where: tuple[str, ...] = (),
    when: str = "",
    definitions: tuple[str, ...] = (),
    constraints: tuple[str, ...] = (),
    transforms: tuple[str, ...] = (),
    slots: tuple[str, ...] = (SLOT,),
    parameters: tuple[str, ...] = (),
) -> Files:
    """A spec of one decode mode in which one expression is of interest."""
    mode = mode_text(
        live=live or ROWS,
        requests="requests",
        tokens=tokens,
        where=where,
        when=when,
        pipeline=["shift"] if transforms else (),
    )
    return small(
        mode,
        parameters=(*PARAMETERS, *parameters),
        definitions=definitions,
        constraints=constraints,
        transforms=transforms,
        slots=slots,
    )


def codes(folder: Path, files: Files) -> list[str]:
    """The codes of all errors, once each."""
    return sorted(set(re.findall(r"error\[(U\d+)\]", refusal(folder, files))))


@pytest.mark.parametrize(
    "tokens",
    [
        "zero // zero",
        "zero % zero",
        "align_up(zero, zero)",
        "cdiv(zero, zero)",
        "0 // zero",
        "requests // zero",
        "requests % zero",
        "align_up(requests, zero)",
        "cdiv(requests, zero)",
        "max([1, *range(2, 5, zero)])",
        "requests // (one - 1)",
        "requests // max(zero, 0)",
        "requests // min(one, zero)",
        "requests // zero if on else 1",
        "requests // zero if zero >= 0 else 1",
        "1 if zero >= 1 else requests // zero",
        "1 if requests // zero >= 1 and zero >= 1 else 2",
        "1 if zero >= 1 or requests // zero >= 1 else 2",
        "max([7 // size for size in sizes])",
        "max([size for size in sizes if 7 // size >= 1])",
        "max([size for size in sizes if size % zero >= 0])",
        "max(1, 7 // (requests - 1))",
    ],
)
def test_a_divisor_that_can_be_below_one_is_reported(tmp_path: Path, tokens: str) -> None:
    assert "U306" in codes(tmp_path, spec(tokens))


@pytest.mark.parametrize(
    "tokens",
    [
        "requests // one",
        "align_up(requests, max(zero, 1))",
        "requests // (zero + 1)",
        "requests // zero if zero >= 1 else 1",
        "1 if zero == 0 else requests // zero",
        "1 if zero >= 1 and requests // zero >= 1 else 2",
        "1 if zero < 1 or requests // zero >= 1 else 2",
        "1 if not zero >= 1 or cap <= 0 or requests // zero >= 1 else 2",
        "(requests // zero if on else 2) if zero >= 1 else 1",
        "7 // requests + 1",
    ],
)
def test_a_divisor_that_its_path_keeps_above_zero_is_accepted(tmp_path: Path, tokens: str) -> None:
    assert "U306" not in codes(tmp_path, spec(tokens))


@pytest.mark.parametrize("tokens", ["extra", "requests * extra if not on else 1", "min(extra, 4)"])
def test_a_guarded_name_outside_of_its_guard_is_reported(tmp_path: Path, tokens: str) -> None:
    assert "U305" in codes(tmp_path, spec(tokens))


@pytest.mark.parametrize(
    "tokens", ["extra if on else 1", "1 if not on else extra", "1 if not on or extra >= 2 else 2"]
)
def test_a_guarded_name_under_its_guard_is_accepted(tmp_path: Path, tokens: str) -> None:
    assert codes(tmp_path, spec(tokens)) == []


def test_the_guard_of_the_mode_counts_inside_of_it(tmp_path: Path) -> None:
    assert codes(tmp_path / "a", spec("extra", when="on")) == []
    assert "U305" in codes(tmp_path / "b", spec("extra", when="not on"))
    assert codes(tmp_path / "c", spec("requests // zero", when="zero >= 2")) == []


def test_the_guard_of_a_transform_counts_inside_of_it(tmp_path: Path) -> None:
    guarded = "shift: {when: on, tokens: tokens * extra}"
    assert codes(tmp_path / "a", spec(transforms=(guarded,))) == []
    assert "U305" in codes(tmp_path / "b", spec(transforms=("shift: {tokens: tokens * extra}",)))


def test_guards_of_definitions_are_guards_of_their_names(tmp_path: Path) -> None:
    guarded = "double: {value: extra * 2, when: on}"
    assert codes(tmp_path / "a", spec("double if on else 1", definitions=(guarded,))) == []
    assert "U305" in codes(tmp_path / "b", spec("double", definitions=(guarded,)))
    assert "U305" in codes(tmp_path / "c", spec(definitions=("double: extra * 2",)))
    assert codes(tmp_path / "d", spec(definitions=("double: extra * 2 if on else 1",))) == []


def test_constraints_are_known_when_divisors_are_checked(tmp_path: Path) -> None:
    assert codes(tmp_path, spec("requests // zero", constraints=('"zero >= 1"',))) == []


def test_divisors_in_ranges_of_live_variables_are_checked(tmp_path: Path) -> None:
    broken = ROWS | {"toks": "1; cap // zero + 1"}
    assert "U306" in codes(tmp_path / "a", spec(live=broken))
    earlier = ROWS | {"toks": "1; 8 // requests"}
    assert "U306" not in codes(tmp_path / "b", spec(live=earlier))


def test_divisors_in_couplings_are_checked(tmp_path: Path) -> None:
    assert "U306" in codes(tmp_path / "a", spec(where=("requests <= cap // zero",)))
    assert "U306" not in codes(tmp_path / "b", spec(where=("requests <= cap // one",)))


def test_guarded_names_in_couplings_are_checked(tmp_path: Path) -> None:
    assert "U305" in codes(tmp_path / "a", spec(where=("requests <= extra",)))
    assert codes(tmp_path / "b", spec(where=("requests <= extra",), when="on")) == []


def test_divisors_in_definitions_ranges_and_constraints_are_checked(tmp_path: Path) -> None:
    assert "U306" in codes(tmp_path / "a", spec(definitions=("share: cap // zero",)))
    assert "U306" in codes(tmp_path / "b", spec(constraints=('"cap // zero <= 3"',)))
    ranged = "wide: {type: int, range: [1, 8 // zero + 1]}"
    assert "U306" in codes(tmp_path / "c", spec("wide", parameters=(ranged,)))


def test_divisors_in_slots_are_checked(tmp_path: Path) -> None:
    broken = 'extra_ids: {shape: ["requests // zero"], dtype: int64, source: batch.extra}'
    assert "U306" in codes(tmp_path / "a", spec(slots=(SLOT, broken)))
    by_axis = 'extra_ids: {shape: ["8 // requests"], dtype: int64, source: batch.extra}'
    assert "U306" not in codes(tmp_path / "b", spec(slots=(SLOT, by_axis)))


def test_guarded_names_in_slots_are_checked(tmp_path: Path) -> None:
    shape = 'shape: ["requests * extra"], dtype: int64, source: batch.extra'
    assert "U305" in codes(tmp_path / "a", spec(slots=(SLOT, f"rows: {{{shape}}}")))
    assert (
        codes(tmp_path / "b", spec(slots=(SLOT, f"rows: {{{shape}, when: on}}"), when="on")) == []
    )


def test_next_in_must_find_an_element(tmp_path: Path) -> None:
    assert "U405" in codes(tmp_path / "a", spec("next_in(requests, sizes)"))
    enough = ('"cap <= max(sizes)"',)
    assert codes(tmp_path / "b", spec("next_in(requests, sizes)", constraints=enough)) == []
    only_there = "next_in(requests, sizes) if requests <= max(sizes) else 9"
    assert "U405" not in codes(tmp_path / "c", spec(only_there))


def test_next_in_must_find_an_element_of_a_filtered_list(tmp_path: Path) -> None:
    filtered = ('even: "[size for size in sizes if size % 2 == 0]"',)
    enough = ('"cap <= max(sizes)"',)
    tokens = "next_in(requests, even)"
    of_all = spec(tokens, definitions=filtered, constraints=enough)
    assert "U405" in codes(tmp_path / "a", of_all)
    of_even = spec(tokens, definitions=filtered, constraints=('"cap <= max(even)"',))
    assert codes(tmp_path / "b", of_even) == []


@pytest.mark.parametrize(
    "tokens",
    [
        "max([size for size in sizes if size > 2])",
        "min([size for size in sizes if size % 2 == 0])",
        "next_in(1, [size for size in sizes if size < 3])",
        "next_in(requests, [size for size in sizes if size >= cap])",
        "max([size for size in sizes if size > 2]) if max(sizes) > 1 else 1",
        "max([size for size in [1, cap] if size > 1])",
        "max([size for size in [2 * each for each in sizes] if size > 3])",
        "max([size for size in (sizes if on else [1, cap]) if size > 1])",
        "1 + (max([size for size in sizes if size > 2]) if on else 1)",
        "max([max([each for each in sizes if each > size]) for size in sizes])",
        "max(range(1, cap, 2))",
        "next_in(cap, [*range(1, cap, 2)])",
    ],
)
@pytest.mark.slow
def test_a_list_without_a_name_that_may_have_no_element_is_reported(
    tmp_path: Path, tokens: str
) -> None:
    assert "U405" in codes(tmp_path, spec(tokens))


@pytest.mark.parametrize(
    "tokens",
    [
        "max([size for size in sizes if size >= 0])",
        "max([size for size in sizes if size > 2]) if max(sizes) > 2 else 1",
        "min([size for size in sizes if size <= cap]) if min(sizes) <= cap else 1",
        "max([size for size in [1, cap] if size > 0])",
        "max([2 * size for size in sizes])",
        "max([size for size in [2 * each for each in sizes] if size > 3]) if max(sizes) > 1 else 1",
        "max([size for size in (sizes if on else [1, cap]) if on or size > 0])",
        "next_in(cap, [size for size in sizes if size > 2]) if max(sizes) > 8 - cap else 1",
        "next_in(2, [requests, requests + 1, requests + 2])",
        "max(even)",
        "max([1, *range(2, cap, 2)])",
        "max(range(1, cap, 2)) if cap > 1 else 1",
        "next_in(requests, [*range(1, cap, 1), cap])",
        "next_in(cap - cap % 2, [1, *range(2, cap + 1, 2)])",
    ],
)
def test_a_list_that_has_an_element_on_its_path_is_accepted(tmp_path: Path, tokens: str) -> None:
    even = ('even: "[size for size in sizes if size % 2 == 0]"',)
    large = ('"max(sizes) >= 8 or max(sizes) >= cap or cap <= 4"',)
    files = spec(tokens, definitions=even, constraints=large)
    assert "U405" not in codes(tmp_path, files)


def test_a_list_that_may_have_no_element_is_shown_with_one_that_has_none(tmp_path: Path) -> None:
    said = refusal(tmp_path / "a", spec("max([size for size in sizes if size % 2 == 0])"))
    assert "the list may have no element: [size for size in sizes if size % 2 == 0]" in said
    assert "for example where sizes = [1]\n" in said
    said = refusal(tmp_path / "b", spec("next_in(requests, [size for size in sizes if size > 2])"))
    assert "requests <= max([size for size in sizes if size > 2]) can be false" in said
    assert said.count("error[") == 1


@pytest.mark.parametrize("tokens", ["requests - cap", "zero - 1", "-requests", "1 - requests"])
def test_an_extent_that_can_be_negative_is_reported(tmp_path: Path, tokens: str) -> None:
    assert codes(tmp_path, spec(tokens)) == ["U408"]


@pytest.mark.parametrize("tokens", ["cap - requests", "requests - 1", "zero"])
def test_an_extent_that_can_be_zero_is_accepted(tmp_path: Path, tokens: str) -> None:
    assert codes(tmp_path, spec(tokens)) == []


@pytest.mark.parametrize("extent", ["-1", "zero - 1"])
def test_an_extent_that_is_no_axis_is_not_negative_either(tmp_path: Path, extent: str) -> None:
    slot = f"ids: {{shape: [requests, {extent}], dtype: int64, source: batch.ids}}"
    said = refusal(tmp_path, spec(slots=(slot,)))
    assert "error[U408]: the extent of ids can be negative\n" in said


def test_an_error_shows_an_example_and_where_it_is(tmp_path: Path) -> None:
    said = refusal(tmp_path, spec("requests // zero"))
    assert "divisor 'zero' can be below 1" in said
    assert re.search(r"mode_0\.yaml:\d+:\d+", said)
    assert "zero = 0" in said


def test_an_example_has_no_names_but_the_author_s(tmp_path: Path) -> None:
    workers = ("target: {doc: served}", "draft: {when: on, doc: proposes}")
    kinds = "kind: {type: enum, choices: [plain, odd]}"
    own = "wide: {type: int, range: [0, 8], per: worker}"
    mode = mode_text(
        live=ROWS | {"length": "per requests: 0; cap"},
        requests="requests",
        tokens="7 // max(1, wide) if kind == plain else 7 // (sum_requests(length) + wide)",
    )
    files = small(mode, parameters=(*PARAMETERS, kinds, own), workers=workers)
    said = refusal(tmp_path, files)
    hints = re.findall(r"hint: (.*)", said)
    assert hints == [
        "for example where on = true, kind = odd, wide_draft = 0, "
        "sum of length over the requests = 0",
        "for example where kind = odd, wide_target = 0, sum of length over the requests = 0",
    ]
    assert "divisor 'sum_requests(length) + wide_target' can be below 1" in said
    assert "@" not in said


def test_an_example_shows_lists_and_the_element_in_question(tmp_path: Path) -> None:
    said = refusal(tmp_path, spec("max([7 // size for size in sizes])"))
    assert "for example where sizes = [0], size = 0\n" in said


def test_all_errors_of_a_spec_are_reported_together(tmp_path: Path) -> None:
    files = spec("requests // zero + extra", where=("requests <= cap // zero",))
    assert {"U305", "U306"} <= set(codes(tmp_path, files))
    assert refusal(tmp_path / "again", files).count("error[U306]") == 2
