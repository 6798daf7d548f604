"""Checking a loaded spec: names, kinds, units and the rules between its parts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from ullage.diagnostics.diagnostic import Collector
from ullage.expr.kinds import Kind
from ullage.expr.tree import Expr
from ullage.spec.check_audits import resolve_audit
from ullage.spec.check_chains import check_chains
from ullage.spec.check_concurrent import resolve_concurrent
from ullage.spec.check_modes import check_order, check_peers, resolve_mode
from ullage.spec.check_names import check_distinct, check_references
from ullage.spec.check_runners import resolve_runner
from ullage.spec.check_seen import check_seen, check_sources
from ullage.spec.check_slots import resolve_reader, resolve_slot, units_of_elements
from ullage.spec.check_transforms import resolve_transform
from ullage.spec.definitions import Globals, resolve_globals
from ullage.spec.model import Constraint, Mode, Spec, Worker
from ullage.spec.scope import ANY_INTEGER, Expressions
from ullage.spec.steps import modes_named


@dataclass(frozen=True, slots=True)
class ResolvedSpec:
    """A spec whose names all mean something.

    `spec` has every expression resolved, its definitions in the order in which they can be
    computed, and its runners with the names of all their modes and slots. `kinds`: those of
    parameters, definitions and `worker`. `worker_dependent`: the parameters and definitions
    whose value differs between workers.
    """

    spec: Spec
    kinds: Mapping[str, Kind]
    worker_dependent: frozenset[str]

    def modes_named(self, names: tuple[str, ...]) -> tuple[Mode, ...]:
        """The modes that a list of modes and families means; an empty list means all."""
        return modes_named(self.spec.modes, names)


def resolve(spec: Spec, sources: Mapping[str, str] | None = None) -> ResolvedSpec:
    """The spec with every name looked up; `sources` are the texts that errors point into.

    Raises DiagnosticError with all that is wrong.
    """
    collector = Collector(sources)
    check_references(spec, collector)
    check_distinct(spec, collector)
    expressions = Expressions(
        collector,
        elsewhere=dict(_elsewhere(spec)),
        enum_values={value: each.name for each in spec.parameters for value in each.values}
        | {worker.name: "worker" for worker in spec.workers},
        varying=frozenset(each.name for each in spec.parameters if each.varies is not None),
    )
    known = resolve_globals(spec, expressions)
    resolved = _resolved(spec, known, expressions)
    check_peers(spec, expressions)
    check_order(spec, expressions)
    check_sources(spec, expressions)
    check_seen(spec, expressions)
    collector.raise_if_errors()
    return ResolvedSpec(resolved, known.kinds, known.worker_dependent)


def _resolved(spec: Spec, known: Globals, expressions: Expressions) -> Spec:
    modes = {mode.name: resolve_mode(mode, spec, known, expressions) for mode in spec.modes}
    resolved_modes = tuple(mode.mode for mode in modes.values())
    runners = tuple(resolve_runner(each, modes, spec, known, expressions) for each in spec.runners)
    check_chains(spec, runners, expressions.collector)
    pipelines = [mode.pipeline for mode in resolved_modes]
    pipelines += [runner.pipeline for runner in runners]
    entries = tuple(entry for pipeline in pipelines for entry in pipeline)
    stated = {each.target for audit in spec.audits for each in audit.formulas}
    units = {
        slot.name: units_of_elements(slot, modes, spec, known, expressions)
        for slot in spec.slots
        if slot.name in stated
    }
    units |= {axis.name: (axis.unit,) for axis in spec.axes}
    return replace(
        spec,
        rank_count=_rank_count(spec, known, expressions),
        workers=tuple(_worker(each, known, expressions) for each in spec.workers),
        parameters=known.parameters,
        constraints=tuple(_constraint(each, known, expressions) for each in spec.constraints),
        definitions=known.definitions,
        transforms=tuple(
            resolve_transform(each, entries, spec, known, expressions) for each in spec.transforms
        ),
        slots=tuple(resolve_slot(each, modes, spec, known, expressions) for each in spec.slots),
        readers=tuple(resolve_reader(each, spec, known, expressions) for each in spec.readers),
        modes=resolved_modes,
        runners=runners,
        concurrent=tuple(
            resolve_concurrent(each, spec, known, expressions) for each in spec.concurrent
        ),
        audits=tuple(
            resolve_audit(each, runners, units, spec, known, expressions) for each in spec.audits
        ),
    )


def _rank_count(spec: Spec, known: Globals, expressions: Expressions) -> Expr | None:
    if spec.rank_count is None:
        return None
    scope = known.scope_of_all_workers("the number of ranks")
    return expressions.check(spec.rank_count, scope, ANY_INTEGER)


def _worker(worker: Worker, known: Globals, expressions: Expressions) -> Worker:
    scope = known.scope_of_all_workers(f"the 'when' of worker '{worker.name}'")
    return replace(worker, when=expressions.condition(worker.when, scope))


def _constraint(constraint: Constraint, known: Globals, expressions: Expressions) -> Constraint:
    scope = known.scope("a constraint")
    return replace(
        constraint,
        that=expressions.condition(constraint.that, scope),
        when=expressions.condition(constraint.when, scope.named("the 'when' of a constraint")),
    )


def _elsewhere(spec: Spec) -> Iterator[tuple[str, str]]:
    """What names are that only some places know; the most general meaning comes last."""
    for runner in spec.runners:
        for fact in runner.facts:
            yield fact.name, f"a fact of runner '{runner.name}'"
    for transform in spec.transforms:
        for argument in transform.arguments:
            yield argument, f"an argument of transform '{transform.name}'"
    for mode in spec.modes:
        for variable in mode.live:
            yield variable.name, f"a live variable of mode '{mode.name}'"
    for axis in spec.axes:
        yield axis.name, "an axis"
        for prefix in ("live", "padded"):
            yield f"{prefix}_{axis.name}", f"the {prefix} extent of an axis"
