"""Axes that begin as something over those that batches bring."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.bounds import derived, refusal
from support.small_specs import mode_text, small
from support.specs import Files
from ullage.expr.spell import spell

TRANSFORMS = (
    "double: {in_batch: true, requests: 2 * requests}",
    "pad: {requests: requests + 1}",
    "count: {raw: raw + 1}",
)


def engine(
    *pipeline: str, begins: str = "requests", own: str = "", limits: str = "", **given: str
) -> Files:
    mode = mode_text(live={"n": "1; cap"}, requests="n", tokens="n", pipeline=pipeline, **given)
    axes = (f"raw: {{begins_as: '{begins}'}}",)
    files = small(mode, axes=axes, transforms=TRANSFORMS, pipeline=own)
    files["eager.yaml"] += limits
    return files


def capacity(folder: Path, files: Files) -> str:
    limited = {**files, "eager.yaml": files["eager.yaml"] + "limits: {raw: 99}\n"}
    return spell(derived(folder, limited).capacities.of("eager_target", "raw").formula)


def test_it_is_what_the_sources_hold_whatever_pads(tmp_path: Path) -> None:
    assert capacity(tmp_path / "plain", engine("pad")) == "cap"
    assert capacity(tmp_path / "doubled", engine("double", "pad")) == "2 * cap"
    assert capacity(tmp_path / "counted", engine("double", "count")) == "2 * cap + 1"


def test_a_mode_may_bring_it_by_itself(tmp_path: Path) -> None:
    assert capacity(tmp_path, engine("pad", raw="3 * n")) == "3 * cap"


def test_nothing_is_derived_along_an_axis_that_nobody_asks_for(tmp_path: Path) -> None:
    found = derived(tmp_path, engine("pad")).capacities.by_target
    assert {each.target for each in found} == {"requests", "tokens"}


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (
            engine("double", raw="3 * n"),
            "error[U213]: mode 'decode' brings 'raw', but it begins anew after 'double', which is "
            "in the batch before load",
        ),
        (
            engine(begins="raw"),
            "what axis 'raw' begins as",
        ),
        (
            engine(own="[{transform: pad, modes: [decoed]}]"),
            "did you mean 'decode'?",
        ),
        (
            engine(own="[{transform: pad}]"),
            "error[U202]",
        ),
        (
            engine(own="[{transform: pad, mode: decode}]"),
            "error[U201]",
        ),
    ],
)
def test_what_cannot_be_is_told_where_it_stands(
    files: Files, expected: str, tmp_path: Path
) -> None:
    assert expected in refusal(tmp_path, files)


def test_a_transform_is_for_modes_that_the_runner_serves(tmp_path: Path) -> None:
    other = mode_text("whole", live={"n": "1; cap"}, requests="n", tokens="n")
    decode = mode_text(live={"n": "1; cap"}, requests="n", tokens="n")
    files = small(
        decode,
        other,
        transforms=TRANSFORMS[1:2],
        serves="[decode]",
        pipeline="[{transform: pad, modes: [whole]}]",
    )
    message = "error[U211]: runner 'eager' serves none of the modes that 'pad' is for"
    assert message in refusal(tmp_path, files)
