"""Whether the configuration in which nothing is given is legal, as far as defaults make it one."""

from __future__ import annotations

from dataclasses import replace

from ullage.bound.problem import Domain
from ullage.configuration.values import BROKEN_CONSTRAINT, MISSING_PARAMETER, complete
from ullage.diagnostics.diagnostic import Collector, DiagnosticError
from ullage.spec.check import ResolvedSpec


def check_defaults(resolved: ResolvedSpec, domain: Domain, collector: Collector) -> None:
    """Report defaults that break a range or a constraint, at the last one that it rests on.

    What rests on a parameter without a default is left to whoever gives it a value.
    """
    try:
        complete(resolved, {}, domain=domain, place=resolved.spec.place, at_defaults=True)
    except DiagnosticError as error:
        for each in error.diagnostics:
            if each.code != MISSING_PARAMETER:
                broken = "this is broken: " if each.code == BROKEN_CONSTRAINT else ""
                message = f"where nothing is given, {broken}{each.message}"
                collector.add(replace(each, message=message))
