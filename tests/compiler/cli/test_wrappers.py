"""What the command line shows of wrappers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.command_line import Run
from support.press import PRESS
from support.specs import edited


@pytest.fixture(autouse=True)
def press() -> None:
    """The spec folder `press` in the working folder, and a configuration of it."""
    nothing = (
        "make: {bias: {given: tensor}, count: marks + 1}\n    plan: {modes: mode}",
        "plan: {}",
    )
    for path, text in edited("wrappers.yaml", nothing, files=PRESS).items():
        target = Path("press") / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
    Path("settings.yaml").write_text("heads: 3\n")
    Path("plain.yaml").write_text("backend: plain\n")


def test_check_names_every_wrapper_with_the_runners_whose_batches_have_its_slots(
    ullage: Run,
) -> None:
    shown = ullage("check", "press").out
    assert "attention  press_kernels.paged.Attention" in shown
    assert "  where fancy and heads > 1\n    over batches of eager_main, eager_helper\n" in shown
    assert "over no slots\n" in shown
    found = json.loads(ullage("check", "press", "--json").out)["wrappers"]
    assert [each["wrapper"] for each in found] == ["attention", "layer_attention", "mode"]
    assert found[1]["each"] == {"index": "layer", "count": "layers"}
    assert [each["runners"] for each in found] == [["eager_main", "eager_helper"]] * 2 + [[]]


def test_explain_shows_what_a_library_gets(ullage: Run) -> None:
    shown = ullage("explain", "press", "layer_attention", "--config", "settings.yaml").out
    assert "of      press_kernels.paged.Attention\n" in shown
    assert "each    layer, of which there are layers = 3\n" in shown
    assert "  table  slot layer_table[layer] [requests, columns] in one axis" in shown
    assert "  config  given by the engine, tensors" in shown
    assert "run     (query: tensor)\n" in shown
    shown = ullage("explain", "press", "attention", "--config", "settings.yaml").out
    assert "  narrow  heads < 4 = true" in shown
    assert "  number  3  " in shown
    assert "  rounds  upper(length) = 6" in shown


def test_explain_says_where_a_wrapper_does_not_exist(ullage: Run) -> None:
    arguments = ("explain", "press", "layer_attention", "--config", "plain.yaml")
    shown = ullage(*arguments).out
    assert "here    there is no layer_attention: not (fancy and heads > 1)\n" in shown
    document = json.loads(ullage(*arguments, "--json").out)
    assert document["exists"] is False


def test_explain_writes_each_argument_as_json(ullage: Run) -> None:
    arguments = ("explain", "press", "attention", "--json")
    document = json.loads(ullage(*arguments, "--config", "settings.yaml").out)
    assert {"name": "table", "slot": "table", "at": None, "flat": True} in document["make"]
    assert {"name": "heads", "formula": "heads", "value": 3} in document["plan"]
    assert {"name": "cache", "given": "tensors"} in document["run"]
    assert json.loads(ullage(*arguments).out)["plan"][0]["value"] is None


def test_a_name_without_a_runner_may_have_been_meant_for_a_wrapper(ullage: Run) -> None:
    ran = ullage("explain", "press", "atention")
    assert ran.code == 2
    assert "there is no wrapper 'atention'; did you mean 'attention'?" in ran.err
