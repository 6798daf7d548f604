"""Writing a spec: from the model back to the files of a spec folder, the inverse of `load`.

There is one table for each record of the model. It lists the keys of the language in the order in
which they are written, so a new key is one line here; keys at their default are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from ullage.expr.tree import TRUE
from ullage.spec.collectives import Collective
from ullage.spec.load_audits import OTHERWISE
from ullage.spec.load_modes import ASSUMED, WHERE
from ullage.spec.model import (
    LANGUAGE_VERSION,
    Axis,
    Carried,
    Concurrent,
    Constraint,
    Definition,
    LiveVariable,
    Mode,
    Parameter,
    Read,
    Reader,
    ReadLeft,
    Runner,
    Slot,
    Spec,
    Step,
    Transform,
    Worker,
    Writer,
)
from ullage.spec.runner_parts import Capture, Promise, WarmUp, Within
from ullage.spec.stated import Audit, StatedFormula
from ullage.spec.write_wrappers import WRAPPER
from ullage.spec.writing import (
    Table,
    condition,
    entries,
    expression,
    expression_if_any,
    named,
    names,
    one_or_more,
    pipeline,
    source,
    span,
    stated_unit,
    texts,
    unit,
    written,
    written_if_any,
)
from ullage.text.write import Data, write_yaml

LIBRARY = "engine.yaml"


def write_spec(spec: Spec) -> Mapping[str, str]:
    """The texts of a spec folder by path, which load as the same spec.

    The library is one file, and every mode, runner and audit is a file of its own; comments and
    the order of those files are not kept. Raises ExpressionError, at the author's place, for an
    expression that is within the limits of the language only as its author spelled it.
    """
    documents = {
        LIBRARY: written(spec, _SPEC),
        **{f"modes/{each.name}.yaml": written(each, _MODE) for each in spec.modes},
        **{f"runners/{each.name}.yaml": written(each, _RUNNER) for each in spec.runners},
        **{f"audits/{each.name}.yaml": _audit(each, spec) for each in spec.audits},
    }
    return {path: write_yaml(document) for path, document in documents.items()}


_AXIS: Table[Axis] = {
    "unit": lambda axis: unit(axis.unit),
    "begins_as": lambda axis: expression_if_any(axis.begins_as),
    "doc": lambda axis: axis.doc or None,
}

_WORKER: Table[Worker] = {
    "when": lambda worker: condition(worker.when),
    "doc": lambda worker: worker.doc or None,
}

_PARAMETER: Table[Parameter] = {
    "type": lambda parameter: parameter.type,
    "range": lambda parameter: span(parameter.range),
    "choices": lambda parameter: names(parameter.choices, required=parameter.type == "enum"),
    "unit": lambda parameter: unit(parameter.unit),
    "per": lambda parameter: "worker" if parameter.per_worker else None,
    "varies": lambda parameter: parameter.varies,
    "when": lambda parameter: condition(parameter.when),
    "default": lambda parameter: expression_if_any(parameter.default),
    "doc": lambda parameter: parameter.doc or None,
}

_CONSTRAINT: Table[Constraint] = {
    "that": lambda constraint: expression(constraint.that),
    "when": lambda constraint: condition(constraint.when),
    "else": lambda constraint: constraint.reason,
}

_DEFINITION: Table[Definition] = {
    "value": lambda definition: expression(definition.value),
    "unit": lambda definition: stated_unit(definition.unit),
    "when": lambda definition: condition(definition.when),
    "doc": lambda definition: definition.doc or None,
}


def _definition(definition: Definition) -> Data:
    """The short form where there is nothing but the value."""
    keys = written(definition, _DEFINITION)
    return keys["value"] if len(keys) == 1 else keys


_COLLECTIVE: Table[Collective] = {
    "op": lambda collective: collective.operation,
    "group": lambda collective: collective.group,
}

_TRANSFORM: Table[Transform] = {
    "doc": lambda transform: transform.doc or None,
    "in_batch": lambda transform: "true" if transform.in_batch else None,
    "after": lambda transform: names(transform.after),
    "when": lambda transform: condition(transform.when),
    "arguments": lambda transform: names(transform.arguments),
    "collective": lambda transform: written_if_any(transform.collective, _COLLECTIVE),
    "let": lambda transform: named(transform.let) or None,
}


def _transform(transform: Transform) -> Data:
    return {**written(transform, _TRANSFORM), **named(transform.assigns)}


def _writer(writer: Writer) -> Data:
    """The short form where a step writes all rows."""
    steps = writer.steps if len(writer.steps) > 1 else writer.steps[0]
    return steps if writer.rows == "padded" else {"step": steps, "rows": writer.rows}


_SLOT: Table[Slot] = {
    "shape": lambda slot: tuple(expression(extent) for extent in slot.shape),
    "dtype": lambda slot: (
        slot.dtype
        if slot.dtype == slot.cpu_dtype
        else {"accelerator": slot.dtype, "cpu": slot.cpu_dtype}
    ),
    "device": lambda slot: None if slot.device == "compute" else slot.device,
    "source": lambda slot: source(slot.source),
    "value": lambda slot: expression_if_any(
        slot.value if slot.elements is None or slot.value is not None else slot.elements.value
    ),
    "each": lambda slot: None if slot.elements is None else slot.elements.position or None,
    "written_by": lambda slot: None if slot.written_by is None else _writer(slot.written_by),
    "lifetime": lambda slot: None if slot.lifetime == "load" else slot.lifetime,
    "casts_from": lambda slot: names(slot.casts_from),
    "optional": lambda slot: "true" if slot.optional else None,
    "range": lambda slot: span(slot.range),
    "live_range": lambda slot: span(slot.live_range),
    "on_overflow": lambda slot: "refuse_config" if slot.refuse_on_overflow else None,
    "modes": lambda slot: names(slot.modes),
    "when": lambda slot: condition(slot.when),
    "otherwise": lambda slot: "carried" if slot.carried_otherwise else None,
    "doc": lambda slot: slot.doc or None,
}

_CARRIED: Table[Carried] = {
    "source": lambda carried: source(carried.source),
    "doc": lambda carried: carried.doc or None,
}

_READ: Table[Read] = {
    "rows": lambda read: read.rows,
    "fill": lambda read: expression_if_any(read.fill),
    "range": lambda read: span(read.range),
    "scatters": lambda read: "true" if read.scatters else None,
}

_READ_LEFT: Table[ReadLeft] = {
    "rows": lambda read: "live",
    "from": lambda read: read.runner,
}


def _reads(reader: Reader) -> Mapping[str, Data]:
    """What is read of slots: of the runner in whose step it is, then of others."""
    own = {read.slot: written(read, _READ) for read in reader.reads}
    return own | {read.slot: written(read, _READ_LEFT) for read in reader.left}


_READER: Table[Reader] = {
    "doc": lambda reader: reader.doc or None,
    "when": lambda reader: condition(reader.when),
    "modes": lambda reader: names(reader.modes),
    "reads": _reads,
}

_CONCURRENT: Table[Concurrent] = {
    "runners": lambda group: names(group.runners, required=True),
    "when": lambda group: condition(group.when),
    "doc": lambda group: group.doc or None,
}

_SPEC: Table[Spec] = {
    "ullage": lambda spec: str(LANGUAGE_VERSION),
    "engine": lambda spec: spec.engine,
    "doc": lambda spec: spec.doc or None,
    "ranks": lambda spec: expression_if_any(spec.rank_count),
    "axes": lambda spec: entries(spec.axes, _AXIS),
    "workers": lambda spec: entries(spec.workers, _WORKER),
    "families": lambda spec: texts(spec.families),
    "parameters": lambda spec: entries(spec.parameters, _PARAMETER) or None,
    "constraints": lambda spec: (
        tuple(written(constraint, _CONSTRAINT) for constraint in spec.constraints) or None
    ),
    "definitions": lambda spec: {each.name: _definition(each) for each in spec.definitions} or None,
    "transforms": lambda spec: {each.name: _transform(each) for each in spec.transforms} or None,
    "slots": lambda spec: entries(spec.slots, _SLOT) or None,
    "carried": lambda spec: entries(spec.carried, _CARRIED) or None,
    "readers": lambda spec: entries(spec.readers, _READER) or None,
    "wrappers": lambda spec: entries(spec.wrappers, WRAPPER) or None,
    "concurrent": lambda spec: (
        tuple(written(group, _CONCURRENT) for group in spec.concurrent) or None
    ),
}

_LIVE_VARIABLE: Table[LiveVariable] = {
    "per": lambda variable: variable.per,
    "range": lambda variable: span(variable.range),
    "seen_in": lambda variable: (
        one_or_more(tuple(str(each) for each in variable.seen_in)) or ASSUMED
    ),
    "debug_in": lambda variable: source(variable.debug_in),
    "doc": lambda variable: variable.doc or None,
}


def _live(mode: Mode) -> Data:
    variables = entries(mode.live, _LIVE_VARIABLE)
    where = tuple(expression(relation) for relation in mode.where)
    return {**variables, WHERE: where} if where else variables


_MODE: Table[Mode] = {
    "mode": lambda mode: mode.name,
    "doc": lambda mode: mode.doc or None,
    "when": lambda mode: condition(mode.when),
    "family": lambda mode: one_or_more(mode.families),
    "category": lambda mode: None if mode.category == mode.name else mode.category,
    "live": _live,
    "axes": lambda mode: named(mode.axes),
    "pipeline": lambda mode: pipeline(mode.pipeline),
    "peers": lambda mode: mode.peers,
}

_WITHIN: Table[Within] = {
    "context": lambda within: within.context,
    "when": lambda within: condition(within.when),
}


def _within(within: Within) -> Data:
    """The bare name where there is no condition."""
    return within.context if within.when == TRUE else written(within, _WITHIN)


def _steps(steps: tuple[Step, ...]) -> Data:
    return tuple(written(step, _STEP) for step in steps)


_STEP: Table[Step] = {
    "step": lambda step: step.name if step.action == "call" else None,
    "do": lambda step: step.action if step.action in ("load", "slice") else None,
    "when": lambda step: condition(step.when),
    "modes": lambda step: names(step.modes),
    "padded": lambda step: None if step.padded is None else str(step.padded).lower(),
    "takes": lambda step: names(step.takes, required=step.action == "slice"),
    "gives": lambda step: step.gives,
    "within": lambda step: tuple(_within(each) for each in step.within) or None,
    "readers": lambda step: names(step.readers),
    "doc": lambda step: step.doc or None,
    "steps": lambda step: _steps(step.steps) if step.action == "group" else None,
}

_WARM_UP: Table[WarmUp] = {
    "step": lambda warm_up: warm_up.step,
    "modes": lambda warm_up: warm_up.modes,
}

_RUNNER: Table[Runner] = {
    "runner": lambda runner: runner.name,
    "doc": lambda runner: runner.doc or None,
    "when": lambda runner: condition(runner.when),
    "workers": lambda runner: runner.workers,
    "modes": lambda runner: runner.modes or "all",
    "slots": lambda runner: runner.slots or "all",
    "pipeline": lambda runner: pipeline(runner.pipeline),
    "accepts": lambda runner: tuple(expression(each) for each in runner.accepts) or None,
    "accepts_all": lambda runner: names(runner.accepts_all),
    "exclusive": lambda runner: "true" if runner.exclusive else None,
    "fallback": lambda runner: runner.fallback.runner if runner.fallback is not None else None,
    "facts": lambda runner: texts(runner.facts),
    "contexts": lambda runner: texts(runner.contexts),
    "values": lambda runner: texts(runner.values),
    "steps": lambda runner: _steps(runner.steps),
    "warm_up": lambda runner: written_if_any(runner.warm_up, _WARM_UP),
    "slack": lambda runner: dict(runner.slack) or None,
    "limits": lambda runner: named(runner.limits) or None,
    "captures": lambda runner: _captures(runner.captures) or None,
    "promises": lambda runner: _promises(runner.promises) or None,
}


def _promises(promises: tuple[Promise, ...]) -> Data:
    """The condition alone where it is for all modes."""
    for each in promises:
        if not each.modes:
            return expression(each.condition)
    return named(tuple((mode, each.condition) for each in promises for mode in each.modes))


def _captures(captures: tuple[Capture, ...]) -> Mapping[str, Data]:
    """By the mode that captures: what replays, alone if no axis is free."""
    modes = dict.fromkeys(each.mode for each in captures)
    found = {mode: tuple(each for each in captures if each.mode == mode) for mode in modes}
    return {
        mode: {"modes": replays, "free": named(free)} if free else replays
        for mode, each in found.items()
        for replays, free in ((tuple(one.replay for one in each), each[0].free),)
    }


_AUDIT: Table[Audit] = {
    "audit": lambda audit: audit.name,
    "doc": lambda audit: audit.doc or None,
    "quoted_from": lambda audit: audit.quoted_from,
    "let": lambda audit: named(audit.let) or None,
}


def _audit(audit: Audit, spec: Spec) -> Mapping[str, Data]:
    table = _stated_formula(frozenset(axis.name for axis in spec.axes))
    workers = {runner.name: runner.workers for runner in spec.runners}
    formulas = (written(each, table) for each in _gathered(audit.formulas, workers))
    return {**written(audit, _AUDIT), "formulas": tuple(formulas)}


def _stated_formula(axes: frozenset[str]) -> Table[StatedFormula]:
    return {
        "runner": lambda stated: stated.runner,
        "worker": lambda stated: stated.worker or None,
        "axis": lambda stated: stated.target if stated.target in axes else None,
        "slot": lambda stated: None if stated.target in axes else stated.target,
        "when": lambda stated: condition(stated.when),
        "formula": lambda stated: expression(stated.formula),
        "expect": lambda stated: _expect(stated.expect),
    }


def _expect(verdicts: tuple[tuple[str, str], ...]) -> Data:
    """One verdict for all modes stands alone."""
    by_mode = dict(verdicts)
    return by_mode[OTHERWISE] if by_mode.keys() == {OTHERWISE} else by_mode


def _gathered(
    formulas: tuple[StatedFormula, ...], workers: Mapping[str, tuple[str, ...]]
) -> Iterator[StatedFormula]:
    """The formulas in order; what stands there for each worker in turn comes once, for none."""
    while formulas:
        first = formulas[0]
        for_each = tuple(replace(first, worker=each) for each in workers.get(first.runner, ()))
        following = (replace(each, place=first.place) for each in formulas[: len(for_each)])
        is_for_each = bool(for_each) and tuple(following) == for_each
        yield replace(first, worker="") if is_for_each else first
        formulas = formulas[len(for_each) if is_for_each else 1 :]
