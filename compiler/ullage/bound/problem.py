"""The legal domain and the modes of each runner, specialised to one worker at a time.

`worker` is a constant here: a per-worker parameter or a definition that depends on the worker has
become one name for each worker (`max_total_tokens_draft`). Every mode is composed with its
pipeline, so that its extents are expressions over live variables and parameters only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from ullage.bound.steps import Step
from ullage.expr.tree import TRUE, Comparison, Expr, conjunction, disjunction, negation
from ullage.place import Place
from ullage.spec.model import ParameterType


@dataclass(frozen=True, slots=True)
class Variable:
    """One resolved parameter; `low` and `high` bound its value, or each element of a list."""

    name: str
    type: ParameterType
    low: Expr | None
    high: Expr | None
    guard: Expr
    place: Place


@dataclass(frozen=True, slots=True)
class Definition:
    """A name for an expression over parameters, meaningful where `guard` holds."""

    name: str
    kind: Literal["int", "bool", "list"]
    value: Expr
    guard: Expr
    place: Place


@dataclass(frozen=True, slots=True)
class Constraint:
    """What every legal configuration satisfies."""

    that: Expr
    reason: str
    place: Place


@dataclass(frozen=True, slots=True)
class Domain:
    """All legal resolved configurations; definitions in dependency order."""

    variables: tuple[Variable, ...]
    definitions: tuple[Definition, ...]
    constraints: tuple[Constraint, ...]


@dataclass(frozen=True, slots=True)
class Live:
    """A live variable, bounded by expressions over earlier ones and parameters.

    `origin` tells an own variable from one of another rank, and from the total of a per-request
    variable; `label` is how a person would name it. `every_value`: each integer of the range is
    reached by some legal batch, which is not so for totals in general. The range holds where
    `guard` does: another rank can be in a mode only where that mode and a second rank exist.
    """

    name: str
    low: Expr
    high: Expr
    guard: Expr
    origin: str
    label: str
    place: Place
    every_value: bool = True


@dataclass(frozen=True, slots=True)
class Coupling:
    """A relation between live variables, wherever `guard` holds; `stated` by the author.

    `bounds`: it is of a form from which bounds of the variables can be read. `chooses`: it is not
    about the mode but about which of its batches the runner gets.
    """

    condition: Expr
    guard: Expr = TRUE
    stated: bool = True
    bounds: bool = True
    chooses: bool = False

    @property
    def claim(self) -> Expr:
        """The coupling as one condition."""
        return disjunction(negation(self.guard), self.condition)


@dataclass(frozen=True, slots=True)
class Rewriting:
    """A condition that, wherever `guard` holds, says the same as its parts do together.

    Without parts it stays as it is.
    """

    condition: Expr
    guard: Expr
    parts: tuple[Rewriting, ...]

    @property
    def claim(self) -> Expr:
        """What it says, guard included."""
        return disjunction(negation(self.guard), self.condition)


@dataclass(frozen=True, slots=True)
class Reach:
    """The most that an amount comes to in any batch of a mode, wherever `guard` holds.

    `within` says of parameters what `amount <= limit` says of each batch.
    """

    amount: Expr
    limit: Expr
    guard: Expr
    most: Expr
    sound: Step

    @property
    def within(self) -> Expr:
        """Whether no batch passes the limit."""
        return disjunction(negation(self.guard), Comparison("<=", self.most, self.limit))


@dataclass(frozen=True, slots=True)
class Taken:
    """Batches of a mode that an exclusive runner takes: those that all of `accepts` hold for.

    `exists`: for which configurations there is that runner; `left` is what is so of every batch
    that it leaves. `reaches`: one for each comparison that the conditions come to, so that all
    batches are taken where all are within; None where that is not known.
    """

    runner: str
    exists: Expr
    accepts: tuple[Rewriting, ...]
    left: Rewriting
    reaches: tuple[Reach, ...] | None = None

    @property
    def some_left(self) -> Expr:
        """Where batches are left over, over parameters; true where that is not known."""
        if self.reaches is None:
            return TRUE
        every = conjunction(*(each.within for each in self.reaches))
        return disjunction(negation(self.exists), negation(every))


@dataclass(frozen=True, slots=True)
class Share:
    """What one rank brings to a sum or a maximum over ranks."""

    brought: Expr
    place: Place


@dataclass(frozen=True, slots=True)
class Stage:
    """The axes after one transform of the pipeline (or before the first, `transform` None).

    `of_runner`: the transform is one of the runner's own, for batches that it accepts.
    """

    transform: str | None
    guard: Expr
    extents: Mapping[str, Expr]
    place: Place
    of_runner: bool = False


@dataclass(frozen=True, slots=True)
class ModeProblem:
    """One mode of one runner and worker: legal live batches, and the extents that they load.

    `live_extents` are the rows that the sources bring: the axes before anything pads. `accepts`
    are the runner's conditions on its batches, as rewritten into couplings. `taken` is what other
    runners take before: of what is `offered`, `guard` holds only where some batches are left.
    `shares` are what ranks bring to sums and maxima over ranks, none of it negative.
    """

    name: str
    guard: Expr
    live: tuple[Live, ...]
    couplings: tuple[Coupling, ...]
    extents: Mapping[str, Expr]
    stages: tuple[Stage, ...]
    place: Place
    live_extents: Mapping[str, Expr] = field(default_factory=dict)
    accepts: tuple[Rewriting, ...] = ()
    taken: tuple[Taken, ...] = ()
    offered: Expr = TRUE
    shares: tuple[Share, ...] = ()

    @property
    def of_all_runners(self) -> ModeProblem:
        """The mode with all its batches, whichever runner gets them."""
        return replace(self, couplings=tuple(each for each in self.couplings if not each.chooses))

    @property
    def where(self) -> tuple[Expr, ...]:
        """The couplings as conditions."""
        return tuple(coupling.claim for coupling in self.couplings)


@dataclass(frozen=True, slots=True)
class RunnerProblem:
    """One runner of one worker. `targets` are what needs a capacity: axes and slot extents.

    `slack` gives the reason for each target whose capacity may be larger than any batch needs.
    `dimensions` has the target that each dimension of a slot takes; None where it is fixed.
    `along` has the axis of each target that is an axis over fewer modes than the runner has.
    """

    name: str
    runner: str
    worker: str
    guard: Expr
    modes: tuple[ModeProblem, ...]
    targets: tuple[str, ...]
    place: Place
    slack: Mapping[str, str] = field(default_factory=dict)
    dimensions: Mapping[str, tuple[str | None, ...]] = field(default_factory=dict)
    along: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Problem:
    """What the deriver and the checker work on: a domain and its runners."""

    domain: Domain
    runners: tuple[RunnerProblem, ...]
