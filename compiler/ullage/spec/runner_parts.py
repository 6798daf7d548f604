"""Parts of a runner, as immutable records."""

from __future__ import annotations

from dataclasses import dataclass

from ullage.expr.tree import Expr
from ullage.place import Place


@dataclass(frozen=True, slots=True)
class Within:
    """A context manager of the engine that a step runs in."""

    context: str
    when: Expr
    place: Place


@dataclass(frozen=True, slots=True)
class WarmUp:
    """Once, before serving: `step` runs on the witness batch of the first mode that applies."""

    step: str
    modes: tuple[str, ...]
    place: Place


@dataclass(frozen=True, slots=True)
class Fallback:
    """The runner that takes the batches which another one refuses."""

    runner: str
    place: Place


@dataclass(frozen=True, slots=True)
class Promise:
    """Batches of some modes, or families, of which none gets to the fallback of a runner.

    `modes`: empty for all in which the runner hands batches on; written out once it is resolved.
    """

    modes: tuple[str, ...]
    condition: Expr


@dataclass(frozen=True, slots=True)
class Capture:
    """Batches of one mode replay the graphs that a runner captures with batches of `mode`.

    `replay` may be a family: all its modes that the runner serves. `free`: axes, with a condition
    each under which nothing along the axis lies inside of the graphs.
    """

    mode: str
    replay: str
    place: Place
    free: tuple[tuple[str, Expr], ...] = ()
