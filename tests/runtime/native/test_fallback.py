"""Where there is no kernel, torch loads, and one line of the log says why."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
import torch

from support.slot_loads import Case, Loaded
from ullage_runtime.arena_regions import Regions
from ullage_runtime.native import writer
from ullage_runtime.native.build import BuildError
from ullage_runtime.native.targets import Target
from ullage_runtime.native.writer import writer_for
from ullage_runtime.torch_writer import TorchWriter

PLAIN = Case((64,), (32,), (20,), torch.int64, torch.int64, "dense", True, 7)


@pytest.fixture
def regions() -> Regions:
    return Loaded([PLAIN], "cpu").regions


@pytest.fixture
def on_a_device(regions: Regions, monkeypatch: pytest.MonkeyPatch) -> Regions:
    """Regions that say they were on a CUDA device."""
    monkeypatch.setattr(regions.compute.shared.arena, "device", torch.device("cuda", 0))
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda _: (9, 0))
    return regions


def test_slots_on_the_host_need_no_library(
    regions: Regions, caplog: pytest.LogCaptureFixture
) -> None:
    assert isinstance(writer_for("nowhere.py", regions), TorchWriter)
    assert caplog.records == []


def test_why_there_is_no_kernel_is_said_in_one_line(
    on_a_device: Regions, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(kernel: Path, target: Target) -> Path:
        assert kernel == Path("package", "kernels", "eager.cu")
        raise BuildError(f"no nvcc for {target.name}")

    monkeypatch.setattr(writer, "library_of", refuse)
    with caplog.at_level(logging.WARNING):
        assert isinstance(writer_for("package/eager.py", on_a_device), TorchWriter)
    (record,) = caplog.records
    assert record.getMessage() == "eager is loaded by torch, slot by slot: no nvcc for 9.0"
