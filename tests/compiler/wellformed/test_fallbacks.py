"""All batches of a mode fall back where one switch says so, and nowhere else without a promise."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.small_specs import mode_text, small
from support.specs import Files, write_spec
from ullage.analyse import analyse
from ullage.diagnostics.render import render_text

GRAPH = """\
runner: graph
when: {when}
workers: [target]
modes: [{modes}]
slots: all
facts: {{replaced: inputs are embeddings}}
accepts:
{accepts}
fallback: {fallback}
{rest}
steps:
  - {{do: load}}
"""
PARAMETERS = (
    "cap: {type: int, range: [1, 4]}",
    "shards: {type: int, range: [1, 4]}",
    "graphs: {type: bool}",
    "eager_only: {type: bool}",
    "adapters: {type: bool, when: graphs}",
)
DEFINITIONS = (
    "has_graph: graphs and shards < 3",
    "is_on: graphs and not (eager_only and graphs)",
)


def graph(
    when: str = "graphs",
    accepts: tuple[str, ...] = ("requests <= cap", "not replaced"),
    rest: str = "",
    modes: str = "decode",
    fallback: str = "eager",
) -> str:
    listed = "\n".join(f"  - {each}" for each in accepts)
    return GRAPH.format(when=when, accepts=listed, rest=rest, modes=modes, fallback=fallback)


def engine(*runners: str, when: str = "", constraints: tuple[str, ...] = ()) -> Files:
    modes = [
        mode_text(name, live={"rows": "1; 9"}, requests="rows", tokens="rows", when=when)
        for name in ("decode", "verify")
    ]
    files = dict(
        small(*modes, parameters=PARAMETERS, definitions=DEFINITIONS, constraints=constraints)
    )
    names = ("graph", "second")
    return files | {f"{name}.yaml": text for name, text in zip(names, runners, strict=False)}


def warned(folder: Path, files: Files) -> str:
    analysis = analyse(write_spec(folder, files), name="mini")
    return render_text(
        tuple(each for each in analysis.warnings if each.code == "U634"), analysis.sources.texts
    )


def test_a_condition_by_which_a_mode_falls_back_is_told_with_the_switch(tmp_path: Path) -> None:
    assert warned(tmp_path, engine(graph("graphs and shards == 1"))) == (
        "mini/graph.yaml:2:7: warning[U634]: all batches of mode 'decode' can fall back to "
        "'eager' even where graphs: runner 'graph' takes them only where shards == 1\n"
        "    |\n"
        "  2 | when: graphs and shards == 1\n"
        "    |       ^^^^^^^^^^^^^^^^^^^^^^\n"
        "  mini/graph.yaml:2:18: the condition\n"
        "    |\n"
        "  2 | when: graphs and shards == 1\n"
        "    |                  ^^^^^^^^^^^\n"
        "  mini/mode_0.yaml:1:7: mode 'decode'\n"
        "    |\n"
        "  1 | mode: decode\n"
        "    |       ^^^^^^\n"
        "  hint: for example where shards = 2, graphs = true; if that is meant, say by 'promises' "
        "which batches 'graph' takes\n"
        "  see: ullage error U634\n"
    )


@pytest.mark.parametrize(
    ("when", "accepts", "expected"),
    [
        ("graphs", "shards == 1", "mini/graph.yaml:8:5: warning[U634]"),
        ("graphs", "shards == 1", "runner 'graph' takes them only where shards == 1\n"),
        ("graphs", "requests <= cap and shards == 1", "takes them only where shards == 1\n"),
        ("graphs", "not adapters", "takes them only where not adapters\n"),
        ("has_graph", "tokens <= cap", "takes them only where shards < 3\n"),
        ("not eager_only and shards == 1", "tokens <= cap", "even where not eager_only: runner"),
        ("shards == 1", "tokens <= cap", "can fall back to 'eager': runner 'graph' takes"),
        ("graphs and not eager_only", "tokens <= cap", "takes them only where not eager_only\n"),
    ],
)
def test_each_condition_on_the_configuration_alone_counts(
    when: str, accepts: str, expected: str, tmp_path: Path
) -> None:
    assert expected in warned(tmp_path, engine(graph(when, (accepts,))))


@pytest.mark.parametrize(
    ("when", "accepts", "rest"),
    [
        ("graphs", "requests <= cap", ""),
        ("not eager_only", "requests <= cap", ""),
        ("graphs", "requests <= cap and not replaced", ""),
        ("graphs", "requests <= cap or shards == 1", ""),
        ("graphs", "shards == 1 or not replaced", ""),
        ("graphs and shards == 1", "requests <= cap", "promises: graphs and shards == 1 and false"),
    ],
)
def test_one_switch_is_meant_and_what_is_so_of_a_batch_is_left_out(
    when: str, accepts: str, rest: str, tmp_path: Path
) -> None:
    assert warned(tmp_path, engine(graph(when, (accepts,), rest))) == ""


def test_what_never_occurs_together_is_no_fallback(tmp_path: Path) -> None:
    runner = graph("graphs and shards == 1")
    assert warned(tmp_path / "mode", engine(runner, when="shards == 1")) == ""
    constraints = ("not graphs or shards == 1",)
    assert warned(tmp_path / "engine", engine(runner, constraints=constraints)) == ""
    assert warned(tmp_path / "definition", engine(graph("is_on"), when="not eager_only")) == ""


def test_one_of_several_graphs_is_enough(tmp_path: Path) -> None:
    first = graph("graphs and shards == 1", fallback="second")
    right, wrong = (
        graph(f"graphs and shards >= {least}").replace("runner: graph", "runner: second")
        for least in (2, 3)
    )
    assert warned(tmp_path / "right", engine(first, right)) == ""
    found = warned(tmp_path / "wrong", engine(first, wrong))
    assert "hint: for example where shards = 2, graphs = true" in found


def test_one_condition_is_told_once_for_all_modes_without_a_promise(tmp_path: Path) -> None:
    both = engine(graph("graphs and shards == 1", modes="decode, verify"))
    assert "all batches of modes 'decode', 'verify' can fall back" in warned(tmp_path / "a", both)
    promise = "promises: {decode: graphs and shards == 1 and requests <= cap and not replaced}"
    one = engine(graph("graphs and shards == 1", rest=promise, modes="decode, verify"))
    assert "all batches of mode 'verify' can fall back" in warned(tmp_path / "b", one)


def test_a_mode_that_the_fallback_does_not_serve_has_none(tmp_path: Path) -> None:
    runner = graph("graphs and shards == 1", rest="accepts_all: [decode]")
    files = dict(engine(runner, when="graphs and shards == 1"))
    files["eager.yaml"] = files["eager.yaml"].replace("modes: all", "modes: [verify]")
    assert warned(tmp_path, files) == ""
