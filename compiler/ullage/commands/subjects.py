"""What `RUNNER.AXIS`, `RUNNER.SLOT` and the name of a wrapper mean."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from ullage.analysis import Analysis
from ullage.bound.problem import ModeProblem, RunnerProblem
from ullage.commands.reporting import UsageError
from ullage.diagnostics.diagnostic import did_you_mean
from ullage.plan.model import PlannedRunner, PlannedSlot
from ullage.spec.steps import modes_named
from ullage.spec.wrappers import Wrapper


@dataclass(frozen=True, slots=True)
class TargetSubject:
    """An axis, or a dimension of a slot that has a capacity of its own, in modes to be shown."""

    runner: RunnerProblem
    target: str
    modes: tuple[ModeProblem, ...]


@dataclass(frozen=True, slots=True)
class SlotSubject:
    """A slot of one runner."""

    runner: PlannedRunner
    slot: PlannedSlot


@dataclass(frozen=True, slots=True)
class WrapperSubject:
    """An object of a library."""

    wrapper: Wrapper


Subject = TargetSubject | SlotSubject | WrapperSubject


def subject_of(analysis: Analysis, text: str, modes: Sequence[str] = ()) -> Subject:
    """The axis, slot or wrapper that `text` names. Raises UsageError with what would be a name.

    `modes`: names of modes and families, of which an axis is shown only; none for all.
    """
    subject = _named(analysis, text)
    if isinstance(subject, TargetSubject):
        return replace(subject, modes=_modes(analysis, subject, modes))
    if modes:
        raise UsageError(f"'{text}' is the maximum of no modes, so that --mode says nothing of it")
    return subject


def _modes(
    analysis: Analysis, subject: TargetSubject, names: Sequence[str]
) -> tuple[ModeProblem, ...]:
    written = analysis.resolved.spec.modes
    own = {mode.name for mode in subject.modes}
    for name in names:
        if not own.intersection(mode.name for mode in modes_named(written, (name,))):
            families = {family for each in written if each.name in own for family in each.families}
            known = (*(mode.name for mode in subject.modes), *sorted(families - own))
            what = f"{subject.runner.name}.{subject.target} has no mode or family '{name}'"
            raise UsageError(_unknown(what, name, known))
    chosen = {mode.name for mode in modes_named(written, tuple(names))}
    return tuple(mode for mode in subject.modes if mode.name in chosen)


def _named(analysis: Analysis, text: str) -> Subject:
    runner_name, dot, name = text.partition(".")
    wrappers = {wrapper.name: wrapper for wrapper in analysis.resolved.spec.wrappers}
    if text in wrappers:
        return WrapperSubject(wrappers[text])
    if not dot:
        if (hint := did_you_mean(text, wrappers)) is not None:
            raise UsageError(f"there is no wrapper '{text}'; {hint}")
        example = analysis.problem.runners[0]
        raise UsageError(
            f"'{text}' names no axis or slot: write RUNNER.AXIS or RUNNER.SLOT, such as "
            f"{example.name}.{example.targets[0]}"
        )
    runner = _runner(analysis, runner_name)
    if name in runner.targets:
        return TargetSubject(
            runner, name, tuple(mode for mode in runner.modes if name in mode.extents)
        )
    planned = next(each for each in analysis.plan.runners if each.name == runner.name)
    slots = {slot.name: slot for slot in planned.slots}
    if name not in slots:
        known = dict.fromkeys((*runner.targets, *slots))
        raise UsageError(_unknown(f"{runner.name} has no axis or slot '{name}'", name, known))
    return SlotSubject(planned, slots[name])


def _runner(analysis: Analysis, name: str) -> RunnerProblem:
    """A runner by its full name, or by its own where only one worker has it."""
    runners = {runner.name: runner for runner in analysis.problem.runners}
    if name in runners:
        return runners[name]
    of_workers = [runner for runner in runners.values() if runner.runner == name]
    if len(of_workers) == 1:
        return of_workers[0]
    if of_workers:
        names = " or ".join(runner.name for runner in of_workers)
        raise UsageError(f"several workers have a runner '{name}': write {names}")
    known = dict.fromkeys((*runners, *(runner.runner for runner in runners.values())))
    raise UsageError(_unknown(f"there is no runner '{name}'", name, known))


def _unknown(message: str, name: str, known: Iterable[str]) -> str:
    candidates = list(known)
    hint = did_you_mean(name, candidates) or f"there are {', '.join(candidates)}"
    return f"{message}; {hint}"
