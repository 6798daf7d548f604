"""`ullage demo`: one mode or all of them, wrong names refused, and a missing extra named."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from ullage.cli import main
from ullage_demo import serving
from ullage_demo.__main__ import main as run_module
from ullage_demo.options import MODES, Options, parse
from ullage_demo.scenarios import SCENARIOS

ROOT = Path(__file__).parents[2]


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[Options]:
    """What was asked of the demo, which then serves nothing and finds a failed check."""
    asked: list[Options] = []

    def fail(options: Options) -> bool:
        asked.append(options)
        return False

    monkeypatch.setattr(serving, "serve", fail)
    return asked


def test_help_lists_every_mode_that_is_served(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--help"]) == 0
    text = capsys.readouterr().out
    listed = [line.split()[0] for line in text.partition("modes:\n")[2].splitlines()]
    assert listed == list(MODES) == list(SCENARIOS)
    assert "usage: ullage demo" in text


def test_every_option_reaches_the_demo(served: list[Options]) -> None:
    main(["demo", "--mode", "tree", "--requests", "9", "--debug"])
    main(["demo"])
    assert served == [
        Options("tree", 9, "cpu", "torch", debug=True),
        Options(None, 24, "cpu", "torch", debug=False),
    ]


def test_the_device_reaches_the_demo_where_there_is_one(
    served: list[Options], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    main(["demo", "--device", "cuda"])
    assert [each.device for each in served] == ["cuda"]


def test_a_device_that_is_not_there_is_wrong_usage(
    served: list[Options],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert main(["demo", "--device", "cuda"]) == 2
    assert "torch finds no CUDA device here" in capsys.readouterr().err
    assert not served


def test_a_failed_check_is_an_exit_code(served: list[Options]) -> None:
    assert main(["demo"]) == 1
    assert served


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--mode", "tre"], f"there is no mode 'tre'; there are {', '.join(MODES)}"),
        (["--mode"], "expected one argument"),
        (["--device", "tpu"], "there is no device 'tpu'; there are cpu and cuda"),
        (["tree"], "unrecognized arguments: tree"),
        (["--json"], "unrecognized arguments: --json"),
    ],
)
def test_what_the_demo_does_not_know_is_wrong_usage(
    arguments: list[str],
    message: str,
    served: list[Options],
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["demo", *arguments]) == 2
    assert message in capsys.readouterr().err
    assert not served


@pytest.mark.parametrize("count", ["7", "many", "-9"])
def test_too_few_requests_are_refused(count: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parse(["--requests", count], "demo")
    assert "whole number of at least 8" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("missing", ["torch", "transformers", "ullage_demo"])
def test_a_missing_extra_is_named(missing: str) -> None:
    program = (
        f"import sys; sys.modules[{missing!r}] = None; from ullage.cli import main; "
        "sys.exit(main(['demo']))"
    )
    path = os.pathsep.join(str(ROOT / name) for name in ("compiler", "runtime", "generated"))
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert f"the demo needs the module '{missing}" in done.stderr
    assert "pip install 'ullage[demo]'" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_one_mode_alone_is_served(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--mode", "frozen", "--requests", "8"]) == 0
    by_command = capsys.readouterr().out
    assert "frozen_kv_draft" in by_command
    assert "one batch too many" in by_command
    assert "diffusion" not in by_command
    assert run_module(["--mode", "frozen", "--requests", "8"]) == 0
    assert "frozen_kv_draft" in capsys.readouterr().out


def test_kernels_that_follow_the_cpu_take_a_device(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--attention", "flashinfer"]) == 2
    assert "--attention flashinfer takes --device cuda" in capsys.readouterr().err
