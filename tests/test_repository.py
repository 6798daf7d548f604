"""Rules about the repository itself: what a newcomer is told is there, is there."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = (
    "compiler/ullage",
    "runtime/ullage_runtime",
    "runtime/ullage_demo",
    "generated/ullage_generated",
)

LONGEST_FILE = 400
# Python files that are allowed to be longer, each with its reason.
LONG_FILES: dict[str, str] = {
    "tests/compiler/prove/test_checker.py": "one case for every way to break a rule of proof",
    "tests/support/simulation.py": "one interpreter of the language, to hold the compiler against",
}

# The start of an absolute path on somebody's machine. After a word it is relative: `a/home/b`.
MACHINE_PATH = re.compile(r"(?<![\w.\-/}$*])/(?:home|Users|root|work|tmp|mnt|private|workspace)/\w")


def tracked_files() -> list[Path]:
    """What git tracks, or will once everything new here is added."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if listed.returncode != 0:
        pytest.skip("not a git clone")
    return [path for name in listed.stdout.split("\0") if name and (path := ROOT / name).is_file()]


def project() -> dict[str, object]:
    table = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert isinstance(table, dict)
    return table


def requirements() -> list[str]:
    """Every direct requirement, extras included, less those on the project's own extras."""
    base, extras = project()["dependencies"], project()["optional-dependencies"]
    assert isinstance(base, list)
    assert isinstance(extras, dict)
    everything = [*base, *(line for extra in extras.values() for line in extra)]
    return [line for line in everything if not line.startswith("ullage[")]


def normalised(requirement: str) -> str:
    return re.split(r"[=<>~!\[ ;]", requirement)[0].lower().replace("_", "-")


def make_targets() -> set[str]:
    return set(re.findall(r"^([a-z][a-z-]*):(?!=)", (ROOT / "Makefile").read_text(), re.MULTILINE))


@pytest.mark.parametrize("document", ["README.md", "CONTRIBUTING.md", ".ci/run"])
def test_every_make_command_that_a_document_names_exists(document: str) -> None:
    text = (ROOT / document).read_text()
    named = set(re.findall(r"(?:^|`|step [\w']+ )make ([a-z][a-z-]*)", text, re.MULTILINE))
    assert named
    assert named <= make_targets()


def test_every_link_to_a_file_leads_somewhere() -> None:
    broken = [
        f"{path.relative_to(ROOT)}: {target}"
        for path in tracked_files()
        if path.suffix == ".md"
        for target in re.findall(r"\]\(([^)#\s:]+)[^):]*\)", path.read_text())
        if not (path.parent / target).exists()
    ]
    assert broken == []


def test_the_ci_runs_the_tests_as_the_readme_does() -> None:
    assert "make test" in (ROOT / "README.md").read_text()
    assert "make test" in (ROOT / ".ci" / "run").read_text()


@pytest.mark.parametrize("package", PACKAGES)
def test_each_package_is_one_and_ships_its_types(package: str) -> None:
    assert (ROOT / package / "__init__.py").is_file()
    assert (ROOT / package / "py.typed").is_file()


def test_the_wheel_holds_exactly_the_packages() -> None:
    tools = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]
    assert set(tools["hatch"]["build"]["targets"]["wheel"]["packages"]) == set(PACKAGES)


def test_the_licence_is_the_one_declared() -> None:
    assert project()["license"] == "Apache-2.0"
    assert "Apache License" in (ROOT / "LICENSE").read_text()


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("see /home/ann/ullage", True),
        ("--out=/Users/ann/out", True),
        ("`/mnt/disk/a`", True),
        ("docs/home/index.md", False),
        ("$OUT/home/a", False),
        ("#!/usr/bin/env bash", False),
    ],
)
def test_a_machine_path_is_told_from_a_relative_one(text: str, is_one: bool) -> None:
    assert bool(MACHINE_PATH.search(text)) is is_one


def test_no_file_names_a_path_of_one_machine() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()[:100]}"
        for path in tracked_files()
        if path != Path(__file__)
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1)
        if MACHINE_PATH.search(line) or f"{ROOT}/" in line
    ]
    assert found == []


def test_no_python_file_is_longer_than_one_idea_needs() -> None:
    lengths = {
        str(path.relative_to(ROOT)): len(path.read_text().splitlines())
        for path in tracked_files()
        if path.suffix == ".py" and ROOT / "generated" not in path.parents
    }
    longer = {name for name, lines in lengths.items() if lines > LONGEST_FILE}
    assert longer == set(LONG_FILES)


@pytest.mark.parametrize("requirement", requirements())
def test_every_requirement_has_a_lower_bound(requirement: str) -> None:
    assert re.search(r"(>=|==)\d", requirement)


def test_every_requirement_off_the_gpu_is_pinned_for_ci() -> None:
    extras = project()["optional-dependencies"]
    assert isinstance(extras, dict)
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    assert [pin for pin in pins if not re.fullmatch(r"[a-z0-9.-]+==[\w.]+", pin)] == []
    needed = {normalised(line) for line in requirements()}
    gpu_only = {normalised(line) for line in extras["gpu"]}
    assert needed - gpu_only <= {normalised(pin) for pin in pins}
