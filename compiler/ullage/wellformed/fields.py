"""Fields of the batch that one place names alone, almost as other places name another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

from ullage.diagnostics.diagnostic import Collector
from ullage.place import Place
from ullage.spec.model import LiveVariable, Mode, Spec

NAMED_ALIKE: Final = "U218"
_SURE_LENGTH: Final = 4
_LONG: Final = 12

_Path = tuple[str, ...]
_Use = tuple[_Path, str, Place]
"""A path, what names it, and where."""


def check_fields(spec: Spec, collector: Collector) -> None:
    """Warn of a field that is named once and differs in a letter or two from another.

    A number and a tensor may be called almost alike, such as `size` and `sizes`.
    """
    numbers = tuple(dict.fromkeys(_numbers(spec)))
    counted = {path for path, _, _ in numbers}
    tensors = tuple(use for use in dict.fromkeys(_tensors(spec)) if use[0] not in counted)
    _check(numbers, collector)
    _check(tensors, collector)


def _check(uses: tuple[_Use, ...], collector: Collector) -> None:
    counts = Counter(path for path, _, _ in uses)
    places = {path: place for path, _, place in reversed(uses)}
    for path, what, place in uses:
        if counts[path] > 1:
            continue
        for other in sorted(counts, key=lambda each: (-counts[each], each)):
            later = counts[other] == 1 and places[other] > place
            if other != path and not later and _are_alike(path, other):
                field, meant = ".".join(path), ".".join(other)
                message = f"nothing but {what} names the field '{field}'"
                hint = f"did you mean '{meant}'?"
                if counts[other] == 1:  # nothing tells which of the two is right
                    hint = f"is it a slip for '{meant}', or that for this?"
                related = ((places[other], f"'{meant}' is named here"),)
                collector.warn(NAMED_ALIKE, message, place, hint=hint, related=related)
                break


def _numbers(spec: Spec) -> Iterator[_Use]:
    for mode in spec.modes:
        for variable in mode.live:
            for source in variable.seen_in:
                if source.dimension is None and variable.per is None:
                    yield source.path, _named(variable, mode), variable.place


def _tensors(spec: Spec) -> Iterator[_Use]:
    for slot in spec.slots:
        if slot.source is not None:
            yield slot.source.path, f"slot '{slot.name}'", slot.place
    for carried in spec.carried:
        yield carried.source.path, f"carried field '{carried.name}'", carried.place
    for mode in spec.modes:
        for variable in mode.live:
            sources = (*variable.seen_in, *((variable.debug_in,) if variable.debug_in else ()))
            for source in sources:
                yield source.path, _named(variable, mode), variable.place


def _named(variable: LiveVariable, mode: Mode) -> str:
    return f"live variable '{variable.name}' of mode '{mode.name}'"


def _are_alike(path: _Path, other: _Path) -> bool:
    """Whether one is a slip for the other, and not a sibling such as `part_a` of `part_b`."""
    one, two = ".".join(path[1:]), ".".join(other[1:])
    if min(len(one), len(two)) < _SURE_LENGTH or _are_siblings(one, two):
        return False
    most = 2 if min(len(one), len(two)) >= _LONG else 1
    # A slip changes the length by one at most, and takes one letter away and brings another.
    if abs(len(one) - len(two)) > most or len({*one} ^ {*two}) > 2 * most:
        return False
    return _distance(one, two) <= most


def _are_siblings(one: str, two: str) -> bool:
    """Whether they differ in one word, which is a letter, a number or only numbered otherwise."""
    pairs = list(zip(one.split("_"), two.split("_"), strict=False))
    if len(one.split("_")) != len(two.split("_")):
        return False
    differing = [(a, b) for a, b in pairs if a != b]
    return all(
        len(a) == len(b) == 1 or a.rstrip("0123456789") == b.rstrip("0123456789")
        for a, b in differing
    )


def _distance(one: str, two: str) -> int:
    """How many letters are wrong, missing, too many or exchanged with the next."""
    before: list[int] = []
    row = list(range(len(two) + 1))
    for i, a in enumerate(one, 1):
        earlier, before, row = before, row, [i]
        for j, b in enumerate(two, 1):
            best = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (a != b))
            if i > 1 and j > 1 and a == two[j - 2] and one[i - 2] == b:
                best = min(best, earlier[j - 2] + 1)
            row.append(best)
    return row[-1]
