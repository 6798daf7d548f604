"""The fields of a live batch: what the sources of a spec name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ullage.emit.names import Names
from ullage.spec.model import Parameter, Spec

LIVE_RESERVED = ("mode", "self")
"""What a live batch has besides the fields that the spec names."""


@dataclass(frozen=True, slots=True)
class LiveField:
    """One field of a live batch: a tensor, or a number that the host knows.

    `varies`: the parameter whose present value it is, if any.
    """

    path: tuple[str, ...]
    name: str
    is_tensor: bool
    varies: Parameter | None = None


def live_fields_of(spec: Spec) -> Mapping[tuple[str, ...], LiveField]:
    """Every field that sources name, tensors first where a field is both."""
    tensors: dict[tuple[str, ...], bool] = {}
    for mode in spec.modes:
        for variable in mode.live:
            for source in variable.seen_in:
                is_tensor = source.dimension is not None or variable.per is not None
                tensors[source.path] = tensors.get(source.path, False) or is_tensor
    for slot in spec.slots:
        if slot.source is not None:
            tensors[slot.source.path] = True
    for carried in spec.carried:
        tensors[carried.source.path] = True
    for mode in spec.modes:
        for variable in mode.live:
            if variable.debug_in is not None:
                tensors.setdefault(variable.debug_in.path, True)
    varying: dict[tuple[str, ...], Parameter] = {
        (each.name,): each for each in spec.parameters if each.varies is not None
    }
    paths = {path: "_".join(path[1:] if len(path) > 1 else path) for path in tensors}
    paths |= {path: each.name for path, each in varying.items() if path not in paths}
    made: dict[tuple[str, ...], LiveField] = {}
    taken: set[str] = set(LIVE_RESERVED)
    for path, wished in paths.items():
        safe = Names((wished,), taken).of(wished)
        taken.add(safe)
        made[path] = LiveField(path, safe, tensors.get(path, False), varying.get(path))
    return made
