"""What transforms take over ranks is exchanged at once, as far as it can be."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from support.barrel import BARREL
from support.generated import generated_barrel, write_specs
from ullage.emit.model import EngineModel
from ullage.emit.padding import pad_function
from ullage.emit.scope import scope_of
from ullage.read import read


def padding_with(agree: str, folder: Path) -> list[str]:
    """The lines that pad a `serve` batch when the transform `agree` is the given one."""
    text = BARREL["transforms.yaml"]
    start, end = text.index("    let:"), text.index("  pad:")
    files = {**BARREL, "transforms.yaml": text[:start] + agree + text[end:]}
    resolved = read(write_specs(folder, "barrel", files))[1]
    engine = EngineModel(replace(generated_barrel()[0], resolved=resolved))
    (runner,) = engine.runners
    lines = pad_function(scope_of(runner, engine.mode("serve"))).lines
    return [line.strip() for line in lines if not line.startswith("#")]


@pytest.mark.parametrize(
    ("agree", "expected"),
    [
        (
            "    rows: max_ranks(rows)\n",
            [
                '(rows_,) = ranks.max_of(rows_, collective="agree")',
                "rows_ = (next_in(rows_, config.buckets))",
            ],
        ),
        (
            "    let: {all: sum_ranks(rows), most: max_ranks(rows + 1)}\n    rows: most + all\n",
            [
                'gathered = ranks.gather(rows_, rows_ + 1, collective="agree")',
                "all_ = sum(each[0] for each in gathered)",
                "most = max(each[1] for each in gathered)",
                "rows_ = (most + all_)",
            ],
        ),
        (
            "    let: {most: max_ranks(rows), spread: max_ranks(most - rows)}\n"
            "    rows: most + spread\n",
            [
                '(most,) = ranks.max_of(rows_, collective="agree")',
                '(spread,) = ranks.max_of(most - rows_, collective="agree")',
                "rows_ = (most + spread)",
            ],
        ),
        (
            '    let: {part: "cdiv(rows, 2)", both: sum_ranks(part) * 2}\n    rows: both + part\n',
            [
                "part = (cdiv(rows_, 2))",
                '(total_0,) = ranks.sum_of(part, collective="agree")',
                "both = (total_0 * 2)",
                "rows_ = (both + part)",
            ],
        ),
    ],
)
def test_everything_that_is_known_goes_into_one_exchange(
    agree: str, expected: list[str], tmp_path: Path
) -> None:
    lines = padding_with(agree, tmp_path)
    assert lines[1] == "if config.ranks > 1:"
    assert [line.replace("'", '"') for line in lines[2 : 2 + len(expected)]] == expected
