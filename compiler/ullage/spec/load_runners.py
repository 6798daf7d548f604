"""Loading a runner: its modes, slots and the steps of its execute."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Literal, cast

from ullage.expr.tree import TRUE, Expr
from ullage.spec import former_keys, problems
from ullage.spec.model import PipelineEntry, Runner, Step
from ullage.spec.reading import Reading
from ullage.spec.runner_parts import Capture, Fallback, Promise, WarmUp, Within
from ullage.text.fields import Fields, as_scalar, check_identifier
from ullage.text.nodes import Mapping, Node, Scalar, Sequence

BUILT_IN_ACTIONS = ("load", "slice")


def load_runner(reading: Reading, name: Scalar, fields: Fields) -> Runner:
    """The runner that one file declares."""
    reading.enter_runner(name.text)
    runner = Runner(
        name=name.text,
        when=reading.when(fields),
        workers=reading.names(fields, "workers", "worker", required=True),
        modes=reading.names_or_all(fields, "modes", "mode or family", required=True),
        slots=reading.slots_or_all(fields, "slots"),
        pipeline=_pipeline(reading, fields),
        accepts=_accepts(reading, fields),
        accepts_all=reading.names(fields, "accepts_all", "mode or family"),
        exclusive=fields.boolean("exclusive", default=False),
        fallback=_fallback(reading, fields),
        facts=reading.texts(fields, "facts"),
        contexts=reading.texts(fields, "contexts"),
        values=reading.texts(fields, "values"),
        steps=_steps(reading, fields.items("steps", required=True)),
        warm_up=_warm_up(reading, fields),
        slack=_slack(reading, fields),
        doc=fields.text("doc", default=""),
        place=name.place,
        limits=reading.named(fields, "limits", "axis"),
        captures=_captures(reading, fields),
        promises=_promises(reading, fields),
    )
    fields.finish(former_keys.RUNNER)
    return runner


def _pipeline(reading: Reading, fields: Fields) -> tuple[PipelineEntry, ...]:
    what = f"an entry of 'pipeline' of {fields.what}"
    entries = (_entry(reading, node, what) for node in fields.items("pipeline"))
    return tuple(entry for entry in entries if entry is not None)


def _entry(reading: Reading, node: Node, what: str) -> PipelineEntry | None:
    """A transform, alone or with the modes that it is for."""
    if not isinstance(node, Mapping):
        return reading.pipeline_entry(node, what)
    fields = Fields(node, reading.collector, what)
    call = fields.raw("transform", required=True)
    entry = None if call is None else reading.pipeline_entry(call, what)
    modes = reading.names(fields, "modes", "mode or family", required=True)
    fields.finish()
    return None if entry is None else replace(entry, modes=modes)


def _accepts(reading: Reading, fields: Fields) -> tuple[Expr, ...]:
    """The conditions, all of which a batch has to meet."""
    what = f"a condition in 'accepts' of {fields.what}"
    return tuple(reading.expression(node, what) for node in fields.items("accepts"))


def _fallback(reading: Reading, fields: Fields) -> Fallback | None:
    name = reading.name(fields, "fallback", "runner")
    return None if name is None else Fallback(name, fields.place("fallback"))


def _slack(reading: Reading, fields: Fields) -> tuple[tuple[str, str], ...]:
    """Axes and slots whose bound is loose on purpose, with the reason for each."""
    for entry in fields.named("slack"):
        reading.refer("axis or slot", entry.key)
    return tuple((text.name, text.doc) for text in reading.texts(fields, "slack"))


def _captures(reading: Reading, fields: Fields) -> tuple[Capture, ...]:
    """By the mode that captures: the modes and families that replay."""
    mapping = fields.mapping("captures")
    if mapping is None:
        return ()
    inner = Fields(mapping, reading.collector, f"'captures' of {fields.what}")
    found: list[Capture] = []
    for entry in fields.named("captures"):
        reading.refer("mode", entry.key)
        found += _replays(reading, inner, entry.key.text)
    inner.finish()
    return tuple(found)


def _replays(reading: Reading, captures: Fields, mode: str) -> Iterator[Capture]:
    """What replays the graphs of one mode: a list, or a mapping with the axes left free."""
    free: tuple[tuple[str, Expr], ...] = ()
    if isinstance(captures.raw(mode), Sequence):
        replays = captures.identifiers(mode)
    elif (inner := captures.fields(mode, f"what '{mode}' captures")) is not None:
        replays = inner.identifiers("modes", required=True)
        free = reading.named(inner, "free", "axis")
        inner.finish()
    else:
        return
    for replay in replays:
        reading.refer("mode or family", replay)
        yield Capture(mode, replay.text, replay.place, free)


def _promises(reading: Reading, fields: Fields) -> tuple[Promise, ...]:
    """One condition for each mode or family that is named, or a single one for all modes."""
    node = fields.raw("promises")
    if node is None:
        return ()
    if not isinstance(node, Mapping):
        return (Promise((), reading.expression(node, f"'promises' of {fields.what}")),)
    promised = reading.named(fields, "promises", "mode or family")
    return tuple(Promise((name,), condition) for name, condition in promised)


def _steps(reading: Reading, nodes: tuple[Node, ...]) -> tuple[Step, ...]:
    steps = (_step(reading, node) for node in nodes)
    return tuple(step for step in steps if step is not None)


def _step(reading: Reading, node: Node) -> Step | None:
    """A call of the engine's code, one of Ullage's own actions, or a group of steps."""
    fields = reading.fields(node, "a step")
    if fields is None:
        return None
    kinds = [key for key in ("step", "do", "steps") if key in fields]
    if len(kinds) != 1:
        found = " and ".join(f"'{key}'" for key in kinds) or "none of them"
        message = f"a step has one of the keys 'step', 'do' and 'steps', found {found}"
        place = fields.key_place(kinds[1]) if kinds else fields.node.place
        related = tuple((fields.key_place(key), f"'{key}'") for key in kinds[:1])
        reading.collector.error(problems.CONTRADICTING_KEYS, message, place, related=related)
        return None
    load = {"step": _call, "do": _action, "steps": _group}[kinds[0]]
    step = load(reading, fields)
    fields.finish(former_keys.STEP)
    return step


def _call(reading: Reading, fields: Fields) -> Step:
    name = fields.identifier("step", default="")
    fields.what = f"step '{name}'"
    return Step(
        name=name,
        action="call",
        when=reading.when(fields),
        modes=reading.names_or_all(fields, "modes", "mode or family"),
        padded=_padded(fields),
        takes=reading.names(fields, "takes", "value"),
        gives=reading.name(fields, "gives", "value"),
        within=_within(reading, fields),
        readers=reading.names(fields, "readers", "reader"),
        steps=(),
        doc=fields.text("doc", default=""),
        place=fields.place("step"),
    )


def _action(reading: Reading, fields: Fields) -> Step:
    action = cast(Literal["load", "slice"], fields.choice("do", BUILT_IN_ACTIONS) or "load")
    fields.what = f"step '{action}'"
    flows = action == "slice"
    return Step(
        name=action,
        action=action,
        when=reading.when(fields),
        modes=reading.names_or_all(fields, "modes", "mode or family"),
        padded=_padded(fields),
        takes=reading.names(fields, "takes", "value", required=True) if flows else (),
        gives=reading.name(fields, "gives", "value", required=True) if flows else None,
        within=(),
        readers=(),
        steps=(),
        doc=fields.text("doc", default=""),
        place=fields.place("do"),
    )


def _group(reading: Reading, fields: Fields) -> Step:
    fields.what = "a group of steps"
    return Step(
        name="",
        action="group",
        when=reading.when(fields),
        modes=reading.names_or_all(fields, "modes", "mode or family"),
        padded=_padded(fields),
        takes=(),
        gives=None,
        within=_within(reading, fields),
        readers=(),
        steps=_steps(reading, fields.items("steps")),
        doc=fields.text("doc", default=""),
        place=fields.key_place("steps"),
    )


def _padded(fields: Fields) -> bool | None:
    """Whether the step is for batches with padded rows only, or for those without, or for all."""
    return fields.boolean("padded")


def _within(reading: Reading, fields: Fields) -> tuple[Within, ...]:
    """The contexts, outermost first; each is a name, or a name with a condition."""
    what = f"a context of {fields.what}"
    found = (_context(reading, node, what) for node in fields.items("within"))
    return tuple(within for within in found if within is not None)


def _context(reading: Reading, node: Node, what: str) -> Within | None:
    if isinstance(node, Mapping):
        fields = Fields(node, reading.collector, what)
        scalar, when = fields.scalar("context", required=True), reading.when(fields)
        fields.finish()
    else:
        scalar, when = as_scalar(node, reading.collector, what), TRUE
    if scalar is None or not check_identifier(scalar, reading.collector, what):
        return None
    reading.refer("context", scalar)
    return Within(scalar.text, when, scalar.place)


def _warm_up(reading: Reading, fields: Fields) -> WarmUp | None:
    inner = fields.fields("warm_up", f"the warm-up of {fields.what}")
    if inner is None:
        return None
    step = inner.identifier("step", required=True, default="")
    modes = reading.names(inner, "modes", "mode", required=True)
    inner.finish()
    return WarmUp(step, modes, inner.place("step"))
