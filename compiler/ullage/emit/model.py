"""What all modules of one generated package agree on: classes, fields, axes and runners."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from ullage.analysis import Analysis
from ullage.bound.capacities import Capacity
from ullage.bound.composer import serving_definitions
from ullage.bound.problem import ModeProblem, RunnerProblem
from ullage.bound.specialise import ForWorker, for_worker
from ullage.emit.modules import IMPORTED
from ullage.emit.names import Names, camel, distinct
from ullage.emit.settings import Settings
from ullage.expr.parse import SourceRef
from ullage.expr.simplify import fold
from ullage.expr.tree import Expr, Name, free_names, substitute
from ullage.plan.model import Dimension, PlannedRunner, PlannedSlot
from ullage.prove.certificate import Proof
from ullage.spec.model import Axis, Carried, Mode, Parameter, Runner, Spec, Transform

FIELDS_RESERVED = (
    *("allocate", "arenas", "has_padding", "layout", "mode", "of", "regions", "self", "slots"),
)
"""What batches and registries have besides slots, carried fields and extents."""

AXES_RESERVED = ("count", "has_padding", "index", "mode", "of", "self")
"""What batches, capacities and tuples of rows have besides axes."""

LIVE_RESERVED = ("mode", "self")
"""What a live batch has besides the fields that the spec names."""


@dataclass(frozen=True, slots=True)
class LiveField:
    """One field of a live batch: a tensor, or a number that the host knows.

    `varies`: the parameter whose present value it is, if any.
    """

    path: tuple[str, ...]
    name: str
    is_tensor: bool
    varies: Parameter | None = None


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
    def views(self) -> str:
        return f"{self.stem}Views"

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


class EngineModel:
    """One engine: its analysis, and the names that generated code has for what it declares."""

    def __init__(self, analysis: Analysis) -> None:
        self.analysis = analysis
        self.spec: Spec = analysis.resolved.spec
        domain = analysis.problem.domain
        self.domain = domain
        self.settings = Settings(analysis.resolved, domain.variables, domain.definitions)
        self._axes = Names((axis.name for axis in self.spec.axes), AXES_RESERVED)
        self.live_fields: Mapping[tuple[str, ...], LiveField] = _live_fields(self.spec)

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
        return next(each for each in self.live_fields.values() if each.varies == parameter)

    def transform(self, name: str) -> Transform:
        """A transform by name."""
        return next(each for each in self.spec.transforms if each.name == name)

    def mode(self, name: str) -> Mode:
        """A mode by name."""
        return next(each for each in self.spec.modes if each.name == name)

    def selection_class(self, worker: str) -> str:
        """The class that chooses between the runners of a worker."""
        return distinct(f"{camel(worker)}Runners", {*IMPORTED, *self.settings.enum_classes})

    @cached_property
    def runners(self) -> tuple[RunnerModel, ...]:
        """Every runner of every worker, with classes that nothing else is called."""
        taken = {*IMPORTED, "Config", "Extents", "LiveBatch", "Mode", "Offer", "Rows", "Worker"}
        taken |= set(self.settings.enum_classes)
        made: list[RunnerModel] = []
        for planned in self.analysis.plan.runners:
            stem, number = camel(planned.name), 2
            suffixes = (
                *("Batch", "Capacities", "Registry", "Views", "Extents"),
                *("Engine", "Facts", "Runner"),
            )
            while any(f"{stem}{suffix}" in taken for suffix in suffixes):
                stem, number = f"{camel(planned.name)}{number}", number + 1
            taken |= {f"{stem}{suffix}" for suffix in suffixes}
            made.append(RunnerModel(self, planned, Classes(stem, planned.name)))
        return tuple(made)


class RunnerModel:
    """One runner of one worker."""

    def __init__(self, engine: EngineModel, planned: PlannedRunner, classes: Classes) -> None:
        self.engine = engine
        self.planned = planned
        self.classes = classes
        analysis = engine.analysis
        self.problem: RunnerProblem = next(
            each for each in analysis.problem.runners if each.name == planned.name
        )
        self.runner: Runner = next(
            each for each in engine.spec.runners if each.name == planned.runner
        )
        self.rewrite: ForWorker = for_worker(analysis.resolved, planned.worker)
        self._serving: dict[str, Expr] = {
            name: self.rewrite(value)
            for base, value in serving_definitions(analysis.resolved).items()
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

    def unfold(self, expr: Expr) -> Expr:
        """`expr`, of this worker, with definitions that change while serving written out."""
        return fold(substitute(expr, self._serving))

    def of_batch(self, expr: Expr) -> Expr:
        """An expression of a mode or transform as it is for a batch of this worker."""
        if expr not in self._of_batch:
            self._of_batch[expr] = self.unfold(self.rewrite(expr))
        return self._of_batch[expr]

    @property
    def serving(self) -> Mapping[str, Parameter]:
        """The parameters that change while serving, under the names they have for this worker."""
        return {
            name: parameter
            for parameter in self.engine.spec.parameters
            if parameter.varies is not None
            for name in free_names(self.rewrite(Name(parameter.name)))
        }

    @property
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

    @property
    def modes(self) -> Iterator[tuple[Mode, ModeProblem]]:
        """The modes that this worker can be in, as the spec has them and as they were bounded."""
        for problem in self.problem.modes:
            yield self.engine.mode(problem.name), problem

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

    @property
    def own_dimensions(self) -> Iterator[tuple[PlannedSlot, int, Dimension]]:
        """The dimensions of slots that have capacities of their own."""
        for slot in self.slots:
            for position, dimension in enumerate(slot.dimensions):
                if dimension.target is not None and dimension.axis is None:
                    yield slot, position, dimension

    @property
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


def _live_fields(spec: Spec) -> Mapping[tuple[str, ...], LiveField]:
    """Every field that sources name, tensors first where a field is both."""
    tensors: dict[tuple[str, ...], bool] = {}
    for mode in spec.modes:
        for variable in mode.live:
            for source in variable.seen_in:
                is_tensor = source.dimension is not None or variable.per is not None
                tensors[source.path] = tensors.get(source.path, False) or is_tensor
    for slot in spec.slots:
        if slot.source is not None:
            tensors[slot.source.path] = True
    for carried in spec.carried:
        tensors[carried.source.path] = True
    for mode in spec.modes:
        for variable in mode.live:
            if variable.debug_in is not None:
                tensors.setdefault(variable.debug_in.path, True)
    varying: dict[tuple[str, ...], Parameter] = {
        (each.name,): each for each in spec.parameters if each.varies is not None
    }
    paths = {path: "_".join(path[1:] if len(path) > 1 else path) for path in tensors}
    paths |= {path: each.name for path, each in varying.items() if path not in paths}
    made: dict[tuple[str, ...], LiveField] = {}
    taken: set[str] = set(LIVE_RESERVED)
    for path, wished in paths.items():
        safe = Names((wished,), taken).of(wished)
        taken.add(safe)
        made[path] = LiveField(path, safe, tensors.get(path, False), varying.get(path))
    return made
