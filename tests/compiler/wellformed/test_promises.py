"""No batch that a runner promises to take gets to its fallback."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.small_specs import SLOT, mode_text, small
from support.specs import write_spec
from ullage.analyse import analyse
from ullage.diagnostics.diagnostic import DiagnosticError
from ullage.diagnostics.render import render_text

GRAPH = """\
runner: graph
{when}workers: [target]
modes: [decode]
slots: all
facts: {{replaced: inputs are embeddings}}
accepts: [{accepts}]
fallback: eager
promises: {{decode: "{promise}"}}
steps:
  - {{do: load}}
"""


def said(folder: Path, promise: str, accepts: str = "requests <= cap", when: str = "") -> str:
    """What is said of a graph runner with a promise."""
    decode = mode_text(live={"rows": "1; 9"}, requests="rows", tokens="rows")
    parameters = ("cap: {type: int, range: [1, 4]}", "shards: {type: int, range: [1, 4]}")
    files = dict(small(decode, parameters=parameters, slots=(SLOT,)))
    condition = f"when: {when}\n" if when else ""
    files["graph.yaml"] = GRAPH.format(when=condition, accepts=accepts, promise=promise)
    try:
        analyse(write_spec(folder, files), name="mini")
    except DiagnosticError as error:
        return render_text(error.diagnostics, error.sources)
    return ""


def test_a_condition_that_switches_a_graph_off_is_told_with_both_places(tmp_path: Path) -> None:
    assert said(tmp_path, "requests <= cap", when="shards == 1") == (
        "mini/graph.yaml:9:21: error[U618]: runner 'graph' promises to take the batches of mode "
        "'decode' with requests <= cap, but takes only those with shards == 1\n"
        "    |\n"
        '  9 | promises: {decode: "requests <= cap"}\n'
        "    |                     ^^^^^^^^^^^^^^^\n"
        "  mini/graph.yaml:2:7: the condition\n"
        "    |\n"
        "  2 | when: shards == 1\n"
        "    |       ^^^^^^^^^^^\n"
        "  hint: for example where shards = 2\n"
        "  see: ullage error U618\n"
    )


@pytest.mark.parametrize(
    ("promise", "accepts", "when"),
    [
        ("requests <= cap", "requests <= cap", ""),
        ("requests < cap", "requests <= cap", ""),
        ("rows <= 2 and 4 <= cap and requests == rows", "requests <= cap", ""),
        ("requests <= cap and not replaced", "requests <= cap, not replaced", ""),
        ("requests <= cap and shards == 1", "requests <= cap", "shards < 3"),
    ],
)
def test_a_promise_that_every_condition_follows_from_is_kept(
    promise: str, accepts: str, when: str, tmp_path: Path
) -> None:
    assert said(tmp_path, promise, accepts, when) == ""


@pytest.mark.parametrize(
    ("promise", "accepts", "when", "expected"),
    [
        ("requests <= cap + 1", "requests <= cap", "", "takes only those with requests <= cap"),
        ("requests <= cap", "requests <= cap, not replaced", "", "those with not replaced\n"),
        ("requests <= cap", "tokens <= cap", "", "takes only those with tokens <= cap"),
        ("requests <= cap and shards < 3", "requests <= cap", "shards == 1", "shards = 2"),
    ],
)
def test_a_promise_that_some_batch_may_break_is_refused(
    promise: str, accepts: str, when: str, expected: str, tmp_path: Path
) -> None:
    assert expected in said(tmp_path, promise, accepts, when)


def test_what_is_promised_is_served(tmp_path: Path) -> None:
    decode = mode_text(live={"rows": "1; 9"}, requests="rows", tokens="rows")
    idle = mode_text("idle", live={}, requests="0", tokens="0")
    files = dict(small(decode, idle, slots=(SLOT,)))
    graph = GRAPH.format(when="", accepts="requests <= cap", promise="true")
    files["graph.yaml"] = graph.replace("{decode:", "{idle:")
    with pytest.raises(DiagnosticError) as caught:
        analyse(write_spec(tmp_path, files), name="mini")
    expected = "runner 'graph' does not serve mode 'idle' that it promises to take"
    assert [each.message for each in caught.value.diagnostics] == [expected]
