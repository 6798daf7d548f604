"""In which modes a field of a live batch has to be there, as documentation says it."""

from __future__ import annotations

from collections.abc import Iterator

from ullage.emit.model import EngineModel, LiveField
from ullage.expr.tree import TRUE
from ullage.spec.model import Mode


def needs_of(engine: EngineModel, field: LiveField) -> Iterator[str]:
    """The modes in which a field is needed, and those in which it is optional.

    A batch without live rows needs none, so that nothing is said of modes that never have one.
    """
    live = [mode for mode in engine.spec.modes if mode.live]
    needed = [mode for mode in live if _is_needed(engine, field, mode)]
    optional = [mode for mode in live if mode not in needed and _is_taken(engine, field, mode)]
    if needed:
        yield f"needed in {_listed(needed, live)}"
    if optional:
        yield "optional" if optional == live else f"optional in {_listed(optional, live)}"


def _is_needed(engine: EngineModel, field: LiveField, mode: Mode) -> bool:
    """Whether a number of the batch is it, or a slot that is not optional is loaded from it."""
    seen = [source for variable in mode.live for source in variable.seen_in[:1]]
    is_number = not field.is_tensor and any(source.path == field.path for source in seen)
    return is_number or any(
        slot.source is not None
        and slot.source.path == field.path
        and mode.name in slot.tails
        and not slot.optional
        and slot.guard == TRUE
        for runner in engine.runners
        for slot in runner.slots
    )


def _is_taken(engine: EngineModel, field: LiveField, mode: Mode) -> bool:
    """Whether anything is made of the field at all."""
    sources = [source for variable in mode.live for source in variable.seen_in]
    sources += [each.source for each in engine.spec.carried]
    sources += [
        slot.source
        for runner in engine.runners
        for slot in runner.slots
        if slot.source is not None and mode.name in slot.tails
    ]
    return any(source.path == field.path for source in sources)


def _listed(modes: list[Mode], every: list[Mode]) -> str:
    """The modes, or those that are missing where they are fewer."""
    missing = [mode.name for mode in every if mode not in modes]
    if not missing:
        return "every mode"
    if len(missing) < len(modes):
        return f"every mode but {', '.join(missing)}"
    return ", ".join(mode.name for mode in modes)
