"""The CUDA source of one runner: the types of its slots, from which the loading kernel is made."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from ullage.emit.model import EngineModel, RunnerModel
from ullage.emit.rendering import render
from ullage.emit.text import plain
from ullage.plan.model import PlannedSlot
from ullage.spec.model import Dtype

ELEMENTS: Final[Mapping[Dtype, str]] = {
    "bool": "bool",
    "uint8": "std::uint8_t",
    "int8": "std::int8_t",
    "int16": "std::int16_t",
    "int32": "std::int32_t",
    "int64": "std::int64_t",
    "float16": "ullage::float16",
    "bfloat16": "ullage::bfloat16",
    "float32": "float",
    "float64": "double",
}
"""What the headers of the runtime call the elements of each dtype."""


@dataclass(frozen=True, slots=True)
class SlotType:
    """One slot as the kernel knows it."""

    name: str
    place: str
    type: str


@dataclass(frozen=True, slots=True)
class KernelEmitter:
    """Writes the kernel that loads the slots of one runner on its device."""

    runner: RunnerModel

    @property
    def path(self) -> str:
        """Where the source lies below the folder of the package."""
        return f"kernels/{self.runner.classes.module}.cu"

    def text(self, header: Iterable[str]) -> str:
        """The source. It follows from nothing but dtypes and dimensions of the slots."""
        return render(
            "kernel.cu.j2",
            header=list(header),
            title=plain(self.runner.title),
            slots=list(self._slots()),
        )

    def _slots(self) -> Iterator[SlotType]:
        for slot in self.runner.slots:
            if slot.device == "compute":
                name = self.runner.field(slot.name)
                yield SlotType(name, plain(slot.place.short), slot_type(slot))


def slot_type(slot: PlannedSlot) -> str:
    """The elements of a slot on the device, its dimensions, and what else its sources may hold."""
    accepted = dict.fromkeys(each for each in slot.casts_from if each != slot.dtype)
    parts = (
        ELEMENTS[slot.dtype],
        str(len(slot.dimensions)),
        *(ELEMENTS[each] for each in accepted),
    )
    return f"ullage::Slot<{', '.join(parts)}>"


def kernels_of(engine: EngineModel, header: Iterable[str]) -> dict[str, str]:
    """The kernels of all runners, by path below the folder of the package."""
    lines = tuple(header)
    emitters = (KernelEmitter(runner) for runner in engine.runners)
    return {each.path: each.text(lines) for each in emitters}
