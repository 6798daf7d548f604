"""Random specs as records: whatever loading accepts, although nothing in them need make sense."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, TypeVar, get_args

from hypothesis import strategies as st

from support.spec_expressions import anything, conditions, integers, lists, pairs, relations
from support.spec_words import names, texts
from support.wrapper_records import wrappers
from ullage.expr.parse import SourceRef
from ullage.expr.tree import TRUE, Name
from ullage.expr.units import BASES, NO_UNIT, Unit
from ullage.place import BUILT_IN
from ullage.spec.collectives import OPERATIONS, Collective
from ullage.spec.elements import Elements
from ullage.spec.load_audits import OTHERWISE, VERDICTS
from ullage.spec.load_parameters import PARAMETER_TYPES
from ullage.spec.model import (
    Axis,
    Carried,
    Concurrent,
    Constraint,
    Definition,
    Dtype,
    Lifetime,
    LiveVariable,
    Mode,
    NamedText,
    Parameter,
    PipelineEntry,
    Range,
    Read,
    Reader,
    ReadLeft,
    Runner,
    Slot,
    Spec,
    Step,
    Transform,
    Worker,
    Writer,
)
from ullage.spec.runner_parts import Capture, Fallback, Promise, WarmUp, Within
from ullage.spec.stated import Audit, StatedFormula

Action = Literal["load", "call", "slice", "group"]
_Item = TypeVar("_Item")
_place = st.just(BUILT_IN)


def several(
    items: st.SearchStrategy[_Item], least: int = 0
) -> st.SearchStrategy[tuple[_Item, ...]]:
    return st.lists(items, min_size=least, max_size=3).map(tuple)


def distinct(least: int = 0) -> st.SearchStrategy[tuple[str, ...]]:
    return st.lists(names(), min_size=least, max_size=3, unique=True).map(tuple)


def named(records: st.SearchStrategy[_Item]) -> st.SearchStrategy[tuple[_Item, ...]]:
    """Records with distinct names."""
    return st.lists(records, max_size=2, unique_by=lambda each: each.name).map(tuple)  # type: ignore[attr-defined]  # only for records that have one


def ranges() -> st.SearchStrategy[Range]:
    return st.builds(Range, integers(), integers(), _place)


def units() -> st.SearchStrategy[Unit]:
    return st.tuples(*(st.integers(-2, 9) for _ in BASES)).map(Unit)


def fields() -> st.SearchStrategy[SourceRef]:
    return st.builds(SourceRef, distinct(least=1).map(lambda path: ("batch", *path)))


def extents() -> st.SearchStrategy[SourceRef]:
    paths = distinct(least=1).map(lambda path: ("batch", *path))
    return st.builds(SourceRef, paths, st.none() | st.integers(0, 9999))


def named_texts() -> st.SearchStrategy[tuple[NamedText, ...]]:
    return named(st.builds(NamedText, names(), texts(), _place))


@st.composite
def parameters(draw: st.DrawFn) -> Parameter:
    type_ = draw(st.sampled_from(PARAMETER_TYPES))
    is_counted = type_ in ("int", "list")
    choices = draw(distinct()) if type_ == "enum" else ()
    default = {"int": integers, "bool": conditions, "enum": integers}.get(type_, lists)()
    # A default that is one of the choices is loaded as that one; the samples have such ones.
    usable = default.filter(lambda expr: not isinstance(expr, Name) or expr.name not in choices)
    return Parameter(
        name=draw(names()),
        type=type_,
        unit=draw(units()) if is_counted else NO_UNIT,
        range=draw(ranges()) if is_counted else None,
        choices=choices,
        when=draw(conditions()),
        default=draw(st.none() | usable),
        per_worker=draw(st.booleans()),
        varies=draw(st.none() | names()) if type_ == "int" else None,
        doc=draw(texts()),
        place=BUILT_IN,
    )


@st.composite
def transforms(draw: st.DrawFn, axes: tuple[Axis, ...]) -> Transform:
    assigned = [axis.name for axis in axes if draw(st.booleans())]
    collective = st.builds(Collective, st.sampled_from(sorted(OPERATIONS)), names(), _place)
    return Transform(
        name=draw(names()),
        when=draw(conditions()),
        arguments=draw(distinct()),
        let=draw(pairs()),
        assigns=tuple((axis, draw(integers())) for axis in assigned),
        collective=draw(st.none() | collective),
        doc=draw(texts()),
        place=BUILT_IN,
        in_batch=draw(st.booleans()),
        after=draw(distinct()),
    )


@st.composite
def slots(draw: st.DrawFn) -> Slot:
    dtypes = st.sampled_from(get_args(Dtype))
    source, span = draw(st.none() | fields()), draw(st.none() | ranges())
    step = draw(st.none() | writers()) if source is None else None
    is_loaded = source is not None or step is not None
    lifetime = draw(st.sampled_from(("load", "runner") if is_loaded else get_args(Lifetime)))
    elements = draw(st.builds(Elements, st.just("") | names(), anything(), _place))
    when = draw(conditions())
    return Slot(
        name=draw(names()),
        shape=draw(several(integers())),
        dtype=draw(dtypes),
        cpu_dtype=draw(dtypes),
        device=draw(st.sampled_from(("compute", "host"))),
        source=source,
        value=None if is_loaded or lifetime == "once" else draw(anything()),
        range=span,
        casts_from=draw(several(dtypes)) if source is not None else (),
        optional=source is not None and draw(st.booleans()),
        modes=draw(distinct()),
        when=when,
        refuse_on_overflow=draw(st.booleans()),
        doc=draw(texts()),
        place=BUILT_IN,
        written_by=step,
        lifetime=lifetime,
        elements=elements if lifetime == "once" else None,
        live_range=draw(st.none() | ranges()) if source is not None and span else None,
        carried_otherwise=source is not None and when != TRUE and draw(st.booleans()),
    )


def writers() -> st.SearchStrategy[Writer]:
    return st.builds(Writer, distinct(least=1), st.sampled_from(("live", "padded")), _place)


def readers() -> st.SearchStrategy[Reader]:
    nothing, scatters = st.none(), st.booleans()
    reads = st.one_of(
        st.builds(Read, names(), st.just("live"), nothing, nothing, _place, scatters),
        st.builds(Read, names(), st.just("padded"), integers(), nothing, _place, scatters),
        st.builds(Read, names(), st.just("padded"), nothing, ranges(), _place, scatters),
    )
    unique = st.lists(reads, max_size=3, unique_by=lambda read: read.slot).map(tuple)
    plain = st.builds(Reader, names(), conditions(), distinct(), unique, texts(), _place)
    left = st.lists(
        st.builds(ReadLeft, names(), names(), _place), max_size=2, unique_by=lambda read: read.slot
    ).map(tuple)
    return st.builds(_with_left, plain, left)


def _with_left(reader: Reader, left: tuple[ReadLeft, ...]) -> Reader:
    """The reader, which reads also what others left, of slots that it does not read itself."""
    own = {read.slot for read in reader.reads}
    return replace(reader, left=tuple(read for read in left if read.slot not in own))


def _with_debug_source(variable: LiveVariable) -> st.SearchStrategy[LiveVariable]:
    """The variable, and perhaps where debug mode reads it if load does not see it."""
    if variable.seen_in:
        return st.just(variable)
    sources = extents() if variable.per is None else fields()
    return (st.none() | sources).map(lambda source: replace(variable, debug_in=source))


@st.composite
def modes(draw: st.DrawFn) -> Mode:
    live = st.builds(
        LiveVariable, names(), ranges(), several(extents()), st.none() | names(), texts(), _place
    ).flatmap(_with_debug_source)
    return Mode(
        name=draw(names()),
        when=draw(conditions()),
        families=draw(distinct()),
        category=draw(names()),
        live=draw(named(live)),
        where=draw(several(relations())),
        axes=draw(pairs()),
        pipeline=draw(several(st.builds(PipelineEntry, names(), pairs(), _place))),
        peers=draw(st.none() | distinct()),
        doc=draw(texts()),
        place=BUILT_IN,
    )


@st.composite
def steps(draw: st.DrawFn, depth: int = 2) -> Step:
    actions: tuple[Action, ...] = ("load", "call", "slice", "group")
    action = draw(st.sampled_from(actions[: 4 if depth else 3]))
    is_call, is_group = action == "call", action == "group"
    within = several(st.builds(Within, names(), conditions(), _place))
    gives = {"call": st.none() | names(), "slice": names()}.get(action, st.none())
    return Step(
        name=draw(names()) if is_call else "" if is_group else action,
        action=action,
        when=draw(conditions()),
        modes=draw(distinct()),
        padded=draw(st.none() | st.booleans()),
        takes=draw(distinct()) if action in ("call", "slice") else (),
        gives=draw(gives),
        within=draw(within) if is_call or is_group else (),
        readers=draw(distinct()) if is_call else (),
        steps=draw(several(steps(depth - 1))) if is_group else (),
        doc="" if is_group else draw(texts()),
        place=BUILT_IN,
    )


def promises() -> st.SearchStrategy[tuple[Promise, ...]]:
    """One of all modes, or one for each mode or family that is named."""
    of_all = st.builds(Promise, st.just(()), relations()).map(lambda promise: (promise,))
    named = pairs().map(lambda found: tuple(Promise((name,), each) for name, each in found))
    return named | of_all


@st.composite
def runners(draw: st.DrawFn) -> Runner:
    slack = st.dictionaries(names(), texts(), max_size=2)
    captures = st.dictionaries(names(), distinct(least=1), max_size=2)
    return Runner(
        name=draw(names()),
        when=draw(conditions()),
        workers=draw(distinct()),
        modes=draw(distinct()),
        slots=draw(distinct()),
        pipeline=draw(several(st.builds(PipelineEntry, names(), pairs(), _place, distinct()))),
        accepts=draw(several(relations())),
        accepts_all=draw(distinct()),
        exclusive=draw(st.booleans()),
        fallback=draw(st.none() | st.builds(Fallback, names(), _place)),
        facts=draw(named_texts()),
        contexts=draw(named_texts()),
        values=draw(named_texts()),
        steps=draw(several(steps())),
        warm_up=draw(st.none() | st.builds(WarmUp, names(), distinct(), _place)),
        slack=tuple(draw(slack).items()),
        doc=draw(texts()),
        place=BUILT_IN,
        limits=draw(pairs()),
        promises=draw(promises()),
        captures=tuple(
            Capture(mode, replay, BUILT_IN)
            for mode, replays in draw(captures).items()
            for replay in replays
        ),
    )


@st.composite
def audits(draw: st.DrawFn, served: tuple[Runner, ...], targets: tuple[str, ...]) -> Audit:
    """An audit of some of the runners; its formulas stand for one worker or for each in turn."""
    found: list[StatedFormula] = []
    for runner in served:
        formula, target = draw(integers()), draw(st.sampled_from(targets))
        verdicts = st.dictionaries(
            st.one_of(names(), st.just(OTHERWISE)), st.sampled_from(VERDICTS), max_size=2
        )
        expect, when = tuple(draw(verdicts).items()), draw(conditions())
        stated = StatedFormula(runner.name, "", target, formula, expect, BUILT_IN, when)
        workers = runner.workers[draw(st.integers(0, 1)) :]
        found.extend(replace(stated, worker=worker) for worker in workers)
    return Audit(draw(names()), draw(texts()), draw(pairs()), tuple(found), draw(texts()), BUILT_IN)


_EMPTY = Spec(
    engine="random",
    doc="",
    digest="",
    rank_count=None,
    axes=(),
    workers=(),
    families=(),
    parameters=(),
    constraints=(),
    definitions=(),
    transforms=(),
    slots=(),
    carried=(),
    readers=(),
    modes=(),
    runners=(),
    audits=(),
    place=BUILT_IN,
)


def _heads() -> st.SearchStrategy[Spec]:
    return st.builds(
        lambda engine, doc, ranks, workers, families: replace(
            _EMPTY, engine=engine, doc=doc, rank_count=ranks, workers=workers, families=families
        ),
        names(),
        texts(),
        st.none() | integers(),
        named(st.builds(Worker, names(), conditions(), texts(), _place)),
        named_texts(),
    )


def _of_one_section() -> tuple[st.SearchStrategy[Spec], ...]:
    """For each section that stands on its own."""
    constraint = st.builds(Constraint, relations(), conditions(), texts(), _place)
    unit = st.none() | units()
    definition = st.builds(Definition, names(), anything(), unit, conditions(), texts(), _place)
    carried = st.builds(Carried, names(), fields(), texts(), _place)
    group = st.builds(Concurrent, distinct(2), conditions(), texts(), _place)
    return (
        named(parameters()).map(lambda found: replace(_EMPTY, parameters=found)),
        several(group).map(lambda found: replace(_EMPTY, concurrent=found)),
        several(constraint).map(lambda found: replace(_EMPTY, constraints=found)),
        named(definition).map(lambda found: replace(_EMPTY, definitions=found)),
        named(slots()).map(lambda found: replace(_EMPTY, slots=found)),
        named(carried).map(lambda found: replace(_EMPTY, carried=found)),
        named(readers()).map(lambda found: replace(_EMPTY, readers=found)),
        wrappers(anything(), conditions()).map(lambda found: replace(_EMPTY, wrappers=found)),
        named(modes()).map(lambda found: replace(_EMPTY, modes=found)),
    )


@st.composite
def _with_transforms(draw: st.DrawFn) -> Spec:
    axes = draw(named(st.builds(Axis, names(), units(), texts(), _place, st.none() | integers())))
    return replace(_EMPTY, axes=axes, transforms=draw(named(transforms(axes))))


@st.composite
def _with_audits(draw: st.DrawFn) -> Spec:
    served = draw(named(runners()))
    axes = (Axis("tokens", NO_UNIT, "", BUILT_IN),)
    stated = audits(served, ("tokens", "lengths")).filter(lambda audit: audit.formulas != ())
    audited = draw(named(stated)) if served else ()
    return replace(_EMPTY, axes=axes, runners=served, audits=audited)


def specs() -> st.SearchStrategy[Spec]:
    """Specs in which every record of the model may occur, a few of them in each."""
    return st.one_of(_heads(), *_of_one_section(), _with_transforms(), _with_audits())
