from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
import torch
from torch import Tensor

from ullage_runtime import checks
from ullage_runtime.arena import Arena, SlotShape
from ullage_runtime.errors import BatchError, CapacityError
from ullage_runtime.storage import is_in_place, padded_view

PLACE = "specs/engine/slots.yaml:7:3"


@pytest.fixture
def arena() -> Arena:
    slots = (
        SlotShape("positions", (16,), torch.int64),
        SlotShape("mrope", (3, 16), torch.int64),
        SlotShape("hidden", (16, 4), torch.float32),
    )
    return Arena.holding(slots, "cpu")


def refused(code: str, check: Callable[[], object]) -> str:
    with pytest.raises(BatchError) as caught:
        check()
    message = str(caught.value)
    assert caught.value.code == code
    assert message.startswith(f"{code}: Mode 'decode': ")
    assert PLACE in message
    assert message.endswith("Nothing was written.")
    return message


def check_positions(source: Tensor | None, arena: Arena) -> Tensor:
    return checks.check_source(
        "decode",
        "positions",
        source,
        shape=(5,),
        into=arena.slot("positions"),
        accepts=(torch.int32,),
        place=PLACE,
    )


def test_live_extent_is_that_of_the_first_present_source() -> None:
    assert checks.live_extent(None, torch.ones(4, 2), torch.ones(9)) == 4
    assert checks.live_extent(torch.ones(3, 7), dimension=1) == 7
    assert checks.live_extent(None, None) == 0
    assert checks.live_extent() == 0


def test_an_extent_up_to_the_capacity_fits() -> None:
    for extent in (0, 63, 64):
        checks.check_extent("decode", "requests", extent, 64, place=PLACE, binding="x")


def test_a_capacity_error_names_everything_and_says_that_nothing_was_written() -> None:
    with pytest.raises(CapacityError) as caught:
        checks.check_extent("decode", "requests", 70, 64, place=PLACE, binding="align_up(R, 8)")
    assert str(caught.value) == (
        "U711: Mode 'decode' needs 70 requests, but the static buffers hold 64, a capacity set "
        f"by align_up(R, 8) ({PLACE}). Nothing was written."
    )
    error = caught.value
    assert (error.mode, error.axis, error.extent, error.capacity) == ("decode", "requests", 70, 64)
    assert (error.binding, error.place) == ("align_up(R, 8)", PLACE)


def raising(error: BatchError) -> Callable[[], object]:
    def check() -> None:
        raise error

    return check


def test_a_live_value_outside_of_numbers_shows_them_only() -> None:
    error = checks.out_of_range("decode", "requests", 65, 1, 64, place=PLACE)
    assert f"requests is 65, outside [1, 64] ({PLACE})" in refused("U712", raising(error))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (2, "requests is 2, outside [3, 8]; the lower end is least = 3 with drafting = true"),
        (9, "requests is 9, outside [3, 8]; the upper end is most - 1 = 8 with drafting = true"),
    ],
)
def test_a_live_value_outside_its_range_shows_the_end_that_it_is_beyond(
    value: int, expected: str
) -> None:
    values = {"drafting": True, "depth": None, "buckets": (4, 8), "algorithm": "eagle"}
    error = checks.out_of_range(
        *("decode", "requests", value, 3, 8),
        place=PLACE,
        lower="least",
        upper="most - 1",
        values=values,
    )
    message = refused("U712", raising(error))
    assert f"{expected}, buckets = [4, 8], algorithm = eagle ({PLACE})" in message


def test_an_adaptive_value_must_be_a_declared_member() -> None:
    def check(value: int) -> None:
        members = (2, 4)
        checks.check_member("decode", "depth", value, members, place=PLACE, listed="depths")

    check(4)
    assert "depth is 3, which is not in depths = [2, 4]" in refused("U712", lambda: check(3))


def test_a_broken_relation_shows_its_values() -> None:
    values = {"requests": 9, "tokens": 4}
    error = checks.broken_relation("decode", "requests <= tokens", values, place=PLACE)
    message = refused("U712", raising(error))
    assert f"requests <= tokens does not hold with requests = 9, tokens = 4 ({PLACE})" in message


def test_an_unknown_mode_lists_the_served_ones() -> None:
    error = checks.unknown_mode("decode", "EagerDraftRunner", ("extend", "idle"), place=PLACE)
    assert error.code == "U717"
    assert "EagerDraftRunner serves only extend, idle" in str(error)


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32])
def test_a_good_source_is_returned(arena: Arena, dtype: torch.dtype) -> None:
    source = torch.arange(1, 6, dtype=dtype)
    assert check_positions(source, arena) is source


def test_a_missing_source_is_refused(arena: Arena) -> None:
    assert "positions has no source" in refused("U713", lambda: check_positions(None, arena))


def test_a_wrong_dtype_lists_the_accepted_ones(arena: Arena) -> None:
    message = refused("U714", lambda: check_positions(torch.ones(5), arena))
    assert "torch.float32, but accepts torch.int64 or torch.int32" in message


def test_a_wrong_device_names_both(arena: Arena) -> None:
    elsewhere = torch.ones(5, dtype=torch.int64, device="meta")
    message = refused("U715", lambda: check_positions(elsewhere, arena))
    assert "a source on meta, but lies on cpu" in message


@pytest.mark.parametrize("shape", [(4,), (6,), (5, 1), (1, 5), ()])
def test_a_wrong_shape_shows_both(arena: Arena, shape: tuple[int, ...]) -> None:
    source = torch.ones(shape, dtype=torch.int64)
    message = refused("U716", lambda: check_positions(source, arena))
    assert f"of shape {shape}, but the batch implies (5,)" in message


def test_a_source_in_its_own_slot_is_accepted(arena: Arena) -> None:
    head = arena.slot("positions")[:5]
    assert check_positions(head, arena) is head
    rope = padded_view(arena.slot("mrope"), 3, 5)
    checks.check_source(
        "decode", "mrope", rope, shape=(3, 5), into=arena.slot("mrope"), place=PLACE
    )


def test_strides_of_an_axis_of_one_element_do_not_matter(arena: Arena) -> None:
    slot = arena.slot("positions")
    assert is_in_place(slot.as_strided((1,), (9,)), slot)
    assert not is_in_place(slot.as_strided((1,), (9,), 1), slot)


def test_a_source_elsewhere_in_the_arena_is_refused(arena: Arena) -> None:
    shifted = arena.slot("positions")[2:7]
    foreign = arena.slot("mrope")[1, :5]
    reinterpreted = arena.slot("positions").view(torch.int32)[:5]
    for source in (shifted, foreign, reinterpreted):
        before = arena.storage.clone()
        message = refused("U718", partial(check_positions, source, arena))
        assert "pass a copy" in message
        assert torch.equal(arena.storage, before)


def test_a_source_at_the_start_of_its_slot_with_other_strides_is_refused(arena: Arena) -> None:
    slot = arena.slot("mrope")
    crossed = slot.as_strided((3, 2), (2, 1))
    message = refused(
        "U718",
        lambda: checks.check_source(
            "decode", "mrope", crossed, shape=(3, 2), into=slot, place=PLACE
        ),
    )
    assert "byte 256 of the static storage" in message


def test_a_source_that_would_record_gradients_is_refused(arena: Arena) -> None:
    source = torch.ones(5, 4, requires_grad=True)

    def check() -> Tensor:
        return checks.check_source(
            "decode", "hidden", source, shape=(5, 4), into=arena.slot("hidden"), place=PLACE
        )

    assert "requires gradients" in refused("U719", check)
    with torch.no_grad():
        assert check() is source


def test_values_on_the_device_are_checked_one_by_one() -> None:
    values = torch.tensor([[3, 4], [9, 2]])
    checks.check_values("decode", "positions", values, 2, 9, place=PLACE)
    checks.check_values("decode", "positions", values[:0], 5, 5, place=PLACE)
    message = refused(
        "U712", lambda: checks.check_values("decode", "positions", values, 2, 8, place=PLACE)
    )
    assert "positions holds 9 at element 2, outside [2, 8]" in message
