"""What all modules of one generated package agree on: classes, fields, axes and runners."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from ullage.analysis import Analysis
from ullage.bound.capacities import Capacity
from ullage.bound.domain import ForWorker, for_worker
from ullage.bound.problem import ModeProblem, RunnerProblem
from ullage.emit.live_fields import LiveField, live_fields_of
from ullage.emit.modules import IMPORTED
from ullage.emit.names import Names, camel, distinct
from ullage.emit.settings import Settings
from ullage.expr.parse import SourceRef
from ullage.expr.simplify import fold
from ullage.expr.tree import Expr, Name, free_names, substitute
from ullage.plan.model import Dimension, PlannedRunner, PlannedSlot
from ullage.prove.proof import Proof
from ullage.spec.chains import chain_of, serving_by_mode
from ullage.spec.model import Axis, Carried, Mode, Parameter, Runner, Slot, Spec, Transform

if TYPE_CHECKING:
    from ullage.emit.scope import Scope

FIELDS_RESERVED = (
    *("allocate", "arenas", "has_padding", "layout", "live", "mode", "of", "padded", "regions"),
    *("self", "slots"),
)
"""What batches and registries have besides slots, carried fields and extents."""

AXES_RESERVED = (
    *("brought", "count", "has_padding", "index", "live", "mode", "of", "padded", "self"),
)
"""What batches, capacities and tuples of rows have besides axes."""


@dataclass(frozen=True, slots=True)
class Classes:
    """What the classes of one runner are called."""

    stem: str
    module: str

    @property
    def batch(self) -> str:
        return f"{self.stem}Batch"

    @property
    def capacities(self) -> str:
        return f"{self.stem}Capacities"

    @property
    def registry(self) -> str:
        return f"{self.stem}Registry"

    @property
    def extents(self) -> str:
        return f"{self.stem}Extents"

    @property
    def engine(self) -> str:
        return f"{self.stem}Engine"

    @property
    def runner(self) -> str:
        return f"{self.stem}Runner"

    @property
    def facts(self) -> str:
        return f"{self.stem}Facts"


@dataclass(frozen=True, slots=True)
class OwnExtent:
    """An extent of a slot's own dimension that belongs to the extents of a batch."""

    slot: PlannedSlot
    position: int
    dimension: Dimension
    name: str

    @property
    def live(self) -> str:
        return f"live_{self.name}"


class EngineModel:
    """One engine: its analysis, and the names that generated code has for what it declares."""

    def __init__(self, analysis: Analysis) -> None:
        self.analysis = analysis
        self.spec: Spec = analysis.resolved.spec
        domain = analysis.problem.domain
        self.domain = domain
        self.settings = Settings(analysis.resolved, domain.variables, domain.definitions)
        self._axes = Names((axis.name for axis in self.spec.axes), AXES_RESERVED)
        self.live_fields: Mapping[tuple[str, ...], LiveField] = live_fields_of(self.spec)
        self._modes = {each.name: each for each in self.spec.modes}
        self._transforms = {each.name: each for each in self.spec.transforms}
        self._slots = {each.name: each for each in self.spec.slots}

    def axis(self, name: str) -> str:
        """An axis as a field of a batch."""
        return self._axes.of(name)

    @property
    def axes(self) -> tuple[Axis, ...]:
        return self.spec.axes

    def by_axes(self, extent: Expr) -> Expr:
        """An extent as documentation shows it: padded rows are what an axis means there."""
        padded: dict[str, Expr] = {f"padded_{axis.name}": Name(axis.name) for axis in self.axes}
        return substitute(extent, padded)

    def live_field(self, source: SourceRef) -> LiveField:
        """The field of the live batch that a source names."""
        return self.live_fields[source.path]

    def serving_field(self, parameter: Parameter) -> LiveField:
        """The field of the live batch that holds a varying parameter."""
        return next(each for each in self._varying if each.varies == parameter)

    @cached_property
    def _varying(self) -> tuple[LiveField, ...]:
        return tuple(each for each in self.live_fields.values() if each.varies is not None)

    @cached_property
    def changing(self) -> frozenset[str]:
        """The names of the parameters that change while serving."""
        return frozenset(each.name for each in self.spec.parameters if each.varies is not None)

    def transform(self, name: str) -> Transform:
        """A transform by name."""
        return self._transforms[name]

    def mode(self, name: str) -> Mode:
        """A mode by name."""
        return self._modes[name]

    def slot(self, name: str) -> Slot:
        """A slot by name, as the spec has it."""
        return self._slots[name]

    def selection_class(self, worker: str) -> str:
        """The class that chooses between the runners of a worker."""
        return distinct(f"{camel(worker)}Runners", {*IMPORTED, *self.settings.enum_classes})

    @cached_property
    def runners(self) -> tuple[RunnerModel, ...]:
        """Every runner of every worker, with classes that nothing else is called."""
        taken = {
            *IMPORTED,
            "Config",
            "Extents",
            "LiveBatch",
            "LoadedBatch",
            "Mode",
            "Offer",
            "Rows",
        }
        taken |= {"Worker"}
        taken |= set(self.settings.enum_classes)
        problems = {each.name: each for each in self.analysis.problem.runners}
        declared = {each.name: each for each in self.spec.runners}
        made: list[RunnerModel] = []
        for planned in self.analysis.plan.runners:
            stem, number = camel(planned.name), 2
            suffixes = (
                *("Batch", "Capacities", "Registry", "Extents"),
                *("Engine", "Facts", "Runner"),
            )
            while any(f"{stem}{suffix}" in taken for suffix in suffixes):
                stem, number = f"{camel(planned.name)}{number}", number + 1
            taken |= {f"{stem}{suffix}" for suffix in suffixes}
            classes = Classes(stem, planned.name)
            problem, runner = problems[planned.name], declared[planned.runner]
            made.append(RunnerModel(self, planned, problem, runner, classes))
        return tuple(made)

    @cached_property
    def rewrites(self) -> Mapping[str, ForWorker]:
        """What makes an expression that of one worker, by worker."""
        resolved = self.analysis.resolved
        return {each.name: for_worker(resolved, each.name) for each in self.spec.workers}

    @cached_property
    def chains(self) -> Mapping[str, tuple[Chain, ...]]:
        """For each worker and mode the runners that are asked in turn."""
        return {each.name: tuple(self._chains(each.name)) for each in self.spec.workers}

    def _chains(self, worker: str) -> Iterator[Chain]:
        known = {
            each.planned.runner: each for each in self.runners if each.planned.worker == worker
        }
        served = {name: {mode.name for mode, _ in each.modes} for name, each in known.items()}
        serving = serving_by_mode(self.spec.runners, worker)
        for mode in self.spec.modes:
            asked = chain_of(serving.get(mode.name, ()))
            runners = (known[each.name] for each in asked if mode.name in served.get(each.name, ()))
            if found := tuple(runners):
                yield Chain(mode, found)

    @cached_property
    def _with_choice(self) -> frozenset[str]:
        return frozenset(
            worker
            for worker, chains in self.chains.items()
            if any(len(each.runners) > 1 for each in chains)
        )

    def has_choice(self, worker: str) -> bool:
        """Whether some batch of the worker could go to several runners."""
        return worker in self._with_choice


class RunnerModel:
    """One runner of one worker."""

    def __init__(
        self,
        engine: EngineModel,
        planned: PlannedRunner,
        problem: RunnerProblem,
        runner: Runner,
        classes: Classes,
    ) -> None:
        self.engine = engine
        self.planned = planned
        self.problem = problem
        self.runner = runner
        self.classes = classes
        analysis = engine.analysis
        self.rewrite: ForWorker = engine.rewrites[planned.worker]
        self._serving: dict[str, Expr] = {
            name: self.rewrite(value)
            for base, value in analysis.resolved.serving.items()
            for name in free_names(self.rewrite(Name(base)))
        }
        fields = (
            *(slot.name for slot in planned.slots),
            *(each.name for each in engine.spec.carried),
        )
        extents = [engine.axis(axis.name) for axis in engine.axes]
        reserved = (*FIELDS_RESERVED, *extents, *(f"live_{name}" for name in extents))
        self._fields = Names(fields, reserved)
        self._of_batch: dict[Expr, Expr] = {}
        self.scopes: dict[str, Scope] = {}

    def unfold(self, expr: Expr) -> Expr:
        """`expr`, of this worker, with definitions that change while serving written out."""
        return fold(substitute(expr, self._serving))

    def of_batch(self, expr: Expr) -> Expr:
        """An expression of a mode or transform as it is for a batch of this worker."""
        if expr not in self._of_batch:
            self._of_batch[expr] = self.unfold(self.rewrite(expr))
        return self._of_batch[expr]

    @cached_property
    def serving(self) -> Mapping[str, Parameter]:
        """The parameters that change while serving, under the names they have for this worker."""
        return {
            name: parameter
            for parameter in self.engine.spec.parameters
            if parameter.varies is not None
            for name in free_names(self.rewrite(Name(parameter.name)))
        }

    @cached_property
    def serving_values(self) -> Mapping[str, str]:
        """The present values of those parameters, where `live` and `config` are at hand."""
        values: dict[str, str] = {}
        for name, parameter in self.serving.items():
            field = f"live.{self.engine.serving_field(parameter).name}"
            configured = f"config.{self.engine.settings.of(name).attribute}"
            value = f"({configured} if {field} is None else {field})"
            guarded = self.engine.settings.of(name).guarded
            values[name] = f"present{value}" if guarded else value
        return values

    @property
    def title(self) -> str:
        """How documentation calls the runner."""
        return f"runner {self.planned.runner} of worker {self.planned.worker}"

    @property
    def slots(self) -> tuple[PlannedSlot, ...]:
        return self.planned.slots

    @property
    def carried(self) -> tuple[Carried, ...]:
        return self.engine.spec.carried

    @cached_property
    def modes(self) -> tuple[tuple[Mode, ModeProblem], ...]:
        """The modes that this worker can be in, as the spec has them and as they were bounded."""
        return tuple((self.engine.mode(each.name), each) for each in self.problem.modes)

    @property
    def constants(self) -> tuple[PlannedSlot, ...]:
        """The slots that are written once."""
        return tuple(slot for slot in self.slots if slot.elements is not None)

    def field(self, name: str) -> str:
        """A slot or carried field as a field of the batch."""
        return self._fields.of(name)

    def capacity(self, target: str) -> Capacity:
        """The derived capacity of an axis or of a slot's own dimension."""
        return self.engine.analysis.capacities.of(self.planned.name, target)

    def proof(self, target: str) -> Proof:
        """What was proved of a capacity."""
        return self.engine.analysis.certificate.of(self.planned.name, target)

    def capacity_field(self, target: str) -> str:
        """A capacity as a field: of an axis, or `slot_dimension`."""
        slot, _, dimension = target.partition(".")
        return f"{self.field(slot)}_{dimension}" if dimension else self.engine.axis(slot)

    def follows_rows(self, extent: Expr) -> bool:
        """Whether an extent is made of padded axes and parameters that never change only."""
        settings, changing = self.engine.settings, self.engine.changing
        axes = {f"padded_{axis.name}" for axis in self.engine.axes}
        return all(
            name in axes or (name in settings and settings.of(name).base not in changing)
            for name in free_names(self.unfold(extent))
        )

    @cached_property
    def own_extents(self) -> tuple[OwnExtent, ...]:
        """The dimensions of slots whose extent does not follow from padded rows."""
        return tuple(
            OwnExtent(slot, position, dimension, self.capacity_field(dimension.target))
            for slot, position, dimension in self.own_dimensions
            if dimension.target is not None and not self.follows_rows(dimension.extent)
        )

    def slots_from(self, path: tuple[str, ...]) -> tuple[PlannedSlot, ...]:
        """The slots that are loaded from a field of the live batch."""
        return self._by_source.get(path, ())

    @cached_property
    def _by_source(self) -> Mapping[tuple[str, ...], tuple[PlannedSlot, ...]]:
        found: dict[tuple[str, ...], tuple[PlannedSlot, ...]] = {}
        for slot in self.slots:
            if slot.source is not None:
                found[slot.source.path] = (*found.get(slot.source.path, ()), slot)
        return found

    def own_extents_of(self, slot: PlannedSlot) -> Mapping[int, OwnExtent]:
        """Those of one slot, by position."""
        return self._own_extents.get(slot.name, {})

    @cached_property
    def _own_extents(self) -> Mapping[str, Mapping[int, OwnExtent]]:
        found: dict[str, dict[int, OwnExtent]] = {}
        for each in self.own_extents:
            found.setdefault(each.slot.name, {})[each.position] = each
        return found

    @property
    def own_dimensions(self) -> Iterator[tuple[PlannedSlot, int, Dimension]]:
        """The dimensions of slots that have capacities of their own."""
        for slot in self.slots:
            for position, dimension in enumerate(slot.dimensions):
                if dimension.target is not None and dimension.along is None:
                    yield slot, position, dimension

    @cached_property
    def collective_groups(self) -> tuple[str, ...]:
        """The groups of ranks that some pipeline joins in."""
        groups: dict[str, None] = {}
        for mode, _ in self.modes:
            for entry in mode.pipeline:
                collective = self.engine.transform(entry.transform).collective
                if collective is not None:
                    groups.setdefault(collective.group)
        return tuple(groups)

    def ranks_name(self, group: str) -> str:
        """The argument that holds a group's ranks."""
        return "ranks" if len(self.collective_groups) == 1 else f"{group}_ranks"


@dataclass(frozen=True, slots=True)
class Chain:
    """The runners of one worker that are asked in turn for the batches of a mode."""

    mode: Mode
    runners: tuple[RunnerModel, ...]
