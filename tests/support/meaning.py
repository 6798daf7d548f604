"""What a spec says, apart from where it is written."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

from ullage.place import BUILT_IN, Place
from ullage.spec.model import Mode, Runner, Spec
from ullage.spec.stated import Audit

_Value = TypeVar("_Value")
_Entity = TypeVar("_Entity", Mode, Runner, Audit)


def meaning(spec: Spec) -> Spec:
    """The spec without places, digest and references.

    References repeat names that the records hold, to have places for them. Modes, runners and
    audits come in the order of their names, since theirs is only the order of files.
    """
    bare = without_places(spec)
    return replace(
        bare,
        digest="",
        references=(),
        modes=_by_name(bare.modes),
        runners=_by_name(bare.runners),
        audits=_by_name(bare.audits),
    )


def same_meaning(first: Spec, second: Spec) -> bool:
    """Whether two specs differ at most in where things are written."""
    return meaning(first) == meaning(second)


def references(spec: Spec) -> frozenset[tuple[str, str, str]]:
    """What the spec refers to by name."""
    return frozenset((each.kind, each.name, each.owner) for each in spec.references)


def without_places(value: _Value) -> _Value:
    """The same records and tuples with one place everywhere."""
    return _stripped(value)  # type: ignore[no-any-return]  # of the type that goes in


def _stripped(value: Any) -> Any:
    if isinstance(value, Place):
        return BUILT_IN
    if isinstance(value, tuple):
        return tuple(_stripped(item) for item in value)
    if is_dataclass(value) and not isinstance(value, type):
        parts = {each.name: _stripped(getattr(value, each.name)) for each in fields(value)}
        return replace(value, **parts)
    return value


def _by_name(entities: Iterable[_Entity]) -> tuple[_Entity, ...]:
    return tuple(sorted(entities, key=lambda entity: entity.name))
