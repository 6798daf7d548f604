"""In which modes a field of a live batch has to be there, as documentation says it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from ullage.emit.live_fields import LiveField
from ullage.emit.model import EngineModel
from ullage.expr.tree import TRUE

FieldPath = tuple[str, ...]


@dataclass(frozen=True)
class Needs:
    """The modes that look at each field of the live batches of one engine.

    A batch without live rows needs no field, so that nothing is said of modes that never have one.
    """

    engine: EngineModel

    def of(self, field: LiveField) -> Iterator[str]:
        """The modes in which a field is needed, and those in which it is optional."""
        needed = set(self._needed.get(field.path, ()))
        if not field.is_tensor:
            needed |= self._first_seen.get(field.path, set())
        taken = self._live if field.path in self._carried else self._taken.get(field.path, ())
        optional = {mode for mode in taken if mode not in needed}
        if needed := needed & self._live.keys():
            yield f"needed in {self._listed(needed)}"
        if optional := optional & self._live.keys():
            every = len(optional) == len(self._live)
            yield "optional" if every else f"optional in {self._listed(optional)}"

    @cached_property
    def _live(self) -> Mapping[str, None]:
        return {mode.name: None for mode in self.engine.spec.modes if mode.live}

    @cached_property
    def _carried(self) -> frozenset[FieldPath]:
        return frozenset(each.source.path for each in self.engine.spec.carried)

    @cached_property
    def _first_seen(self) -> Mapping[FieldPath, set[str]]:
        """The modes that a number of the batch is a live variable of."""
        found: dict[FieldPath, set[str]] = {}
        for mode in self.engine.spec.modes:
            for variable in mode.live:
                for source in variable.seen_in[:1]:
                    found.setdefault(source.path, set()).add(mode.name)
        return found

    @cached_property
    def _needed(self) -> Mapping[FieldPath, set[str]]:
        """The modes that load a slot from the field which is always there."""
        found: dict[FieldPath, set[str]] = {}
        for runner in self.engine.runners:
            for slot in runner.slots:
                if slot.source is not None and not slot.optional and slot.guard == TRUE:
                    found.setdefault(slot.source.path, set()).update(slot.tails)
        return found

    @cached_property
    def _taken(self) -> Mapping[FieldPath, set[str]]:
        """The modes that make anything of the field at all."""
        found: dict[FieldPath, set[str]] = {}
        for mode in self.engine.spec.modes:
            for variable in mode.live:
                for source in variable.seen_in:
                    found.setdefault(source.path, set()).add(mode.name)
        for runner in self.engine.runners:
            for slot in runner.slots:
                if slot.source is not None:
                    found.setdefault(slot.source.path, set()).update(slot.tails)
        return found

    def _listed(self, modes: Collection[str]) -> str:
        """The modes, or those that are missing where they are fewer."""
        missing = [name for name in self._live if name not in modes]
        if not missing:
            return "every mode"
        if len(missing) < len(modes):
            return f"every mode but {', '.join(missing)}"
        return ", ".join(name for name in self._live if name in modes)
