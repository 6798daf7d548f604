"""Modes that ranks may be in during the same round, and the collectives that they run there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ullage.spec.model import Mode, Transform


def are_peers(one: Mode, other: Mode) -> bool:
    """Whether one of the two names the other, which holds both ways."""
    return other.name in (one.peers or ()) or one.name in (other.peers or ())


def is_silent(mode: Mode, modes: Iterable[Mode]) -> bool:
    """Whether nothing is said about the peers of a mode, not even that it has none."""
    return mode.peers is None and not any(are_peers(mode, each) for each in modes)


def collectives_of(mode: Mode, transforms: Mapping[str, Transform]) -> tuple[Transform, ...]:
    """The transforms of a mode in which ranks meet, in order."""
    found = (transforms[entry.transform] for entry in mode.pipeline)
    return tuple(each for each in found if each.collective is not None)


def listed(collectives: Iterable[tuple[str, str]]) -> str:
    """Transforms and their groups in words."""
    shown = (f"'{transform}' over '{group}'" for transform, group in collectives)
    return ", then ".join(shown) or "no collective"
