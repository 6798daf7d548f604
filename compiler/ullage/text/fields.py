"""Typed access to a mapping: each reader says what it wants, and every mistake is collected.

    fields = Fields(node, collector, "parameter 'tp_size'")
    low = fields.integer("low", required=True)
    doc = fields.text("doc", default="")
    fields.finish()

A method that finds something else records an error and answers as if the key were absent.
`finish` records the missing keys and the ones that nobody asked for.
"""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Mapping as Mapped
from types import MappingProxyType
from typing import overload

from ullage.diagnostics.diagnostic import Collector, did_you_mean, nearest
from ullage.place import Place
from ullage.text.nodes import Entry, Mapping, Node, Scalar, Sequence, kind_of
from ullage.text.values import (
    IDENTIFIER_RULE,
    INTEGER_RULE,
    is_identifier,
    is_reserved,
    parse_integer,
    suggest_identifier,
)


class Fields:
    """The keys of one mapping, taken one by one; `what` names the thing in messages."""

    def __init__(self, mapping: Mapping, collector: Collector, what: str) -> None:
        self.node = mapping
        self.what = what
        self._collector = collector
        self._entries: dict[str, Entry] = {entry.key.text: entry for entry in mapping.entries}
        self._asked: dict[str, bool] = {}

    def __contains__(self, key: str) -> bool:
        """Whether the key is written; does not count as asking for it."""
        return key in self._entries

    def place(self, key: str) -> Place:
        """Where the value of `key` stands, or the whole mapping if it is absent."""
        entry = self._entries.get(key)
        return self.node.place if entry is None else entry.value.place

    def key_place(self, key: str) -> Place:
        """Where `key` itself stands, or the whole mapping if it is absent."""
        entry = self._entries.get(key)
        return self.node.place if entry is None else entry.key.place

    def raw(self, key: str, *, required: bool = False) -> Node | None:
        """The value of `key`, whatever it is."""
        self._asked[key] = self._asked.get(key, False) or required
        entry = self._entries.get(key)
        return None if entry is None else entry.value

    def scalar(self, key: str, *, required: bool = False) -> Scalar | None:
        """The text of `key` with its positions; an empty plain value is an error."""
        node = self.raw(key, required=required)
        return None if node is None else self._as_scalar(node, f"'{key}'", "text")

    @overload
    def text(self, key: str, *, required: bool = False, default: None = None) -> str | None: ...
    @overload
    def text(self, key: str, *, required: bool = False, default: str) -> str: ...
    def text(self, key: str, *, required: bool = False, default: str | None = None) -> str | None:
        """The text of `key`."""
        scalar = self.scalar(key, required=required)
        return default if scalar is None else scalar.text

    @overload
    def identifier(
        self, key: str, *, required: bool = False, default: None = None
    ) -> str | None: ...
    @overload
    def identifier(self, key: str, *, required: bool = False, default: str) -> str: ...
    def identifier(
        self, key: str, *, required: bool = False, default: str | None = None
    ) -> str | None:
        """The name in `key`."""
        scalar = self.scalar(key, required=required)
        if scalar is None or not check_identifier(scalar, self._collector, f"'{key}'"):
            return default
        return scalar.text

    @overload
    def integer(
        self, key: str, *, required: bool = False, default: None = None, low: int | None = None
    ) -> int | None: ...
    @overload
    def integer(
        self, key: str, *, required: bool = False, default: int, low: int | None = None
    ) -> int: ...
    def integer(
        self,
        key: str,
        *,
        required: bool = False,
        default: int | None = None,
        low: int | None = None,
    ) -> int | None:
        """The integer in `key`, at least `low`."""
        scalar = self.scalar(key, required=required)
        value = None if scalar is None else read_integer(scalar, self._collector, f"'{key}'")
        if scalar is None or value is None:
            return default
        if low is not None and value < low:
            message = f"'{key}' is {value}, expected at least {low}"
            self._collector.error("U210", message, scalar.place)
            return default
        return value

    @overload
    def boolean(self, key: str, *, required: bool = False, default: None = None) -> bool | None: ...
    @overload
    def boolean(self, key: str, *, required: bool = False, default: bool) -> bool: ...
    def boolean(
        self, key: str, *, required: bool = False, default: bool | None = None
    ) -> bool | None:
        """The truth value in `key`, written `true` or `false`."""
        scalar = self.scalar(key, required=required)
        value = None if scalar is None else read_boolean(scalar, self._collector, f"'{key}'")
        return default if value is None else value

    @overload
    def choice(
        self,
        key: str,
        allowed: Collection[str],
        *,
        required: bool = False,
        default: None = None,
    ) -> str | None: ...
    @overload
    def choice(
        self, key: str, allowed: Collection[str], *, required: bool = False, default: str
    ) -> str: ...
    def choice(
        self,
        key: str,
        allowed: Collection[str],
        *,
        required: bool = False,
        default: str | None = None,
    ) -> str | None:
        """The text of `key`, which is one of `allowed`."""
        scalar = self.scalar(key, required=required)
        if scalar is None or not check_choice(scalar, allowed, self._collector, f"'{key}'"):
            return default
        return scalar.text

    def scalars(self, key: str, *, required: bool = False) -> tuple[Scalar, ...]:
        """The texts of `key`, which is one text or a list of texts; empty if absent."""
        node = self.raw(key, required=required)
        if node is None:
            return ()
        if not isinstance(node, Sequence):
            single = self._as_scalar(node, f"'{key}'", "text or a list of texts")
            return () if single is None else (single,)
        found = (self._as_scalar(item, f"an item of '{key}'", "text") for item in node.items)
        return tuple(scalar for scalar in found if scalar is not None)

    def texts(self, key: str, *, required: bool = False) -> tuple[str, ...]:
        """The texts of `key` without their positions."""
        return tuple(scalar.text for scalar in self.scalars(key, required=required))

    def identifiers(self, key: str, *, required: bool = False) -> tuple[Scalar, ...]:
        """The distinct names of `key`, which is one name or a list of names; empty if absent."""
        first: dict[str, Scalar] = {}
        for scalar in self.scalars(key, required=required):
            if not check_identifier(scalar, self._collector, f"an item of '{key}'"):
                continue
            if (earlier := first.setdefault(scalar.text, scalar)) is not scalar:
                message = f"'{scalar.text}' stands twice in '{key}'"
                related = ((earlier.place, "first here"),)
                self._collector.error("U205", message, scalar.place, related=related)
        return tuple(first.values())

    def sequence(self, key: str, *, required: bool = False) -> Sequence | None:
        """The list in `key`."""
        node = self.raw(key, required=required)
        if node is None or isinstance(node, Sequence):
            return node
        self._wrong_kind(node, f"'{key}'", "a list")
        return None

    def items(self, key: str, *, required: bool = False) -> tuple[Node, ...]:
        """The items of the list in `key`; empty if absent."""
        sequence = self.sequence(key, required=required)
        return () if sequence is None else sequence.items

    def mapping(self, key: str, *, required: bool = False) -> Mapping | None:
        """The mapping in `key`."""
        node = self.raw(key, required=required)
        if node is None or isinstance(node, Mapping):
            return node
        self._wrong_kind(node, f"'{key}'", "a mapping")
        return None

    def fields(self, key: str, what: str, *, required: bool = False) -> Fields | None:
        """The mapping in `key`, for reading in the same way; its own `finish` is the caller's."""
        mapping = self.mapping(key, required=required)
        return None if mapping is None else Fields(mapping, self._collector, what)

    def named(self, key: str, *, required: bool = False) -> tuple[Entry, ...]:
        """The entries of the mapping in `key`, whose keys are names; empty if absent."""
        mapping = self.mapping(key, required=required)
        if mapping is None:
            return ()
        return tuple(
            entry
            for entry in mapping.entries
            if check_identifier(entry.key, self._collector, f"a name in '{key}'")
        )

    def finish(self, former: Mapped[str, str] = MappingProxyType({})) -> None:
        """Record the required keys that are missing and the keys that nobody asked for.

        `former`: keys that were called otherwise, with what they are called now.
        """
        unknown = [entry.key for key, entry in self._entries.items() if key not in self._asked]
        absent = [key for key in self._asked if key not in self._entries]
        meant = {former.get(key.text) or nearest(key.text, absent) for key in unknown}
        for key in unknown:
            self._report_unknown(key, absent, former.get(key.text))
        for name, required in self._asked.items():
            if required and name in absent and name not in meant:
                message = f"{self.what} lacks the key '{name}'"
                self._collector.error("U202", message, self.node.place)

    def _report_unknown(self, key: Scalar, absent: Collection[str], renamed: str | None) -> None:
        message = f"unknown key '{key.text}' in {self.what}"
        hint = None if renamed is None else f"it is called '{renamed}' now"
        hint = hint or did_you_mean(key.text, absent) or did_you_mean(key.text, self._asked)
        known = ", ".join(sorted(self._asked))
        self._collector.error(
            "U201", message, key.place, hint=hint or (f"known keys: {known}" if known else None)
        )

    def _as_scalar(self, node: Node, subject: str, expected: str) -> Scalar | None:
        if isinstance(node, Scalar) and (node.text or node.quoted):
            return node
        self._wrong_kind(node, subject, expected)
        return None

    def _wrong_kind(self, node: Node, subject: str, expected: str) -> None:
        report_kind(node, self._collector, f"{subject} of {self.what}", expected)


def as_fields(node: Node, collector: Collector, what: str) -> Fields | None:
    """`node` as fields, or an error and None if it is not a mapping."""
    if isinstance(node, Mapping):
        return Fields(node, collector, what)
    report_kind(node, collector, what, "a mapping")
    return None


def as_scalar(node: Node, collector: Collector, what: str) -> Scalar | None:
    """`node` as a text, or an error and None if it is empty or not a text."""
    if isinstance(node, Scalar) and (node.text or node.quoted):
        return node
    report_kind(node, collector, what, "text")
    return None


def report_kind(node: Node, collector: Collector, what: str, expected: str) -> None:
    """Record that `node` is not the `expected` kind of value."""
    if isinstance(node, Scalar) and not node.text and not node.quoted:
        collector.error("U209", f"{what} has no value, expected {expected}", node.place)
        return
    message = f"{what} is {kind_of(node)}, expected {expected}"
    is_bracketed = expected.startswith("text") and not isinstance(node, Scalar)
    hint = "put an expression that starts with a bracket in quotes" if is_bracketed else None
    collector.error("U203", message, node.place, hint=hint)


def check_identifier(scalar: Scalar, collector: Collector, what: str) -> bool:
    """Whether `scalar` is a legal name; records an error if not."""
    if is_identifier(scalar.text):
        return True
    reason = "is a reserved word" if is_reserved(scalar.text) else "is not a legal name"
    message = f"{what} is '{_excerpt(scalar.text)}', which {reason}: {IDENTIFIER_RULE}"
    suggestion = suggest_identifier(scalar.text)
    hint = None if suggestion is None else f"write {suggestion}"
    collector.error("U204", message, scalar.place, hint=hint)
    return False


def check_choice(scalar: Scalar, allowed: Collection[str], collector: Collector, what: str) -> bool:
    """Whether `scalar` is one of `allowed`; records an error if not."""
    if scalar.text in allowed:
        return True
    message = f"{what} is '{_excerpt(scalar.text)}', expected one of {', '.join(allowed)}"
    collector.error("U208", message, scalar.place, hint=did_you_mean(scalar.text, allowed))
    return False


def read_integer(scalar: Scalar, collector: Collector, what: str) -> int | None:
    """The integer that `scalar` spells; records an error and answers None if it is none."""
    value = parse_integer(scalar.text)
    if value is None:
        message = f"{what} is '{_excerpt(scalar.text)}', expected {INTEGER_RULE}"
        unpadded = scalar.text.lstrip("0")
        is_padded = unpadded != scalar.text and parse_integer(unpadded) is not None
        hint = f"write {unpadded}: leading zeros are refused" if is_padded else None
        collector.error("U206", message, scalar.place, hint=hint)
    return value


def read_boolean(scalar: Scalar, collector: Collector, what: str) -> bool | None:
    """The truth value that `scalar` spells; records an error and answers None if it is none."""
    if scalar.text in ("true", "false"):
        return scalar.text == "true"
    message = f"{what} is '{_excerpt(scalar.text)}', expected true or false"
    meant = {"true": "true", "yes": "true", "on": "true", "y": "true", "1": "true"} | {
        "false": "false", "no": "false", "off": "false", "n": "false", "0": "false"
    }  # fmt: skip
    word = meant.get(scalar.text.lower())
    collector.error("U207", message, scalar.place, hint=word and f"write {word}")
    return None


def _excerpt(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:57]}..."
