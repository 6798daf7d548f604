"""A worker beside another one computes its batches, and is found out where it differs."""

from __future__ import annotations

import pytest
import torch

from ullage_demo.options import MODES
from ullage_demo.place import Place
from ullage_demo.plain import run_step
from ullage_demo.scenarios import SCENARIOS, damage_page
from ullage_demo.schedule import Step
from ullage_demo.setting import build_demo, build_scheduler
from ullage_demo.sizes import Sizes
from ullage_demo.student import TOLERANCE, Agreement, agrees
from ullage_demo.worker import Worker, target_worker
from ullage_demo.workload import make_requests

PLACE = Place(head_dim=64)
"""As large as the heads of kernels that a student may have."""


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
def test_a_student_of_the_same_kind_agrees_in_each_mode(mode: str) -> None:
    outcome = SCENARIOS[mode](build_demo(8, place=PLACE, student=PLACE))
    compared = [check for check in outcome.checks if check.claim.endswith("agrees with the first")]
    assert len(compared) >= 1
    assert [check for check in outcome.checks if not check.passed] == []
    assert all("within 0.0e+00" in check.detail for check in compared)


def served(damage: bool) -> Worker:
    """A worker with a student, one page of which may be damaged after each prompt."""
    sizes = Sizes(max_running=2)
    worker = target_worker(sizes, place=PLACE, student=PLACE)
    student = worker.student
    assert student is not None

    def execute(step: Step) -> None:
        run_step(worker, step)
        if damage and step.sequences:
            page = worker.table.pages(step.sequences[0].row)[0]
            damage_page(student.worker, page)

    build_scheduler(make_requests(3), worker.table, sizes).serve(execute)
    return worker


def test_a_student_with_other_keys_is_found_out() -> None:
    assert all(check.passed for check in agrees(served(damage=False)))
    assert not all(check.passed for check in agrees(served(damage=True)))


def test_a_choice_counts_only_where_it_is_clear() -> None:
    agreement = Agreement()
    expected = torch.tensor([[1.0, 1.0 + TOLERANCE, 0.0], [0.0, 1.0, 0.0]])
    agreement.add(expected, expected.flip(1))
    assert (agreement.rows, agreement.clear, agreement.different) == (2, 1, 0)
    agreement.add(expected, expected.roll(1, 1))
    assert agreement.different == 1


def test_logits_further_apart_than_the_tolerance_do_not_agree() -> None:
    agreement = Agreement()
    expected = torch.tensor([[0.0, 1.0, 0.0]])
    agreement.add(expected, expected + TOLERANCE / 2)
    assert agreement.passed
    agreement.add(expected, expected + TOLERANCE * 2)
    assert not agreement.passed


def test_what_is_no_number_does_not_agree() -> None:
    agreement = Agreement()
    close, lost = torch.tensor([[0.0, 1.0, 0.0]]), torch.tensor([[0.5, 0.5, 0.0]])
    agreement.add(close, close)
    assert agreement.passed
    agreement.add(lost, torch.full_like(lost, torch.nan))
    assert not agreement.passed
