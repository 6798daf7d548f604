"""Whether a slot's dtype holds its values, and 64 bits count its elements."""

from __future__ import annotations

from dataclasses import dataclass

from ullage.bound.elements import drawn_position, inside
from ullage.bound.problem import RunnerProblem
from ullage.diagnostics.diagnostic import Related
from ullage.expr.conditions import conjuncts, merged
from ullage.expr.simplify import fold
from ullage.expr.spell import spell
from ullage.expr.tree import (
    TRUE,
    Binary,
    Comparison,
    Expr,
    Integer,
    conjunction,
    disjunction,
    negation,
)
from ullage.place import Place
from ullage.plan.claims import Bounds, Claims
from ullage.plan.dtypes import dtypes_of, holds_all_of, integers_of, is_float
from ullage.plan.model import PlannedSlot
from ullage.plan.reads import spelled_range
from ullage.plan.told import Told
from ullage.spec.model import Dtype, Range, Slot

MOST_ELEMENTS = 2**63 - 1

Refusal = tuple[Expr, str, Place]


@dataclass(frozen=True, slots=True)
class Values:
    """Checks the values and sizes of one runner's slots."""

    runner: RunnerProblem
    claims: Claims
    told: Told

    def check(self, slot: Slot, planned: PlannedSlot) -> tuple[Refusal, ...]:
        """Collects what is wrong; the refusals that `on_overflow` adds to validate."""
        self._check_accepted(slot)
        self._check_size(slot, planned)
        self._check_computed(slot, planned)
        self._check_elements(slot, planned)
        self._check_live(slot, planned)
        if planned.range is None or slot.range is None:
            return ()
        found = (
            self._narrow(slot, planned, planned.range, slot.range, dtype)
            for dtype in dtypes_of(slot)
        )
        return tuple(refusal for refusal in found if refusal is not None)

    def _given(self, planned: PlannedSlot) -> tuple[Expr, ...]:
        """Where the slot exists, and some batch may load it."""
        exists = (*conjuncts(self.runner.guard), *conjuncts(planned.guard))
        ways = [
            conjunction(*(each for each in conjuncts(mode.guard) if each not in exists))
            for mode in self.runner.modes
            if mode.name in planned.tails
        ]
        given = (self.runner.guard, planned.guard, fold(disjunction(*merged(ways))))
        return tuple(each for each in given if each != TRUE)

    def _narrow(
        self, slot: Slot, planned: PlannedSlot, values: Range, written: Range, dtype: Dtype
    ) -> Refusal | None:
        """The refusal of a configuration whose values do not fit, or an error without one."""
        claim = self._fits(values, dtype)
        given = self._given(planned)
        shown = spelled_range(written)
        if slot.refuse_on_overflow:
            if self.claims.shown(claim, given):  # what is hard to see is looked at by validate
                return None
            unless = negation(conjunction(*given))
            reason = f"the values {shown} of '{slot.name}' must fit {dtype}"
            return fold(disjunction(unless, claim)), reason, slot.place
        failure = self.claims.failure(claim, given)
        if failure is None:
            return None
        low, high = integers_of(dtype)
        exactly = " exactly" if is_float(dtype) else ""
        message = (
            f"slot '{slot.name}' of dtype {dtype} holds {low} to {high}{exactly}, "
            f"and its values {shown} can lie outside"
        )
        related = ((slot.place, f"the slot, of dtype {dtype}"),)
        self._report("U603", message, written.place, failure.example, related)
        return None

    def _fits(self, values: Range, dtype: Dtype) -> Expr:
        low, high = integers_of(dtype)
        limits: Bounds = (Integer(low), Integer(high))
        ends = (values.low, values.high)
        return fold(conjunction(*(self.claims.inside(end, limits) for end in ends)))

    def _check_computed(self, slot: Slot, planned: PlannedSlot) -> None:
        """What load computes is among the slot's values, or else its dtypes hold it."""
        if planned.value is None:
            return
        bounds = _bounds(slot, planned)
        for mode in (each for each in self.runner.modes if each.name in planned.tails):
            for limit, name, code in bounds:
                claim = self.claims.inside(planned.value, limit)
                failure = self.claims.failure_of_load(claim, self.runner, mode, (planned.guard,))
                if failure is not None:
                    message = (
                        f"slot '{slot.name}' computes {spell(slot.value or planned.value)}, "
                        f"which can be outside of its {name} in mode '{mode.name}'"
                    )
                    computed = (slot.value or planned.value).place
                    related = ((computed, "computed here"), (mode.place, f"mode '{mode.name}'"))
                    self._report(code, message, slot.place, failure.example, related)
                    return

    def _check_elements(self, slot: Slot, planned: PlannedSlot) -> None:
        """What is written once is among the slot's values, or else its dtypes hold it."""
        if planned.elements is None or slot.elements is None:
            return
        drawn = drawn_position(planned.elements, (each.capacity for each in planned.dimensions))
        given = (*self._given(planned), *inside(drawn))
        for limit, called, code in _bounds(slot, planned):
            claim = self.claims.inside(planned.elements.value, limit)
            failure = self.claims.failure(claim, given, drawn)
            if failure is not None:
                written = slot.elements.value
                message = (
                    f"slot '{slot.name}' is written once with {spell(written)}, "
                    f"which can be outside of its {called}"
                )
                related = ((written.place, "its elements"),)
                self._report(code, message, slot.place, failure.example, related)
                return

    def _check_live(self, slot: Slot, planned: PlannedSlot) -> None:
        """What batches bring is part of what the slot may hold."""
        if planned.live_range is None or planned.range is None or slot.live_range is None:
            return
        whole: Bounds = (planned.range.low, planned.range.high)
        ends = (planned.live_range.low, planned.live_range.high)
        claim = fold(conjunction(*(self.claims.inside(end, whole) for end in ends)))
        failure = self.claims.failure(claim, self._given(planned))
        if failure is not None:
            message = (
                f"the live values {spelled_range(slot.live_range)} of slot '{slot.name}' "
                "can lie outside of its values"
            )
            related = ((planned.range.place, "the values"),)
            place = slot.live_range.place
            self._report("U607", message, place, failure.example, related)

    def _check_accepted(self, slot: Slot) -> None:
        """A source of a wider dtype needs a range; that the range fits is checked for all."""
        if slot.range is not None:
            return
        for accepted in slot.casts_from:
            for dtype in dtypes_of(slot):
                if not holds_all_of(dtype, accepted):
                    message = (
                        f"slot '{slot.name}' of dtype {dtype} is cast from {accepted}, "
                        f"whose values it does not all hold"
                    )
                    hint = (
                        "widen the slot's dtype"
                        if is_float(accepted)
                        else "state the slot's 'range', or widen its dtype"
                    )
                    self._report("U606", message, slot.place, hint, ())

    def _check_size(self, slot: Slot, planned: PlannedSlot) -> None:
        """The number of elements is below 2^63, so that 64 bits count elements and offsets."""
        count = 1
        for dimension in planned.dimensions:
            high = self.claims.intervals.of(dimension.capacity).high
            if high is None:
                break
            count *= max(high, 0)
        else:
            if count <= MOST_ELEMENTS:
                return
        elements: Expr = Integer(1)
        for dimension in planned.dimensions:
            elements = Binary("*", elements, dimension.capacity)
        claim = Comparison("<=", fold(elements), Integer(MOST_ELEMENTS))
        failure = self.claims.failure(claim, self._given(planned))
        if failure is not None:
            message = f"slot '{slot.name}' can have 2^63 elements or more"
            related = ((self.runner.place, f"as runner '{self.runner.runner}' loads it"),)
            self._report("U604", message, slot.place, failure.example, related)

    def _report(
        self, code: str, message: str, place: Place, hint: str | None, related: Related
    ) -> None:
        self.told.add((place,), code, message, hint=hint, related=related)


def _bounds(slot: Slot, planned: PlannedSlot) -> list[tuple[Bounds, str, str]]:
    """What a value of a slot has to lie in, how that is called, and the code if it does not."""
    if planned.range is not None and slot.range is not None:  # which its dtypes have to hold
        own: Bounds = (planned.range.low, planned.range.high)
        return [(own, f"values {spelled_range(slot.range)}", "U607")]
    limits = [(integers_of(dtype), dtype) for dtype in dtypes_of(slot)]
    return [
        ((Integer(low), Integer(high)), f"dtype {dtype}", "U603") for (low, high), dtype in limits
    ]
