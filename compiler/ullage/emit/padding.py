"""How a mode's rows follow from its live variables, and how its pipeline pads them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from ullage.emit.model import RunnerModel
from ullage.emit.names import distinct
from ullage.emit.refusals import Exchanged, told_on
from ullage.emit.scope import Scope, local_names
from ullage.emit.source import Source
from ullage.emit.text import comment, docstring, literal, sentence
from ullage.expr.simplify import fold
from ullage.expr.tree import (
    FALSE,
    TRUE,
    Expr,
    Over,
    disjunction,
    free_names,
    negation,
    walk,
)
from ullage.spec.model import Mode, PipelineEntry, Transform


@dataclass(frozen=True, slots=True)
class FunctionView:
    """A module-level function about one mode: `arguments` as declared, `call` as passed."""

    place: str
    name: str
    arguments: tuple[str, ...]
    doc: str
    lines: tuple[str, ...]


@dataclass
class _Transforms:
    """Writes transforms as statements; what is taken over ranks goes into one exchange.

    `planned`: the exchanges of all these transforms, where they are known already; `is_entered`:
    whether they are reached only where one takes place; `guards`: when each of them does.
    """

    scope: Scope
    planned: Sequence[Exchanged] = ()
    is_entered: bool = False
    lines: list[str] = field(default_factory=list)
    exchanges: list[Exchanged] = field(default_factory=list)
    guards: list[Expr] = field(default_factory=list)

    def add(self, entry: PipelineEntry) -> None:
        runner = self.scope.runner
        step = runner.engine.transform(entry.transform)
        guard = fold(runner.rewrite(step.when))
        if guard == FALSE:
            return
        self.lines.append(comment(f"{step.name}: {entry.place.short}, {step.place.short}", 8))
        body = list(self._body(step, entry, guard))
        self.guards.append(guard)
        if guard != TRUE and not self.is_entered:
            self.lines.append(f"if {self.scope.source().of(guard)}:")
            body = [f"    {line}" for line in body]
        self.lines.extend(body)

    def _body(self, step: Transform, entry: PipelineEntry, guard: Expr) -> Iterator[str]:
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
            nodes = exchange.next_of(remaining)
            values = len(exchange.operands(nodes))
            self.exchanges.append(Exchanged(guard, exchange.group, step.name, values))
            statement, *after = exchange.lines(nodes, names)
            later = self.planned[len(self.exchanges) :]
            yield from told_on(self.scope.runner, statement, exchange.group, later)
            yield from after
        if all(exchange.is_named(name, value) for name, value in assigns):
            return
        left = ", ".join(self.scope.local(name) for name, _ in assigns)
        right = ", ".join(exchange.source.of(value) for _, value in assigns)
        yield f"{left} = {right}" if len(assigns) > 1 else f"{left} = ({right})"


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
        lets = {*local_names(self.step)}
        axes = {axis.name for axis in self.scope.runner.engine.axes}
        names = {name: self.scope.local(name) for name in lets | axes}
        base = self.scope.source(names)
        return Source(base.name, base.enumerant, lambda node: self.taken[node])

    @property
    def group(self) -> str:
        """The group of ranks."""
        return self.step.collective.group if self.step.collective else ""

    def next_of(self, values: Iterable[Expr]) -> tuple[Over, ...]:
        """What the next exchange takes over the ranks: all that can be computed by now."""
        later = {*local_names(self.step)} - self.available
        nodes = dict.fromkeys(
            node
            for value in values
            for node in walk(value)
            if isinstance(node, Over)
            and node not in self.taken
            and not free_names(node.operand) & later
            and not any(isinstance(inner, Over) for inner in walk(node.operand) if inner != node)
        )
        return tuple(nodes)

    @staticmethod
    def operands(nodes: Sequence[Over]) -> tuple[Expr, ...]:
        """What each rank brings, of which a sum and a maximum may be taken: each value once."""
        return tuple(dict.fromkeys(node.operand for node in nodes))

    def lines(self, nodes: Sequence[Over], known: Mapping[Expr, str]) -> Iterator[str]:
        """The statement of one exchange, and those after it; `known` values have names already."""
        source, brought = self.source, self.operands(nodes)
        operands = [source.of(each) for each in brought]
        names = [self._name(node, known) for node in nodes]
        ranks = self.scope.runner.ranks_name(self.group)
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
            for node, name in zip(nodes, names, strict=True):
                function = "max" if node.aggregate == "max_ranks" else "sum"
                place = brought.index(node.operand)
                yield f"{name} = {function}(each[{place}] for each in gathered)"

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
    transforms = _written(scope, expansions(runner, mode))
    if transforms.lines:
        listed = ", ".join(scope.local(axis.name) for axis in engine.axes)
        begin = [] if listed == ", ".join(values) else [f"{listed} = {', '.join(values)}"]
        lines = [*begin, *transforms.lines, f"return Rows({listed})"]
    else:
        given = ", ".join(f"{axis}={value}" for axis, value in zip(axes, values, strict=True))
        lines = [f"return Rows({given})"]
    doc = sentence(f"Rows that the tensors bring in mode {mode.name}")
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


def _padding(runner: RunnerModel, mode: Mode) -> tuple[PipelineEntry, ...]:
    """The transforms whose rows load fills."""
    return mode.pipeline[len(expansions(runner, mode)) :]


def _written(
    scope: Scope, entries: Sequence[PipelineEntry], *, is_entered: bool = False
) -> _Transforms:
    """Transforms in order; where groups of ranks differ, each knows of the exchanges after it.

    `is_entered`: see `_Transforms`, as long as there is only one.
    """
    only = is_entered and len(entries) == 1
    transforms = _Transforms(scope, is_entered=only)
    for entry in entries:
        transforms.add(entry)
    if len({each.group for each in transforms.exchanges}) < 2:
        return transforms
    again = _Transforms(scope, tuple(transforms.exchanges), is_entered=only)
    for entry in entries:
        again.add(entry)
    return again


def exchanges_of_padding(scope: Scope) -> tuple[Exchanged, ...]:
    """The exchanges that the padding of a mode enters, in order."""
    return tuple(_written(scope, _padding(scope.runner, scope.mode)).exchanges)


def pad_function(scope: Scope) -> FunctionView:
    """The function from live rows to padded rows."""
    runner, mode = scope.runner, scope.mode
    entries = _padding(runner, mode)
    lines = _on_rows(scope, entries)
    names = ", ".join(entry.transform for entry in mode.pipeline)
    what = f"Rows in mode {mode.name}"
    doc = sentence(f"{what} after {names}" if names else f"{what}, which nothing pads")
    return _function(scope, f"pad_{mode.name}", lines, doc, rows=True)


def _on_rows(scope: Scope, entries: Sequence[PipelineEntry]) -> list[str]:
    """Transforms of rows, of which only those that they are about become local variables.

    Rows stay as they are where none takes place: a copy of them is dear.
    """
    transforms = _written(scope, entries, is_entered=True)
    if not transforms.lines:
        return ["return rows"]
    engine, lines = scope.runner.engine, transforms.lines
    never = fold(negation(disjunction(*transforms.guards)))
    early = [] if never == FALSE else [f"if {scope.source().of(never)}:", "    return rows"]
    text = "\n".join(line for line in lines if not line.lstrip().startswith("#"))
    used = [axis for axis in engine.axes if mentions(text, scope.local(axis.name))]
    listed = ", ".join(scope.local(axis.name) for axis in used)
    if len(used) == len(engine.axes):
        trailing = "," if len(used) == 1 else ""
        return [*early, f"{listed}{trailing} = rows", *lines, f"return Rows({listed})"]
    steps = [engine.transform(entry.transform) for entry in entries]
    assigned = {name for step in steps for name, _ in step.assigns}
    given = ", ".join(f"rows.{engine.axis(axis.name)}" for axis in used)
    changed = ", ".join(
        f"{engine.axis(axis.name)}={scope.local(axis.name)}"
        for axis in used
        if axis.name in assigned
    )
    return [*early, f"{listed} = {given}", *lines, f"return rows._replace({changed})"]


def fit_function(scope: Scope) -> FunctionView:
    """The function from padded rows to those that the runner's own pipeline makes of them."""
    runner = scope.runner
    entries = runner.runner.pipeline_in(scope.mode.name)
    lines = _on_rows(scope, entries)
    names = ", ".join(entry.transform for entry in entries)
    doc = sentence(f"Rows in mode {scope.mode.name} as this runner has them, after {names}")
    return _function(scope, f"fit_{scope.mode.name}", lines, doc, rows=True)


def _function(scope: Scope, name: str, lines: list[str], doc: str, *, rows: bool) -> FunctionView:
    """A function that takes what its lines use."""
    text = "\n".join(lines)
    arguments: list[str] = []
    if "config." in text:
        arguments.append("config: Config")
    for group in scope.runner.collective_groups:
        ranks = scope.runner.ranks_name(group)
        if any(f"{ranks}.{call}(" in text for call in ("max_of", "sum_of", "gather")):
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
    return name in _WORD.findall(text)


_WORD: Final = re.compile(r"[\w.]+")
