"""The loader against a reference that writes one element at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from ullage_runtime.arena import Arena, SlotShape
from ullage_runtime.loader import Fill, SlotLoad, write_slot
from ullage_runtime.storage import padded_view

CAPACITY = 24


@dataclass(frozen=True, slots=True)
class Rule:
    """A slot, the axis that rows run along, the fill of its tail, and a dtype of its sources."""

    slot: SlotShape
    axis: int
    fill: Fill | None
    source_dtype: torch.dtype

    def shape(self, rows: int) -> tuple[int, ...]:
        shape = list(self.slot.shape)
        shape[self.axis] = rows
        return tuple(shape)

    def load(self, view: Tensor, rows: int) -> SlotLoad:
        return SlotLoad(view, self.slot.name, self.shape(rows), self.fill)


RULES = (
    Rule(SlotShape("input_ids", (CAPACITY,), torch.int64), 0, None, torch.int64),
    Rule(SlotShape("positions", (CAPACITY,), torch.int64), 0, 0, torch.int32),
    Rule(SlotShape("seq_lens", (CAPACITY,), torch.int32), 0, 1, torch.int64),
    Rule(SlotShape("mrope_positions", (3, CAPACITY), torch.int64), 1, 6, torch.int64),
    Rule(SlotShape("hidden", (CAPACITY, 5), torch.bfloat16), 0, -2.5, torch.float32),
    Rule(SlotShape("mask", (CAPACITY,), torch.bool), 0, True, torch.bool),
)


@st.composite
def batch_extents(draw: st.DrawFn) -> tuple[int, int]:
    padded = draw(st.integers(0, CAPACITY))
    return draw(st.integers(0, padded)), padded


def make_source(rule: Rule, rows: int, seed: int, device: str) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    values = torch.randint(1, 100, rule.shape(rows), generator=generator)
    if rule.source_dtype is torch.bool:
        values = values % 2
    return values.to(rule.source_dtype).to(device)


def positions_of(shape: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    if not shape:
        yield ()
        return
    for index in range(shape[0]):
        for rest in positions_of(shape[1:]):
            yield (index, *rest)


def load_one_by_one(slot: Tensor, rule: Rule, source: Tensor, rows: int, padded: int) -> None:
    for position in positions_of(rule.shape(padded)):
        if position[rule.axis] < rows:
            slot[position] = source[position]
        elif rule.fill is not None:
            slot[position] = rule.fill


def load_all(arena: Arena, rows: int, padded: int, seed: int, device: str = "cpu") -> None:
    for rule in RULES:
        view = padded_view(arena.slot(rule.slot.name), *rule.shape(padded))
        source = make_source(rule, rows, seed, device)
        write_slot(rule.load(view, rows), source)


def new_arena(device: str = "cpu") -> Arena:
    return Arena.holding([rule.slot for rule in RULES], device, canaries=True)


@given(st.lists(st.tuples(batch_extents(), st.integers(1, 10**6)), min_size=1, max_size=3))
def test_any_sequence_of_loads_equals_the_reference_and_touches_nothing_else(
    batches: list[tuple[tuple[int, int], int]],
) -> None:
    arena, reference = new_arena(), new_arena()
    for (rows, padded), seed in batches:
        load_all(arena, rows, padded, seed)
        for rule in RULES:
            source = make_source(rule, rows, seed, "cpu")
            load_one_by_one(reference.slot(rule.slot.name), rule, source, rows, padded)
        assert torch.equal(arena.storage, reference.storage)
    arena.check_canaries()


def test_a_small_batch_after_a_big_one_leaves_no_stale_row_in_a_filled_tail(device: str) -> None:
    arena = new_arena(device)
    load_all(arena, CAPACITY, CAPACITY, 1, device)
    load_all(arena, 3, 8, 2, device)
    assert arena.slot("seq_lens")[3:8].tolist() == [1] * 5
    assert arena.slot("mrope_positions")[:, 3:8].tolist() == [[6] * 5] * 3
    assert arena.slot("hidden")[3:8].tolist() == [[-2.5] * 5] * 5
    assert arena.slot("mask")[3:8].all()
    assert (arena.slot("input_ids")[3:8] != 0).all(), "an unread tail is not written"
    arena.check_canaries()


def test_an_idle_batch_without_a_source_still_gets_its_tail(device: str) -> None:
    arena = new_arena(device)
    load_all(arena, CAPACITY, CAPACITY, 3, device)
    write_slot(SlotLoad(padded_view(arena.slot("seq_lens"), 4), None, (0,), 1), None)
    assert arena.slot("seq_lens")[:4].tolist() == [1] * 4
    assert (arena.slot("seq_lens")[4:] != 0).all()


@pytest.mark.parametrize(("rows", "padded"), [(0, 0), (0, 8), (5, 8), (8, 8), (1, 24)])
def test_loading_never_allocates(
    device: str,
    forbid_allocation: Callable[[], AbstractContextManager[object]],
    rows: int,
    padded: int,
) -> None:
    arena = new_arena(device)
    prepared = [
        (
            padded_view(arena.slot(rule.slot.name), *rule.shape(padded)),
            make_source(rule, rows, 5, device),
            rule,
        )
        for rule in RULES
    ]
    count = torch.zeros(1, dtype=torch.int32, device=device)
    with forbid_allocation():
        for view, source, rule in prepared:
            write_slot(rule.load(view, rows), source)
        write_slot(SlotLoad(count, None, (0,), rows), None)


def test_the_allocation_guard_notices_an_allocation(
    forbid_allocation: Callable[[], AbstractContextManager[object]],
) -> None:
    tensor = torch.ones(3)
    with forbid_allocation(), pytest.raises(AssertionError, match="allocates"):
        tensor.clone()


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: str(rule.slot.name))
def test_a_source_that_is_already_in_place_is_not_copied(rule: Rule) -> None:
    arena = new_arena()
    slot = arena.slot(rule.slot.name)
    view = padded_view(slot, *rule.shape(8))
    write_slot(rule.load(view, 5), make_source(rule, 5, 9, "cpu"))
    before = slot.clone()
    head = view.narrow(rule.axis, 0, 5)
    version = head._version
    write_slot(rule.load(head, 5), head)
    assert head._version == version, "nothing wrote"
    assert torch.equal(slot, before)


def test_a_scalar_is_written_into_its_slot(device: str) -> None:
    arena = Arena.holding([SlotShape("num_token_non_padded", (1,), torch.int32)], device)
    view = arena.slot("num_token_non_padded")
    write_slot(SlotLoad(view, None, (0,), 13), None)
    assert view.tolist() == [13]


def test_rows_without_a_source_are_tail() -> None:
    view = torch.tensor([4, 5, 6])
    write_slot(SlotLoad(view, None, (0,), 9), None)
    assert view.tolist() == [9, 9, 9]


def test_a_block_is_its_source_with_a_fill_around_it() -> None:
    view = torch.full((3, 4), 5)
    write_slot(SlotLoad(view, "mask", (2, 2), -1), torch.tensor([[1, 2], [3, 4]]))
    assert view.tolist() == [[1, 2, -1, -1], [3, 4, -1, -1], [-1, -1, -1, -1]]
    write_slot(SlotLoad(view, None, (0, 0), 8), None)
    assert set(view.flatten().tolist()) == {8}


def test_a_block_that_lies_in_place_is_not_copied_and_keeps_its_values() -> None:
    view = torch.arange(1, 13).reshape(3, 4)
    write_slot(SlotLoad(view, "mask", (2, 2), 7), view[:2, :2])
    assert view[:2, :2].tolist() == [[1, 2], [5, 6]]
    assert set(view[2].tolist()) == {7}


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=3))
def test_tails_are_all_that_is_not_live_once(extents: list[tuple[int, int]]) -> None:
    live = tuple(rows for rows, _ in extents)
    view = torch.zeros(*(rows + padding for rows, padding in extents), dtype=torch.int64)
    load = SlotLoad(view, "mask", live, 1)
    for tail in load.tails:
        tail += 1
    assert int(view.sum()) == view.numel() - load.head.numel()
    assert not load.head.any()
