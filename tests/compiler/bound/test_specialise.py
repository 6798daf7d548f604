"""What a spec says of one worker: its names, guards, constants and modes."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.bounds import derived, refusal
from support.comparing import differences
from support.small_specs import SLOT, mode_text, small
from support.specs import Files, resolved
from ullage import processes
from ullage.bound.domain import domain_of, for_worker
from ullage.bound.problem import Domain, Problem
from ullage.bound.specialise import specialise
from ullage.diagnostics.diagnostic import DiagnosticError
from ullage.expr.spell import spell
from ullage.expr.tree import Name
from ullage.processes import at_once, in_turn
from ullage.records import to_text

WORKERS = ("target: {doc: the served model}", "draft: {when: drafts, doc: proposes}")
PARAMETERS = (
    "drafts: {type: bool}",
    "cap: {type: int, range: [1, 3]}",
    "pool: {type: int, range: [1, 4], per: worker}",
    "depth: {type: int, range: [1, 2], when: drafts}",
)
DEFINITIONS = (
    "room: pool + 1",
    "levels: depth if drafts else 1",
    "three: 3",
    "own: 2 if worker == draft else 1",
)
CONSTRAINTS = ('"cap <= pool", when: "worker == target"',)


def two_workers(*modes: str, slots: tuple[str, ...] = (SLOT,)) -> Files:
    return small(
        *modes,
        parameters=PARAMETERS,
        definitions=DEFINITIONS,
        constraints=CONSTRAINTS,
        workers=WORKERS,
        slots=slots,
    )


ROWS = {"requests": "1; cap"}
BY_POOL = mode_text(live=ROWS | {"toks": "1; room"}, requests="requests", tokens="toks * own")
ON_DRAFT = mode_text(
    "propose",
    live=ROWS,
    requests="requests",
    tokens="requests * levels * three",
    when="worker == draft",
)
FILES = two_workers(BY_POOL, ON_DRAFT)


@pytest.fixture(scope="module")
def problem(tmp_path_factory: pytest.TempPathFactory) -> Problem:
    return specialise(resolved(tmp_path_factory.mktemp("spec"), FILES))


@pytest.fixture(scope="module")
def legal(tmp_path_factory: pytest.TempPathFactory) -> Domain:
    return domain_of(resolved(tmp_path_factory.mktemp("spec"), FILES))


def test_a_parameter_per_worker_is_one_for_each_that_exists(legal: Domain) -> None:
    guards = {each.name: spell(each.guard) for each in legal.variables}
    assert guards == {
        "drafts": "true",
        "cap": "true",
        "pool_target": "true",
        "pool_draft": "drafts",
        "depth": "drafts",
    }


def test_a_definition_that_depends_on_the_worker_is_one_for_each(legal: Domain) -> None:
    values = {each.name: spell(each.value) for each in legal.definitions}
    assert values["room_target"] == "pool_target + 1"
    assert values["room_draft"] == "pool_draft + 1"
    assert values["levels"] == "depth if drafts else 1"
    assert values["own_target"] == "1"
    assert values["own_draft"] == "2"


def test_a_constraint_on_one_worker_says_nothing_of_the_other(legal: Domain) -> None:
    said = {spell(each.that) for each in legal.constraints}
    assert "cap <= pool_target" in said
    assert not any("pool_draft" in each for each in said)


def test_a_mode_has_the_names_of_its_worker(problem: Problem) -> None:
    runners = {runner.name: runner for runner in problem.runners}
    assert set(runners) == {"eager_target", "eager_draft"}
    (target,) = runners["eager_target"].modes
    assert [spell(each.high) for each in target.live] == ["cap", "room_target"]
    draft = {each.name: each for each in runners["eager_draft"].modes}
    assert set(draft) == {"decode", "propose"}
    assert spell(draft["propose"].extents["tokens"]) == "requests * levels * 3"
    assert spell(draft["propose"].guard) == "drafts"
    assert spell(runners["eager_draft"].guard) == "drafts"


def test_the_worker_is_a_constant(tmp_path: Path) -> None:
    rewrite = for_worker(resolved(tmp_path, FILES), "draft")
    assert spell(rewrite(Name("pool"))) == "pool_draft"
    assert spell(rewrite(Name("cap"))) == "cap"
    assert spell(rewrite(Name("three"))) == "3"


def test_each_worker_has_the_capacity_that_its_batches_need(tmp_path: Path) -> None:
    found = derived(tmp_path, FILES)
    assert differences(found) == []
    assert found.certificate.unproven == ()
    assert (
        spell(found.capacities.of("eager_target", "tokens").formula) == "room_target * own_target"
    )


def test_a_guard_that_never_holds_on_a_worker_leaves_the_mode_out(problem: Problem) -> None:
    target = next(each for each in problem.runners if each.name == "eager_target")
    assert "propose" not in {each.name for each in target.modes}


@pytest.mark.parametrize(
    "clash",
    [
        "pool_target: {type: int, range: [1, 2]}",
        "pool_draft: {type: bool}",
        "room_draft: {type: int, range: [1, 2]}",
    ],
)
def test_a_name_that_looks_like_that_of_a_worker_is_refused(clash: str, tmp_path: Path) -> None:
    files = small(
        BY_POOL,
        parameters=(*PARAMETERS, clash),
        definitions=DEFINITIONS,
        workers=WORKERS,
    )
    assert "error[U205]" in refusal(tmp_path, files)


@pytest.mark.parametrize("name", ["pool_target", "room_draft"])
def test_so_is_a_live_variable_a_local_name_or_a_definition(name: str, tmp_path: Path) -> None:
    live = mode_text(live={name: "1; 9"}, requests=name, tokens="1")
    assert "error[U205]" in refusal(tmp_path / "live", two_workers(live))
    let = (f"widen: {{let: {{{name}: tokens * 2}}, tokens: {name}}}",)
    through = mode_text(live=ROWS, requests="requests", tokens="1", pipeline=["widen"])
    files = small(
        through, parameters=PARAMETERS, definitions=DEFINITIONS, workers=WORKERS, transforms=let
    )
    assert "error[U205]" in refusal(tmp_path / "let", files)
    definition = small(
        BY_POOL, parameters=PARAMETERS, workers=WORKERS, definitions=(*DEFINITIONS, f"{name}: cap")
    )
    assert "error[U2" in refusal(tmp_path / "definition", definition)


def test_a_bound_element_keeps_its_meaning_whatever_the_batch_brings(tmp_path: Path) -> None:
    """The element of a list and a live variable may share a name."""
    files = small(
        mode_text(live={"b": "1; cap"}, requests="1", tokens="b", pipeline=["fit"]),
        parameters=("cap: {type: int, range: [1, 3]}", "sizes: {type: list, range: [1, 4]}"),
        definitions=("largest: max(sizes)",),
        constraints=('"cap <= largest"',),
        transforms=('fit: {tokens: "next_in(tokens, [b for b in sizes if b >= 1])"}',),
    )
    if refusal(tmp_path / "first", files):
        return
    assert differences(derived(tmp_path, files)) == []


@pytest.fixture
def two_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a machine with one processor and beside a test runner's threads too."""
    monkeypatch.setattr(processes, "_processors", lambda: 2)
    monkeypatch.setattr(processes, "_can_fork", lambda: True)


@pytest.mark.usefixtures("two_processes")
def test_modes_that_are_composed_at_once_are_the_same(tmp_path: Path) -> None:
    spec = resolved(tmp_path, FILES)
    assert to_text(specialise(spec, mapped=at_once)) == to_text(specialise(spec))


@pytest.mark.usefixtures("two_processes")
def test_a_sum_without_a_maximum_is_reported_wherever_it_was_composed(tmp_path: Path) -> None:
    unsummable = mode_text(
        live=ROWS | {"length": "per requests: 1; cap"},
        requests="requests",
        tokens="sum_requests(length * length)",
    )
    spec = resolved(tmp_path, two_workers(unsummable))
    refusals = []
    for mapped in (in_turn, at_once):
        with pytest.raises(DiagnosticError) as refused:
            specialise(spec, mapped=mapped)
        refusals.append(refused.value.diagnostics)
    assert refusals[0] == refusals[1]
    assert {each.code for each in refusals[0]} == {"U402"}
