"""The example with a graph runner: proved, as large as counted by hand, and served as generated."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch

from ullage.cli import main

ROOT = Path(__file__).parents[1]
EXAMPLE = Path("docs", "examples", "decode_graphs")
CONFIGURATION = Path("docs", "examples", "configurations", "decode_graphs.yaml")
GIVEN = {
    "max_running_requests": 30,
    "chunked_prefill_size": 1000,
    "capture_requests": [1, 8, 24, 64],
}

# Any: the package exists only once the test has generated it.
Generated = Any


@pytest.fixture(scope="module")
def ullage() -> Callable[..., str]:
    """What a command writes about the example; it must succeed."""

    def run(*arguments: str) -> str:
        written = StringIO()
        with pytest.MonkeyPatch.context() as patch, redirect_stdout(written):
            patch.chdir(ROOT)
            code = main([arguments[0], str(EXAMPLE), *arguments[1:]])
        assert code == 0
        return written.getvalue()

    return run


@pytest.fixture(scope="module")
def package(ullage: Callable[..., str], tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    folder = tmp_path_factory.mktemp("graphs")
    ullage("compile", "--out", str(folder / "written_graphs"))
    sys.path.insert(0, str(folder))
    return importlib.import_module("written_graphs.decode_graphs")


def test_every_capacity_is_proved_without_a_warning(ullage: Callable[..., str]) -> None:
    found = json.loads(ullage("check", "--json"))
    assert all(each["proved"] and each["tight"] for each in found["capacities"])
    assert found["diagnostics"] == []


def test_sizes_are_those_counted_by_hand(ullage: Callable[..., str]) -> None:
    """The graph of 64 is left out, for at most 30 requests run; those above 24 go without one."""
    sized = json.loads(ullage("size", "--config", str(CONFIGURATION), "--json"))
    assert {
        runner["runner"]: {each["target"]: each["value"] for each in runner["capacities"]}
        for runner in sized["runners"]
    } == {
        "decode_graph_target": {"requests": 24, "tokens": 24},
        "eager_target": {"requests": 30, "tokens": 1000},
    }


def batch(package: Generated, mode: str, rows: int) -> Generated:
    count = torch.arange(rows)
    return package.LiveBatch(
        mode=package.Mode[mode],
        batch_size=rows,
        input_ids=count + 100,
        positions=count,
        out_cache_loc=count + 1,
        seq_lens=count + 1,
    )


@dataclass
class Engine:
    """Remembers the rows that it computed, and gives them back."""

    replayed: list[int] = field(default_factory=list)
    launched: list[int] = field(default_factory=list)

    def replay(self, of: Generated, /) -> torch.Tensor:
        self.replayed.append(of.requests)
        return torch.as_tensor(of.input_ids)

    def forward(self, of: Generated, /) -> torch.Tensor:
        self.launched.append(of.requests)
        return torch.as_tensor(of.input_ids)


def test_every_graph_is_captured_and_then_replayed_with_the_next_larger_one(
    package: Generated,
) -> None:
    config = package.Config.from_arguments(GIVEN)
    runners, engine = package.TargetRunners(config, device="cpu", debug=True), Engine()
    assert config.captured == (1, 8, 24)
    for rows in config.captured:
        live = batch(package, "CAPTURE", rows)
        runner, offer = runners.select(live)
        runner.execute(live, engine, pad=offer)
    for rows in (1, 5, 9, 24, 25):
        live = batch(package, "DECODE", rows)
        runner, offer = runners.select(live)
        logits = runner.execute(live, engine, pad=offer)
        assert logits.tolist() == live.input_ids.tolist()
    assert engine.replayed == [1, 8, 24, 1, 8, 24, 24]
    assert engine.launched == [25]


def test_padded_rows_of_a_graph_hold_what_its_readers_want(package: Generated) -> None:
    config = package.Config.from_arguments(GIVEN)
    runners = package.TargetRunners(config, device="cpu")
    live = batch(package, "DECODE", 5)
    runner, offer = runners.select(live)
    loaded = runner.load(live, pad=offer)
    assert loaded.seq_lens[5:].tolist() == [1, 1, 1]
    assert loaded.out_cache_loc[5:].tolist() == [0, 0, 0]
    assert loaded.sampled_requests.tolist() == [5]


def test_without_graphs_one_runner_serves(package: Generated) -> None:
    config = package.Config.from_arguments({"cuda_graph": False})
    runners = package.TargetRunners(config, device="cpu")
    runner, _ = runners.select(batch(package, "DECODE", 3))
    assert runner is runners.eager
