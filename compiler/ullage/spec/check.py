"""Checking a loaded spec: names, kinds, units and the rules between its parts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from ullage.diagnostics.diagnostic import Collector
from ullage.expr.kinds import Kind
from ullage.expr.tree import Expr, free_names, substitute
from ullage.spec.begins import beginning, check_begins, continued, resolve_axes
from ullage.spec.check_audits import resolve_audit
from ullage.spec.check_chains import check_chains
from ullage.spec.check_concurrent import resolve_concurrent
from ullage.spec.check_modes import check_order, check_peers, resolve_mode
from ullage.spec.check_names import check_distinct, check_references
from ullage.spec.check_runners import resolve_runner
from ullage.spec.check_seen import check_seen, check_sources
from ullage.spec.check_slots import resolve_reader, resolve_slot, units_of_elements
from ullage.spec.check_transforms import resolve_transform
from ullage.spec.check_wrappers import resolve_wrapper
from ullage.spec.definitions import Globals, resolve_globals
from ullage.spec.model import Constraint, Mode, Read, Reader, Runner, Slot, Spec, Transform, Worker
from ullage.spec.scope import ANY_INTEGER, Expressions
from ullage.spec.steps import modes_named, readers_named


@dataclass(frozen=True)
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

    @cached_property
    def configuration(self) -> ResolvedSpec:
        """What it says of parameters, definitions and constraints, and of workers and ranks."""
        kept = replace(
            self.spec,
            digest="",
            axes=(),
            families=(),
            transforms=(),
            slots=(),
            carried=(),
            readers=(),
            modes=(),
            runners=(),
            audits=(),
            references=(),
            concurrent=(),
            wrappers=(),
        )
        return replace(self, spec=kept)

    def modes_named(self, names: tuple[str, ...]) -> tuple[Mode, ...]:
        """The modes that a list of modes and families means; an empty list means all."""
        return modes_named(self.spec.modes, names)

    def slots_of(self, runner: Runner) -> tuple[Slot, ...]:
        """The slots of a runner in the order of the spec."""
        owned = sorted(self._positions[name] for name in set(runner.slots))
        return tuple(self.spec.slots[position] for position in owned)

    def modes_of(self, runner: Runner) -> tuple[Mode, ...]:
        """The modes of a runner in the order of the spec."""
        return tuple(self.modes[name] for name in sorted(runner.modes, key=self._mode_order))

    def readers_of(self, runner: Runner) -> tuple[Reader, ...]:
        """The readers that steps of a runner name, and those that no step of any runner does."""
        own = readers_named(runner)
        return tuple(
            reader
            for name, reader in self.readers.items()
            if name in own or name in self._idle_readers
        )

    def _mode_order(self, name: str) -> int:
        return self._mode_positions[name]

    @cached_property
    def modes(self) -> Mapping[str, Mode]:
        """All modes by name."""
        return {each.name: each for each in self.spec.modes}

    @cached_property
    def transforms(self) -> Mapping[str, Transform]:
        """All transforms by name."""
        return {each.name: each for each in self.spec.transforms}

    @cached_property
    def slots(self) -> Mapping[str, Slot]:
        """All slots by name."""
        return {each.name: each for each in self.spec.slots}

    @cached_property
    def readers(self) -> Mapping[str, Reader]:
        """All readers by name."""
        return {each.name: each for each in self.spec.readers}

    @cached_property
    def runners(self) -> Mapping[str, Runner]:
        """All runners by name."""
        return {each.name: each for each in self.spec.runners}

    @cached_property
    def axes(self) -> frozenset[str]:
        """The names of all axes."""
        return frozenset(axis.name for axis in self.spec.axes)

    @cached_property
    def brought_axes(self) -> frozenset[str]:
        """The names of the axes that batches bring."""
        return frozenset(axis.name for axis in self.spec.axes if axis.is_brought)

    @cached_property
    def varying(self) -> frozenset[str]:
        """The parameters that change while serving."""
        return frozenset(each.name for each in self.spec.parameters if each.varies is not None)

    @cached_property
    def serving(self) -> dict[str, Expr]:
        """The definitions that change while serving, each written out down to parameters."""
        found: dict[str, Expr] = {}
        for definition in self.spec.definitions:
            if free_names(definition.value) & (self.varying | found.keys()):
                found[definition.name] = substitute(definition.value, found)
        return found

    @cached_property
    def varying_in_shapes(self) -> frozenset[str]:
        """The parameters that change while serving and that the shape of some slot depends on."""
        if not self.varying:
            return frozenset()
        shapes = (extent for slot in self.spec.slots for extent in slot.shape)
        names = (free_names(substitute(extent, self.serving)) for extent in shapes)
        return self.varying & frozenset[str]().union(*names)

    @cached_property
    def reads(self) -> Mapping[str, tuple[Read, ...]]:
        """All reads of each slot that some reader mentions, whoever the reader is."""
        found: dict[str, tuple[Read, ...]] = {}
        for reader in self.spec.readers:
            for read in reader.reads:
                found[read.slot] = (*found.get(read.slot, ()), read)
        return found

    @cached_property
    def _idle_readers(self) -> frozenset[str]:
        return frozenset(self.readers).difference(*map(readers_named, self.spec.runners))

    @cached_property
    def _positions(self) -> Mapping[str, int]:
        return {slot.name: position for position, slot in enumerate(self.spec.slots)}

    @cached_property
    def _mode_positions(self) -> Mapping[str, int]:
        return {mode.name: position for position, mode in enumerate(self.spec.modes)}


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
        enum_values={value: each.name for each in spec.parameters for value in each.choices}
        | {worker.name: "worker" for worker in spec.workers},
        varying=frozenset(each.name for each in spec.parameters if each.varies is not None),
        declared={each.name: each.place for each in spec.parameters}
        | {each.name: each.place for each in spec.definitions}
        | {each.name: each.place for each in spec.axes},
    )
    known = resolve_globals(spec, expressions)
    resolved = _resolved(spec, known, expressions)
    check_begins(spec, collector)
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
    axes = resolve_axes(spec, known, expressions)
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
        axes=axes,
        rank_count=_rank_count(spec, known, expressions),
        workers=tuple(_worker(each, known, expressions) for each in spec.workers),
        parameters=known.parameters,
        constraints=tuple(_constraint(each, known, expressions) for each in spec.constraints),
        definitions=known.definitions,
        transforms=tuple(
            continued(resolve_transform(each, entries, spec, known, expressions), axes)
            for each in spec.transforms
        ),
        slots=tuple(resolve_slot(each, modes, spec, known, expressions) for each in spec.slots),
        readers=tuple(resolve_reader(each, spec, known, expressions) for each in spec.readers),
        modes=tuple(beginning(mode, axes) for mode in resolved_modes),
        runners=runners,
        concurrent=tuple(
            resolve_concurrent(each, spec, known, expressions) for each in spec.concurrent
        ),
        wrappers=tuple(
            resolve_wrapper(each, runners, spec, known, expressions) for each in spec.wrappers
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
