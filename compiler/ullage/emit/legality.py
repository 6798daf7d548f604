"""Whether a batch is one of its mode: what load sees of it, and in debug mode what it assumes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from ullage.emit.padding import summing_source
from ullage.emit.refused_values import bound_text, values_behind
from ullage.emit.scope import Scope
from ullage.emit.source import negated
from ullage.emit.text import comment, literal
from ullage.expr.parse import SourceRef
from ullage.expr.simplify import fold
from ullage.expr.spell import spell
from ullage.expr.tree import TRUE, Expr, Name, free_names
from ullage.spec.model import LiveVariable


@dataclass(frozen=True, slots=True)
class LegalityWriter:
    """Writes how the live variables of one mode are found and checked."""

    scope: Scope

    def lines(self) -> Iterator[str]:
        """All that the host can tell, and what debug mode reads."""
        yield from self._serving()
        yield from self._known(frozenset())
        assumed = tuple(self._assumed())
        if assumed:
            yield "if self.debug.values:"
            yield from (f"    {line}" for line in assumed)

    def seen(self, names: frozenset[str]) -> Iterator[str]:
        """Some live variables of a batch that is known to be legal."""
        for variable in self.scope.mode.live:
            if variable.name in names:
                local = self.scope.local(variable.name)
                value = self._values(variable) if variable.per else self._seen(variable)
                yield f"{local} = {value}"

    def _assumed(self) -> Iterator[str]:
        """What load assumes, as debug mode reads it."""
        visible = self.scope.visible
        known = visible.union(each.name for each in self.scope.mode.live if each.debug_in)
        debugging = replace(self.scope, visible=known)
        yield from LegalityWriter(debugging)._known(visible)

    def _known(self, before: frozenset[str]) -> Iterator[str]:
        """Values that are visible, and all that is demanded of them but not of those `before`."""
        visible = self.scope.visible
        for variable in self.scope.mode.live:
            if variable.name not in visible:
                continue
            if variable.name not in before:
                yield from self._variable(variable)
            behind = self._names(variable.range.low, variable.range.high) | {variable.name}
            if behind <= visible and not behind <= before:
                yield from self._in_range(variable)
        for relation in self.scope.mode.where:
            behind = self._names(relation)
            if behind <= visible and not (before and behind <= before):
                yield from self._relation(relation)

    def _names(self, *exprs: Expr) -> frozenset[str]:
        """The live variables that expressions name."""
        live = frozenset(variable.name for variable in self.scope.mode.live)
        return live.intersection(frozenset[str]().union(*map(free_names, exprs)))

    def _serving(self) -> Iterator[str]:
        engine = self.scope.runner.engine
        for name, parameter in self.scope.serving.items():
            local = self.scope.local(name)
            described = engine.settings.of(name)
            serving = engine.serving_field(parameter).name
            yield comment(parameter.place.short, 8)
            present = (
                f"whole_number({self._mode}, {literal(parameter.name)}, live.{serving}, "
                f"place={literal(parameter.place.short)})"
            )
            yield f"{local} = config.{described.attribute} if live.{serving} is None else {present}"
            yield from self._membership(name, local)

    def _membership(self, name: str, local: str) -> Iterator[str]:
        runner = self.scope.runner
        parameter = self.scope.serving[name]
        if parameter.varies is None:
            return
        varied = runner.engine.settings.parameter(
            next(iter(free_names(runner.rewrite(Name(parameter.varies)))))
        )
        source = runner.engine.settings.source("config")
        guard = runner.engine.settings.of(name).guard
        exists = fold(runner.rewrite(varied.when))
        conditions = [source.of(each) for each in dict.fromkeys((guard, exists)) if each != TRUE]
        members = source.of(runner.rewrite(Name(parameter.varies)))
        guarded = runner.engine.settings.of(name).guarded
        value = f"present({local})" if guarded else local
        call = (
            f"check_member({self._mode}, {literal(parameter.name)}, {value}, {members}, "
            f"place={literal(parameter.place.short)}, listed={literal(parameter.varies)})"
        )
        if conditions:
            yield f"if {' and '.join(f'({each})' for each in conditions)}:"
            yield f"    {call}"
        else:
            yield call

    @property
    def _mode(self) -> str:
        return literal(self.scope.mode.name)

    def _variable(self, variable: LiveVariable) -> Iterator[str]:
        """The value of a live variable, of which there are as many as there should be."""
        local = self.scope.local(variable.name)
        yield comment(variable.place.short, 8)
        if variable.per is None:
            yield f"{local} = {self._seen(variable)}"
            return
        yield f"{local}: list[int] = {self._values(variable)}"
        if variable.per in self.scope.visible:
            count, place = self.scope.local(variable.per), literal(variable.place.short)
            yield f"if len({local}) != {count}:"
            yield (
                f"    raise out_of_range({self._mode}, {literal(f'number of {variable.name}')}, "
                f"len({local}), {count}, {count}, place={place}, lower={literal(variable.per)}, "
                f"upper={literal(variable.per)})"
            )

    def _in_range(self, variable: LiveVariable) -> Iterator[str]:
        """Whether a value is, or all of them are, in a range of which all is known."""
        local = self.scope.local(variable.name)
        low, high = self._end(variable.range.low), self._end(variable.range.high)
        if variable.per is None:
            yield f"if not {low} <= {local} <= {high}:"
            yield f"    raise {self._refused(variable, local, low, high)}"
            return
        yield f"for value in (min({local}, default=None), max({local}, default=None)):"
        yield f"    if value is not None and not {low} <= value <= {high}:"
        yield f"        raise {self._refused(variable, 'value', low, high)}"

    def _refused(self, variable: LiveVariable, value: str, low: str, high: str) -> str:
        """The error for a value outside of its range."""
        ends = {"lower": variable.range.low, "upper": variable.range.high}
        texts = {side: bound_text(self.scope, end) for side, end in ends.items()}
        written = [ends[side] for side, text in texts.items() if text]
        shown = [f"{side}={literal(text)}" for side, text in texts.items() if text]
        values = values_behind(self.scope, *written)
        shown += [] if values == "{}" else [f"values={values}"]
        return (
            f"out_of_range({self._mode}, {literal(variable.name)}, {value}, {low}, {high}, "
            f"place={literal(variable.place.short)}{''.join(f', {each}' for each in shown)})"
        )

    def _end(self, end: Expr) -> str:
        return summing_source(self.scope).of(self.scope.runner.of_batch(end))

    def _values(self, variable: LiveVariable) -> str:
        """The values of a live variable of each request."""
        return f"values_of({self._about(variable)}, {self._fields(variable)}, {self._at(variable)})"

    def _about(self, variable: LiveVariable) -> str:
        return f"{self._mode}, {literal(variable.name)}"

    def _at(self, variable: LiveVariable) -> str:
        return f"place={literal(variable.place.short)}"

    def _fields(self, variable: LiveVariable) -> str:
        engine = self.scope.runner.engine
        return ", ".join(f"live.{engine.live_field(each).name}" for each in _sources(variable))

    def _seen(self, variable: LiveVariable) -> str:
        """The first present source; a number is always present."""
        engine = self.scope.runner.engine
        if variable.debug_in is not None and variable.debug_in.dimension is None:
            field = engine.live_field(variable.debug_in)
            called = f"{self._about(variable)}, live.{field.name}, {self._at(variable)}"
            return f"{'single_value' if field.is_tensor else 'whole_number'}({called})"
        fields = [(engine.live_field(each), each.dimension or 0) for each in _sources(variable)]
        dimensions = {dimension for _, dimension in fields}
        if all(field.is_tensor for field, _ in fields) and len(dimensions) == 1:
            listed = ", ".join(f"live.{field.name}" for field, _ in fields)
            return self._extent_of(variable, listed, dimensions.pop())
        text = ""
        for field, dimension in fields:
            value = f"live.{field.name}"
            if not field.is_tensor:
                called = f"{self._about(variable)}, {value}, {self._at(variable)}"
                return f"{text}whole_number({called})"
            extent = self._extent_of(variable, value, dimension)
            text += f"{extent} if {value} is not None else "
        return f"{text}0"

    def _extent_of(self, variable: LiveVariable, fields: str, dimension: int) -> str:
        along = f", dimension={dimension}" if dimension else ""
        return f"live_extent({self._about(variable)}, {fields}, {self._at(variable)}{along})"

    def _relation(self, relation: Expr) -> Iterator[str]:
        """A relation between live variables of which all are known."""
        broken = negated(fold(self.scope.runner.of_batch(relation)))
        yield comment(relation.place.short, 8)
        yield f"if {summing_source(self.scope).of(broken)}:"
        yield (
            f"    raise broken_relation({self._mode}, {literal(spell(relation))}, "
            f"{values_behind(self.scope, relation)}, place={literal(relation.place.short)})"
        )


def _sources(variable: LiveVariable) -> tuple[SourceRef, ...]:
    """Where a variable is seen, or where debug mode reads it."""
    return variable.seen_in if variable.debug_in is None else (variable.debug_in,)
