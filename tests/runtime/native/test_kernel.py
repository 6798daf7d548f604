"""What a library writes, byte by byte, against torch's loader."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from support.load_libraries import Kernel
from support.slot_loads import Case, Loaded, cases

pytestmark = pytest.mark.slow

PLAIN = Case((64,), (32,), (20,), torch.int64, torch.int64, "dense", True, 7)


def require_same(kernel: Kernel, some: list[Case], seed: int = 0, times: int = 1) -> None:
    """Equal bytes in both arenas, guards between slots included, after each of some batches."""
    actual, expected = (Loaded(some, kernel.device, seed) for _ in range(2))
    load = kernel.writer(actual).prepare(actual.steps, actual.sources)
    for _ in range(times):
        assert load(actual.sources)
        expected.load_by_torch()
        assert torch.equal(actual.arena.storage, expected.arena.storage)
        for each in (actual, expected):
            each.poison()
            each.fresh()


@given(st.data(), st.integers(0, 1000))
def test_any_load_writes_the_same_bytes_as_torch_and_no_others(
    kernel: Kernel, data: st.DataObject, seed: int
) -> None:
    some = data.draw(st.lists(cases(dtypes=kernel.dtypes), min_size=1, max_size=20))
    require_same(kernel, some, seed, times=2)


@given(st.data(), st.integers(0, 1000))
def test_a_slot_of_many_blocks_is_written_to_its_end(
    kernel: Kernel, data: st.DataObject, seed: int
) -> None:
    require_same(kernel, [data.draw(cases(largest=20_000, dtypes=kernel.dtypes))], seed)


@pytest.mark.parametrize("layout", ["dense", "misaligned"])
@pytest.mark.parametrize("source_dtype", [torch.int64, torch.int32])
def test_a_slot_of_megabytes_is_written_to_its_end(
    kernel: Kernel, layout: str, source_dtype: torch.dtype
) -> None:
    rows = (700_001,), (650_003,), (600_007,)
    case = Case(*rows, torch.int64, source_dtype, layout, True, 3)
    require_same(kernel, [case, replace(case, fill=None), replace(case, sourced=False)])


@pytest.mark.parametrize("count", [8, 9, 16, 17, 33, 70])
def test_a_load_may_have_as_many_slots_as_it_likes(kernel: Kernel, count: int) -> None:
    some = [replace(PLAIN, live=(i % 33,), fill=i) for i in range(count)]
    require_same(kernel, some)


@pytest.mark.parametrize(
    ("shape", "padded", "live"),
    [
        ((3, 41), (3, 33), (3, 20)),  # rows of all axes, cut along the last one
        ((17, 5), (16, 5), (9, 5)),  # requests of one width: a single row
        ((17, 7), (16, 5), (9, 3)),  # a block, padded along both axes
        ((6, 4, 9), (5, 3, 9), (4, 2, 7)),
    ],
)
@pytest.mark.parametrize("layout", ["dense", "misaligned", "strided", "transposed", "cut"])
def test_strides_of_capacity_and_of_sources_are_kept_to(
    kernel: Kernel,
    shape: tuple[int, ...],
    padded: tuple[int, ...],
    live: tuple[int, ...],
    layout: str,
) -> None:
    case = replace(PLAIN, capacity=shape, padded=padded, live=live, layout=layout)
    require_same(kernel, [case, replace(case, fill=None), replace(case, source_dtype=torch.int32)])


def test_a_small_batch_after_a_big_one_leaves_no_stale_row_in_a_filled_tail(kernel: Kernel) -> None:
    big = replace(PLAIN, padded=(64,), live=(64,))
    loaded = Loaded([big], kernel.device)
    writer = kernel.writer(loaded)
    assert writer.prepare(loaded.steps, loaded.sources)(loaded.sources)
    rows = loaded.slots[0].tolist()
    loaded.cases = [PLAIN]
    loaded.views = [loaded.slots[0][:32]]
    sources = loaded.fresh()
    assert writer.prepare(loaded.steps, sources)(sources)
    assert loaded.slots[0].tolist() == [*sources[0].tolist(), *[7] * 12, *rows[32:]]


def test_a_load_without_any_source_fills(kernel: Kernel) -> None:
    computed = replace(PLAIN, live=None, fill=3)
    require_same(kernel, [computed, replace(PLAIN, sourced=False)])


def test_a_load_that_writes_nothing_is_no_launch(kernel: Kernel) -> None:
    loaded = Loaded([replace(PLAIN, sourced=False, fill=None)], kernel.device)
    before = loaded.arena.storage.clone()
    assert kernel.writer(loaded).prepare(loaded.steps, [])([])
    assert torch.equal(loaded.arena.storage, before)


def test_a_type_that_no_slot_of_the_runner_has_is_refused_when_it_is_prepared(
    kernel: Kernel,
) -> None:
    loaded = Loaded([PLAIN], kernel.device)
    (step,) = loaded.steps
    with pytest.raises(ValueError, match="dtypes"):
        kernel.writer(loaded).prepare([step], [loaded.sources[0].to(torch.complex64)])


def test_sources_and_steps_that_do_not_go_together_are_refused(kernel: Kernel) -> None:
    loaded = Loaded([PLAIN], kernel.device)
    writer = kernel.writer(loaded)
    (source,) = loaded.sources
    for wrong in ([], [source] * 2):
        with pytest.raises(ValueError, match="the steps take 1"):
            writer.prepare(loaded.steps, wrong)
    with pytest.raises(ValueError, match="live part"):
        writer.prepare(loaded.steps, [source[1:]])
