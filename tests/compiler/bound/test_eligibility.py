"""What `accepts` says of live variables, and where exclusive runners leave nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from support.bounds import certified, defined, derived, number, read, refusal, solver, values
from support.sluice import SLUICE
from support.specs import edited, with_file
from ullage.bound.capacities import Capacities
from ullage.bound.eligibility import couplings_of, hoisted, leaves, solved, split
from ullage.bound.problem import ModeProblem, Problem, Rewriting
from ullage.bound.relations import Relation, in_case
from ullage.expr.conditions import merged
from ullage.expr.spell import spell
from ullage.expr.tree import TRUE, Integer
from ullage.prove.checker import Checker
from ullage.prove.eligibility import check_rewriting

DECODE = "modes/decode.yaml"
GRAPH = "runners/decode_graph.yaml"
EAGER = "runners/eager.yaml"
LIVE = frozenset(("rows", "toks"))


def forms(text: str) -> list[str]:
    """What a condition comes to, solved for the live variables."""
    return [spell(each.claim) for each in leaves(solved(read(text), LIVE))]


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("rows <= cap", ["rows <= cap"]),
        ("rows < cap", ["rows + 1 <= cap"]),
        ("cap >= rows", ["rows <= cap"]),
        ("rows == cap", ["rows <= cap", "cap <= rows"]),
        ("rows != cap", ["rows != cap"]),
        ("rows <= cap and toks <= top", ["rows <= cap", "toks <= top"]),
        ("not (rows > cap or toks > top)", ["rows <= cap", "toks <= top"]),
        ("not (rows <= cap)", ["cap + 1 <= rows"]),
        ("max(rows, toks) <= cap", ["rows <= cap", "toks <= cap"]),
        ("rows <= min(cap, top)", ["rows <= min(cap, top)"]),
        ("cap <= min(rows, toks)", ["cap <= rows", "cap <= toks"]),
        ("(rows if sync else toks) <= cap", ["not sync or rows <= cap", "sync or toks <= cap"]),
        ("(rows if sync else rows) <= cap", ["rows <= cap"]),
        ("rows <= (cap if sync else top)", ["rows <= (cap if sync else top)"]),
        ("cdiv(rows, step) <= cap", ["rows <= cap * step"]),
        ("rows // step <= cap", ["rows <= cap * step + step - 1"]),
        ("align_up(rows, step) <= cap", ["rows <= cap // step * step"]),
        ("cap <= rows // step", ["cap * step <= rows"]),
        ("cap <= cdiv(rows, step)", ["cap * step - step + 1 <= rows"]),
        ("cap <= align_up(rows, step)", ["(cdiv(cap, step) - 1) * step + 1 <= rows"]),
        ("cdiv(align_up(rows, 2), 3) <= cap", ["rows <= cap * 3 // 2 * 2"]),
        ("next_in(rows, sizes) <= 2 * rows", ["next_in(rows, sizes) <= 2 * rows"]),
        ("sync or rows <= cap", ["sync or rows <= cap"]),
        ("toks <= 4 or rows <= cap", ["toks <= 4 or rows <= cap"]),
        ("not sync", ["not sync"]),
    ],
)
def test_a_condition_is_solved_for_live_variables(condition: str, expected: list[str]) -> None:
    assert forms(condition) == expected


@pytest.mark.parametrize(
    "condition",
    [
        "cdiv(align_up(rows, step), width) <= cap",
        "align_up(align_up(rows * width, step), cap) // width <= top",
        "cap <= align_up(cdiv(rows, step), width)",
        "cap <= align_up(rows, step) // width",
        "(max(rows, toks) // step if cap < 4 else align_up(toks, step)) <= top",
        "not (cap < 3 and align_up(rows, step) <= top)",
    ],
)
def test_z3_proves_each_rewriting_in_both_directions(condition: str) -> None:
    known = solver(
        number("cap", 1, 50), number("top", 0, 50), number("step", 1, 9), number("width", 1, 9)
    )
    checker = Checker(known)
    check_rewriting(checker, solved(read(condition), LIVE), ())
    assert checker.obligations > 0
    assert checker.flaws == []
    assert all(each.bounds for each in couplings_of((solved(read(condition), LIVE),), LIVE))


@pytest.mark.parametrize(
    ("condition", "wrong"),
    [
        ("align_up(rows, step) <= cap", "rows <= cap"),
        ("cdiv(rows, step) <= cap", "rows <= cap * step + step"),
        ("max(rows, toks) <= cap", "rows <= cap"),
        ("rows < cap", "rows <= cap"),
        ("cap <= align_up(rows, step)", "cap <= rows"),
    ],
)
def test_a_wrong_rewriting_is_seen(condition: str, wrong: str) -> None:
    known = solver(number("cap", 1, 50), number("step", 2, 9))
    checker = Checker(known)
    found = Rewriting(read(condition), TRUE, (Rewriting(read(wrong), TRUE, ()),))
    check_rewriting(checker, found, ())
    assert checker.flaws


def test_a_rounding_is_removed_only_where_the_step_is_at_least_one() -> None:
    known = solver(number("cap", 1, 50), number("step", 0, 9))
    checker = Checker(known)
    check_rewriting(checker, solved(read("align_up(rows, step) <= cap"), LIVE), ())
    assert checker.flaws


def test_for_a_comparison_with_the_most_rounding_stays() -> None:
    found = leaves(split(read("align_up(max(rows, toks), step) <= cap"), LIVE))
    assert [spell(each.condition) for each in found] == ["align_up(max(rows, toks), step) <= cap"]


@pytest.mark.parametrize(
    ("guards", "expected"),
    [
        (["sync", "not sync"], ["true"]),
        (["sync and fast", "not sync and fast"], ["fast"]),
        (["cap < 3", "cap >= 3"], ["true"]),
        (["sync", "sync and fast"], ["sync"]),
        (["sync", "fast"], ["sync", "fast"]),
        (["a and b", "a and not b", "not a and b", "not a and not b"], ["true"]),
    ],
)
def test_guards_that_differ_in_one_sign_become_one(guards: list[str], expected: list[str]) -> None:
    assert [spell(each) for each in merged([read(each) for each in guards])] == expected


def modes_of(problem: Problem, runner: str) -> dict[str, ModeProblem]:
    found = next(each for each in problem.runners if each.name == runner)
    return {mode.name: mode for mode in found.modes}


def formulas(capacities: Capacities, runner: str) -> dict[str, str]:
    return {
        each.target: spell(each.formula) for each in capacities.by_target if each.runner == runner
    }


def test_a_graph_has_the_rows_of_its_largest_bucket(tmp_path: Path) -> None:
    found = derived(tmp_path, SLUICE)
    most = "next_in(min(max_requests, max(captured)), captured)"
    assert formulas(found.capacities, "decode_graph_target") == {"requests": most, "tokens": most}
    assert formulas(found.capacities, "eager_target") == {
        "requests": "max(max_requests if not cuda_graph or max_requests > max(captured) else 0, "
        "min(max_prompts, max_tokens))",
        "tokens": "max(max_requests if not cuda_graph or max_requests > max(captured) else 0, "
        "max_tokens)",
    }
    assert found.certificate.unproven == ()


def test_a_later_runner_has_a_mode_only_where_batches_are_left(tmp_path: Path) -> None:
    modes = modes_of(derived(tmp_path, SLUICE).problem, "eager_target")
    assert {name: spell(mode.guard) for name, mode in modes.items()} == {
        "decode": "not cuda_graph or max_requests > max(captured)",
        "extend": "true",
        "idle": "sync and (not cuda_graph or (max_requests if 1 < dp_size else 0) > max(captured))",
    }


def test_peers_of_other_ranks_are_not_narrowed(tmp_path: Path) -> None:
    """An idle rank pads to what any rank decodes, whichever runner takes it there."""
    files = edited(
        GRAPH,
        ("modes: [decode, idle]", "modes: [decode]"),
        ("requests <= max(captured)", "live_requests <= max(captured)"),
        ("pipeline: [bucket]\n", ""),
        files=SLUICE,
    )
    capacities = derived(tmp_path, files).capacities
    assert "max_requests if" in formulas(capacities, "eager_target")["requests"]
    assert "1 < dp_size" in formulas(capacities, "eager_target")["requests"]


def test_a_bucket_needs_a_limit(tmp_path: Path) -> None:
    files = edited(GRAPH, ("requests <= max(captured)", "requests <= 600"), files=SLUICE)
    assert "error[U405]: no element may be large enough" in refusal(tmp_path, files)


@pytest.mark.slow
def test_a_condition_rests_on_those_before_it_only(tmp_path: Path) -> None:
    rests = "next_in(requests, captured) <= 2 * live_requests"
    first = ("  - requests <= max(captured)", f"  - requests <= max(captured)\n  - {rests}")
    last = ("  - requests <= max(captured)", f"  - {rests}\n  - requests <= max(captured)")
    loose = ("values:", "slack: {requests: buckets may be sparse, tokens: so}\nvalues:")
    wide = edited(EAGER, loose, files=SLUICE)
    assert "U405" not in refusal(tmp_path, edited(GRAPH, first, loose, files=wide))
    assert "U405" in refusal(tmp_path, edited(GRAPH, last, loose, files=wide))


def test_what_is_left_needs_a_runner_that_exists(tmp_path: Path) -> None:
    files = edited(EAGER, ("workers:", "when: max_tokens > 9\nworkers:"), files=SLUICE)
    found = refusal(tmp_path, files)
    assert "error[U216]: runner 'eager' takes what is left of mode 'decode'" in found
    assert "for example where max_tokens = 1" in found


@pytest.mark.slow
def test_a_runner_may_lack_where_its_modes_do_not_occur(tmp_path: Path) -> None:
    files = edited(EAGER, ("workers:", "when: max_tokens > 9\nworkers:"), files=SLUICE)
    for mode in ("decode", "extend", "idle"):
        path = f"modes/{mode}.yaml"
        when = "when: sync and max_tokens > 9" if mode == "idle" else "when: max_tokens > 9"
        text = files[path].replace("when: sync\n", "")
        files = {**files, path: text.replace("live:", f"{when}\nlive:", 1)}
    assert refusal(tmp_path, files) == ""


@pytest.mark.slow
def test_a_certificate_does_not_trust_a_narrowed_guard(tmp_path: Path) -> None:
    found = derived(tmp_path, SLUICE)

    def without_decode(mode: ModeProblem) -> ModeProblem:
        return replace(mode, guard=read("not cuda_graph")) if mode.name == "decode" else mode

    runners = tuple(
        replace(each, modes=tuple(map(without_decode, each.modes)))
        for each in found.problem.runners
    )
    proofs = certified(
        replace(found.problem, runners=runners), found.capacities.by_target, found.solver
    )
    assert not proofs.of("eager_target", "requests").sound


@pytest.mark.slow
def test_a_certificate_does_not_trust_what_a_mode_is_said_to_come_to(tmp_path: Path) -> None:
    found = derived(tmp_path, SLUICE)

    def smaller(mode: ModeProblem) -> ModeProblem:
        taken = tuple(
            replace(
                each,
                reaches=tuple(replace(reach, most=Integer(1)) for reach in each.reaches or ()),
            )
            for each in mode.taken
        )
        return replace(mode, taken=taken)

    runners = tuple(
        replace(each, modes=tuple(map(smaller, each.modes))) for each in found.problem.runners
    )
    proofs = certified(
        replace(found.problem, runners=runners), found.capacities.by_target, found.solver
    )
    assert not proofs.of("eager_target", "requests").sound


@pytest.mark.slow
def test_a_certificate_does_not_trust_a_rewriting(tmp_path: Path) -> None:
    found = derived(tmp_path, SLUICE)

    def stronger(mode: ModeProblem) -> ModeProblem:
        limit = Rewriting(read("requests <= 3"), TRUE, ())
        return replace(mode, accepts=tuple(replace(each, parts=(limit,)) for each in mode.accepts))

    runners = tuple(
        replace(each, modes=tuple(map(stronger, each.modes))) for each in found.problem.runners
    )
    proofs = certified(
        replace(found.problem, runners=runners), found.capacities.by_target, found.solver
    )
    assert not proofs.of("decode_graph_target", "requests").sound


def test_lists_of_a_test_are_known_by_their_largest_element() -> None:
    known = solver(values("sizes", 1, 9), defined("captured", "[b for b in sizes if b % 2 == 0]"))
    largest = read("max(captured)")
    assert known.proves(read("next_in(max(captured), captured) == max(captured)"), ())
    assert spell(largest) == "max(captured)"


# Choices by configuration


@pytest.mark.parametrize(
    ("guard", "case", "left"),
    [
        ("sync", "sync", "true"),
        ("sync", "not sync", None),
        ("sync and fast", "sync", "fast"),
        ("not sync", "sync", None),
        ("cap < 3", "cap >= 3", None),
        ("fast", "sync", "fast"),
    ],
)
def test_a_relation_is_known_by_case(guard: str, case: str, left: str | None) -> None:
    relation = Relation(read("rows"), read("cap"), read(guard), chooses=True)
    found = in_case((relation,), read(case))
    assert [spell(each.guard) for each in found] == ([] if left is None else [left])


def test_the_range_of_a_variable_holds_in_every_case() -> None:
    relation = Relation(read("rows"), read("cap"), read("sync"))
    assert in_case((relation,), read("not sync")) == (relation,)


def test_choices_are_brought_outside_once() -> None:
    node = read("next_in(max(rows if sync else toks, 1), sizes) * (2 if sync else 3)")
    assert spell(hoisted(node, (read("sync"),))) == (
        "next_in(max(rows, 1), sizes) * 2 if sync else next_in(max(toks, 1), sizes) * 3"
    )


# Real engines round what they compare, and every mode in another way

ROUNDED = edited(
    "transforms.yaml",
    ("rows: max_ranks(requests)", "padded: 'align_up(align_up(tokens, row_multiple), dp_size)'"),
    (
        "    requests: rows\n    tokens: rows * one",
        "    requests: max_ranks(padded // one)\n    tokens: max_ranks(padded)",
    ),
    files=SLUICE,
)
CAPTURE = """\
mode: capture
doc: a graph is captured with each number of rows
when: cuda_graph
live:
  requests: {range: [1, "max(captured)"], seen_in: batch.size}
axes: {requests: requests, tokens: requests * one}
peers: []
"""


@pytest.mark.slow
def test_a_rounded_amount_keeps_to_the_largest_bucket(tmp_path: Path) -> None:
    found = derived(tmp_path, ROUNDED)
    proof = found.certificate.of("decode_graph_target", "requests")
    assert proof.sound
    assert found.certificate.of("eager_target", "requests").tight
    assert spell(modes_of(found.problem, "eager_target")["decode"].guard) == (
        "not cuda_graph or "
        "sync and align_up(align_up(max_requests, row_multiple), dp_size) > max(captured) or "
        "not sync and max_requests > max(captured)"
    )


@pytest.mark.slow
def test_what_is_captured_is_loaded_too(tmp_path: Path) -> None:
    files = with_file(
        "modes/capture.yaml",
        CAPTURE,
        files=edited(
            GRAPH, ("modes: [decode, idle]", "modes: [decode, idle, capture]"), files=ROUNDED
        ),
    )
    found = derived(tmp_path, files)
    assert formulas(found.capacities, "decode_graph_target")["requests"] == "max(captured)"
    assert found.certificate.unproven == ()


@pytest.mark.slow
def test_of_a_mode_that_a_runner_takes_whole_its_fallback_has_no_part(tmp_path: Path) -> None:
    graph = edited(
        GRAPH,
        ("modes: [decode, idle]", "modes: [decode, idle, capture]"),
        ("  - requests <= max(captured)\n", "  - requests <= max(captured)\n  - not embeds\n"),
        ("exclusive: true", "accepts_all: [capture]\nfacts: {embeds: embeddings are given}"),
        files=edited(EAGER, ("modes: all", "modes: [decode, extend, idle]"), files=SLUICE),
    )
    found = derived(tmp_path, with_file("modes/capture.yaml", CAPTURE, files=graph))
    assert formulas(found.capacities, "decode_graph_target")["requests"] == "max(captured)"
    assert "captured" not in formulas(found.capacities, "eager_target")["requests"]
    assert found.certificate.unproven == ()
