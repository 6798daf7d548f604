"""Axes that no batch has to bring: what they begin as over the others.

Such an axis has its first value where the sources end: with the axes of the mode, and again with
what each transform makes of them whose result the sources hold. Both are written out here, so that
whatever follows sees an axis like any other. A mode may still bring one by itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ullage.diagnostics.diagnostic import Collector
from ullage.expr.kinds import IntKind
from ullage.expr.tree import Expr, free_names, substitute
from ullage.place import Place
from ullage.spec import problems
from ullage.spec.check_modes import kinds_of_axes
from ullage.spec.definitions import Globals
from ullage.spec.model import Axis, Mode, Spec, Transform
from ullage.spec.scope import Expressions


def resolve_axes(spec: Spec, known: Globals, expressions: Expressions) -> tuple[Axis, ...]:
    """The axes with what they begin as, over parameters and the axes that batches bring."""
    brought = tuple(axis for axis in spec.axes if axis.is_brought)
    if not brought and spec.axes:
        message = "no batch brings any axis: each of them begins as something else"
        place = spec.axes[0].place
        expressions.collector.error(problems.CONTRADICTING_KEYS, message, place)
    found: list[Axis] = []
    for axis in spec.axes:
        begins = axis.begins_as
        if begins is not None:
            sees = "parameters, definitions, 'worker' and the axes that batches bring"
            scope = replace(known.scope(f"what axis '{axis.name}' begins as"), sees=sees)
            scope = scope.with_names(kinds_of_axes(brought))
            begins = expressions.check(begins, scope, IntKind(axis.unit))
        found.append(replace(axis, begins_as=begins))
    return tuple(found)


def beginning(mode: Mode, axes: tuple[Axis, ...]) -> Mode:
    """The mode with all axes, as they are before the first transform."""
    given = dict(mode.axes)
    begun = ((name, at) for name, at in _begun(axes, given).items() if name not in given)
    return replace(mode, axes=(*mode.axes, *begun))


def continued(transform: Transform, axes: tuple[Axis, ...]) -> Transform:
    """The transform; one whose result the sources hold lets axes begin anew over its own."""
    if not transform.in_batch:
        return transform
    assigns = dict(transform.assigns)
    begun = _begun(_following(assigns, axes), assigns)
    new = ((name, value) for name, value in begun.items() if name not in assigns)
    return replace(transform, assigns=(*transform.assigns, *new))


def _following(assigns: Mapping[str, Expr], axes: tuple[Axis, ...]) -> tuple[Axis, ...]:
    """The axes that begin as something over others that are assigned."""
    return tuple(
        axis
        for axis in axes
        if axis.begins_as is not None and free_names(axis.begins_as) & assigns.keys()
    )


def _begun(axes: tuple[Axis, ...], known: dict[str, Expr]) -> dict[str, Expr]:
    return {
        each.name: substitute(each.begins_as, known) for each in axes if each.begins_as is not None
    }


def check_begins(spec: Spec, collector: Collector) -> None:
    """A mode that brings such an axis has no transform in which it would begin anew."""
    transforms = {each.name: each for each in spec.transforms}
    for mode in spec.modes:
        given = dict(mode.axes)
        for entry in mode.pipeline:
            step = transforms.get(entry.transform)
            if step is None or not step.in_batch:
                continue
            for axis in _following(dict(step.assigns), spec.axes):
                if axis.name in given and axis.name not in dict(step.assigns):
                    _report(mode, axis, step, given[axis.name].place, collector)


def _report(mode: Mode, axis: Axis, step: Transform, place: Place, collector: Collector) -> None:
    message = (
        f"mode '{mode.name}' brings '{axis.name}', but it begins anew after '{step.name}', "
        "which is in the batch before load"
    )
    hint = f"say in '{step.name}' what becomes of '{axis.name}'"
    related = ((axis.place, f"axis '{axis.name}'"), (step.place, f"transform '{step.name}'"))
    code = problems.CONTRADICTING_KEYS
    collector.error(code, message, place, hint=hint, related=related)
