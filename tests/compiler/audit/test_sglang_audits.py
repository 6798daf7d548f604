"""The audits of SGLang's rules: each comes out as expected, for reasons that hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from support.audits import Audited
from ullage.audit.model import Counterexample, FormulaReport, ModeVerdict
from ullage.audit.stated import Question, questions
from ullage.bound.problem import ModeProblem, Problem
from ullage.bound.relations import relations_of
from ullage.configuration.values import complete
from ullage.expr.evaluate import evaluate_boolean, evaluate_integer
from ullage.expr.spell import spell
from ullage.expr.tree import TRUE, Expr, free_names
from ullage.prove.checker import Checker
from ullage.prove.solver import Solver

pytestmark = pytest.mark.slow

SHARES = "attention_takes_shares and not require_mlp_sync"
"""Where the tokens of prompts are aligned without MLP-sync."""
PROMPTS = {"extend", "mixed", "split_prefill"}


@dataclass(frozen=True, slots=True)
class Decided:
    """A verdict with its formula, its mode, and what the formula is held against.

    `extent` is what is proved to fit, `attained` what a batch that does not fit comes to.
    """

    report: FormulaReport
    mode: ModeProblem
    verdict: ModeVerdict
    extent: Expr
    attained: Expr

    @property
    def where(self) -> tuple[str, str, str, str]:
        """What names it in a message."""
        return self.report.audit, self.report.runner, self.report.target, self.mode.name


@pytest.fixture(scope="module")
def asked(sglang: Audited) -> Sequence[Question]:
    """What the formulas of the report are compared with, in its order."""
    return questions(sglang.analysis, Solver(sglang.analysis.problem.domain))


@pytest.fixture(scope="module")
def verdicts(sglang: Audited, asked: Sequence[Question]) -> list[Decided]:
    """All verdicts, formula by formula."""
    modes = {
        (runner.name, mode.name): mode
        for runner in sglang.analysis.problem.runners
        for mode in runner.modes
    }
    return [
        Decided(
            report,
            modes[report.runner, verdict.mode],
            verdict,
            question.extents[verdict.mode],
            question.attained[verdict.mode],
        )
        for question, report in zip(asked, sglang.report.formulas, strict=True)
        for verdict in report.modes
    ]


def test_a_formula_for_all_configurations_is_decided_for_all_modes(sglang: Audited) -> None:
    runners = {runner.name: runner for runner in sglang.analysis.problem.runners}
    for report in sglang.report.formulas:
        if report.when == TRUE:
            decided = [verdict.mode for verdict in report.modes]
            assert decided == [mode.name for mode in runners[report.runner].modes]


def causes(found: Audited, audit_name: str, runner: str, axis: str, mode: str) -> list[str]:
    """What has to be on for each counterexample, in one line each."""
    examples = found.formula(audit_name, runner, axis).of(mode).counterexamples
    return [" and ".join((*each.guards, *each.raised)) for each in examples]


def first(found: Audited, audit_name: str, runner: str, axis: str, mode: str) -> Counterexample:
    return found.formula(audit_name, runner, axis).of(mode).counterexamples[0]


def test_all_audits_come_out_as_expected(sglang: Audited) -> None:
    stated = {each.name for each in sglang.analysis.resolved.spec.audits}
    assert {each.audit for each in sglang.report.formulas} == stated
    assert sglang.report.diagnostics == ()


def test_every_mode_is_decided(verdicts: list[Decided]) -> None:
    for each in verdicts:
        assert each.verdict.verdict != "undecided", each.where


def test_every_cause_is_found_where_other_ranks_play_no_part(verdicts: list[Decided]) -> None:
    """Rounds in which other ranks bring different batches are only known to be no larger."""
    for each in verdicts:
        standing_in = {live.name for live in each.mode.live if live.origin == "ranks"}
        if not free_names(each.extent) & standing_in:
            assert each.verdict.complete, each.where


def test_every_counterexample_is_legal_and_overflows(
    sglang: Audited, verdicts: list[Decided]
) -> None:
    for each in verdicts:
        for example in each.verdict.counterexamples:
            values = complete(sglang.analysis.resolved, dict(example.parameters))
            named = {live.label: live.name for live in each.mode.live}
            batch = {**values, **{named[label]: value for label, value in example.live.items()}}
            relations = (relation.claim for relation in relations_of(each.mode))
            claims = (each.mode.guard, each.report.when, *relations)
            other = named.values() - batch.keys()  # ranks that have no part in the extent
            known = [claim for claim in claims if not free_names(claim) & other]
            assert all(evaluate_boolean(claim, batch) for claim in known)
            assert evaluate_integer(each.attained, batch) == example.extent
            assert evaluate_integer(each.report.formula, batch) == example.stated < example.extent


def test_every_counterexample_is_small_and_shown_to_be_the_smallest(
    verdicts: list[Decided],
) -> None:
    for each in verdicts:
        for example in each.verdict.counterexamples:
            assert example.minimal
            assert example.size <= 12
            assert example.configuration.items() <= example.parameters.items()


def test_every_proof_stands_before_the_checker(sglang: Audited, verdicts: list[Decided]) -> None:
    checker = Checker(Solver(sglang.analysis.problem.domain))
    for each in verdicts:
        if each.verdict.verdict == "proved" and each.report.within is None:
            assert each.verdict.proof is not None
            relations = (relation.claim for relation in relations_of(each.mode))
            given = (each.mode.guard, each.report.when, *relations)
            claim = (each.extent, each.report.formula)
            assert checker.holds(each.verdict.proof, claim, given), each.where


def test_what_is_within_the_capacities_is_proved_of_amounts_alone(
    sglang: Audited, asked: Sequence[Question]
) -> None:
    problem = sglang.analysis.problem
    every = zip(asked, sglang.report.formulas, strict=True)
    proved = [(question, report) for question, report in every if report.within is not None]
    assert len(proved) > len(sglang.report.formulas) / 2
    checker = Checker(Solver(problem.domain))
    for question, report in proved:
        assert report.within is not None
        claim = (question.limited, report.formula)
        assert checker.holds(report.within, claim, question.given), (report.audit, report.target)
        assert free_names(question.limited).isdisjoint(live_names(problem, report.runner))
        assert {verdict.verdict for verdict in report.modes} == {"proved"}


def live_names(problem: Problem, runner: str) -> set[str]:
    """All that batches of a runner bring."""
    (found,) = (each for each in problem.runners if each.name == runner)
    return {each.name for mode in found.modes for each in mode.live}


def test_frozen_kv_rows_overflow_by_branches_and_then_by_sync(sglang: Audited) -> None:
    where = ("review_frozen_kv_topk", "eager_draft", "requests", "frozen_kv_draft")
    branched = "speculative_eagle_topk > 1 and request_table_extra > 0"  # of all that speculates
    assert causes(sglang, *where) == [branched, "require_mlp_sync"]
    example = first(sglang, *where)
    assert (example.extent, example.stated) == (2, 1)
    assert example.configuration == {
        "max_running_requests": 1,
        "speculative_algorithm": "frozen_kv_mtp",
        "speculative_eagle_topk": 2,
        "request_table_extra": 1,
    }
    assert example.live == {"requests": 1}


def test_rows_that_sync_adds_overflow(sglang: Audited) -> None:
    for mode in ("decode", "dllm_extend", "idle", "target_verify"):
        where = ("review_mlp_sync", "eager_target", "requests", mode)
        assert causes(sglang, *where) == ["require_mlp_sync"]
        assert (first(sglang, *where).extent, first(sglang, *where).stated) == (2, 1)


def test_a_block_of_a_diffusion_model_overflows(sglang: Audited) -> None:
    where = ("review_dllm_block", "eager_target", "tokens", "dllm_extend")
    assert "dllm_block_size > 0" in causes(sglang, *where)[0]
    assert causes(sglang, *where)[-1] == "require_mlp_sync"


def test_a_verify_of_several_tokens_overflows(sglang: Audited) -> None:
    where = ("review_dflash_verify", "eager_target", "tokens", "target_verify")
    assert "speculative_num_draft_tokens > 1" in causes(sglang, *where)[0]
    assert causes(sglang, *where)[-1] == "require_mlp_sync"


def test_the_finding_on_a_block_of_drafts_is_shown_with_its_algorithm(sglang: Audited) -> None:
    report = sglang.formula("review_dflash_verify", "eager_target", "tokens")
    assert "decode" not in {mode.mode for mode in report.modes}  # it never speculates
    for mode in report.modes:
        for example in mode.counterexamples:
            assert example.parameters["speculative_algorithm"] == "dflash"
    smallest = report.of("target_verify").counterexamples[0]
    assert (smallest.extent, smallest.stated) == (2, 1)
    assert smallest.live == {"requests": 1}


def test_more_branches_than_draft_tokens_overflow(sglang: Audited) -> None:
    where = ("review_draft_expansion", "eager_draft", "tokens", "eagle_draft")
    branched = "speculative_eagle_topk > 1 and request_table_extra > 0"  # of all that speculates
    assert causes(sglang, *where) == [branched, "require_mlp_sync"]
    shown = first(sglang, *where).configuration
    topk, draft = shown["speculative_eagle_topk"], shown["speculative_num_draft_tokens"]
    assert isinstance(topk, int)
    assert isinstance(draft, int)
    assert topk > draft


def test_a_dynamic_chunk_overflows_the_configured_one(sglang: Audited) -> None:
    for runner in ("eager_target", "eager_draft"):
        where = ("review_dynamic_chunking", runner, "tokens", "extend")
        chunked = "pp_size > 1 and enable_dynamic_chunking"
        assert causes(sglang, *where) == [chunked, SHARES, "require_mlp_sync"]
        example = first(sglang, *where)
        assert (example.extent, example.stated) == (2, 1)
        assert example.live == {"requests": 1, "tokens": 2}


def test_the_excerpt_overflows_by_sync_and_by_dynamic_chunks(sglang: Audited) -> None:
    where = ("seed_excerpt", "eager_target", "tokens")
    assert causes(sglang, *where, "decode") == ["require_mlp_sync"]
    chunked = "pp_size > 1 and enable_dynamic_chunking"
    assert causes(sglang, *where, "extend") == [chunked, SHARES, "require_mlp_sync"]
    rows = sglang.formula("seed_excerpt", "eager_draft", "requests")
    assert rows.of("frozen_kv_draft").verdict == "overflows"
    assert rows.of("extend").verdict == "proved"


def expected_to_overflow(report: FormulaReport) -> set[str]:
    """Drafts of several layers, and prompts of even shares, need more than the rule has."""
    if spell(report.when).startswith("speculative and enable_multi_layer_eagle"):
        return {"draft_extend", "extend"}
    if SHARES in spell(report.when):
        return {"extend"} if report.runner == "eager_draft" else PROMPTS
    return set()


def test_the_released_rule_is_enough_and_wastes_the_pool_s_size(sglang: Audited) -> None:
    for name in ("sglang_0_5_23", "seed_merged"):
        for report in sglang.report.of(name):
            found = {mode.mode for mode in report.modes if mode.verdict == "overflows"}
            assert found == expected_to_overflow(report)
            assert report.overall == ("overflows" if found else "wastes")
        whole = next(
            each
            for each in sglang.report.of(name)
            if (each.runner, each.target) == ("eager_target", "tokens")
            if not expected_to_overflow(each)
        )
        waste = whole.wastes[0]
        assert (waste.origin, waste.stated, waste.needed) == ("the defaults", 800000, 8192)
        # ids, positions and cache slots of 8 bytes, and three axes of rotary positions
        assert waste.bytes_by_device == {"compute": (800000 - 8192) * 6 * 8}
