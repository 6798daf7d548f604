"""Whether every batch has a runner: the last of each chain exists wherever its mode occurs."""

from __future__ import annotations

from ullage.bound.domain import for_worker
from ullage.counterexample.examples import Examples
from ullage.diagnostics.diagnostic import Collector
from ullage.expr.spell import spell
from ullage.prove.solver import Solver
from ullage.spec import problems
from ullage.spec.chains import chain
from ullage.spec.check import ResolvedSpec


def check_takers(resolved: ResolvedSpec, solver: Solver, collector: Collector) -> None:
    """Report each runner that would have to take a batch where it does not exist, once."""
    reported: set[str] = set()
    for worker in resolved.spec.workers:
        rewrite = for_worker(resolved, worker.name)
        for mode in resolved.spec.modes:
            asked = chain(resolved.spec.runners, worker.name, mode.name)
            if not asked or asked[-1].name in reported:
                continue
            last = asked[-1]
            exists, given = rewrite(last.when), (rewrite(worker.when), rewrite(mode.when))
            if not solver.proves(exists, given):
                reported.add(last.name)
                message = (
                    f"runner '{last.name}' takes what is left of mode '{mode.name}' of worker "
                    f"'{worker.name}', but does not exist where not {spell(exists)}"
                )
                hint = Examples(resolved, solver).against(exists, given)
                related = ((mode.place, f"mode '{mode.name}'"),)
                code, place = problems.NO_TAKER, last.when.place
                collector.error(code, message, place, hint=hint, related=related)
