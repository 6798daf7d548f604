"""Texts of the compiler call live variables as their author does."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from support.bounds import certified, derived, live
from support.small_specs import mode_text, small
from ullage.bound.problem import Live
from ullage.prove.names import with_labels


def called(name: str, label: str) -> Live:
    return replace(live(name, 0, 9), label=label)


KNOWN = (
    called("requests", "requests"),
    called("requests@idle", "requests of another rank in idle"),
    called("requests@idle.2", "requests of other rank 2 in idle"),
    called("width@serving", "width while serving"),
    called("total(length)", "sum of length over the requests"),
    called("total(cdiv(length, page))", "sum of cdiv(length, page) over the requests"),
    called("total(length@idle)", "sum of length over the requests of another rank"),
)


@pytest.mark.parametrize(
    ("spelled", "shown"),
    [
        ("requests <= 4", "requests <= 4"),
        ("requests@idle <= 4", "'requests of another rank in idle' <= 4"),
        ("requests@idle.2 + 1", "'requests of other rank 2 in idle' + 1"),
        ("rows * width@serving", "rows * 'width while serving'"),
        ("total(length) // 2", "sum_requests(length) // 2"),
        ("max(total(cdiv(length, page)), 3)", "max(sum_requests(cdiv(length, page)), 3)"),
        ("total(length@idle)", "'sum of length over the requests of another rank'"),
        ("subtotal(length)", "subtotal(length)"),
    ],
)
def test_a_live_variable_is_called_by_its_label(spelled: str, shown: str) -> None:
    assert with_labels(spelled, KNOWN) == shown
    assert with_labels(spelled, reversed(KNOWN)) == shown


def test_a_text_without_live_variables_stays_as_it_is() -> None:
    assert with_labels("a + total(length)", ()) == "a + total(length)"


def test_a_flaw_of_a_proof_has_no_names_but_the_author_s(tmp_path: Path) -> None:
    serving = mode_text(
        live={"requests": "1; cap", "length": "per requests: 1; cap"},
        requests="requests",
        tokens="sum_requests(length)",
    )
    found = derived(tmp_path, small(serving))
    capacity = found.capacities.of("eager_target", "tokens")
    (candidate,) = capacity.candidates
    beyond = {**candidate.witness, "total(length)": candidate.witness["requests"]}
    wrong = replace(capacity, candidates=(replace(candidate, witness=beyond),))
    flaws = certified(found.problem, (wrong,), found.solver).proofs[0].flaws
    assert flaws
    assert all("total(" not in flaw and "@" not in flaw for flaw in flaws)


def test_a_configuration_without_a_mode_is_one_of_parameters(tmp_path: Path) -> None:
    rare = mode_text(live={"requests": "1; cap"}, requests="requests", tokens="0", when="cap > 2")
    files = small(rare, definitions=("double: cap * 2",))
    nowhere = derived(tmp_path, files).certificate.of("eager_target", "requests").nowhere
    assert nowhere is not None
    assert nowhere.keys() == {"cap"}
