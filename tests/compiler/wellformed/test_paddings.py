"""A pipeline never leaves fewer rows than a batch brings."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.bounds import refusal
from support.small_specs import mode_text, small
from support.specs import Files, write_spec
from ullage.analyse import analyse

PARAMETERS = (
    "cap: {type: int, range: [1, 64]}",
    "width: {type: int, range: [1, 4]}",
    "sizes: {type: list, range: [1, 64], default: [64]}",
)


def padded(tokens: str) -> Files:
    """Batches of up to `cap` requests of `width` tokens, whose tokens a transform pads."""
    mode = mode_text(
        live={"requests": "1; min(cap, max(sizes))"},
        requests="requests",
        tokens="requests * width",
        pipeline=["pad"],
    )
    return small(mode, parameters=PARAMETERS, transforms=(f"pad: {{tokens: '{tokens}'}}",))


@pytest.mark.parametrize(
    ("tokens", "example"),
    [
        ("tokens // 8 * 8", "requests = 1"),
        ("next_in(requests, sizes)", "requests = 1"),
        ("tokens - width", "requests = 1"),
    ],
)
def test_fewer_rows_than_a_batch_brings_are_refused_with_a_batch(
    tokens: str, example: str, tmp_path: Path
) -> None:
    said = refusal(tmp_path, padded(tokens))
    assert "error[U411]: batches of mode 'decode' end with tokens = " in said
    assert "can be less than the requests * width that they bring" in said
    assert "hint: for example where " in said
    assert example in said


@pytest.mark.parametrize(
    "tokens",
    ["tokens", "align_up(tokens, 8)", "next_in(requests, sizes) * width", "max(tokens, width)"],
)
def test_as_many_rows_or_more_are_right(tokens: str, tmp_path: Path) -> None:
    assert analyse(write_spec(tmp_path, padded(tokens))).warnings == ()
