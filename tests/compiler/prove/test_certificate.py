"""A certificate takes nothing on trust that the deriver says."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from support.bounds import Derived, certified, derived, read
from support.proofs import altered, leaf
from support.small_specs import mode_text, small
from ullage.bound.capacities import Candidate, Capacity
from ullage.expr.spell import spell
from ullage.expr.tree import FALSE, TRUE, Binary, Expr, Integer, Name
from ullage.prove.proof import Proof

PARAMETERS = (
    "cap: {type: int, range: [1, 8]}",
    "pool: {type: int, range: [1, 9]}",
    "step: {type: int, range: [1, 4]}",
    "on: {type: bool}",
)
DECODE = mode_text(
    live={"requests": "1; cap"}, requests="requests", tokens="requests * step", pipeline=["pad"]
)
EXTEND = mode_text(
    "extend",
    when="on",
    live={"requests": "1; cap", "toks": "1; pool"},
    where=["requests <= toks"],
    requests="requests",
    tokens="toks + 1",
    pipeline=["pad"],
)
PAD = "pad: {tokens: 'align_up(tokens, step)'}"


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Derived:
    files = small(DECODE, EXTEND, parameters=PARAMETERS, transforms=(PAD,))
    return derived(tmp_path_factory.mktemp("spec"), files)


@pytest.fixture(scope="module")
def tokens(found: Derived) -> Capacity:
    return found.capacities.of("eager_target", "tokens")


def proof_of(found: Derived, capacity: Capacity) -> Proof:
    """What the certificate says of a capacity in place of the derived one."""
    certificate = certified(found.problem, (capacity,), found.solver)
    return certificate.of(capacity.runner, capacity.target)


def with_first(capacity: Capacity, candidate: Candidate) -> Capacity:
    return replace(capacity, candidates=(candidate, *capacity.candidates[1:]))


def plus(expr: Expr, amount: int) -> Expr:
    return Binary("+", expr, Integer(amount))


def test_what_was_derived_is_proved(found: Derived, tokens: Capacity) -> None:
    proof = proof_of(found, tokens)
    assert proof.proved
    assert proof.tight
    assert proof.everywhere
    assert proof.flaws == ()
    assert proof.obligations > 0


def test_another_formula_is_not_proved(found: Derived, tokens: Capacity) -> None:
    for formula in (
        plus(tokens.formula, -1),
        plus(tokens.formula, 1),
        Integer(0),
        Integer(100),
        Name("cap"),
        read("align_up(cap * step, step)"),
    ):
        assert not proof_of(found, replace(tokens, formula=formula)).proved, formula


def test_a_formula_over_live_variables_is_not_proved(found: Derived, tokens: Capacity) -> None:
    """The extent itself is no less than the extent."""
    runner = found.problem.runners[0]
    extent = runner.modes[0].extents["tokens"]
    steps = {mode.name: leaf("1", "1") for mode in runner.modes}
    own = {
        each.name: replace(leaf("1", "1"), left=each.extents["tokens"], right=extent)
        for each in runner.modes
    }
    assert not proof_of(found, replace(tokens, formula=extent, sound=own)).sound
    assert not proof_of(found, replace(tokens, formula=extent, sound=steps)).sound


def test_a_mode_without_proof_makes_the_capacity_unsound(found: Derived, tokens: Capacity) -> None:
    for name in tokens.sound:
        rest = {other: step for other, step in tokens.sound.items() if other != name}
        assert not proof_of(found, replace(tokens, sound=rest)).sound


def test_a_proof_of_another_mode_is_not_taken(found: Derived, tokens: Capacity) -> None:
    exchanged = {"decode": tokens.sound["extend"], "extend": tokens.sound["decode"]}
    assert not proof_of(found, replace(tokens, sound=exchanged)).sound


def test_an_altered_step_makes_the_capacity_unsound(found: Derived, tokens: Capacity) -> None:
    for name, step in tokens.sound.items():
        for other in altered(step):
            changed = {**tokens.sound, name: other}
            assert not proof_of(found, replace(tokens, sound=changed)).sound


def other_witnesses(candidate: Candidate) -> Iterator[Candidate]:
    """The candidate with a value of its witness changed, left out or not of the configuration."""
    for name, value in candidate.witness.items():
        yield replace(candidate, witness={**candidate.witness, name: plus(value, 1)})
        yield replace(candidate, witness={**candidate.witness, name: plus(value, -1)})
        yield replace(candidate, witness={**candidate.witness, name: Integer(0)})
        yield replace(candidate, witness={**candidate.witness, name: Name(name)})
        rest = {other: each for other, each in candidate.witness.items() if other != name}
        yield replace(candidate, witness=rest)
    yield replace(candidate, witness={**candidate.witness, "more": Integer(1)})


def test_another_witness_is_not_tight(found: Derived, tokens: Capacity) -> None:
    for place, candidate in enumerate(tokens.candidates):
        for other in other_witnesses(candidate) if candidate.binding else ():
            candidates = (*tokens.candidates[:place], other, *tokens.candidates[place + 1 :])
            assert not proof_of(found, replace(tokens, candidates=candidates)).tight, other.witness


def test_a_candidate_that_claims_more_than_its_witness_is_not_tight(
    found: Derived, tokens: Capacity
) -> None:
    first = tokens.candidates[0]
    for formula in (plus(first.formula, 1), Integer(99)):
        other = replace(first, formula=formula)
        assert not proof_of(found, with_first(tokens, other)).tight


def test_a_candidate_that_claims_to_occur_everywhere_is_not_tight(
    found: Derived, tokens: Capacity
) -> None:
    place = next(n for n, each in enumerate(tokens.candidates) if each.mode == "extend")
    other = replace(tokens.candidates[place], condition=TRUE)
    candidates = (*tokens.candidates[:place], other, *tokens.candidates[place + 1 :])
    assert not proof_of(found, replace(tokens, candidates=candidates)).tight


def test_a_candidate_that_never_occurs_attains_nothing(found: Derived, tokens: Capacity) -> None:
    never = tuple(replace(each, condition=FALSE) for each in tokens.candidates)
    proof = proof_of(found, replace(tokens, candidates=never))
    assert not proof.tight
    assert not proof.everywhere
    assert proof.nowhere is not None


def test_a_capacity_without_candidates_is_not_tight(found: Derived, tokens: Capacity) -> None:
    assert not proof_of(found, replace(tokens, candidates=())).tight


def test_a_witness_of_another_mode_is_not_tight(found: Derived, tokens: Capacity) -> None:
    first = tokens.candidates[0]
    other = "extend" if first.mode == "decode" else "decode"
    assert not proof_of(found, with_first(tokens, replace(first, mode=other))).tight


@pytest.mark.parametrize("eliminations", ["none", "of totals at their upper ends"])
def test_how_a_witness_was_found_is_no_reason_to_believe_in_it(
    eliminations: str, tmp_path: Path
) -> None:
    """No lengths have the totals of this witness, whatever the deriver says of its way there."""
    rows = {"requests": "4; 4", "length": "per requests: 2; 9"}
    files = small(
        mode_text(
            live=rows,
            where=["sum_requests(length) <= 10"],
            requests="requests",
            tokens="sum_requests(cdiv(length, 3))",
        ),
    )
    found = derived(tmp_path, files)
    tokens = found.capacities.of("eager_target", "tokens")
    assert not proof_of(found, tokens).tight
    (candidate,) = tokens.candidates
    way = (
        tuple(replace(each, value=Integer(6)) for each in candidate.eliminations)
        if eliminations != "none"
        else ()
    )
    assert not proof_of(found, with_first(tokens, replace(candidate, eliminations=way))).tight


def test_a_reason_for_slack_excuses_what_is_loose_and_not_what_is_unsound(
    tmp_path: Path,
) -> None:
    files = small(
        mode_text(
            live={"requests": "1; cap"},
            requests="requests",
            tokens="requests * (9 - requests)",
        ),
        parameters=PARAMETERS,
        slack="tokens: both ends are taken at once",
    )
    found = derived(tmp_path, files)
    tokens = found.capacities.of("eager_target", "tokens")
    proof = found.certificate.of("eager_target", "tokens")
    assert proof.sound
    assert not proof.tight
    assert proof.proved
    assert proof.slack == "both ends are taken at once"
    smaller = proof_of(found, replace(tokens, formula=Integer(1)))
    assert not smaller.proved


def test_a_capacity_that_nothing_needs_says_where(tmp_path: Path) -> None:
    files = small(
        mode_text(when="on", live={"requests": "1; cap"}, requests="requests", tokens="requests"),
        parameters=PARAMETERS,
    )
    proof = derived(tmp_path, files).certificate.of("eager_target", "tokens")
    assert proof.proved
    assert not proof.everywhere
    assert proof.nowhere is not None
    assert proof.nowhere["on"] == 0


@pytest.fixture(scope="module")
def sometimes(tmp_path_factory: pytest.TempPathFactory) -> Derived:
    """A mode that not every configuration has."""
    files = small(
        mode_text(when="on", live={"requests": "1; cap"}, requests="requests", tokens="requests"),
        parameters=PARAMETERS,
    )
    return derived(tmp_path_factory.mktemp("spec"), files)


@pytest.mark.parametrize(
    ("formula", "is_tight"), [("cap if on else 0", True), ("cap if on else -1", False)]
)
def test_a_capacity_is_not_negative_where_nothing_needs_it(
    formula: str, is_tight: bool, sometimes: Derived
) -> None:
    tokens = sometimes.capacities.of("eager_target", "tokens")
    (mode,) = sometimes.problem.runners[0].modes
    other = replace(
        tokens,
        formula=read(formula),
        sound={mode.name: leaf(spell(mode.extents["tokens"]), formula)},
        attained=leaf(formula, "cap if on else 0"),
    )
    assert proof_of(sometimes, other).tight is is_tight


@pytest.mark.parametrize("binding", [True, False])
def test_a_batch_that_is_not_legal_is_none(binding: bool, sometimes: Derived) -> None:
    """Whatever condition a candidate claims: where its mode does not occur, it has no batch."""
    tokens = sometimes.capacities.of("eager_target", "tokens")
    everywhere = replace(tokens.candidates[0], condition=TRUE, binding=binding)
    proof = proof_of(sometimes, with_first(tokens, everywhere))
    assert not proof.everywhere


def test_unproven_capacities_are_listed(found: Derived, tokens: Capacity) -> None:
    broken = replace(tokens, formula=Integer(1))
    rest = tuple(each for each in found.capacities.by_target if each is not tokens)
    certificate = certified(found.problem, (broken, *rest), found.solver)
    assert [each.target for each in certificate.unproven] == ["tokens"]
    with pytest.raises(KeyError):
        certificate.of("eager_target", "nothing")
