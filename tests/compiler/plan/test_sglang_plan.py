"""What the plan of SGLang's runners takes, beside what SGLang allocates for the same ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from math import prod

import pytest

from support.sglang_graphs import graph_rows
from support.sglang_memory import Compared, compared, geometric_mean
from support.sglang_table import Row, rows
from support.shared import sglang
from ullage.analysis import Analysis
from ullage.configuration.values import complete
from ullage.plan.arenas import PlacedArena, arenas_for
from ullage.plan.model import ALIGNMENT
from ullage.plan.validate import flaws_of

pytestmark = pytest.mark.slow

LARGER_THAN_SGLANG: tuple[str, ...] = ()
"""Configurations in which the plan of all runners takes more than SGLang allocates."""


@dataclass(frozen=True, slots=True)
class Configuration:
    """One configuration of the table: its eager runners, target and maybe draft."""

    name: str
    runners: tuple[Row, ...]

    @property
    def sglang_bytes(self) -> int:
        """What SGLang's registries take on device and host; each worker allocates its own.

        For each token: ids, positions, cache locations and three rotary positions of 8 bytes. For
        each request: pool indices, and lengths on the device and on the host.
        """
        return sum(48 * row.tokens + 24 * row.requests for row in self.runners)


def configurations() -> Iterator[Configuration]:
    for name, found in groupby(rows(), key=lambda row: row.name):
        yield Configuration(name, tuple(found))


@pytest.fixture(scope="module")
def analysis() -> Analysis:
    return sglang()


def placed(analysis: Analysis, configuration: Configuration) -> tuple[PlacedArena, ...]:
    given = configuration.runners[-1].configuration()
    values = complete(analysis.resolved, given)
    arenas = arenas_for(analysis.plan, values)
    assert flaws_of(arenas, analysis.resolved, values, ALIGNMENT) == ()
    return arenas


def planned_bytes(analysis: Analysis, configuration: Configuration) -> int:
    return sum(arena.bytes for arena in placed(analysis, configuration))


@pytest.mark.parametrize("configuration", list(configurations()), ids=lambda each: each.name)
def test_the_plan_has_no_gap_and_takes_no_more_than_the_largest_worker_and_what_is_kept(
    analysis: Analysis, configuration: Configuration
) -> None:
    kept_parts = {runner.kept for runner in analysis.plan.runners}
    for arena in placed(analysis, configuration):
        kept = [runner.bytes for runner in arena.runners if runner.name in kept_parts]
        turns = [runner.bytes for runner in arena.runners if runner.name not in kept_parts]
        assert arena.gap == 0
        assert arena.bytes == max(turns) + sum(kept)
        assert len(turns) == len(configuration.runners)


@pytest.mark.parametrize("configuration", list(configurations()), ids=lambda each: each.name)
def test_the_plan_takes_less_than_sglang(analysis: Analysis, configuration: Configuration) -> None:
    assert planned_bytes(analysis, configuration) < configuration.sglang_bytes


def test_workers_that_take_turns_halve_what_they_take(analysis: Analysis) -> None:
    shares = []
    for configuration in configurations():
        if len(configuration.runners) > 1:
            arenas = placed(analysis, configuration)
            alone = sum(arena.alone for arena in arenas)
            shares.append(planned_bytes(analysis, configuration) / alone)
    assert len(shares) == 3
    assert prod(shares) ** (1 / len(shares)) < 0.75


@pytest.fixture(scope="module")
def whole(analysis: Analysis) -> tuple[Compared, ...]:
    return tuple(compared(analysis))


def test_every_configuration_is_compared_with_all_its_runners(whole: tuple[Compared, ...]) -> None:
    assert len(whole) == 8
    for each in whole:
        names = {runner.name for arena in each.arenas for runner in arena.runners}
        laid_out = {name.removesuffix("_kept") for name in names}
        graphs = {f"{row.runner}_{row.worker}" for row in graph_rows() if row.name == each.name}
        assert graphs | {"eager_target"} <= laid_out, each.name


def test_the_placement_of_all_runners_has_no_flaw(
    analysis: Analysis, whole: tuple[Compared, ...]
) -> None:
    for each in whole:
        assert flaws_of(each.arenas, analysis.resolved, each.values, ALIGNMENT) == (), each.name


def test_all_runners_take_no_more_than_two_thirds_of_what_sglang_allocates(
    whole: tuple[Compared, ...],
) -> None:
    assert geometric_mean([each.ratio for each in whole]) <= 0.65


def test_what_is_neither_logits_nor_a_workspace_takes_two_fifths(
    whole: tuple[Compared, ...],
) -> None:
    assert geometric_mean([each.avoidable_ratio for each in whole]) <= 0.4


def test_no_other_configuration_takes_more_than_sglang_allocates(
    whole: tuple[Compared, ...],
) -> None:
    larger = tuple(each.name for each in whole if each.planned > each.sglang.all)
    assert larger == LARGER_THAN_SGLANG
