"""Composes a mode with its pipeline: extents over live variables and parameters only."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from ullage.bound.problem import Live, ModeProblem, Stage
from ullage.bound.sums import Totals
from ullage.expr.simplify import fold
from ullage.expr.tree import (
    FALSE,
    TRUE,
    Binary,
    Call,
    Comparison,
    Conditional,
    Expr,
    Integer,
    Name,
    Over,
    conjunction,
    disjunction,
    free_names,
    negation,
    substitute,
    transform,
    walk,
)
from ullage.spec.check import ResolvedSpec
from ullage.spec.model import Mode, Parameter, PipelineEntry, Runner, Slot, Transform

ForWorker = Callable[[Expr], Expr]
Axes = dict[str, Expr]


def compose(
    resolved: ResolvedSpec, mode: Mode, runner: Runner, rewrite: ForWorker, exists: Expr
) -> ModeProblem:
    """`mode` as `runner` loads it on one worker; `exists` is where that worker does."""
    unfold = serving_definitions(resolved)
    composer = _Composer(resolved, lambda each: rewrite(substitute(each, unfold)))
    guard = fold(conjunction(rewrite(mode.when), exists))
    axes, stages = composer.pipeline(mode, None)
    live_values = composer.live_of(mode)
    extents = dict(axes)
    for slot in loaded_slots(resolved, runner, mode):
        for position, dimension in enumerate(slot.shape):
            if not needs_own_capacity(resolved, dimension):
                continue
            value = substitute(composer.rewrite(dimension), {**live_values, **axes})
            extents[f"{slot.name}.{position}"] = fold(composer.totals_of(mode).sum_free(value))
    return ModeProblem(
        mode.name,
        guard,
        composer.all_live,
        composer.all_where,
        extents,
        tuple(stages),
        mode.place,
        _before_padding(resolved, stages),
    )


def _before_padding(resolved: ResolvedSpec, stages: list[Stage]) -> Axes:
    """The axes after the leading transforms whose result the sources hold."""
    in_batch = {each.name for each in resolved.spec.transforms if each.in_batch}
    axes = stages[0].extents
    for stage in stages[1:]:
        if stage.transform not in in_batch:
            break
        axes = stage.extents
    return dict(axes)


def loaded_slots(resolved: ResolvedSpec, runner: Runner, mode: Mode) -> list[Slot]:
    """The slots of the runner that a batch of this mode loads."""
    labels = {mode.name, *mode.families}
    return [
        slot
        for slot in resolved.spec.slots
        if slot.name in runner.slots and (not slot.modes or labels & set(slot.modes))
    ]


def needs_own_capacity(resolved: ResolvedSpec, dimension: Expr) -> bool:
    """Whether a dimension follows neither from parameters alone nor from a single axis."""
    axes = {axis.name for axis in resolved.spec.axes}
    known = axes | set(resolved.kinds) | {"worker"}
    names = free_names(substitute(dimension, serving_definitions(resolved)))
    if names & {each.name for each in resolved.spec.parameters if each.varies is not None}:
        return True
    if not names <= known or any(isinstance(part, Over) for part in walk(dimension)):
        return True
    return bool(names & axes) and not (isinstance(dimension, Name) and dimension.name in axes)


def serving_definitions(resolved: ResolvedSpec) -> dict[str, Expr]:
    """The definitions that change while serving, each written out down to parameters."""
    varying = {each.name for each in resolved.spec.parameters if each.varies is not None}
    found: dict[str, Expr] = {}
    for definition in resolved.spec.definitions:
        if free_names(definition.value) & (varying | found.keys()):
            found[definition.name] = substitute(definition.value, found)
    return found


@dataclass
class _Composer:
    """Collects the live variables that one mode brings, its own and those of other ranks."""

    resolved: ResolvedSpec
    rewrite: ForWorker
    live: list[Live] = field(default_factory=list)
    where: list[Expr] = field(default_factory=list)
    totals: dict[tuple[str, str], Totals] = field(default_factory=dict)
    values: dict[tuple[str, str], Axes] = field(default_factory=dict)

    @property
    def all_live(self) -> tuple[Live, ...]:
        """All live variables, the totals over requests after what they total."""
        totals = (each for totals in self.totals.values() for each in totals.live)
        return (*self.live, *totals)

    @property
    def all_where(self) -> tuple[Expr, ...]:
        """All couplings, those of totals included."""
        totals = (each for totals in self.totals.values() for each in totals.where)
        return (*self.where, *totals)

    def live_of(self, mode: Mode, origin: str = "", guard: Expr = TRUE) -> Axes:
        """Declares the live variables of `mode` once; a peer's get the name of its mode."""
        key = (mode.name, origin)
        if key not in self.values:
            self._declare(mode, origin, guard)
        return self.values[key]

    def totals_of(self, mode: Mode, origin: str = "") -> Totals:
        """The totals over requests of a mode's per-request variables."""
        self.live_of(mode, origin)
        return self.totals[(mode.name, origin)]

    def _declare(self, mode: Mode, origin: str, guard: Expr) -> None:
        suffix = f"@{origin}" if origin else ""
        named: Axes = {each.name: Name(each.name + suffix) for each in mode.live}
        for parameter in self._varying(mode):
            configured = self.rewrite(Name(parameter.name))
            name = configured.name if isinstance(configured, Name) else parameter.name
            named[name] = self._serving(parameter, suffix, guard, origin)
        self.values[(mode.name, origin)] = named
        totals = Totals(suffix, guard)
        self.totals[(mode.name, origin)] = totals
        for each in mode.live:
            low = substitute(self.rewrite(each.range.low), named)
            high = substitute(self.rewrite(each.range.high), named)
            if each.per is not None:
                totals.declare(each, low, high, named[each.per])
                continue
            label = f"{each.name} of another rank in {mode.name}" if origin else each.name
            variable = Live(
                each.name + suffix, fold(low), fold(high), guard, origin or "own", label, each.place
            )
            self.live.append(variable)
        for condition in mode.where:
            relation = totals.sum_free(substitute(self.rewrite(condition), named))
            self.where.append(fold(disjunction(negation(guard), relation)))

    def _varying(self, mode: Mode) -> list[Parameter]:
        """The parameters that change while serving and that the mode depends on."""
        steps = [self._transform(entry.transform) for entry in mode.pipeline]
        expressions = [
            *(value for _, value in mode.axes),
            *(value for entry in mode.pipeline for _, value in entry.arguments),
            *(value for step in steps for _, value in (*step.let, *step.assigns)),
            *(end for each in mode.live for end in (each.range.low, each.range.high)),
            *mode.where,
            *(dimension for slot in self.resolved.spec.slots for dimension in slot.shape),
        ]
        unfold = serving_definitions(self.resolved)
        used = frozenset().union(*(free_names(substitute(each, unfold)) for each in expressions))
        return [
            each
            for each in self.resolved.spec.parameters
            if each.varies is not None and each.name in used
        ]

    def _serving(self, parameter: Parameter, suffix: str, guard: Expr, origin: str) -> Name:
        """The current value of a varying parameter, as a live variable up to `upper` of it."""
        name = Name(f"{parameter.name}@serving{suffix}")
        varied = next(e for e in self.resolved.spec.parameters if e.name == parameter.varies)
        fixed = self.rewrite(Name(parameter.name))
        lowest = Call("min", (self.rewrite(Name(varied.name)),))
        low = fold(Conditional(self.rewrite(varied.when), lowest, fixed))
        high = self.rewrite(Call("upper", (Name(parameter.name),)))
        exists = fold(conjunction(guard, self.rewrite(parameter.when)))
        label = f"{parameter.name} while serving"
        self.live.append(
            Live(name.name, low, high, exists, origin or "own", label, parameter.place)
        )
        return name

    def pipeline(self, mode: Mode, until: str | None, origin: str = "") -> tuple[Axes, list[Stage]]:
        """The axes of a mode after its pipeline, or before the collective of group `until`."""
        named = self.live_of(mode, origin)
        totals = self.totals_of(mode, origin)
        axes: Axes = {
            name: fold(totals.sum_free(substitute(self.rewrite(value), named)))
            for name, value in mode.axes
        }
        stages = [Stage(None, TRUE, dict(axes), mode.place)]
        for entry in mode.pipeline:
            step = self._transform(entry.transform)
            if until is not None and step.collective and step.collective.group == until:
                break
            guard = self.rewrite(step.when)
            axes = self._apply(mode, step, entry, axes, named, guard)
            stages.append(Stage(step.name, guard, dict(axes), entry.place))
        return axes, stages

    def _transform(self, name: str) -> Transform:
        return next(each for each in self.resolved.spec.transforms if each.name == name)

    def _apply(
        self,
        mode: Mode,
        step: Transform,
        entry: PipelineEntry,
        axes: Axes,
        named: Axes,
        guard: Expr,
    ) -> Axes:
        new = self._assigned(step, entry, axes, named, mode)
        return {
            name: fold(Conditional(guard, new[name], old)) if name in new else old
            for name, old in axes.items()
        }

    def _assigned(
        self, step: Transform, entry: PipelineEntry, axes: Axes, named: Axes, mode: Mode
    ) -> Axes:
        local: Axes = {**axes, **self._arguments(entry, named)}
        peers = self._peers(step, mode)
        for name, value in step.let:
            self._let(name, self.rewrite(value), local, peers)
        return {
            name: self._over_ranks(self.rewrite(value), local, peers)
            for name, value in step.assigns
        }

    def _let(self, name: str, value: Expr, local: Axes, peers: list[tuple[Expr, Axes]]) -> None:
        """A local name: the same on all ranks if it aggregates over them, else each rank's own."""
        if any(isinstance(part, Over) for part in walk(value)):
            local[name] = self._over_ranks(value, local, peers)
            for _, axes in peers:
                axes[name] = local[name]
            return
        for axes in (local, *(axes for _, axes in peers)):
            axes[name] = fold(substitute(value, axes))

    def _peers(self, step: Transform, mode: Mode) -> list[tuple[Expr, Axes]]:
        """The axes that other ranks bring to the same collective, each with its guard.

        A rank in the same mode has the same range, so its largest extent is the own one.
        """
        if step.collective is None:
            return []
        found: list[tuple[Expr, Axes]] = []
        for name in (each for each in mode.peers if each != mode.name):
            peer = next(each for each in self.resolved.spec.modes if each.name == name)
            guard = fold(conjunction(self.rewrite(peer.when), self._several_ranks()))
            if guard != FALSE:
                named = self.live_of(peer, name, guard)
                axes, _ = self.pipeline(peer, step.collective.group, origin=name)
                entry = self._entry_of(peer, step.collective.group)
                found.append((guard, {**axes, **self._arguments(entry, named)}))
        return found

    def _entry_of(self, mode: Mode, group: str) -> PipelineEntry:
        """Where the pipeline of `mode` joins the collective of `group`."""
        for entry in mode.pipeline:
            collective = self._transform(entry.transform).collective
            if collective is not None and collective.group == group:
                return entry
        raise KeyError(f"{mode.name} has no collective of group {group}")

    def _arguments(self, entry: PipelineEntry, named: Axes) -> Axes:
        return {name: substitute(self.rewrite(value), named) for name, value in entry.arguments}

    def _several_ranks(self) -> Expr:
        count = self.resolved.spec.rank_count
        return TRUE if count is None else Comparison("<", Integer(1), self.rewrite(count))

    def _over_ranks(self, value: Expr, local: Axes, peers: list[tuple[Expr, Axes]]) -> Expr:
        """`value` over the local names, with aggregates over ranks written out.

        Local names and live names may coincide, so everything is replaced in one go.
        """
        written_out: Axes = {}

        def expand(node: Expr) -> Expr:
            if not isinstance(node, Over) or node.aggregate == "sum_requests":
                return node
            held = f"over {len(written_out)}"
            written_out[held] = self._aggregate(node, local, peers)
            return Name(held)

        held_back = transform(value, expand)
        return fold(substitute(held_back, {**local, **written_out}))

    def _aggregate(self, node: Over, local: Axes, peers: list[tuple[Expr, Axes]]) -> Expr:
        own = substitute(node.operand, local)
        others = tuple(
            fold(Conditional(guard, substitute(node.operand, {**local, **axes}), Integer(0)))
            for guard, axes in peers
        )
        if node.aggregate == "max_ranks":
            return Call("max", (own, *others)) if others else own
        return self._sum_over_ranks(own, others)

    def _sum_over_ranks(self, own: Expr, others: tuple[Expr, ...]) -> Expr:
        count = self.resolved.spec.rank_count
        if count is None:
            return own
        largest = fold(Call("max", (own, *others))) if others else own
        rest = Binary("-", self.rewrite(count), Integer(1))
        return Binary("+", own, Binary("*", rest, largest))
