"""Checking that the runners of each worker and mode form a chain that takes every batch."""

from __future__ import annotations

from dataclasses import dataclass, field

from ullage.diagnostics.diagnostic import Collector
from ullage.expr.tree import TRUE
from ullage.spec import problems
from ullage.spec.chains import chain_from, heads, serving
from ullage.spec.model import Runner, Spec


def check_chains(spec: Spec, runners: tuple[Runner, ...], collector: Collector) -> None:
    """Every batch has one runner that is asked first, and one that takes it in the end.

    `runners` are resolved; what is wrong with several modes of a runner is said once.
    """
    checker = _Checker(collector)
    names = {runner.name for runner in runners}
    for runner in runners:
        checker.check_needed(runner)
        if runner.fallback is not None and runner.fallback.runner not in names:
            return  # the name is reported already, and what it would make of the chains is open
    for worker in spec.workers:
        for mode in spec.modes:
            known = serving(runners, worker.name, mode.name)
            if known:
                checker.check(known, worker.name, mode.name, runners)


@dataclass
class _Checker:
    collector: Collector
    reported: set[tuple[str, ...]] = field(default_factory=set)

    def check_needed(self, runner: Runner) -> None:
        """What a runner hands on, it does not take itself."""
        if runner.fallback is not None and not runner.accepts and runner.when == TRUE:
            message = f"runner '{runner.name}' takes every batch, so its fallback gets none"
            hint = "say with 'accepts' or 'when' what it takes, or leave 'fallback' out"
            place = runner.fallback.place
            self.collector.error(problems.CONTRADICTING_KEYS, message, place, hint=hint)

    def check(
        self, known: tuple[Runner, ...], worker: str, mode: str, runners: tuple[Runner, ...]
    ) -> None:
        where = f"mode '{mode}' of worker '{worker}'"
        handing = tuple(each for each in known if mode not in each.accepts_all)
        self._check_fallbacks(handing, known, where, runners)
        first = heads(known)
        if not first:
            self._report_circle(chain_from(known[0], known), where)
            return
        if len(first) > 1:
            self._report_no_order(first, where)
            return
        found = chain_from(first[0], known)
        left = tuple(each for each in known if each not in found)
        if left:
            self._report_circle(chain_from(left[0], left), where)
        elif found[-1].accepts_in(mode) and found[-1].fallback is None:
            self._report_refused(found[-1], where)

    def _check_fallbacks(
        self,
        handing: tuple[Runner, ...],
        known: tuple[Runner, ...],
        where: str,
        runners: tuple[Runner, ...],
    ) -> None:
        """Whoever is handed batches of a mode serves it on this worker."""
        every = {each.name: each for each in runners}
        for runner in handing:
            fallback = runner.fallback
            if fallback is None or fallback.runner not in every:
                continue
            other = every[fallback.runner]
            if other not in known and self._is_new("unserved", runner.name):
                message = (
                    f"runner '{other.name}' does not serve {where}, "
                    f"whose batches '{runner.name}' hands to it"
                )
                hint = f"add it to the modes and workers of '{other.name}'"
                related = ((other.place, f"runner '{other.name}'"),)
                code = problems.NO_TAKER
                self.collector.error(code, message, fallback.place, hint=hint, related=related)

    def _report_circle(self, circle: tuple[Runner, ...], where: str) -> None:
        names = [each.name for each in circle]
        if self._is_new("circle", *sorted(names)):
            shown = " -> ".join((*names, names[0]))
            message = f"the runners of {where} hand batches to each other: {shown}"
            related = tuple((each.place, f"runner '{each.name}'") for each in circle[1:])
            self.collector.error(problems.NO_CHAIN, message, circle[0].place, related=related)

    def _report_no_order(self, first: tuple[Runner, ...], where: str) -> None:
        one, other = first[:2]
        if self._is_new("order", one.name, other.name):
            message = (
                f"runners '{one.name}' and '{other.name}' both serve {where}, "
                "and neither is asked before the other"
            )
            hint = "name the one that is asked later as the 'fallback' of the other"
            related = ((one.place, f"runner '{one.name}'"),)
            code, place = problems.NO_CHAIN, other.place
            self.collector.error(code, message, place, hint=hint, related=related)

    def _report_refused(self, last: Runner, where: str) -> None:
        if self._is_new("refused", last.name):
            message = f"no runner takes the batches of {where} that '{last.name}' refuses"
            hint = "name a 'fallback' that serves the mode too"
            place = last.accepts[0].place
            self.collector.error(problems.NO_TAKER, message, place, hint=hint)

    def _is_new(self, *key: str) -> bool:
        is_new = key not in self.reported
        self.reported.add(key)
        return is_new
