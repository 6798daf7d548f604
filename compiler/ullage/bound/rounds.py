"""Rounds that there really are: the own rank beside others that all bring one and the same batch.

In such a round a maximum over ranks is the larger of two amounts, and a sum is the own amount and
as often the other one as there are other ranks. So the extents are exact, conditions over ranks
included, and a batch that attains a bound in one of them attains it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from ullage.bound.problem import Stage
from ullage.bound.ranks import Axes, OtherRanks, asks_ranks, exists, written_in_full
from ullage.expr.simplify import fold
from ullage.expr.tree import (
    FALSE,
    TRUE,
    Binary,
    Call,
    Conditional,
    Expr,
    Integer,
    Over,
    children,
    rebuild,
    substitute,
)
from ullage.spec.model import Mode, PipelineEntry, Transform


class Ranks(OtherRanks, Protocol):
    """What is known of the ranks, and of the pipelines of their modes.

    `transforms`: those of the spec, as far as anybody reads what they assign.
    """

    transforms: Mapping[str, Transform]

    def live_of(self, mode: Mode, origin: str = "", guard: Expr = TRUE) -> Axes:
        """The live variables of a batch of another rank, or of the own one."""

    def first_axes(self, mode: Mode, origin: str = "") -> Axes:
        """The axes of the live batch, before anything is done to it."""

    def seen_by(self, entry: PipelineEntry, named: Axes, axes: Axes) -> Axes:
        """What a transform sees of a rank: what varies while serving, its axes and arguments."""

    def rank_count(self) -> Expr:
        """How many ranks there are."""


@dataclass(frozen=True, slots=True)
class Course:
    """How the own batch comes through its pipeline in one round."""

    others: str
    guard: Expr
    stages: tuple[Stage, ...]


def courses(
    ranks: Ranks, mode: Mode, own: tuple[PipelineEntry, ...], others: Mapping[str, Mode]
) -> Iterator[Course]:
    """One round for each batch that the others may bring, after that in which it is the own one.

    `own` are the transforms of a runner; `others` are modes by the origins of live variables.
    """
    written = _Written(ranks)
    yield Course("", TRUE, _Pair(written, _Rank(written, mode), _Rank(written, mode)).stages(own))
    for origin, peer in others.items():
        guard = exists(ranks, peer)
        if guard != FALSE:
            other = _Rank(written, peer, origin)
            yield Course(origin, guard, _Pair(written, _Rank(written, mode), other).stages(own))


@dataclass
class _Written:
    """What transforms assign, without their local names: the same in all rounds."""

    ranks: Ranks
    known: dict[str, Axes] = field(default_factory=dict)

    def of(self, step: Transform) -> Axes:
        """The value of each axis that a transform assigns."""
        if step.name not in self.known:
            whole = written_in_full(step, self.ranks)
            self.known[step.name] = {
                name: substitute(self.ranks.rewrite(value), whole) for name, value in step.assigns
            }
        return self.known[step.name]


@dataclass
class _Rank:
    """One rank on its way through the pipeline of its mode."""

    written: _Written
    mode: Mode
    origin: str = ""
    done: int = 0
    axes: Axes = field(init=False)
    named: Axes = field(init=False)

    @property
    def ranks(self) -> Ranks:
        return self.written.ranks

    def __post_init__(self) -> None:
        self.named = self.ranks.live_of(self.mode, self.origin)
        self.axes = self.ranks.first_axes(self.mode, self.origin)

    def sees(self, entry: PipelineEntry) -> Axes:
        """What a transform sees of this rank."""
        return self.ranks.seen_by(entry, self.named, self.axes)

    def to_collective(self) -> PipelineEntry:
        """The next collective, after what this rank does alone before it."""
        for entry in self.mode.pipeline[self.done :]:
            self.done += 1
            if self.ranks.transforms[entry.transform].collective:
                return entry
            self.alone(entry)
        raise AssertionError("ranks of one round run the same collectives")

    def alone(self, entry: PipelineEntry) -> None:
        """Runs a transform that takes nothing over ranks."""
        step = self.ranks.transforms[entry.transform]
        local = self.sees(entry)
        values = self.written.of(step)
        self.assign(step, {name: substitute(value, local) for name, value in values.items()})

    def assign(self, step: Transform, values: Axes) -> None:
        """Takes over new values of axes, where the transform applies."""
        applies = self.ranks.rewrite(step.when)
        self.axes = {
            name: fold(Conditional(applies, values[name], old)) if name in values else old
            for name, old in self.axes.items()
        }


@dataclass
class _Pair:
    """The own rank and the one that all others are like."""

    written: _Written
    own: _Rank
    other: _Rank

    def stages(self, of_runner: tuple[PipelineEntry, ...]) -> tuple[Stage, ...]:
        """The axes of the own rank after each transform."""
        mode, ranks = self.own.mode, self.written.ranks
        found = [Stage(None, TRUE, dict(self.own.axes), mode.place)]
        for position, entry in enumerate((*mode.pipeline, *of_runner)):
            step = ranks.transforms[entry.transform]
            if step.collective:
                joined = self.other.to_collective()
                self._together(step, self.own.sees(entry), self.other.sees(joined))
            else:
                self.own.alone(entry)
            applies, later = ranks.rewrite(step.when), position >= len(mode.pipeline)
            found.append(Stage(step.name, applies, dict(self.own.axes), entry.place, later))
        return tuple(found)

    def _together(self, step: Transform, own: Axes, other: Axes) -> None:
        values = self.written.of(step)
        collective = _Collective(self.written.ranks.rank_count(), own, other)
        for rank, sees in ((self.own, own), (self.other, other)):
            rank.assign(step, {name: collective.on(each, sees) for name, each in values.items()})


@dataclass
class _Collective:
    """What both ranks see of a collective, each of which brings its own axes."""

    ranks: Expr
    own: Axes
    other: Axes
    known: dict[Over, Expr] = field(default_factory=dict)

    def on(self, node: Expr, rank: Axes) -> Expr:
        """The value on one of the two ranks."""
        if not asks_ranks(node):
            return substitute(node, rank)
        if isinstance(node, Over):
            return self._over(node)
        return rebuild(node, tuple(self.on(part, rank) for part in children(node)))

    def _over(self, node: Over) -> Expr:
        """What is taken over all ranks, which is the same on each."""
        if node not in self.known:
            self.known[node] = fold(self._taken(node))
        return self.known[node]

    def _taken(self, node: Over) -> Expr:
        mine, theirs = self.on(node.operand, self.own), self.on(node.operand, self.other)
        if node.aggregate == "max_ranks":
            return Call("max", (mine, theirs))
        others = Binary("-", self.ranks, Integer(1))
        return Binary("+", mine, Binary("*", others, theirs))
