"""Devices to test on, and a mode in which torch may not allocate."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(params=["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def device(request: pytest.FixtureRequest) -> str:
    return str(request.param)


class _ForbidAllocation(TorchDispatchMode):  # type: ignore[no-untyped-call]  # torch's __init_subclass__
    """Refuses every operation that returns memory of its own: views and in-place writes pass."""

    def __torch_dispatch__(
        self,
        func: torch._ops.OpOverload,
        types: Sequence[type],
        args: Sequence[object] = (),
        kwargs: Mapping[str, object] | None = None,
    ) -> object:
        if any(result.alias_info is None for result in func._schema.returns):
            raise AssertionError(f"{func} allocates")
        return func(*args, **(kwargs or {}))


@pytest.fixture
def forbid_allocation() -> Callable[[], AbstractContextManager[object]]:
    return _ForbidAllocation
