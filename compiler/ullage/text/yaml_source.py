"""Spec files to trees of texts. YAML is text: nothing here decides what a scalar means.

PyYAML scans and parses; its resolver and constructor never run, and whatever makes YAML more
than text with structure (tags, anchors, merge keys, directives) is refused.
"""

from __future__ import annotations

from pathlib import Path

from ullage.diagnostics.diagnostic import Collector, DiagnosticError
from ullage.text.compose import SPEC_RULE, Composer
from ullage.text.decoding import MAX_BYTES, decode, read_bytes
from ullage.text.nodes import Entry, Mapping, Node, Scalar, Sequence, kind_of
from ullage.text.positions import Source

__all__ = [
    "MAX_BYTES",
    "Entry",
    "Mapping",
    "Node",
    "Scalar",
    "Sequence",
    "compose",
    "decode",
    "kind_of",
    "parse_bytes",
    "read_bytes",
    "read_file",
]


def parse_bytes(data: bytes, name: str) -> Mapping:
    """The tree of one spec file. Raises DiagnosticError with all that is wrong, nothing else."""
    collector = Collector()
    text = decode(data, name, collector)
    tree = None if text is None else compose(text, name, collector)
    collector.raise_if_errors()
    if tree is None:  # pragma: no cover - either tree or error, for the type checker
        raise DiagnosticError(collector.diagnostics)
    return tree


def read_file(path: Path, name: str) -> Mapping:
    """The tree of the file at `path`, called `name` in messages. Raises DiagnosticError."""
    collector = Collector()
    data = read_bytes(path, name, collector)
    collector.raise_if_errors()
    return parse_bytes(data or b"", name)


def compose(text: str, name: str, collector: Collector, rule: str = SPEC_RULE) -> Mapping | None:
    """The tree of a decoded text, or None after recording at least one error.

    `rule`: what such a text is, for the error about one that is something else.
    """
    return Composer(Source(name, text), collector, rule).compose()
