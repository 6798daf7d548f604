"""One transform of a pipeline, with what it takes over the ranks of its group."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

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
from ullage.spec.model import Mode, Transform

if TYPE_CHECKING:
    from ullage.bound.composer import Axes, Composer, Turn


@dataclass
class AcrossRanks:
    """Evaluates the transform on the own rank; other ranks bring their own axes and arguments.

    Each aggregate has other ranks of its own, since different ranks may hold the maxima.
    """

    composer: Composer
    step: Transform
    mode: Mode
    turn: Turn
    lets: dict[str, Expr] = field(default_factory=dict)
    copies: dict[Expr, int] = field(default_factory=dict)

    def assigned(self, local: Axes) -> Axes:
        """The axes that the transform assigns, over the local names of the own rank."""
        rewrite = self.composer.rewrite
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
        copy = self.copies.setdefault(node.operand, len(self.copies))
        others = tuple(self._of_peer(node.operand, peer, copy, local) for peer in self._peers)
        known = tuple(other for other in others if other is not None)
        if node.aggregate == "sum_ranks":
            self.composer.needs_own_peer = True  # one rank's share says nothing about the sum
            largest = fold(Call("max", (Integer(0), *known)))
            total = self.composer.total_of_others(largest, node.place)
            return Binary("+", own, total)
        standing = own if self.composer.own_peer else self.composer.mark(own)
        return Call("max", (standing, *known)) if known else standing

    @property
    def _peers(self) -> list[Mode]:
        return self.composer.peers_of(self.mode) if self.step.collective else []

    def _of_peer(self, operand: Expr, peer: Mode, copy: int, local: Axes) -> Expr | None:
        """What a rank in `peer` brings, zero where there is none; None if there never is."""
        exists = conjunction(self.composer.rewrite(peer.when), self.composer.several_ranks())
        guard = fold(exists)
        if guard == FALSE:
            return None
        origin = f"{peer.name}.{copy + 1}" if copy else peer.name
        brought = self.composer.brought(peer, self.turn, origin, guard)
        for name, value in self.lets.items():
            shared = any(isinstance(part, Over) for part in walk(value))
            brought[name] = local[name] if shared else fold(substitute(value, brought))
        return fold(Conditional(guard, substitute(operand, brought), Integer(0)))
