"""Plans of loads: a batch like the first one is loaded as the reference would, others are not."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from support.small_runner import (
    CAPACITY,
    Extents,
    Live,
    Loaded,
    Mode,
    cache_of,
    live_batch,
    new_arena,
    recipes_of,
    write_all,
)
from ullage_runtime.arena import Arena
from ullage_runtime.load_plan import LoadPlan
from ullage_runtime.loader import SlotLoad
from ullage_runtime.plan_cache import Seen
from ullage_runtime.torch_writer import TorchWriter


def plan_of(arena: Arena, live: Live, rows: int, padded: int) -> LoadPlan[Loaded]:
    return recipes_of(arena).plan(live, Extents(rows, padded))


@given(
    st.integers(0, CAPACITY).flatmap(lambda n: st.tuples(st.just(n), st.integers(n, CAPACITY))),
    st.lists(st.integers(1, 10**6), min_size=2, max_size=4),
    st.booleans(),
)
def test_every_batch_of_a_plan_is_loaded_as_the_reference_loads_it(
    extents: tuple[int, int], seeds: list[int], with_axes: bool
) -> None:
    arena, reference = new_arena(), new_arena()
    first = live_batch(extents[0], seeds[0], with_axes=with_axes)
    plan = plan_of(arena, first, *extents)
    for seed in seeds:
        live = live_batch(extents[0], seed, with_axes=with_axes)
        loaded = plan.load_first(live) if seed is seeds[0] else plan.load(live)
        write_all(reference, live, *extents)
        assert torch.equal(arena.storage, reference.storage)
        assert loaded is not None
        assert loaded.note == live.note
    arena.check_canaries()


def other_of(live: Live, **changes: object) -> Live:
    return replace(live, **changes)  # type: ignore[arg-type]  # what load has to refuse


DIFFERENT: dict[str, Callable[[Live, Arena], Live]] = {
    "another dtype": lambda live, _: other_of(live, ids=torch.ones(3, dtype=torch.int32)),
    "another shape": lambda live, _: other_of(live, lens=torch.ones(4, dtype=torch.int32)),
    "one row, which would be broadcast": lambda live, _: other_of(live, ids=torch.tensor([7])),
    "no rows": lambda live, _: other_of(live, ids=torch.ones(0, dtype=torch.int64)),
    "another device": lambda live, _: other_of(
        live, ids=torch.ones(3, dtype=torch.int64, device="meta")
    ),
    "a sparse one": lambda live, _: other_of(
        live, ids=torch.ones(3, dtype=torch.int64).to_sparse()
    ),
    "a nested one": lambda live, _: other_of(
        live, ids=torch.nested.nested_tensor([torch.ones(3), torch.ones(2)])
    ),
    "no tensor": lambda live, _: other_of(live, ids=[1, 2, 3]),
    "one missing": lambda live, _: other_of(live, hidden=None),
    "gradients": lambda live, _: other_of(
        live, hidden=torch.ones(3, 2, dtype=torch.bfloat16, requires_grad=True)
    ),
    "static storage": lambda live, arena: other_of(live, ids=arena.slot("ids")[4:7]),
}


@pytest.mark.parametrize("difference", DIFFERENT)
def test_a_batch_unlike_the_first_one_is_left_and_nothing_is_written(difference: str) -> None:
    arena = new_arena()
    first = live_batch(3, 1)
    plan = plan_of(arena, first, 3, 8)
    plan.load_first(first)
    before = arena.storage.clone()
    assert plan.load(DIFFERENT[difference](live_batch(3, 4), arena)) is None
    assert torch.equal(arena.storage, before)
    assert plan.load(live_batch(3, 5)) is not None


@pytest.mark.parametrize(
    ("places", "is_loaded"),
    [((3, 8), True), ((8, 3), True), ((4, 8), False), ((3, 7), False), ((0, 11), True)],
)
def test_an_arena_is_static_from_its_first_byte_up_to_its_last(
    places: tuple[int, int], is_loaded: bool
) -> None:
    memory = torch.arange(12)
    writer = TorchWriter([(memory[4:].data_ptr(), memory[8:].data_ptr())])
    steps = [SlotLoad(torch.zeros(1, dtype=torch.int64), "ids", (1,), None) for _ in places]
    load = writer.prepare(steps, [torch.tensor([0]), torch.tensor([0])])
    assert load([memory[place : place + 1] for place in places]) is is_loaded
    written = [step.view.item() for step in steps]
    assert written == ([*places] if is_loaded else [0, 0])


def test_a_source_that_the_first_batch_had_not_is_not_left_out() -> None:
    arena = new_arena()
    first = live_batch(3, 1, with_axes=False)
    plan = plan_of(arena, first, 3, 8)
    plan.load_first(first)
    assert plan.load(live_batch(3, 2)) is None
    assert plan.load(live_batch(3, 3, with_axes=False)) is not None


def test_batches_that_bring_nothing_of_their_own_are_one_object() -> None:
    arena = new_arena()
    plan = plan_of(arena, live_batch(3, 1), 3, 8)
    one, other = (
        plan.load(other_of(live_batch(3, seed), note=None, embeds=None)) for seed in (2, 3)
    )
    assert one is not None
    assert one is other
    assert torch.equal(one.ids[:3], live_batch(3, 3).ids)


def test_a_plan_keeps_nothing_that_its_first_batch_brought() -> None:
    arena = new_arena()
    first = live_batch(3, 1)
    brought = [weakref.ref(each) for each in (first.ids, first.lens, first.axes, first.embeds)]
    plan = plan_of(arena, first, 3, 8)
    loaded = plan.load_first(first)
    assert loaded.embeds is first.embeds
    del first, loaded
    gc.collect()
    assert [each() for each in brought] == [None] * 4
    again = live_batch(3, 2)
    loaded_again = plan.load(again)
    assert loaded_again is not None
    assert loaded_again.embeds is again.embeds


def test_batches_handed_out_have_the_sources_themselves() -> None:
    arena = new_arena()
    live = live_batch(3, 1)
    before = arena.storage.clone()
    batch = plan_of(arena, live, 3, 3).hand_out(live)
    assert batch.ids is live.ids
    assert batch.mask is live.mask
    assert batch.count.tolist() == [3]
    assert torch.equal(arena.storage, before)


def test_plans_are_kept_by_what_decides_about_extents_and_by_sources() -> None:
    known = cache_of(new_arena())
    for seed in range(1, 4):
        for rows, padded, with_axes in ((3, 8, True), (3, 8, False), (2, 4, True)):
            live = live_batch(rows, seed, with_axes=with_axes)
            key = known.key_of(live, Mode.SERVE, (rows, padded))
            known.load_new(key, live, Extents(rows, padded))
    keys = [
        known.key_of(live_batch(n, 1), Mode.SERVE, each) for n, each in ((3, (3, 8)), (2, (2, 4)))
    ]
    assert [len(known.kept.get(key) or ()) for key in keys] == [2, 1]


class Odd:
    """Equal to a number, and none."""

    def __index__(self) -> int:
        return 3


@pytest.mark.parametrize("size", [True, 3.0, "3", Odd(), [3], torch.tensor(3)])
def test_what_is_no_plain_number_has_no_key(size: object) -> None:
    live = live_batch(3, 1)
    known = cache_of(new_arena())
    assert known.key(live, Mode.SERVE, True) == known.key(live_batch(3, 2), Mode.SERVE, True)
    assert cache_of(new_arena()).key(other_of(live, size=size), Mode.SERVE, True) is None


class Plain:
    """A batch of whatever fields."""

    def __init__(self, **given: object) -> None:
        self.__dict__.update(given)


SEEN: dict[str, Seen] = {
    "a number": Seen(("size",)),
    "a number and two tensors": Seen(("size",), (("ids", 0), ("lens", 0))),
    "a tensor": Seen((), (("ids", 0),)),
    "two numbers and a tensor": Seen(("size", "split"), (("ids", 1),)),
    "a number of what a field holds": Seen(("info.size",), (("ids", 0), ("lens", 0))),
}
TENSORS = (None, torch.ones(3), torch.ones(3, 2), torch.tensor(3), torch.ones(4).to_sparse())


@pytest.mark.parametrize("name", SEEN)
@pytest.mark.parametrize("ids", TENSORS)
@pytest.mark.parametrize("lens", TENSORS)
@pytest.mark.parametrize("size", [None, 0, 7])
def test_a_key_has_the_numbers_of_a_batch_and_the_shapes_of_its_tensors(
    name: str, ids: Tensor | None, lens: Tensor | None, size: int | None
) -> None:
    seen = SEEN[name]
    fields = {"size": size, "split": 2, "info.size": size, "ids": ids, "lens": lens}
    batch = Plain(size=size, split=2, info=Plain(size=size), ids=ids, lens=lens)
    found = [fields[each] for each in seen.fields]
    assert seen.key(batch) == tuple(e.shape if isinstance(e, Tensor) else e for e in found)


@pytest.mark.parametrize("name", SEEN)
def test_what_a_batch_lacks_is_none_in_its_key(name: str) -> None:
    assert SEEN[name].key(Plain()) == (None,) * len(SEEN[name].fields)


class Odder(Tensor):
    """Not the tensor that its name says."""


NESTED = torch.nested.nested_tensor([torch.ones(2), torch.ones(3)])


@pytest.mark.parametrize("name", [each for each in SEEN if SEEN[each].fields != ("size",)])
@pytest.mark.parametrize("wrong", [[1, 2], NESTED, torch.ones(3).as_subclass(Odder), 3])
@pytest.mark.parametrize("field", ["ids", "lens"])
def test_what_is_no_plain_tensor_has_no_key(name: str, wrong: object, field: str) -> None:
    seen, batch = SEEN[name], Plain(size=1, split=1, info=Plain(size=1), **{field: wrong})
    assert (seen.key(batch) is None) == (field in seen.fields)


@pytest.mark.parametrize("name", [each for each in SEEN if each != "a tensor"])
@pytest.mark.parametrize("wrong", [True, 3.0, "3", torch.tensor(3)])
def test_a_number_that_is_none_has_no_key_of_any_kind(name: str, wrong: object) -> None:
    assert SEEN[name].key(Plain(size=wrong, split=1, info=Plain(size=wrong))) is None


def test_a_key_of_batches_with_other_names_reads_those() -> None:
    seen = SEEN["a number and two tensors"].renamed(lambda name: f"its.{name}")
    assert seen.key(Plain(its=Plain(size=3, ids=torch.ones(2)))) == (3, torch.Size([2]), None)


def test_only_extents_tell_where_ranks_or_elements_decide() -> None:
    live = live_batch(3, 1)
    assert cache_of(new_arena()).key(live, Mode.SHARED, True) is None
    assert cache_of(new_arena()).key(live, Mode.SHARED, (3, 8)) is not None
    assert cache_of(new_arena()).key(live, Mode.LISTED, True) is None
    assert cache_of(new_arena()).key_of(live, Mode.LISTED, (3, 8)) is not None
    assert cache_of(new_arena()).key(live, "shared", True) is None
    assert cache_of(new_arena()).key(live, Mode.SERVE, None) is None


def test_a_load_is_a_record_of_where_its_rows_lie() -> None:
    view = torch.arange(12).reshape(3, 4)
    load = SlotLoad(view, "mask", (2, 3), 0)
    assert load.head.tolist() == [[0, 1, 2], [4, 5, 6]]
    assert [tail.tolist() for tail in load.tails] == [[[8, 9, 10, 11]], [[3], [7]]]
