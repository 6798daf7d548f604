"""The dtypes of slots, and which integers each dtype holds exactly."""

from __future__ import annotations

from ullage.spec.model import Dtype, Slot

_BITS_OF_FLOAT: dict[str, int] = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}
_WIDER_FLOATS: dict[str, tuple[str, ...]] = {
    "float16": ("float32", "float64"),
    "bfloat16": ("float32", "float64"),
    "float32": ("float64",),
    "float64": (),
}


def dtypes_of(slot: Slot) -> tuple[Dtype, ...]:
    """The dtypes that the slot may be allocated in: a host slot never lies on the device."""
    found = (slot.dtype, slot.cpu_dtype) if slot.device == "compute" else (slot.cpu_dtype,)
    return tuple(dict.fromkeys(found))


def is_float(dtype: Dtype) -> bool:
    """Whether the dtype holds fractions."""
    return dtype in _BITS_OF_FLOAT


def integers_of(dtype: Dtype) -> tuple[int, int]:
    """The least and the largest integer up to which the dtype holds every one exactly."""
    if dtype == "bool":
        return 0, 1
    if dtype == "uint8":
        return 0, 255
    if is_float(dtype):
        limit: int = 2 ** _BITS_OF_FLOAT[dtype]
        return -limit, limit
    bits = int(dtype.removeprefix("int"))
    return -(2 ** (bits - 1)), 2 ** (bits - 1) - 1


def holds_all_of(dtype: Dtype, other: Dtype) -> bool:
    """Whether every value of `other` is one of `dtype`."""
    if dtype == other:
        return True
    if is_float(other):
        return dtype in _WIDER_FLOATS[other]
    low, high = integers_of(other)
    least, most = integers_of(dtype)
    return least <= low and high <= most
