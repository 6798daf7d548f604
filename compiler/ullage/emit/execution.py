"""The steps of a runner as straight-line code, one function for modes with the same steps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from ullage.emit.axes import axes_of_sources, differ
from ullage.emit.blocks import Block, If, Line, Statement, With
from ullage.emit.loading import group_name
from ullage.emit.model import RunnerModel
from ullage.emit.modules import IMPORTED
from ullage.emit.names import Names
from ullage.emit.source import Source, negated
from ullage.emit.text import comment, literal
from ullage.expr.simplify import fold
from ullage.expr.tree import (
    FALSE,
    TRUE,
    Expr,
    Logical,
    Name,
    Not,
    conjunction,
    free_names,
    negation,
)
from ullage.spec.model import Mode, Step
from ullage.spec.steps import flattened

PADDING = "has padding"
"""Stands for the condition that a batch has padded rows; no name of a spec has a blank."""

RESERVED_LOCALS = (*IMPORTED, "batch", "config", "copy", "engine", "extents", "live", "pad", "self")


@dataclass(frozen=True, slots=True)
class Item:
    """A step that may run: its conditions in order, and what it does; `inner` if it is a group."""

    conditions: tuple[Expr, ...]
    step: Step
    inner: tuple[Item, ...] = ()


@dataclass(frozen=True, slots=True)
class ExecuteView:
    """The steps of modes that have the same ones; `result` is what the function returns."""

    name: str
    modes: tuple[str, ...]
    block: Block
    result: str


@dataclass(frozen=True, slots=True)
class Use:
    """A step of the engine with the kinds of batch that it is called with."""

    step: Step
    before_load: bool
    after_load: bool


@dataclass(frozen=True, slots=True)
class Execution:
    """Writes `execute` for one runner."""

    runner: RunnerModel
    _known: dict[str, tuple[Item, ...]] = field(default_factory=dict, compare=False, repr=False)

    def items_of(self, mode: Mode) -> tuple[Item, ...]:
        """What may run in a mode, without conditions that are certain."""
        if mode.name not in self._known:
            self._known[mode.name] = tuple(self._items(self.runner.runner.steps, mode))
        return self._known[mode.name]

    def _items(self, steps: Iterable[Step], mode: Mode) -> Iterator[Item]:
        for step in steps:
            named = self.runner.engine.analysis.resolved.modes_named(step.modes)
            condition = fold(conjunction(self.runner.of_batch(step.when), _rows(step)))
            if mode not in named or condition == FALSE:
                continue
            if step.action == "load":
                condition = TRUE  # where it is skipped, the live batch is taken as it is
            within = tuple(
                replace(each, when=self.runner.of_batch(each.when))
                for each in step.within
                if self.runner.of_batch(each.when) != FALSE
            )
            inner = tuple(self._items(step.steps, mode))
            if step.action != "group" or inner:
                yield Item(_conjuncts(condition), replace(step, within=within, steps=()), inner)

    def groups(self) -> tuple[ExecuteView, ...]:
        """Modes with the same steps, each group as one function."""
        grouped: dict[tuple[Item, ...], list[Mode]] = {}
        for mode, _ in self.runner.modes:
            grouped.setdefault(self.items_of(mode), []).append(mode)
        return tuple(
            _Writer(self, items).view(group_name(modes, self.runner), modes)
            for items, modes in grouped.items()
        )

    def uses(self) -> Mapping[str, Use]:
        """Every step that some mode calls, with the batches that it is called with."""
        found: dict[str, Use] = {}
        for mode, _ in self.runner.modes:
            loaded = False
            for item in _flat(self.items_of(mode)):
                loaded = loaded or item.step.action == "load"
                if item.step.action == "call":
                    self._add(found, item.step, loaded)
        return found

    def _add(self, found: dict[str, Use], step: Step, loaded: bool) -> None:
        earlier = found.get(step.name, Use(step, False, False))
        found[step.name] = Use(
            earlier.step, earlier.before_load or not loaded, earlier.after_load or loaded
        )

    def asked(self) -> Mapping[str, Use]:
        """Every fact and context that some mode needs, with the batches that it is asked about."""
        found: dict[str, Use] = {}
        known = {each.name for each in (*self.runner.runner.facts, *self.runner.runner.contexts)}
        for mode, _ in self.runner.modes:
            loaded = False
            for item in _flat(self.items_of(mode)):
                names = set[str]().union(*(free_names(each) for each in item.conditions))
                for within in item.step.within:
                    names |= {within.context} | free_names(within.when)
                for name in sorted(names & known):
                    self._add(found, replace(item.step, name=name), loaded)
                loaded = loaded or item.step.action == "load"
        return found

    @property
    def result(self) -> str | None:
        """The value that execute returns: what the last giving step gives."""
        given = [step.gives for step in flattened(self.runner.runner.steps) if step.gives]
        return given[-1] if given else None

    @property
    def values(self) -> tuple[str, ...]:
        """The values that steps of this worker take or give."""
        used = {
            value
            for mode, _ in self.runner.modes
            for item in _flat(self.items_of(mode))
            for value in (*item.step.takes, *((item.step.gives,) if item.step.gives else ()))
        }
        return tuple(each.name for each in self.runner.runner.values if each.name in used)


def _flat(items: Iterable[Item]) -> Iterator[Item]:
    for item in items:
        yield item
        yield from _flat(item.inner)


def _rows(step: Step) -> Expr:
    if step.padded:
        return Name(PADDING)
    return Not(Name(PADDING)) if step.padded is False else TRUE


def _conjuncts(condition: Expr) -> tuple[Expr, ...]:
    if condition == TRUE:
        return ()
    if isinstance(condition, Logical) and condition.junction == "and":
        return condition.operands
    return (condition,)


@dataclass
class _Writer:
    """Writes one group of modes; a fact is asked once, where it is needed first."""

    execution: Execution
    items: tuple[Item, ...]
    bound: set[str] = field(default_factory=set)
    loaded: bool = False
    needs_extents: bool = False
    used: set[str] = field(default_factory=set)

    def view(self, name: str, modes: list[Mode]) -> ExecuteView:
        steps = [item.step for item in _flat(self.items)]
        loads = any(step.action == "load" for step in steps)
        block: Block = () if loads else (Line("batch = self.load(live, copy=False, pad=pad)"),)
        self.needs_extents = loads and _asks_before_load(self.items)
        if self.needs_extents:
            block = (Line("extents = self._extents(live, pad, sources=True)"),)
        self.loaded = not loads
        gives = [step.gives for step in steps if step.gives is not None]
        self.used = {name for step in steps for name in step.takes} | set(gives[-1:])
        block += self._block(self.items)
        result = self._value(gives[-1]) if gives else "None"
        return ExecuteView(name, tuple(mode.name for mode in modes), block, result)

    @property
    def _facts(self) -> frozenset[str]:
        return frozenset(fact.name for fact in self.execution.runner.runner.facts)

    @property
    def _names(self) -> Names:
        runner = self.execution.runner.runner
        return Names((each.name for each in (*runner.values, *runner.facts)), RESERVED_LOCALS)

    def _value(self, name: str) -> str:
        return self._names.of(name)

    @property
    def _batch(self) -> str:
        return "batch" if self.loaded else "live"

    def _source(self) -> Source:
        def name(each: str) -> str:
            if each == PADDING:
                padded = differ(self.execution.runner.engine, "extents.rows", "extents.padded")
                return "batch.has_padding" if self.loaded else f"({padded})"
            if each in self._facts:
                if each in self.bound:
                    return self._names.of(each)
                return f"engine.{each}({self._batch})"
            return settings.name(each)

        runner = self.execution.runner
        settings = runner.engine.settings.source("config").with_names(runner.serving_values)
        return Source(name, settings.enumerant)

    def _block(self, items: tuple[Item, ...]) -> Block:
        """Statements for items in order; neighbours with opposite conditions share one choice."""
        statements: list[Statement] = []
        rest = list(items)
        while rest:
            statements.extend(self._bindings(rest))
            first = rest[0]
            if not first.conditions:
                statements.extend(self._run(rest.pop(0)))
                continue
            deciding = first.conditions[0]
            then, otherwise = _taken(rest, deciding)
            statements.append(self._choice(deciding, then, otherwise))
        return tuple(statements)

    def _choice(self, deciding: Expr, then: list[Item], otherwise: list[Item]) -> If:
        positive = negation(deciding) if isinstance(deciding, Not) else deciding
        if positive is not deciding and then and otherwise:
            deciding, then, otherwise = positive, otherwise, then
        condition = self._source().of(deciding)
        loaded, bound = self.loaded, set(self.bound)
        inside = self._block(tuple(then))
        self.loaded, self.bound = loaded, set(bound)
        outside = self._block(tuple(otherwise))
        self.loaded, self.bound = loaded, bound
        return If(condition, inside, outside)

    def _bindings(self, items: list[Item]) -> Iterator[Statement]:
        """Facts that this block needs in more than one statement, from the first of them on."""
        for fact in sorted(_needed(items[0]) & self._facts - self.bound, key=self._order):
            statements = _statements_with(items, fact)
            if statements > 1 or (_uses_in(items[0], fact) > 1 and _is_first(items[0], fact)):
                yield Line(f"{self._names.of(fact)} = engine.{fact}({self._batch})")
                self.bound.add(fact)

    def _order(self, fact: str) -> int:
        return [each.name for each in self.execution.runner.runner.facts].index(fact)

    def _run(self, item: Item) -> Iterator[Statement]:
        step = item.step
        yield Line(comment(step.place.short, 8))
        if not step.within:
            yield from self._bare(item)
            return
        contexts = tuple(self._context(within.context, within.when) for within in step.within)
        body = tuple(self._bare(item))
        match body:
            case (Line() as note, With(inner, innermost)):
                yield note
                yield With((*contexts, *inner), innermost)
            case _:
                yield With(contexts, body)

    def _context(self, name: str, when: Expr) -> str:
        call = f"engine.{name}({self._batch})"
        return call if when == TRUE else f"{call} if {self._source().of(when)} else nullcontext()"

    def _bare(self, item: Item) -> Iterator[Statement]:
        step = item.step
        match step.action:
            case "group":
                yield from self._block(item.inner)
            case "load":
                yield Line(self._load(step))
                self.loaded = True
            case "slice":
                yield Line(self._slice(step))
            case _:
                taken = "".join(f", {self._value(name)}" for name in step.takes)
                call = f"engine.{step.name}({self._batch}{taken})"
                is_used = step.gives is not None and step.gives in self.used
                yield Line(f"{self._value(step.gives or '')} = {call}" if is_used else call)

    def _load(self, step: Step) -> str:
        when = self.execution.runner.of_batch(step.when)
        copy = "True" if when == TRUE else self._source().of(when)
        if self.needs_extents:
            return f"batch = self._load(live, extents, {copy})"
        given = "" if when == TRUE else f"copy={copy}, "
        return f"batch = self.load(live, {given}pad=pad)"

    def _slice(self, step: Step) -> str:
        engine = self.execution.runner.engine
        rows = ", ".join(
            f"(batch.live_{engine.axis(axis.name)}, batch.{engine.axis(axis.name)})"
            for axis in axes_of_sources(engine)
        )
        taken = self._value(step.takes[0])
        about = f"mode=live.mode.value, place={literal(step.place.short)}"
        return f"{self._value(step.gives or step.takes[0])} = cut_to_live({taken}, {rows}, {about})"


def _asks_before_load(items: Iterable[Item]) -> bool:
    """Whether some step before the load depends on padded rows."""
    for item in _flat(items):
        if any(PADDING in free_names(each) for each in item.conditions):
            return True
        if item.step.action == "load":
            return False
    return False


def _taken(rest: list[Item], deciding: Expr) -> tuple[list[Item], list[Item]]:
    """Removes the first items that `deciding` decides: those it admits, and those it rules out."""
    then: list[Item] = []
    otherwise: list[Item] = []
    opposite = negated(deciding)
    while rest and rest[0].conditions and rest[0].conditions[0] in (deciding, opposite):
        item = rest.pop(0)
        side = then if item.conditions[0] == deciding else otherwise
        side.append(replace(item, conditions=item.conditions[1:]))
    return then, otherwise


def _needed(item: Item) -> frozenset[str]:
    names = frozenset[str]().union(*(free_names(each) for each in item.conditions))
    for within in item.step.within:
        names |= free_names(within.when)
    if item.step.action == "load":
        names |= free_names(item.step.when)
    return names.union(*(_needed(inner) for inner in item.inner))


def _statements_with(items: list[Item], fact: str) -> int:
    """How many statements of a block ask for the fact; items of one choice are one statement."""
    count = 0
    rest = list(items)
    while rest:
        first = rest[0]
        if first.conditions:
            then, otherwise = _taken(rest, first.conditions[0])
            group = [first, *then, *otherwise]
        else:
            group = [rest.pop(0)]
        count += any(fact in _needed(item) for item in group)
    return count


def _uses_in(item: Item, fact: str) -> int:
    """How often one item asks for the fact itself."""
    own = sum(fact in free_names(each) for each in item.conditions)
    return own + sum(fact in free_names(within.when) for within in item.step.within)


def _is_first(item: Item, fact: str) -> bool:
    return bool(item.conditions) and fact in free_names(item.conditions[0])
