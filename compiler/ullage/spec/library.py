"""Merging the library files of a spec folder into one mapping, and telling files apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ullage.diagnostics.diagnostic import Collector, nearest
from ullage.expr.errors import suggestion
from ullage.spec import problems
from ullage.text.fields import check_identifier, report_kind
from ullage.text.nodes import Entry, Mapping, Node, Scalar, Sequence
from ullage.text.sources import SourceSet

ENTITIES: Final = ("mode", "runner", "audit")
SINGLE: Final = ("ullage", "engine", "doc", "ranks")
NAMED: Final = (
    "axes",
    "workers",
    "families",
    "parameters",
    "definitions",
    "transforms",
    "slots",
    "slot_groups",
    "carried",
    "readers",
    "wrappers",
)
LISTED: Final = ("constraints", "concurrent")
SECTIONS: Final = (*SINGLE, *NAMED, *LISTED)
OWN_KEYS: Final = {
    "mode": ("axes", "live", "family", "category", "pipeline", "peers"),
    "runner": (
        *("workers", "modes", "slots", "steps", "facts", "contexts", "values"),
        *("pipeline", "accepts", "accepts_all", "exclusive", "fallback"),
        *("warm_up", "slack", "limits", "captures", "promises"),
    ),
    "audit": ("quoted_from", "let", "formulas"),
}
"""The keys, besides `doc` and `when`, of a file about one entity."""


@dataclass(frozen=True, slots=True)
class EntityFile:
    """A file about one mode, runner or audit: its name, and all of its keys."""

    kind: str
    name: Scalar
    mapping: Mapping


@dataclass(frozen=True, slots=True)
class Folder:
    """A spec folder with its library merged; `entities` are in the order of the files.

    `unnamed`: the kinds of entities of which a file is left out, for it names none.
    """

    library: Mapping
    entities: tuple[EntityFile, ...]
    unnamed: frozenset[str] = frozenset()

    def of_kind(self, kind: str) -> tuple[EntityFile, ...]:
        """The files about one kind of entity."""
        return tuple(entity for entity in self.entities if entity.kind == kind)


def sort_files(sources: SourceSet, collector: Collector) -> Folder:
    """Merges the library files; what is defined twice or unknown at the top is an error."""
    sections = _Sections(collector)
    entities: dict[tuple[str, str], EntityFile] = {}
    unnamed: set[str] = set()
    for file in sources.files:
        entity = _entity(file.root, collector)
        if entity is None:
            if (kind := _unnamed(file.root, collector)) is None:
                sections.add(file.root)
            else:
                unnamed.add(kind)
            continue
        key = (entity.kind, entity.name.text)
        if (earlier := entities.setdefault(key, entity)) is not entity:
            _report_twice(collector, f"{entity.kind} '{key[1]}'", entity.name, earlier.name)
    return Folder(sections.merged(sources), tuple(entities.values()), frozenset(unnamed))


def _entity(root: Mapping, collector: Collector) -> EntityFile | None:
    kind = next((kind for kind in ENTITIES if root.get(kind) is not None), None)
    name = None if kind is None else root.get(kind)
    if kind is None or name is None:
        return None
    if isinstance(name, Scalar) and check_identifier(name, collector, f"'{kind}'"):
        return EntityFile(kind, name, root)
    if not isinstance(name, Scalar):
        report_kind(name, collector, f"'{kind}'", "text")
    # The rest of the file is still read, under a name that nothing can refer to.
    return EntityFile(kind, Scalar("", name.place), root)


def _unnamed(root: Mapping, collector: Collector) -> str | None:
    """The kind of entity that a file is about without naming it; records that, and no more."""
    keys = [entry.key for entry in root.entries]
    odd = [key for key in keys if key.text not in SECTIONS]
    belong = {kind: [key for key in odd if key.text in own] for kind, own in OWN_KEYS.items()}
    kind = max(belong, key=lambda each: len(belong[each]))
    found = ", ".join(f"'{key.text}'" for key in belong[kind])
    misspelt = next((key for key in odd if nearest(key.text, ENTITIES) == kind), None)
    if not belong[kind]:
        return None
    if misspelt is not None:
        message = f"unknown key '{misspelt.text}' at the top of a spec file"
        hint = f"did you mean '{kind}'?"
        collector.error(problems.UNKNOWN_KEY, message, misspelt.place, hint=hint)
        return kind
    message = f"no key '{kind}' says which {kind} this file is about, though it has {found}"
    hint = f"write {kind}: NAME at the top"
    collector.error(problems.MISSING_KEY, message, belong[kind][0].place, hint=hint)
    return kind


def _report_twice(collector: Collector, what: str, second: Scalar, first: Scalar) -> None:
    related = ((first.place, "first here"),)
    message = f"{what} is defined twice"
    collector.error(problems.DEFINED_TWICE, message, second.place, related=related)


class _Sections:
    """The top-level keys of all library files, merged key by key."""

    def __init__(self, collector: Collector) -> None:
        self._collector = collector
        self._keys: dict[str, Scalar] = {}
        self._single: dict[str, Node] = {}
        self._named: dict[str, dict[str, Entry]] = {}
        self._listed: dict[str, list[Node]] = {}

    def add(self, root: Mapping) -> None:
        """Merge one file."""
        for entry in root.entries:
            key = entry.key.text
            if key not in SECTIONS:
                self._report_unknown(entry.key)
            elif key in NAMED or key in LISTED:
                self._keys.setdefault(key, entry.key)
                self._add_section(key, entry.value)
            elif (earlier := self._keys.setdefault(key, entry.key)) is not entry.key:
                _report_twice(self._collector, f"'{key}'", entry.key, earlier)
            else:
                self._single[key] = entry.value

    def _add_section(self, key: str, section: Node) -> None:
        if key in NAMED and isinstance(section, Mapping):
            self._add_named(key, section)
        elif key in LISTED and isinstance(section, Sequence):
            self._listed.setdefault(key, []).extend(section.items)
        else:
            expected = "a mapping" if key in NAMED else "a list"
            report_kind(section, self._collector, f"'{key}'", expected)

    def _add_named(self, key: str, section: Mapping) -> None:
        merged = self._named.setdefault(key, {})
        for entry in section.entries:
            if (earlier := merged.setdefault(entry.key.text, entry)) is not entry:
                what = f"'{entry.key.text}' in '{key}'"
                _report_twice(self._collector, what, entry.key, earlier.key)

    def _report_unknown(self, key: Scalar) -> None:
        known = (*SECTIONS, *ENTITIES)
        message = f"unknown key '{key.text}' at the top of a spec file"
        hint = suggestion(key.text, known) or f"known keys: {', '.join(known)}"
        self._collector.error(problems.UNKNOWN_KEY, message, key.place, hint=hint)

    def merged(self, sources: SourceSet) -> Mapping:
        """All sections as one mapping, each key at the place where it stands first."""
        values = {key: self._value(key, scalar) for key, scalar in self._keys.items()}
        entries = tuple(Entry(self._keys[key], value) for key, value in values.items())
        place = entries[0].key.place if entries else sources.files[0].root.place
        return Mapping(entries, place)

    def _value(self, key: str, scalar: Scalar) -> Node:
        if key in NAMED:
            return Mapping(tuple(self._named.get(key, {}).values()), scalar.place)
        if key in LISTED:
            return Sequence(tuple(self._listed.get(key, ())), scalar.place)
        return self._single[key]
