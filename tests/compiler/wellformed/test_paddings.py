"""Padding keeps the rows of every batch: what loses some is an error where a real round does."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.random_rounds import random_rounds
from support.simulation import Simulation, configurations
from support.small_specs import mode_text, small
from support.specs import Files, write_spec
from ullage.bound.specialise import specialise
from ullage.diagnostics.diagnostic import Collector, Severity
from ullage.diagnostics.render import render_text
from ullage.prove.solver import Solver
from ullage.read import read
from ullage.spec.check import ResolvedSpec
from ullage.wellformed.paddings import check_paddings

PARAMETERS = ("cap: {type: int, range: [1, 8]}", "tp: {type: int, range: [1, 4]}")
Lost = set[tuple[str, str]]


def spec(
    *transforms: str,
    runs: str = "[shard]",
    of_runner: str = "",
    where: tuple[str, ...] = (),
    axes: tuple[str, ...] = (),
) -> Files:
    mode = mode_text(
        live={"n": "1; cap"},
        requests="1",
        tokens="n",
        where=where,
        pipeline=[each for each in runs.strip("[]").split(", ") if each],
    )
    return small(mode, parameters=PARAMETERS, transforms=transforms, pipeline=of_runner, axes=axes)


def checked(folder: Path, files: Files) -> tuple[ResolvedSpec, Collector]:
    sources, resolved = read(write_spec(folder, files), "mini")
    collector = Collector(sources.texts)
    problem = specialise(resolved, collector)
    check_paddings(resolved, problem, Solver(problem.domain), collector)
    return resolved, collector


def test_a_pipeline_that_leaves_fewer_rows_is_refused_with_the_smallest_batch(
    tmp_path: Path,
) -> None:
    _, collector = checked(tmp_path, spec("shard: {tokens: tokens // tp * tp}"))
    assert render_text(collector.diagnostics, {}) == (
        "mini/mode_0.yaml:6:5: error[U411]: the pipeline leaves a batch of mode 'decode' with "
        "fewer tokens than it brings\n"
        "  mini/mode_0.yaml:1:7: mode 'decode'\n"
        "  hint: for example where tp = 2, n = 1\n"
        "  see: ullage error U411\n"
    )


@pytest.mark.parametrize(
    ("files", "refused"),
    [
        (spec("shard: {tokens: 'align_up(tokens, tp)'}"), False),
        (spec("shard: {tokens: tokens - 1}"), True),
        (spec("shard: {tokens: tokens // tp * tp}", where=("n == cap", "cap == tp")), False),
        (spec("shard: {in_batch: true, tokens: tokens // 2}"), False),
        (spec("shard: {tokens: tokens // 2}", runs="", of_runner="[shard]"), True),
        (
            spec("shard: {part: tokens // 2}", axes=("part: {begins_as: 0}",)),
            False,
        ),
    ],
    ids=["up", "one less", "whole", "held by sources", "of the runner", "of its own axis"],
)
def test_rows_are_counted_from_what_sources_hold_to_the_end(
    files: Files, refused: bool, tmp_path: Path
) -> None:
    _, collector = checked(tmp_path, files)
    assert [each.code for each in collector.diagnostics] == (["U411"] if refused else [])


def of(collector: Collector, severity: Severity) -> Lost:
    """The modes and axes that something is said about."""
    return {
        (each.message.split("'")[1], each.message.split(" fewer ")[1].split()[0])
        for each in collector.diagnostics
        if each.severity == severity
    }


def lost(resolved: ResolvedSpec) -> Lost:
    """The modes and axes of which some batch ends with fewer rows in some round."""
    return {
        (mode.name, axis)
        for configuration in configurations(resolved)
        for mode in resolved.spec.modes
        for before, after in Simulation(resolved, configuration.of_worker["target"]).padded_of(mode)
        for axis, rows in before.items()
        if after[axis] < rows
    }


@pytest.mark.slow
@pytest.mark.parametrize("seed", [100, 102, 104, 105, 112, 114, 118, 128, 135, 141, 244, 258])
def test_what_ranks_decide_together_is_refused_exactly_where_a_round_loses_rows(
    seed: int, tmp_path: Path
) -> None:
    resolved, collector = checked(tmp_path, random_rounds(seed))
    assert of(collector, "error") == lost(resolved)


def test_what_no_round_breaks_and_nothing_proves_is_a_warning(tmp_path: Path) -> None:
    resolved, collector = checked(tmp_path, random_rounds(102))
    assert {each.code for each in collector.diagnostics} == {"U412"}
    assert of(collector, "warning") == {("decode", "tokens"), ("extend", "tokens")}
    assert lost(resolved) == set()
