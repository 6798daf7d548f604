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
from ullage.expr.simplify import fold
from ullage.expr.tree import (
    TRUE,
    Call,
    Comparison,
    Conditional,
    Expr,
    Integer,
    conjunction,
    disjunction,
    free_names,
    negation,
    substitute,
)
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
    """What every legal configuration satisfies.

    A `rare` one is broken by few of those that satisfy the others: proofs do without, and a search
    for examples takes it up once one breaks it.
    """

    that: Expr
    reason: str
    place: Place
    rare: bool = False


@dataclass(frozen=True, slots=True)
class Domain:
    """All legal resolved configurations; definitions in dependency order."""

    variables: tuple[Variable, ...]
    definitions: tuple[Definition, ...]
    constraints: tuple[Constraint, ...]

    @property
    def usual(self) -> tuple[Expr, ...]:
        """The constraints that are not rare."""
        return tuple(each.that for each in self.constraints if not each.rare)

    @property
    def unusual(self) -> tuple[Expr, ...]:
        """Those that are."""
        return tuple(each.that for each in self.constraints if each.rare)

    @property
    def inhabited(self) -> tuple[Constraint, ...]:
        """That parameters have a value, for those whose range depends on others."""
        return tuple(
            Constraint(
                disjunction(negation(each.guard), Comparison("<=", each.low, each.high)),
                f"the range of '{each.name}' has a value",
                each.place,
            )
            for each in self.variables
            if each.low is not None and each.high is not None
            if free_names(each.low) | free_names(each.high)
        )


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
class Round:
    """A round in which all other ranks bring one and the same batch, exactly as it comes to be.

    `others` is the origin of the live variables of that batch; empty where it is the own one.
    `guard`: for which configurations there is such a round; `takes`: the runner gets the own batch.
    """

    others: str
    guard: Expr
    extents: Mapping[str, Expr]
    takes: Expr = TRUE

    def attained(self, target: str, witness: Mapping[str, Expr]) -> Expr:
        """The extent of a batch, and zero where there is no such round or another runner gets it.

        `witness`: the live variables over parameters.
        """
        values = dict(witness)
        there = conjunction(self.guard, substitute(self.takes, values))
        extent = substitute(self.extents[target], values)
        return fold(Conditional(there, extent, Integer(0)))


@dataclass(frozen=True, slots=True)
class ModeProblem:
    """One mode of one runner and worker: legal live batches, and the extents that they load.

    `live_extents` are the rows that the sources bring: the axes before anything pads. `accepts`
    are the runner's conditions on its batches, as rewritten into couplings. `taken` is what other
    runners take before: of what is `offered`, `guard` holds only where some batches are left.
    `shares` are what ranks bring to sums and maxima over ranks, none of it negative.

    Bounds rest on `extents` and `live`, which may stand for more than can be: which way ranks go
    together, and what several of them bring. What is attained rests on `rounds`, each of which is
    real; without any, the extents are exact.
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
    rounds: tuple[Round, ...] = ()

    @property
    def real_rounds(self) -> tuple[Round, ...]:
        """The rounds in which a batch may attain an extent; one where ranks agree on nothing."""
        if self.rounds:
            return self.rounds
        takes = conjunction(*(each.claim for each in self.couplings if not each.bounds))
        return (Round("", TRUE, self.extents, takes),)

    def attained(self, target: str, witness: Mapping[str, Expr], others: tuple[str, ...]) -> Expr:
        """The largest extent of a batch in the rounds with these others."""
        rounds = tuple(each for each in self.real_rounds if each.others in others)
        parts = tuple(each.attained(target, witness) for each in rounds)
        return fold(parts[0] if len(parts) == 1 else Call("max", (Integer(0), *parts)))

    def seen_in(self, target: str, others: tuple[str, ...]) -> frozenset[str]:
        """The live variables of the batches in some rounds; what only stands for ranks is none."""
        rounds = (each for each in self.real_rounds if each.others in others)
        brought = (each.name for each in self.live if each.origin in ("own", *others))
        return frozenset(brought).union(
            *(free_names(each.extents[target]) | free_names(each.takes) for each in rounds)
        )

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
