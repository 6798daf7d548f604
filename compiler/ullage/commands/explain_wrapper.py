"""One wrapper: its class, what it is made of and planned with, and whose batches fit."""

from __future__ import annotations

from dataclasses import dataclass

from ullage.analysis import Analysis
from ullage.bound.domain import for_worker
from ullage.commands.formulas import broken
from ullage.commands.readable import bracketed
from ullage.commands.reporting import Json
from ullage.commands.settings import Settings, plain, shown
from ullage.commands.subjects import WrapperSubject
from ullage.commands.terminal import Page
from ullage.expr.spell import spell
from ullage.expr.tree import TRUE, Expr
from ullage.spec.wrappers import (
    FormulaValue,
    GivenValue,
    SlotValue,
    TextValue,
    Wrapper,
    WrapperArgument,
)


def runners_that_fit(analysis: Analysis, wrapper: Wrapper) -> list[str]:
    """The runners whose batches have all slots of a wrapper, in declared order; none for none."""
    wanted = {value.slot for value in wrapper.slot_values}
    if not wanted:
        return []
    return [
        runner.name
        for runner in analysis.plan.runners
        if wanted.issubset(slot.name for slot in runner.slots)
    ]


def batches_of(analysis: Analysis, wrapper: Wrapper) -> str:
    """Over which batches a wrapper is."""
    runners = runners_that_fit(analysis, wrapper)
    return f"over batches of {', '.join(runners)}" if runners else "over no slots"


def show(
    analysis: Analysis, subject: WrapperSubject, settings: Settings | None, page: Page
) -> None:
    """What a reader of the spec wants to know of a wrapper, on one page."""
    _Explanation(analysis, subject.wrapper, settings, page).show()


@dataclass(frozen=True, slots=True)
class _Explanation:
    analysis: Analysis
    wrapper: Wrapper
    settings: Settings | None
    page: Page

    def show(self) -> None:
        wrapper, page = self.wrapper, self.page
        page.sides([(wrapper.name, "bold")], wrapper.place.short)
        if wrapper.doc:
            page.wrapped(wrapper.doc, indent=2)
        if wrapper.when != TRUE:
            page.lines(broken(f"where {spell(wrapper.when)}", page.width - 2), indent=2)
        page.line()
        if self.settings is not None and not self.settings.holds(self._own(wrapper.when)):
            page.line(f"here    there is no {wrapper.name}: not {bracketed(wrapper.when)}")
            return
        page.line(f"of      {wrapper.library}")
        if wrapper.each is not None:
            count = self._formula(wrapper.each.count)
            page.line(f"each    {wrapper.each.index}, of which there are {count}")
        for key, arguments in (("make", wrapper.make), ("plan", wrapper.plan)):
            self._arguments(key, arguments)
        given = ", ".join(f"{each.name}: {each.kind}" for each in wrapper.run)
        page.wrapped(f"run     ({given})")
        page.line()
        page.wrapped(batches_of(self.analysis, wrapper))

    def _arguments(self, key: str, arguments: tuple[WrapperArgument, ...]) -> None:
        if arguments:
            self.page.line(key)
        for each in arguments:
            text = self._value(each)
            self.page.sides([(each.name, "cyan"), f"  {text}"], each.place.short, indent=2)

    def _value(self, argument: WrapperArgument) -> str:
        match argument.value:
            case SlotValue() as seen:
                return self._slot(seen)
            case GivenValue(kind=kind):
                return f"given by the engine, {kind}"
            case TextValue(text=text):
                return ascii(text)
            case FormulaValue(formula=formula):
                return self._formula(formula)

    def _slot(self, seen: SlotValue) -> str:
        slot = self.analysis.resolved.slots[seen.slot]
        extents = slot.shape if seen.at is None else slot.shape[1:]
        shape = ", ".join(map(spell, extents))
        row = "" if seen.at is None else f"[{seen.at}]"
        return f"slot {slot.name}{row} [{shape}]{' in one axis' if seen.flat else ''}"

    def _formula(self, formula: Expr) -> str:
        text = spell(formula)
        if self.settings is None:
            return text
        value = shown(self.settings.value(self._own(formula)))
        return text if text == value else f"{text} = {value}"

    def _own(self, expr: Expr) -> Expr:
        """As configurations are asked; it is the same for every worker."""
        resolved = self.analysis.resolved
        return for_worker(resolved, resolved.spec.workers[0].name)(expr)


def document(analysis: Analysis, subject: WrapperSubject, settings: Settings | None) -> Json:
    """What `--json` writes; numbers are there with a configuration only."""
    wrapper = subject.wrapper
    resolved = analysis.resolved
    own = for_worker(resolved, resolved.spec.workers[0].name)
    exists = settings is None or settings.holds(own(wrapper.when))

    def record(argument: WrapperArgument) -> Json:
        match argument.value:
            case SlotValue(slot=slot, at=at, flat=flat):
                return {"name": argument.name, "slot": slot, "at": at, "flat": flat}
            case GivenValue(kind=kind):
                return {"name": argument.name, "given": kind}
            case TextValue(text=text):
                return {"name": argument.name, "text": text}
            case FormulaValue(formula=formula):
                known = settings is not None and exists
                value = plain(settings.value(own(formula))) if settings and known else None
                return {"name": argument.name, "formula": spell(formula), "value": value}

    return {
        **summary(analysis, wrapper),
        "exists": None if settings is None else exists,
        "make": list(map(record, wrapper.make)),
        "plan": list(map(record, wrapper.plan)),
        "run": [{"name": each.name, "given": each.kind} for each in wrapper.run],
    }


def summary(analysis: Analysis, wrapper: Wrapper) -> dict[str, Json]:
    """A wrapper in a list of all."""
    each = wrapper.each
    runners: list[Json] = list(runners_that_fit(analysis, wrapper))
    return {
        "wrapper": wrapper.name,
        "library": wrapper.library,
        "when": spell(wrapper.when),
        "each": None if each is None else {"index": each.index, "count": spell(each.count)},
        "runners": runners,
        "place": str(wrapper.place),
    }
