"""How a mode's rows follow from its live variables, and how its pipeline pads them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from ullage.emit.model import RunnerModel
from ullage.emit.modules import IMPORTED
from ullage.emit.names import Names, distinct
from ullage.emit.source import Source
from ullage.emit.text import comment, docstring, literal, sentence
from ullage.expr.simplify import fold
from ullage.expr.tree import (
    FALSE,
    TRUE,
    Expr,
    Over,
    free_names,
    walk,
)
from ullage.spec.model import Mode, Parameter, PipelineEntry, Transform

RESERVED_LOCALS = ("config", "live", "pad", "padded_rows", "ranks", "rows", "self", *IMPORTED)
"""Names that functions about one mode use themselves."""


@dataclass(frozen=True, slots=True)
class FunctionView:
    """A module-level function about one mode: `arguments` as declared, `call` as passed."""

    place: str
    name: str
    arguments: tuple[str, ...]
    doc: str
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Scope:
    """What the expressions of one mode may name, as Python writes it.

    `serving`: parameters that vary, under the names they have for this worker; `live`: the
    live variables that load sees.
    """

    runner: RunnerModel
    mode: Mode
    names: Names
    serving: Mapping[str, Parameter]
    visible: frozenset[str]

    def source(self, extra: Mapping[str, str] | None = None) -> Source:
        """Writes expressions over live variables, axes, local names and the configuration."""
        base = self.runner.engine.settings.source("config")
        known: dict[str, str] = {}
        for name in self.serving:
            local = self.names.of(name)
            guarded = self.runner.engine.settings.of(name).guarded
            known[name] = f"present({local})" if guarded else local
        return base.with_names(known | dict(extra or {}))

    def local(self, name: str) -> str:
        """A live variable, axis or `let` as a local name."""
        return self.names.of(name)


def scope_of(runner: RunnerModel, mode: Mode) -> Scope:
    """The scope of one mode of one runner."""
    engine = runner.engine
    used = _used(runner, mode)
    serving = {name: each for name, each in runner.serving.items() if name in used}
    names = [
        *(axis.name for axis in engine.axes),
        *(variable.name for variable in mode.live),
        *serving,
        *(
            name
            for entry in mode.pipeline
            for name in _local_names(engine.transform(entry.transform))
        ),
    ]
    visible = frozenset(variable.name for variable in mode.live if variable.seen_in)
    return Scope(runner, mode, Names(names, RESERVED_LOCALS), serving, visible)


def _used(runner: RunnerModel, mode: Mode) -> frozenset[str]:
    """The names, as this worker has them, that expressions about batches of a mode depend on."""
    steps = [runner.engine.transform(entry.transform) for entry in mode.pipeline]
    expressions = [
        *(value for _, value in mode.axes),
        *(value for entry in mode.pipeline for _, value in entry.arguments),
        *(value for step in steps for _, value in (*step.let, *step.assigns)),
        *(end for each in mode.live for end in (each.range.low, each.range.high)),
        *mode.where,
        *(extent for slot in runner.engine.spec.slots for extent in slot.shape),
    ]
    return frozenset[str]().union(*(free_names(runner.of_batch(each)) for each in expressions))


@dataclass
class _Transforms:
    """Writes transforms as statements; what is taken over ranks goes into one exchange."""

    scope: Scope
    lines: list[str] = field(default_factory=list)

    def add(self, entry: PipelineEntry) -> None:
        runner = self.scope.runner
        step = runner.engine.transform(entry.transform)
        guard = fold(runner.rewrite(step.when))
        if guard == FALSE:
            return
        self.lines.append(comment(f"{step.name}: {entry.place.short}, {step.place.short}", 8))
        body = list(self._body(step, entry))
        if guard != TRUE:
            self.lines.append(f"if {self.scope.source().of(guard)}:")
            body = [f"    {line}" for line in body]
        self.lines.extend(body)

    def _body(self, step: Transform, entry: PipelineEntry) -> Iterator[str]:
        # Arguments stay names: every mode brings the same number of values to a collective, even
        # where two of them are equal for the arguments of one mode.
        of_batch = self.scope.runner.of_batch
        named = (*entry.arguments, *step.let)
        assigns = [(name, fold(of_batch(value))) for name, value in step.assigns]
        lets = _needed([(name, fold(of_batch(value))) for name, value in named], assigns)
        exchange = _Exchange(self.scope, step)
        pending = list(lets)
        while True:
            while pending and exchange.is_ready(pending[0][1]):
                name, value = pending.pop(0)
                if not exchange.is_named(name, value):
                    yield f"{self.scope.local(name)} = ({exchange.source.of(value)})"
                exchange.available.add(name)
            remaining = [value for _, value in (*pending, *assigns)]
            if all(map(exchange.is_ready, remaining)):
                break
            names = {value: name for name, value in pending or exchange.whole(assigns)}
            yield from exchange.lines(remaining, names)
        if all(exchange.is_named(name, value) for name, value in assigns):
            return
        left = ", ".join(self.scope.local(name) for name, _ in assigns)
        right = ", ".join(exchange.source.of(value) for _, value in assigns)
        yield f"{left} = {right}" if len(assigns) > 1 else f"{left} = ({right})"


def _local_names(step: Transform) -> tuple[str, ...]:
    """The names that a transform has for itself."""
    return (*step.arguments, *(name for name, _ in step.let))


def _needed(
    lets: list[tuple[str, Expr]], assigns: list[tuple[str, Expr]]
) -> list[tuple[str, Expr]]:
    """The local names that the axes depend on."""
    used = {name for _, value in assigns for name in free_names(value)}
    for name, value in reversed(lets):
        if name in used:
            used |= free_names(value)
    return [(name, value) for name, value in lets if name in used]


@dataclass
class _Exchange:
    """What one transform takes over the ranks of its group."""

    scope: Scope
    step: Transform
    taken: dict[Over, str] = field(default_factory=dict)
    available: set[str] = field(default_factory=set)

    def is_ready(self, value: Expr) -> bool:
        """Whether everything that `value` takes over ranks is there."""
        return all(node in self.taken for node in walk(value) if isinstance(node, Over))

    def whole(self, assigns: list[tuple[str, Expr]]) -> list[tuple[str, Expr]]:
        """The assignments to axes if one exchange is all that they are, otherwise none."""
        values = [value for _, value in assigns]
        is_whole = len(set(values)) == len(values) and all(
            isinstance(value, Over)
            and value not in self.taken
            and not any(isinstance(inner, Over) for inner in walk(value.operand))
            for value in values
        )
        return assigns if is_whole else []

    def is_named(self, name: str, value: Expr) -> bool:
        """Whether the exchange itself has given `value` its name."""
        return isinstance(value, Over) and self.taken.get(value) == self.scope.local(name)

    @property
    def source(self) -> Source:
        """Expressions in which what was taken over ranks has a name."""
        lets = {*_local_names(self.step)}
        axes = {axis.name for axis in self.scope.runner.engine.axes}
        names = {name: self.scope.local(name) for name in lets | axes}
        base = self.scope.source(names)
        return Source(base.name, base.enumerant, lambda node: self.taken[node])

    def lines(self, values: Iterable[Expr], known: Mapping[Expr, str]) -> Iterator[str]:
        """One exchange of all that can be computed by now; `known` values have names already."""
        later = {*_local_names(self.step)} - self.available
        nodes = dict.fromkeys(
            node
            for value in values
            for node in walk(value)
            if isinstance(node, Over)
            and node not in self.taken
            and not free_names(node.operand) & later
            and not any(isinstance(inner, Over) for inner in walk(node.operand) if inner != node)
        )
        source = self.source
        operands = [source.of(node.operand) for node in nodes]
        names = [self._name(node, known) for node in nodes]
        group = self.step.collective.group if self.step.collective else ""
        ranks = self.scope.runner.ranks_name(group)
        arguments = f"{', '.join(operands)}, collective={literal(self.step.name)}"
        kinds = {node.aggregate for node in nodes}
        listed = ", ".join(names)
        listed = f"({listed},)" if len(names) == 1 else listed
        if kinds == {"max_ranks"}:
            yield f"{listed} = {ranks}.max_of({arguments})"
        elif kinds == {"sum_ranks"}:
            yield f"{listed} = {ranks}.sum_of({arguments})"
        else:
            yield f"gathered = {ranks}.gather({arguments})"
            for position, (node, name) in enumerate(zip(nodes, names, strict=True)):
                function = "max" if node.aggregate == "max_ranks" else "sum"
                yield f"{name} = {function}(each[{position}] for each in gathered)"

    def _name(self, node: Over, known: Mapping[Expr, str]) -> str:
        if node in known:
            self.taken[node] = self.scope.local(known[node])
        else:
            word = "largest" if node.aggregate == "max_ranks" else "total"
            self.taken[node] = distinct(f"{word}_{len(self.taken)}", self.taken.values())
        return self.taken[node]


def live_function(scope: Scope) -> FunctionView:
    """The function from live variables to the rows that the scheduler's tensors bring."""
    runner, mode = scope.runner, scope.mode
    engine = runner.engine
    names = {name: scope.local(name) for name in sorted(scope.visible)}
    source = _with_sums(scope, scope.source(names))
    axes = [engine.axis(axis.name) for axis in engine.axes]
    values = [source.of(runner.of_batch(dict(mode.axes)[axis.name])) for axis in engine.axes]
    transforms = _Transforms(scope)
    for entry in expansions(runner, mode):
        transforms.add(entry)
    if transforms.lines:
        listed = ", ".join(scope.local(axis.name) for axis in engine.axes)
        begin = [] if listed == ", ".join(values) else [f"{listed} = {', '.join(values)}"]
        lines = [*begin, *transforms.lines, f"return Rows({listed})"]
    else:
        given = ", ".join(f"{axis}={value}" for axis, value in zip(axes, values, strict=True))
        lines = [f"return Rows({given})"]
    doc = sentence(f"Rows that the tensors of a {mode.name} batch bring")
    return _function(scope, f"live_{mode.name}", lines, doc, rows=False)


def _with_sums(scope: Scope, source: Source) -> Source:
    """The same place, where sums over requests are generator expressions."""

    def over(node: Over) -> str:
        inside = [v for v in scope.mode.live if v.per and v.name in free_names(node.operand)]
        element = f"each_{inside[0].name}" if inside else "_"
        inner = source.with_names({each.name: f"each_{each.name}" for each in inside})
        counted = scope.local(inside[0].name) if inside else f"range({_count(scope)})"
        if len(inside) > 1:
            element = ", ".join(f"each_{each.name}" for each in inside)
            lists = ", ".join(scope.local(each.name) for each in inside)
            counted = f"zip({lists}, strict=True)"
        return f"sum({inner.of(node.operand)} for {element} in {counted})"

    return Source(source.name, source.enumerant, over)


def _count(scope: Scope) -> str:
    counts = [each.per for each in scope.mode.live if each.per is not None]
    return scope.local(counts[0]) if counts else "1"


def summing_source(scope: Scope, extra: Mapping[str, str] | None = None) -> Source:
    """Expressions over the visible live variables, sums over requests included."""
    names = {name: scope.local(name) for name in sorted(scope.visible)}
    return _with_sums(scope, scope.source(names | dict(extra or {})))


def expansions(runner: RunnerModel, mode: Mode) -> tuple[PipelineEntry, ...]:
    """The transforms at the start of a pipeline whose result the tensors hold already."""
    found: list[PipelineEntry] = []
    for entry in mode.pipeline:
        if not runner.engine.transform(entry.transform).in_batch:
            break
        found.append(entry)
    return tuple(found)


def pad_function(scope: Scope) -> FunctionView:
    """The function from live rows to padded rows."""
    runner, mode = scope.runner, scope.mode
    engine = runner.engine
    transforms = _Transforms(scope)
    for entry in mode.pipeline[len(expansions(runner, mode)) :]:
        transforms.add(entry)
    listed = ", ".join(scope.local(axis.name) for axis in engine.axes)
    trailing = "," if len(engine.axes) == 1 else ""
    lines = [f"{listed}{trailing} = rows", *transforms.lines, f"return Rows({listed})"]
    if not transforms.lines:
        lines = ["return rows"]
    names = ", ".join(entry.transform for entry in mode.pipeline)
    what = f"Rows of a {mode.name} batch"
    doc = sentence(f"{what} after {names}" if names else f"{what}, which nothing pads")
    return _function(scope, f"pad_{mode.name}", lines, doc, rows=True)


def _function(scope: Scope, name: str, lines: list[str], doc: str, *, rows: bool) -> FunctionView:
    """A function that takes what its lines use."""
    text = "\n".join(lines)
    arguments: list[str] = []
    if "config." in text:
        arguments.append("config: Config")
    for group in scope.runner.collective_groups:
        ranks = scope.runner.ranks_name(group)
        if f"{ranks}.max_of" in text or f"{ranks}.sum_of" in text or f"{ranks}.gather" in text:
            arguments.append(f"{ranks}: Ranks")
    if rows:
        arguments.append("rows: Rows")
    else:
        arguments.extend(_live_arguments(scope, text))
    arguments.extend(_serving_arguments(scope, text))
    place = comment(scope.mode.place.short)
    return FunctionView(place, name, tuple(arguments), docstring((doc,)), tuple(lines))


def _live_arguments(scope: Scope, text: str) -> Iterator[str]:
    for variable in scope.mode.live:
        local = scope.local(variable.name)
        if variable.name in scope.visible and mentions(text, local):
            yield f"{local}: {'Sequence[int]' if variable.per else 'int'}"


def _serving_arguments(scope: Scope, text: str) -> Iterator[str]:
    for name in scope.serving:
        if mentions(text, scope.local(name)):
            optional = " | None" if scope.runner.engine.settings.of(name).guarded else ""
            yield f"{scope.local(name)}: int{optional}"


def mentions(text: str, name: str) -> bool:
    """Whether `name` stands in the source text as a name of its own."""
    words = "".join(c if c.isalnum() or c in "_." else " " for c in text).split()
    return name in words
