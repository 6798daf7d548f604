"""The examples under docs: each proved, as large as counted by hand, and served as generated."""

from __future__ import annotations

import functools
import importlib
import json
import shutil
import sys
from collections.abc import Callable, Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ullage.analyse import analyse
from ullage.cli import main
from ullage.diagnostics.diagnostic import DiagnosticError

ROOT = Path(__file__).parents[1]
EXAMPLES = Path("docs", "examples")

# Any: the packages exist only once the test has generated them.
Drawn = Any


@dataclass(frozen=True, slots=True)
class Example:
    """What is known by hand of one example.

    `sizes` and `bytes` are of its own configuration. `rows` gives the padded rows of a batch of
    `mode`. `smallest` has, for each formula of its audit that overflows, what is needed and stated.
    """

    mode: str
    sizes: Mapping[str, int]
    bytes: Mapping[str, int]
    rows: Callable[[Drawn, Drawn], Mapping[str, int]]
    smallest: tuple[tuple[int, int], ...]


def aligned(count: int, step: int) -> int:
    return count + -count % step


def rows_of_medusa(config: Drawn, live: Drawn) -> Mapping[str, int]:
    requests = aligned(live.batch_size, config.tp_size)
    return {"requests": requests, "tokens": requests * live.position_offsets.shape[0]}


def rows_of_lookahead(config: Drawn, live: Drawn) -> Mapping[str, int]:
    columns = [config.lookahead_window + guesses for guesses in live.guess_counts.tolist()]
    tokens = sum(columns) * (config.lookahead_ngram - 1)
    return {"requests": live.batch_size, "tokens": aligned(tokens, config.tp_size)}


def rows_of_beam_search(config: Drawn, live: Drawn) -> Mapping[str, int]:
    rows = aligned(sum(live.beam_widths.tolist()), config.tp_size)
    copies = live.copy_src.shape[0]
    return {"requests": live.batch_size, "rows": rows, "tokens": rows, "copies": copies}


WRITTEN: Mapping[str, Example] = {
    # 30 requests on 4 ranks make 32, with the larger tree of 64 nodes: more than a chunk of 1000.
    # Bytes start at multiples of 256: three slots of 2048 * 8, a mask of 2048 * 64, 63 paths of
    # 5 * 4, which take 1280, and five smaller slots.
    "medusa": Example(
        mode="TREE_VERIFY",
        sizes={
            "requests": 32,
            "tokens": 32 * 64,
            "position_offsets.0": 64,
            "extend_seq_lens.0": 30,
            "tree_mask.0": 32 * 64,
            "tree_mask.1": 64,
            "retrieve_indices.0": 63,
        },
        bytes={"compute": 3 * 16384 + 131072 + 1280 + 5 * 256},
        rows=rows_of_medusa,
        smallest=((3, 2), (3, 2)),
    ),
    # (7 + 6) * (5 - 1) = 52 tokens for each of 10 requests; 520 on 3 ranks make 522, a chunk of 500
    # makes 501. A decode aligns its 10 requests to 12, which other modes do not.
    "lookahead": Example(
        mode="LOOKAHEAD",
        sizes={
            "requests": 12,
            "tokens": 522,
            "extend_seq_lens.0": 10,
            "guess_counts.0": 10,
            "step_mask.0": 522,
        },
        bytes={"compute": 3 * 4352 + 27392 + 4 * 256, "host": 10 * 20 * 4 * 4 + 128},
        rows=rows_of_lookahead,
        smallest=((2, 1),),
    ),
    # 12 * 6 = 72 beams, of which 50 run at a time; on 4 ranks 52 rows, fewer tokens than a chunk of
    # 300. Each of the 50 copies at most 15 slots of a page of 16.
    "beam_search": Example(
        mode="BEAM_STEP",
        sizes={
            "requests": 12,
            "rows": 52,
            "tokens": 300,
            "copies": 50 * 15,
            "extend_seq_lens.0": 12,
            "beam_widths.0": 12,
        },
        bytes={"compute": 52 * 2048 + 3 * 2560 + 2 * 6144 + 512 + 6 * 256},
        rows=rows_of_beam_search,
        smallest=((2, 1),),
    ),
}

EACH = pytest.mark.parametrize("name", WRITTEN)
# Formulas over a list of tree sizes take the solver some ten seconds.
SLOW = ("medusa",)
EACH_AUDIT = pytest.mark.parametrize(
    "name",
    [pytest.param(each, marks=pytest.mark.slow if each in SLOW else ()) for each in WRITTEN],
)


@pytest.fixture(scope="module")
def ullage() -> Callable[..., str]:
    """`ullage("check", name, …)` is what that command writes about an example; it must succeed."""

    @functools.cache
    def run(command: str, name: str, *arguments: str) -> str:
        written = StringIO()
        with pytest.MonkeyPatch.context() as patch, redirect_stdout(written):
            patch.chdir(ROOT)
            code = main([command, str(EXAMPLES / name), *arguments])
        assert code == 0
        return written.getvalue()

    return run


@pytest.fixture(scope="module")
def package(
    ullage: Callable[..., str], tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], ModuleType]:
    """`package(name)` is the package generated for an example."""
    folder = tmp_path_factory.mktemp("written")
    sys.path.insert(0, str(folder))

    def generate(name: str) -> ModuleType:
        if not (folder / "written_examples" / name).exists():
            ullage("compile", name, "--out", str(folder / "written_examples"))
            importlib.invalidate_caches()
        return importlib.import_module(f"written_examples.{name}")

    return generate


def configuration(name: str) -> Path:
    return EXAMPLES / "configurations" / f"{name}.yaml"


def test_every_example_is_known_here() -> None:
    folders = {path.name for path in (ROOT / EXAMPLES).iterdir() if path.is_dir()}
    assert folders == {*WRITTEN, "configurations", "decode_graphs"}


@EACH
@pytest.mark.slow
def test_every_capacity_is_proved(name: str, ullage: Callable[..., str]) -> None:
    capacities = json.loads(ullage("check", name, "--json"))["capacities"]
    assert {each["target"] for each in capacities} == set(WRITTEN[name].sizes)
    assert all(each["proved"] and each["sound"] and each["tight"] for each in capacities)


@EACH
@pytest.mark.slow
def test_sizes_are_those_counted_by_hand(name: str, ullage: Callable[..., str]) -> None:
    sized = json.loads(ullage("size", name, "--config", str(configuration(name)), "--json"))
    (runner,) = sized["runners"]
    found = {each["target"]: each["value"] for each in runner["capacities"]}
    assert found == WRITTEN[name].sizes
    assert sized["planned_bytes"] == WRITTEN[name].bytes


@EACH
@pytest.mark.slow
def test_the_derivation_of_every_capacity_can_be_shown(
    name: str, ullage: Callable[..., str]
) -> None:
    for capacity in json.loads(ullage("check", name, "--json"))["capacities"]:
        text = ullage("explain", name, f"eager_target.{capacity['target']}")
        assert all(
            f"mode {mode}\n" in text or f"mode {mode} " in text for mode in capacity["binding"]
        )


@EACH_AUDIT
@pytest.mark.slow
def test_the_hasty_sizes_come_out_as_expected(name: str, ullage: Callable[..., str]) -> None:
    formulas = json.loads(ullage("audit", name, "--json"))["formulas"]
    found = tuple(
        (example["extent"], example["stated"])
        for formula in formulas
        for mode in formula["modes"]
        for example in mode["counterexamples"][:1]
    )
    assert found == WRITTEN[name].smallest


@pytest.mark.slow
def test_a_batch_that_does_not_fit_comes_with_the_list_that_it_draws_from(
    ullage: Callable[..., str],
) -> None:
    formulas = json.loads(ullage("audit", "medusa", "--json"))["formulas"]
    shown = [
        example["configuration"]["medusa_tree_sizes"]
        for formula in formulas
        for mode in formula["modes"]
        for example in mode["counterexamples"][:1]
    ]
    assert shown == [[3], [2, 3]]


@pytest.mark.parametrize(
    ("name", "file", "written", "refused", "place", "hint"),
    [
        (
            "medusa",
            "modes/tree_verify.yaml",
            "upper(medusa_tree_nodes)",
            "medusa_tree_nodes",
            "tree_verify.yaml:9:7",
            "take the largest value, upper(name)",
        ),
        (
            "beam_search",
            "engine.yaml",
            "range: [2, 256]",
            "range: [1, 256]",
            "beam_step.yaml:10:7",
            "at least 1 in every configuration",
        ),
    ],
)
def test_a_where_from_which_nothing_follows_is_shown_with_what_to_write(
    name: str, file: str, written: str, refused: str, place: str, hint: str, tmp_path: Path
) -> None:
    folder = tmp_path / name
    shutil.copytree(ROOT / EXAMPLES / name, folder)
    text = (folder / file).read_text()
    assert text.count(written) == 1
    (folder / file).write_text(text.replace(written, refused))
    with pytest.raises(DiagnosticError) as caught:
        analyse(folder)
    (found,) = caught.value.diagnostics
    assert found.code == "U402"
    assert str(found.place).endswith(place)
    assert hint in str(found.hint)


@EACH
@settings(max_examples=20)
@given(data=st.data())
@pytest.mark.slow
def test_batches_of_the_new_mode_load(
    name: str, package: Callable[[str], ModuleType], data: st.DataObject
) -> None:
    generated = package(name)
    strategies = importlib.import_module(f"{generated.__name__}.strategies")
    example = WRITTEN[name]
    config = data.draw(strategies.configs())
    runner = generated.EagerTargetRunner(config, device="cpu", debug=True)
    live = data.draw(strategies.eager_target_batches(config, generated.Mode[example.mode]))
    batch = runner.load(live)
    expected = example.rows(config, live)
    assert {axis: getattr(batch, axis) for axis in expected} == expected
    assert batch.input_ids.shape == (expected["tokens"],)
    assert batch.input_ids[: len(live.input_ids)].tolist() == live.input_ids.tolist()
