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
modes: [{modes}]
slots: all
facts: {{replaced: inputs are embeddings}}
accepts: [{accepts}]
{fallback}
promises: {promise}
steps:
  - {{do: load}}
"""


def engine(*modes: str) -> dict[str, str]:
    """The files of an engine with these modes, without its runner of graphs."""
    parameters = ("cap: {type: int, range: [1, 4]}", "shards: {type: int, range: [1, 4]}")
    files = dict(small(*modes, parameters=parameters, slots=(SLOT,)))
    files["engine.yaml"] += "families:\n  replaying: modes with graphs\n"
    return files


def refusal(folder: Path, files: dict[str, str]) -> str:
    """What is said of an engine."""
    try:
        analyse(write_spec(folder, files), name="mini")
    except DiagnosticError as error:
        return render_text(error.diagnostics, error.sources)
    return ""


def graph(
    promise: str,
    accepts: str = "requests <= cap",
    when: str = "",
    modes: str = "decode",
    fallback: str = "fallback: eager",
) -> str:
    """The file of a runner of graphs with promises."""
    condition = f"when: {when}\n" if when else ""
    return GRAPH.format(
        when=condition, accepts=accepts, promise=promise, modes=modes, fallback=fallback
    )


def said(folder: Path, promise: str, accepts: str = "requests <= cap", when: str = "") -> str:
    """What is said of a graph runner with a promise of one mode."""
    decode = mode_text(live={"rows": "1; 9"}, requests="rows", tokens="rows")
    files = engine(decode)
    files["graph.yaml"] = graph(f'{{decode: "{promise}"}}', accepts, when)
    return refusal(folder, files)


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
        ("requests <= cap", "2 * tokens <= cap", "", "takes only those with 2 * tokens <= cap"),
        ("requests <= cap and shards < 3", "requests <= cap", "shards == 1", "shards = 2"),
    ],
)
def test_a_promise_that_some_batch_may_break_is_refused(
    promise: str, accepts: str, when: str, expected: str, tmp_path: Path
) -> None:
    assert expected in said(tmp_path, promise, accepts, when)


def test_the_batch_that_breaks_a_promise_is_one_of_the_mode(tmp_path: Path) -> None:
    found = said(tmp_path, "requests <= cap", "requests < cap and requests != 0")
    assert "takes only those with requests < cap and requests != 0\n" in found
    assert "hint: for example where cap = 1, rows = 1\n" in found
    found = said(
        tmp_path / "fact", "requests <= cap", "requests <= cap, not replaced or tokens > 4"
    )
    assert "hint: for example where rows = 1, replaced = 1\n" in found


LIVE = {"rows": "1; 9", "length": "per rows: 1; cap"}
SYNC = "sync: {collective: {op: all_gather, group: dp}, tokens: 'max_ranks(align_up(tokens, 4))'}"
KEPT = {
    "a range": "requests >= 1",
    "axes of the same rows": "live_tokens <= cap",
    "what stands under where": "sum_requests(length) <= 2 * cap",
    "a sum in its range": "sum_requests(length) >= requests",
    "what is padded": "live_tokens <= tokens and tokens >= 4",
}
BROKEN = {
    "a range": ("requests >= 2", "for example where rows = 1\n"),
    "what stands under where": ("sum_requests(length) < 2 * cap", "sum of length over the"),
    "what is padded": ("tokens <= live_tokens", "rows = 1\n"),
}


def synced(accepts: str) -> dict[str, str]:
    """An engine whose decode batches have lengths, and are padded over ranks."""
    decode = mode_text(
        live=LIVE,
        requests="rows",
        tokens="rows",
        where=["sum_requests(length) <= 2 * cap"],
        pipeline=["sync"],
    )
    parameters = ("cap: {type: int, range: [1, 4]}", "dp: {type: int, range: [1, 4]}")
    files = dict(small(decode, parameters=parameters, transforms=(SYNC,), ranks="dp"))
    files["graph.yaml"] = graph("requests <= cap", f'"{accepts}"')
    return files


@pytest.mark.parametrize("accepts", list(KEPT.values()), ids=list(KEPT))
def test_a_promise_is_about_batches_that_exist(accepts: str, tmp_path: Path) -> None:
    """What is so of every batch of the mode need not be promised."""
    assert refusal(tmp_path, synced(accepts)) == ""


@pytest.mark.parametrize(("accepts", "expected"), list(BROKEN.values()), ids=list(BROKEN))
def test_a_batch_that_exists_may_break_a_promise(
    accepts: str, expected: str, tmp_path: Path
) -> None:
    found = refusal(tmp_path, synced(accepts))
    assert "error[U618]" in found
    assert expected in found


def test_a_sum_in_a_promise_has_a_form_that_is_known(tmp_path: Path) -> None:
    files = synced("requests <= cap and tokens >= 4")
    promise = "promises: requests <= cap and sum_requests(length % 2) <= cap"
    files["graph.yaml"] = files["graph.yaml"].replace("promises: requests <= cap", promise)
    found = refusal(tmp_path, files)
    assert "error[U402]: what runner 'graph' promises of mode 'decode': no closed form" in found
    assert "for the sum over requests of length % 2\n" in found


def replaying(name: str, rows: str = "rows", when: str = "") -> str:
    text = mode_text(name, live={"rows": "1; 9"}, requests=rows, tokens="rows", when=when)
    return text + "family: replaying\n"


@pytest.mark.parametrize("promise", ["{promise}", "{{replaying: {promise}}}"])
@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("requests <= cap", ""),
        ("requests <= cap + 1", "promises to take the batches of mode 'decode' with requests <= "),
        ("rows <= cap", "promises to take the batches of mode 'verify' with rows <= cap"),
    ],
)
def test_a_promise_of_a_family_or_of_all_modes_is_one_of_each(
    promise: str, condition: str, expected: str, tmp_path: Path
) -> None:
    files = engine(replaying("decode"), replaying("verify", rows="2 * rows"))
    text = promise.format(promise=condition)
    files["graph.yaml"] = graph(text, modes="replaying")
    found = refusal(tmp_path, files)
    assert expected in found
    assert found.count("U618") == (2 if expected else 0)  # in the message, and where to read on


def test_a_promise_of_all_modes_leaves_out_those_that_never_fall_back(tmp_path: Path) -> None:
    files = engine(replaying("decode"), replaying("capture", when="shards == 1"))
    files["eager.yaml"] = files["eager.yaml"].replace("modes: all", "modes: [decode]")
    whole = graph("shards == 1 and requests <= cap", when="shards == 1", modes="replaying")
    files["graph.yaml"] = whole + "accepts_all: [capture]\n"
    analysis = analyse(write_spec(tmp_path, files), name="mini")
    (promise,) = analysis.resolved.runners["graph"].promises
    assert promise.modes == ("decode",)


def test_what_is_promised_is_served(tmp_path: Path) -> None:
    decode = mode_text(live={"rows": "1; 9"}, requests="rows", tokens="rows")
    idle = mode_text("idle", live={}, requests="0", tokens="0")
    files = engine(decode, idle)
    files["graph.yaml"] = graph("{idle: true}")
    found = refusal(tmp_path, files)
    assert "runner 'graph' serves no mode of 'idle' that it promises to take\n" in found


def test_a_promise_is_about_batches_that_a_fallback_would_take(tmp_path: Path) -> None:
    decode = mode_text(live={"rows": "1; 9"}, requests="rows", tokens="rows")
    files = engine(decode)
    files["graph.yaml"] = graph("requests <= cap", fallback="accepts_all: [decode]")
    files["eager.yaml"] = files["eager.yaml"].replace("modes: all", "modes: [decode]")
    found = refusal(tmp_path, files)
    assert "runner 'graph' has promises, but nobody takes what it refuses\n" in found
    assert "hint: name its fallback, or leave 'promises' out\n" in found
