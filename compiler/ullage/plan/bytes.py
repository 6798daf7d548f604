"""A plan's shapes, offsets and bytes for one configuration."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod

from ullage.expr.evaluate import evaluate_boolean, evaluate_integer
from ullage.plan.model import ALIGNMENT, PlannedRunner, PlannedSlot
from ullage.spec.model import BYTES_OF_DTYPE, DeviceRole, Dtype

Values = Mapping[str, int | bool | Sequence[int]]


@dataclass(frozen=True, slots=True)
class PlacedSlot:
    """One slot of one runner: `offset` counts bytes from the start of its device's arena.

    Slots that are kept lie behind the others there.
    """

    name: str
    shape: tuple[int, ...]
    dtype: Dtype
    device: DeviceRole
    offset: int
    bytes: int
    kept: bool = False

    @property
    def end(self) -> int:
        """The first byte behind the slot."""
        return self.offset + self.bytes


def layout_for(runner: PlannedRunner, values: Values) -> tuple[PlacedSlot, ...]:
    """The runner's slots one behind the other by device; none where the runner does not exist.

    `values` is a whole configuration with its definitions, as `complete` answers it. Raises
    EvaluationError if it lacks a name that a shape needs, ValueError for a negative extent.
    """
    if not evaluate_boolean(runner.guard, values):
        return ()
    ends: dict[DeviceRole, int] = {}
    placed: dict[str, PlacedSlot] = {}
    existing = [slot for slot in runner.slots if evaluate_boolean(slot.guard, values)]
    for slot in sorted(existing, key=lambda each: each.kept):
        found = _placed(slot, values, ends.get(slot.device, 0))
        ends[slot.device] = found.end
        placed[slot.name] = found
    return tuple(placed[slot.name] for slot in existing)


def bytes_by_device(slots: Iterable[PlacedSlot]) -> Mapping[DeviceRole, int]:
    """How large each device's arena is, alignment included."""
    sizes: dict[DeviceRole, int] = {}
    for slot in slots:
        sizes[slot.device] = max(sizes.get(slot.device, 0), aligned(slot.end))
    return sizes


def _placed(slot: PlannedSlot, values: Values, end: int) -> PlacedSlot:
    shape = tuple(evaluate_integer(each.capacity, values) for each in slot.dimensions)
    if any(extent < 0 for extent in shape):
        raise ValueError(f"slot '{slot.name}' has the shape {shape}")
    dtype = slot.dtype if slot.device == "compute" else slot.cpu_dtype
    size = prod(shape) * BYTES_OF_DTYPE[dtype]
    return PlacedSlot(slot.name, shape, dtype, slot.device, aligned(end), size, slot.kept)


def aligned(offset: int) -> int:
    """The least offset, at `offset` or behind, at which a slot may start."""
    return -(-offset // ALIGNMENT) * ALIGNMENT
