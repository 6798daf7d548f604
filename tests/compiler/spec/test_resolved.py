"""What a sound spec is loaded and resolved to."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from support.specs import MINI, edited, problems_of, resolved, with_file
from ullage.diagnostics.catalogue import code
from ullage.diagnostics.diagnostic import Collector
from ullage.expr.kinds import BOOLEAN, EnumKind, IntKind, ListKind
from ullage.expr.spell import spell
from ullage.expr.tree import TRUE, Comparison, Enumerant, Integer, Name
from ullage.expr.units import Unit
from ullage.place import Place
from ullage.spec import problems
from ullage.spec.check import ResolvedSpec
from ullage.spec.collectives import Collective
from ullage.spec.stated import StatedFormula
from ullage.text.yaml_source import compose

ROOT = Path(__file__).parents[3]
SPECS = ROOT / "specs"
REFERENCE = ROOT / "docs" / "language.md"


@pytest.fixture
def mini(tmp_path: Path) -> ResolvedSpec:
    return resolved(tmp_path)


def test_the_small_spec_of_the_tests_is_sound(tmp_path: Path) -> None:
    assert problems_of(tmp_path, MINI) == ""


@pytest.mark.parametrize("folder", sorted(path.name for path in SPECS.iterdir() if path.is_dir()))
def test_every_spec_of_the_repository_is_sound(folder: str, tmp_path: Path) -> None:
    root = SPECS / folder
    files = {str(path.relative_to(root)): path.read_text() for path in root.rglob("*.yaml")}
    assert problems_of(tmp_path, files) == ""


def test_definitions_come_in_an_order_in_which_they_can_be_computed(mini: ResolvedSpec) -> None:
    names = [definition.name for definition in mini.spec.definitions]
    assert names == ["rows", "speculative", "one", "step"]


def test_kinds_are_known_of_parameters_definitions_and_the_worker(mini: ResolvedSpec) -> None:
    each = Unit.parse("tokens/requests")
    assert mini.kinds["worker"] == EnumKind("worker", ("target", "draft"))
    assert mini.kinds["max_requests"] == IntKind(Unit.parse("requests"))
    assert mini.kinds["widths"] == ListKind(each)
    assert mini.kinds["tp_size"] == IntKind(Unit())
    assert mini.kinds["sync"] == BOOLEAN
    assert mini.kinds["step"] == mini.kinds["one"] == IntKind(each)
    assert mini.kinds["rows"] == IntKind(Unit.parse("requests"))


def test_what_differs_by_worker_is_known_through_definitions(tmp_path: Path) -> None:
    text = """\
    definitions:
      served: worker == target
      deep: served and sync
      room: pool_tokens // 2
      same: tp_size * 2
    """
    spec = resolved(tmp_path, with_file("more.yaml", text))
    assert spec.worker_dependent == {"pool_tokens", "served", "deep", "room"}


def test_values_of_enums_become_enumerants_with_their_codes(mini: ResolvedSpec) -> None:
    idle = next(mode for mode in mini.spec.modes if mode.name == "idle")
    assert idle.when == Comparison("==", Name("worker"), Enumerant("worker", "target", 0))
    algorithm = next(each for each in mini.spec.parameters if each.name == "algorithm")
    assert algorithm.default == Enumerant("algorithm", "none", 0)


def test_a_default_of_an_enum_may_depend_on_a_condition(tmp_path: Path) -> None:
    early = "  sync: {type: bool, default: false}\n"
    files = edited(
        "engine.yaml",
        (early, ""),
        ("parameters:\n", f"parameters:\n{early}"),
        ("default: none}", "default: tree if sync else none}"),
    )
    algorithm = next(p for p in resolved(tmp_path, files).spec.parameters if p.name == "algorithm")
    assert algorithm.default is not None
    assert spell(algorithm.default) == "tree if sync else none"


def test_powers_of_literals_are_integers(mini: ResolvedSpec) -> None:
    context = next(each for each in mini.spec.parameters if each.name == "context")
    assert context.range is not None
    assert context.range.high == Integer(65536)


def test_a_list_in_yaml_is_a_list_of_expressions(mini: ResolvedSpec) -> None:
    widths = next(each for each in mini.spec.parameters if each.name == "widths")
    assert widths.default is not None
    assert spell(widths.default) == "[2, 4]"


def test_all_stands_for_every_mode_and_slot(mini: ResolvedSpec) -> None:
    runner = mini.spec.runners[0]
    assert runner.modes == ("decode", "idle")
    assert runner.slots == ("input_ids", "lengths", "indices", "token_count")


def test_a_family_stands_for_its_modes(tmp_path: Path) -> None:
    steady = {path: text.replace("family: decode", "family: steady") for path, text in MINI.items()}
    steady["engine.yaml"] = steady["engine.yaml"].replace("  decode: a fixed", "  steady: a fixed")
    drafting = steady["modes/decode.yaml"].replace("mode: decode", "mode: drafting")
    spec = resolved(tmp_path, with_file("modes/drafting.yaml", drafting, files=steady))
    assert [mode.name for mode in spec.modes_named(("steady",))] == ["decode", "drafting"]
    assert [mode.name for mode in spec.modes_named(("drafting",))] == ["drafting"]
    assert len(spec.modes_named(())) == 3


def test_a_formula_without_a_worker_is_one_for_each(mini: ResolvedSpec) -> None:
    place = Place(mini.spec.audits[0].place.file, 7, 46, 4)
    assert place.file.endswith("mini/audits/stated.yaml")
    rows = [
        StatedFormula("eager", worker, "requests", Name("rows"), (("else", "proved"),), place)
        for worker in ("target", "draft")
    ]
    *first, last = mini.spec.audits[0].formulas
    assert first == rows
    assert (last.worker, last.expect) == ("target", (("idle", "wastes"), ("else", "proved")))


def test_a_transform_assigns_axes_over_its_local_names(mini: ResolvedSpec) -> None:
    transform = mini.spec.transforms[0]
    assert transform.arguments == ("per_request",)
    assert [name for name, _ in transform.let] == ["padded"]
    assert [(name, spell(value)) for name, value in transform.assigns] == [
        ("requests", "padded // per_request"),
        ("tokens", "padded"),
    ]
    assert transform.collective is not None
    place = transform.collective.place
    assert transform.collective == Collective("all_gather_max", "dp", place)


def test_live_variables_keep_their_sources(mini: ResolvedSpec) -> None:
    requests, length = mini.spec.modes[0].live
    assert [str(source) for source in requests.seen_in] == ["batch.size"]
    assert length.seen_in == ()
    assert (requests.per, length.per) == (None, "requests")


def test_a_slot_says_its_dtypes_by_device(mini: ResolvedSpec) -> None:
    lengths = next(slot for slot in mini.spec.slots if slot.name == "lengths")
    assert (lengths.dtype, lengths.cpu_dtype, lengths.casts_from) == ("int32", "int64", ("int64",))
    assert (lengths.optional, lengths.device, lengths.modes) == (True, "compute", ("decode",))
    count = mini.spec.slots[-1]
    assert (count.source, count.value) == (None, Name("live_tokens"))


def test_steps_nest_in_groups(mini: ResolvedSpec) -> None:
    load, plan, group, cut = mini.spec.runners[0].steps
    assert [load.action, plan.action, group.action, cut.action] == [
        "load",
        "call",
        "group",
        "slice",
    ]
    assert [step.name for step in group.steps] == ["forward", "logits", "pass_on"]
    assert [(within.context, spell(within.when)) for within in group.within] == [("timer", "sync")]
    assert load.when == TRUE
    assert (cut.takes, cut.gives) == (("output",), "output")


def test_sections_may_be_spread_over_files(tmp_path: Path) -> None:
    text = (
        "parameters: {more: {type: bool}}\nconstraints: [{that: more or sync, else: one of both}]\n"
    )
    spec = resolved(tmp_path, with_file("more.yaml", text)).spec
    assert spec.parameters[-1].name == "more"
    assert [constraint.reason for constraint in spec.constraints][1] == "one of both"


def test_the_digest_is_that_of_the_texts(tmp_path: Path) -> None:
    one = resolved(tmp_path / "a").spec.digest
    same = resolved(tmp_path / "b").spec.digest
    other = resolved(tmp_path / "c", edited("engine.yaml", ("default: 24", "default: 25"))).spec
    assert one == same != other.digest


def test_a_local_name_may_be_that_of_another_place(tmp_path: Path) -> None:
    """An argument of a transform and a live variable never meet."""
    text = "transforms: {wide: {arguments: [length], tokens: tokens * length}}\n"
    assert problems_of(tmp_path, with_file("more.yaml", text)) == ""


def test_all_problems_of_a_run_are_shown_together(
    tmp_path: Path, golden: Callable[[str, str], None]
) -> None:
    files = edited("engine.yaml", ("rows: align_up(max_requests,", "rows: align_up(max_request,"))
    files = edited(
        "modes/decode.yaml", ("tokens: requests * step", "tokens: requests"), files=files
    )
    files = edited("slots.yaml", ("shape: [requests]", "shape: [request]"), files=files)
    files = edited("runners/eager.yaml", ("not planned", "not plannd"), files=files)
    golden("spec/all_problems_of_a_run.txt", problems_of(tmp_path, files))


def test_every_example_of_the_reference_is_yaml() -> None:
    blocks = re.findall(r"```yaml\n(.*?)```", REFERENCE.read_text(), re.DOTALL)
    assert blocks
    collector = Collector()
    for block in blocks:
        text = f"list:\n{block}" if block.startswith("-") else block
        assert compose(text, "language.md", collector) is not None, collector.diagnostics


def test_every_code_of_this_stage_is_in_the_catalogue() -> None:
    for name, value in vars(problems).items():
        if name.isupper():
            assert code(value).id == value
