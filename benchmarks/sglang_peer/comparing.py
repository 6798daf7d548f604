"""Whether views hold the same: slot by slot with SGLang's, and with the batch for the rest."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import Any, Final

import torch
from torch import Tensor

from sglang_peer.batches import ForwardBatch
from sglang_peer.cases import Case
from sglang_peer.registries import Registry

DEFINED: Final = ("zero", "fill_sentinel")
"""SGLang's policies that say what a padded row holds; elsewhere it holds anything."""


def differences(
    case: Case,
    batch: ForwardBatch,
    registry: Registry,
    reference: ForwardBatch,
    other: ForwardBatch,
) -> list[str]:
    """The fields in which a view of `batch` is not as SGLang's `reference`.

    Another view may keep more fields static than SGLang, if they hold what the batch does.
    """
    found = [
        name for name in _slots(registry) if not _same_slot(case, registry, name, reference, other)
    ]
    if type(other) is not type(reference) or other.batch_size != reference.batch_size:
        found.append("batch_size")
    for name in _carried(batch, registry):
        mine, given = getattr(other, name), getattr(batch, name)
        if mine is not given and not _holds(mine, given):
            found.append(name)
    return found


def only_static_in(other: ForwardBatch, batch: ForwardBatch, registry: Registry) -> list[str]:
    """The fields that a view keeps static and SGLang carries."""
    return [
        name
        for name in _carried(batch, registry)
        if getattr(other, name) is not getattr(batch, name)
    ]


def broken_promises(
    case: Case, batch: ForwardBatch, registry: Registry, view: ForwardBatch
) -> list[str]:
    """Where SGLang's own view of a batch is not what its registry says, read from poisoned buffers.

    Empty, unless what is left out of SGLang here changes what it does.
    """
    found = [
        name for name in _slots(registry) if not _as_promised(case, batch, registry, name, view)
    ]
    found += [n for n in _carried(batch, registry) if getattr(view, n) is not getattr(batch, n)]
    return found


def _slots(registry: Registry) -> Iterator[str]:
    """Slots that are fields of the batch; a dotted one is inside of a field, and read there."""
    return (name for name in registry.slot_names() if "." not in name)


def _carried(batch: ForwardBatch, registry: Registry) -> Iterator[str]:
    for field in fields(batch):
        if field.name != "batch_size" and not registry.has_slot(field.name):
            yield field.name


def _same_slot(
    case: Case, registry: Registry, name: str, reference: ForwardBatch, other: ForwardBatch
) -> bool:
    theirs, ours = getattr(reference, name), getattr(other, name)
    if theirs is None or ours is None:
        return theirs is ours
    if theirs.shape != ours.shape or theirs.dtype != ours.dtype or theirs.device != ours.device:
        return False
    slot = registry.get_slot(name)
    if slot.axis != "none" and slot.padding_policy.value not in DEFINED:
        live = _live(case, slot)
        theirs, ours = theirs[..., :live], ours[..., :live]
    return torch.equal(theirs, ours)


def _holds(mine: object, given: object) -> bool:
    """Whether a static field holds what the batch brings; if that is nothing, it is computed."""
    if given is None:
        return isinstance(mine, Tensor)
    if not isinstance(mine, Tensor) or not isinstance(given, Tensor):
        return False
    head = mine[tuple(slice(size) for size in given.shape)]
    return torch.equal(head, given.to(head.dtype))


def _as_promised(
    case: Case, batch: ForwardBatch, registry: Registry, name: str, view: ForwardBatch
) -> bool:
    slot, mine, given = registry.get_slot(name), getattr(view, name), getattr(batch, name)
    if slot.copy_from_fb and given is None:
        return mine is None
    padded = slot.slice_for(case.padded_requests, case.padded_tokens)
    if mine.data_ptr() != slot.buffer.data_ptr() or mine.shape != padded.shape:
        return False
    if not slot.copy_from_fb:
        return True
    live = _live(case, slot)
    head, tail = mine[..., :live], mine[..., live:]
    return torch.equal(head, given.to(head.dtype)) and bool((tail == _expected(slot)).all())


def _live(case: Case, slot: Any) -> int:
    return case.requests if slot.axis == "bs" else case.tokens


def _expected(slot: Any) -> object:
    """What padded rows hold after a fill of poisoned buffers."""
    poison = True if slot.buffer.dtype == torch.bool else 77
    return {"zero": 0, "fill_sentinel": slot.pad_value}.get(slot.padding_policy.value, poison)
