"""The derivation of one capacity: each mode's extent through its pipeline, and its largest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ullage.analysis import Analysis
from ullage.bound.capacities import Candidate, Capacity
from ullage.bound.problem import ModeProblem
from ullage.commands.check import binding_modes, verdicts
from ullage.commands.definitions import definitions_of
from ullage.commands.formulas import broken
from ullage.commands.reporting import Json
from ullage.commands.settings import Settings, Value, plain, shown
from ullage.commands.subjects import TargetSubject
from ullage.commands.terminal import Page
from ullage.expr.spell import spell
from ullage.expr.tree import TRUE, Expr


def show(analysis: Analysis, subject: TargetSubject, settings: Settings | None, page: Page) -> None:
    """The capacity, then every mode that it is the maximum of, then the names it uses."""
    _Explanation(analysis, subject, settings, page).show()


@dataclass(frozen=True, slots=True)
class _Explanation:
    analysis: Analysis
    subject: TargetSubject
    settings: Settings | None
    page: Page

    @property
    def capacity(self) -> Capacity:
        return self.analysis.capacities.of(self.subject.runner.name, self.subject.target)

    def show(self) -> None:
        self._heading()
        for mode in self.subject.runner.modes:
            if self.subject.target in mode.extents:
                self.page.line()
                self._mode(mode)
        self._names()

    def _heading(self) -> None:
        runner, target, page = self.subject.runner, self.subject.target, self.page
        proof = self.analysis.certificate.of(runner.name, target)
        page.sides([(f"{runner.name}.{target}", "bold")], runner.place.short)
        for axis in self.analysis.resolved.spec.axes:
            if axis.name == target and axis.doc:
                page.sides([axis.doc], axis.place.short, indent=2)
        if runner.guard != TRUE:
            page.line(f"where {spell(runner.guard)}", indent=2)
        page.line()
        page.line("capacity  ", *verdicts(proof), f"  {proof.obligations} obligations")
        self._formula(self.capacity.formula)
        page.wrapped("bound by " + ", ".join(binding_modes(self.capacity)), indent=2)
        if self.settings is not None:
            binding = self.settings.binding(self.capacity)
            page.wrapped(
                "here by " + (", ".join(binding) or "no mode, since none occurs"), indent=2
            )
        if proof.slack is not None:
            page.wrapped(f"slack: {proof.slack}", indent=2)
        for flaw in proof.flaws:
            page.line((flaw, "red"), indent=2)

    def _formula(self, formula: Expr) -> None:
        self.page.lines(broken(spell(formula), self.page.width - 4), indent=4)
        if self.settings is not None:
            self.page.line((f"= {shown(self.settings.value(formula))}", "bold"), indent=4)

    def _mode(self, mode: ModeProblem) -> None:
        page = self.page
        page.sides(["mode ", (mode.name, "bold cyan")], mode.place.short)
        if mode.guard != TRUE:
            page.lines(broken(f"when {spell(mode.guard)}", page.width - 2), indent=2)
        if self.settings is not None and not self.settings.holds(mode.guard):
            page.line("not in this configuration", indent=2)
            return
        candidates = [each for each in self.capacity.candidates if each.mode == mode.name]
        self._live(mode)
        self._stages(mode, candidates)
        for candidate in candidates:
            self._candidate(candidate)

    def _live(self, mode: ModeProblem) -> None:
        page = self.page
        if mode.live:
            page.line("live batch", indent=2)
        for live in mode.live:
            bounds = f"{spell(live.low)} <= {live.name} <= {spell(live.high)}"
            page.sides([bounds], live.place.short, indent=4)
            if live.label != live.name:
                page.line((live.label, "dim"), indent=6)
        for condition in mode.where:
            page.lines(broken(spell(condition), page.width - 4), indent=4)

    def _stages(self, mode: ModeProblem, candidates: list[Candidate]) -> None:
        """The extent after each transform; with a configuration, that of the largest batch."""
        page, target = self.page, self.subject.target
        largest = self._largest_batch(candidates)
        page.line(
            "extent" if largest is None else "extent, and that of the largest batch", indent=2
        )
        for stage in mode.stages:
            if target in stage.extents:
                named = stage.transform or "of the live batch"
                page.sides([(named, "cyan")], stage.place.short, indent=4)
                if stage.guard != TRUE:
                    page.lines(broken(f"when {spell(stage.guard)}", page.width - 6), indent=6)
                self._extent(stage.extents[target], largest)
        if target not in mode.stages[-1].extents:
            self._extent(mode.extents[target], largest)

    def _extent(self, extent: Expr, batch: Mapping[str, Value] | None) -> None:
        self.page.lines(broken(spell(extent), self.page.width - 6), indent=6)
        if self.settings is not None and batch is not None:
            number = shown(self.settings.value(extent, batch))
            self.page.line((f"= {number}", "bold"), indent=6)

    def _largest_batch(self, candidates: list[Candidate]) -> Mapping[str, Value] | None:
        """The witness of the candidate that is largest here."""
        if self.settings is None:
            return None
        sizes: dict[int, Candidate] = {}
        for candidate in candidates:
            size = self.settings.value(candidate.formula)
            if isinstance(size, int) and self.settings.holds(candidate.condition):
                sizes.setdefault(size, candidate)
        return self.settings.witness(sizes[max(sizes)]) if sizes else None

    def _candidate(self, candidate: Candidate) -> None:
        page, settings = self.page, self.settings
        page.line("largest", indent=2)
        for each in candidate.eliminations:
            page.line(f"at {each.variable} = {spell(each.value)}", indent=4)
            page.lines(broken(spell(each.extent), page.width - 6), indent=6)
        if not candidate.eliminations:
            page.lines(broken(spell(candidate.formula), page.width - 4), indent=4)
        if candidate.condition != TRUE:
            page.lines(broken(f"where {spell(candidate.condition)}", page.width - 4), indent=4)
        if settings is not None and not settings.holds(candidate.condition):
            page.line("not in this configuration", indent=4)
            return
        if settings is not None:
            page.line((f"= {shown(settings.value(candidate.formula))}", "bold"), indent=4)
        self._witness(candidate)
        if not candidate.binding:
            page.line(("never more than the modes that bind", "dim"), indent=2)

    def _witness(self, candidate: Candidate) -> None:
        if not candidate.witness:
            return
        self.page.line("reached by a batch of", indent=2)
        numbers = {} if self.settings is None else self.settings.witness(candidate)
        for name, value in candidate.witness.items():
            number = f" = {shown(numbers.get(name))}" if self.settings is not None else ""
            text = f"{name} = {spell(value)}"
            self.page.line(text + ("" if text.endswith(number) else number), indent=4)

    def _names(self) -> None:
        found = definitions_of(self.analysis.problem.domain, self.capacity.formula)
        if found:
            self.page.line()
            self.page.line("names")
        for definition in found:
            self.page.sides([(definition.name, "cyan")], definition.place.short, indent=2)
            self._formula(definition.value)


def document(analysis: Analysis, subject: TargetSubject, settings: Settings | None) -> Json:
    """What `--json` writes; numbers are there with a configuration only."""
    runner, target = subject.runner, subject.target
    capacity = analysis.capacities.of(runner.name, target)
    proof = analysis.certificate.of(runner.name, target)
    modes: list[Json] = [
        _mode_record(mode, target, capacity, settings)
        for mode in runner.modes
        if target in mode.extents
    ]
    return {
        "runner": runner.name,
        "target": target,
        "formula": spell(capacity.formula),
        "value": _number(capacity.formula, settings),
        "binding": list(
            binding_modes(capacity) if settings is None else settings.binding(capacity)
        ),
        "sound": proof.sound,
        "tight": proof.tight,
        "obligations": proof.obligations,
        "flaws": list(proof.flaws),
        "modes": modes,
        "definitions": [
            {
                "name": each.name,
                "value": spell(each.value),
                "number": _number(each.value, settings),
                "place": str(each.place),
            }
            for each in definitions_of(analysis.problem.domain, capacity.formula)
        ],
    }


def _mode_record(
    mode: ModeProblem, target: str, capacity: Capacity, settings: Settings | None
) -> Json:
    live: list[Json] = [
        {
            "name": each.name,
            "meaning": each.label,
            "low": spell(each.low),
            "high": spell(each.high),
            "place": str(each.place),
        }
        for each in mode.live
    ]
    stages: list[Json] = [
        {
            "transform": stage.transform,
            "when": spell(stage.guard),
            "extent": spell(stage.extents[target]),
            "place": str(stage.place),
        }
        for stage in mode.stages
        if target in stage.extents
    ]
    largest: list[Json] = [
        _candidate_record(each, settings) for each in capacity.candidates if each.mode == mode.name
    ]
    return {
        "mode": mode.name,
        "when": spell(mode.guard),
        "place": str(mode.place),
        "live": live,
        "where": [spell(condition) for condition in mode.where],
        "stages": stages,
        "extent": spell(mode.extents[target]),
        "largest": largest,
    }


def _candidate_record(candidate: Candidate, settings: Settings | None) -> Json:
    numbers = {} if settings is None else settings.witness(candidate)
    return {
        "formula": spell(candidate.formula),
        "value": _number(candidate.formula, settings),
        "where": spell(candidate.condition),
        "binding": candidate.binding,
        "eliminations": [
            {"variable": each.variable, "value": spell(each.value), "extent": spell(each.extent)}
            for each in candidate.eliminations
        ],
        "witness": {name: spell(value) for name, value in candidate.witness.items()},
        "witness_values": {name: plain(value) for name, value in numbers.items()},
    }


def _number(expr: Expr, settings: Settings | None) -> Json:
    return None if settings is None else plain(settings.value(expr))
