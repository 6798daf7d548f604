"""What all nodes of the expression tree have in common: a place, and equality by structure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from operator import attrgetter

from ullage.place import BUILT_IN, Place


class _Remembered:
    """What is computed once for a node, since the same trees are compared and hashed often."""

    __slots__ = ("_folded", "_hash", "_names", "_parts")

    _folded: Node | None  # None where it is the node itself, so that there is no cycle
    _hash: int
    _names: frozenset[str]
    _parts: tuple[object, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Node(_Remembered):
    """Equal to another of its kind with equal parts, wherever they were written."""

    place: Place = field(default=BUILT_IN, repr=False)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if type(self) is not type(other):
            return False
        try:
            if self._hash != other._hash:
                return False
        except AttributeError:  # one of them is compared for the first time
            if hash(self) != hash(other):
                return False
        mine, others = self._parts, other._parts
        if mine is not others:
            if mine != others:
                return False
            object.__setattr__(other, "_parts", mine)  # the next time is quicker
        return True

    def __hash__(self) -> int:
        try:
            return self._hash
        except AttributeError:
            parts = _parts_of(type(self))(self)
            object.__setattr__(self, "_parts", parts)
            object.__setattr__(self, "_hash", hash((type(self), parts)))
            return self._hash

    def __reduce__(self) -> tuple[object, ...]:
        """As another process makes it again; what is remembered is found again there."""
        names: tuple[str, ...] = self.__match_args__
        return _made, (type(self), self.place, *(getattr(self, name) for name in names))


def _parts_of(kind: type[Node]) -> Callable[[Node], tuple[object, ...]]:
    """What gives all but the place, which may not be given without a keyword."""
    if kind not in _PARTS:
        names: tuple[str, ...] = kind.__match_args__
        _PARTS[kind] = attrgetter(*names, names[-1])  # twice: of one name there is no tuple
    return _PARTS[kind]


_PARTS: dict[type[Node], Callable[[Node], tuple[object, ...]]] = {}


def _made(kind: Callable[..., Node], place: Place, *parts: object) -> Node:
    return kind(*parts, place=place)
