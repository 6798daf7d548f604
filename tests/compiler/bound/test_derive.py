"""What a capacity states: the branches that it needs, as short as they can be."""

from __future__ import annotations

from pathlib import Path

from support.bounds import derived
from support.small_specs import mode_text, small
from ullage.expr.spell import spell

WORKSPACE = "max(2 * blocks, {rows} * width + {rows})"


def test_a_branch_that_another_covers_goes_before_operands_of_the_other(tmp_path: Path) -> None:
    """The capture of a graph covers all of its batches, and they the blocks of the capture."""
    found = derived(
        tmp_path,
        small(
            mode_text(
                "capture",
                live={},
                requests="limit",
                tokens=WORKSPACE.format(rows="limit"),
            ),
            mode_text(
                "decode",
                live={"rows": "1; cap"},
                requests="min(rows, limit)",
                tokens=WORKSPACE.format(rows="min(rows, limit)"),
            ),
            parameters=(
                "cap: {type: int, range: [1, 64]}",
                "limit: {type: int, range: [1, 64]}",
                "width: {type: int, range: [1, 8]}",
                "blocks: {type: int, range: [1, 999]}",
            ),
            slots=("keys: {shape: [tokens], dtype: int64, source: batch.keys}",),
        ),
    )
    tokens = found.capacities.of("eager_target", "tokens")
    assert spell(tokens.formula) == "max(2 * blocks, limit * width + limit)"
    assert [each.mode for each in tokens.binding] == ["capture"]
    assert all(proof.tight and proof.sound for proof in found.certificate.proofs)


def test_what_would_be_refused_for_want_of_effort_is_looked_at_with_all_of_it(
    tmp_path: Path,
) -> None:
    """That this grows with rows takes z3 more steps than one claim among many is given."""
    found = derived(
        tmp_path,
        small(
            mode_text(
                live={"rows": "1; cap"}, requests="rows", tokens="rows * width - rows // step"
            ),
            parameters=(
                "cap: {type: int, range: [1, 8]}",
                "width: {type: int, range: [1, 9]}",
                "step: {type: int, range: [1, 9]}",
            ),
            slots=("keys: {shape: [tokens], dtype: int64, source: batch.keys}",),
        ),
    )
    tokens = found.capacities.of("eager_target", "tokens")
    assert spell(tokens.formula) == "cap * width - cap // step"
