"""The spec folders that growth is measured on are sound specs, or nothing would be measured."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from support.generated import write_package
from ullage.analyse import analyse
from ullage.analysis import Analysis
from ullage.emit.package import emit

MODES = 10
SYNTHETIC = Path(__file__).parents[1] / "benchmarks" / "synthetic.py"


@pytest.fixture(scope="module")
def analysis(tmp_path_factory: pytest.TempPathFactory) -> Analysis:
    spec = importlib.util.spec_from_file_location("synthetic_specs", SYNTHETIC)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    folder = tmp_path_factory.mktemp("synthetic") / "specs"
    module.write_specs(folder, MODES)
    return analyse(folder)


def test_every_capacity_of_a_synthetic_engine_is_proved_without_a_warning(
    analysis: Analysis,
) -> None:
    assert len(analysis.certificate.proofs) == 2
    assert analysis.certificate.unproven == ()
    assert analysis.warnings == ()


def test_the_package_of_a_synthetic_engine_is_one(analysis: Analysis, tmp_path: Path) -> None:
    write_package(tmp_path / "synthetic_engine", emit(analysis))
    package = _imported(tmp_path, "synthetic_engine")
    config = package.Config.of(tp_size=4, chunk_0=97, max_running_requests=7)
    capacities = package.Runner0TargetCapacities.of(config)
    assert len(package.Mode) == MODES
    assert capacities.tokens == 100  # a chunk, up to a multiple of the ranks
    assert capacities.requests == 8  # 7 requests of one token each, likewise


def _imported(folder: Path, name: str) -> ModuleType:
    sys.path.insert(0, str(folder))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(str(folder))
