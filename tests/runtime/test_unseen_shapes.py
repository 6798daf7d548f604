"""Batches of shapes that were not seen before are loaded as others of their mode were."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from support.small_runner import (
    CAPACITY,
    Extents,
    Live,
    Loaded,
    Mode,
    cache_of,
    head,
    live_batch,
    new_arena,
    recipes_of,
    table_of,
    write_all,
)
from ullage_runtime.arena import Arena
from ullage_runtime.errors import CapacityError
from ullage_runtime.plan_cache import PlanCache
from ullage_runtime.recipe import ALIKE, Recipes
from ullage_runtime.slots import Slot, SlotGroup, SlotTable
from ullage_runtime.views import SlotsAlike, SlotViews

Cache = PlanCache[Loaded, Live, Extents]

EXTENTS = st.integers(0, CAPACITY).flatmap(
    lambda rows: st.builds(Extents, st.just(rows), st.integers(rows, CAPACITY))
)


def key_of(known: Cache, live: Live, extents: Extents) -> object:
    key = known.key(live, Mode.SERVE, extents)
    assert key is not None
    return key


def load(known: Cache, live: Live, extents: Extents) -> Loaded:
    """As generated code does."""
    key = known.key(live, Mode.SERVE, extents)
    assert key is not None
    batch = known.load(key, live)
    if batch is None:
        batch = known.load_unseen(key, live, lambda: extents)
    return known.load_new(key, live, extents) if batch is None else batch


def require_views(batch: Loaded, arena: Arena, live: Live, extents: Extents) -> None:
    rows, padded = extents
    assert (batch.mode, batch.live, batch.padded) == (Mode.SERVE, rows, padded)
    assert (batch.note, batch.embeds) == (live.note, live.embeds)
    shapes = {"ids": (padded,), "lens": (padded,), "hidden": (padded, 2), "count": (1,)}
    shapes |= {"mask": (padded, padded), "table": (padded,)}
    shapes |= {} if live.axes is None else {"axes": (3, padded)}
    for name, shape in shapes.items():
        view, expected = getattr(batch, name), head(arena, name, *shape)
        assert (view.shape, view.stride()) == (expected.shape, expected.stride())
        assert (view.data_ptr(), view.dtype) == (expected.data_ptr(), expected.dtype)
    assert (batch.axes is None) == (live.axes is None)


@given(
    st.lists(st.tuples(EXTENTS, st.booleans(), st.integers(1, 10**6)), min_size=1, max_size=12),
    st.sampled_from([1, 3, 64]),
    st.sampled_from([1, 20, 1000]),
)
def test_shapes_in_any_order_are_loaded_as_the_reference_loads_them(
    batches: list[tuple[Extents, bool, int]], plans: int, views: int
) -> None:
    arena, reference = new_arena(), new_arena()
    known = cache_of(arena, limit=plans)
    known.recipes.views = SlotViews(views)
    for extents, with_axes, seed in batches:
        live = live_batch(extents.rows, seed, with_axes=with_axes)
        batch = load(known, live, extents)
        write_all(reference, live, *extents)
        assert torch.equal(arena.storage, reference.storage)
        require_views(batch, arena, live, extents)
        assert len(known.kept) <= plans
    arena.check_canaries()


def test_only_the_first_batch_with_its_sources_is_checked() -> None:
    known, checked = cache_of(new_arena(), limit=64), []
    for rows in range(1, CAPACITY):
        for with_axes in (True, False):
            live, extents = live_batch(rows, rows, with_axes=with_axes), Extents(rows, CAPACITY)
            key = key_of(known, live, extents)
            if known.load_unseen(key, live, lambda extents=extents: extents) is None:  # type: ignore[misc]  # bound now
                checked.append((rows, with_axes))
                known.load_new(key, live, extents)
    assert checked == [(1, True), (1, False)]


def with_changes(live: Live, **changes: object) -> Live:
    return replace(live, **changes)  # type: ignore[arg-type]  # what load has to refuse


Wrong = Callable[[Live, Arena], Live]
WRONG: dict[str, Wrong] = {
    "another dtype": lambda live, _: with_changes(live, lens=torch.ones(5, dtype=torch.int64)),
    "more rows": lambda live, _: with_changes(live, lens=torch.ones(6, dtype=torch.int32)),
    "one row": lambda live, _: with_changes(live, lens=torch.ones(1, dtype=torch.int32)),
    "a column": lambda live, _: with_changes(live, lens=torch.ones(5, 1, dtype=torch.int32)),
    "on meta": lambda live, _: with_changes(
        live, lens=torch.ones(5, dtype=torch.int32, device="meta")
    ),
    "sparse": lambda live, _: with_changes(live, lens=torch.ones(5, dtype=torch.int32).to_sparse()),
    "no tensor": lambda live, _: with_changes(live, lens=[1] * 5),
    "missing": lambda live, _: with_changes(live, lens=None),
    "gradients": lambda live, _: with_changes(
        live, hidden=torch.ones(5, 2, dtype=torch.bfloat16, requires_grad=True)
    ),
    "static": lambda live, arena: with_changes(live, lens=arena.slot("lens")[1:6]),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_source_of_a_new_shape_is_looked_at_before_any_write(wrong: str) -> None:
    arena = new_arena()
    known, extents = cache_of(arena), Extents(5, 8)
    load(known, live_batch(3, 1), Extents(3, 8))
    live = WRONG[wrong](live_batch(5, 2), arena)
    before, kept = arena.storage.clone(), len(known.kept)
    assert known.load_unseen(key_of(known, live, extents), live, lambda: extents) is None
    assert torch.equal(arena.storage, before)
    assert len(known.kept) == kept


def test_extents_that_are_refused_are_left_to_the_checks() -> None:
    arena = new_arena()
    known = cache_of(arena)
    load(known, live_batch(3, 1), Extents(3, 8))
    live, before = live_batch(5, 2), arena.storage.clone()

    def refuse() -> Extents:
        raise CapacityError("serve", "rows", 5, 4, place="spec.yaml:1", binding="rows")

    assert known.load_unseen(key_of(known, live, Extents(5, 8)), live, refuse) is None
    assert torch.equal(arena.storage, before)


def test_batches_that_lack_what_they_need_are_no_example_for_others() -> None:
    known = cache_of(new_arena())
    live = replace(live_batch(0, 1), ids=torch.ones(0, dtype=torch.int64), lens=None)
    batch = known.load_new(None, live, Extents(0, 4))
    assert batch.lens.tolist() == [1, 1, 1, 1]
    more = replace(live_batch(3, 2), lens=None)
    assert (
        known.load_unseen(key_of(known, more, Extents(3, 4)), more, lambda: Extents(3, 4)) is None
    )


def test_recipes_are_few_for_each_mode() -> None:
    arena = new_arena()
    recipes = recipes_of(arena)
    for dtype in (torch.int32, torch.int64, torch.int16, torch.int8, torch.uint8, torch.int32):
        live = live_batch(3, 1)
        assert live.lens is not None
        recipes.plan(replace(live, lens=live.lens.to(dtype)), Extents(3, 8))
    assert len(recipes.known(live_batch(2, 2))) == ALIKE


def test_what_was_not_checked_has_no_plan() -> None:
    with pytest.raises(ValueError, match="not checked"):
        recipes_of(new_arena()).plan(live_batch(3, 1), Extents(4, 8))


def test_a_slot_without_a_field_is_refused_at_once() -> None:
    arena = new_arena()
    table: SlotTable[Live, Extents] = SlotTable(
        SlotGroup(
            lambda extents: ((extents.rows,), (extents.padded,)), Slot("other", arena.slot("ids"))
        )
    )
    with pytest.raises(ValueError, match="Loaded has no field other"):
        Recipes(Loaded, {Mode.SERVE: table}, None)


def test_a_table_has_the_slots_that_there_are() -> None:
    fields = [slot.field for group in table_of(new_arena()).groups for slot in group.slots]
    assert fields == ["ids", "lens", "table", "axes", "hidden", "mask", "count"]


@pytest.mark.parametrize("shape", [(13,), (-1,), (), (2, 2), (7, 1)])
def test_views_never_exceed_the_smallest_of_their_slots(shape: tuple[int, ...]) -> None:
    slots = SlotsAlike([torch.zeros(12), torch.zeros(7)])
    with pytest.raises(ValueError, match="does not fit"):
        slots.views(shape)
    with pytest.raises(ValueError, match="does not fit"):
        slots.views((8,))
    assert [view.shape for view in slots.views((7,))] == [(7,), (7,)]


def test_views_are_kept_by_shape_up_to_a_limit() -> None:
    slots, views = SlotsAlike([torch.zeros(12), torch.zeros(3, 12)[0]]), SlotViews(5)
    first = views.of(slots, (4,))
    assert views.of(slots, (4,)) is first
    for size in range(12):
        views.of(slots, (size,))
        assert len(views) <= 5
    assert views.of(slots, (4,)) is not first


def test_a_view_shares_the_memory_of_its_slot() -> None:
    slot = torch.arange(24).reshape(4, 6)[1:, 1:]
    (view,) = SlotsAlike([slot]).views((2, 3))
    assert view.tolist() == [[7, 8, 9], [13, 14, 15]]
    view.fill_(0)
    assert slot[:2, :3].sum() == 0
    assert slot.sum() > 0


def test_only_errors_of_batches_are_left_to_the_checks() -> None:
    known = cache_of(new_arena())
    load(known, live_batch(3, 1), Extents(3, 8))
    live = live_batch(5, 2)

    def fail() -> Extents:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        known.load_unseen(key_of(known, live, Extents(5, 8)), live, fail)


@pytest.mark.parametrize("first", [True, False])
def test_views_that_are_made_in_inference_mode_are_written_outside_of_it(first: bool) -> None:
    slots, views = SlotsAlike([torch.zeros(12)]), SlotViews()
    for inference in (first, not first):
        with torch.inference_mode(inference):
            (view,) = views.of(slots, (4,))
            view.fill_(3)
    assert not view.is_inference()
