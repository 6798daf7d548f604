"""Which batches a runner takes, as generated code asks it: in `can_run`, and once more in load."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ullage.emit.model import Chain, RunnerModel
from ullage.emit.padding import summing_source
from ullage.emit.refused_values import values_behind
from ullage.emit.scope import Scope
from ullage.emit.source import Source, negated
from ullage.emit.text import comment, literal
from ullage.expr.simplify import fold
from ullage.expr.spell import spell
from ullage.expr.tree import TRUE, Expr, Integer, Name, conjunction, free_names, substitute
from ullage.spec.model import NamedText

_PAD = "<pad>"
"""Whether load was asked to pad, as a name that no spec has."""


def shared_slots(chain: Chain) -> frozenset[str]:
    """The slots that all runners of a chain load in its mode."""
    loaded = [
        {slot.name for slot in each.slots if chain.mode.name in slot.tails}
        for each in chain.runners
    ]
    return frozenset(loaded[0].intersection(*loaded))


def asked_facts(runner: RunnerModel) -> tuple[NamedText, ...]:
    """The facts that decide whether the runner takes a batch."""
    names = frozenset[str]().union(*(free_names(each) for each in runner.runner.accepts))
    return tuple(fact for fact in runner.runner.facts if fact.name in names)


@dataclass(frozen=True, slots=True)
class Accepting:
    """Writes the conditions of a runner in one mode.

    `rows` and `padded`: how the rows before and after the pipeline of the mode are written.
    """

    scope: Scope
    rows: str
    padded: str

    def condition(self) -> str:
        """The source of all conditions; facts are asked last, and only where they matter."""
        facts = {fact.name for fact in asked_facts(self.scope.runner)}
        ordered = sorted(self._conditions, key=lambda each: bool(free_names(each) & facts))
        every = fold(conjunction(*map(self.scope.runner.of_batch, ordered)))
        asked = {name: f"engine.{name}(live)" for name in facts}
        return "True" if every == TRUE else self._source(asked).of(every)

    def live(self) -> frozenset[str]:
        """The live variables that the conditions name."""
        names = frozenset[str]().union(*(free_names(each) for each in self._conditions))
        return names & self.scope.visible - self._extents.keys()

    def checks(self) -> Iterator[str]:
        """Statements that refuse a batch which is padded, and breaks a condition without facts."""
        facts = {fact.name for fact in asked_facts(self.scope.runner)}
        for condition in self._conditions:
            broken = negated(fold(self.scope.runner.of_batch(condition)))
            if free_names(condition) & facts or broken == negated(TRUE):
                continue
            yield comment(condition.place.short, 8)
            refused = conjunction(Name(_PAD), broken)
            yield f"if {self._source({_PAD: 'pad'}).of(refused)}:"
            yield (
                f"    raise broken_relation({literal(self.scope.mode.name)}, "
                f"{literal(spell(condition))}, {self._values(condition)}, "
                f"place={literal(condition.place.short)})"
            )

    @property
    def _conditions(self) -> tuple[Expr, ...]:
        return self.scope.runner.runner.accepts_in(self.scope.mode.name)

    @property
    def _extents(self) -> Mapping[str, str]:
        """Axes, and what the sources bring along them, as they are written."""
        engine = self.scope.runner.engine
        fields = {axis.name: engine.axis(axis.name) for axis in engine.axes}
        brought = {f"live_{name}": f"{self.rows}.{field}" for name, field in fields.items()}
        return brought | {name: f"{self.padded}.{field}" for name, field in fields.items()}

    def _source(self, asked: Mapping[str, str]) -> Source:
        return summing_source(self.scope, {**self._extents, **asked})

    def _values(self, condition: Expr) -> str:
        """The values of what a condition names."""
        extents = {name: text for name, text in self._extents.items()}
        named = [name for name in extents if name in free_names(condition)]
        shown = ", ".join(f"{literal(name)}: {extents[name]}" for name in named)
        rest = substitute(condition, {name: Integer(0) for name in named})
        behind = values_behind(self.scope, rest)[1:-1]
        return f"{{{', '.join(each for each in (shown, behind) if each)}}}"
