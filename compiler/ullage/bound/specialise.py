"""From the resolved spec to a problem: one worker at a time, modes with their pipelines."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ullage.bound.declared import declared_lows
from ullage.bound.domain import ForWorker, domain_of, for_worker
from ullage.bound.modes import OfRunner, compose
from ullage.bound.problem import Domain, ModeProblem, Problem, RunnerProblem
from ullage.bound.relations import from_condition
from ullage.bound.sums import NotSummableError
from ullage.bound.targets import own_dimensions, with_targets
from ullage.bound.unread import read_transforms
from ullage.diagnostics.diagnostic import Collector
from ullage.expr.simplify import fold
from ullage.expr.spell import spell
from ullage.expr.tree import FALSE, Expr, conjunction, free_names
from ullage.processes import Mapper, in_turn
from ullage.spec.chains import chain_of, serving_by_mode
from ullage.spec.check import ResolvedSpec
from ullage.spec.model import Mode, Runner, Worker


def specialise(
    resolved: ResolvedSpec,
    collector: Collector | None = None,
    mapped: Mapper = in_turn,
    first: Callable[[Domain], None] = lambda _: None,
) -> Problem:
    """The problem of every runner and worker, over one common domain.

    Raises DiagnosticError with every mode that is outside of what can be bounded; they are
    gathered in `collector` if one is given. Modes are composed as `mapped` does it, while `first`
    sees the domain.
    """
    domain = domain_of(resolved)
    collector = Collector() if collector is None else collector
    runners = tuple(_runners(resolved))
    pending = [(each, mode) for each in runners for mode in each.modes]
    composed = iter(mapped(_composed, pending, lambda: first(domain)))
    found = [_problem(each, [next(composed) for _ in each.modes], collector) for each in runners]
    collector.raise_if_errors()
    return Problem(domain, tuple(each for each in found if each.modes))


@dataclass(frozen=True, slots=True)
class _Runner:
    """One runner of one worker, with the modes that the worker can be in.

    `serving`: the runners that serve each mode on the worker.
    """

    resolved: ResolvedSpec
    runner: Runner
    worker: Worker
    rewrite: ForWorker
    serving: Mapping[str, tuple[Runner, ...]]
    declared: OfRunner

    @property
    def modes(self) -> list[Mode]:
        """The modes that are not another worker's."""
        exists = self.declared.exists
        return [
            mode
            for mode in self.resolved.modes_of(self.runner)
            if fold(conjunction(self.rewrite(mode.when), exists)) != FALSE
        ]

    def asked_before(self, mode: Mode) -> tuple[Runner, ...]:
        """The exclusive runners that are asked for a batch before this one is."""
        if mode.name not in self.serving:
            return ()
        asked = chain_of(self.serving[mode.name])
        return tuple(each for each in asked[: asked.index(self.runner)] if each.exclusive)


def _runners(resolved: ResolvedSpec) -> Iterator[_Runner]:
    workers = [_of_worker(resolved, each) for each in resolved.spec.workers]
    for runner in resolved.spec.runners:
        own, transforms = own_dimensions(resolved, runner), read_transforms(resolved, runner)
        for of in workers:
            if of.worker.name in runner.workers:
                exists = fold(conjunction(of.rewrite(of.worker.when), of.rewrite(runner.when)))
                declared = OfRunner(exists, of.lows, own, transforms)
                yield _Runner(resolved, runner, of.worker, of.rewrite, of.serving, declared)


@dataclass(frozen=True, slots=True)
class _OfWorker:
    """What all runners of one worker have in common."""

    worker: Worker
    rewrite: ForWorker
    serving: Mapping[str, tuple[Runner, ...]]
    lows: Mapping[str, Expr]


def _of_worker(resolved: ResolvedSpec, worker: Worker) -> _OfWorker:
    rewrite = for_worker(resolved, worker.name)
    serving = serving_by_mode(resolved.spec.runners, worker.name)
    return _OfWorker(worker, rewrite, serving, declared_lows(resolved, rewrite))


@dataclass(frozen=True, slots=True)
class _NotSummable:
    """A mode that is out of what can be bounded, for a sum over requests of this."""

    operand: Expr


def _composed(of: tuple[_Runner, Mode]) -> ModeProblem | _NotSummable:
    own, mode = of
    before = own.asked_before(mode)
    try:
        return compose(own.resolved, mode, own.runner, before, own.rewrite, own.declared)
    except NotSummableError as error:
        return _NotSummable(error.operand)


def _problem(
    own: _Runner, composed: Sequence[ModeProblem | _NotSummable], collector: Collector
) -> RunnerProblem:
    """A runner with its modes; what is wrong with them is collected."""
    modes = [each for each in composed if isinstance(each, ModeProblem)]
    for mode, each in zip(own.modes, composed, strict=True):
        if isinstance(each, _NotSummable):
            _report_sum(each.operand, mode, collector)
    for problem in modes:
        _check_couplings(problem, collector)
    possible = tuple(each for each in modes if each.guard != FALSE)
    found = with_targets(own.resolved, own.runner, possible)
    targets = dict.fromkeys(target for mode in found.modes for target in mode.extents)
    return RunnerProblem(
        f"{own.runner.name}_{own.worker.name}",
        own.runner.name,
        own.worker.name,
        own.declared.exists,
        found.modes,
        tuple(targets),
        own.runner.place,
        found.slack,
        found.dimensions,
        found.along,
    )


def _report_sum(operand: Expr, mode: Mode, collector: Collector) -> None:
    collector.error(
        "U402",
        f"mode '{mode.name}': no closed maximum is known for the sum over requests of "
        f"{spell(operand)}",
        operand.place,
        hint="a sum may hold a * x + b * cdiv(x, p) + c, x counted per request",
        related=((mode.place, f"mode '{mode.name}'"),),
    )


_COUPLING = "a coupling compares live variables with <, <=, ==, >= or >, joined by 'and'"
_VARIES = (
    "take the largest value, upper(name), or put the bound into the range of the live variable"
)


def _check_couplings(mode: ModeProblem, collector: Collector) -> None:
    for coupling in (each for each in mode.couplings if each.bounds):
        condition = coupling.condition
        varies = any("@serving" in name for name in free_names(condition))
        if varies or from_condition(condition) is None:
            reason = "bounds a parameter that varies" if varies else "bounds no live variable"
            collector.error(
                "U402",
                f"mode '{mode.name}': {spell(condition)} {reason}",
                condition.place,
                hint=_VARIES if varies else _COUPLING,
                related=((mode.place, f"mode '{mode.name}'"),),
            )
