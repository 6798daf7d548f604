"""Checking wrappers: their formulas, and that some runner loads all of their slots together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from ullage.diagnostics.diagnostic import Collector
from ullage.expr.kinds import BoolKind, IntKind
from ullage.expr.spell import spell
from ullage.expr.tree import Call, Expr, Name, children, free_names
from ullage.spec import problems
from ullage.spec.definitions import Globals
from ullage.spec.model import Runner, Slot, Spec
from ullage.spec.references import report_unknown
from ullage.spec.scope import ANY_INTEGER, Expressions, Scope, kind_name
from ullage.spec.steps import modes_named
from ullage.spec.wrappers import Each, FormulaValue, Wrapper, WrapperArgument

_SEES: Final = "slots, and parameters and definitions that are the same for every worker"


def resolve_wrapper(
    wrapper: Wrapper,
    runners: tuple[Runner, ...],
    spec: Spec,
    known: Globals,
    expressions: Expressions,
) -> Wrapper:
    """The wrapper with resolved expressions; `runners` name all of their modes and slots."""
    what = f"wrapper '{wrapper.name}'"
    scope = replace(known.scope_of_all_workers(what), sees=_SEES)
    when = expressions.condition(wrapper.when, scope.named(f"the 'when' of {what}"))
    _check_constant(when, what, known, expressions)
    _check_together(wrapper, runners, spec, expressions)
    _check_flat(wrapper, spec, known, expressions)
    slots = tuple(slot.name for slot in spec.slots)
    make, plan = (
        tuple(_argument(each, scope.named(where), slots, known, expressions) for each in arguments)
        for where, arguments in (
            (f"'make' of {what}", wrapper.make),
            (f"'plan' of {what}", wrapper.plan),
        )
    )
    each = wrapper.each and _each(wrapper.each, what, scope, known, expressions)
    return replace(wrapper, when=when, each=each, make=make, plan=plan)


def _each(each: Each, what: str, scope: Scope, known: Globals, expressions: Expressions) -> Each:
    if each.index in scope.kinds:
        message = f"the index of {what} is '{each.index}', which is a parameter or definition"
        expressions.collector.error(problems.DEFINED_TWICE, message, each.place)
    count = expressions.check(each.count, scope.named(f"'each' of {what}"), ANY_INTEGER)
    _check_constant(count, what, known, expressions)
    return replace(each, count=count)


def _argument(
    argument: WrapperArgument,
    scope: Scope,
    slots: tuple[str, ...],
    known: Globals,
    expressions: Expressions,
) -> WrapperArgument:
    """The argument with its formula resolved; a name alone may have been meant for a slot."""
    value = argument.value
    if not isinstance(value, FormulaValue):
        return argument
    inner = scope.named(f"'{argument.name}' in {scope.what}")
    formula = value.formula
    if isinstance(formula, Name) and _is_unknown(formula.name, inner, expressions):
        what = f"slot, parameter or definition '{formula.name}' for {inner.what}"
        names = (*slots, *inner.kinds)
        report_unknown(expressions.collector, what, formula.name, names, formula.place)
        return argument
    resolved, kind = expressions.infer(formula, inner)
    if kind is not None and not isinstance(kind, (IntKind, BoolKind)):
        message = f"{inner.what}: expected an integer or a boolean, found {kind_name(kind)}"
        expressions.collector.error(problems.WRONG_KIND, message, formula.place)
    _check_constant(resolved, inner.what, known, expressions)
    return replace(argument, value=FormulaValue(resolved))


def _is_unknown(name: str, scope: Scope, expressions: Expressions) -> bool:
    others = (scope.kinds, expressions.broken, expressions.elsewhere, expressions.enum_values)
    return not any(name in each for each in others)


def _check_constant(expr: Expr, what: str, known: Globals, expressions: Expressions) -> None:
    """Objects outlive steps, so what they are made with does not change between these."""
    changing = _changing(known, expressions)
    for name in _names(expr):
        if name.name in changing:
            message = f"{what} cannot use '{name.name}', which varies while serving"
            hint = f"write upper({name.name})" if name.name in expressions.varying else None
            code = problems.NOT_ALLOWED_HERE
            expressions.collector.error(code, message, name.place, hint=hint)


def _changing(known: Globals, expressions: Expressions) -> frozenset[str]:
    """The parameters that vary while serving, and the definitions that follow from one."""
    changing = set(expressions.varying)
    for definition in known.definitions:  # each stands behind those that it uses
        if any(name.name in changing for name in _names(definition.value)):
            changing.add(definition.name)
    return frozenset(changing)


def _names(expr: Expr) -> Iterator[Name]:
    """The names whose present value counts, which is not the case in `upper`."""
    match expr:
        case Name():
            yield expr
        case Call(function="upper"):
            return
        case _:
            for child in children(expr):
                yield from _names(child)


def _check_together(
    wrapper: Wrapper, runners: tuple[Runner, ...], spec: Spec, expressions: Expressions
) -> None:
    """Some runner has all slots, and loads them in one of its modes."""
    slots = {slot.name: slot for slot in spec.slots}
    used = [slots[each.slot] for each in wrapper.slot_values if each.slot in slots]
    having = [runner for runner in runners if all(slot.name in runner.slots for slot in used)]
    if runners and not having:
        _report_missing(wrapper, used, runners, expressions.collector)
    elif having and not any(_loads(runner, used, spec) for runner in having):
        names = " or ".join(runner.name for runner in having)
        message = f"no mode of {names} loads all slots of wrapper '{wrapper.name}'"
        hint = "look at the 'modes' of its slots"
        related = tuple((slot.place, "one of them") for slot in used if slot.modes)
        place = wrapper.place
        expressions.collector.error(
            problems.NOT_TOGETHER, message, place, hint=hint, related=related
        )


def _report_missing(
    wrapper: Wrapper, used: list[Slot], runners: tuple[Runner, ...], collector: Collector
) -> None:
    """The runner that comes nearest, and at its first use a slot that this one lacks."""
    lacking = {
        runner.name: [slot for slot in used if slot.name not in runner.slots] for runner in runners
    }
    nearest = min(lacking, key=lambda name: len(lacking[name]))
    first = lacking[nearest][0]
    use = next(each for each in wrapper.slot_values if each.slot == first.name)
    message = f"no runner has all slots of wrapper '{wrapper.name}'"
    hint = f"{nearest} has all but {', '.join(slot.name for slot in lacking[nearest])}"
    related = ((first.place, "the slot"),)
    collector.error(problems.NOT_TOGETHER, message, use.place, hint=hint, related=related)


def _loads(runner: Runner, used: list[Slot], spec: Spec) -> bool:
    """Whether the runner serves a mode in which it loads all of these slots."""
    modes = set(runner.modes)
    for slot in used:
        if slot.modes:
            modes &= {mode.name for mode in modes_named(spec.modes, slot.modes)}
    return bool(modes)


def _check_flat(wrapper: Wrapper, spec: Spec, known: Globals, expressions: Expressions) -> None:
    """What is seen in one axis has no gaps: only its first extent differs between batches."""
    slots = {slot.name: slot for slot in spec.slots}
    fixed = known.kinds.keys() - _changing(known, expressions)
    for value in wrapper.slot_values:
        slot = slots.get(value.slot)
        if slot is None or not value.flat:
            continue
        later = slot.shape[1:] if value.at is None else slot.shape[2:]
        for extent in later:
            if not free_names(extent) <= fixed:
                message = (
                    f"slot '{slot.name}' cannot be in one axis: "
                    f"its extent '{spell(extent)}' varies from batch to batch"
                )
                related = ((extent.place, "the extent"),)
                collector = expressions.collector
                collector.error(problems.NOT_FLAT, message, value.place, related=related)
