"""Loading groups of slots: what slots of one idea have in common, and the name they go by."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from ullage.place import Place
from ullage.spec import problems
from ullage.spec.load_slots import WRITERS, load_slot
from ullage.spec.model import Slot
from ullage.spec.reading import Reading
from ullage.text.fields import Fields
from ullage.text.nodes import Entry, Node, Scalar
from ullage.text.nodes import Mapping as MappingNode

GIVEN = ("modes", "written_by")
"""The keys that a group gives to those of its slots that have none of their own."""


@dataclass(frozen=True, slots=True)
class Group:
    """Slots that a runner lists by one name."""

    name: Scalar
    slots: tuple[Slot, ...]


def load_groups(reading: Reading, library: Fields) -> tuple[Group, ...]:
    """All groups; each slot is in one of them, or under `slots` of the library."""
    declared = {entry.key.text: entry.key.place for entry in library.named("slots")}
    groups = tuple(
        _group(reading, name, fields)
        for name, fields in reading.entries(library.named("slot_groups"), "group")
    )
    for what, name, place in _names(groups):
        if (earlier := declared.setdefault(name, place)) is not place:
            message = f"{what} '{name}' has the name of another slot or group"
            related = ((earlier, "first here"),)
            reading.collector.error(problems.DEFINED_TWICE, message, place, related=related)
    return groups


def _names(groups: tuple[Group, ...]) -> Iterator[tuple[str, str, Place]]:
    for group in groups:
        yield "group", group.name.text, group.name.place
        yield from (("slot", slot.name, slot.place) for slot in group.slots)


def names_by_group(groups: tuple[Group, ...]) -> Mapping[str, tuple[str, ...]]:
    """The names of the slots of each group."""
    return {each.name.text: tuple(slot.name for slot in each.slots) for each in groups}


def _group(reading: Reading, name: Scalar, fields: Fields) -> Group:
    fields.text("doc")
    when = reading.when(fields)
    given = {key: node for key in GIVEN if (node := fields.raw(key)) is not None}
    entries = fields.named("slots", required=True)
    whole = tuple(_with(entry, given, fields) for entry in entries)
    slots = tuple(
        load_slot(reading, scalar, inner, when) for scalar, inner in reading.entries(whole, "slot")
    )
    fields.finish()
    return Group(name, slots)


def _with(entry: Entry, given: Mapping[str, Node], group: Fields) -> Entry:
    """The slot with what its group gives it, each at the place where the group says it."""
    if not isinstance(entry.value, MappingNode):
        return entry
    own = {each.key.text for each in entry.value.entries}
    if not own.isdisjoint(WRITERS):
        own.add("written_by")
    more = tuple(
        Entry(Scalar(key, group.key_place(key)), node)
        for key, node in given.items()
        if key not in own
    )
    return Entry(entry.key, replace(entry.value, entries=(*entry.value.entries, *more)))
