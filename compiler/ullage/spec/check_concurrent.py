"""Checking `concurrent`: conditions, and that a runner stands in one part of a group only."""

from __future__ import annotations

from dataclasses import replace

from ullage.spec import problems
from ullage.spec.definitions import Globals
from ullage.spec.model import Concurrent, Spec
from ullage.spec.scope import Expressions


def resolve_concurrent(
    group: Concurrent, spec: Spec, known: Globals, expressions: Expressions
) -> Concurrent:
    """The group with its condition resolved; it comes out the same for every worker."""
    _check_parts(group, spec, expressions)
    scope = known.scope_of_all_workers("the 'when' of a concurrent group")
    return replace(group, when=expressions.condition(group.when, scope))


def runners_named(spec: Spec, name: str) -> tuple[str, ...]:
    """The runners, as `<runner>_<worker>`, that one name of a group means."""
    every = [(runner.name, worker) for runner in spec.runners for worker in runner.workers]
    return tuple(
        f"{runner}_{worker}" for runner, worker in every if name in (runner, f"{runner}_{worker}")
    )


def _check_parts(group: Concurrent, spec: Spec, expressions: Expressions) -> None:
    seen: set[str] = set()
    for name in group.runners:
        meant = runners_named(spec, name)
        twice = seen.intersection(meant)
        if twice:
            message = f"'{name}' means {min(twice)} too, which is in the group already"
            hint = "a name of a runner means that of every worker"
            code = problems.DEFINED_TWICE
            expressions.collector.error(code, message, group.place, hint=hint)
        seen.update(meant)
