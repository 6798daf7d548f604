"""What a spec folder says, as immutable records.

One record for every entity, filled once by `ullage.spec.load`; expressions are parsed trees whose
names are still the author's. `ullage.spec.check` resolves them and has the rules about several.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from ullage.expr.kinds import Unit
from ullage.expr.parse import SourceRef
from ullage.expr.tree import Expr
from ullage.place import Place
from ullage.spec.collectives import Collective
from ullage.spec.elements import Elements
from ullage.spec.references import Reference
from ullage.spec.runner_parts import Capture, Fallback, Promise, WarmUp, Within
from ullage.spec.stated import Audit
from ullage.spec.wrappers import Wrapper

LANGUAGE_VERSION = 1

DeviceRole = Literal["compute", "host"]
Lifetime = Literal["load", "runner", "once"]
ParameterType = Literal["int", "bool", "enum", "list"]
Dtype = Literal[
    "bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64"
]

BYTES_OF_DTYPE: dict[str, int] = dict(
    bool=1, uint8=1, int8=1, int16=2, int32=4, int64=8, float16=2, bfloat16=2, float32=4, float64=8
)


@dataclass(frozen=True, slots=True)
class Range:
    """An inclusive range; both ends are expressions."""

    low: Expr
    high: Expr
    place: Place


@dataclass(frozen=True, slots=True)
class Axis:
    """A dimension of batches; `begins_as`: what it is over the others if no mode says it."""

    name: str
    unit: Unit
    doc: str
    place: Place
    begins_as: Expr | None = None

    @property
    def is_brought(self) -> bool:
        """Whether batches have rows along it when load sees them."""
        return self.begins_as is None


@dataclass(frozen=True, slots=True)
class Worker:
    """A process role that owns its own runners; `when` says for which configurations it exists."""

    name: str
    when: Expr
    doc: str
    place: Place


@dataclass(frozen=True, slots=True)
class Parameter:
    """One argument of the engine.

    `when`: outside it the parameter has no value. `per_worker`: each worker has its own.
    `varies`: the name of a list parameter whose elements it takes on while serving.
    `default`: run on raw parameters before everything else; never part of a proof.
    """

    name: str
    type: ParameterType
    unit: Unit
    range: Range | None
    choices: tuple[str, ...]
    when: Expr
    default: Expr | None
    per_worker: bool
    varies: str | None
    doc: str
    place: Place


@dataclass(frozen=True, slots=True)
class Constraint:
    """A relation that every legal configuration satisfies, with the reason shown when broken."""

    that: Expr
    when: Expr
    reason: str
    place: Place


@dataclass(frozen=True, slots=True)
class Definition:
    """A named expression over parameters. A `unit` restates a dimensionless value in that unit."""

    name: str
    value: Expr
    unit: Unit | None
    when: Expr
    doc: str
    place: Place


@dataclass(frozen=True, slots=True)
class Transform:
    """Maps the tuple of axes to a new one at once; axes not assigned stay as they are.

    `arguments` are given by each pipeline entry; `let` are local names, evaluated in order.
    `in_batch`: the sources already hold its result when load sees them; what other transforms
    add are the padded rows that load fills. `after`: transforms that it follows in a pipeline.
    """

    name: str
    when: Expr
    arguments: tuple[str, ...]
    let: tuple[tuple[str, Expr], ...]
    assigns: tuple[tuple[str, Expr], ...]
    collective: Collective | None
    doc: str
    place: Place
    in_batch: bool = False
    after: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LiveVariable:
    """A quantity that a batch brings.

    `seen_in`: where load sees it, the first present source counts; empty means assumed.
    `per`: the live variable that counts its instances (a per-request length), or None.
    `debug_in`: where debug mode reads what is assumed.
    """

    name: str
    range: Range
    seen_in: tuple[SourceRef, ...]
    per: str | None
    doc: str
    place: Place
    debug_in: SourceRef | None = None


@dataclass(frozen=True, slots=True)
class PipelineEntry:
    """One transform of a pipeline with its arguments; `modes`: of a runner, none for all."""

    transform: str
    arguments: tuple[tuple[str, Expr], ...]
    place: Place
    modes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Mode:
    """How a live batch looks, and the padding that it goes through before load.

    `peers`: the further modes that other ranks may be in during the same round; None: not said.
    """

    name: str
    when: Expr
    families: tuple[str, ...]
    category: str
    live: tuple[LiveVariable, ...]
    where: tuple[Expr, ...]
    axes: tuple[tuple[str, Expr], ...]
    pipeline: tuple[PipelineEntry, ...]
    peers: tuple[str, ...] | None
    doc: str
    place: Place


@dataclass(frozen=True, slots=True)
class Writer:
    """The steps of the engine that write a slot, one of them in each runner that has it.

    `rows`: all of them, or only those of the batch; load fills the tail where a step leaves it.
    """

    steps: tuple[str, ...]
    rows: Literal["live", "padded"]
    place: Place


@dataclass(frozen=True, slots=True)
class Slot:
    """One static buffer.

    `shape`: expressions over axes, live variables and parameters; `cpu_dtype`: that of one which
    lies on a CPU; `source`: the batch field copied in; `value`: a scalar written by load, over
    `live_<axis>` and `padded_<axis>`; `range`: what its elements may be, `live_range`: those
    that a batch brings; `optional`: the source may be absent in a legal batch; `modes`: modes or
    families that load it (empty: all); `written_by`: who writes it, if neither a source nor a
    computation does; `lifetime`: until when what it holds stays there, which is the next load of
    any runner in its place, or of its own; `elements`: what it holds for good, of lifetime once;
    `carried_otherwise`: where the slot does not exist, load passes the source on as it is.
    """

    name: str
    shape: tuple[Expr, ...]
    dtype: Dtype
    cpu_dtype: Dtype
    device: DeviceRole
    source: SourceRef | None
    value: Expr | None
    range: Range | None
    casts_from: tuple[Dtype, ...]
    optional: bool
    modes: tuple[str, ...]
    when: Expr
    refuse_on_overflow: bool
    doc: str
    place: Place
    written_by: Writer | None = None
    lifetime: Lifetime = "load"
    live_range: Range | None = None
    elements: Elements | None = None
    carried_otherwise: bool = False


@dataclass(frozen=True, slots=True)
class Carried:
    """A batch field that load passes through as it is."""

    name: str
    source: SourceRef
    doc: str
    place: Place


@dataclass(frozen=True, slots=True)
class Read:
    """One reader's need: live rows only, or padded rows with a fill or within a range.

    `scatters`: it stores into the place that each row names.
    """

    slot: str
    rows: Literal["live", "padded"]
    fill: Expr | None
    range: Range | None
    place: Place
    scatters: bool = False


@dataclass(frozen=True, slots=True)
class ReadLeft:
    """A read of what another runner has left in one of its slots."""

    slot: str
    runner: str
    place: Place


@dataclass(frozen=True, slots=True)
class Reader:
    """A kernel, planner or backend, and what it reads of which slots.

    `reads` are of the slots of the runner whose step it reads in, `left` of those of others.
    """

    name: str
    when: Expr
    modes: tuple[str, ...]
    reads: tuple[Read, ...]
    doc: str
    place: Place
    left: tuple[ReadLeft, ...] = ()


@dataclass(frozen=True, slots=True)
class NamedText:
    """A name with its description: a fact, context or value of a runner, or a mode family."""

    name: str
    doc: str
    place: Place


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a runner's execute, in declared order; a group runs `steps` in its contexts.

    `when`: over parameters and the engine's facts; `modes`: modes or families (empty: all);
    `padded`: only batches with padded rows, or only those without (None: both); `takes` and `gives`
    name values that flow between steps; `within`: the contexts it runs in; `readers`: who reads
    slots while it runs.
    """

    name: str
    action: Literal["load", "call", "slice", "group"]
    when: Expr
    modes: tuple[str, ...]
    padded: bool | None
    takes: tuple[str, ...]
    gives: str | None
    within: tuple[Within, ...]
    readers: tuple[str, ...]
    steps: tuple[Step, ...]
    doc: str
    place: Place


@dataclass(frozen=True, slots=True)
class Runner:
    """What owns one set of buffers and launches the model for its modes.

    `when`: for which configurations it exists; `pipeline`: transforms after that of the mode;
    `accepts`: which batches it takes, by what they are after the pipeline of their mode, and by
    facts. `accepts_all`: modes in which it takes every batch. `exclusive`: no batch that it accepts
    gets to its `fallback`. `promises`: of which batches none gets to it. `limits`: by
    axis, the most that a padded batch may have. `captures`: which modes replay what others capture.
    """

    name: str
    when: Expr
    workers: tuple[str, ...]
    modes: tuple[str, ...]
    slots: tuple[str, ...]
    pipeline: tuple[PipelineEntry, ...]
    accepts: tuple[Expr, ...]
    accepts_all: tuple[str, ...]
    exclusive: bool
    fallback: Fallback | None
    facts: tuple[NamedText, ...]
    contexts: tuple[NamedText, ...]
    values: tuple[NamedText, ...]
    steps: tuple[Step, ...]
    warm_up: WarmUp | None
    slack: tuple[tuple[str, str], ...]
    doc: str
    place: Place
    limits: tuple[tuple[str, Expr], ...] = ()
    captures: tuple[Capture, ...] = ()
    promises: tuple[Promise, ...] = ()

    def pipeline_in(self, mode: str) -> tuple[PipelineEntry, ...]:
        """The runner's own transforms in a mode, given the names of all modes."""
        return tuple(each for each in self.pipeline if not each.modes or mode in each.modes)

    def accepts_in(self, mode: str) -> tuple[Expr, ...]:
        """The conditions on batches of a mode, given the names of all modes."""
        return () if mode in self.accepts_all else self.accepts


@dataclass(frozen=True, slots=True)
class Concurrent:
    """Runners that may be alive at the same time, so that they share no storage.

    `runners`: a runner, or one worker's as `<runner>_<worker>`.
    """

    runners: tuple[str, ...]
    when: Expr
    doc: str
    place: Place


@dataclass(frozen=True, slots=True)
class Spec:
    """Everything that one specs folder says about one engine.

    `references` are all references by name, with the places that errors about them point to;
    `groups` are the names that slots go by together, which runners have in full.
    """

    engine: str
    doc: str
    digest: str
    rank_count: Expr | None
    axes: tuple[Axis, ...]
    workers: tuple[Worker, ...]
    families: tuple[NamedText, ...]
    parameters: tuple[Parameter, ...]
    constraints: tuple[Constraint, ...]
    definitions: tuple[Definition, ...]
    transforms: tuple[Transform, ...]
    slots: tuple[Slot, ...]
    carried: tuple[Carried, ...]
    readers: tuple[Reader, ...]
    modes: tuple[Mode, ...]
    runners: tuple[Runner, ...]
    audits: tuple[Audit, ...]
    place: Place
    references: tuple[Reference, ...] = ()
    groups: tuple[str, ...] = field(default=(), compare=False)
    concurrent: tuple[Concurrent, ...] = ()
    wrappers: tuple[Wrapper, ...] = ()
