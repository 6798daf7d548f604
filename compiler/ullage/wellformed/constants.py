"""Slots that are written once: what they hold, and how long they are, is no batch's affair."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ullage.diagnostics.diagnostic import Collector
from ullage.expr.tree import Expr, Over, free_names, substitute, walk
from ullage.spec.check import ResolvedSpec
from ullage.spec.model import Slot

VARIES: Final = "U628"


def check_constants(resolved: ResolvedSpec, collector: Collector) -> None:
    """Report what of a slot that is written once would be another for each batch."""
    for slot in resolved.spec.slots:
        if slot.elements is not None:
            own = frozenset({slot.elements.position})
            _check(slot, "value", slot.elements.value, own, resolved, collector)
            for extent in slot.shape:
                _check(slot, "extent", extent, frozenset(), resolved, collector)


def _check(
    slot: Slot,
    what: str,
    written: Expr,
    own: frozenset[str],
    resolved: ResolvedSpec,
    collector: Collector,
) -> None:
    brought = next(_brought(written, own, resolved), None)
    if brought is None:
        return
    message = (
        f"slot '{slot.name}' is written once at the start, but its {what} is another one for "
        f"each batch: it depends on {brought}"
    )
    hint = "use parameters and definitions only, or leave out 'lifetime: once'"
    collector.error(VARIES, message, written.place, hint=hint)


def _brought(written: Expr, own: frozenset[str], resolved: ResolvedSpec) -> Iterator[str]:
    """What of an expression batches bring, as a person would name it."""
    if any(isinstance(node, Over) for node in walk(written)):
        yield "a sum over requests"
    known = resolved.kinds.keys() | own | {"worker"}
    for name in sorted(free_names(substitute(written, resolved.serving))):
        if name not in known or name in resolved.axes:
            yield f"'{name}'"
        elif name in resolved.varying:
            yield f"'{name}', which varies while serving"
