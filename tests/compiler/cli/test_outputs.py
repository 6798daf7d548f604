"""What commands show of a small spec, whole, and that their JSON is JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from support.command_line import Run
from support.tank import write_tank
from ullage import __version__, derivation
from ullage.commands.settings import read_settings
from ullage.diagnostics.catalogue import all_codes
from ullage.settle import Settled

Golden = Callable[[str, str], None]

SGLANG = Path(__file__).parents[3] / "specs" / "sglang"

CONFIGURATION = """\
max_requests: 30
max-tokens: 1001
tp_size: 8
drafts: true
"""


@pytest.fixture
def configured(tank: Path) -> Path:
    path = Path("settings.yaml")
    path.write_text(CONFIGURATION)
    return path


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("check", ["check", "tank"]),
        ("explain_axis", ["explain", "tank", "eager_target.tokens"]),
        ("explain_slot", ["explain", "tank", "eager_target.positions"]),
        ("explain_scalar", ["explain", "tank", "eager_draft.real_tokens"]),
        ("audit", ["audit", "tank"]),
        ("audit_verbose", ["audit", "tank", "--verbose"]),
        ("error", ["error", "u503"]),
    ],
)
@pytest.mark.slow
def test_a_command_shows_what_it_did_before(
    name: str, arguments: list[str], tank: Path, ullage: Run, golden: Golden
) -> None:
    golden(f"cli/{name}.txt", ullage(*arguments).shown)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("size", ["size", "tank"]),
        ("explain_axis_in_numbers", ["explain", "tank", "eager_target.tokens"]),
        ("explain_slot_in_numbers", ["explain", "tank", "eager_target.positions"]),
    ],
)
@pytest.mark.slow
def test_a_command_with_a_configuration_shows_what_it_did_before(
    name: str, arguments: list[str], configured: Path, ullage: Run, golden: Golden
) -> None:
    golden(f"cli/{name}.txt", ullage(*arguments, "--config", str(configured)).shown)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("audit", ["audit", "tank"]),
        ("check", ["check", "tank"]),
        ("size", ["size", "tank", "--config", "settings.yaml"]),
        ("explain_axis", ["explain", "tank", "eager_target.tokens", "--config", "settings.yaml"]),
        ("explain_slot", ["explain", "tank", "eager_target.positions"]),
    ],
)
@pytest.mark.slow
def test_json_says_what_it_did_before(
    name: str, arguments: list[str], configured: Path, ullage: Run, golden: Golden
) -> None:
    ran = ullage(*arguments, "--json")
    document = json.loads(ran.out)
    document.pop("digest", None)
    golden(f"cli/{name}.json", json.dumps(document, indent=1) + "\n")
    assert (ran.code, ran.err) == (0, "")


@pytest.mark.slow
def test_no_line_is_wider_than_the_page(configured: Path, ullage: Run) -> None:
    for arguments in (
        ["check", "tank"],
        ["explain", "tank", "eager_target.tokens"],
        ["size", "tank", "--config", "settings.yaml"],
        ["audit", "tank"],
        ["error"],
    ):
        lines = ullage(*arguments).out.splitlines()
        assert max(map(len, lines)) <= 100
        assert [line for line in lines if line != line.rstrip()] == []


def test_json_of_a_format_option_is_that_of_the_flag(tank: Path, ullage: Run) -> None:
    assert ullage("check", "tank", "--format", "json") == ullage("check", "tank", "--json")


def test_all_codes_are_listed(ullage: Run) -> None:
    listed = ullage("error").out
    assert [entry.id for entry in all_codes() if entry.id not in listed] == []
    records = json.loads(ullage("error", "--json").out)
    assert [record["code"] for record in records] == [entry.id for entry in all_codes()]


def test_an_unproven_capacity_is_an_error(
    tank: Path, ullage: Run, golden: Golden, monkeypatch: pytest.MonkeyPatch
) -> None:
    settle = derivation.settle

    def doubt(*given: Any) -> Settled:
        settled = settle(*given)
        first, *rest = settled.proofs
        flaws = ("leaf: max_requests <= max_requests: z3 does not prove it",)
        return replace(settled, proofs=(replace(first, tight=False, flaws=flaws), *rest))

    monkeypatch.setattr(derivation, "settle", doubt)
    golden("cli/check_unproven.txt", ullage("check", "tank").shown)


def test_what_is_not_proved_takes_one_line_and_a_pointer(
    tank: Path, ullage: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    settle = derivation.settle

    def doubt(*given: Any) -> Settled:
        settled = settle(*given)
        first, *rest = settled.proofs
        flaws = ("leaf: " + "max_requests <= " * 40, "and another")
        return replace(settled, proofs=(replace(first, slack="so", flaws=flaws), *rest))

    monkeypatch.setattr(derivation, "settle", doubt)
    shown = ullage("check", "tank").out.splitlines()
    place = next(index for index, line in enumerate(shown) if line.startswith("    leaf: "))
    assert (len(shown[place]), shown[place][-2:]) == (100, " …")
    assert shown[place + 1] == "    all of it: ullage explain SPECS eager_target.requests"


def test_slack_is_shown_with_its_reason(ullage: Run) -> None:
    values = "values: {output: logits}"
    write_tank(Path(), {"runners/eager.yaml": (values, f"{values}\nslack: {{tokens: a spare}}")})
    assert "    slack: a spare\n" in ullage("check", "tank").out
    assert "  slack: a spare\n" in ullage("explain", "tank", "eager_draft.tokens").out


def test_a_verdict_that_is_not_expected_fails(ullage: Run, golden: Golden) -> None:
    write_tank(Path(), {"audits/stated.yaml": ("expect: overflows", "expect: proved")})
    golden("cli/audit_differs.txt", ullage("audit", "tank").shown)


@pytest.mark.slow
def test_only_the_named_audits_are_decided(tank: Path, ullage: Run) -> None:
    stated = (tank / "audits" / "stated.yaml").read_text()
    other = stated.replace("audit: stated", "audit: other").replace("overflows", "proved")
    (tank / "audits" / "other.yaml").write_text(other)
    assert ullage("audit", "tank").code == 1
    ran = ullage("audit", "tank", "--only", "stated")
    assert (ran.code, ran.err) == (0, "")
    assert "other" not in ran.out
    both = json.loads(ullage("audit", "tank", "--only", "stated", "--only", "other", "--json").out)
    assert {each["audit"] for each in both["formulas"]} == {"other", "stated"}
    ran = ullage("audit", "tank", "--only", "statd")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == "ullage: there is no audit 'statd'; did you mean 'stated'?\n"


def test_what_a_capacity_assumes_is_listed_with_it(ullage: Run) -> None:
    seen = 'tokens: {range: [1, max_tokens], seen_in: "batch.input_ids[0]"}'
    spare = f"{seen}\n  spare: {{range: [0, max_tokens], seen_in: assumed}}"
    write_tank(Path(), {"modes/extend.yaml": (seen, spare)})
    shown = ullage("check", "tank").out
    assumed = "    assumes the range of extend.spare, which load cannot see\n"
    assert shown.count(assumed) == 2
    assert shown.count("    assumes nothing\n") == 2
    assert "\nassumed: extend.spare\nunproven: none\n" in shown
    capacities = json.loads(ullage("check", "tank", "--json").out)["capacities"]
    assert [each["assumed"] for each in capacities] == [["extend.spare"]] * 2 + [[]] * 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("given", "defaults"),
    [
        ("max_total_tokens: 90000", set()),
        ("max-total-tokens: {draft: 90000, target: null}", {"max_total_tokens_target"}),
        ("--max-total-tokens-target: 90000", {"max_total_tokens_draft"}),
        ("page_size: 1", {"max_total_tokens_target", "max_total_tokens_draft"}),
    ],
)
def test_a_worker_without_a_value_of_its_own_has_the_default(
    given: str, defaults: set[str]
) -> None:
    path = Path("settings.yaml")
    path.write_text(f"{given}\nspeculative_algorithm: eagle\n")
    found = set(read_settings(SGLANG, path).defaults())
    assert {name for name in found if "total" in name} == defaults
    assert "speculative_algorithm" not in found
    assert "speculative_num_steps" in found


def test_without_a_stated_formula_there_is_nothing_to_audit(tank: Path, ullage: Run) -> None:
    (tank / "audits" / "stated.yaml").unlink()
    assert ullage("audit", "tank").shown == "no formulas are stated\n--- exit code 0\n"


def test_the_version_is_shown(ullage: Run) -> None:
    assert ullage("--version").out == f"ullage {__version__}\n"


def test_help_names_every_command(ullage: Run) -> None:
    shown = ullage("--help")
    assert shown.code == 0
    for command in ("check", "compile", "explain", "size", "audit", "error"):
        assert command in shown.out
