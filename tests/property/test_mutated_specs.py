"""Every mistake in a spec is caught: by an error, or by a capacity or verdict that changes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from support.pump import PUMP
from support.specs import Files, edited, write_spec
from ullage.analyse import analyse
from ullage.analysis import Analysis
from ullage.audit.decide import audit
from ullage.diagnostics.diagnostic import DiagnosticError
from ullage.expr.spell import spell

ENGINE, TRANSFORMS, SLOTS = "engine.yaml", "transforms.yaml", "slots.yaml"
DECODE, IDLE, EXTEND, PROPOSE = (
    f"modes/{each}.yaml" for each in ("decode", "idle", "extend", "propose")
)
Change = tuple[str, str, str]
"""A file, a text in it, and what stands there instead."""


@dataclass(frozen=True, slots=True)
class Found:
    """What the compiler makes of a spec: its errors, or the capacities that it certifies."""

    codes: frozenset[str]
    capacities: Mapping[str, str]
    unproven: tuple[str, ...]


def mutated(*changes: Change) -> Files:
    files: Files = PUMP
    for path, old, new in changes:
        files = edited(path, (old, new), files=files)
    return files


def found(folder: Path, files: Files) -> Found:
    try:
        analysis = analyse(write_spec(folder, files))
    except DiagnosticError as error:
        return Found(frozenset(each.code for each in error.diagnostics), {}, ())
    capacities = {
        f"{each.runner}.{each.target}": spell(each.formula)
        for each in analysis.capacities.by_target
    }
    unproven = tuple(f"{each.runner}.{each.target}" for each in analysis.certificate.unproven)
    return Found(frozenset(), capacities, unproven)


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Found:
    """What is found in the spec as it should be."""
    return found(tmp_path_factory.mktemp("sound"), PUMP)


def test_the_spec_itself_is_certified(sound: Found) -> None:
    assert sound.codes == frozenset()
    assert sound.unproven == ()
    assert sound.capacities["eager_draft.requests"] == (
        "align_up(max_requests * topk, attn_tp_size) if sync else max_requests * topk"
    )


REFUSED: dict[str, tuple[tuple[Change, ...], str]] = {
    "a rank leaves out a collective": (
        ((DECODE, "pipeline:\n  - sync_rows(per_request=width)\n", "pipeline: []\n"),),
        "U609",
    ),
    "ranks run different collectives": (
        (
            (
                TRANSFORMS,
                "collective: {op: all_gather_max, group: dp}\n    requests",
                "collective: {op: all_gather_max, group: tp}\n    requests",
            ),
            (IDLE, "sync_rows(per_request=width)", "sync_tokens"),
        ),
        "U609",
    ),
    "rows in place of tokens": (
        (((DECODE, "tokens: requests * width", "tokens: requests")),),
        "U304",
    ),
    "tokens in place of rows": (
        (
            (
                TRANSFORMS,
                "{requests: requests * topk, tokens: tokens * topk}",
                "{requests: tokens * topk, tokens: tokens * topk}",
            ),
        ),
        "U304",
    ),
    "a range in another unit": (
        ((EXTEND, "tokens: {range: [1, limit]", "tokens: {range: [1, max_requests]"),),
        "U304",
    ),
    "a coupling in two units": (
        ((EXTEND, "requests * one <= tokens", "requests <= tokens"),),
        "U304",
    ),
    "an argument that is missing": (
        ((PROPOSE, "sync_rows(per_request=one)", "sync_rows"),),
        "U311",
    ),
    "a transform that does not exist": ((((PROPOSE, "- expand_topk", "- expand_top")),), "U211"),
    "a padded read without contents": (
        ((SLOTS, "lengths: {rows: padded, fill: 1}", "lengths: {rows: padded}"),),
        "U602",
    ),
    "readers that need different contents": (
        (
            (
                SLOTS,
                "masker: {reads: {lengths: {rows: padded, range: [1, 2^20]}}}",
                "masker: {reads: {lengths: {rows: padded, fill: 0}}}",
            ),
        ),
        "U601",
    ),
    "a fill outside of what another reader takes": (
        (
            (
                SLOTS,
                "planner: {reads: {lengths: {rows: padded, fill: 1}}}",
                "planner: {reads: {lengths: {rows: padded, fill: 0}}}",
            ),
        ),
        "U601",
    ),
    "a dtype too narrow for its values": (
        ((SLOTS, "dtype: int32, source: batch.lengths", "dtype: int16, source: batch.lengths"),),
        "U603",
    ),
    "a mode without its guard": ((((PROPOSE, "when: worker == draft\n", "")),), "U305"),
    "a parameter without its guard": (
        ((ENGINE, "width: draft_tokens if speculative else one", "width: draft_tokens"),),
        "U305",
    ),
    "a worker that is always there": (
        (
            (
                ENGINE,
                "draft: {when: speculative, doc: the model that proposes tokens}",
                "draft: {doc: the model that proposes tokens}",
            ),
        ),
        "U305",
    ),
    "a constraint that kept a divisor above zero": (
        (
            (
                ENGINE,
                "  - that: tp_size % dp_size == 0\n    else: every data-parallel rank has as many "
                "tensor-parallel ones\n",
                "",
            ),
        ),
        "U306",
    ),
    "a range that lets a divisor be zero": (
        ((ENGINE, "dp_size: {type: int, range: [1, 16]", "dp_size: {type: int, range: [0, 16]"),),
        "U306",
    ),
    "an extent that can be negative": (
        ((DECODE, "tokens: requests * width", "tokens: requests * width - one * max_requests"),),
        "U408",
    ),
    "fewer rows than a batch brings": (
        ((DECODE, "tokens: requests * width", "tokens: requests * one"),),
        "U411",
    ),
    "an extent without a direction": (
        (
            (
                DECODE,
                "tokens: requests * width",
                "tokens: requests * width + requests * width % 7",
            ),
        ),
        "U402",
    ),
    "a list of peers that names nobody": (
        (((IDLE, "peers: [decode]", "peers: [decodes]")),),
        "U211",
    ),
}


LATE = ("U402", "U601", "U603")
"""Errors that are found after all capacities were derived, or some."""


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow if code in LATE else ())
        for name, (_, code) in REFUSED.items()
    ],
)
@pytest.mark.slow
def test_a_mistake_is_an_error(name: str, tmp_path: Path) -> None:
    changes, code = REFUSED[name]
    codes = found(tmp_path, mutated(*changes)).codes
    assert any(each.startswith(code) for each in codes), codes


CHANGED: dict[str, tuple[tuple[Change, ...], frozenset[str]]] = {
    "an expansion is dropped": (
        ((PROPOSE, "  - expand_topk\n", ""),),
        frozenset({"eager_draft.requests", "eager_draft.tokens"}),
    ),
    "transforms change places": (
        (
            (
                PROPOSE,
                "  - expand_topk\n  - sync_rows(per_request=one)\n",
                "  - sync_rows(per_request=one)\n  - expand_topk\n",
            ),
        ),
        frozenset({"eager_draft.requests", "eager_draft.tokens"}),
    ),
    "an alignment is dropped": (
        (
            (
                TRANSFORMS,
                "sync_tokens:\n    when: sync\n    collective: {op: all_gather_max, group: dp}\n"
                "    tokens: max_ranks(align_up(tokens, attn_tp_size))",
                "sync_tokens:\n    when: sync\n    collective: {op: all_gather_max, group: dp}\n"
                "    tokens: max_ranks(tokens)",
            ),
        ),
        frozenset({"eager_target.tokens", "eager_draft.tokens"}),
    ),
    "an alignment is another": (
        (
            (
                TRANSFORMS,
                "requests: max_ranks(align_up(tokens, attn_tp_size) // per_request)",
                "requests: max_ranks(align_up(tokens, tp_size) // per_request)",
            ),
        ),
        frozenset({"eager_target.requests", "eager_draft.requests"}),
    ),
    "a transform loses its guard": (
        ((TRANSFORMS, "sync_rows:\n    when: sync\n", "sync_rows:\n"),),
        frozenset(
            {
                "eager_target.requests",
                "eager_draft.requests",
                "eager_target.tokens",
                "eager_draft.tokens",
            }
        ),
    ),
    "a coupling is loosened": (
        ((EXTEND, "  where:\n    - requests * one <= tokens\n", ""),),
        frozenset({"eager_target.starts.0", "eager_draft.starts.0"}),
    ),
    "a range is loosened": (
        ((EXTEND, "range: [1, limit]", "range: [1, pool]"),),
        frozenset(
            {
                "eager_target.tokens",
                "eager_draft.tokens",
                "eager_target.starts.0",
                "eager_draft.starts.0",
            }
        ),
    ),
    "a limit is loosened": (
        ((ENGINE, "limit: min(chunk, pool)", "limit: max(chunk, pool)"),),
        frozenset({"eager_target.starts.0", "eager_draft.starts.0"}),
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CHANGED)
def test_a_mistake_that_is_no_error_changes_the_capacities_it_concerns(
    name: str, tmp_path: Path, sound: Found
) -> None:
    changes, targets = CHANGED[name]
    other = found(tmp_path, mutated(*changes))
    assert other.codes == frozenset()
    changed = {
        target
        for target, formula in other.capacities.items()
        if sound.capacities[target] != formula
    }
    assert targets <= changed, other.capacities
    assert not changed - targets - _MAY_CHANGE_TOO, changed


_MAY_CHANGE_TOO = frozenset(
    {"eager_target.tokens", "eager_draft.tokens", "eager_target.starts.0", "eager_draft.starts.0"}
)
"""Definitions of one worker are written into the formulas of all modes."""

ROWS = """\
  - runner: eager
    worker: draft
    axis: requests
    formula: padded // one
    expect: proved
"""

AUDITED: dict[str, tuple[tuple[Change, ...], str]] = {
    "as it is": ((), "proved"),
    "an expansion is dropped": (((PROPOSE, "  - expand_topk\n", ""),), "wastes"),
    "a larger alignment": (
        (
            (
                TRANSFORMS,
                "requests: max_ranks(align_up(tokens, attn_tp_size) // per_request)",
                "requests: max_ranks(align_up(tokens, tp_size) // per_request)",
            ),
        ),
        "overflows",
    ),
    "a transform loses its guard": (
        ((TRANSFORMS, "sync_rows:\n    when: sync\n", "sync_rows:\n"),),
        "overflows",
    ),
    "an expansion is done twice": (
        ((PROPOSE, "  - expand_topk\n", "  - expand_topk\n  - expand_topk\n"),),
        "overflows",
    ),
}


def audited(folder: Path, files: Files) -> tuple[str, tuple[str, ...]]:
    """The verdict on the only formula that is stated, and the codes of unmet expectations."""
    head = files["audits/stated.yaml"].split("formulas:")[0]
    stated = {**files, "audits/stated.yaml": f"{head}formulas:\n{ROWS}"}
    analysis: Analysis = analyse(write_spec(folder, stated))
    report = audit(analysis)
    (formula,) = report.formulas
    return formula.overall, tuple(each.code for each in report.diagnostics)


@pytest.mark.slow
@pytest.mark.parametrize("name", AUDITED)
def test_a_mistake_changes_the_verdict_on_what_the_engine_states(name: str, tmp_path: Path) -> None:
    changes, verdict = AUDITED[name]
    overall, codes = audited(tmp_path, mutated(*changes))
    assert overall == verdict
    assert codes == (("U801",) if verdict == "overflows" else ())


@pytest.mark.slow
def test_a_reader_that_is_dropped_is_missed_and_its_tail_filled_all_the_same(
    tmp_path: Path,
) -> None:
    before = analyse(write_spec(tmp_path / "before", PUMP))
    without = mutated(
        ("runners/eager.yaml", "planner, masker, ", ""),
    )
    after = analyse(write_spec(tmp_path / "after", without))
    assert tail(before) is not None
    assert tail(after) == tail(before)
    assert {each.code for each in after.warnings} - {each.code for each in before.warnings} == {
        "U611"
    }


def tail(analysis: Analysis) -> str | None:
    """What the tail of `lengths` is filled with in decode."""
    runner = next(each for each in analysis.plan.runners if each.name == "eager_target")
    slot = next(each for each in runner.slots if each.name == "lengths")
    fill = slot.tails["decode"].fill
    return None if fill is None else spell(fill)
