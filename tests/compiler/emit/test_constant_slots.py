"""Slots that are written once, when the buffers are placed, and that no load touches."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from support.generated import package
from ullage_runtime.errors import DebugError

# Any: the package exists only once the test has generated it.
Drawn = Any

FIRSTS = [0, 16, 32, 48, 64, 80]
COUNTS = [[1, 2, 3, 4, 5, 6], [6, 5, 4, 3, 2, 1]]


@pytest.fixture(params=[False, True], ids=["plain", "debug"])
def runners(request: pytest.FixtureRequest) -> tuple[Drawn, Drawn]:
    """Both runners in the arenas of one process."""
    dipper = package("dipper")
    config, debug = dipper.Config.of(), bool(request.param)
    arenas = dipper.Arenas.allocate(config, device="cpu", debug=debug)
    return (
        dipper.PlainMainRunner(config, device="cpu", debug=debug, arenas=arenas),
        dipper.SecondMainRunner(config, device="cpu", debug=debug, arenas=arenas),
    )


def batch(mode: str, size: int) -> Drawn:
    dipper = package("dipper")
    return dipper.LiveBatch(mode=dipper.Mode[mode], size=size, ids=torch.arange(11, 11 + size))


def test_constants_are_written_before_the_first_load(runners: tuple[Drawn, Drawn]) -> None:
    for registry in (each.registry for each in runners):
        assert registry.firsts.tolist() == FIRSTS
        assert registry.counts.tolist() == COUNTS
        assert registry.counts.dtype == torch.int32
    assert runners[0].registry.ends.tolist() == [90, 90, 90]


def test_constants_outlive_the_loads_of_all_runners(runners: tuple[Drawn, Drawn]) -> None:
    plain, second = runners
    for size in (5, 6, 1):
        for loaded in (
            plain.load(batch("POUR", size)),
            second.load(batch("STIR", size)),
            plain.load(batch("DROP", size)),
        ):
            assert loaded.firsts.tolist() == FIRSTS
            assert loaded.counts.tolist() == COUNTS


def test_a_batch_has_the_constants_of_its_mode(runners: tuple[Drawn, Drawn]) -> None:
    plain, _ = runners
    assert plain.load(batch("POUR", 3)).ends.tolist() == [90, 90, 90]
    assert plain.load(batch("DROP", 3)).ends is None


def test_a_load_writes_none_of_them() -> None:
    dipper = package("dipper")
    plain = dipper.PlainMainRunner(dipper.Config.of(), device="cpu")
    plain.registry.firsts.fill_(7)
    for size in (5, 4):  # with padding, and without
        assert plain.load(batch("POUR", size)).firsts.tolist() == [7] * 6


def test_constants_follow_the_configuration() -> None:
    dipper = package("dipper")
    config = dipper.Config.of(context=33, page=11, mirrored=False)
    plain = dipper.PlainMainRunner(config, device="cpu")
    assert plain.registry.firsts.tolist() == [0, 11, 22]
    assert plain.registry.counts is None
    assert [each.name for each in plain.registry.constants(config)] == ["firsts", "ends"]


def test_debug_mode_finds_a_constant_that_was_overwritten() -> None:
    dipper = package("dipper")
    plain = dipper.PlainMainRunner(dipper.Config.of(), device="cpu", debug=True)
    plain.load(batch("POUR", 5))
    plain.registry.firsts[3] += 1
    with pytest.raises(DebugError, match=r"U739: Slot firsts .*slots.yaml:3"):
        plain.load(batch("POUR", 5))


def test_a_batch_that_is_handed_out_as_it_is_has_the_constants() -> None:
    dipper = package("dipper")
    plain = dipper.PlainMainRunner(dipper.Config.of(), device="cpu")
    assert plain.load(batch("POUR", 4), copy=False).firsts.tolist() == FIRSTS
