"""What commands remember of specs that have not changed, and what they find out anew."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import fields
from pathlib import Path

import pytest

from support.command_line import Run
from support.tank import write_tank
from ullage import derivation, settle
from ullage.analysis import Derived
from ullage.bound.capacities import Capacity
from ullage.bound.problem import RunnerProblem
from ullage.cache import Cache
from ullage.processes import in_turn
from ullage.prove.certificate import certify
from ullage.prove.proof import Proof
from ullage.prove.solver import Solver
from ullage.records import from_text, to_text

COMMANDS = (
    ("check",),
    ("check", "--json"),
    ("explain", "eager_target.tokens"),
    ("explain", "eager_target.seq_lens", "--config", "some.yaml"),
    ("size", "--config", "some.yaml"),
    ("plan", "--config", "some.yaml"),
    ("audit", "--verbose"),
    ("audit", "--json"),
)
SOLVER = ("sympy", "z3", "ullage.settle", "ullage.prove.solver", "ullage.audit.decide")


@pytest.fixture
def some(tank: Path) -> Path:
    """The spec, beside a configuration of it."""
    Path("some.yaml").write_text("max_requests: 7\n")
    return tank


@pytest.fixture
def proved(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The capacities that are proved from now on."""
    names: list[str] = []

    def noted(runner: RunnerProblem, capacity: Capacity, solver: Solver) -> Proof:
        names.append(f"{capacity.runner}.{capacity.target}")
        return certify(runner, capacity, solver)

    monkeypatch.setattr(settle, "certify", noted)
    monkeypatch.setattr(derivation, "at_once", in_turn)
    return names


def arguments(command: Sequence[str], specs: str = "tank") -> tuple[str, ...]:
    return (command[0], specs, *command[1:])


ALL = ["eager_target.requests", "eager_target.tokens", "eager_draft.requests", "eager_draft.tokens"]


EACH = """
import sys
from ullage.cli import main
for command in sys.argv[1:]:
    code = main(command.split())
    print(f"--- exit code {code}")
print(*sys.modules, file=sys.stderr)
"""


@pytest.mark.slow
@pytest.mark.usefixtures("some")
def test_the_second_answers_are_the_first_without_a_solver(ullage: Run) -> None:
    first = [ullage(*arguments(command)) for command in COMMANDS]
    assert [ran.err for ran in first] == [""] * len(COMMANDS)
    commands = (" ".join(arguments(command)) for command in COMMANDS)
    done = subprocess.run(
        [sys.executable, "-c", EACH, *commands], capture_output=True, text=True, check=True
    )
    assert done.stdout == "".join(ran.shown for ran in first)
    assert set(SOLVER) & set(done.stderr.split()) == set()


@pytest.mark.slow
@pytest.mark.usefixtures("some")
def test_one_command_has_from_another_what_both_need(ullage: Run, proved: list[str]) -> None:
    ullage("check", "tank")
    assert sorted(proved) == sorted(ALL)
    for command in COMMANDS:
        assert ullage(*arguments(command)).code == 0
    ullage("compile", "tank", "--out", "out")
    assert len(proved) == len(ALL)


@pytest.mark.usefixtures("some")
@pytest.mark.slow
def test_without_a_cache_everything_is_proved_anew(
    ullage: Run, proved: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = [ullage(*arguments(command)) for command in COMMANDS]
    proved.clear()
    monkeypatch.setenv("ULLAGE_NO_CACHE", "1")
    assert [ullage(*arguments(command)) for command in COMMANDS] == first
    assert sorted(proved) == sorted(ALL * len(COMMANDS))


@pytest.mark.slow
def test_a_check_of_generated_code_without_a_cache_proves_anew(
    tank: Path, ullage: Run, proved: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    compiling = ("compile", "tank", "--out", "out")
    ullage(*compiling)
    proved.clear()
    monkeypatch.setenv("ULLAGE_NO_CACHE", "1")
    assert ullage(*compiling, "--check").code == 0
    monkeypatch.delenv("ULLAGE_NO_CACHE")
    assert ullage(*compiling, "--check", "--no-cache").code == 0
    assert sorted(proved) == sorted([*ALL, *ALL])


def test_only_the_runner_that_has_changed_is_proved_again(
    ullage: Run, proved: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A mode of the target alone leaves the draft's runner as it was."""
    lower = {"modes/extend.yaml": ("when: worker == target\n", "when: worker == target\n\n")}
    write_tank(Path())
    first = ullage("check", "tank", "--json")
    proved.clear()
    write_tank(Path(), lower)
    second = ullage("check", "tank", "--json")
    assert sorted(proved) == ["eager_target.requests", "eager_target.tokens"]
    assert second != first  # the digest is another one
    monkeypatch.setenv("ULLAGE_NO_CACHE", "1")
    assert ullage("check", "tank", "--json") == second


def test_a_changed_formula_of_an_audit_leaves_the_proofs_and_gives_the_new_verdict(
    tank: Path, ullage: Run, proved: list[str]
) -> None:
    assert "2 formulas, all as expected" in ullage("audit", "tank").out
    proved.clear()
    write_tank(Path(), {"audits/stated.yaml": ("formula: max_tokens", "formula: max_tokens * 64")})
    ran = ullage("audit", "tank")
    assert ran.code == 1
    assert "1 not as expected" in ran.out
    assert proved == []


@pytest.mark.slow
def test_an_audit_of_one_name_is_not_taken_for_that_of_all(tank: Path, ullage: Run) -> None:
    second = Path("tank/audits/stated.yaml").read_text().replace("audit: stated", "audit: other")
    Path("tank/audits/other.yaml").write_text(second)
    whole = ullage("audit", "tank").out
    assert ullage("audit", "tank", "--only", "other").out != whole
    assert ullage("audit", "tank", "--only", "stated").out.count("stated") == 1
    assert ullage("audit", "tank").out == whole


@pytest.mark.usefixtures("some")
@pytest.mark.slow
@pytest.mark.parametrize("size", [0, 70, 500])
def test_damaged_entries_are_found_out_anew(
    size: int, ullage: Run, proved: list[str], tmp_path: Path
) -> None:
    commands = [arguments(command) for command in COMMANDS[::3]]
    ran = [ullage(*each) for each in commands]
    for entry in (tmp_path / "cache").iterdir():
        entry.write_bytes(entry.read_bytes()[:size])
    proved.clear()
    assert [ullage(*each) for each in commands] == ran
    assert sorted(proved) == sorted(ALL)


@pytest.mark.slow
@pytest.mark.parametrize("lost", ["capacities", "certificate", "plan"])
def test_what_was_derived_counts_as_absent_without_a_part(
    lost: str, tank: Path, ullage: Run, tmp_path: Path
) -> None:
    """Whatever has the checksum of an entry, each capacity of a runner has to be there."""
    first = ullage("check", "tank")
    cache = Cache(tmp_path / "cache")
    texts = {path.stem: str(cache.load(path.stem)) for path in cache.folder.iterdir()}
    ((key, derived),) = [
        (key, found) for key, text in texts.items() if (found := from_text(Derived, text))
    ]
    less: Derived = deepcopy(derived)
    kept = getattr(less, lost)
    (name,) = [
        each.name for each in fields(kept) if each.name in ("by_target", "proofs", "runners")
    ]
    object.__setattr__(kept, name, getattr(kept, name)[:-1])
    cache.store(key, to_text(less))
    assert ullage("check", "tank") == first
    assert from_text(Derived, str(cache.load(key))) == derived


def test_the_places_of_a_renamed_folder_are_its_own(tank: Path, ullage: Run) -> None:
    ullage("check", "tank")
    tank.rename("barrel")
    ran = ullage("check", "barrel")
    assert "barrel/runners/eager.yaml:1" in ran.out
    assert "tank/" not in ran.out


def test_errors_of_a_spec_are_shown_each_time(ullage: Run) -> None:
    write_tank(Path(), {"modes/extend.yaml": ("[1, max_tokens]", "[1, max_tokens // width]")})
    first = ullage("check", "tank")
    assert first.code == 1
    assert ullage("check", "tank") == first
