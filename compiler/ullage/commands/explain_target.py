"""The derivation of one capacity: each mode's extent through its pipeline, and its largest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from ullage.analysis import Analysis
from ullage.bound.capacities import Candidate, Capacity
from ullage.bound.problem import Coupling, Live, ModeProblem
from ullage.commands.check import binding_modes, verdicts
from ullage.commands.definitions import definitions_of
from ullage.commands.formulas import broken
from ullage.commands.readable import Readable, bracketed, conjuncts, readable
from ullage.commands.settings import Settings, Value, shown
from ullage.commands.subjects import TargetSubject
from ullage.commands.terminal import Page
from ullage.expr.spell import spell
from ullage.expr.tree import TRUE, Expr, free_names


def show(analysis: Analysis, subject: TargetSubject, settings: Settings | None, page: Page) -> None:
    """The capacity, then the modes that it is the maximum of, then the names it uses.

    With a configuration, what does not occur in it is left out.
    """
    _Explanation(analysis, subject, settings, page).show()


@dataclass
class _Explanation:
    """Writes one page.

    `used` are the formulas on it, whose names are explained at its end, each with where it stands.
    """

    analysis: Analysis
    subject: TargetSubject
    settings: Settings | None
    page: Page
    used: dict[Expr, str] = field(default_factory=dict)

    @property
    def capacity(self) -> Capacity:
        return self.analysis.capacities.of(self.subject.runner.name, self.subject.target)

    def show(self) -> None:
        runner = self.subject.runner
        self._heading()
        if self.settings is not None and not self.settings.holds(runner.guard):
            self.page.line()
            why = f"not {bracketed(runner.guard)}"
            self.page.line((f"here there is no {runner.name}: {why}", "bold"))
            return
        self._capacity()
        absent = [each.name for each in self.subject.modes if not self._occurs(each)]
        for mode in self.subject.modes:
            if self._occurs(mode):
                self.page.line()
                _Mode(self, mode).show()
        if absent:
            self.page.line()
            self.page.wrapped(f"not in this configuration: {', '.join(absent)}")
        self._names()

    def _occurs(self, mode: ModeProblem) -> bool:
        return self.settings is None or self.settings.holds(mode.guard)

    def _heading(self) -> None:
        runner, target, page = self.subject.runner, self.subject.target, self.page
        page.sides([(f"{runner.name}.{target}", "bold")], runner.place.short)
        for axis in self.analysis.resolved.spec.axes:
            if axis.name == target and axis.doc:
                page.sides([axis.doc], axis.place.short, indent=2)
        if runner.guard != TRUE:
            page.line(f"where {spell(runner.guard)}", indent=2)

    def _capacity(self) -> None:
        page, settings, formula = self.page, self.settings, self.capacity.formula
        proof = self.analysis.certificate.of(self.subject.runner.name, self.subject.target)
        page.line()
        page.line("capacity  ", *verdicts(proof), f"  {proof.obligations} obligations")
        view = readable(self.analysis.problem.domain, settings)
        if settings is None:
            self.formula(view(formula), 4, "the capacity")
        else:
            page.lines(broken(spell(formula), page.width - 4), indent=4)
            self._here(formula, view(formula))
        page.wrapped("bound by " + ", ".join(binding_modes(self.capacity)), indent=2)
        if settings is not None:
            binding = ", ".join(settings.binding(self.capacity))
            page.wrapped("here by " + (binding or "no mode, since none occurs"), indent=2)
        if proof.slack is not None:
            page.wrapped(f"slack: {proof.slack}", indent=2)
        for flaw in proof.flaws:
            page.line((flaw, "red"), indent=2)

    def _here(self, formula: Expr, decided: Expr) -> None:
        """What this configuration leaves of the formula, and its value."""
        if decided != formula:
            self.page.line("which is here", indent=2)
            self.formula(decided, 4, "the capacity here")
        self.number(formula, 4)

    def formula(self, formula: Expr, indent: int, where: str) -> None:
        """A formula over as many lines as it takes; one of several lines stands only once."""
        lines = broken(spell(formula), self.page.width - indent)
        if len(lines) > 1 and formula in self.used:
            lines = [f"as {self.used[formula]}"]
        self.used.setdefault(formula, where)
        self.page.lines(lines, indent=indent)

    def number(self, formula: Expr, indent: int, batch: Mapping[str, Value] | None = None) -> None:
        """The value in the configuration, if there is one."""
        if self.settings is not None:
            number = shown(self.settings.value(formula, batch))
            self.page.line((f"= {number}", "bold"), indent=indent)

    def _names(self) -> None:
        found = definitions_of(self.analysis.problem.domain, *self.used)
        if found:
            self.page.line()
            self.page.line("names")
        for definition in found:
            self.page.sides([(definition.name, "cyan")], definition.place.short, indent=2)
            self.page.lines(broken(spell(definition.value), self.page.width - 4), indent=4)
            self.number(definition.value, 4)


class _Mode:
    """One mode on the page."""

    def __init__(self, whole: _Explanation, mode: ModeProblem) -> None:
        self.whole, self.mode = whole, mode
        self.page, self.settings, self.target = whole.page, whole.settings, whole.subject.target
        self.view: Readable = readable(whole.analysis.problem.domain, self.settings, mode)
        self.couplings = [each for each in mode.couplings if self._holds_here(each.guard)]
        present = [each for each in mode.live if self._holds_here(each.guard)]
        needed = self._needed(present)
        self.live = [each for each in present if each.name in needed]
        self.candidates = [
            each
            for each in whole.capacity.candidates
            if each.mode == mode.name and self._holds_here(each.condition)
        ]

    def _holds_here(self, guard: Expr) -> bool:
        return self.settings is None or self.settings.holds(guard)

    def _needed(self, present: list[Live]) -> set[str]:
        """The variables of the batch itself, and those of other ranks that the extent rests on."""
        extents = [self.view(extent) for extent in self._extents()]
        needed = set().union(*(free_names(extent) for extent in extents))
        needed |= {each.name for each in present if not each.origin}
        names = {each.name for each in present}
        ties = [free_names(each.condition) & names for each in self.couplings]
        while more := set().union(*(tie for tie in ties if tie & needed)) - needed:
            needed |= more
        return needed

    def _extents(self) -> Iterator[Expr]:
        for stage in self.mode.stages:
            if self.target in stage.extents:
                yield stage.extents[self.target]
        yield self.mode.extents[self.target]

    def show(self) -> None:
        """When the mode occurs, its live batch, its extent stage by stage, and the largest."""
        page, mode = self.page, self.mode
        page.sides(["mode ", (mode.name, "bold cyan")], mode.place.short)
        if mode.guard != TRUE and self.settings is None:
            page.lines(broken(f"when {spell(mode.guard)}", page.width - 2), indent=2)
        self._live()
        self._stages()
        for candidate in self.candidates:
            self._candidate(candidate)

    def _live(self) -> None:
        if self.live:
            self.page.line("live batch", indent=2)
        for live in self.live:
            low, high = self.view(live.low), self.view(live.high)
            for end in (low, high):
                self.whole.used.setdefault(end, f"a range of mode {self.mode.name}")
            bounds = f"{spell(low)} <= {live.name} <= {spell(high)}"
            self.page.sides([bounds], live.place.short, indent=4)
            if live.label != live.name:
                self.page.line((live.label, "dim"), indent=6)
        names = {each.name for each in self.live}
        for coupling in self.couplings:
            if free_names(coupling.condition) & names:
                self._coupling(coupling)

    def _coupling(self, coupling: Coupling) -> None:
        self.page.lines(broken(spell(coupling.condition), self.page.width - 4), indent=4)
        if self.settings is None and coupling.guard != TRUE:
            where = f"where {spell(coupling.guard)}"
            self.page.lines(broken(where, self.page.width - 6), indent=6)

    def _stages(self) -> None:
        """The extent after each transform; with a configuration, that of the largest batch."""
        page, target, batch = self.page, self.target, self._largest_batch()
        page.line("extent" if batch is None else "extent, and that of the largest batch", indent=2)
        before: Expr | None = None
        for stage in self.mode.stages:
            if target not in stage.extents:
                continue
            named = stage.transform or "of the live batch"
            page.sides([(named, "cyan")], stage.place.short, indent=4)
            if not self._holds_here(stage.guard):
                page.line("not here", indent=6)
                continue
            if stage.guard != TRUE and self.settings is None:
                page.lines(broken(f"when {spell(stage.guard)}", page.width - 6), indent=6)
            extent = self.view(stage.extents[target])
            if extent == before:
                page.line("unchanged", indent=6)
                continue
            self._extent(stage.extents[target], named, batch)
            before = extent
        if target not in self.mode.stages[-1].extents:
            self._extent(self.mode.extents[target], "the pipeline", batch)

    def _extent(self, extent: Expr, after: str, batch: Mapping[str, Value] | None) -> None:
        where = f"the extent of mode {self.mode.name}, {after}"
        self.whole.formula(self.view(extent), 6, where)
        if batch is not None:
            self.whole.number(extent, 6, batch)

    def _largest_batch(self) -> Mapping[str, Value] | None:
        """The witness of the candidate that is largest here."""
        if self.settings is None:
            return None
        sizes: dict[int, Candidate] = {}
        for candidate in self.candidates:
            size = self.settings.value(candidate.formula)
            if isinstance(size, int):
                sizes.setdefault(size, candidate)
        return self.settings.witness(sizes[max(sizes)]) if sizes else None

    def _candidate(self, candidate: Candidate) -> None:
        page = self.page
        page.line("largest", indent=2)
        ends = dict(self._ends(candidate))
        for name, value in ends.items():
            page.line(f"at {name} = {spell(value)}", indent=4)
        indent = 6 if ends else 4
        self.whole.formula(
            self.view(candidate.formula), indent, f"the largest of mode {self.mode.name}"
        )
        known = conjuncts(self.mode.guard)
        if self.settings is None and not conjuncts(candidate.condition) <= known:
            page.lines(broken(f"where {spell(candidate.condition)}", page.width - 4), indent=4)
        self.whole.number(candidate.formula, indent)
        self._witness(candidate, ends)
        if not candidate.binding:
            page.line(("never more than the modes that bind", "dim"), indent=2)

    def _ends(self, candidate: Candidate) -> Iterator[tuple[str, Expr]]:
        """The ends of ranges that were put in, one after the other, where they change anything."""
        extent = self.mode.extents[self.target]
        for each in candidate.eliminations:
            if each.variable in free_names(self.view(extent)):
                yield each.variable, each.value
            extent = each.extent

    def _witness(self, candidate: Candidate, ends: Mapping[str, Expr]) -> None:
        """The batch that is as large, unless the ends say so already."""
        names = [each.name for each in self.live if each.name in candidate.witness]
        batch = {name: candidate.witness[name] for name in names}
        if not batch or (self.settings is None and batch == ends):
            return
        self.page.line("reached by a batch of", indent=2)
        numbers = {} if self.settings is None else self.settings.witness(candidate)
        for name, value in batch.items():
            number = f" = {shown(numbers.get(name))}" if self.settings is not None else ""
            text = f"{name} = {spell(self.view(value))}"
            self.page.line(text + ("" if text.endswith(number) else number), indent=4)
