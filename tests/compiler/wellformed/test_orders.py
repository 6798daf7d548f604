"""Two transforms that do not commute stand in the order that is declared."""

from __future__ import annotations

from pathlib import Path

from support.bounds import refusal
from support.small_specs import mode_text, small
from support.specs import Files

PARAMETERS = (
    "cap: {type: int, range: [1, 4]}",
    "step: {type: int, range: [1, 3]}",
    "dp: {type: int, range: [1, 2]}",
)
TRANSFORMS = (
    "double: {tokens: 2 * tokens}",
    'align: {after: [double], tokens: "align_up(tokens, step)"}',
    "rows: {after: [double], requests: requests + 1}",
    "sync: {after: [align], collective: {op: all_gather_max, group: dp}, "
    "requests: max_ranks(requests)}",
)


def engine(*pipeline: str) -> Files:
    mode = mode_text(live={"n": "1; cap"}, requests="n", tokens="n", pipeline=pipeline)
    return small(mode, parameters=PARAMETERS, transforms=TRANSFORMS, ranks="dp")


def test_both_orders_are_shown_with_an_example(tmp_path: Path) -> None:
    found = refusal(tmp_path, engine("align", "double"))
    assert (
        "error[U621]: mode 'decode' runs 'align' before 'double', which it has to follow: tokens "
        "is 2 * align_up(tokens, step) here, and align_up(2 * tokens, step) in the order "
        "'double', 'align'" in found
    )
    assert "put 'align' behind 'double'; for example where step = 2, tokens = 1" in found
    assert "'double' stands here" in found


def test_the_declared_order_is_right(tmp_path: Path) -> None:
    assert refusal(tmp_path, engine("double", "align", "rows", "sync")) == ""


def test_what_commutes_may_stand_either_way(tmp_path: Path) -> None:
    assert refusal(tmp_path, engine("rows", "double")) == ""


def test_what_is_taken_over_ranks_stands_as_declared(tmp_path: Path) -> None:
    found = refusal(tmp_path, engine("sync", "align"))
    assert "runs 'sync' before 'align', which it has to follow" in found


def test_a_runners_own_transforms_stand_behind_those_of_the_mode(tmp_path: Path) -> None:
    files = engine("align")
    files["eager.yaml"] += "pipeline: [double]\n"
    assert "runs 'align' before 'double'" in refusal(tmp_path, files)


SPLIT = (
    "bucket: {requests: 'next_in(raw, sizes)', tokens: 'next_in(raw, sizes)'}",
    "halve: {after: [bucket], second: tokens - tokens // 2}",
    "sync: {after: [double], collective: {op: all_gather, group: dp}, raw: max_ranks(requests)}",
    "double: {requests: 2 * requests}",
)


def split(pipeline: str, *of_mode: str) -> Files:
    mode = mode_text(live={"n": "1; cap"}, requests="n", tokens="n", pipeline=of_mode)
    sizes = "sizes: {type: list, range: [1, 4]}"
    return small(
        mode,
        parameters=(*PARAMETERS, sizes),
        constraints=("2 * cap <= max(sizes)",),
        transforms=SPLIT,
        axes=("raw: {begins_as: requests}", "second: {begins_as: 0}"),
        ranks="dp",
        pipeline=pipeline,
    )


def test_a_split_is_of_the_rows_that_are_computed(tmp_path: Path) -> None:
    found = refusal(tmp_path / "wrong", split("[halve, bucket]", "sync"))
    assert (
        "error[U621]: mode 'decode' runs 'halve' before 'bucket', which it has to follow: second "
        "is tokens - tokens // 2 here, and next_in(raw, sizes) - next_in(raw, sizes) // 2 in the "
        "order 'bucket', 'halve'" in found
    )
    assert refusal(tmp_path / "right", split("[bucket, halve]", "sync")) == ""


def test_a_split_for_some_modes_is_ordered_in_these(tmp_path: Path) -> None:
    found = refusal(tmp_path, split("[{transform: halve, modes: [decode]}, bucket]", "sync"))
    assert "mode 'decode' runs 'halve' before 'bucket'" in found


def test_what_ranks_gather_is_gathered_of_all_branches(tmp_path: Path) -> None:
    found = refusal(tmp_path, split("[bucket]", "sync", "double"))
    assert "mode 'decode' runs 'sync' before 'double', which it has to follow: raw is " in found
    assert "max_ranks(requests) here, and max_ranks(2 * requests) in the order" in found


def test_what_is_followed_exists(tmp_path: Path) -> None:
    files = engine()
    files["engine.yaml"] = files["engine.yaml"].replace("after: [double]", "after: [duoble]", 1)
    assert "did you mean 'double'?" in refusal(tmp_path, files)
