"""Random batches of a mode in a configuration, near the ends of their ranges mostly."""

from __future__ import annotations

import random
from collections.abc import Iterable

from ullage.bound.problem import Live, ModeProblem
from ullage.bound.sampling import Sample
from ullage.expr.environment import EvaluationError
from ullage.expr.evaluate import evaluate, holding
from ullage.expr.tree import Expr

TRIES = 60


def with_batch(sample: Sample, mode: ModeProblem, source: random.Random) -> Sample:
    """The sample with a batch of the mode; two in three keep to its couplings as well."""
    batch = batch_of(sample, mode, mode.where, source) if source.random() < 0.67 else None
    return _drawn(sample, mode.live, source) if batch is None else batch


def batch_of(
    sample: Sample, mode: ModeProblem, conditions: tuple[Expr, ...], source: random.Random
) -> Sample | None:
    """The sample with a batch that satisfies some conditions, if one is drawn."""
    holds = [holding(condition, False) for condition in conditions]
    for _ in range(TRIES):
        drawn = _drawn(sample, mode.live, source)
        if all(condition(drawn) for condition in holds):
            return drawn
    return None


def _drawn(sample: Sample, live: Iterable[Live], source: random.Random) -> Sample:
    values = dict(sample.values)
    drawn = Sample(values)  # sees each value as soon as it is there
    for each in live:
        try:
            low, high = evaluate(each.low, drawn), evaluate(each.high, drawn)
        except EvaluationError:
            continue  # the range has no value where its guard is false
        if isinstance(low, int) and isinstance(high, int) and low <= high:
            corner = source.random()
            near = low if corner < 0.3 else high if corner < 0.6 else source.randint(low, high)
            values[each.name] = near
    return drawn
