"""`ullage plan`: what it shows, and that a placement which is not sound is an error."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from support.canal import CANAL
from support.command_line import Run
from ullage.commands import plan as command
from ullage.plan.arenas import PlacedArena, arenas_for
from ullage.plan.bytes import Values
from ullage.plan.model import Plan

Golden = Callable[[str, str], None]

PLAIN = "drafts: true\nmax_tokens: 1001\n"
STREAMS = f"{PLAIN}streams: true\noverlap: false\nwide: true\n"


@pytest.fixture
def canal() -> Path:
    """The spec `canal` in the working folder, and two configurations."""
    for path, text in CANAL.items():
        target = Path("canal") / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
    Path("plain.yaml").write_text(PLAIN)
    Path("streams.yaml").write_text(STREAMS)
    return Path("canal")


@pytest.mark.parametrize("name", ["plain", "streams"])
@pytest.mark.slow
def test_the_plan_of_a_configuration(name: str, canal: Path, ullage: Run, golden: Golden) -> None:
    ran = ullage("plan", "canal", "--config", f"{name}.yaml")
    golden(f"cli/plan_{name}.txt", ran.shown)
    assert max(map(len, ran.out.splitlines())) <= 100


def test_the_plan_as_json(canal: Path, ullage: Run, golden: Golden) -> None:
    ran = ullage("plan", "canal", "--config", "streams.yaml", "--json")
    golden("cli/plan_streams.json", json.dumps(json.loads(ran.out), indent=1) + "\n")
    assert (ran.code, ran.err) == (0, "")


@pytest.mark.slow
def test_what_graphs_were_measured_to_hold_stands_beside_the_arena(
    canal: Path, ullage: Run
) -> None:
    given = ("plan", "canal", "--config", "streams.yaml")
    record = json.loads(ullage(*given, "--json").out)
    arenas = {each["device"]: each["bytes"] for each in record["arenas"]}
    shown = ullage(*given, "--graph-bytes", "1000000").out
    assert "graphs, as measured: 1,000,000 bytes" in shown
    assert f"with the compute arena: {arenas['compute'] + 1_000_000:,} bytes" in shown
    assert "graph_bytes" not in record
    assert json.loads(ullage(*given, "--graph-bytes", "7", "--json").out)["graph_bytes"] == 7
    assert ullage(*given, "--graph-bytes", "-1").code == 2


@pytest.mark.slow
def test_a_gap_is_shown_beside_what_greedy_placement_needs(canal: Path, ullage: Run) -> None:
    """Five runners in a ring: whatever the order, some three in a row are not all alive at once."""
    ring = ["eager_target", "graph_target", "prompt_target", "eager_draft", "graph_draft"]
    pairs = zip(ring, [*ring[1:], ring[0]], strict=True)
    groups = "".join(f"  - {{runners: [{one}, {two}]}}\n" for one, two in pairs)
    (canal / "concurrent.yaml").write_text(f"concurrent:\n{groups}")
    Path("ring.yaml").write_text("drafts: true\ngraph_rows: 64\nmax_tokens: 100\n")
    shown = ullage("plan", "canal", "--config", "ring.yaml").out
    assert "gap: 512 bytes; greedy placement by size: 2,304 bytes" in shown
    document = json.loads(ullage("plan", "canal", "--config", "ring.yaml", "--json").out)
    compute, _ = document["arenas"]
    found = {key: compute[key] for key in ("bytes", "lower_bound", "gap", "greedy")}
    assert found == {"bytes": 2304, "lower_bound": 1792, "gap": 512, "greedy": 2304}


def test_a_spec_without_groups_shares_everything(tank: Path, ullage: Run) -> None:
    Path("settings.yaml").write_text("drafts: true\n")
    document = json.loads(ullage("plan", "tank", "--config", "settings.yaml", "--json").out)
    assert document["concurrent"] == []
    assert all(arena["gap"] == 0 for arena in document["arenas"])
    assert all(each["offset"] == 0 for arena in document["arenas"] for each in arena["runners"])


def test_an_unsound_placement_is_an_error(
    canal: Path, ullage: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def without_groups(plan: Plan, values: Values) -> tuple[PlacedArena, ...]:
        return arenas_for(replace(plan, groups=()), values)

    monkeypatch.setattr(command, "arenas_for", without_groups)
    ran = ullage("plan", "canal", "--config", "streams.yaml")
    assert ran.code == 1
    assert "error[U608]: compute arena: eager_target.input_ids in bytes 0 to " in ran.err
    assert "canal/runners/eager.yaml:1:9: error[U608]" in ran.err
    assert "canal/runners/graph.yaml:1:9: graph_target.input_ids in bytes 0 to " in ran.err


@pytest.mark.parametrize(
    ("groups", "problem"),
    [
        (["{runners: [eager, grph]}"], "U211]: there is no runner 'grph'"),
        (["{runners: [eager]}"], "U214]: 'runners' of a concurrent group names one runner"),
        (["{runners: [eager, eager_draft]}"], "U205]: 'eager_draft' means eager_draft too"),
        (["{runners: [eager, graph], when: overlap}"], "U305]: 'overlap' is used where its guard"),
        (["{runners: [eager, graph], when: max_tokens}"], "U303]"),
        (["{runners: [eager, graph], when: worker == draft}"], "U313]"),
        (["{runners: [eager, graph], modes: [decode]}"], "U201]: unknown key 'modes'"),
        (["{when: streams}"], "U202]"),
    ],
)
@pytest.mark.slow
def test_groups_are_checked(groups: Sequence[str], problem: str, canal: Path, ullage: Run) -> None:
    lines = "".join(f"  - {each}\n" for each in groups)
    (canal / "concurrent.yaml").write_text(f"concurrent:\n{lines}")
    ran = ullage("plan", "canal", "--config", "plain.yaml")
    assert ran.code == 1
    assert problem in ran.err


def test_what_the_configuration_does_not_have_is_named_in_one_line(
    canal: Path, ullage: Run
) -> None:
    Path("alone.yaml").write_text("drafts: false\nmax_tokens: 100\nstreams: true\n")
    for shown in (
        ullage("plan", "canal", "--config", "alone.yaml").out,
        ullage("size", "canal", "--config", "alone.yaml").out,
    ):
        lines = [line for line in shown.splitlines() if "eager_draft" in line]
        assert lines == ["not in this configuration: eager_draft, graph_draft, prompt_draft"]
