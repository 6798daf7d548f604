"""The CUDA sources of runners: one type for each slot on the device, and nothing else."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from support.generated import ENGINES, generated
from support.load_libraries import needs_host_compiler, opened_emulated
from support.slot_loads import DTYPES
from ullage.analysis import Analysis
from ullage.emit.kernel import ELEMENTS, slot_type
from ullage.plan.model import PlannedRunner


def kernels(engine: str) -> tuple[Analysis, dict[str, str]]:
    analysis, files = generated(engine)
    return analysis, {path: text for path, text in files.items() if path.endswith(".cu")}


def types_in(text: str) -> list[tuple[str, str]]:
    """Name and type of each slot that a kernel lists."""
    return re.findall(r"// (\w+): \S+:\d+\n    (ullage::Slot<[^>]+>)", text)


def device_slots(runner: PlannedRunner) -> list[str]:
    return [slot_type(slot) for slot in runner.slots if slot.device == "compute"]


@pytest.mark.parametrize("engine", ENGINES)
def test_each_runner_has_a_kernel_with_its_slots_on_the_device_in_their_order(engine: str) -> None:
    analysis, files = kernels(engine)
    listed = {path: [each for _, each in types_in(text)] for path, text in files.items()}
    assert listed == {
        f"kernels/{runner.name}.cu": device_slots(runner) for runner in analysis.plan.runners
    }


def test_a_slot_has_its_dtype_on_the_device_its_dimensions_and_other_dtypes_of_sources() -> None:
    _, files = kernels("barrel")
    types = dict(types_in(files["kernels/plain_main.cu"]))
    assert types["weights"] == "ullage::Slot<float, 2>"
    assert types["square"] == "ullage::Slot<std::int16_t, 2, std::int64_t>"
    assert "hints" not in types, "it lies on the host"


def test_the_library_of_a_cpu_is_tested_with_every_dtype_that_kernels_have() -> None:
    assert {f"torch.{dtype}" for dtype in ELEMENTS} == set(map(str, DTYPES))


def test_a_kernel_is_this_text(golden: Callable[[str, str], None]) -> None:
    golden("emit/plain_main.cu", kernels("barrel")[1]["kernels/plain_main.cu"])


@pytest.mark.slow
@needs_host_compiler
def test_a_kernel_can_be_built_and_opened(tmp_path: Path) -> None:
    source = tmp_path / "plain_main.cu"
    source.write_text(kernels("barrel")[1]["kernels/plain_main.cu"])
    opened_emulated(source)(0)
