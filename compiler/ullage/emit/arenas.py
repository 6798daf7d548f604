"""The module `arenas`: where the buffers of all runners of a process lie."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ullage.emit.model import EngineModel, RunnerModel
from ullage.emit.modules import Module
from ullage.emit.names import Names
from ullage.emit.rendering import render
from ullage.emit.text import comment, docstring, literal, sentence
from ullage.expr.tree import TRUE, Conditional, Expr
from ullage.plan.model import Base, Below

RESERVED = ("allocate", "cls", "compute", "config", "debug", "device", "host", "of", "self", "size")
"""What the classes of the module have or use besides runners."""


@dataclass(frozen=True, slots=True)
class RunnerView:
    """One runner: its field, its title and classes; `exists` is empty where it always does.

    `kept` is the part for slots that are kept, empty without any.
    """

    place: str
    name: str
    kept: str
    title: str
    registry: str
    capacities: str
    exists: str


@dataclass(frozen=True, slots=True)
class PartView:
    """What has a place of its own in the arenas: a runner, or what it keeps."""

    place: str
    name: str
    doc: str


@dataclass(frozen=True, slots=True)
class BaseView:
    """Where a runner begins: why, and the expression."""

    name: str
    reasons: tuple[str, ...]
    start: str


@dataclass(frozen=True, slots=True)
class ArenasEmitter:
    """Writes the arenas that all runners of one engine share."""

    engine: EngineModel

    def modules(self) -> Iterator[Module]:
        """The module `arenas`, if there is a runner."""
        if not self.engine.runners:
            return
        body = render(
            "arenas.py.j2",
            runners=[self._runner(each) for each in self.engine.runners],
            parts=list(self._parts()),
            bases=list(self._bases()),
            uses_config=any(self._conditions()),
        )
        about = (
            sentence(f"The memory that the runners of {self.engine.spec.engine} share"),
            "Runners that are never alive together lie at the same addresses.",
        )
        yield Module("arenas.py", about, body, self._siblings())

    def _siblings(self) -> dict[str, str]:
        siblings = {"Config": "config"}
        siblings |= dict.fromkeys(self.engine.settings.enum_classes, "config")
        for runner in self.engine.runners:
            siblings |= {runner.classes.capacities: "capacities"}
            siblings |= {runner.classes.registry: "registry"}
        return siblings

    @property
    def _names(self) -> Names:
        return names_of_runners(self.engine)

    def _runner(self, runner: RunnerModel) -> RunnerView:
        guard = runner.planned.guard
        return RunnerView(
            comment(runner.planned.place.short, 4),
            self._names.of(runner.planned.name),
            "" if runner.planned.kept is None else self._names.of(runner.planned.kept),
            literal(f"{runner.planned.runner} of worker {runner.planned.worker}"),
            runner.classes.registry,
            runner.classes.capacities,
            "" if guard == TRUE else self._text(guard),
        )

    def _parts(self) -> Iterator[PartView]:
        for runner in self.engine.runners:
            place = comment(runner.planned.place.short, 4)
            for part in runner.planned.parts:
                kept = " that keep what they hold" if part == runner.planned.kept else ""
                about = sentence(f"Where the buffers of the {runner.title}{kept} begin")
                yield PartView(place, self._names.of(part), docstring((about,)))

    def _text(self, condition: Expr) -> str:
        text = self.engine.settings.source("config").of(condition)
        return f"({text})" if isinstance(condition, Conditional) else text

    def _conditions(self) -> Iterator[Expr]:
        for base in self.engine.analysis.plan.bases:
            yield from (below.condition for below in base.below if below.condition != TRUE)

    def _bases(self) -> Iterator[BaseView]:
        """Every runner; one that begins where an earlier one does says so."""
        first: dict[tuple[Below, ...], str] = {}
        for base in self.engine.analysis.plan.bases:
            name = self._names.of(base.runner)
            earlier = first.setdefault(base.below, name)
            is_new = earlier == name or not base.below
            yield self._base(base) if is_new else BaseView(name, (), f"start_of_{earlier}")

    def _base(self, base: Base) -> BaseView:
        ends: dict[Expr, list[str]] = {}
        for below in base.below:
            name = self._names.of(below.runner)
            ends.setdefault(below.condition, []).append(f"start_of_{name} + bytes_of_{name}")
        terms = [self._term(condition, each) for condition, each in ends.items()]
        groups = dict.fromkeys(group for below in base.below for group in below.groups)
        reasons = (f"{each.place.short}: {each.doc or 'alive together'}" for each in groups)
        return BaseView(
            self._names.of(base.runner),
            tuple(comment(reason, 8) for reason in reasons),
            largest(terms) if terms else "0",
        )

    def _term(self, condition: Expr, ends: list[str]) -> str:
        if condition == TRUE:
            return largest(ends)
        return f"({largest(ends)} if {self._text(condition)} else 0)"


def largest(terms: list[str]) -> str:
    """The source of the largest of some terms."""
    return terms[0] if len(terms) == 1 else f"max({', '.join(terms)})"


def names_of_runners(engine: EngineModel) -> Names:
    """The runners as fields of the arenas."""
    parts = (part for each in engine.runners for part in each.planned.parts)
    return Names(parts, RESERVED)
