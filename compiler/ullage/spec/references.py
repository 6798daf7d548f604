"""References by name, and the errors for names that lead nowhere."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from ullage.diagnostics.diagnostic import Collector
from ullage.expr.errors import suggestion
from ullage.place import Place
from ullage.spec import problems

ReferenceKind = Literal[
    "axis",
    "worker",
    "family",
    "mode",
    "mode or family",
    "runner",
    "runner of a worker",
    "transform",
    "slot",
    "slot or group",
    "axis or slot",
    "reader",
    "context",
    "value",
    "list parameter",
]


@dataclass(frozen=True, slots=True)
class Reference:
    """A name that something refers to; contexts and values belong to the runner `owner`."""

    kind: ReferenceKind
    name: str
    place: Place
    owner: str = ""


def report_unknown(
    collector: Collector,
    what: str,
    name: str,
    known: Iterable[str],
    place: Place,
) -> None:
    """Collect that there is no `what`; the hint is the nearest to `name` of the known names."""
    message, hint = f"there is no {what}", suggestion(name, known)
    collector.error(problems.UNKNOWN_REFERENCE, message, place, hint=hint)
