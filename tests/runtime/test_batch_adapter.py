"""An engine's own batches in front of any runner, with a runner that is written out here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from types import SimpleNamespace
from typing import ClassVar, NamedTuple, cast

import pytest
import torch
from torch import Tensor

from ullage_runtime.adapters.batches import BatchAdapter, ModeLoader, Naming
from ullage_runtime.arena import SlotShape
from ullage_runtime.arena_regions import Regions, RunnerLayout
from ullage_runtime.debug import DebugOptions
from ullage_runtime.errors import BatchError
from ullage_runtime.load_plan import LoadPlan
from ullage_runtime.plan_cache import PlanCache, Seen
from ullage_runtime.recipe import Recipe, Recipes
from ullage_runtime.slots import Slot, SlotGroup, SlotTable
from ullage_runtime.torch_writer import TorchWriter


class Mode(Enum):
    STEP = "step"


class Padded(NamedTuple):
    """What every slot is padded to."""

    rows: int = 4


class Extents(NamedTuple):
    """Live rows of `lengths` and of `width`, and the padded ones."""

    rows: tuple[int, int]
    padded: Padded = Padded()


@dataclass(frozen=True, kw_only=True)
class Live:
    """What the runner takes."""

    mode: Mode
    count: int = 1
    lengths: Tensor | None = None
    width: Tensor | None = None


@dataclass(frozen=True, slots=True)
class Registry:
    """Two slots of one source, of which the second is called like it, and one without."""

    SOURCES: ClassVar[Mapping[str, str]] = {"narrow": "lengths", "lengths": "lengths", "w": "width"}

    regions: Regions
    narrow: Tensor
    lengths: Tensor
    w: Tensor
    table: Tensor


@dataclass(kw_only=True)
class Loaded:
    """What the runner gives."""

    mode: Mode
    live: tuple[int, int]
    padded: Padded
    narrow: Tensor | None = None
    lengths: Tensor | None = None
    w: Tensor | None = None
    table: Tensor | None = None

    @property
    def rows(self) -> int:
        return self.padded.rows


class Runner:
    """Takes every batch, and loads the slots that it is told to; `plans` without a key is debug.

    `taken`: the batches whose loads were planned; `measured`: those that only extents were
    asked of, which it refuses with more than four rows.
    """

    modes: tuple[Enum, ...] = (Mode.STEP,)

    def __init__(self, *loads: str, is_keyed: bool = True) -> None:
        device, debug = torch.device("cpu"), DebugOptions.of(False)
        names = ("narrow", "lengths", "w", "table")
        layout = RunnerLayout.of([SlotShape(n, (4,), torch.int64) for n in names], [], debug=debug)
        regions = Regions.alone("runner", layout, device=device, debug=debug)
        self.registry = Registry(regions, *(regions.compute.slot(name) for name in names))
        self.taken: list[Live] = []
        self.measured: list[Live] = []
        recipes = Recipes(Loaded, {Mode.STEP: self._table(loads)}, TorchWriter(regions.addresses))
        seen = {Mode.STEP: Seen(("count",), (("lengths", 0), ("width", 0)))}
        self.plans = PlanCache(recipes, seen if is_keyed else {})

    def _table(self, loads: tuple[str, ...]) -> SlotTable[Live, Extents]:
        def slot(name: str) -> Slot[Live, Extents]:
            source, storage = Registry.SOURCES.get(name), getattr(self.registry, name)
            if source is None:
                return Slot(name, storage, fill=5, is_number=True)
            return Slot(name, storage, source=source, fill=0, optional=True)

        return SlotTable(
            SlotGroup(
                lambda extents: ((extents.rows[0],), (extents.padded.rows,)),
                *(slot(name) for name in loads if name != "w"),
            ),
            SlotGroup(
                lambda extents: ((extents.rows[1],), (extents.padded.rows,)),
                *(slot(name) for name in loads if name == "w"),
            ),
        )

    def extents(self, live: Live, /) -> Extents:
        self.measured.append(live)
        rows = [0 if each is None else len(each) for each in (live.lengths, live.width)]
        if max(rows) > 4:
            raise BatchError("U712", "step", "rows", "are too many", place="spec.yaml:1")
        return Extents((rows[0], rows[1]))

    def plan(self, live: Live, /) -> LoadPlan[Loaded]:
        self.taken.append(live)
        return self.plans.recipes.plan(live, self.extents(live))

    def load(self, live: Live, /) -> Loaded:
        return self.plan(live).load_first(live)


class EngineBatch:
    """Has no constructor that a copy could call, and an attribute of its own."""

    def __init__(self, **given: object) -> None:
        vars(self).update(given)


def same_place(view: object, slot: Tensor) -> bool:
    return isinstance(view, Tensor) and view.data_ptr() == slot.data_ptr() and len(view) == 4


NAMING = Naming(sources={"width": "holder.width"}, fields={"rows": "size"})


def adapter(runner: Runner) -> ModeLoader[EngineBatch]:
    made: BatchAdapter[EngineBatch, Live] = BatchAdapter(runner, Live, NAMING)
    return made.of(Mode.STEP)


def test_sources_are_read_by_name_or_by_what_the_naming_says() -> None:
    runner, lengths, width = Runner(), torch.ones(2), torch.ones(3)
    batch = EngineBatch(lengths=lengths, holder=SimpleNamespace(width=width))
    adapter(runner).load(batch)
    (live,) = runner.taken
    assert live.lengths is lengths
    assert live.width is width


def test_what_a_batch_has_none_of_keeps_its_default() -> None:
    runner = Runner()
    adapter(runner).load(EngineBatch(lengths=None))
    assert runner.taken == [Live(mode=Mode.STEP)]


def test_what_is_handed_on_beside_the_batch_goes_before_it() -> None:
    runner, beside = Runner(), torch.ones(1)
    adapter(runner).load(EngineBatch(lengths=torch.zeros(1)), {"lengths": beside})
    assert runner.taken[0].lengths is beside


@pytest.mark.parametrize(
    ("loads", "stands"),
    [(("narrow", "lengths"), "lengths"), (("narrow",), "narrow"), (("lengths",), "lengths")],
)
def test_of_slots_with_one_source_the_one_that_is_called_like_it_stands_for_it(
    loads: tuple[str, ...], stands: str
) -> None:
    runner = Runner(*loads)
    view = adapter(runner).load(EngineBatch(lengths=torch.ones(2)))
    assert same_place(vars(view)["lengths"], getattr(runner.registry, stands))


def test_a_slot_stands_for_an_attribute_only_where_the_batch_has_one() -> None:
    runner = Runner("table", "w")
    own = SimpleNamespace(width=None)
    batch = EngineBatch(holder=own, size=2)
    assert vars(adapter(runner).load(batch)) == {"holder": own, "size": 4}
    table = vars(adapter(runner).load(EngineBatch(table=None)))["table"]
    assert same_place(table, runner.registry.table)


def rows(*values: int) -> Tensor:
    return torch.tensor(values)


def test_a_batch_like_one_before_is_loaded_without_asking_the_runner() -> None:
    runner = Runner("lengths", "w", "table")
    loader = adapter(runner)
    holder = SimpleNamespace(width=rows(1, 2, 3))
    loader.load(EngineBatch(lengths=rows(7, 8), holder=holder, size=2, table=None))
    runner.registry.table.fill_(0)
    other = SimpleNamespace(width=rows(4, 5, 6))
    view = vars(
        loader.load(EngineBatch(lengths=rows(9, 10), holder=other, size=2, table=None, own=3))
    )
    assert len(runner.taken) == 1
    assert same_place(view["lengths"], runner.registry.lengths)
    assert view["lengths"].tolist() == [9, 10, 0, 0]
    assert runner.registry.w.tolist() == [4, 5, 6, 0]
    assert view["table"].tolist() == [5, 5, 5, 5]
    assert (view["holder"], view["size"], view["own"]) == (other, 4, 3)


@pytest.mark.parametrize(
    "other",
    [
        {"lengths": rows(1, 2).to(torch.int32)},
        {"lengths": rows(1, 2, 3).to(torch.int32)},
        {"lengths": None},
        {"lengths": rows(1, 2), "holder": None},
        {"lengths": rows(1, 2), "holder": SimpleNamespace(width=None)},
    ],
)
def test_a_batch_unlike_one_before_is_for_the_runner_to_look_at(other: dict[str, object]) -> None:
    runner = Runner("lengths", "w")
    loader = adapter(runner)
    first = {"lengths": rows(7, 8), "holder": SimpleNamespace(width=rows(1, 2, 3)), "count": 1}
    for batch in (first, first | other, first, first | other):
        loader.load(EngineBatch(**batch))
    assert len(runner.taken) == 2


@pytest.mark.parametrize("other", [{"lengths": rows(1, 2, 3)}, {"count": 2}])
def test_of_a_batch_of_a_new_shape_the_runner_is_asked_for_the_extents_alone(
    other: dict[str, object],
) -> None:
    runner = Runner("lengths", "w", "table")
    loader = adapter(runner)
    holder = SimpleNamespace(width=rows(1, 2, 3))
    first = {"lengths": rows(7, 8), "holder": holder, "count": 1, "size": 0, "table": None}
    loader.load(EngineBatch(**first))
    runner.registry.w.fill_(9)
    batch = first | other | {"holder": SimpleNamespace(width=rows(5))}
    for times in (2, 3, 3):  # a shape is kept once it has come for the second time
        view = vars(loader.load(EngineBatch(**batch)))
        assert same_place(view["lengths"], runner.registry.lengths)
        lengths = cast(Tensor, batch["lengths"]).tolist()
        assert view["lengths"].tolist() == [*lengths, 0, 0, 0][:4]
        assert view["table"].tolist() == [5, 5, 5, 5]
        assert runner.registry.w.tolist() == [5, 0, 0, 0]
        assert (view["size"], view["count"]) == (4, batch["count"])
        assert (len(runner.taken), len(runner.measured)) == (1, times)
    measured = runner.measured[1]
    assert (measured.count, measured.lengths) == (batch["count"], batch["lengths"])


def test_an_adapter_makes_no_batch_of_the_runner_for_a_new_shape(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    runner = Runner("narrow", "lengths", "table")
    loader = adapter(runner)
    loader.load(EngineBatch(lengths=rows(7, 8), size=0, table=None))
    monkeypatch.delattr(Recipe, "batch")
    view = vars(loader.load(EngineBatch(lengths=rows(7, 8, 9), size=0, table=None)))
    assert same_place(view["lengths"], runner.registry.lengths)
    assert same_place(view["table"], runner.registry.table)
    assert (view["size"], len(view)) == (4, 3)


def test_what_a_new_shape_is_refused_for_is_what_the_runner_says_of_the_whole_batch() -> None:
    runner = Runner("lengths", "w")
    loader = adapter(runner)
    loader.load(EngineBatch(lengths=rows(7, 8), holder=None))
    with pytest.raises(BatchError, match="too many"):
        loader.load(EngineBatch(lengths=rows(1, 2, 3, 4, 5), holder=None))
    assert len(runner.taken) == 2
    assert runner.registry.lengths.tolist() == [7, 8, 0, 0]


def test_what_a_batch_brings_and_the_one_before_did_not_is_loaded() -> None:
    runner = Runner("lengths", "w")
    loader = adapter(runner)
    loader.load(EngineBatch(lengths=rows(7, 8), holder=None))
    holder = SimpleNamespace(width=rows(1, 2, 3))
    loader.load(EngineBatch(lengths=rows(7, 8), holder=holder))
    assert runner.registry.w.tolist() == [1, 2, 3, 0]


def test_a_runner_without_keys_is_asked_every_time() -> None:
    runner = Runner("lengths", is_keyed=False)
    loader = adapter(runner)
    for _ in range(2):
        view = loader.load(EngineBatch(lengths=rows(7, 8)))
        assert vars(view)["lengths"].tolist() == [7, 8, 0, 0]
    assert len(runner.taken) == 2


class Odd:
    mode = Mode.STEP


def test_a_live_batch_is_given_as_its_dataclass() -> None:
    with pytest.raises(TypeError, match="dataclass"):
        BatchAdapter(Runner(), Odd, NAMING)
