"""Names that must be free, and references that must lead somewhere."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import Final

from ullage.diagnostics.diagnostic import Collector
from ullage.expr.parse import FUNCTIONS
from ullage.place import Place
from ullage.spec import problems
from ullage.spec.model import Runner, Spec, Step, Transform
from ullage.spec.references import report_unknown
from ullage.spec.stated import Audit
from ullage.spec.steps import flattened

Named = tuple[str, str, Place]
"""A name, what it names, and where it is given."""

WORKER = "worker"

IMPORTED_MODULES: Final = frozenset({"hypothesis", "torch", "ullage", "ullage_runtime"})
"""What generated code imports, besides the standard library."""


def check_references(spec: Spec, collector: Collector) -> None:
    """Every reference by name leads to something of its kind."""
    known: dict[tuple[str, str], tuple[str, ...]] = {
        ("axis", ""): tuple(axis.name for axis in spec.axes),
        ("worker", ""): tuple(worker.name for worker in spec.workers),
        ("family", ""): tuple(family.name for family in spec.families),
        ("mode", ""): tuple(mode.name for mode in spec.modes),
        ("runner", ""): tuple(runner.name for runner in spec.runners),
        ("runner of a worker", ""): tuple(_runners_of_workers(spec)),
        ("transform", ""): tuple(transform.name for transform in spec.transforms),
        ("slot", ""): tuple(slot.name for slot in spec.slots),
        ("reader", ""): tuple(reader.name for reader in spec.readers),
        ("list parameter", ""): tuple(each.name for each in spec.parameters if each.type == "list"),
    }
    known["mode or family", ""] = known["mode", ""] + known["family", ""]
    known["slot or group", ""] = known["slot", ""] + spec.groups
    known["axis or slot", ""] = known["axis", ""] + known["slot", ""]
    for runner in spec.runners:
        known["context", runner.name] = tuple(context.name for context in runner.contexts)
        known["value", runner.name] = tuple(value.name for value in runner.values)
    names = {key: frozenset(candidates) for key, candidates in known.items()}
    for reference in spec.references:
        key = (reference.kind, reference.owner)
        candidates = known.get(key, ())
        if reference.name not in names.get(key, ()):
            owner = f" of runner '{reference.owner}'" if reference.owner else ""
            kind = "runner" if reference.kind == "runner of a worker" else reference.kind
            what = f"{kind} '{reference.name}'{owner}"
            report_unknown(collector, what, reference.name, candidates, reference.place)


def _runners_of_workers(spec: Spec) -> Iterator[str]:
    for runner in spec.runners:
        yield runner.name
        yield from (f"{runner.name}_{worker}" for worker in runner.workers)


def check_distinct(spec: Spec, collector: Collector) -> None:
    """Names that could be confused, in expressions or in generated code, are different."""
    _check_engine(spec, collector)
    known = _global_names(spec, collector)
    for name, what, place in _local_names(spec):
        _check_free(known, name, what, place, collector)
    axes = {axis.name for axis in spec.axes}
    outside_axes = {name: named for name, named in known.items() if name not in axes}
    for mode in spec.modes:
        for variable in mode.live:
            what = "a live variable"
            _check_free(outside_axes, variable.name, what, variable.place, collector)
    _check_unique(_fields_of_the_view(spec), collector)
    for runner in spec.runners:
        _check_unique(_engine_members(runner), collector)
    _check_families(spec, collector)


def _check_engine(spec: Spec, collector: Collector) -> None:
    """The generated package is imported by the engine's name, beside what it imports itself."""
    if spec.engine in IMPORTED_MODULES or spec.engine in sys.stdlib_module_names:
        message = f"the generated package cannot be called '{spec.engine}', as another module is"
        collector.error("U205", message, spec.place, hint="add what tells it apart")


def _global_names(spec: Spec, collector: Collector) -> dict[str, Named]:
    """The names that every expression sees, once each, and those that are reserved."""
    built_in = spec.place
    known: dict[str, Named] = {name: (name, "a function", built_in) for name in FUNCTIONS}
    known[WORKER] = (WORKER, "built in", built_in)
    for axis in spec.axes:
        for prefix in ("live", "padded"):
            name = f"{prefix}_{axis.name}"
            known[name] = (name, f"the {prefix} extent of an axis", axis.place)
    for name, what, place in _declared(spec):
        _check_free(known, name, what, place, collector)
        known.setdefault(name, (name, what, place))
    for name, place in {name: place for name, _, place in _declared(spec)}.items():
        for worker in spec.workers:
            own = f"{name}_{worker.name}"
            what = f"the {worker.name} worker's own '{name}'"
            if own in known:
                _check_free({own: (own, what, place)}, *known[own], collector)
            known.setdefault(own, (own, what, place))
    return known


def _declared(spec: Spec) -> Iterator[Named]:
    for axis in spec.axes:
        yield axis.name, "an axis", axis.place
    for parameter in spec.parameters:
        yield parameter.name, "a parameter", parameter.place
    for definition in spec.definitions:
        yield definition.name, "a definition", definition.place


def _local_names(spec: Spec) -> Iterator[Named]:
    """Names that some expressions see, and bare values, which must not look like names."""
    for worker in spec.workers:
        yield worker.name, "a worker", worker.place
    for parameter in spec.parameters:
        for value in parameter.choices:
            yield value, f"a value of '{parameter.name}'", parameter.place
    for slot in spec.slots:
        if slot.elements is not None and slot.elements.position:
            yield slot.elements.position, f"'each' of slot '{slot.name}'", slot.elements.place
    for transform in spec.transforms:
        yield from _names_of_transform(transform)
    for runner in spec.runners:
        for fact in runner.facts:
            yield fact.name, "a fact", fact.place
    for audit in spec.audits:
        yield from _lets(audit)


def _names_of_transform(transform: Transform) -> Iterator[Named]:
    for argument in transform.arguments:
        yield argument, f"an argument of transform '{transform.name}'", transform.place
    yield from _lets(transform)


def _lets(owner: Transform | Audit) -> Iterator[Named]:
    for name, value in owner.let:
        yield name, "a name under 'let'", value.place


def _check_free(
    known: dict[str, Named], name: str, what: str, place: Place, collector: Collector
) -> None:
    if name not in known:
        return
    _, taken_by, there = known[name]
    message = f"'{name}' cannot be {what}: it is {taken_by} already"
    is_declared = taken_by not in ("a function", "built in")
    related = ((there, "declared here"),) if is_declared else ()
    collector.error(problems.DEFINED_TWICE, message, place, related=related)


def _fields_of_the_view(spec: Spec) -> Iterator[Named]:
    """What stands side by side in a batch after load."""
    for axis in spec.axes:
        yield axis.name, "an axis", axis.place
    for slot in spec.slots:
        yield slot.name, "a slot", slot.place
    for carried in spec.carried:
        yield carried.name, "a carried field", carried.place


def _engine_members(runner: Runner) -> Iterator[Named]:
    """What the engine provides to a runner by name; a step may be called more than once."""
    for fact in runner.facts:
        yield fact.name, "a fact", fact.place
    for context in runner.contexts:
        yield context.name, "a context", context.place
    steps: dict[str, Step] = {}
    for step in flattened(runner.steps):
        if step.action == "call":
            steps.setdefault(step.name, step)
    for step in steps.values():
        yield step.name, "a step", step.place
    if runner.warm_up is not None:
        yield runner.warm_up.step, "the step of the warm-up", runner.warm_up.place


def _check_unique(names: Iterable[Named], collector: Collector) -> None:
    known: dict[str, Named] = {}
    for name, what, place in names:
        _check_free(known, name, what, place, collector)
        known.setdefault(name, (name, what, place))


def _check_families(spec: Spec, collector: Collector) -> None:
    """A family with the name of a mode is that mode and no other, so that the name means one."""
    known = {family.name for family in spec.families}
    modes = {mode.name: mode for mode in spec.modes if known.issuperset(mode.families)}
    for family in spec.families:
        mode = modes.get(family.name)
        if mode is None:
            continue
        others = [each for each in spec.modes if each is not mode and family.name in each.families]
        message = f"'{family.name}' is a mode and a family"
        if others:
            message += f" that holds other modes too, such as '{others[0].name}'"
        elif family.name not in mode.families:
            message += ", which the mode is not in"
        else:
            continue
        related = (
            (mode.place, "the mode"),
            *((each.place, "in the family") for each in others[:1]),
        )
        hint = "give one of them another name: in a list of modes it could mean either"
        code = problems.DEFINED_TWICE
        collector.error(code, message, family.place, hint=hint, related=related)
