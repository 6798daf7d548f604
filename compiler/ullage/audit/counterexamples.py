"""The record of a batch that does not fit, evaluated once more by the reader of configurations."""

from __future__ import annotations

from ullage.audit.model import Counterexample
from ullage.counterexample.shown import Shower
from ullage.counterexample.space import Assignment, Space
from ullage.expr.evaluate import evaluate_integer
from ullage.expr.tree import Expr, Name


def counterexample(
    shower: Shower,
    space: Space,
    assignment: Assignment,
    claim: tuple[Expr, Expr],
    guards: tuple[str, ...],
    raised: tuple[str, ...],
    minimal: bool,
) -> Counterexample:
    """The record of an assignment in which the left side of the claim is above the right.

    Raises AssertionError if the configuration reader and the solver see different numbers.
    """
    found = shower.configuration(assignment)
    live = {
        each.name: evaluate_integer(Name(each.name), assignment)
        for each in space.live
        if each.name in assignment
    }
    extent, stated = (evaluate_integer(each, {**found.values, **live}) for each in claim)
    if extent <= stated:
        raise AssertionError(f"{found.parameters} with {live} fits after all")
    matter = {
        **shower.part(found.parameters, assignment, claim),
        **shower.raised(found.parameters, assignment),
    }
    drawn_from = {space.members.get(name) for name in (*live, *matter)}
    shown = matter.keys() | drawn_from
    return Counterexample(
        {name: found.parameters[name] for name in found.parameters if name in shown},
        found.parameters,
        {each.label: live[each.name] for each in space.live if each.name in live},
        extent,
        stated,
        guards,
        raised,
        space.size(assignment),
        minimal,
    )
