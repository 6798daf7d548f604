"""Loading transforms: what happens to a batch between the scheduler and load."""

from __future__ import annotations

from ullage.expr.tree import Expr
from ullage.spec.collectives import OPERATIONS, Collective
from ullage.spec.model import Transform
from ullage.spec.reading import Reading
from ullage.text.fields import Fields
from ullage.text.nodes import Scalar


def load_transforms(reading: Reading, library: Fields) -> tuple[Transform, ...]:
    """The transforms; a key that is the name of an axis assigns it."""
    axes = tuple(entry.key.text for entry in library.named("axes"))
    return tuple(
        _transform(reading, name, fields, axes)
        for name, fields in reading.entries(library.named("transforms"), "transform")
    )


def _transform(reading: Reading, name: Scalar, fields: Fields, axes: tuple[str, ...]) -> Transform:
    transform = Transform(
        name=name.text,
        when=reading.when(fields),
        arguments=tuple(argument.text for argument in fields.identifiers("arguments")),
        let=reading.named(fields, "let"),
        assigns=_assigns(reading, fields, axes),
        collective=_collective(reading, fields),
        doc=fields.text("doc", default=""),
        place=name.place,
        in_batch=bool(fields.boolean("in_batch", default=False)),
        after=reading.names(fields, "after", "transform"),
    )
    if not axes:  # without any axis known, every key may be meant as one
        for entry in fields.node.entries:
            fields.raw(entry.key.text)
    fields.finish()
    return transform


def _assigns(
    reading: Reading, fields: Fields, axes: tuple[str, ...]
) -> tuple[tuple[str, Expr], ...]:
    found = ((axis, reading.of(fields, axis)) for axis in axes)
    return tuple((axis, value) for axis, value in found if value is not None)


def _collective(reading: Reading, fields: Fields) -> Collective | None:
    inner = fields.fields("collective", f"the collective of {fields.what}")
    if inner is None:
        return None
    operation = inner.choice("op", OPERATIONS, required=True)
    group = inner.identifier("group", required=True)
    inner.finish()
    return Collective(operation or "", group or "", inner.node.place)
