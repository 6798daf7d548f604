"""`ullage compile`: what it writes, what it refuses, and when it need not compile at all."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from support.command_line import Run
from support.tank import write_tank
from ullage.commands import app, build, compile
from ullage.commands.compile import Request, plain_request
from ullage.commands.compiled import Compiled, from_text, to_text
from ullage.commands.reporting import Exit
from ullage.diagnostics.diagnostic import Diagnostic
from ullage.place import Place

COMPILE = ("compile", "tank", "--out", "out")
PACKAGE = Path("out/tank")
UNPROVEN = Diagnostic("U503", "eager_target.tokens is not proved", Place("tank/a.yaml", 1, 8))
HEAVY = ("sympy", "z3", "jinja2", "torch", "typer", "rich", "yaml", "ullage.analysis")


def written() -> Mapping[str, bytes]:
    return {
        path.relative_to(PACKAGE).as_posix(): path.read_bytes()
        for path in PACKAGE.rglob("*")
        if path.is_file()
    }


def no_build(*_: object) -> None:
    raise AssertionError("compiled although the cache has the result")


def test_a_first_compile_writes_the_package_and_names_every_file(tank: Path, ullage: Run) -> None:
    ran = ullage(*COMPILE)
    assert (ran.code, ran.err) == (0, "")
    files = written()
    assert ran.out.splitlines()[0] == f"out/tank: {len(files)} added"
    assert ran.out.splitlines()[1:] == [f"  added    {name}" for name in sorted(files)]
    assert "max_requests" in files["config.py"].decode()


def test_a_second_compile_changes_nothing(tank: Path, ullage: Run) -> None:
    ullage(*COMPILE)
    before = {path: path.stat().st_mtime_ns for path in PACKAGE.rglob("*")}
    assert ullage(*COMPILE).shown == "out/tank: nothing changed\n--- exit code 0\n"
    assert {path: path.stat().st_mtime_ns for path in PACKAGE.rglob("*")} == before


@pytest.mark.slow
def test_an_edited_spec_changes_the_files_that_it_is_about(tank: Path, ullage: Run) -> None:
    ullage(*COMPILE)
    write_tank(Path(), {"engine.yaml": ("default: 24", "default: 25")})
    ran = ullage(*COMPILE)
    assert ran.code == 0
    assert "changed  config.py" in ran.out
    assert "added" not in ran.out


def test_a_check_of_fresh_output_is_quiet_and_writes_nothing(tank: Path, ullage: Run) -> None:
    ullage(*COMPILE)
    assert ullage(*COMPILE, "--check").shown == "out/tank: nothing changed\n--- exit code 0\n"


def test_a_check_without_output_fails_and_writes_nothing(tank: Path, ullage: Run) -> None:
    ran = ullage(*COMPILE, "--check")
    assert ran.code == 1
    assert "error[U901]" in ran.err
    assert not Path("out").exists()


def test_a_check_shows_what_drifted(tank: Path, ullage: Run) -> None:
    ullage(*COMPILE)
    config = PACKAGE / "config.py"
    original = config.read_text()
    config.write_text(original + "edited = True\n")
    ran = ullage(*COMPILE, "--check")
    assert ran.code == 1
    assert ran.out.startswith("--- a/tank/config.py\n+++ b/tank/config.py\n")
    assert "-edited = True\n" in ran.out
    assert ran.err == (
        "out/tank:1:1: error[U901]: the folder is not what tank compiles to: 1 changed\n"
        "  hint: ullage compile tank --out out\n"
        "  see: ullage error U901\n\n1 error\n"
    )
    assert config.read_text() == original + "edited = True\n"
    assert ullage(*COMPILE).out == "out/tank: 1 changed\n  changed  config.py\n"
    assert config.read_text() == original


@pytest.mark.slow
def test_drift_as_json_and_as_an_annotation(tank: Path, ullage: Run) -> None:
    ullage(*COMPILE)
    (PACKAGE / "config.py").unlink()
    document = json.loads(ullage(*COMPILE, "--check", "--json").out)
    assert document["added"] == ["config.py"]
    assert [found["code"] for found in document["diagnostics"]] == ["U901"]
    ran = ullage(*COMPILE, "--check", "--format", "github")
    assert ran.code == 1
    assert "\n::error file=out/tank,line=1,col=1,title=U901::" in ran.out


@pytest.mark.slow
def test_output_does_not_depend_on_where_and_how_it_is_compiled(
    tank: Path, ullage: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tank.parent / ".git").mkdir()
    specs = tank.rename("specs").resolve()
    ullage("compile", "specs", "--out", "out", "--no-cache")
    files, out = written(), Path("out").resolve()
    assert b"specs/engine.yaml:" in files["config.py"]
    elsewhere = specs.parent / "else" / "where"
    elsewhere.mkdir(parents=True)
    for here in (specs, specs.parent, specs.parent.parent, elsewhere):
        monkeypatch.chdir(here)
        for folder in (str(specs), os.path.relpath(specs)):
            ran = ullage("compile", folder, "--out", str(out), "--check", "--no-cache")
            assert (ran.code, ran.err) == (0, "")


@pytest.mark.slow
@pytest.mark.parametrize("flags", [[], ["--no-cache"]])
def test_errors_name_files_that_open_from_the_working_folder(
    flags: list[str], ullage: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = write_tank(Path(), {"modes/decode.yaml": ("family: decode", "famly: decode")})
    absolute = broken.resolve()
    below = absolute / "modes"
    monkeypatch.chdir(below)
    for folder, file in (
        ("..", "../modes/decode.yaml"),
        (str(absolute), str(below / "decode.yaml")),
    ):
        ran = ullage("compile", folder, "--out", "out", *flags)
        assert ran.code == 1
        assert ran.err.startswith(f"{file}:")
        assert "famly: decode" in ran.err
        assert ran.err == ullage("check", folder).err


@pytest.mark.slow
def test_a_folder_with_foreign_files_is_left_alone(tank: Path, ullage: Run) -> None:
    PACKAGE.mkdir(parents=True)
    (PACKAGE / "notes.txt").write_text("mine")
    ran = ullage(*COMPILE)
    assert ran.code == 2
    assert ran.err == (
        "out/tank:1:1: error[U902]: the folder holds what Ullage did not write: notes.txt\n"
        "  hint: move it elsewhere, or choose an empty folder\n"
        "  see: ullage error U902\n\n1 error\n"
    )
    assert written() == {"notes.txt": b"mine"}


@pytest.mark.slow
def test_an_output_folder_below_a_file_is_refused(tank: Path, ullage: Run) -> None:
    Path("out").write_text("in the way")
    ran = ullage(*COMPILE)
    assert ran.code == 2
    assert "out/tank:1:1: error[U903]: " in ran.err
    assert Path("out").read_text() == "in the way"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_output_folder_is_refused(tank: Path, ullage: Run) -> None:
    Path("out").mkdir(mode=0o500)
    ran = ullage(*COMPILE)
    assert ran.code == 2
    assert "error[U903]" in ran.err
    assert list(Path("out").iterdir()) == []


def test_unproven_capacities_are_refused(
    tank: Path, ullage: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build, "unproven", lambda analysis: (UNPROVEN,))
    ran = ullage(*COMPILE)
    assert ran.code == 1
    assert "tank/a.yaml:1:8: error[U503]: eager_target.tokens is not proved" in ran.err
    assert not Path("out").exists()


@pytest.mark.slow
def test_unproven_capacities_are_warnings_when_they_are_allowed(
    tank: Path, ullage: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build, "unproven", lambda analysis: (UNPROVEN,))
    ran = ullage(*COMPILE, "--allow-unproven")
    assert ran.code == 0
    assert "tank/a.yaml:1:8: warning[U503]: eager_target.tokens is not proved" in ran.err
    assert "config.py" in written()


# The cache


def test_an_unchanged_spec_is_not_compiled_again(
    tank: Path, ullage: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = ullage(*COMPILE)
    monkeypatch.setattr(build, "build", no_build)
    (PACKAGE / "config.py").unlink()
    assert ullage(*COMPILE).out == "out/tank: 1 added\n  added    config.py\n"
    assert ullage("compile", "tank", "--out", "other").out == first.out.replace("out/", "other/")


@pytest.mark.slow
def test_what_a_compilation_says_is_kept_too(
    tank: Path, ullage: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build, "unproven", lambda analysis: (UNPROVEN,))
    first = ullage(*COMPILE)
    monkeypatch.setattr(build, "build", no_build)
    assert ullage(*COMPILE) == first


@pytest.mark.slow
def test_a_damaged_entry_is_replaced(tank: Path, ullage: Run, tmp_path: Path) -> None:
    ullage(*COMPILE)
    kept = {entry: entry.read_bytes() for entry in (tmp_path / "cache").iterdir()}
    for entry, stored in kept.items():
        entry.write_bytes(stored[:-20])
    files = written()
    assert ullage(*COMPILE).out == "out/tank: nothing changed\n"
    assert written() == files
    assert {entry: entry.read_bytes() for entry in (tmp_path / "cache").iterdir()} == kept


@pytest.mark.slow
def test_a_spec_of_another_name_has_entries_of_its_own(
    tank: Path, ullage: Run, tmp_path: Path
) -> None:
    ullage(*COMPILE)
    entries = len(list((tmp_path / "cache").iterdir()))
    tank.rename("barrel")
    ullage("compile", "barrel", "--out", "out")
    assert len(list((tmp_path / "cache").iterdir())) == 2 * entries
    assert b"barrel/" in written()["config.py"]


@pytest.mark.slow
def test_the_flag_and_the_environment_switch_the_cache_off(
    tank: Path, ullage: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ullage(*COMPILE, "--no-cache")
    monkeypatch.setenv("ULLAGE_NO_CACHE", "1")
    ullage(*COMPILE)
    assert not (tmp_path / "cache").exists()


def test_nothing_is_kept_of_a_spec_with_errors(ullage: Run, tmp_path: Path) -> None:
    write_tank(Path(), {"slots.yaml": ("dtype: int32, value", "dtype: int31, value")})
    assert ullage(*COMPILE).code == 1
    assert not (tmp_path / "cache").exists()


def test_a_compilation_survives_the_cache_unchanged() -> None:
    related = ((Place("b.yaml", 3, 4, 5), "here"),)
    found = replace(UNPROVEN, hint="split it", related=related, severity="warning")
    compiled = Compiled("tank", {"a.py": "x = 'ß'\n"}, {"spec": "12"}, (found,), (UNPROVEN,))
    assert from_text(to_text(compiled)) == compiled


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"engine": 1}', "nonsense", "null"])
def test_a_text_of_another_form_is_no_compilation(text: str) -> None:
    assert from_text(text) is None


# Two ways to read the command line


@pytest.mark.parametrize(
    "arguments",
    [
        ["compile", "a/b", "--out", "c"],
        ["compile", "--out", "c", "a/b", "--check"],
        ["compile", "--allow-unproven", "--no-cache", "a", "--out", "c"],
    ],
)
def test_the_plain_form_is_read_as_the_library_reads_it(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    requests: list[Request] = []

    def remember(request: Request) -> Exit:
        requests.append(request)
        return Exit.OK

    monkeypatch.setattr(compile, "run", remember)
    with pytest.raises(SystemExit):
        app.app(args=arguments)
    assert requests == [plain_request(arguments)]


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["check", "a"],
        ["compile"],
        ["compile", "a"],
        ["compile", "a", "b", "--out", "c"],
        ["compile", "a", "--out"],
        ["compile", "a", "--out", "--check"],
        ["compile", "a", "--out", "b", "--out", "c"],
        ["compile", "a", "--out=b"],
        ["compile", "a", "--out", "b", "--json"],
        ["compile", "--help"],
    ],
)
def test_every_other_form_is_left_to_the_library(arguments: list[str]) -> None:
    assert plain_request(arguments) is None


# Whole processes


def ullage_process(*arguments: str, code: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


MAIN = "import sys; from ullage.cli import main; sys.exit(main())"
LOADED = "import sys; from ullage.cli import main; main(); print(*sys.modules, file=sys.stderr)"


def test_a_compile_with_nothing_to_do_loads_nothing_heavy(tank: Path, ullage: Run) -> None:
    ullage(*COMPILE)
    out, modules = ullage_process(*COMPILE, code=LOADED).communicate()
    assert out == "out/tank: nothing changed\n"
    assert set(HEAVY) & set(modules.split()) == set()


@pytest.mark.slow
def test_two_processes_at_once_both_succeed(tank: Path, ullage: Run, tmp_path: Path) -> None:
    both = [ullage_process(*COMPILE, code=MAIN) for _ in range(2)]
    answers = [process.communicate() for process in both]
    assert [process.returncode for process in both] == [0, 0], answers
    outputs = sorted(out.splitlines()[0] for out, _ in answers)
    added = f"out/tank: {len(written())} added"
    assert outputs in ([added, "out/tank: nothing changed"], sorted([added, added]))
    entries = {path.name for path in (tmp_path / "cache").iterdir()}
    ullage(*COMPILE)
    assert {path.name for path in (tmp_path / "cache").iterdir()} == entries


def test_a_reader_that_leaves_early_is_no_failure(tank: Path) -> None:
    process = ullage_process("error", code=MAIN)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    assert process.stderr.read() == ""
    assert process.wait() == 0
