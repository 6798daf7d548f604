"""Capacities against brute force: what is certified must be what all batches say."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass

from support.bounds import Derived
from support.simulation import Configuration, Simulation, configurations
from ullage.bound.capacities import Capacity
from ullage.bound.problem import RunnerProblem
from ullage.expr.environment import EvaluationError
from ullage.expr.evaluate import evaluate_boolean, evaluate_integer
from ullage.expr.spell import spell
from ullage.expr.tree import Expr
from ullage.spec.model import Mode, Runner


@dataclass(frozen=True, slots=True)
class Difference:
    """A configuration in which a certified capacity is not what batches need."""

    target: str
    kind: str
    formula: str
    capacity: int | None
    needed: int | None
    values: Mapping[str, object]


def differences(found: Derived, at_most: int | None = None, seed: int = 0) -> list[Difference]:
    """All differences in all configurations, or in `at_most` of them drawn at random."""
    every = list(configurations(found.resolved))
    if at_most is not None and len(every) > at_most:
        every = random.Random(seed).sample(every, at_most)
    return [
        difference
        for runner in found.problem.runners
        for configuration in every
        if _exists(runner, configuration)
        for difference in _of_runner(found, runner, configuration)
    ]


def _exists(runner: RunnerProblem, configuration: Configuration) -> bool:
    if runner.worker not in configuration.of_worker:
        return False
    return evaluate_boolean(runner.guard, configuration.expanded)


def _of_runner(
    found: Derived, problem: RunnerProblem, configuration: Configuration
) -> list[Difference]:
    runner = next(each for each in found.resolved.spec.runners if each.name == problem.runner)
    simulation = Simulation(found.resolved, configuration.of_worker[problem.worker])
    served = [each for each in found.resolved.spec.modes if each.name in runner.modes]
    needed = needs(simulation, runner, served)
    return [
        difference
        for capacity in found.capacities.by_target
        if capacity.runner == problem.name
        for difference in _of_capacity(found, capacity, needed, configuration)
    ]


def needs(simulation: Simulation, runner: Runner, modes: list[Mode]) -> dict[str, int]:
    """The largest extent of each target over all batches of some modes."""
    found: dict[str, int] = {}
    for mode in modes:
        for target, extent in simulation.largest(runner, mode).items():
            found[target] = max(extent, found.get(target, extent))
    return found


def _of_capacity(
    found: Derived, capacity: Capacity, needed: Mapping[str, int], configuration: Configuration
) -> list[Difference]:
    proof = found.certificate.of(capacity.runner, capacity.target)
    need = needed.get(capacity.target)
    size: int | None
    try:
        size = evaluate_integer(capacity.formula, configuration.expanded)
    except EvaluationError:
        size = None
    kinds: list[str] = []
    if size is None:
        kinds.append("has no value")
    elif proof.sound and need is not None and need > size:
        kinds.append("is exceeded")
    elif proof.tight and size != (need or 0):
        kinds.append("is not attained")
    elif proof.everywhere and need is None:
        kinds.append("has no batch")
    return [
        Difference(
            f"{capacity.runner}.{capacity.target}",
            kind,
            spell(capacity.formula),
            size,
            need,
            configuration.expanded,
        )
        for kind in kinds
    ]


def false_witnesses(found: Derived, at_most: int = 20, seed: int = 0) -> list[str]:
    """Binding candidates of tight capacities whose witness is no batch that attains them."""
    every = list(configurations(found.resolved))
    chosen = random.Random(seed).sample(every, min(at_most, len(every)))
    return [
        f"{capacity.runner}.{capacity.target} in {candidate.mode}: {configuration.expanded}"
        for capacity in found.capacities.by_target
        if found.certificate.of(capacity.runner, capacity.target).tight
        for candidate in capacity.binding
        for configuration in chosen
        if _can_occur(found, capacity, candidate.condition, configuration)
        and not _attains(found, capacity, candidate.mode, candidate.witness, configuration)
    ]


def _worker_of(found: Derived, capacity: Capacity) -> RunnerProblem:
    return next(each for each in found.problem.runners if each.name == capacity.runner)


def _can_occur(
    found: Derived, capacity: Capacity, condition: Expr, configuration: Configuration
) -> bool:
    if not _exists(_worker_of(found, capacity), configuration):
        return False
    return evaluate_boolean(condition, configuration.expanded)


def _attains(
    found: Derived,
    capacity: Capacity,
    mode_name: str,
    witness: Mapping[str, Expr],
    configuration: Configuration,
) -> bool:
    """Whether some batch with the live values of the witness comes to the capacity."""
    problem = _worker_of(found, capacity)
    runner = next(each for each in found.resolved.spec.runners if each.name == problem.runner)
    mode = next(each for each in found.resolved.spec.modes if each.name == mode_name)
    simulation = Simulation(found.resolved, configuration.of_worker[problem.worker])
    values = {
        name: evaluate_integer(value, configuration.expanded)
        for name, value in witness.items()
        if name in {each.name for each in mode.live}
    }
    candidate = next(
        evaluate_integer(each.formula, configuration.expanded)
        for each in capacity.binding
        if each.witness is witness
    )
    return any(
        outcome[capacity.target] == candidate
        for batch in simulation.batches(mode)
        if all(batch.live.get(name) == value for name, value in values.items())
        for outcome in simulation.outcomes(runner, batch)
    )
