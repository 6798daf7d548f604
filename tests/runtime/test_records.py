"""Records that are made at once are what `dataclass` makes."""

from __future__ import annotations

import copy
import inspect
import pickle
from dataclasses import FrozenInstanceError, dataclass, field, replace

import pytest

from ullage_runtime.records import made_at_once


@dataclass(frozen=True, kw_only=True)
class Plain:
    first: int
    second: str | None = None
    third: int = 3


@made_at_once
@dataclass(frozen=True, kw_only=True)
class Quick:
    first: int
    second: str | None = None
    third: int = 3


@pytest.mark.parametrize(
    "given", [{"first": 1}, {"first": 1, "second": "x"}, {"third": 5, "second": "y", "first": 2}]
)
def test_a_record_holds_what_it_is_given_and_defaults_for_the_rest(
    given: dict[str, object],
) -> None:
    plain, quick = Plain(**given), Quick(**given)  # type: ignore[arg-type]
    assert repr(quick) == repr(plain).replace("Plain", "Quick")
    assert vars(quick) == vars(plain)
    assert quick == Quick(**given)  # type: ignore[arg-type]
    assert hash(quick) == hash(plain)


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({}, "missing keyword-only arguments: first"),
        ({"second": "x"}, "missing keyword-only arguments: first"),
        ({"first": 1, "fourth": 4}, "got an unexpected keyword argument 'fourth'"),
        ({"fourth": 4}, "got an unexpected keyword argument 'fourth'"),
    ],
)
def test_missing_and_unknown_fields_are_refused(given: dict[str, object], problem: str) -> None:
    with pytest.raises(TypeError, match=rf"Quick\.__init__\(\) {problem}"):
        Quick(**given)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        Plain(**given)  # type: ignore[arg-type]


def test_fields_by_position_are_refused() -> None:
    with pytest.raises(TypeError):
        Quick(1)  # type: ignore[misc]


def test_what_python_does_with_dataclasses_goes_on() -> None:
    quick = Quick(first=1)
    assert replace(quick, third=4) == Quick(first=1, third=4)
    assert copy.deepcopy(quick) == pickle.loads(pickle.dumps(quick)) == quick
    assert [*inspect.signature(Quick).parameters] == ["first", "second", "third"]
    with pytest.raises(FrozenInstanceError):
        quick.first = 2  # type: ignore[misc]


def test_records_share_no_fields() -> None:
    one, other = Quick(first=1), Quick(first=1)
    assert vars(one) is not vars(other)


def test_other_dataclasses_are_refused() -> None:
    @dataclass(frozen=True)
    class ByPosition:
        first: int

    @dataclass(frozen=True, kw_only=True)
    class WithFactory:
        first: list[int] = field(default_factory=list)

    for each in (ByPosition, WithFactory):
        with pytest.raises(ValueError, match="not by keyword, or have a factory"):
            made_at_once(each)
