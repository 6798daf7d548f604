"""One transform of a pipeline, with what it takes over the ranks of its group."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Protocol, Self

from ullage.expr.simplify import fold
from ullage.expr.tree import (
    FALSE,
    REMEMBERED,
    Binary,
    Boolean,
    Call,
    Comparison,
    Conditional,
    Expr,
    Integer,
    Logical,
    Name,
    Not,
    Over,
    children,
    conjunction,
    free_names,
    rebuild,
    substitute,
    transform,
    walk,
)
from ullage.place import Place
from ullage.spec.model import Mode, Transform

Axes = dict[str, Expr]
Turn = tuple[str, int]
"""A collective, by its group and by how many of that group came before in the pipeline."""


class OtherRanks(Protocol):
    """What is known of the ranks that take part in a round.

    `own_peer`: other ranks in the same mode have variables of their own, and `needs_own_peer` says
    that they must. `may_be_absent`: no rank need be in another mode.
    """

    own_peer: bool
    needs_own_peer: bool
    may_be_absent: bool

    def apart(self) -> Self:
        """The same knowledge, to which more can be added without changing this."""

    def rewrite(self, expression: Expr) -> Expr:
        """The expression for the worker."""

    def peers_of(self, mode: Mode) -> list[Mode]:
        """The modes that other ranks may be in."""

    def brought(self, peer: Mode, turn: Turn, origin: str, guard: Expr) -> Axes:
        """The axes and arguments with which a rank in `peer` joins a collective."""

    def several_ranks(self) -> Expr:
        """Whether there is another rank at all."""

    def total_of_others(self, largest: Expr, place: Place) -> Expr:
        """The sum over the other ranks, each of which brings no more than `largest`."""

    def mark(self, own: Expr, group: str) -> Name:
        """A name that stands for what the own rank brings to a maximum over a group of ranks."""

    def largest(self, every: Expr) -> Name:
        """A name for a maximum over ranks, as if there were one in each mode."""

    def from_nothing(self, brought: Expr, peer: Mode, place: Place) -> Name:
        """A variable for what a rank in `peer` brings, from the zero of an absent one."""

    def copy_of(self, turn: Turn, operand: Expr) -> int:
        """The number of the other ranks that are asked for an operand at one turn."""

    def share(self, brought: Expr, place: Place) -> None:
        """Notes what a rank brings, which must not be negative: an absent rank counts as zero."""

    def bounds_each(self, condition: Expr) -> bool:
        """Whether a condition and its opposite bound every live variable that they are about."""

    def has_one_group(self, mode: Mode) -> bool:
        """Whether all collectives of a mode are over the same ranks."""

    def choice(self, turn: Turn, condition: Expr, origin: str, *, of_own: bool) -> Name:
        """A variable that is 1 where a condition over ranks holds on the rank of an origin.

        `of_own`: it may differ between the ranks, and is of the own one.
        """


@dataclass(frozen=True, slots=True)
class _Let:
    """A local name: its value over names of one rank, and what it takes over all ranks."""

    value: Expr
    over: Axes

    def on(self, rank: Axes) -> Expr:
        """The value on a rank with these axes, arguments and earlier local names."""
        return fold(substitute(self.value, {**rank, **self.over}))


@dataclass
class AcrossRanks:
    """Evaluates the transform on the own rank; other ranks bring their own axes and arguments.

    Each aggregate has other ranks of its own, since different ranks may hold the maxima; the same
    ones wherever the round is at the same turn. `origin`: the rank, if it is not the one that
    loads but another one on its way to a later turn.

    A condition over ranks from which no bounds can be read counts as a variable that is 1 or 0:
    bounds rest on both ways. One that is about the rank as well may go another way on each.
    """

    ranks: OtherRanks
    step: Transform
    mode: Mode
    turn: Turn
    origin: str
    lets: dict[str, _Let] = field(default_factory=dict)
    choices: dict[str, Expr] = field(default_factory=dict)
    read: dict[Expr, bool] = field(default_factory=dict)

    def assigned(self, local: Axes) -> Axes:
        """The axes that the transform assigns, over the local names of the own rank."""
        whole = written_in_full(self.step, self.ranks)
        rewrite = self.ranks.rewrite
        lets = {name: self._chosen(rewrite(each), whole, local) for name, each in self.step.let}
        assigns = {
            name: self._chosen(rewrite(each), whole, local) for name, each in self.step.assigns
        }
        own = dict(local)
        for name in _used(lets, assigns.values()):
            self.lets[name] = self._let(lets[name], own)
            own[name] = self.lets[name].on(own)
        return {name: self._let(value, own).on(own) for name, value in assigns.items()}

    def _let(self, value: Expr, local: Axes) -> _Let:
        """`value` with aggregates over ranks held apart.

        Local names and live names may coincide, so everything is replaced in one go.
        """
        over: Axes = {}

        def expand(node: Expr) -> Expr:
            if not isinstance(node, Over) or node.aggregate == "sum_requests":
                return node
            held = f"over {len(over)}"
            over[held] = self._aggregate(node, local)
            return Name(held)

        return _Let(transform(value, expand), over)

    # Conditions over ranks

    def _chosen(self, node: Expr, whole: Axes, local: Axes) -> Expr:
        """The expression where conditions over ranks that give no bounds are variables."""
        if isinstance(node, Conditional):
            truths = {name: value for name, value in whole.items() if _is_truth(value)}
            condition = substitute(node.condition, truths)
            full = substitute(condition, whole)
            if asks_ranks(full) and not self._is_read(full, local):
                name = self._choice(condition, full, whole, local)
                condition = Comparison("<=", Integer(1), name)
            arms = (self._chosen(each, whole, local) for each in (node.then, node.otherwise))
            return Conditional(condition, *arms, place=node.place)
        parts = children(node)
        if not parts:
            return node
        return rebuild(node, tuple(self._chosen(each, whole, local) for each in parts))

    def _is_read(self, condition: Expr, local: Axes) -> bool:
        """Whether bounds can be read off a condition; looking leaves nothing behind."""
        if condition not in self.read:
            trial = replace(self, ranks=self.ranks.apart(), lets={}, choices={})
            value = trial._let(condition, local).on(local)
            self.read[condition] = trial.ranks.bounds_each(value)
        return self.read[condition]

    def _choice(self, condition: Expr, full: Expr, whole: Axes, local: Axes) -> Name:
        outside = transform(full, lambda each: Integer(0) if _is_over_ranks(each) else each)
        is_common = not free_names(outside) & {*local, *whole}
        of_own = not is_common or not self.ranks.has_one_group(self.mode)
        name = self.ranks.choice(self.turn, condition, self.origin, of_own=of_own)
        if of_own:
            self.choices[name.name] = condition
        return name

    # What is taken over ranks

    def _aggregate(self, node: Over, local: Axes) -> Expr:
        own = fold(substitute(node.operand, local))
        copy = self.ranks.copy_of(self.turn, node.operand)
        others = tuple(self._of_peer(node.operand, peer, copy) for peer in self._peers)
        known = tuple(other for other in others if other is not None)
        if not self.origin and (known or node.aggregate == "sum_ranks"):
            for brought in (own, *known):
                self.ranks.share(brought, node.place)
        if node.aggregate == "sum_ranks":
            self.ranks.needs_own_peer = True  # one rank's share says nothing about the sum
            largest = fold(Call("max", (Integer(0), *known)))
            total = self.ranks.total_of_others(largest, node.place)
            return Binary("+", own, total)
        standing = own if self.ranks.own_peer else self.ranks.mark(own, self.turn[0])
        if not known:
            return standing
        if self.ranks.may_be_absent:
            known = tuple(
                other if peer is self.mode else self.ranks.from_nothing(other, peer, node.place)
                for peer, other in zip(self._peers, others, strict=True)
                if other is not None
            )
        return self.ranks.largest(Call("max", (standing, *known)))

    @property
    def _peers(self) -> list[Mode]:
        return self.ranks.peers_of(self.mode) if self.step.collective else []

    def _of_peer(self, operand: Expr, peer: Mode, copy: int) -> Expr | None:
        """What a rank in `peer` brings, zero where there is none; None if there never is."""
        guard = exists(self.ranks, peer)
        if guard == FALSE:
            return None
        origin = origin_of(peer, copy)
        brought = self.ranks.brought(peer, self.turn, origin, guard)
        for name, condition in self.choices.items():
            brought[name] = self.ranks.choice(self.turn, condition, origin, of_own=True)
        for name, let in self.lets.items():
            brought[name] = let.on(brought)
        return fold(Conditional(guard, substitute(operand, brought), Integer(0)))


def exists(ranks: OtherRanks, peer: Mode) -> Expr:
    """For which configurations another rank can be in a mode."""
    return fold(conjunction(ranks.rewrite(peer.when), ranks.several_ranks()))


def origin_of(mode: Mode, copy: int = 0) -> str:
    """How the live variables of another rank in a mode are told from others'."""
    return f"{mode.name}.{copy + 1}" if copy else mode.name


def serving_names(named: Axes) -> Axes:
    """What varies while serving, without the live variables, whose names axes may share."""
    return {
        name: value
        for name, value in named.items()
        if isinstance(value, Name) and "@serving" in value.name
    }


def rank_label(origin: str) -> str:
    """How a person names the rank of an origin: `mode`, or `mode.2` for a second one."""
    _, _, copy = origin.partition(".")
    return f"other rank {copy} in " if copy else "another rank in "


def written_in_full(step: Transform, ranks: OtherRanks) -> Axes:
    """The local names of a transform without earlier ones in them."""
    whole: Axes = {}
    for name, value in step.let:
        whole[name] = substitute(ranks.rewrite(value), whole)
    return whole


def _used(lets: Axes, values: Iterable[Expr]) -> Iterator[str]:
    """The local names that values rest on, in order."""
    used = frozenset[str]().union(*map(free_names, values))
    for name in reversed(lets):
        if name in used:
            used |= free_names(lets[name])
    return (name for name in lets if name in used)


def _is_over_ranks(node: Expr) -> bool:
    return isinstance(node, Over) and node.aggregate != "sum_requests"


@lru_cache(maxsize=REMEMBERED)
def asks_ranks(node: Expr) -> bool:
    """Whether something in an expression is taken over ranks."""
    return any(map(_is_over_ranks, walk(node)))


def _is_truth(node: Expr) -> bool:
    """Whether the form shows that the value is true or false."""
    if isinstance(node, Conditional):
        return _is_truth(node.then) or _is_truth(node.otherwise)
    return isinstance(node, Comparison | Logical | Not | Boolean)
