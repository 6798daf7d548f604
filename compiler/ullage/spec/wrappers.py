"""Wrappers: objects of a vendor's library that are made over slots, as immutable records."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from ullage.expr.tree import Expr
from ullage.place import Place

GivenKind = Literal["tensor", "tensors", "dtype", "int", "float", "bool"]


@dataclass(frozen=True, slots=True)
class SlotValue:
    """A slot of the batch, as padded; `at`: its row at that index; `flat`: in one axis."""

    slot: str
    place: Place
    at: str | None = None
    flat: bool = False


@dataclass(frozen=True, slots=True)
class GivenValue:
    """What the engine gives when it calls."""

    kind: GivenKind
    place: Place


@dataclass(frozen=True, slots=True)
class FormulaValue:
    """A number or truth value that follows from the configuration."""

    formula: Expr


@dataclass(frozen=True, slots=True)
class TextValue:
    """A text that the library takes as it is."""

    text: str


WrapperValue = SlotValue | GivenValue | FormulaValue | TextValue


@dataclass(frozen=True, slots=True)
class WrapperArgument:
    """A keyword argument of the library, and what it gets."""

    name: str
    value: WrapperValue
    place: Place


@dataclass(frozen=True, slots=True)
class RunArgument:
    """A positional argument of the library's `run`, which the engine gives."""

    name: str
    kind: GivenKind
    place: Place


@dataclass(frozen=True, slots=True)
class Each:
    """There is one object for each `index` below `count`."""

    index: str
    count: Expr
    place: Place


@dataclass(frozen=True, slots=True)
class Wrapper:
    """An object that is made once over slots, planned before each step and run inside of it.

    `library`: modules and the class in the last, with dots; `when`: for which configurations it
    exists; `make`, `plan`: keyword arguments of the constructor and of `plan`.
    """

    name: str
    library: str
    when: Expr
    each: Each | None
    make: tuple[WrapperArgument, ...]
    plan: tuple[WrapperArgument, ...]
    run: tuple[RunArgument, ...]
    doc: str
    place: Place

    @property
    def slot_values(self) -> Iterator[SlotValue]:
        """Every use of a slot, in order."""
        yield from slots_in(self.make)
        yield from slots_in(self.plan)

    @property
    def formulas(self) -> Iterator[Expr]:
        """Every formula but the condition."""
        if self.each is not None:
            yield self.each.count
        for argument in (*self.make, *self.plan):
            if isinstance(argument.value, FormulaValue):
                yield argument.value.formula


def slots_in(arguments: tuple[WrapperArgument, ...]) -> Iterator[SlotValue]:
    """The uses of slots among some arguments."""
    for argument in arguments:
        if isinstance(argument.value, SlotValue):
            yield argument.value
