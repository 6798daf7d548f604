"""What an audit finds: verdicts, counterexamples and waste, as immutable records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from ullage.bound.steps import Step
from ullage.counterexample.values import Shown
from ullage.diagnostics.diagnostic import Diagnostic
from ullage.expr.tree import Expr
from ullage.place import Place
from ullage.spec.model import DeviceRole

Verdict = Literal["proved", "overflows", "undecided"]
Overall = Literal["proved", "wastes", "overflows", "undecided"]


@dataclass(frozen=True, slots=True)
class Counterexample:
    """A legal configuration with a legal batch for which the formula is too small.

    `parameters` has every parameter that exists, an enum by its value; `configuration` is the part
    of it that is not at its least value or enters the numbers. `live` has what the batch brings, by
    the labels of its live variables. `guards` are the switches that must be on: with any of them
    off, and those that are off here left off, every batch fits. Where no switch matters, `raised`
    tells which integers must be above their least values. `minimal`: no batch that overflows under
    these switches has a smaller `size`, the sum of all integers above their least values.
    """

    configuration: Mapping[str, Shown]
    parameters: Mapping[str, Shown]
    live: Mapping[str, int]
    extent: int
    stated: int
    guards: tuple[str, ...]
    raised: tuple[str, ...]
    size: int
    minimal: bool


@dataclass(frozen=True, slots=True)
class Waste:
    """A legal configuration in which the formula gives more than any batch needs.

    `origin` says how the configuration was found. `stated` and `needed` count rows of the axis, or
    elements of the slot; `bytes_by_device` is what the difference costs over all slots that follow.
    """

    origin: str
    configuration: Mapping[str, Shown]
    parameters: Mapping[str, Shown]
    stated: int
    needed: int
    bytes_by_device: Mapping[DeviceRole, int]

    @property
    def rows(self) -> int:
        """How many rows nobody needs."""
        return self.stated - self.needed

    @property
    def bytes(self) -> int:
        """What these rows cost on all devices."""
        return sum(self.bytes_by_device.values())


@dataclass(frozen=True, slots=True)
class ModeVerdict:
    """Whether the formula is enough for one mode.

    `counterexamples` are of different causes, the guards of each excluded in the search for the
    next; `complete` says that no other cause is left. `wastes`: it is enough, and more than the
    derived capacity in some configuration in which the mode occurs; None where that is not known.
    `proof` claims extent <= formula where that is `proved` of this mode alone.
    """

    mode: str
    verdict: Verdict
    counterexamples: tuple[Counterexample, ...]
    complete: bool
    wastes: bool | None
    proof: Step | None

    @property
    def overall(self) -> Overall:
        """The verdict, with waste."""
        return "wastes" if self.verdict == "proved" and self.wastes else self.verdict


@dataclass(frozen=True, slots=True)
class FormulaReport:
    """One stated formula of one runner and worker, against the capacity derived for `target`.

    `when`: for which configurations it is stated; `modes` are those that can occur in them.
    `within` claims that whatever is within the capacities is within the formula too, where that
    was found; no mode needs a proof of its own then.
    """

    audit: str
    runner: str
    target: str
    when: Expr
    formula: Expr
    capacity: Expr
    expect: tuple[tuple[str, str], ...]
    modes: tuple[ModeVerdict, ...]
    wastes: tuple[Waste, ...]
    within: Step | None
    place: Place

    @property
    def overall(self) -> Overall:
        """`overflows` if any mode does, else `undecided` if any is; else whether it wastes."""
        verdicts = {mode.verdict for mode in self.modes}
        if "overflows" in verdicts:
            return "overflows"
        if "undecided" in verdicts:
            return "undecided"
        return "wastes" if self.wastes else "proved"

    def of(self, mode: str) -> ModeVerdict:
        """The verdict on one mode."""
        for verdict in self.modes:
            if verdict.mode == mode:
                return verdict
        raise KeyError(mode)


@dataclass(frozen=True, slots=True)
class AuditReport:
    """All stated formulas in declared order; `diagnostics` are the expectations that failed."""

    formulas: tuple[FormulaReport, ...]
    diagnostics: tuple[Diagnostic, ...]

    def of(self, audit: str) -> tuple[FormulaReport, ...]:
        """The formulas of one audit."""
        return tuple(each for each in self.formulas if each.audit == audit)
