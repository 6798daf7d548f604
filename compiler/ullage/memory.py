"""Answers to questions that were asked before.

A question is whatever records an answer depends on; its key covers all that is in them, and the
compiler that answers. What is kept is read as the record that it should be, or counts as absent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TypeVar

from ullage.cache import Cache, cache_of, digest_of, key_of
from ullage.processes import Item, Mapper, in_turn
from ullage.records import from_text, to_text

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class Memory:
    """What a cache has of earlier answers; without a cache, nothing.

    `asked`: a digest of what all of the questions have in common.
    """

    cache: Cache | None = None
    asked: str = ""

    def about(self, *common: object) -> Memory:
        """A memory for questions that all depend on some records, which need not name them."""
        digest = None if self.cache is None else _digest(self.asked, common)
        return NOTHING if digest is None else replace(self, asked=digest)

    def has(self, kind: type[object], *question: object) -> bool:
        """Whether an answer is kept; whether it can be read is seen when it is asked for."""
        base = self._base(kind)
        key = None if base is None else _digest(base, question)
        return self.cache is not None and key is not None and self.cache.has(key)

    def answer(
        self, kind: type[Answer], function: Callable[[], Answer], *question: object
    ) -> Answer:
        """What `function` answers, which is called only if the question is new."""
        (found,) = self.answers(kind, lambda _: function(), [question], lambda asked: asked)
        return found

    def answers(
        self,
        kind: type[Answer],
        function: Callable[[Item], Answer],
        items: Sequence[Item],
        question: Callable[[Item], Iterable[object]],
        mapped: Mapper = in_turn,
        first: Callable[[], None] | None = None,
    ) -> list[Answer]:
        """What `function` answers for each item, called only for those whose question is new.

        `question`: all that the answer for an item depends on, beside what is common to all.
        `first` is done as `mapped` does it; nothing is kept if it raises.
        """
        base = self._base(kind)
        if self.cache is None or base is None:
            return mapped(function, items, first)
        keys = [_digest(base, question(each)) for each in items]
        known = [self._recalled(self.cache, kind, key) for key in keys]
        new = [place for place, answer in enumerate(known) if answer is None]
        found = mapped(function, [items[place] for place in new], first)
        self.cache.store_all(dict(_kept(found, [keys[place] for place in new])))
        computed = iter(found)
        return [next(computed) if answer is None else answer for answer in known]

    def _base(self, kind: type[object]) -> str | None:
        """What the keys of all answers of a kind begin with; None if none can be kept."""
        if self.cache is None:
            return None
        return key_of(self.asked, f"{kind.__module__}.{kind.__qualname__}")

    def _recalled(self, cache: Cache, kind: type[Answer], key: str | None) -> Answer | None:
        kept = None if key is None else cache.load(key)
        return None if kept is None else from_text(kind, kept)


def _digest(base: str, question: Iterable[object]) -> str | None:
    """The key of a question; None for one that is nested deeper than can be written down."""
    try:
        return digest_of(base, *map(to_text, question))
    except RecursionError:
        return None


def _kept(answers: Iterable[object], keys: Iterable[str | None]) -> Iterator[tuple[str, str]]:
    """The answers as texts, each with its key, but for those that cannot be written down."""
    for answer, key in zip(answers, keys, strict=True):
        with suppress(RecursionError):
            if key is not None:
                yield key, to_text(answer)


def memory_of(environment: Mapping[str, str]) -> Memory:
    """What the cache that the environment asks for has, as `cache_of` finds it."""
    return Memory(cache_of(environment))


NOTHING = Memory()
"""The memory of one who is asked everything for the first time."""
