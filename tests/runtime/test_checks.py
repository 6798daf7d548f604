from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from functools import partial
from typing import cast

import numpy
import pytest
import torch
from torch import Tensor

from ullage_runtime import checks
from ullage_runtime.arena import SlotShape
from ullage_runtime.arena_regions import Regions, RunnerLayout
from ullage_runtime.debug import DebugOptions
from ullage_runtime.errors import BatchError, CapacityError
from ullage_runtime.storage import is_in_place, padded_view

PLACE = "specs/engine/slots.yaml:7:3"


class Mode(Enum):
    DECODE = "decode"
    EXTEND = "extend"
    IDLE = "idle"


class Number:
    """A whole number of another type, as numpy has them."""

    def __init__(self, value: int) -> None:
        self.value = value

    def __index__(self) -> int:
        return self.value

    __int__ = __index__


@pytest.fixture
def regions() -> Regions:
    slots = (
        SlotShape("positions", (16,), torch.int64),
        SlotShape("mrope", (3, 16), torch.int64),
        SlotShape("hidden", (16, 4), torch.float32),
    )
    host = (SlotShape("lengths", (16,), torch.int64),)
    layout = RunnerLayout.of(slots, host, debug=DebugOptions())
    return Regions.alone("eager", layout, device="cpu", debug=DebugOptions())


def refused(code: str, check: Callable[[], object]) -> str:
    with pytest.raises(BatchError) as caught:
        check()
    message = str(caught.value)
    assert caught.value.code == code
    assert message.startswith(f"{code}: Mode 'decode': ")
    assert PLACE in message
    assert message.endswith("Nothing was written.")
    return message


def check_positions(source: Tensor | None, regions: Regions) -> None:
    checks.check_source(
        "decode",
        "positions",
        source,
        shape=(5,),
        into=regions.compute.slot("positions"),
        regions=regions,
        accepts=(torch.int32,),
        place=PLACE,
    )


def test_live_extent_is_that_of_the_first_present_source() -> None:
    def extent(*sources: Tensor | None, dimension: int = 0) -> int:
        return checks.live_extent("decode", "rows", *sources, place=PLACE, dimension=dimension)

    assert extent(None, torch.ones(4, 2), torch.ones(9)) == 4
    assert extent(torch.ones(3, 7), dimension=1) == 7
    assert extent(None, None) == 0
    assert extent() == 0
    assert "rows is the size along dimension 1 of a source of shape (3,)" in refused(
        "U716", lambda: extent(torch.ones(3), dimension=1)
    )
    assert "dimension 0 of a source of shape ()" in refused("U716", lambda: extent(torch.tensor(4)))
    assert "rows has a source of type list, but accepts a torch.Tensor" in refused(
        "U714",
        lambda: extent([1, 2]),  # type: ignore[arg-type]  # wrong on purpose
    )


@pytest.mark.parametrize("value", [0, 7, -(2**70), Number(7)])
def test_whole_numbers_are_taken_as_plain_ones(value: int) -> None:
    found = checks.whole_number("decode", "rows", value, place=PLACE)
    assert (found, type(found)) == (int(value), int)


@pytest.mark.parametrize("value", [None, "3", 3.0, True, torch.tensor(3), [3], Mode.DECODE])
def test_what_is_no_whole_number_is_refused_with_its_type(value: object) -> None:
    message = refused("U712", lambda: checks.whole_number("decode", "rows", value, place=PLACE))
    assert f"rows is {value!r} of type {type(value).__name__}, but must be a whole" in message


@pytest.mark.parametrize(
    ("source", "code", "expected"),
    [
        (torch.tensor([1.5, 2.0]), "U714", "torch.float32, but is made of whole numbers"),
        (torch.tensor([True]), "U714", "torch.bool"),
        ([1, 2], "U714", "of type list, but accepts a torch.Tensor"),
        (torch.ones(1, dtype=torch.int64, device="meta"), "U715", "without data, on meta"),
        (torch.ones(1, dtype=torch.int64).to_sparse(), "U714", "that is torch.sparse_coo"),
    ],
)
def test_values_come_from_whole_numbers_only(source: object, code: str, expected: str) -> None:
    for read in (checks.values_of, checks.single_value):
        message = refused(
            code,
            lambda read=read: read("decode", "lengths", source, place=PLACE),  # type: ignore[misc]
        )
        assert expected in message


def test_an_extent_up_to_the_capacity_fits() -> None:
    for extent in (0, 63, 64):
        checks.check_extent("decode", "requests", 0, extent, 64, place=PLACE, binding="x")
    checks.check_extent("decode", "requests", 64, 64, 64, place=PLACE, binding="x")


def test_an_extent_below_the_live_rows_is_refused() -> None:
    message = refused(
        "U712",
        lambda: checks.check_extent("decode", "requests", 5, 4, 64, place=PLACE, binding="x"),
    )
    assert "requests after padding is 4, but 5 are live" in message


def test_a_capacity_error_names_everything_and_says_that_nothing_was_written() -> None:
    with pytest.raises(CapacityError) as caught:
        checks.check_extent("decode", "requests", 3, 70, 64, place=PLACE, binding="align_up(R, 8)")
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
    error = checks.unknown_mode(Mode.DECODE, "eager", [Mode.EXTEND, Mode.IDLE], place=PLACE)
    message = refused("U717", raising(error))
    assert "eager serves only extend, idle" in message


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("extend", "eager takes a member of Mode, such as Mode.EXTEND, and this is of type str"),
        ("other", "eager takes a member of Mode, and this is of type str"),
        (0, "eager takes a member of Mode, and this is of type int"),
        (None, "eager takes a member of Mode, and this is of type NoneType"),
    ],
)
def test_what_is_no_mode_is_refused_with_its_type(mode: object, expected: str) -> None:
    error = checks.unknown_mode(mode, "eager", [Mode.EXTEND, Mode.IDLE], place=PLACE)
    assert error.code == "U717"
    assert expected in str(error)


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32])
def test_a_good_source_is_accepted(regions: Regions, dtype: torch.dtype) -> None:
    check_positions(torch.arange(1, 6, dtype=dtype), regions)
    check_positions(torch.arange(1, 11, dtype=dtype)[::2], regions)
    check_positions(torch.tensor(4, dtype=dtype).expand(5), regions)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ([1, 2, 3, 4, 5], "of type list, but accepts a torch.Tensor"),
        (5, "of type int"),
        (numpy.arange(5), "of type numpy.ndarray, but accepts a torch.Tensor"),
        (torch.arange(5).to_sparse(), "is torch.sparse_coo, but accepts dense tensors"),
        (
            torch.nested.nested_tensor([torch.arange(2), torch.arange(3)], layout=torch.jagged),
            "that is nested",
        ),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_no_dense_tensor_is_refused(
    regions: Regions, source: object, expected: str
) -> None:
    message = refused("U714", lambda: check_positions(cast(Tensor, source), regions))
    assert expected in message


def test_a_tensor_without_data_is_refused(regions: Regions) -> None:
    def check(source: Tensor) -> Tensor:
        assert "holds no data" in refused("U714", lambda: check_positions(source, regions))
        return source

    torch.func.vmap(check)(torch.arange(10).view(2, 5))


def test_a_missing_source_is_refused(regions: Regions) -> None:
    assert "positions has no source" in refused("U713", lambda: check_positions(None, regions))


def test_a_wrong_dtype_lists_the_accepted_ones(regions: Regions) -> None:
    message = refused("U714", lambda: check_positions(torch.ones(5), regions))
    assert "torch.float32, but accepts torch.int64 or torch.int32" in message


def test_a_wrong_device_names_both(regions: Regions) -> None:
    elsewhere = torch.ones(5, dtype=torch.int64, device="meta")
    message = refused("U715", lambda: check_positions(elsewhere, regions))
    assert "a source on meta, but lies on cpu" in message


@pytest.mark.parametrize("shape", [(4,), (6,), (5, 1), (1, 5), ()])
def test_a_wrong_shape_shows_both(regions: Regions, shape: tuple[int, ...]) -> None:
    source = torch.ones(shape, dtype=torch.int64)
    message = refused("U716", lambda: check_positions(source, regions))
    assert f"of shape {shape}, but the batch implies (5,)" in message


def test_a_source_in_its_own_slot_is_accepted(regions: Regions) -> None:
    head = regions.compute.slot("positions")[:5]
    check_positions(head, regions)
    rope = padded_view(regions.compute.slot("mrope"), 3, 5)
    checks.check_source(
        "decode",
        "mrope",
        rope,
        shape=(3, 5),
        into=regions.compute.slot("mrope"),
        regions=regions,
        place=PLACE,
    )


def test_strides_of_an_axis_of_one_element_do_not_matter(regions: Regions) -> None:
    slot = regions.compute.slot("positions")
    assert is_in_place(slot.as_strided((1,), (9,)), slot)
    assert not is_in_place(slot.as_strided((1,), (9,), 1), slot)


def test_a_source_elsewhere_in_the_arena_is_refused(regions: Regions) -> None:
    shifted = regions.compute.slot("positions")[2:7]
    foreign = regions.compute.slot("mrope")[1, :5]
    of_the_host = regions.host.slot("lengths")[:5]
    reinterpreted = regions.compute.slot("positions").view(torch.int32)[:5]
    for source in (shifted, foreign, reinterpreted, of_the_host):
        before = regions.compute.shared.arena.storage.clone()
        message = refused("U718", partial(check_positions, source, regions))
        assert "pass a copy" in message
        assert torch.equal(regions.compute.shared.arena.storage, before)


def test_a_source_at_the_start_of_its_slot_with_other_strides_is_refused(regions: Regions) -> None:
    slot = regions.compute.slot("mrope")
    crossed = slot.as_strided((3, 2), (2, 1))
    message = refused(
        "U718",
        lambda: checks.check_source(
            "decode", "mrope", crossed, shape=(3, 2), into=slot, regions=regions, place=PLACE
        ),
    )
    assert "byte 256 of the static storage" in message


def test_a_source_that_would_record_gradients_is_refused(regions: Regions) -> None:
    source = torch.ones(5, 4, requires_grad=True)

    def check() -> None:
        slot = regions.compute.slot("hidden")
        checks.check_source(
            "decode", "hidden", source, shape=(5, 4), into=slot, regions=regions, place=PLACE
        )

    assert "requires gradients" in refused("U719", check)
    with torch.no_grad():
        check()


def test_values_on_the_device_are_checked_one_by_one() -> None:
    values = torch.tensor([[3, 4], [9, 2]])
    checks.check_values("decode", "positions", values, 2, 9, place=PLACE)
    checks.check_values("decode", "positions", values[:0], 5, 5, place=PLACE)
    message = refused(
        "U712", lambda: checks.check_values("decode", "positions", values, 2, 8, place=PLACE)
    )
    assert "positions holds 9 at element 2, outside [2, 8]" in message
