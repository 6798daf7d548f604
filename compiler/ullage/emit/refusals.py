"""How a rank whose batch is refused says so where other ranks would wait for it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ullage.emit.model import RunnerModel
from ullage.emit.text import literal
from ullage.expr.simplify import fold
from ullage.expr.tree import FALSE, TRUE, Expr, conjunction, negation


@dataclass(frozen=True, slots=True)
class Exchanged:
    """One exchange of a pipeline; `guard` says for which configurations, `values` how many."""

    guard: Expr
    group: str
    collective: str
    values: int


def refusing(runner: RunnerModel, exchanges: Sequence[Exchanged], owner: str = "") -> Iterator[str]:
    """Statements that bring `refusal` to the first exchange of each group of ranks, in order.

    That one is enough: nobody of a group that has been told goes on to its next exchange.
    `owner`: what stands before the names of ranks.
    """
    source = runner.engine.settings.source("config")
    earlier: dict[str, list[Expr]] = {}
    for each in exchanges:
        guards = earlier.setdefault(each.group, [])
        is_first = fold(conjunction(each.guard, *(negation(guard) for guard in guards)))
        if each.guard in guards or is_first == FALSE:
            continue
        guards.append(each.guard)
        call = (
            f"{owner}{runner.ranks_name(each.group)}.refuse(refusal, {each.values}, "
            f"collective={literal(each.collective)})"
        )
        if is_first == TRUE:
            yield call
        else:
            yield f"if {source.of(is_first)}:"
            yield f"    {call}"


def told_on(
    runner: RunnerModel, exchange: str, group: str, later: Sequence[Exchanged]
) -> Iterator[str]:
    """The statement of one exchange; what another rank refuses in it, other groups hear later."""
    others = [each for each in later if each.group != group]
    if not others:
        yield exchange
        return
    yield "try:"
    yield f"    {exchange}"
    yield "except PeerError as refusal:"
    yield from (f"    {line}" for line in refusing(runner, others))
    yield "    raise"
