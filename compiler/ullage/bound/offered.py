"""Conditions on the batches of a mode as they are when a runner is chosen for them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ullage.bound.composer import Composer, ForWorker
from ullage.bound.declared import declared_lows
from ullage.bound.modes import before_padding
from ullage.bound.problem import Live
from ullage.expr.simplify import fold
from ullage.expr.tree import Comparison, Expr, Name, conjunction, disjunction, negation, substitute
from ullage.spec.check import ResolvedSpec
from ullage.spec.model import Mode, Runner


@dataclass(frozen=True, slots=True)
class Offered:
    """Conditions over what batches of a mode bring, and what is so of every such batch.

    Where ranks decide together, what they bring is bounded one by one: the conditions are then
    about more rounds than there are, never about fewer.
    """

    conditions: tuple[Expr, ...]
    relations: tuple[Expr, ...]
    live: tuple[Live, ...]


def offered(
    resolved: ResolvedSpec,
    mode: Mode,
    runner: Runner,
    rewrite: ForWorker,
    conditions: Sequence[Expr],
) -> Offered:
    """Conditions over axes after the pipeline of the mode, composed with it.

    Raises NotSummableError for a sum over requests that has no closed form.
    """
    asking = replace(runner, accepts=tuple(conditions), accepts_all=())
    lows = declared_lows(resolved, rewrite)
    steps = resolved.transforms
    composer = Composer(
        resolved, rewrite, lows, steps, (asking,), own_peer=True, may_be_absent=True
    )
    _, stages = composer.pipeline(mode)
    brought = before_padding(resolved, stages)
    axes = {**stages[-1].extents, **{f"live_{name}": each for name, each in brought.items()}}
    values = {**composer.live_of(mode), **axes}

    def of_batch(condition: Expr) -> Expr:
        composed = substitute(composer.rewrite(condition), values)
        return composer.written_out(composer.totals_of(mode).sum_free(composed))

    composed = tuple(map(of_batch, conditions))
    live = composer.all_live
    couplings = (composer.written_out(each.claim) for each in composer.all_couplings)
    return Offered(composed, (*_ranges(live), *couplings), live)


def _ranges(live: Sequence[Live]) -> Iterator[Expr]:
    for each in live:
        low = Comparison("<=", each.low, Name(each.name))
        high = Comparison("<=", Name(each.name), each.high)
        yield fold(disjunction(negation(each.guard), conjunction(low, high)))
