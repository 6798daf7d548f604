"""Whatever the streams of a command are: an exit code that says what it means, and no traceback."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.command_line import Run
from support.tank import write_tank
from ullage.commands.compiled import from_text

BROKEN = {"modes/decode.yaml": ("family: decode", "famly: decode")}
COMMANDS = [
    (["check", "tank"], 0),
    (["compile", "tank", "--out", "out"], 0),
    (["error", "--json"], 0),
    (["--help"], 0),
    (["check", "broken/tank"], 1),
    (["compile", "tank", "--out", "elsewhere", "--check"], 1),
    (["check", "nowhere"], 2),
    (["chek"], 2),
]
ULLAGE = (sys.executable, "-m", "ullage")


@pytest.fixture(autouse=True)
def specs(tank: Path) -> None:
    write_tank(Path("broken"), BROKEN)


@pytest.mark.parametrize(("arguments", "code"), COMMANDS)
@pytest.mark.slow
def test_a_reader_that_leaves_at_once_changes_no_exit_code(arguments: list[str], code: int) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        ran = subprocess.run([*ULLAGE, *arguments], stdout=writing, stderr=writing, check=False)
    finally:
        os.close(writing)
    assert ran.returncode == code


@pytest.mark.parametrize(("arguments", "code"), COMMANDS)
@pytest.mark.parametrize("closed", [">&-", "2>&-"])
@pytest.mark.slow
def test_a_closed_stream_changes_no_exit_code(closed: str, arguments: list[str], code: int) -> None:
    command = ["sh", "-c", f'exec "$@" {closed}', "sh", *ULLAGE, *arguments]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == code
    assert "Traceback" not in ran.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no device that is full")
@pytest.mark.parametrize(("arguments", "_"), COMMANDS[:4])
@pytest.mark.slow
def test_a_full_disk_is_told(arguments: list[str], _: int) -> None:
    with open("/dev/full", "w") as full:
        command = [*ULLAGE, *arguments]
        ran = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
        silent = subprocess.run(command, stdout=full, stderr=full, check=False)
    assert (ran.returncode, silent.returncode) == (2, 2)
    assert ran.stderr == "ullage: error[U912]: No space left on device\n"


@pytest.mark.slow
def test_json_stays_json_where_the_encoding_is_narrow() -> None:
    bad = {"modes/decode.yaml": ("family: decode", "'größer \U0001f600': decode")}
    write_tank(Path("broken"), bad)
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    ran = subprocess.run(
        [*ULLAGE, "check", "broken/tank", "--json"],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )
    messages = [each["message"] for each in json.loads(ran.stdout)["diagnostics"]]
    assert any("größer" in message for message in messages)


def test_what_a_message_repeats_cannot_steer_the_terminal(ullage: Run) -> None:
    ran = ullage("error", "\x1b[31mU302")
    assert ran.code == 2
    assert "\x1b" not in ran.err


def test_a_kept_text_that_is_nested_too_deep_is_no_compilation() -> None:
    assert from_text("[" * 100_000) is None
