"""Loading wrappers: objects of a vendor's library over slots."""

from __future__ import annotations

import keyword
import re
from dataclasses import dataclass
from typing import Final, cast, get_args

from ullage.place import Place
from ullage.spec import problems
from ullage.spec.model import Slot
from ullage.spec.reading import STAND_IN, Reading
from ullage.spec.wrappers import (
    Each,
    FormulaValue,
    GivenKind,
    GivenValue,
    RunArgument,
    SlotValue,
    TextValue,
    Wrapper,
    WrapperArgument,
    WrapperValue,
)
from ullage.text.fields import Fields, as_scalar, check_choice
from ullage.text.nodes import Mapping, Node, Scalar

GIVEN_KINDS: Final[tuple[GivenKind, ...]] = get_args(GivenKind)
_DOTTED: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)+")


def load_wrappers(
    reading: Reading, library: Fields, slots: tuple[Slot, ...]
) -> tuple[Wrapper, ...]:
    """All wrappers of the library."""
    settings = {
        entry.key.text: entry.key.place
        for section in ("parameters", "definitions")
        for entry in library.named(section)
    }
    loader = _Loader(reading, {slot.name: slot.place for slot in slots}, settings)
    return tuple(
        loader.wrapper(name, fields)
        for name, fields in reading.entries(library.named("wrappers"), "wrapper")
    )


@dataclass(frozen=True, slots=True)
class _Loader:
    """Reads wrappers where these slots, parameters and definitions are declared."""

    reading: Reading
    slots: dict[str, Place]
    settings: dict[str, Place]

    def wrapper(self, name: Scalar, fields: Fields) -> Wrapper:
        """One wrapper."""
        each = self._each(fields)
        wrapper = Wrapper(
            name=name.text,
            library=self._library(fields),
            when=self.reading.when(fields),
            each=each,
            make=self._arguments(fields, "make", each),
            plan=self._arguments(fields, "plan", each),
            run=self._run(fields),
            doc=fields.text("doc", default=""),
            place=name.place,
        )
        fields.finish()
        return wrapper

    def _library(self, fields: Fields) -> str:
        """Modules and a class of the last, as one writes them in Python."""
        scalar = fields.scalar("library", required=True)
        if scalar is None:
            return ""
        is_dotted = _DOTTED.fullmatch(scalar.text) is not None
        reserved = [part for part in scalar.text.split(".") if keyword.iskeyword(part)]
        if not is_dotted or reserved:
            why = f", and '{reserved[0]}' is a reserved word of Python" if reserved else ""
            message = (
                f"'library' of {fields.what} is '{scalar.text}', expected the dotted name of a "
                f"class, such as package.module.Class{why}"
            )
            self.reading.collector.error(problems.NO_CLASS, message, scalar.place)
        return scalar.text

    def _each(self, fields: Fields) -> Each | None:
        """The index, and how many objects there are."""
        named = self.reading.named(fields, "each")
        if "each" not in fields:
            return None
        place = fields.key_place("each")
        if len(named) != 1:
            message = f"'each' of {fields.what}: expected 1 index, found {len(named)}"
            hint = "write each: {index: how many}"
            self.reading.collector.error(problems.WRONG_COUNT, message, place, hint=hint)
        index, count = named[0] if named else ("", STAND_IN)
        return Each(index, count, place)

    def _arguments(
        self, fields: Fields, key: str, each: Each | None
    ) -> tuple[WrapperArgument, ...]:
        return tuple(
            WrapperArgument(
                entry.key.text,
                self._value(entry.value, f"'{entry.key.text}' in '{key}' of {fields.what}", each),
                entry.key.place,
            )
            for entry in fields.named(key)
        )

    def _value(self, node: Node, what: str, each: Each | None) -> WrapperValue:
        if isinstance(node, Mapping):
            return self._described(Fields(node, self.reading.collector, what), each)
        if isinstance(node, Scalar) and node.text in self.slots:
            self._check_meaning(node, what)
            self.reading.refer("slot", node)
            return SlotValue(node.text, node.place)
        return FormulaValue(self.reading.expression(node, what))

    def _described(self, fields: Fields, each: Each | None) -> WrapperValue:
        """A slot as it is seen, a text, or what the engine gives."""
        if "given" in fields:
            kind = fields.choice("given", GIVEN_KINDS, default="tensor")
            fields.finish()
            return GivenValue(cast(GivenKind, kind), fields.place("given"))
        if "text" in fields:
            text = TextValue(fields.text("text", default=""))
            fields.finish()
            return text
        slot = self.reading.name(fields, "slot", "slot", required=True) or ""
        at = fields.identifier("at")
        value = SlotValue(slot, fields.place("slot"), at, fields.boolean("flat", default=False))
        self._check_at(fields, at, each)
        fields.finish()
        return value

    def _check_at(self, fields: Fields, at: str | None, each: Each | None) -> None:
        """What a slot is taken at is the index of the wrapper."""
        if at is None or (each is not None and each.index in (at, "")):
            return
        if each is None:
            message = f"{fields.what} is taken at '{at}', but its wrapper has no 'each'"
            hint = f"write each: {{{at}: how many}} beside 'make'"
        else:
            message = f"{fields.what} is taken at '{at}', expected '{each.index}'"
            hint = f"write at: {each.index}"
        code = problems.CONTRADICTING_KEYS if each is None else problems.UNKNOWN_REFERENCE
        self.reading.collector.error(code, message, fields.place("at"), hint=hint)

    def _check_meaning(self, scalar: Scalar, what: str) -> None:
        """A name alone is a slot or a setting, and not both."""
        name = scalar.text
        if (setting := self.settings.get(name)) is not None:
            message = f"{what} is '{name}', which is a slot and a parameter or definition"
            hint = f"write {{slot: {name}}} for the slot, or rename one of the two"
            related = ((self.slots[name], "the slot"), (setting, "the other"))
            self.reading.collector.error(
                problems.DEFINED_TWICE, message, scalar.place, hint=hint, related=related
            )

    def _run(self, fields: Fields) -> tuple[RunArgument, ...]:
        found: list[RunArgument] = []
        for entry in fields.named("run", required=True):
            what = f"'{entry.key.text}' in 'run' of {fields.what}"
            scalar = as_scalar(entry.value, self.reading.collector, what)
            if scalar is not None and check_choice(
                scalar, GIVEN_KINDS, self.reading.collector, what
            ):
                kind = cast(GivenKind, scalar.text)
                found.append(RunArgument(entry.key.text, kind, entry.key.place))
        return tuple(found)
