"""Whatever a field of a live batch holds, a load refuses it without a trace or loads it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from support.generated import package
from ullage_runtime.debug import DebugOptions
from ullage_runtime.errors import UllageRuntimeError
from ullage_runtime.ranks import SingleRank

# Any: the packages exist only once the test has generated them.
Drawn = Any
ENGINES = ("barrel", "canal", "cask", "sluice", "tank", "weir")


class Ranks(SingleRank):
    """One of so many ranks, which brings the most rows of all."""

    def __init__(self, count: int) -> None:
        self.count = count


def runners_of(engine: str, config: Drawn, debug: bool) -> Iterator[tuple[str, Drawn]]:
    """Every runner that a configuration has, with the name of its module."""
    options = DebugOptions(values=debug, canaries=debug)
    exported = package(engine)
    count = next(
        (value for name in ("ranks", "dp_size") if (value := getattr(config, name, None))), 1
    )
    for name in exported.__all__:
        made = getattr(exported, name)
        module = made.__module__.rpartition(".")[2]
        if not hasattr(made, "load"):
            continue
        groups = made.__init__.__code__.co_argcount - 2
        try:
            ranks = (Ranks(count) for _ in range(groups))
            yield module, made(config, *ranks, device="cpu", debug=options)
        except UllageRuntimeError:  # it has none, or other ranks
            continue


def contents(tensor: torch.Tensor) -> torch.Tensor:
    return tensor if tensor.dtype.is_floating_point else tensor.float()


WRONG: dict[str, Callable[[Drawn], Drawn]] = {
    "none": lambda value: None,
    "text": str,
    "list": lambda value: [3, 4],
    "half": lambda value: 1.5,
    "truth": lambda value: True,
    "huge": lambda value: 2**70,
    "below": lambda value: -1,
    "mode": lambda value: "decode",
    "floats": lambda value: _of(value, contents),
    "meta": lambda value: _of(value, lambda tensor: tensor.to("meta")),
    "sparse": lambda value: _of(value, torch.Tensor.to_sparse),
    "scalar": lambda value: _of(value, lambda tensor: torch.tensor(2, dtype=tensor.dtype)),
    "column": lambda value: _of(value, lambda tensor: tensor[..., None]),
    "short": lambda value: _of(value, lambda tensor: tensor[1:]),
    "long": lambda value: _of(value, lambda tensor: torch.cat((tensor, tensor))),
    "empty": lambda value: _of(value, lambda tensor: tensor[:0]),
    "strided": lambda value: _of(value, lambda tensor: tensor.repeat_interleave(2, 0)[::2]),
    "gradient": lambda value: _of(value, lambda tensor: contents(tensor).requires_grad_()),
}


def _of(value: Drawn, change: Callable[[torch.Tensor], torch.Tensor]) -> Drawn:
    """A tensor that is made of the field's own, or of some tensor where it has none."""
    own = isinstance(value, torch.Tensor) and value.dim() > 0
    return change(value if own else torch.arange(1, 4))


@pytest.mark.parametrize("engine", ENGINES)
@settings(max_examples=20)
@given(st.data())
@pytest.mark.slow
def test_a_wrong_field_is_refused_without_a_trace_or_changes_nothing_else(
    engine: str, data: st.DataObject
) -> None:
    strategies = package(engine, "strategies")
    config = data.draw(strategies.configs(span=5))
    debug = data.draw(st.booleans())
    module, runner = data.draw(st.sampled_from(list(runners_of(engine, config, debug))))
    if not runner.modes:
        return
    mode = data.draw(st.sampled_from(runner.modes))
    live = data.draw(getattr(strategies, f"{module}_batches")(config, mode))
    for field in fields(live):
        for kind, wrong in WRONG.items():
            attacked = replace(live, **{field.name: wrong(getattr(live, field.name))})
            assert_refused_or_loaded(runner, attacked, f"{field.name} {kind}")


def assert_refused_or_loaded(runner: Drawn, live: Drawn, attack: str) -> None:
    before = [arena.storage.clone() for arena in runner.registry.arenas]
    try:
        batch = runner.load(live)
    except UllageRuntimeError:
        after = [arena.storage for arena in runner.registry.arenas]
        assert all(map(torch.equal, before, after)), attack
        return
    assert batch.mode is live.mode, attack
    assert all(type(getattr(batch, each)) is int for each in extents_of(batch)), attack
    held = {arena.storage.untyped_storage().data_ptr() for arena in runner.registry.arenas}
    carried = {id(getattr(live, field.name)) for field in fields(live)}
    for field in fields(batch):
        value = getattr(batch, field.name)
        if isinstance(value, torch.Tensor) and id(value) not in carried:
            assert value.untyped_storage().data_ptr() in held, attack


def extents_of(batch: Drawn) -> list[str]:
    """The fields for live and padded rows."""
    names = [field.name for field in fields(batch)]
    return [each for name in names if f"live_{name}" in names for each in (name, f"live_{name}")]
