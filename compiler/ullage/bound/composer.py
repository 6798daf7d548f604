"""The live variables that one mode brings, and its axes after each transform."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Self

from ullage.bound.declared import Counts, Declared
from ullage.bound.dependences import Dependences, in_order
from ullage.bound.polarity import Polarity
from ullage.bound.problem import Coupling, Live, Share, Stage
from ullage.bound.ranks import (
    AcrossRanks,
    Axes,
    Turn,
    exists,
    origin_of,
    rank_label,
    serving_names,
)
from ullage.bound.relations import bounds_each
from ullage.bound.sums import Totals
from ullage.expr.conditions import left_open, where_holds
from ullage.expr.simplify import fold
from ullage.expr.spell import spell
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
    conjunction,
    free_names,
    substitute,
)
from ullage.place import Place
from ullage.spec.check import ResolvedSpec
from ullage.spec.model import Mode, Parameter, PipelineEntry, Runner, Transform
from ullage.spec.peers import are_peers

ForWorker = Callable[[Expr], Expr]


@dataclass
class Composer:
    """Collects the live variables of one mode, its own and those of other ranks.

    `own_peer`: other ranks in the same mode have variables of their own. Without it the own rank
    stands for them, and what it brings to a maximum over ranks has a mark in the extents until
    `written_out`, so that it is not confused with what the own rank has besides. `runners`: the one
    that loads the mode, and those that have a say in which of its batches it gets. `groups`: over
    which ranks each marked maximum is. `maxima`: those over ranks, as if there were one in each
    mode. With `may_be_absent` what a rank in another mode brings starts from zero; without it this
    has to make no difference. `shares`: what ranks bring to sums and maxima. `lows`: the least
    values that are declared. `arrived`: the axes with which ranks come to a collective.
    """

    resolved: ResolvedSpec
    for_worker: ForWorker
    lows: Mapping[str, Expr]
    transforms: Mapping[str, Transform]
    runners: tuple[Runner, ...] = ()
    own_peer: bool = False
    may_be_absent: bool = False
    needs_own_peer: bool = False
    marks: dict[str, Expr] = field(default_factory=dict)
    groups: dict[str, str] = field(default_factory=dict)
    maxima: dict[str, Expr] = field(default_factory=dict)
    copies: dict[tuple[Turn, Expr], int] = field(default_factory=dict)
    shares: list[Share] = field(default_factory=list)
    live: list[Live] = field(default_factory=list)
    couplings: list[Coupling] = field(default_factory=list)
    totals: dict[str, Totals] = field(default_factory=dict)
    values: dict[str, Axes] = field(default_factory=dict)
    brought_live: list[Live] = field(default_factory=list)
    choices: dict[tuple[Turn, Expr, str], str] = field(default_factory=dict)
    own_choices: set[str] = field(default_factory=set)
    arrived: dict[tuple[str, Turn, str], Axes] = field(default_factory=dict)

    def apart(self) -> Self:
        """The same, to which more can be added without changing this."""
        return replace(
            self,
            marks={**self.marks},
            groups={**self.groups},
            maxima={**self.maxima},
            copies={**self.copies},
            shares=[*self.shares],
            live=[*self.live],
            couplings=[*self.couplings],
            totals={origin: each.apart() for origin, each in self.totals.items()},
            values={**self.values},
            brought_live=[*self.brought_live],
            choices={**self.choices},
            own_choices={*self.own_choices},
            arrived={**self.arrived},
        )

    @property
    def all_live(self) -> tuple[Live, ...]:
        """All live variables, each behind what bounds it; totals over requests come early."""
        totals = tuple(each for totals in self.totals.values() for each in totals.live)
        names = {each.name for each in totals}
        bounded = tuple(each for each in self.live if free_names(each.high) & names)
        free = (each for each in self.live if each not in bounded)
        every = (*free, *totals, *bounded, *self.brought_live)
        return in_order(replace(each, high=self.written_out(each.high)) for each in every)

    @property
    def all_couplings(self) -> tuple[Coupling, ...]:
        """All couplings, those of totals included."""
        totals = (each for totals in self.totals.values() for each in totals.couplings)
        return (*self.couplings, *totals)

    def rewrite(self, expression: Expr) -> Expr:
        """The expression for the worker, with what varies while serving written out."""
        serving = self.resolved.serving
        return self.for_worker(substitute(expression, serving) if serving else expression)

    # Live variables

    def live_of(self, mode: Mode, origin: str = "", guard: Expr = TRUE) -> Axes:
        """Declares the live variables of `mode` once; those of another rank carry its origin."""
        if origin not in self.values:
            self._declare(mode, origin, guard)
        return self.values[origin]

    def totals_of(self, mode: Mode, origin: str = "") -> Totals:
        """The totals over requests of a mode's per-request variables."""
        self.live_of(mode, origin)
        return self.totals[origin]

    def _declare(self, mode: Mode, origin: str, guard: Expr) -> None:
        suffix = f"@{origin}" if origin else ""
        named: Axes = {each.name: Name(each.name + suffix) for each in mode.live}
        for parameter in self._varying(mode):
            configured = self.rewrite(Name(parameter.name))
            name = configured.name if isinstance(configured, Name) else parameter.name
            named[name] = self._serving(parameter, mode, guard, origin)
        self.values[origin] = named
        self.totals[origin] = totals = Totals(suffix, guard)
        for each in mode.live:
            ends = (each.range.low, each.range.high)
            low, high = (substitute(self.rewrite(end), named) for end in ends)
            if each.per is not None:
                totals.declare(each, low, high, named[each.per])
                continue
            label = f"{each.name} of {rank_label(origin)}{mode.name}" if origin else each.name
            whose = (guard, origin or "own", label, each.place)
            self.live.append(Live(each.name + suffix, fold(low), fold(high), *whose))
        for condition in mode.where:
            relation = totals.sum_free(substitute(self.rewrite(condition), named))
            self.couplings.append(Coupling(fold(relation), guard))

    def _varying(self, mode: Mode) -> list[Parameter]:
        """The parameters that change while serving and that the mode depends on."""
        if not self.resolved.varying:
            return []
        own = [entry for runner in self.runners for entry in runner.pipeline_in(mode.name)]
        entries = (*mode.pipeline, *own)
        steps = [self.transforms[entry.transform] for entry in entries]
        expressions = [
            *(value for _, value in mode.axes),
            *(value for entry in entries for _, value in entry.arguments),
            *(condition for runner in self.runners for condition in runner.accepts_in(mode.name)),
            *(value for step in steps for _, value in (*step.let, *step.assigns)),
            *(end for each in mode.live for end in (each.range.low, each.range.high)),
            *mode.where,
        ]
        unfold = self.resolved.serving
        used = self.resolved.varying_in_shapes.union(
            *(free_names(substitute(each, unfold)) for each in expressions)
        )
        return [
            each
            for each in self.resolved.spec.parameters
            if each.varies is not None and each.name in used
        ]

    def _serving(self, parameter: Parameter, mode: Mode, guard: Expr, origin: str) -> Name:
        """The current value of a varying parameter, as a live variable up to `upper` of it."""
        name = Name(f"{parameter.name}@serving" + (f"@{origin}" if origin else ""))
        varied = next(e for e in self.resolved.spec.parameters if e.name == parameter.varies)
        low: Expr = Call("min", (self.for_worker(Name(varied.name)),))
        if varied.when != parameter.when:
            fixed = self.for_worker(Name(parameter.name))
            low = fold(Conditional(self.for_worker(varied.when), low, fixed))
        high = self.for_worker(Call("upper", (Name(parameter.name),)))
        exists = fold(conjunction(guard, self.for_worker(parameter.when)))
        whose = f" of {rank_label(origin)}{mode.name}" if origin else ""
        label, whose_own = f"{parameter.name} while serving{whose}", origin or "own"
        ends = (low, high, exists, whose_own, label, parameter.place)
        self.live.append(Live(name.name, *ends, every_value=False))
        return name

    # Axes

    def first_axes(self, mode: Mode, origin: str = "") -> Axes:
        """The axes of the live batch, before anything is done to it."""
        named, totals = self.live_of(mode, origin), self.totals_of(mode, origin)
        return {
            name: fold(totals.sum_free(substitute(self.rewrite(value), named)))
            for name, value in mode.axes
        }

    def pipeline(
        self,
        mode: Mode,
        until: Turn | None = None,
        origin: str = "",
        guard: Expr = TRUE,
        own: tuple[PipelineEntry, ...] = (),
    ) -> tuple[Axes, list[Stage]]:
        """The axes of a mode after its pipeline and a runner's own, or before `until`."""
        named = self.live_of(mode, origin, guard)
        axes = self.first_axes(mode, origin)
        stages = [Stage(None, TRUE, dict(axes), mode.place)]
        turns: dict[str, int] = {}
        for position, entry in enumerate((*mode.pipeline, *own)):
            step = self.transforms[entry.transform]
            group = step.collective.group if step.collective else ""
            turn = (group, turns.get(group, 0))
            if turn == until:
                break
            turns[group] = turn[1] + 1
            applies = left_open(self.rewrite(step.when), self.rewrite(mode.when))
            across = AcrossRanks(self, step, mode, turn, origin)
            before = {name: where_holds(old, applies) for name, old in axes.items()}
            assigned = across.assigned(self.seen_by(entry, named, before))
            axes = {
                name: fold(Conditional(applies, assigned[name], old)) if name in assigned else old
                for name, old in axes.items()
            }
            of_runner = position >= len(mode.pipeline)
            stages.append(Stage(step.name, applies, dict(axes), entry.place, of_runner))
        return axes, stages

    def seen_by(self, entry: PipelineEntry, named: Axes, axes: Axes) -> Axes:
        """What a transform sees of a rank: what varies while serving, its axes and arguments."""
        arguments = {
            name: substitute(self.rewrite(value), named) for name, value in entry.arguments
        }
        return {**serving_names(named), **axes, **arguments}

    # Other ranks

    def peers_of(self, mode: Mode) -> list[Mode]:
        """The modes that other ranks may be in: those it names and those that name it."""
        modes = self.resolved.spec.modes
        chosen = [each for each in modes if each.name != mode.name and are_peers(mode, each)]
        return [*chosen, mode] if self.own_peer else chosen

    def brought(self, peer: Mode, turn: Turn, origin: str, guard: Expr) -> Axes:
        """The axes and arguments with which a rank in `peer` joins a collective."""
        key = (peer.name, turn, origin)
        if key not in self.arrived:
            self.arrived[key], _ = self.pipeline(peer, turn, origin, guard)
        group, position = turn
        steps = ((entry, self.transforms[entry.transform].collective) for entry in peer.pipeline)
        entries = [entry for entry, joined in steps if joined and joined.group == group]
        named = self.live_of(peer, origin, guard)
        return self.seen_by(entries[position], named, self.arrived[key])

    def others_of(self, mode: Mode) -> Mapping[str, Mode]:
        """The modes of other ranks whose live variables are declared, by their origins.

        Where it matters which way the ranks go together, each of them has some.
        """
        found: dict[str, Mode] = {}
        for peer in dict.fromkeys((mode, *self.peers_of(mode))):
            if self.choices and (guard := exists(self, peer)) != FALSE:
                self.live_of(peer, origin_of(peer), guard)
            for copy in range(max(1, len(self.copies))):
                origin = origin_of(peer, copy)
                if origin in self.values:
                    found[origin] = peer
        return found

    def rank_count(self) -> Expr:
        """How many ranks there are."""
        count = self.resolved.spec.rank_count
        return Integer(1) if count is None else self.rewrite(count)

    def several_ranks(self) -> Expr:
        """Whether there is another rank at all."""
        count = self.resolved.spec.rank_count
        return TRUE if count is None else Comparison("<", Integer(1), self.rewrite(count))

    def total_of_others(self, largest: Expr, place: Place) -> Expr:
        """The sum over the other ranks, each of which brings no more than `largest`."""
        count = self.resolved.spec.rank_count
        if count is None:
            return Integer(0)
        high = fold(Binary("*", Binary("-", self.rewrite(count), Integer(1)), largest))
        name = f"others({spell(largest)})"
        if all(each.name != name for each in self.live):
            label = "what the other ranks bring together"
            total = Live(name, Integer(0), high, TRUE, "total", label, place, every_value=False)
            self.live.append(total)
        return Name(name)

    def copy_of(self, turn: Turn, operand: Expr) -> int:
        """The number of the other ranks that are asked for an operand at one turn."""
        return self.copies.setdefault((turn, operand), len(self.copies))

    def share(self, brought: Expr, place: Place) -> None:
        """Notes what a rank brings, which must not be negative: an absent rank counts as zero."""
        self.shares.append(Share(brought, place))

    def largest(self, every: Expr) -> Name:
        """A name for a maximum over ranks, as if there were one in each mode."""
        for name, known in self.maxima.items():
            if known == every:
                return Name(name)
        name = f"largest {len(self.maxima)}"
        self.maxima[name] = every
        return Name(name)

    def from_nothing(self, brought: Expr, peer: Mode, place: Place) -> Name:
        """A variable for what a rank in `peer` brings, from the zero of an absent one."""
        high = self.written_out(brought)
        for each in self.brought_live:
            if each.high == high:
                return Name(each.name)
        name = f"brought {len(self.brought_live)}"
        label = f"share {len(self.brought_live) + 1} of another rank in {peer.name}"
        live = Live(name, Integer(0), high, TRUE, "ranks", label, place, every_value=False)
        self.brought_live.append(live)
        return Name(name)

    def bounds_each(self, condition: Expr) -> bool:
        """Whether a condition and its opposite bound every live variable that they are about."""
        live = frozenset(each.name for each in self.all_live)
        return bounds_each(self.written_out(condition), live, Declared(self.resolved))

    def has_one_group(self, mode: Mode) -> bool:
        """Whether all collectives of a mode are over the same ranks."""
        found = (self.transforms[entry.transform].collective for entry in mode.pipeline)
        return len({each.group for each in found if each is not None}) <= 1

    def choice(self, turn: Turn, condition: Expr, origin: str, *, of_own: bool) -> Name:
        """A variable that is 1 where a condition over ranks holds on the rank of an origin."""
        key = (turn, condition, origin if of_own else "")
        if key not in self.choices:
            again = sum(other[1:] == key[1:] for other in self.choices)
            name = f"either({spell(condition)})" + (f" {again + 1}" if again else "")
            name += f"@{key[2]}" if key[2] else ""
            self.choices[key] = name
            if of_own and not origin:
                self.own_choices.add(name)
            ends, label = (Integer(0), Integer(1)), f"whether {spell(condition)}"
            self.live.append(
                Live(name, *ends, TRUE, "ranks", label, condition.place, every_value=False)
            )
        return Name(self.choices[key])

    def mark(self, own: Expr, group: str) -> Name:
        """A name that stands for what the own rank brings to a maximum over a group of ranks."""
        for name, value in self.marks.items():
            if value == own and self.groups[name] == group:
                return Name(name)
        name = f"maximum {len(self.marks)}"
        self.marks[name] = own
        self.groups[name] = group
        return Name(name)

    def written_out(self, extent: Expr) -> Expr:
        """The extent with what marks and maxima stand for, as if there were a rank in each mode."""
        held = {**self.marks, **self.maxima}
        while free_names(extent) & held.keys():
            extent = substitute(extent, held)
        return fold(extent)

    def only_rise(self, nodes: Iterable[Expr]) -> bool:
        """Whether no node is larger, nor any choice another, where a maximum over ranks is less.

        Then ranks that are absent, which can only lower it, leave the largest extents as they are.
        """
        needed = [*nodes, *self.maxima.values(), *self.marks.values(), *(e.high for e in self.live)]
        lows = {**self.lows, **{each.name: each.low for each in self.all_live}}
        polarity = Polarity(self.maxima.keys(), Counts(lows))
        return all(polarity.rises(node) for node in needed)

    def dependences(self, names: Iterable[str]) -> frozenset[frozenset[str]]:
        """What the names depend on of the own rank, in each way in which choices can come out."""
        return Dependences(self.marks, self.maxima, self.groups, self.own_names).of(names)

    @property
    def own_names(self) -> frozenset[str]:
        """What the own rank brings: its live variables, and their totals over its requests."""
        totals = self.totals[""].live if "" in self.totals else ()
        own = (each for each in self.live if each.origin == "own")
        return frozenset(each.name for each in (*own, *totals)) | self.own_choices
