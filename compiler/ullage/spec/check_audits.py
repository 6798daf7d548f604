"""Checking audits: their formulas' names and units, and what they are compared with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ullage.diagnostics.diagnostic import Related
from ullage.expr.kinds import IntKind
from ullage.expr.tree import Expr
from ullage.expr.units import Unit
from ullage.spec import problems
from ullage.spec.check_modes import in_unit_of
from ullage.spec.check_transforms import with_let
from ullage.spec.definitions import Globals
from ullage.spec.model import Runner, Spec
from ullage.spec.scope import Expressions, Scope
from ullage.spec.stated import Audit, StatedFormula


def resolve_audit(
    audit: Audit,
    runners: tuple[Runner, ...],
    units: Mapping[str, tuple[Unit, ...]],
    spec: Spec,
    known: Globals,
    expressions: Expressions,
) -> Audit:
    """The audit with resolved expressions; `runners` name all of their modes and slots.

    `units`: those that axes, and elements of slots, may be counted in; nothing for any.
    """
    expressions = expressions.apart()
    sees = "parameters, definitions, 'worker' and the audit's 'let'"
    scope = replace(known.scope(""), sees=sees)
    let: list[tuple[str, Expr]] = []
    for name, value in audit.let:
        expr, kind = expressions.infer(value, scope.named(f"'{name}' of audit '{audit.name}'"))
        let.append((name, expr))
        scope = with_let(name, kind, scope, expressions)
    what = f"a formula of audit '{audit.name}'"
    formulas = []
    for each in audit.formulas:
        counted = units.get(each.target, ())
        related = in_unit_of(each.target, spec)
        formula = _counted(each.formula, counted, scope.named(what), related, expressions)
        when = expressions.condition(each.when, scope.named(f"the 'when' of {what}"))
        formulas.append(replace(each, formula=formula, when=when))
        _check_compared(each, runners, spec, expressions)
    return replace(audit, let=tuple(let), formulas=tuple(formulas))


def _counted(
    formula: Expr,
    units: tuple[Unit, ...],
    scope: Scope,
    related: Related,
    expressions: Expressions,
) -> Expr:
    """The resolved formula, which is in one of the units."""
    resolved, kind = expressions.infer(formula, scope)
    if kind is not None and not (isinstance(kind, IntKind) and kind.unit in units):
        wanted = IntKind(units[0] if units else None)
        expressions.expect(kind, wanted, scope, resolved, related)
    return resolved


def _check_compared(
    formula: StatedFormula, runners: tuple[Runner, ...], spec: Spec, expressions: Expressions
) -> None:
    """The runner has what the formula is about, and serves the modes that verdicts are for."""
    runner = next(runner for runner in runners if runner.name == formula.runner)
    code, place = problems.NOTHING_TO_COMPARE, formula.place
    slots = {slot.name for slot in spec.slots}
    modes = {mode.name for mode in spec.modes}
    if formula.target in slots and formula.target not in runner.slots:
        message = f"runner '{runner.name}' has no slot '{formula.target}' to compare a formula with"
        expressions.collector.error(code, message, place)
    for mode, _ in formula.expect:
        if mode in modes and mode not in runner.modes:
            message = f"runner '{runner.name}' serves no mode '{mode}', so it has no verdict"
            expressions.collector.error(code, message, place)
