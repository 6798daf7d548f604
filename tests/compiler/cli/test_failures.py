"""What goes wrong is told with its place and code, by an exit code, and never by a traceback."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from support.command_line import Run
from support.tank import write_tank
from ullage import derivation
from ullage.commands import check

Golden = Callable[[str, str], None]


@pytest.fixture
def broken_spec() -> Path:
    """Two mistakes in two files."""
    changes = {
        "modes/decode.yaml": ("family: decode", "famly: decode"),
        "slots.yaml": ("dtype: int32, source", "dtype: int31, source"),
    }
    return write_tank(Path(), changes)


@pytest.mark.parametrize("command", ["check", "compile", "explain", "size", "audit"])
def test_every_command_shows_all_errors_of_a_spec(
    command: str, broken_spec: Path, ullage: Run, golden: Golden
) -> None:
    Path("settings.yaml").write_text("max_requests: 7\n")
    more = {
        "compile": ["--out", "out"],
        "explain": ["eager_target.tokens"],
        "size": ["--config", "settings.yaml"],
    }
    golden("cli/bad_spec.txt", ullage(command, "tank", *more.get(command, [])).shown)
    assert not Path("out").exists()


def test_errors_as_json(broken_spec: Path, ullage: Run) -> None:
    ran = ullage("check", "tank", "--json")
    found = json.loads(ran.out)["diagnostics"]
    assert [(each["code"], each["file"]) for each in found] == [
        ("U201", "tank/modes/decode.yaml"),
        ("U208", "tank/slots.yaml"),
    ]
    assert (ran.code, ran.err) == (1, "")


def test_errors_as_annotations(broken_spec: Path, ullage: Run, golden: Golden) -> None:
    golden("cli/bad_spec_github.txt", ullage("check", "tank", "--format", "github").shown)


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        ("a_value_is_in_range", "max_requests: 0\n"),
        ("a_value_has_its_type", "max_requests: many\ndrafts: maybe\npolicy: longets\n"),
        ("a_parameter_is_known", "max_reqests: 7\n"),
        ("a_guarded_parameter_is_left_out", "width: 4\n"),
        ("a_constraint_holds", '{"max_requests": 500, "max_tokens": 499}\n'),
        ("a_configuration_is_yaml", "max_requests: [7\n"),
        ("a_definition_is_not_given", "step: 3\n"),
    ],
)
def test_a_bad_configuration_is_refused(
    rule: str, text: str, tank: Path, ullage: Run, golden: Golden
) -> None:
    Path("settings.yaml").write_text(text)
    shown = ullage("size", "tank", "--config", "settings.yaml").shown
    golden(f"cli/configuration/{rule}.txt", shown)
    explained = ullage("explain", "tank", "eager_target.tokens", "--config", "settings.yaml")
    assert explained.shown == shown


@pytest.mark.slow
def test_a_configuration_that_a_slot_refuses_is_refused_by_every_command(
    ullage: Run, golden: Golden
) -> None:
    narrow = "dtype: uint8, source: batch.seq_lens, range: [0, max_requests * 5]"
    before = "dtype: int32, source: batch.seq_lens, range: [0, 2^16]"
    write_tank(Path(), {"slots.yaml": (before, f"{narrow}, on_overflow: refuse_config")})
    Path("settings.yaml").write_text("max_requests: 52\n")
    ran = ullage("size", "tank", "--config", "settings.yaml")
    golden("cli/configuration/a_slot_holds_its_values.txt", ran.shown)
    for command in (["plan", "tank"], ["explain", "tank", "eager_target.tokens"]):
        assert ullage(*command, "--config", "settings.yaml").err == ran.err
    Path("settings.yaml").write_text("max_requests: 51\n")
    assert ullage("size", "tank", "--config", "settings.yaml").code == 0


@pytest.mark.parametrize(
    ("rule", "arguments"),
    [
        ("no_folder", ["check", "nowhere"]),
        ("no_specs", ["check", "."]),
        ("no_configuration", ["size", "tank", "--config", "nowhere.yaml"]),
        ("configuration_is_a_folder", ["size", "tank", "--config", "tank"]),
        ("no_dot", ["explain", "tank", "tokens"]),
        ("unknown_runner", ["explain", "tank", "egaer_target.tokens"]),
        ("several_workers", ["explain", "tank", "eager.tokens"]),
        ("unknown_axis", ["explain", "tank", "eager_draft.tokns"]),
        ("unknown_slot", ["explain", "tank", "eager_draft.quite_another"]),
        ("unknown_code", ["error", "U2"]),
    ],
)
@pytest.mark.slow
def test_what_is_not_there_is_told(
    rule: str, arguments: list[str], ullage: Run, golden: Golden
) -> None:
    if "tank" in arguments:
        write_tank(Path())
    ran = ullage(*arguments)
    golden(f"cli/usage/{rule}.txt", ran.shown)
    assert ran.code == 2


@pytest.mark.parametrize(
    "arguments",
    [
        ["check"],
        ["chek", "tank"],
        ["check", "tank", "--format", "xml"],
        ["check", "tank", "more"],
        ["compile", "tank"],
        ["compile", "tank", "--out"],
        ["compile", "--out", "out"],
        ["size", "tank"],
        ["--nonsense"],
    ],
)
def test_wrong_usage_is_refused(arguments: list[str], tank: Path, ullage: Run) -> None:
    ran = ullage(*arguments)
    assert ran.code == 2
    assert ran.out == ""
    assert "Error" in ran.err
    assert "Traceback" not in ran.err


def interrupted(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


def test_an_interrupt_ends_quietly(
    tank: Path, ullage: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(check, "analyse", interrupted)
    assert ullage("check", "tank").shown == "--- exit code 130\n"


def test_an_interrupted_compile_leaves_no_output(
    tank: Path, ullage: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(derivation, "plan", interrupted)
    assert ullage("compile", "tank", "--out", "out").shown == "--- exit code 130\n"
    assert sorted(path.name for path in Path().iterdir()) == ["tank"]


def test_a_failure_of_the_system_is_told(
    tank: Path, ullage: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device", "disk")

    monkeypatch.setattr(check, "analyse", fail)
    ran = ullage("check", "tank")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == "ullage: error[U912]: No space left on device: disk\n"


@pytest.mark.slow
def test_colours_are_for_terminals_that_want_them(
    tank: Path, ullage: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "\x1b" not in ullage("check", "tank").shown
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm-256color")
    assert "\x1b[3" in ullage("check", "tank").out
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[3" not in ullage("check", "tank").out
