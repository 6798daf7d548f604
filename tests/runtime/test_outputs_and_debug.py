from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import pytest
import torch
from torch import Tensor

from ullage_runtime.debug import (
    DebugOptions,
    differences,
    poison,
    require_same_outputs,
    require_unpoisoned,
    unchanged,
)
from ullage_runtime.errors import DebugError
from ullage_runtime.outputs import live_rows, named_tensors

PLACE = "modes/decode.yaml:1:1"


@dataclass(frozen=True, slots=True)
class Logits:
    logits: Tensor
    hidden: Tensor | None
    names: tuple[str, ...] = ("kept",)


class Pair(NamedTuple):
    first: Tensor
    second: int


def rows_of(count: int) -> Tensor:
    return torch.arange(1, 2 * count + 1).reshape(count, 2).float()


def test_live_rows_cuts_every_structure_and_leaves_the_original() -> None:
    full = rows_of(8)
    output = {
        "data": Logits(full, None),
        "pair": Pair(full, 8),
        "several": [full, (full, None)],
        "count": 8,
    }
    cut = live_rows(output, 3, 8)
    assert {path: tuple(tensor.shape) for path, tensor in named_tensors(cut)} == {
        "output['data'].logits": (3, 2),
        "output['pair'][0]": (3, 2),
        "output['several'][0]": (3, 2),
        "output['several'][1][0]": (3, 2),
    }
    assert isinstance(cut["pair"], Pair)
    assert cut["pair"].second == 8
    assert isinstance(cut["data"], Logits)
    assert cut["data"].names == ("kept",)
    assert all(tensor.shape[0] == 8 for _, tensor in named_tensors(output))
    assert all(tensor.data_ptr() == full.data_ptr() for _, tensor in named_tensors(cut))


def test_live_rows_keeps_tensors_that_are_not_padded_rows() -> None:
    scalar, experts = torch.tensor(2.5), torch.ones(5)
    kept_scalar, kept_experts, logits = live_rows((scalar, experts, rows_of(8)), 3, 8)
    assert kept_scalar is scalar
    assert kept_experts is experts
    assert logits.shape == (3, 2)


def test_live_rows_without_padding_is_the_output_itself() -> None:
    output = Logits(rows_of(4), None)
    assert live_rows(output, 4, 4) is output
    assert live_rows(None, 2, 4) is None


@pytest.mark.parametrize(
    "dtype", [torch.int64, torch.int32, torch.int16, torch.float32, torch.bfloat16]
)
def test_poison_left_in_a_read_row_is_found(dtype: torch.dtype) -> None:
    slot = torch.ones(3, 8, dtype=dtype)
    require_unpoisoned("decode", "positions", slot, place=PLACE)
    poison(slot[:, 6:])
    require_unpoisoned("decode", "positions", slot[:, :6], place=PLACE)
    with pytest.raises(DebugError, match="slot positions is read at element 6") as caught:
        require_unpoisoned("decode", "positions", slot, place=PLACE)
    assert caught.value.code == "U732"


@pytest.mark.parametrize("dtype", [torch.bool, torch.int8, torch.uint8])
def test_poison_of_one_byte_is_not_mistaken_for_data(dtype: torch.dtype) -> None:
    slot = torch.zeros(4, dtype=dtype)
    poison(slot)
    assert slot.all()
    require_unpoisoned("decode", "mask", slot, place=PLACE)


def test_unchanged_compares_bits_and_nan_with_nan() -> None:
    tensor = torch.tensor([1.0, float("nan")])
    before = tensor.clone()
    assert unchanged(tensor, before)
    tensor[0] = 1.0000001
    assert not unchanged(tensor, before)


def test_outputs_within_tolerance_are_equal() -> None:
    padded = Logits(rows_of(8) * 1.0001, None)
    eager = Logits(rows_of(3), None)
    require_same_outputs("decode", padded, eager, DebugOptions.of(True), rows=3, place=PLACE)
    assert differences(padded, eager, rows=3, rtol=1e-3) == ()


def test_outputs_that_differ_are_described_with_both_values() -> None:
    padded, eager = rows_of(3), rows_of(3)
    padded[1, 0] = float("nan")
    with pytest.raises(DebugError) as caught:
        require_same_outputs("decode", padded, eager, DebugOptions.of(True), place=PLACE)
    assert str(caught.value) == (
        "U731: Mode 'decode': padded and eager steps differ: output differs in 1 of 6 elements, "
        f"first at element 2: nan instead of 3.0 ({PLACE})."
    )


def test_outputs_of_other_structure_shape_or_dtype_differ() -> None:
    found = {"a": rows_of(2), "b": rows_of(2), "extra": rows_of(1)}
    expected = {"a": rows_of(3), "b": rows_of(2).int(), "gone": rows_of(1)}
    described = [str(each) for each in differences(found, expected)]
    assert described == [
        "output['extra'] is not in the expected output",
        "output['a'] is torch.float32 [2, 2] instead of torch.float32 [3, 2]",
        "output['b'] is torch.float32 [2, 2] instead of torch.int32 [2, 2]",
        "output['gone'] is missing",
    ]


def test_integers_must_be_equal_whatever_the_tolerance() -> None:
    assert differences(torch.tensor([100]), torch.tensor([101]), rtol=1.0, atol=9.0)


def test_debug_is_off_on_or_chosen() -> None:
    assert DebugOptions.of(False) == DebugOptions()
    assert DebugOptions.of(True).canaries
    assert DebugOptions.of(True).order
    chosen = DebugOptions(poison=True)
    assert DebugOptions.of(chosen) is chosen
