"""Generated packages as text: the same everywhere, formatted, linted and typed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from support.barrel import BARREL
from support.generated import (
    ENGINES,
    generated,
    generated_barrel,
    write_package,
    write_specs,
)
from ullage.emit.modules import GENERATED_CODE_VERSION
from ullage.emit.package import emit

ROOT = Path(__file__).parents[3]
SGLANG = ROOT / "generated" / "ullage_generated" / "sglang"

EMIT = """
import sys
from pathlib import Path
from ullage.analyse import analyse
from ullage.emit.package import emit
for path, text in sorted(emit(analyse(Path(sys.argv[1]))).items()):
    sys.stdout.write(f"=== {path}\\n{text}")
"""


FITTING = """
from press import Attention, Config, EagerHelperBatch
from sglang import Config as Settings
from sglang import DraftGraphDraftBatch, FlashinferDraftDecode, FlashinferGraphDecode

def attention(batch: EagerHelperBatch, config: Config) -> Attention:
    return Attention(batch, config)

def step(batch: DraftGraphDraftBatch, config: Settings) -> FlashinferDraftDecode:
    return FlashinferDraftDecode(batch, config, 0, use_tensor_cores=False)

def without_its_slots(batch: DraftGraphDraftBatch, config: Settings) -> FlashinferGraphDecode:
    return FlashinferGraphDecode(batch, config, use_tensor_cores=False)  # type: ignore[arg-type]
"""
"""Wrappers over batches that have their slots, and over one that has not."""


def emitted_with(seed: str, folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-c", EMIT, "specs/barrel"],
        cwd=folder,
        env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT / "compiler")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_the_same_specs_give_the_same_bytes_whatever_the_hash_seed(tmp_path: Path) -> None:
    write_specs(tmp_path, "barrel", BARREL)
    texts = {emitted_with(seed, tmp_path) for seed in ("0", "1", "4242")}
    assert len(texts) == 1
    files = generated_barrel()[1]
    assert texts == {"".join(f"=== {path}\n{files[path]}" for path in sorted(files))}


def test_emitting_twice_gives_the_same_files() -> None:
    analysis, files = generated_barrel()
    assert emit(analysis) == files


def all_files() -> Mapping[str, str]:
    written = (path for path in SGLANG.rglob("*") if path.suffix in (".py", ".cu"))
    checked_in = {f"sglang/{path.relative_to(SGLANG)}": path.read_text() for path in written}
    return checked_in | {
        f"{engine}/{path}": text
        for engine in ENGINES
        for path, text in generated(engine)[1].items()
    }


def all_modules() -> Mapping[str, str]:
    return {path: text for path, text in all_files().items() if path.endswith(".py")}


def test_every_file_says_where_it_comes_from_and_nothing_of_this_machine() -> None:
    for path, text in all_files().items():
        header = text.splitlines()[:2]
        assert "DO NOT EDIT" in header[0], path
        formatter = r" Formatter: ruff [\d.]+\." if path.endswith(".py") else ""
        assert re.fullmatch(rf"(#|//) Compiler: ullage [\d.]+\.{formatter}", header[1]), path
        assert str(ROOT) not in text
        assert not re.search(r"20\d\d-\d\d-\d\d", text), path


def test_every_module_with_behaviour_checks_the_version_of_the_runtime() -> None:
    for path, text in all_modules().items():
        checks = f"require_generated_code_version({GENERATED_CODE_VERSION}, __name__)" in text
        assert checks is not path.endswith("__init__.py"), path


def test_every_definition_names_the_spec_line_that_it_came_from() -> None:
    for path, text in all_files().items():
        lines = text.splitlines()
        for number, line in enumerate(lines):
            if re.match(r"    def [a-z]\w*\(.*|    @cached_property", line) and path.endswith(
                "/engine.py"
            ):
                assert re.search(r"# specs/\S+\.yaml:\d+", lines[number - 1]), f"{path}:{number}"


def test_what_is_generated_is_formatted_and_has_nothing_to_lint(tmp_path: Path) -> None:
    folder = write_package(tmp_path / "packages", all_files())
    ruff = Path(sys.executable).with_name("ruff")
    config = ("--config", str(ROOT / "pyproject.toml"), "--no-cache")
    for command in (("check", "-q"), ("format", "--check", "-q")):
        done = subprocess.run(
            [ruff, *command, *config, str(folder)], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_what_is_generated_is_strictly_typed(tmp_path: Path, pytestconfig: pytest.Config) -> None:
    """What is found about torch is kept from run to run, as mypy does it."""
    folder = write_package(tmp_path / "packages", {**all_files(), "fitting.py": FITTING})
    options = ("--strict", "--warn-unreachable", "--config-file", os.devnull)
    kept = getattr(pytestconfig, "cache", None)  # pytest may be told to have none
    cache = ("--cache-dir", str(tmp_path / "cache" if kept is None else kept.mkdir("mypy")))
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *options, *cache, "sglang", *ENGINES, "fitting.py"],
        cwd=folder,
        env={**os.environ, "MYPYPATH": str(ROOT / "runtime")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
