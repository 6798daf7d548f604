"""From PyYAML's events to the tree, with every refusal at its place."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, TypeGuard

import yaml

from ullage.diagnostics.diagnostic import Collector, Related
from ullage.place import Place
from ullage.text.characters import FORBIDDEN, refusal
from ullage.text.nodes import Entry, Mapping, Node, Scalar, Sequence, kind_of
from ullage.text.positions import Source, runs_of
from ullage.text.splits import (
    Split,
    find_split,
    is_comprehension,
    quoted_form,
    whole_expression,
)
from ullage.text.syntax import reading_of

MAX_DEPTH: Final = 32
MAX_HINT: Final = 300


@dataclass(slots=True)
class _Open:
    """A collection whose end has not come yet; `nodes` alternates keys and values of a mapping."""

    start: int
    is_mapping: bool
    is_flow: bool
    nodes: list[Node] = field(default_factory=list)
    is_split: bool = False

    def key(self) -> str | None:
        """The key whose value comes next, or None outside of values."""
        if not self.is_mapping or len(self.nodes) % 2 == 0:
            return None
        key = self.nodes[-1]
        return key.text if isinstance(key, Scalar) else None


class _UnreadableError(Exception):
    """The rest of the file cannot be read; the reason has been recorded."""


EventLoader = type[yaml.SafeLoader] | type[yaml.CSafeLoader]

SPEC_RULE: Final = "a spec file is a mapping of keys to values"


class Composer:
    """Builds the tree of one file. Use once.

    `rule`: what the file is, for the error about one that is something else. `loader`: whose
    events they are; errors are told by those of SafeLoader, another one's are raised.
    """

    def __init__(
        self,
        source: Source,
        collector: Collector,
        rule: str = SPEC_RULE,
        loader: EventLoader = yaml.SafeLoader,
    ) -> None:
        self._loader = loader
        self._rule = rule
        self._source = source
        self._outer = collector
        self._collector = Collector()
        self._stack: list[_Open] = []
        self._roots: list[Node] = []
        self._split_start = -1
        self._split_end = -1
        self._last_plain: tuple[int, int] | None = None

    def compose(self) -> Mapping | None:
        """The tree, or None if any error was recorded."""
        try:
            for event in self._events():
                self._take(event)
            root = self._root()
        except _UnreadableError:
            root = None
        self._outer.add(*self._collector.diagnostics)
        return None if self._collector.has_errors else root

    def _events(self) -> Iterator[yaml.Event]:
        reached = 0
        try:
            for event in yaml.parse(self._source.text, Loader=self._loader):
                _, reached = _span(event)
                yield event
        except yaml.MarkedYAMLError as error:
            if self._loader is not yaml.SafeLoader:
                raise
            self._syntax_error(error)
            raise _UnreadableError from None
        except (yaml.YAMLError, ValueError, OverflowError, IndexError):
            # PyYAML converts the digits of escapes and directives without checking them.
            self._error("U104", "behind this an escape or a directive cannot be read", reached)
            raise _UnreadableError from None

    def _take(self, event: yaml.Event) -> None:
        start, end = _span(event)
        self._last_plain = None
        match event:
            case yaml.DocumentStartEvent():
                self._start_document(event, start, end)
            case yaml.AliasEvent():
                self._error("U106", f"the alias '*{event.anchor}' is not allowed", start, end)
                self._add(Scalar("", self._source.place(start, end)))
            case yaml.ScalarEvent():
                self._refuse_properties(event, start)
                self._take_scalar(event, start, end)
            case yaml.CollectionStartEvent():
                self._refuse_properties(event, start)
                self._open(event, start, end)
            case yaml.CollectionEndEvent():
                self._close(end)

    def _start_document(self, event: yaml.DocumentStartEvent, start: int, end: int) -> None:
        if self._roots:
            self._error("U111", "a second document starts here", start, end)
            raise _UnreadableError
        if event.version or event.tags:
            self._error("U114", "YAML directives are not allowed", start, end)

    def _refuse_properties(self, event: yaml.NodeEvent, start: int) -> None:
        if event.anchor is not None:
            self._error("U106", f"the anchor '&{event.anchor}' is not allowed", start)
        if getattr(event, "tag", None) is not None:
            message = "a tag ('!' before a value) is not allowed"
            self._error("U105", message, start, hint="put a value that starts with ! in quotes")

    def _take_scalar(self, event: yaml.ScalarEvent, start: int, end: int) -> None:
        is_plain = not event.style
        scalar = self._scalar(event, start, end)
        for match in FORBIDDEN.finditer(scalar.text):  # made by an escape
            self._error_at("U103", refusal(match[0]), scalar.at(match.start()))
        if is_plain and self._stack and self._stack[-1].is_flow and start >= self._split_end:
            self._last_plain = (start, end)
            split = find_split(self._source.text, start, end)
            if split is not None:
                self._report_split(*self._widened(split, self._stack[-1].key()))
                self._stack[-1].is_split = True
        self._add(scalar)

    def _scalar(self, event: yaml.ScalarEvent, start: int, end: int) -> Scalar:
        text, style = event.value, event.style or ""
        quote = int(style in ("'", '"'))
        source = self._source
        content = source.text[start + quote : end - quote]
        if content == text and "\n" not in text and style not in ("|", ">"):
            place = source.place(start + quote, start + quote + len(text))
            return Scalar(text, place, bool(style))
        runs = runs_of(source, text, start, end, style)
        if not runs:
            return Scalar(text, source.place(start, end), bool(style))
        scalar = Scalar(text, source.place(start, end), bool(style), runs)
        return Scalar(text, scalar.at(0, len(text)), bool(style), runs)

    def _open(self, event: yaml.CollectionStartEvent, start: int, end: int) -> None:
        if len(self._stack) >= MAX_DEPTH:
            self._error("U110", f"nested deeper than {MAX_DEPTH} levels", start, end)
            raise _UnreadableError
        is_mapping = isinstance(event, yaml.MappingStartEvent)
        self._stack.append(_Open(start, is_mapping, bool(event.flow_style)))

    def _close(self, end: int) -> None:
        opened = self._stack.pop()
        start = opened.start
        place = self._source.place(start, end if opened.is_flow else start + 1)
        if opened.is_mapping:
            entries = self._entries(opened)
            if entries and not opened.is_flow:
                place = entries[0].key.place
            self._add(Mapping(entries, place))
            return
        self._add(Sequence(tuple(opened.nodes), place))
        first = opened.nodes[0] if opened.nodes else None
        if opened.is_flow and isinstance(first, Scalar) and not first.quoted:
            self._refuse_comprehension(first.text, start)

    def _refuse_comprehension(self, first: str, start: int) -> None:
        if start >= self._split_end and is_comprehension(first):
            split = whole_expression(self._source.text, start)
            self._report_split(split, self._key_of_last())

    def _key_of_last(self) -> str | None:
        """The key of the node that was added last."""
        if not self._stack or not self._stack[-1].is_mapping:
            return None
        nodes = self._stack[-1].nodes
        key = nodes[-2] if len(nodes) % 2 == 0 else None
        return key.text if isinstance(key, Scalar) else None

    def _add(self, node: Node) -> None:
        (self._stack[-1].nodes if self._stack else self._roots).append(node)

    def _entries(self, opened: _Open) -> tuple[Entry, ...]:
        """The entries of a mapping; keys that are none are errors, unless a split made them."""
        first: dict[str, Scalar] = {}
        entries: list[Entry] = []
        for key, value in zip(opened.nodes[::2], opened.nodes[1::2], strict=True):
            if opened.is_split or not self._is_key(key, opened.is_flow):
                continue
            if (earlier := first.setdefault(key.text, key)) is not key:
                related = ((earlier.place, "first here"),)
                message = f"the key '{key.text}' stands twice"
                self._error_at("U108", message, key.place, related=related)
            else:
                entries.append(Entry(key, value))
        return tuple(entries)

    def _is_key(self, key: Node, is_flow: bool) -> TypeGuard[Scalar]:
        if not isinstance(key, Scalar) or (not key.text and not key.quoted):
            message = f"a key is text, found {kind_of(key)}"
            is_bracketed = is_flow and not isinstance(key, Scalar)
            hint = "put a value that starts with a bracket in quotes" if is_bracketed else None
            self._error_at("U109", message, key.place, hint=hint)
            return False
        if key.text == "<<" and not key.quoted:
            self._error_at("U107", "the merge key '<<' is not allowed", key.place)
            return False
        return True

    def _root(self) -> Mapping | None:
        root = self._roots[0] if self._roots else Scalar("", self._source.place(0))
        if isinstance(root, Mapping):
            return root
        message = f"{self._rule}, found {kind_of(root)}"
        self._error_at("U112", message, root.place)
        return None

    def _widened(self, split: Split, key: str | None) -> tuple[Split, str | None]:
        """The whole list and its key, if `split` is all of a list comprehension but brackets."""
        opened = self._stack[-1]
        expression = self._source.text[split.start : split.end]
        is_first = opened.start + 1 == split.start and not opened.is_mapping
        if not is_first or not is_comprehension(expression):
            return split, key
        outer = self._stack[-2].key() if len(self._stack) > 1 else None
        return whole_expression(self._source.text, opened.start), outer

    def _report_split(self, split: Split, key: str | None) -> None:
        expression = self._source.text[split.start : split.end]
        self._split_start, self._split_end = split.start, split.end + 1
        place = self._source.place(split.start, split.end)
        if not split.is_closed:
            message = "this value opens a bracket and does not close it before its collection ends"
            hint = "close the bracket, or put the value in quotes"
        else:
            message = "inside {} or [] YAML splits an unquoted expression at commas and brackets"
            label = "" if key is None else f"{key}: "
            hint = f"write {label}{quoted_form(expression)}"
        if len(hint) > MAX_HINT:
            hint = "put the whole expression in quotes"
        self._collector.error("U113", message, place, hint=hint)

    def _syntax_error(self, error: yaml.MarkedYAMLError) -> None:
        flow = next((opened.start for opened in self._stack if opened.is_flow), None)
        if flow is not None and self._split_start >= flow:
            return  # the pieces of the reported expression need not be YAML
        mark = error.problem_mark or error.context_mark
        index = 0 if mark is None else min(mark.index, len(self._source.text))
        if self._continues_plain(index):
            return
        message, hint = reading_of(error.problem or error.context or "it cannot be read")
        related: Related = ()
        context = error.context_mark
        if context is not None and context.index < index and error.context:
            related = ((self._source.place(context.index), error.context),)
        self._collector.error(
            "U104", message, self._source.place(index), hint=hint, related=related
        )

    def _continues_plain(self, index: int) -> bool:
        """Whether the syntax error is a bracket behind a plain text, as in `{x: a in [b]}`."""
        if self._last_plain is None or self._source.text[index : index + 1] not in ("[", "{"):
            return False
        start, end = self._last_plain
        if self._source.text[end:index].strip(" \t\n"):
            return False
        split = whole_expression(self._source.text, start)
        self._report_split(*self._widened(split, self._key_of_last()))
        return True

    def _error(
        self, code: str, message: str, start: int, end: int | None = None, hint: str | None = None
    ) -> None:
        if start >= self._split_end:
            self._error_at(code, message, self._source.place(start, end), hint=hint)

    def _error_at(
        self,
        code: str,
        message: str,
        place: Place,
        *,
        hint: str | None = None,
        related: Related = (),
    ) -> None:
        self._collector.error(code, message, place, hint=hint, related=related)


def _span(event: yaml.Event) -> tuple[int, int]:
    start = 0 if event.start_mark is None else event.start_mark.index
    return start, start if event.end_mark is None else event.end_mark.index
