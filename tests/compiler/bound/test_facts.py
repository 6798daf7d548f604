"""What is left of conditions on facts where the engine may answer as it likes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from support.bounds import read
from support.sluice import SLUICE
from support.specs import edited, resolved
from ullage.bound.eligibility import without_facts
from ullage.expr.spell import spell

MANY = [f"fact_{count}" for count in range(24)]


def left(folder: Path, *conditions: str) -> list[str]:
    """What conditions on the facts `first`, `other` and many more leave to say of batches."""
    facts = ", ".join(f"{name}: it is so" for name in ("first", "other", *MANY))
    files = edited(
        "runners/decode_graph.yaml", ("exclusive: true", f"facts: {{{facts}}}"), files=SLUICE
    )
    runner = next(
        each for each in resolved(folder, files).spec.runners if each.name == "decode_graph"
    )
    asking = replace(runner, accepts=tuple(map(read, conditions)))
    return [spell(each) for each in without_facts(asking, "decode")]


@pytest.mark.parametrize(
    ("conditions", "expected"),
    [
        (["not first"], []),
        (["requests <= 4", "not first"], ["requests <= 4"]),
        (["requests <= 4 or first"], []),
        (["requests <= 4 and first"], ["requests <= 4"]),
        (["requests <= 4 or first", "not first"], ["requests <= 4"]),
    ],
)
def test_conditions_that_ask_the_same_facts_are_met_by_the_same_answers(
    tmp_path: Path, conditions: list[str], expected: list[str]
) -> None:
    assert left(tmp_path, *conditions) == expected


def test_facts_that_others_link_are_answered_together(tmp_path: Path) -> None:
    linked = ("not first or tokens <= 3", "first or other", "not other or tokens <= 5")
    (found,) = left(tmp_path, *linked)
    assert "tokens <= 3" in found
    assert "tokens <= 5" in found


def test_facts_that_no_condition_asks_together_are_answered_apart(tmp_path: Path) -> None:
    apart = [f"requests <= {count} and {name}" for count, name in enumerate(MANY, 1)]
    assert left(tmp_path, *apart) == [f"requests <= {count}" for count in range(1, len(MANY) + 1)]
