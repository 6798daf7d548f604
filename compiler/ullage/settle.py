"""Bounds and proves every capacity, different ones at once.

The proof of a capacity asks again much of what its derivation asked, so one process does both; the
checker still takes nothing from the search but the steps. What one runner asks is not known to the
next, which another process may have: so it comes to the same on any number of processors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ullage.bound.capacities import Capacities, Capacity
from ullage.bound.derive import derive
from ullage.bound.problem import Problem, RunnerProblem
from ullage.diagnostics.diagnostic import Collector, Diagnostic
from ullage.processes import Mapper, in_turn
from ullage.prove.certificate import Proof, certify
from ullage.prove.oracle import Oracles

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class _Settled:
    """One capacity and its proof, or what keeps it from having one."""

    capacity: Capacity | None
    proof: Proof | None
    diagnostics: tuple[Diagnostic, ...]


def settle(
    problem: Problem,
    oracles: Oracles,
    collector: Collector,
    progress: Progress = lambda _: None,
    mapped: Mapper = in_turn,
) -> tuple[Capacities, tuple[Proof, ...]]:
    """The capacities of all runners with their proofs; those without a maximum are reported."""

    def settled(of: tuple[RunnerProblem, Sequence[str]]) -> list[_Settled]:
        runner, targets = of
        apart = oracles.apart()
        oracle = apart.of(runner)
        found: list[_Settled] = []
        for target in targets:
            progress(f"bounding and proving {runner.name}.{target}")
            own = Collector(collector.sources)
            capacity = derive(runner, target, oracle, own)
            proof = None if capacity is None else certify(runner, capacity, apart.solver)
            found.append(_Settled(capacity, proof, own.diagnostics))
        return found

    found = [each for part in mapped(settled, _parts(problem)) for each in part]
    for each in found:
        collector.add(*each.diagnostics)
    return (
        Capacities(tuple(each.capacity for each in found if each.capacity is not None)),
        tuple(each.proof for each in found if each.proof is not None),
    )


def _parts(problem: Problem) -> list[tuple[RunnerProblem, Sequence[str]]]:
    """What is done in one process: the capacities of a runner, which ask much the same."""
    if len(problem.runners) == 1:
        return [(runner, (target,)) for runner in problem.runners for target in runner.targets]
    return [(runner, runner.targets) for runner in problem.runners]
