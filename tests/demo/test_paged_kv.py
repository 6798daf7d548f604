from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from ullage_demo.paged_kv import CacheFullError, KVPool, RequestTable


@given(st.lists(st.integers(1, 40), max_size=20), st.integers(1, 9))
def test_admitted_requests_share_no_slot_and_never_get_the_padding_one(
    lengths: list[int], page_size: int
) -> None:
    table = RequestTable(6, 40, 24, page_size)
    held: dict[int, int] = {}
    for number, length in enumerate(lengths):
        if number % 3 == 2 and held:
            row = next(iter(held))
            table.release(row)
            del held[row]
        if table.fits(length):
            held[table.admit(length)] = length
    slots = [slot for row, n in held.items() for slot in table.slots(row, 0, n).tolist()]
    assert len(slots) == len(set(slots))
    assert all(page_size <= slot < 25 * page_size for slot in slots)
    assert 0 not in held
    assert not table.req_to_token[0].any()


def test_pages_come_back_on_release() -> None:
    table = RequestTable(2, 30, 4, 8)
    row = table.admit(25)
    assert table.free_pages == 0
    assert not table.fits(1)
    table.release(row)
    assert table.free_pages == 4
    assert not table.req_to_token.any()


def test_a_request_that_does_not_fit_is_refused() -> None:
    table = RequestTable(2, 30, 4, 8)
    with pytest.raises(CacheFullError, match="exceeds the table's 30"):
        table.admit(31)
    table.admit(20)
    with pytest.raises(CacheFullError, match="left for 10 tokens"):
        table.admit(10)


def test_slots_that_overlap_move_as_if_read_first() -> None:
    pool = KVPool(2, 8, 2, 3)
    for stored in (*pool.keys, *pool.values):
        stored.copy_(torch.arange(8.0)[:, None, None].expand(8, 2, 3))
    pool.move(torch.tensor([2, 4, 5]), torch.tensor([3, 2, 4]))
    for stored in (*pool.keys, *pool.values):
        assert stored[:, 0, 0].tolist() == [0, 1, 4, 2, 5, 5, 6, 7]
