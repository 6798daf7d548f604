"""Configuration files, in YAML or JSON: parameters by name, each value still a text."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ullage.configuration.given import Given, parameter_name
from ullage.diagnostics.diagnostic import Collector, Diagnostic, DiagnosticError
from ullage.place import Place
from ullage.text.nodes import Entry, Node, Scalar, Sequence, kind_of
from ullage.text.yaml_source import compose, decode, read_bytes

RULE: Final = (
    "a configuration is a mapping of parameters to values, {} if it leaves out all of them"
)
ABSENT: Final = ("null", "None", "~")
"""How engines print a parameter that has no value; the same as leaving it out."""


@dataclass(frozen=True, slots=True)
class Configuration:
    """What a file gives for each parameter; `sources` are what errors about it point into."""

    given: Mapping[str, Given]
    place: Place
    sources: Mapping[str, str]


def read_configuration(path: Path, name: str | None = None) -> Configuration:
    """The values of the file at `path`, called `name` in messages. Raises DiagnosticError."""
    shown = path.name if name is None else name
    collector = Collector()
    data = read_bytes(path, shown, collector)
    text = None if data is None else decode(data, shown, collector)
    if text is None:
        raise DiagnosticError(collector.diagnostics, collector.sources)
    return parse_configuration(text, shown)


def parse_configuration(text: str, name: str) -> Configuration:
    """The values of a text, called `name` in messages. Raises DiagnosticError.

    JSON is read as the YAML that it is, but for tabs between its tokens.
    """
    collector = Collector({name: text})
    is_json = _is_json(text)
    root = compose(text.replace("\t", " ") if is_json else text, name, collector, RULE)
    if is_json and root is None:
        _explain_json(text, name, collector)
    entries = () if root is None else root.entries
    given: dict[str, Given] = {}
    for entry in entries:
        if not _is_absent(entry.value):
            _add(given, entry, collector)
    collector.raise_if_errors()
    return Configuration(given, Place(name, 1, 1), collector.sources)


def _explain_json(text: str, name: str, collector: Collector) -> None:
    """Raise what is wrong with a text as JSON, if JSON is what it was meant to be."""
    if not name.endswith(".json"):
        return
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        reason = error.msg[:1].lower() + error.msg[1:]
        found = Diagnostic(
            "U104", f"this is not JSON: {reason}", Place(name, error.lineno, error.colno)
        )
        raise DiagnosticError([found], collector.sources) from None
    except (ValueError, RecursionError):  # what YAML says of it has to do
        return


def _is_json(text: str) -> bool:
    return text.lstrip().startswith("{")


def _is_absent(node: Node) -> bool:
    return isinstance(node, Scalar) and not node.quoted and node.text in ABSENT


def _add(known: dict[str, Given], entry: Entry, collector: Collector) -> None:
    name = parameter_name(entry.key.text)
    value = _given(entry.key, entry.value, collector)
    if name in known:
        message = f"'{name}' is given twice, as '{known[name].key}' and as '{entry.key.text}'"
        related = ((known[name].key_place, "first here"),)
        collector.error("U701", message, entry.key.place, related=related)
    elif value is not None:
        known[name] = value


def _given(key: Scalar, node: Node, collector: Collector) -> Given | None:
    """A node as a value; its parameter decides what a text means."""
    if isinstance(node, Scalar):
        if node.text or node.quoted:
            return Given(node.text, node.place, key.text, key.place)
        message = f"'{key.text}' has no value, found {kind_of(node)}"
        collector.error("U701", message, node.place)
        return None
    if isinstance(node, Sequence):
        items = (_given(key, item, collector) for item in node.items)
        found = tuple(item for item in items if item is not None)
        return Given(found, node.place, key.text, key.place)
    present = (entry for entry in node.entries if not _is_absent(entry.value))
    entries = ((entry, _given(entry.key, entry.value, collector)) for entry in present)
    values = {parameter_name(entry.key.text): value for entry, value in entries if value}
    return Given(values, node.place, key.text, key.place)
