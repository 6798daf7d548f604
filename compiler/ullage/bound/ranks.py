"""One transform of a pipeline, with what it takes over the ranks of its group."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from ullage.expr.simplify import fold
from ullage.expr.tree import (
    FALSE,
    Binary,
    Call,
    Conditional,
    Expr,
    Integer,
    Name,
    Over,
    conjunction,
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


@dataclass
class AcrossRanks:
    """Evaluates the transform on the own rank; other ranks bring their own axes and arguments.

    Each aggregate has other ranks of its own, since different ranks may hold the maxima; the same
    ones wherever the round is at the same turn. `of_own`: this is the rank that loads, and not
    another one on its way to a later turn.
    """

    ranks: OtherRanks
    step: Transform
    mode: Mode
    turn: Turn
    of_own: bool
    lets: dict[str, Expr] = field(default_factory=dict)

    def assigned(self, local: Axes) -> Axes:
        """The axes that the transform assigns, over the local names of the own rank."""
        rewrite = self.ranks.rewrite
        own = dict(local)
        for name, value in self.step.let:
            written = rewrite(value)
            own[name] = self._over(written, own)
            self.lets[name] = written
        return {name: self._over(rewrite(value), own) for name, value in self.step.assigns}

    def _over(self, value: Expr, local: Axes) -> Expr:
        """`value` with aggregates over ranks written out.

        Local names and live names may coincide, so everything is replaced in one go.
        """
        written_out: Axes = {}

        def expand(node: Expr) -> Expr:
            if not isinstance(node, Over) or node.aggregate == "sum_requests":
                return node
            held = f"over {len(written_out)}"
            written_out[held] = self._aggregate(node, local)
            return Name(held)

        held_back = transform(value, expand)
        return fold(substitute(held_back, {**local, **written_out}))

    def _aggregate(self, node: Over, local: Axes) -> Expr:
        own = fold(substitute(node.operand, local))
        copy = self.ranks.copy_of(self.turn, node.operand)
        others = tuple(self._of_peer(node.operand, peer, copy, local) for peer in self._peers)
        known = tuple(other for other in others if other is not None)
        if self.of_own and (known or node.aggregate == "sum_ranks"):
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

    def _of_peer(self, operand: Expr, peer: Mode, copy: int, local: Axes) -> Expr | None:
        """What a rank in `peer` brings, zero where there is none; None if there never is."""
        exists = conjunction(self.ranks.rewrite(peer.when), self.ranks.several_ranks())
        guard = fold(exists)
        if guard == FALSE:
            return None
        origin = f"{peer.name}.{copy + 1}" if copy else peer.name
        brought = self.ranks.brought(peer, self.turn, origin, guard)
        for name, value in self.lets.items():
            shared = any(isinstance(part, Over) for part in walk(value))
            brought[name] = local[name] if shared else fold(substitute(value, brought))
        return fold(Conditional(guard, substitute(operand, brought), Integer(0)))
