"""The small functions that generated loads, runners and configurations are made of."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import pytest
import torch

from ullage_runtime.arguments import Argument, configured
from ullage_runtime.checks import values_of
from ullage_runtime.configuration import Defaults, Problems, present
from ullage_runtime.debug import POISON_BYTE, poison_around
from ullage_runtime.errors import ConfigurationError, OutputError
from ullage_runtime.outputs import cut_to_live

PLACE = "specs/engine/engine.yaml:7"
POISON = int.from_bytes(bytes([POISON_BYTE]) * 8, "little")


class Policy(StrEnum):
    FIRST = "first"
    LONGEST = "longest"


KNOWN = (
    Argument("rows", int, PLACE, required=True),
    Argument("input", int, PLACE, keyword="input_"),
    Argument("policy", Policy, PLACE),
    Argument("buckets", tuple, PLACE),
    Argument("deep", bool, PLACE),
    Argument("pool_main", int, PLACE, base="pool", worker="main"),
    Argument("pool_draft", int, PLACE, base="pool", worker="draft"),
)


def refused(**arguments: object) -> str:
    with pytest.raises(ConfigurationError) as caught:
        configured(dict, {"rows": 3, **arguments}, KNOWN, PLACE)
    return str(caught.value)


def test_poison_spares_a_source_that_lies_in_the_slot() -> None:
    slot = torch.arange(1, 6)
    poison_around(slot, slot[:2])
    assert slot.tolist() == [1, 2, POISON, POISON, POISON]
    poison_around(slot, torch.tensor([3, 4]))
    assert set(slot.tolist()) == {POISON}


def test_values_are_those_of_the_first_present_source() -> None:
    sources = (None, torch.tensor([4, 2]), torch.tensor([9]))
    assert values_of("decode", "lengths", *sources, place=PLACE) == [4, 2]
    assert values_of("decode", "lengths", None, place=PLACE) == []


@dataclass(frozen=True)
class Output:
    logits: torch.Tensor
    hidden: torch.Tensor
    other: torch.Tensor


def test_outputs_are_cut_along_the_axis_that_they_follow() -> None:
    output = Output(torch.ones(4, 2), torch.ones(12), torch.ones(5))
    cut = cut_to_live(output, (3, 4), (9, 12), mode="decode", place=PLACE)
    assert (cut.logits.shape, cut.hidden.shape) == ((3, 2), (9,))
    assert cut.other is not output.other or cut.other.shape == (5,)
    assert cut_to_live(output, (4, 4), (12, 12), mode="decode", place=PLACE) is output


def test_an_output_of_two_axes_keeps_the_live_rows_of_the_longer() -> None:
    cut = cut_to_live(torch.ones(8), (3, 8), (6, 8), mode="decode", place=PLACE)
    assert cut.shape == (6,)


@pytest.mark.parametrize("padded", [8, 3])
def test_an_output_without_the_rows_of_its_batch_is_refused(padded: int) -> None:
    axes = ((3, padded), (3, padded))
    with pytest.raises(OutputError) as caught:
        cut_to_live(torch.ones(7, 2), *axes, mode="decode", place=PLACE)
    assert caught.value.code == "U736"
    expected = " or ".join(map(str, sorted({3, padded})))
    assert f"has the shape (7, 2), but a tensor of the batch has {expected} rows" in str(
        caught.value
    )


@pytest.mark.parametrize(
    "output",
    [
        torch.ones(3),
        torch.tensor(2.5),
        "hidden",
        {"loss": torch.tensor(1.5), "logits": torch.ones(3, 2)},
        (torch.ones(1), torch.ones(8)),
    ],
    ids=str,
)
def test_an_output_may_hold_other_things_beside_its_rows(output: object) -> None:
    cut_to_live(output, (3, 8), mode="decode", place=PLACE)


def test_arguments_come_out_in_their_types() -> None:
    given = {"rows": 3, "input": 4, "policy": "longest", "buckets": [1, 2], "deep": None}
    assert configured(dict, given, KNOWN, PLACE) == {
        "rows": 3,
        "input_": 4,
        "policy": Policy.LONGEST,
        "buckets": (1, 2),
    }


@pytest.mark.parametrize(
    ("arguments", "main", "draft"),
    [
        ({"pool": 5}, 5, 5),
        ({"--pool": 5, "pool-draft": 6}, 5, 6),
        ({"pool_draft": 6, "pool": 5}, 5, 6),
        ({"pool": {"draft": 6, "main": None}}, None, 6),
        ({"pool": None, "pool_main": 5}, 5, None),
    ],
)
def test_what_each_worker_has_is_given_for_one_or_for_all(
    arguments: dict[str, object], main: int | None, draft: int | None
) -> None:
    found = configured(dict, {"rows": 3, **arguments}, KNOWN, PLACE)
    assert (found.get("pool_main"), found.get("pool_draft")) == (main, draft)


def without_draft(**values: int) -> dict[str, int]:
    problems = Problems()
    problems.unset("pool_draft", values.get("pool_draft"), "drafts", PLACE)
    problems.integer("rows", values["rows"], 1, 8, PLACE)
    problems.raise_if_any()
    return values


def test_what_all_workers_are_given_is_not_for_one_that_does_not_exist() -> None:
    given = {"rows": 3, "pool": 5}
    assert configured(without_draft, given, KNOWN, PLACE) == {"rows": 3, "pool_main": 5}
    with pytest.raises(ConfigurationError, match="pool_draft is 6, but has no meaning unless"):
        configured(without_draft, {**given, "pool_draft": 6}, KNOWN, PLACE)
    with pytest.raises(ConfigurationError, match="1 problem") as caught:
        configured(without_draft, {"rows": 9, "pool": 5}, KNOWN, PLACE)
    assert [each.parameter for each in caught.value.problems] == ["rows"]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"rows": None}, "rows is None, but it has no default, so it must be given"),
        ({"rows": "3"}, "rows is '3', but must be an integer"),
        ({"deep": 1}, "deep is 1, but must be True or False"),
        ({"policy": "last"}, "policy is 'last', but must be one of 'first', 'longest'"),
        ({"buckets": [1, "2"]}, "must be a list of integers"),
        ({"buckets": 4}, "buckets is 4, but must be a list of integers"),
        (
            {"polcy": "first"},
            "U703: polcy is 'first', but there is no such parameter; did you mean",
        ),
        ({"--bucket-s": [1]}, "there is no such parameter; did you mean '--buckets'?"),
        ({"--deep": True, "deep": True}, "deep is True, but it is given as '--deep' too"),
        ({"pool": "3"}, "pool is '3', but must be an integer"),
        ({"pool": {"verify": 3}}, "pool['verify'] is 3, but there is no such worker"),
        ({"pool": {"main": 3}, "pool-main": 4}, "it is given as \"pool['main']\" too"),
    ],
)
def test_other_arguments_are_refused(arguments: dict[str, object], expected: str) -> None:
    message = refused(**arguments)
    assert expected in message
    assert PLACE in message


def test_all_wrong_arguments_are_reported_at_once() -> None:
    assert "2 problems" in refused(rows=True, deep="yes")


def test_a_guarded_value_is_there_or_its_use_is_an_error() -> None:
    assert present(0) == 0
    with pytest.raises(ValueError, match="no meaning in this configuration"):
        present(None)


def test_a_check_over_a_broken_parameter_can_be_skipped() -> None:
    problems = Problems()
    problems.integer("rows", 0, 1, 8, PLACE)
    assert problems.passed("tokens")
    assert not problems.passed("tokens", "rows")


def test_a_check_without_a_value_is_reported_only_where_nothing_else_is_wrong() -> None:
    problems = Problems()
    problems.attempt(lambda: 1 // 0 == 1)
    with pytest.raises(ConfigurationError, match="has no value: integer division"):
        problems.raise_if_any()
    problems = Problems()
    problems.attempt(lambda: 1 // 0 == 1)
    problems.integer("rows", 0, 1, 8, PLACE)
    with pytest.raises(ConfigurationError) as caught:
        problems.raise_if_any()
    assert [each.parameter for each in caught.value.problems] == ["rows"]


def test_a_default_without_a_value_gives_way_to_what_is_wrong() -> None:
    defaults = Defaults()
    assert defaults.value("window", lambda: 4 // 2, 9, PLACE) == 2
    defaults.check(lambda: None)
    assert defaults.value("window", lambda: 4 // 0, 9, PLACE) == 9
    with pytest.raises(ConfigurationError, match="window is None, but its default"):
        defaults.check(lambda: None)
