"""Generated wrappers hand to their library what the spec says, and say what is missing."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, field
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import torch

from support.generated import generated, package
from ullage_runtime.errors import WrapperError

# Any: the package exists only once the test has generated it.
Drawn = Any


@dataclass
class Recorded:
    """A library's object, which notes what it is given."""

    made: dict[str, Drawn]
    planned: list[dict[str, Drawn]] = field(default_factory=list)
    ran: list[tuple[Drawn, ...]] = field(default_factory=list)

    def plan(self, **arguments: Drawn) -> None:
        self.planned.append(arguments)

    def run(self, *arguments: Drawn) -> Drawn:
        self.ran.append(arguments)
        return torch.tensor(len(self.ran))


class Attention(Recorded):
    """The class of the library."""

    def __init__(self, **arguments: Drawn) -> None:
        super().__init__(arguments)


@pytest.fixture(autouse=True)
def kernels(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The library, which nobody has installed."""
    top, paged = ModuleType("press_kernels"), ModuleType("press_kernels.paged")
    vars(top)["Sampler"] = vars(paged)["Attention"] = Attention
    monkeypatch.setitem(sys.modules, "press_kernels", top)
    monkeypatch.setitem(sys.modules, "press_kernels.paged", paged)
    return paged


def loaded(mode: str = "DECODE", rows: int = 5, **arguments: object) -> tuple[Drawn, Drawn]:
    """A batch of the small engine, and its configuration."""
    press = package("press")
    config = press.Config.from_arguments(arguments)
    runner = press.EagerMainRunner(config, device="cpu")
    marks = torch.arange(rows, dtype=torch.int32)
    live = press.LiveBatch(
        mode=press.Mode[mode], size=rows, input_ids=torch.arange(rows), marks=marks
    )
    return runner.load(live), config


def same(found: torch.Tensor, wanted: torch.Tensor) -> bool:
    """Whether both are one view of one storage."""
    places = [(each.data_ptr(), each.shape, each.stride()) for each in (found, wanted)]
    return places[0] == places[1]


def test_the_library_gets_the_padded_views_of_slots_and_formulas() -> None:
    batch, config = loaded(heads=3)
    made = package("press").Attention(batch, config).made.made
    values = {"graph": True, "narrow": True, "rounds": 6, "number": 3, "layout": 'heads "first"'}
    assert list(made) == ["workspace", "offsets", "table", *values]
    assert same(made["workspace"], batch.workspace)
    assert same(made["offsets"], batch.offsets)
    assert made["offsets"].shape == (9,)
    assert {name: made[name] for name in values} == values


def test_a_slot_in_one_axis_shares_the_storage_of_its_slot() -> None:
    batch, config = loaded()
    flat = package("press").Attention(batch, config).made.made["table"]
    assert flat.shape == (8 * 5,)
    flat.copy_(torch.arange(40))
    assert torch.equal(batch.table, torch.arange(40, dtype=torch.int32).reshape(8, 5))


def test_each_object_has_its_own_row() -> None:
    batch, config = loaded()
    given = (torch.ones(1), torch.zeros(1))
    for layer in range(3):
        wrapper = package("press").LayerAttention(batch, config, layer, config_=given)
        made = wrapper.made.made
        assert same(made["offsets"], batch.layer_offsets[layer])
        assert same(made["table"], batch.layer_table[layer].view(-1))
        assert made["config"] is given


def test_a_plan_gets_what_is_given_and_the_slots_of_the_batch_that_it_is_for() -> None:
    press = package("press")
    batch, config = loaded(heads=5)
    wrapper = press.Attention(batch, config)
    tensor = torch.ones(2)
    wrapper.plan(batch_=tensor, scale=0.5, dtype=torch.float16, max_=7, causal=True)
    (planned,) = wrapper.made.planned
    assert planned.pop("batch") is tensor
    wanted = {"heads": 5, "scale": 0.5, "dtype": torch.float16, "max": 7, "causal": True}
    assert planned == wanted
    by_layer = press.LayerAttention(batch, config, 2, config_=tensor)
    other, _ = loaded(rows=2)
    by_layer.plan(other)
    (planned,) = by_layer.made.planned
    assert same(planned["offsets"], other.layer_offsets[2])
    assert same(planned["marks"], other.marks)


def test_a_run_gets_its_arguments_in_order_and_gives_what_the_library_gives() -> None:
    batch, config = loaded()
    wrapper = package("press").Attention(batch, config)
    query, cache = torch.ones(1), (torch.ones(2), torch.ones(3))
    assert wrapper.run(query, cache, 0.5).item() == 1
    assert wrapper.made.ran == [(query, cache, 0.5)]


def refused(code: str, text: str) -> Drawn:
    return pytest.raises(WrapperError, match=f"^{code}: .*{text}")


def test_a_wrapper_is_not_made_where_its_condition_is_false() -> None:
    batch, config = loaded(backend="plain")
    with refused("U741", "Wrapper attention exists only where fancy") as caught:
        package("press").Attention(batch, config)
    assert caught.value.place == "specs/press/wrappers.yaml:2"


@pytest.mark.parametrize("layer", [-1, 3])
def test_an_index_is_below_the_number_of_objects(layer: int) -> None:
    batch, config = loaded()
    with refused("U742", f"has 3 objects, each for one layer from 0 on, but layer is {layer}"):
        package("press").LayerAttention(batch, config, layer, config_=torch.ones(1))


def test_a_slot_that_a_batch_lacks_is_named_with_where_it_is_loaded() -> None:
    press = package("press")
    batch, config = loaded("PROMPT")
    sampler = press.Mode2(config, 0, bias=torch.ones(1))
    with refused("U743", "Wrapper mode needs slot mode, .* loaded only in decode"):
        sampler.plan(batch)


def test_a_view_with_gaps_is_never_copied() -> None:
    batch, config = loaded()
    gaps = SimpleNamespace(
        workspace=batch.workspace, offsets=batch.offsets, table=batch.table[:, :3]
    )
    with refused("U744", r"slot table in one axis, but \(8, 3\) with strides \(5, 1\) has gaps"):
        package("press").Attention(gaps, config)


def test_a_library_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    batch, config = loaded()
    monkeypatch.setitem(sys.modules, "press_kernels.paged", None)
    with refused("U745", r"needs press_kernels.paged.Attention, but press_kernels.paged cannot"):
        package("press").Attention(batch, config)


@pytest.mark.parametrize("found", [None, 3, "absent"])
def test_a_library_without_the_class_is_named(kernels: ModuleType, found: object) -> None:
    batch, config = loaded()
    del vars(kernels)["Attention"]
    if found != "absent":
        vars(kernels)["Attention"] = found
    with refused("U745", "press_kernels.paged has no class Attention"):
        package("press").Attention(batch, config)


def test_the_package_names_its_wrappers_and_what_batches_have_for_them() -> None:
    press = package("press")
    for name in ("Attention", "AttentionSlots", "LayerAttention", "Mode2", "Mode2Slots"):
        assert name in press.__all__
        assert getattr(press, name).__module__.endswith(".wrappers")
    assert press.Mode.__module__.endswith(".batch")


def test_an_engine_without_wrappers_has_no_module_for_them() -> None:
    assert "wrappers.py" in generated("press")[1]
    assert "wrappers.py" not in generated("barrel")[1]


def test_every_definition_names_the_spec_line_that_it_came_from() -> None:
    lines = generated("press")[1]["wrappers.py"].splitlines()
    starts = [
        number
        for number, line in enumerate(lines)
        if re.match(r"class |    @property|    def (__init__|plan|run)\(", line)
    ]
    assert len(starts) == 6 + 7 + 9
    for number in starts:
        assert re.search(r"# specs/press/\S+\.yaml:\d+$", lines[number - 1]), lines[number]
