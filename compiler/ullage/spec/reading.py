"""How the loaders read expressions, units, ranges and batch fields out of a spec's texts.

A text that cannot be read is collected as an error and answered by a stand-in. A spec with
errors is never handed on, so no stand-in is ever seen.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TypeVar, cast, get_args

from ullage.diagnostics.diagnostic import Collector
from ullage.expr.errors import ExpressionError
from ullage.expr.parse import SourceRef, parse, parse_call, parse_dotted
from ullage.expr.tree import TRUE, Expr, Integer, ListOf
from ullage.expr.units import NO_UNIT, Unit
from ullage.spec import problems
from ullage.spec.model import Dtype, NamedText, PipelineEntry, Range
from ullage.spec.references import Reference, ReferenceKind
from ullage.text.fields import Fields, as_fields, as_scalar, check_choice
from ullage.text.nodes import Entry, Node, Scalar, Sequence

DTYPES: tuple[Dtype, ...] = get_args(Dtype)
STAND_IN = Integer(0)
BATCH = "batch"
"""What every source is a field of."""

_Read = TypeVar("_Read")


class Reading:
    """Reads parts of a spec into values of the model; every mistake goes to `collector`."""

    def __init__(self, collector: Collector) -> None:
        self.collector = collector
        self._references: list[Reference] = []
        self._owner = ""
        self._groups: Mapping[str, tuple[str, ...]] = {}

    @property
    def references(self) -> tuple[Reference, ...]:
        """Every reference by name that was read so far."""
        return tuple(self._references)

    def enter_groups(self, groups: Mapping[str, tuple[str, ...]]) -> None:
        """From here on, lists of slots may name these groups, which stand for their slots."""
        self._groups = groups

    def enter_runner(self, name: str) -> None:
        """From here on, contexts and values are those of the runner `name`."""
        self._owner = name

    def refer(self, kind: ReferenceKind, scalar: Scalar) -> None:
        """Record that a text refers to something of that kind."""
        owner = self._owner if kind in ("context", "value") else ""
        self._references.append(Reference(kind, scalar.text, scalar.place, owner))

    def fields(self, node: Node, what: str) -> Fields | None:
        """The keys of a mapping, or an error and None for anything else."""
        return as_fields(node, self.collector, what)

    def entries(self, entries: tuple[Entry, ...], what: str) -> list[tuple[Scalar, Fields]]:
        """The names of a section with the keys of each; `what` names one of them."""
        named = (
            (entry.key, self.fields(entry.value, f"{what} '{entry.key.text}'")) for entry in entries
        )
        return [(key, fields) for key, fields in named if fields is not None]

    def expression(self, node: Node, what: str) -> Expr:
        """The expression that a text spells; a YAML list is a list of expressions."""
        if isinstance(node, Sequence):
            elements = tuple(self.expression(item, f"an item of {what}") for item in node.items)
            return ListOf(elements, place=node.place)
        scalar = as_scalar(node, self.collector, what)
        if scalar is None:
            return STAND_IN
        return self._parsed(lambda: parse(scalar.text, scalar.at)) or STAND_IN

    def of(self, fields: Fields, key: str, *, required: bool = False) -> Expr | None:
        """The expression in `key`, or None if the key is absent."""
        node = fields.raw(key, required=required)
        return None if node is None else self.expression(node, f"'{key}' of {fields.what}")

    def required(self, fields: Fields, key: str) -> Expr:
        """The expression in `key`, which must be there."""
        return self.of(fields, key, required=True) or STAND_IN

    def when(self, fields: Fields) -> Expr:
        """The condition in `when`; without one, always."""
        return self.of(fields, "when") or TRUE

    def named(
        self, fields: Fields, key: str, kind: ReferenceKind | None = None
    ) -> tuple[tuple[str, Expr], ...]:
        """Names with an expression each, in order; with a kind they refer to things of it."""
        entries = fields.named(key)
        for entry in entries:
            if kind is not None:
                self.refer(kind, entry.key)
        return tuple(
            (entry.key.text, self.expression(entry.value, f"'{entry.key.text}' of {fields.what}"))
            for entry in entries
        )

    def range(self, fields: Fields, key: str, *, required: bool = False) -> Range | None:
        """The two ends of a range, both inclusive."""
        sequence = fields.sequence(key, required=required)
        if sequence is None:
            return None
        if len(sequence.items) != 2:
            found = len(sequence.items)
            message = f"'{key}' of {fields.what}: expected 2 items, found {found}"
            hint = f"write {key}: [least, most]"
            self.collector.error(problems.WRONG_COUNT, message, sequence.place, hint=hint)
            return Range(STAND_IN, STAND_IN, sequence.place)
        low, high = (
            self.expression(item, f"an end of '{key}' of {fields.what}") for item in sequence.items
        )
        return Range(low, high, sequence.place)

    def unit(self, fields: Fields, key: str = "unit") -> Unit | None:
        """The unit in `key`, or None if the key is absent."""
        scalar = fields.scalar(key)
        if scalar is None:
            return None
        return self._parsed(lambda: Unit.parse(scalar.text, scalar.at)) or NO_UNIT

    def source(self, scalar: Scalar) -> SourceRef | None:
        """The batch field that a text names, or None after an error."""
        source = self._parsed(lambda: parse_dotted(scalar.text, scalar.at))
        if source is None or (source.path[0] == BATCH and len(source.path) > 1):
            return source
        if len(source.path) == 1:
            message = f"'{source}' is no field of the batch"
            hint = f"write {BATCH}.{scalar.text.strip()}" if source.path[0] != BATCH else None
        else:
            message = f"'{source}' is no field of the batch: it starts with '{source.path[0]}'"
            hint = f"write {BATCH}{str(source).removeprefix(source.path[0])}"
        self.collector.error(problems.UNKNOWN_REFERENCE, message, scalar.place, hint=hint)
        return None

    def source_field(self, fields: Fields, key: str, *, required: bool = False) -> SourceRef | None:
        """The batch field in `key`; a dimension of one is refused, since it is a number."""
        scalar = fields.scalar(key, required=required)
        source = None if scalar is None else self.source(scalar)
        if scalar is not None and source is not None and source.dimension is not None:
            message = f"'{key}' of {fields.what} is one dimension of a field, expected the field"
            hint = f"write {'.'.join(source.path)}"
            self.collector.error(problems.WRONG_VALUE, message, scalar.place, hint=hint)
        return source

    def pipeline_entry(self, node: Node, what: str) -> PipelineEntry | None:
        """A transform's name, with its arguments in brackets if it has any."""
        scalar = as_scalar(node, self.collector, what)
        call = None if scalar is None else self._parsed(lambda: parse_call(scalar.text, scalar.at))
        if scalar is None or call is None:
            return None
        name, arguments = call
        self._references.append(Reference("transform", name, scalar.at(0, len(name))))
        return PipelineEntry(name, tuple(arguments.items()), scalar.place)

    def name(
        self, fields: Fields, key: str, kind: ReferenceKind, *, required: bool = False
    ) -> str | None:
        """The name in `key`, which refers to something of that kind."""
        name = fields.identifier(key, required=required)
        node = fields.raw(key)
        if name is not None and isinstance(node, Scalar):
            self.refer(kind, node)
        return name

    def names(
        self, fields: Fields, key: str, kind: ReferenceKind, *, required: bool = False
    ) -> tuple[str, ...]:
        """The distinct names in `key`, one or a list, which refer to things of that kind."""
        scalars = fields.identifiers(key, required=required)
        for scalar in scalars:
            self.refer(kind, scalar)
        return tuple(scalar.text for scalar in scalars)

    def names_or_all(
        self, fields: Fields, key: str, kind: ReferenceKind, *, required: bool = False
    ) -> tuple[str, ...]:
        """The names in `key`; the word `all` and an absent key are the empty tuple."""
        node = fields.raw(key, required=required)
        if node is None or (isinstance(node, Scalar) and node.text == "all"):
            return ()
        if isinstance(node, Sequence) and not node.items:
            message = f"'{key}' of {fields.what} is an empty list"
            hint = f"name some, or write {key}: all"
            self.collector.error(problems.WRONG_COUNT, message, node.place, hint=hint)
        return self.names(fields, key, kind)

    def slots_or_all(self, fields: Fields, key: str) -> tuple[str, ...]:
        """The slots in `key`, with those of each group that it names; empty for the word `all`."""
        node = fields.raw(key, required=True)
        if isinstance(node, Sequence) and not node.items:
            return self.names_or_all(fields, key, "slot or group", required=True)
        if isinstance(node, Scalar) and node.text == "all":
            return ()
        found: dict[str, Scalar] = {}
        for scalar in fields.identifiers(key, required=True):
            if scalar.text not in self._groups:
                self.refer("slot or group", scalar)
            for name in self._groups.get(scalar.text, (scalar.text,)):
                self._once(found, name, scalar, fields)
        return tuple(found)

    def _once(self, found: dict[str, Scalar], name: str, scalar: Scalar, fields: Fields) -> None:
        if (earlier := found.setdefault(name, scalar)) is not scalar:
            message = f"{fields.what} has slot '{name}' twice, by itself or through a group"
            related = ((earlier.place, "first here"),)
            self.collector.error(problems.DEFINED_TWICE, message, scalar.place, related=related)

    def texts(self, fields: Fields, key: str) -> tuple[NamedText, ...]:
        """Names with a description each."""
        found = (
            (entry.key, as_scalar(entry.value, self.collector, f"'{entry.key.text}' in '{key}'"))
            for entry in fields.named(key)
        )
        return tuple(
            NamedText(name.text, text.text, name.place) for name, text in found if text is not None
        )

    def dtype(self, scalar: Scalar, what: str) -> Dtype | None:
        """The element type that a text names, or None after an error."""
        if not check_choice(scalar, DTYPES, self.collector, what):
            return None
        return cast(Dtype, scalar.text)

    def dtypes(self, scalars: Collection[Scalar], what: str) -> tuple[Dtype, ...]:
        """The element types that texts name."""
        found = (self.dtype(scalar, what) for scalar in scalars)
        return tuple(dtype for dtype in found if dtype is not None)

    def _parsed(self, read: Callable[[], _Read]) -> _Read | None:
        try:
            return read()
        except ExpressionError as error:
            self.collector.add(error.diagnostic)
            return None
