"""Sources that are not like the first batch's: nothing is written, and the load says so."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from support.load_libraries import Kernel
from support.slot_loads import Case, Loaded
from ullage_runtime.writers import PreparedLoad

pytestmark = pytest.mark.slow

FLOATS = Case((64,), (32,), (20,), torch.float32, torch.float32, "dense", True, 7)
WHOLE = replace(FLOATS, dtype=torch.int64, source_dtype=torch.int64)


def prepared(library: Kernel, *some: Case) -> tuple[Loaded, PreparedLoad]:
    loaded = Loaded(some, library.device)
    return loaded, library.writer(loaded).prepare(loaded.steps, loaded.sources)


def require_refused(loaded: Loaded, load: PreparedLoad, sources: list[Tensor]) -> None:
    before = loaded.arena.storage.clone()
    assert load(sources) is False
    assert torch.equal(loaded.arena.storage, before)


def negative(source: Tensor) -> Tensor:
    """A view whose elements are the opposite of its bytes."""
    view = torch.complex(source, source).conj().imag
    assert view.is_neg()
    return view


DIFFERENT: dict[str, Callable[[Tensor], Tensor]] = {
    "another dtype": lambda source: source.double(),
    "the same width in another dtype": lambda source: source.view(torch.int32),
    "fewer elements": lambda source: source[1:],
    "no element": lambda source: source[:0],
    "another number of axes": lambda source: source[None],
    "another stride": lambda source: source.repeat_interleave(2)[::2],
    "no data": lambda source: source.to("meta"),
    "a negative view": negative,
    "sparse": lambda source: source.to_sparse(),
    "nested": lambda source: torch.nested.nested_tensor([source], layout=torch.jagged),
    "gradients": lambda source: source.clone().requires_grad_(),
}


@pytest.mark.parametrize("kind", DIFFERENT)
@pytest.mark.parametrize("position", [0, 1])
def test_a_source_unlike_the_first_one_is_refused_before_any_write(
    library: Kernel, kind: str, position: int
) -> None:
    loaded, load = prepared(library, FLOATS, FLOATS)
    sources = loaded.fresh()
    assert load(sources)
    sources[position] = DIFFERENT[kind](sources[position])
    require_refused(loaded, load, sources)


def test_gradients_do_not_matter_where_none_are_recorded(library: Kernel) -> None:
    loaded, load = prepared(library, FLOATS)
    source = loaded.sources[0].clone().requires_grad_()
    with torch.no_grad():
        assert load([source])
    assert torch.equal(loaded.views[0][:20], source.detach())


@pytest.mark.parametrize("count", [0, 1, 3])
def test_another_number_of_sources_is_refused(library: Kernel, count: int) -> None:
    loaded, load = prepared(library, WHOLE, WHOLE)
    require_refused(loaded, load, [loaded.sources[0]] * count)


def test_a_source_at_the_head_of_its_own_slot_is_not_copied(library: Kernel) -> None:
    loaded, load = prepared(library, WHOLE)
    head = loaded.slots[0][:20]
    before = head.clone()
    assert load([head])
    assert torch.equal(head, before)
    assert loaded.views[0][20:].tolist() == [7] * 12, "its tail is filled all the same"


@pytest.mark.parametrize("offset", [1, 2, 20])
def test_a_source_elsewhere_in_static_storage_is_refused(library: Kernel, offset: int) -> None:
    loaded, load = prepared(library, WHOLE, WHOLE)
    inside = loaded.slots[1][offset : offset + 20]
    for sources in ([loaded.sources[0], inside], [inside, loaded.sources[1]]):
        require_refused(loaded, load, sources)


def test_the_head_of_another_slot_is_refused(library: Kernel) -> None:
    loaded, load = prepared(library, WHOLE, WHOLE)
    require_refused(loaded, load, [loaded.slots[1][:20], loaded.sources[1]])


def test_the_head_of_its_own_slot_in_another_dtype_is_refused(library: Kernel) -> None:
    loaded, load = prepared(library, replace(WHOLE, source_dtype=torch.int32))
    require_refused(loaded, load, [loaded.slots[0].view(torch.int32)[:20]])
