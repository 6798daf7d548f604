"""Which runner takes a batch: the runners of one worker and mode, one after another."""

from __future__ import annotations

from collections.abc import Mapping

from ullage.spec.model import Runner


def serving(runners: tuple[Runner, ...], worker: str, mode: str) -> tuple[Runner, ...]:
    """The runners that serve a mode on a worker; the names of their modes are written out."""
    return tuple(each for each in runners if worker in each.workers and mode in each.modes)


def heads(runners: tuple[Runner, ...]) -> tuple[Runner, ...]:
    """Those of the runners to which no other of them hands its batches."""
    named = {each.fallback.runner for each in runners if each.fallback is not None}
    return tuple(each for each in runners if each.name not in named)


def chain_from(head: Runner, runners: tuple[Runner, ...]) -> tuple[Runner, ...]:
    """The runners that a batch is offered to in turn, as long as none comes up twice."""
    by_name = {each.name: each for each in runners}
    found = [head]
    while (fallback := found[-1].fallback) is not None and fallback.runner in by_name:
        following = by_name[fallback.runner]
        if following in found:
            break
        found.append(following)
    return tuple(found)


def serving_by_mode(runners: tuple[Runner, ...], worker: str) -> Mapping[str, tuple[Runner, ...]]:
    """The runners that serve each mode on a worker; modes that none serves are left out."""
    found: dict[str, list[Runner]] = {}
    for runner in runners:
        if worker in runner.workers:
            for mode in dict.fromkeys(runner.modes):
                found.setdefault(mode, []).append(runner)
    return {mode: tuple(serving) for mode, serving in found.items()}


def chain(runners: tuple[Runner, ...], worker: str, mode: str) -> tuple[Runner, ...]:
    """The runners of one worker and mode in the order in which they are asked; may be empty."""
    return chain_of(serving(runners, worker, mode))


def chain_of(known: tuple[Runner, ...]) -> tuple[Runner, ...]:
    """The same for the runners that serve the mode on the worker."""
    return chain_from(heads(known)[0], known) if known else ()
