"""Whether a value that a step takes was given before, in all circumstances."""

from __future__ import annotations

from collections.abc import Iterator

from ullage.diagnostics.diagnostic import Collector, Related
from ullage.expr.spell import spell
from ullage.expr.tree import Boolean, Expr, Logical, Not, conjunction, negation
from ullage.spec import problems
from ullage.spec.model import Mode, Runner, Step
from ullage.spec.steps import Circumstances, circumstances

MOST_TRIALS = 20_000
"""Where as many combinations of conditions do not tell, the check is left out."""


def check_flow(
    runner: Runner, modes: tuple[Mode, ...], families: frozenset[str], collector: Collector
) -> None:
    """Every value that a step takes is given by a step before it whenever the step runs.

    Conditions count as independent of each other, whatever they say. What follows from a family
    that a mode lacks is said at the mode, once; a mode of no known one has its error already.
    """
    given: dict[str, list[Circumstances]] = {}
    first: dict[str, Step] = {}
    known = tuple(mode for mode in modes if families.issuperset(mode.families))
    lacking = dict.fromkeys(mode for mode in known if families and not mode.families)
    for step, runs in circumstances(runner.steps, modes):
        for value in step.takes:
            givers = given.get(value, [])
            for mode in tuple(lacking):
                if givers and mode.name in runs.modes and not _may_have(mode, givers):
                    lacking.pop(mode)
                    known = tuple(each for each in known if each is not mode)
                    _report_no_family(mode, value, step, families, collector)
            giver = first.get(value)
            related = () if giver is None else ((giver.place, f"'{value}' is given here"),)
            _check_value(value, step, runs, givers, known, related, collector)
        if step.gives is not None:
            first.setdefault(step.gives, step)
            given.setdefault(step.gives, []).append(runs)


def _may_have(mode: Mode, givers: list[Circumstances]) -> bool:
    return any(mode.name in each.modes for each in givers)


def _report_no_family(
    mode: Mode, value: str, step: Step, families: frozenset[str], collector: Collector
) -> None:
    message = (
        f"mode '{mode.name}' is in no family, and nothing gives '{value}' in it, "
        f"which step '{step.name}' takes"
    )
    names = ", ".join(sorted(families))
    hint = f"write family: and one of {names}; or name the mode where '{value}' is given"
    related = ((step.place, f"'{value}' is taken here"),)
    code = problems.MISSING_KEY
    collector.error(code, message, mode.place, hint=hint, related=related)


def _check_value(
    value: str,
    step: Step,
    runs: Circumstances,
    given: list[Circumstances],
    modes: tuple[Mode, ...],
    related: Related,
    collector: Collector,
) -> None:
    if not given:
        message = f"step '{step.name}' takes '{value}', which no step before it gives"
        collector.error(problems.UNGIVEN_VALUE, message, step.place)
        return
    for mode in modes:
        if mode.name in runs.modes and (gap := gap_of(mode, runs, given)) is not None:
            message = (
                f"step '{step.name}' takes '{value}', which no step before it gives "
                f"in mode '{mode.name}'{gap}"
            )
            hint = "give it there too, or narrow the 'when', 'modes' or 'padded' of the step"
            code = problems.UNGIVEN_VALUE
            collector.error(code, message, step.place, hint=hint, related=related)
            return


def gap_of(mode: Mode, runs: Circumstances, given: list[Circumstances]) -> str | None:
    """Circumstances, in words, in which a step runs and none of those before it that give.

    None if there are none, or if MOST_TRIALS of them do not tell.
    """
    givers = [each for each in given if mode.name in each.modes]
    taker = conjunction(mode.when, runs.when)
    for rows in sorted(runs.rows):
        covering = tuple(Not(each.when) for each in givers if rows in each.rows)
        truth = _satisfying(conjunction(taker, *covering))
        if truth is not None:
            return _described(rows, truth, givers)
    return None


def _satisfying(expr: Expr) -> dict[Expr, bool] | None:
    """Conditions that decide an expression, each as it stands where that one is true."""
    atoms = tuple(dict.fromkeys(_atoms(expr)))
    waiting: list[dict[Expr, bool]] = [{}]
    for _ in range(MOST_TRIALS):
        if not waiting:
            return None
        truth = waiting.pop()
        holds = _holds(expr, truth)
        if holds:
            return truth
        if holds is None:
            atom = next(each for each in atoms if each not in truth)
            waiting += ({**truth, atom: False}, {**truth, atom: True})
    return None


def _described(rows: bool, truth: dict[Expr, bool], givers: list[Circumstances]) -> str:
    """The conditions on which giving depends, as they stand when nothing is given."""
    deciding = dict.fromkeys(atom for each in givers for atom in _atoms(each.when))
    parts = [atom if truth.get(atom, True) else negation(atom) for atom in deciding]
    condition = f" when {spell(conjunction(*parts))}" if parts else ""
    if all(rows in each.rows for each in givers):
        return condition
    return f" {'with' if rows else 'without'} padded rows{condition}"


def _atoms(expr: Expr) -> Iterator[Expr]:
    match expr:
        case Boolean():
            return
        case Not(operand=operand):
            yield from _atoms(operand)
        case Logical(operands=operands):
            for operand in operands:
                yield from _atoms(operand)
        case _:
            yield expr


def _holds(expr: Expr, truth: dict[Expr, bool]) -> bool | None:
    """Whether an expression holds; None where that hangs on conditions that `truth` lacks."""
    match expr:
        case Boolean(value=value):
            return value
        case Not(operand=operand):
            holds = _holds(operand, truth)
            return None if holds is None else not holds
        case Logical(junction=junction, operands=operands):
            deciding = junction == "or"
            found = {_holds(operand, truth) for operand in operands}
            if deciding in found:
                return deciding
            return None if None in found else not deciding
        case _:
            return truth.get(expr)
