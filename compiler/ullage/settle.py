"""Bounds and proves every capacity, different ones at once.

The proof of a capacity asks again much of what its derivation asked, so one process does both; the
checker still takes nothing from the search but the steps. What one runner asks is not known to the
next, which another process may have, or which may be remembered: so it comes to the same on any
number of processors, and whatever else has changed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from ullage.bound.capacities import Capacities, Capacity
from ullage.bound.common import Common
from ullage.bound.derive import derive
from ullage.bound.narrowing import narrow
from ullage.bound.problem import Problem, RunnerProblem
from ullage.bound.targets import with_axes
from ullage.diagnostics.diagnostic import Collector, Diagnostic
from ullage.memory import NOTHING, Memory
from ullage.processes import Mapper, in_turn
from ullage.prove.certificate import certify
from ullage.prove.oracle import Oracles
from ullage.prove.proof import Proof

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Settled:
    """The capacities with their proofs, of a problem without the targets that need none."""

    problem: Problem
    capacities: Capacities
    proofs: tuple[Proof, ...]


@dataclass(frozen=True, slots=True)
class _One:
    """One capacity and its proof, or what keeps it from having one."""

    runner: str
    target: str
    capacity: Capacity | None
    proof: Proof | None
    diagnostics: tuple[Diagnostic, ...]


@dataclass(frozen=True, slots=True)
class _Part:
    """What one process has settled, and the runner if less of it is left than was asked for."""

    narrowed: RunnerProblem | None
    found: tuple[_One, ...]


def settle(
    problem: Problem,
    oracles: Oracles,
    collector: Collector,
    progress: Progress = lambda _: None,
    mapped: Mapper = in_turn,
    first: Callable[[], None] | None = None,
    memory: Memory = NOTHING,
) -> Settled:
    """The capacities of all runners with their proofs; those without a maximum are reported.

    `first` may find that nothing can be bounded, and raises then.
    """

    def settled(of: tuple[RunnerProblem, Sequence[str]]) -> _Part:
        whole, targets = of
        runner = narrow(whole, oracles.apart().of)
        apart = oracles.apart()
        oracle = apart.of(runner)
        common = Common(oracle)
        found: dict[str, _One] = {}
        for target in targets:
            if _is_its_axis(runner, target, found):
                continue
            progress(f"bounding and proving {runner.name}.{target}")
            own = Collector(collector.sources)
            capacity = derive(runner, target, oracle, own, common)
            if own.has_errors:  # it may be for want of effort
                patient = replace(oracle, patient=True)
                own = Collector(collector.sources)
                capacity = derive(runner, target, patient, own)
            proof = None if capacity is None else certify(runner, capacity, apart.solver)
            found[target] = _One(runner.name, target, capacity, proof, own.diagnostics)
        apart.solver.forget()
        return _Part(None if runner is whole else runner, tuple(found.values()))

    known = memory.about(problem.domain)
    parts = known.answers(_Part, settled, _parts(problem), lambda asked: asked, mapped, first)
    found = [each for part in parts for each in part.found]
    for each in found:
        collector.add(*each.diagnostics)
    return Settled(
        _with_axes(_with_narrowed(problem, parts), {(each.runner, each.target) for each in found}),
        Capacities(tuple(each.capacity for each in found if each.capacity is not None)),
        tuple(each.proof for each in found if each.proof is not None),
    )


def _with_narrowed(problem: Problem, parts: Sequence[_Part]) -> Problem:
    narrowed = {each.narrowed.name: each.narrowed for each in parts if each.narrowed is not None}
    runners = tuple(narrowed.get(runner.name, runner) for runner in problem.runners)
    return replace(problem, runners=runners)


def _is_its_axis(runner: RunnerProblem, target: str, found: Mapping[str, _One]) -> bool:
    """Whether all modes that bind the axis of `target` are among those that it is about.

    Its capacity is then that of the axis.
    """
    axis = found.get(runner.along.get(target, ""))
    if axis is None or axis.capacity is None or axis.proof is None or not axis.proof.tight:
        return False
    own = {mode.name for mode in runner.modes if target in mode.extents}
    return all(each.mode in own for each in axis.capacity.binding)


def _with_axes(problem: Problem, settled: Collection[tuple[str, str]]) -> Problem:
    """The problem without the targets that were not settled, since they are axes."""
    return replace(
        problem,
        runners=tuple(
            with_axes(each, [t for t in each.along if (each.name, t) not in settled])
            for each in problem.runners
        ),
    )


def _parts(problem: Problem) -> list[tuple[RunnerProblem, Sequence[str]]]:
    """What is done in one process: the capacities of a runner, which ask much the same."""
    if len(problem.runners) != 1:
        return [(runner, runner.targets) for runner in problem.runners]
    (runner,) = problem.runners
    together: dict[str, list[str]] = {}
    for target in runner.targets:
        together.setdefault(runner.along.get(target, target), []).append(target)
    return [(runner, targets) for targets in together.values()]
