"""What decides about the extents of a batch, so that a load knows a shape that it has met."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ullage.emit.model import RunnerModel
from ullage.emit.padding import exchanges_of_padding
from ullage.emit.scope import scope_of
from ullage.emit.text import comment, literal
from ullage.expr.simplify import fold
from ullage.expr.tree import FALSE, TRUE, disjunction
from ullage.spec.model import Mode


@dataclass(frozen=True, slots=True)
class SeenView:
    """One mode, and the arguments that say what is seen of its batches."""

    place: str
    member: str
    arguments: str


@dataclass(frozen=True, slots=True)
class ExchangingView:
    """One mode whose ranks exchange their rows, and the condition under which they do."""

    member: str
    condition: str


def seen_of(runner: RunnerModel) -> Iterator[SeenView]:
    """What is seen in each mode of a runner."""
    for mode, _ in runner.modes:
        yield SeenView(comment(mode.place.short, 4), mode.name.upper(), _arguments(runner, mode))


def exchanging_modes(runner: RunnerModel) -> Iterator[ExchangingView]:
    """The modes in whose padding other ranks take part, in some configuration."""
    source = runner.engine.settings.source("config")
    for mode, _ in runner.modes:
        exchanges = exchanges_of_padding(scope_of(runner, mode))
        exists = fold(disjunction(*(each.guard for each in exchanges))) if exchanges else FALSE
        if exists != FALSE:
            yield ExchangingView(mode.name.upper(), "" if exists == TRUE else source.of(exists))


def _arguments(runner: RunnerModel, mode: Mode) -> str:
    """Numbers, extents of tensors, and whether elements count, as far as load sees them."""
    engine = runner.engine
    numbers: dict[str, None] = {}
    extents: dict[tuple[str, int], None] = {}
    by_contents = False
    for parameter in scope_of(runner, mode).serving.values():
        numbers.setdefault(engine.serving_field(parameter).name)
    for variable in mode.live:
        for place in variable.seen_in:
            field = engine.live_field(place)
            if place.dimension is not None:
                extents.setdefault((field.name, place.dimension))
            elif variable.per is not None or field.is_tensor:
                by_contents = True
            else:
                numbers.setdefault(field.name)
    for own in runner.own_extents:
        if own.slot.source is not None and mode.name in own.slot.tails:
            extents.setdefault((engine.live_field(own.slot.source).name, own.position))
    arguments = [_tuple(literal(name) for name in numbers)] if numbers or extents else []
    if extents:
        arguments.append(_tuple(f"({literal(name)}, {at})" for name, at in extents))
    if by_contents:
        arguments.append("by_contents=True")
    return ", ".join(arguments)


def _tuple(items: Iterator[str]) -> str:
    listed = tuple(items)
    return f"({', '.join(listed)}{',' if len(listed) == 1 else ''})"
