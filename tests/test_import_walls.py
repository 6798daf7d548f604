"""Who may import whom: the compiler runs without torch, and generated code without the compiler."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE_ROOTS = [ROOT / name for name in ("compiler", "runtime", "generated")]

COMPILER_ONLY = {"sympy", "z3", "yaml", "jinja2", "ullage"}
RUNTIME_ONLY = {"torch", "ullage_runtime", "ullage_demo", "ullage_generated"}
FOR_GENERATED = {*sys.stdlib_module_names, "torch", "ullage_runtime", "ullage_generated"}
FOR_STRATEGIES = FOR_GENERATED | {"hypothesis"}

_COMMANDS = Path("compiler", "ullage", "commands")
DOORS = {_COMMANDS / "demo.py": "ullage_demo", _COMMANDS / "build_kernels.py": "ullage_runtime"}
"""The modules of the compiler that may name another package, in a function that loads it."""


def imported(source: str) -> set[str]:
    """The top-level names that a module imports, in functions and for type checking too."""
    return {name.split(".")[0] for node in ast.walk(ast.parse(source)) for name in named_by(node)}


def named_by(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Import(names=names):
            yield from (alias.name for alias in names)
        case ast.ImportFrom(module=str(module), level=0):
            yield module
        case ast.Call(
            func=ast.Attribute(attr="import_module") | ast.Name(id="import_module" | "__import__"),
            args=[ast.Constant(value=str(name)), *_],
        ) if not name.startswith("."):
            yield name


def modules(folder: str) -> list[Path]:
    found = sorted((ROOT / folder).rglob("*.py"))
    assert found, f"no module under {folder}: the wall would hold for nothing"
    return found


def violations(folder: str, forbidden: set[str]) -> list[str]:
    return [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in modules(folder)
        for name in sorted(imported(path.read_text()) & forbidden - through_the_door(path))
    ]


def through_the_door(path: Path) -> set[str]:
    return {name for door, name in DOORS.items() if path == ROOT / door}


@pytest.mark.parametrize(
    "source",
    [
        "import z3",
        "import z3.z3util as util",
        "from z3 import Int",
        "from z3.z3util import get_vars",
        "def late():\n    import z3",
        "if TYPE_CHECKING:\n    from z3 import ExprRef",
        "import importlib\nimportlib.import_module('z3.z3util')",
        "__import__('z3')",
    ],
)
def test_every_way_to_import_is_seen(source: str) -> None:
    assert "z3" in imported(source)


def test_relative_imports_cross_no_wall() -> None:
    assert imported("from . import z3\nfrom .sympy import Max") == set()


@pytest.mark.parametrize("package", ["ullage_runtime", "ullage_demo"])
def test_the_runtime_does_without_the_compiler_and_its_libraries(package: str) -> None:
    assert violations(f"runtime/{package}", COMPILER_ONLY) == []


def test_the_runtime_knows_engines_by_their_attributes_alone() -> None:
    assert violations("runtime/ullage_runtime", {"sglang", "ullage_generated", "ullage_demo"}) == []


@pytest.mark.parametrize(("door", "package"), DOORS.items())
def test_a_door_is_there_and_leads_to_one_package_alone(door: Path, package: str) -> None:
    assert imported((ROOT / door).read_text()) & RUNTIME_ONLY == {package}


@pytest.mark.slow
def test_generated_code_does_without_the_compiler_and_its_libraries() -> None:
    assert violations("generated", COMPILER_ONLY) == []


@pytest.mark.slow
def test_the_compiler_does_without_torch_and_what_it_generates() -> None:
    assert violations("compiler", RUNTIME_ONLY) == []


def test_generated_code_needs_the_runtime_and_torch_alone() -> None:
    foreign = {
        str(path.relative_to(ROOT)): names
        for path in modules("generated")
        if (names := imported(path.read_text()) - allowed_in_generated(path))
    }
    assert foreign == {}


def allowed_in_generated(path: Path) -> set[str]:
    return FOR_STRATEGIES if path.name == "strategies.py" else FOR_GENERATED


@pytest.mark.parametrize(
    ("module", "absent"),
    [
        ("ullage", RUNTIME_ONLY),
        ("ullage.cli", RUNTIME_ONLY),
        ("ullage.commands.app", RUNTIME_ONLY),
        ("ullage.commands.demo", RUNTIME_ONLY),
        ("ullage.commands.build_kernels", RUNTIME_ONLY),
        ("ullage_demo.options", COMPILER_ONLY | RUNTIME_ONLY - {"ullage_demo"}),
        ("ullage_runtime", COMPILER_ONLY),
        ("ullage_generated", COMPILER_ONLY),
    ],
)
def test_importing_loads_nothing_from_behind_the_wall(module: str, absent: set[str]) -> None:
    assert loaded_by_importing(module) & absent == set()


def loaded_by_importing(module: str) -> set[str]:
    """The top-level modules in a fresh interpreter after one import."""
    path = os.pathsep.join(map(str, SOURCE_ROOTS))
    program = f"import sys, {module}; print(*{{name.split('.')[0] for name in sys.modules}})"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())
