"""Integers, versions, configuration problems and the view cache."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage_runtime.configuration import Problems
from ullage_runtime.errors import (
    BatchError,
    CapacityError,
    ConfigurationError,
    StaleCodeError,
    UllageRuntimeError,
)
from ullage_runtime.integers import align_up, cdiv, next_in
from ullage_runtime.version import GENERATED_CODE_VERSION, require_generated_code_version
from ullage_runtime.views import CacheStatistics, RecentlyUsed

PLACE = "engine.yaml:3:5"


@given(st.integers(-(2**70), 2**70), st.integers(1, 2**60))
def test_align_up_is_the_smallest_multiple_that_is_not_smaller(value: int, alignment: int) -> None:
    aligned = align_up(value, alignment)
    assert aligned % alignment == 0
    assert value <= aligned < value + alignment
    assert cdiv(value, alignment) * alignment == aligned


@pytest.mark.parametrize("divisor", [0, -4])
def test_a_divisor_below_one_is_refused(divisor: int) -> None:
    with pytest.raises(ValueError, match=f"at least 1, and this one is {divisor}"):
        cdiv(5, divisor)
    with pytest.raises(ValueError, match="at least 1"):
        align_up(5, divisor)


@given(st.integers(0, 60), st.lists(st.integers(1, 50), min_size=1))
def test_next_in_is_the_smallest_member_that_is_not_smaller(value: int, members: list[int]) -> None:
    enough = [member for member in sorted(members) if member >= value]
    if enough:
        assert next_in(value, members) == enough[0]
    else:
        with pytest.raises(ValueError, match=f"at least {value}"):
            next_in(value, members)


def test_generated_code_of_this_version_is_accepted() -> None:
    require_generated_code_version(GENERATED_CODE_VERSION, "engine.runners")


@pytest.mark.parametrize(("step", "remedy"), [(-1, "Run `ullage compile` again"), (1, "Upgrade")])
def test_stale_generated_code_is_refused_with_the_remedy(step: int, remedy: str) -> None:
    found = GENERATED_CODE_VERSION + step
    with pytest.raises(StaleCodeError, match=remedy) as caught:
        require_generated_code_version(found, "engine.runners")
    assert caught.value.code == "U721"
    assert f"code version {found}" in str(caught.value)
    assert f"serves version {GENERATED_CODE_VERSION}" in str(caught.value)


def test_errors_survive_the_way_between_processes() -> None:
    for error in (
        CapacityError("decode", "requests", 9, 8, place=PLACE, binding="R"),
        BatchError("U713", "decode", "positions", "has no source", place=PLACE),
        StaleCodeError("engine", 2, 1),
    ):
        copied: UllageRuntimeError = pickle.loads(pickle.dumps(error))
        assert type(copied) is type(error)
        assert str(copied) == str(error)
        assert vars(copied) == vars(error)


def test_a_legal_configuration_has_no_problem() -> None:
    problems = Problems()
    assert problems.integer("requests", 64, 1, 64, PLACE)
    assert problems.integers("buckets", (1, 64), 1, 64, PLACE)
    assert problems.boolean("overlap", False, PLACE)
    assert problems.choice("algorithm", "eagle", ("none", "eagle"), PLACE)
    assert problems.unset("topk", None, "speculative", PLACE)
    assert problems.constraint(True, "a <= b", "because", {"a": 1, "b": 2}, PLACE)
    problems.raise_if_any()


@pytest.mark.parametrize("value", [0, 65, True, None, 3.0, "3"])
def test_an_integer_must_be_one_and_in_range(value: object) -> None:
    problems = Problems()
    assert not problems.integer("requests", value, 1, 64, PLACE)
    assert str(problems.found[0]) == (
        f"U701: requests is {value!r}, but must be an integer in [1, 64] ({PLACE})."
    )


@pytest.mark.parametrize("value", [(), (1, 65), (1, True), 4, None])
def test_a_list_must_hold_integers_in_range(value: object) -> None:
    problems = Problems()
    assert not problems.integers("buckets", value, 1, 64, PLACE)
    assert "non-empty list of integers in [1, 64]" in str(problems.found[0])


def test_every_problem_of_a_configuration_is_reported_at_once() -> None:
    problems = Problems()
    problems.boolean("overlap", 1, PLACE)
    problems.choice("algorithm", "eagel", ("none", "eagle"), PLACE)
    problems.unset("topk", 4, "speculative", PLACE)
    problems.constraint(False, "a <= b", "rows must fit", {"a": 3, "b": 2}, PLACE)
    with pytest.raises(ConfigurationError) as caught:
        problems.raise_if_any()
    assert str(caught.value) == (
        "U701: The configuration has 4 problems.\n"
        f"  U701: overlap is 1, but must be True or False ({PLACE}).\n"
        f"  U701: algorithm is 'eagel', but must be one of 'none', 'eagle' ({PLACE}).\n"
        f"  U701: topk is 4, but has no meaning unless speculative ({PLACE}).\n"
        f"  U702: a <= b is broken with a = 3, b = 2: rows must fit ({PLACE})."
    )
    assert len(caught.value.problems) == 4


def test_the_view_cache_is_bounded_and_drops_the_least_recently_used() -> None:
    cache: RecentlyUsed[str] = RecentlyUsed(limit=2)
    assert cache.get((1, 8)) is None
    assert cache.put((1, 8), "first") == "first"
    cache.put((2, 8), "second")
    assert cache.get((1, 8)) == "first"
    cache.put((3, 8), "third")
    assert cache.get((2, 8)) is None
    assert cache.get((1, 8)) == "first"
    assert len(cache) == 2
    assert cache.statistics == CacheStatistics(hits=2, misses=2, evictions=1, entries=2)


@given(st.lists(st.integers(1, 9)), st.integers(1, 4))
def test_the_view_cache_never_exceeds_its_limit_or_mixes_keys(keys: list[int], limit: int) -> None:
    cache: RecentlyUsed[int] = RecentlyUsed(limit)
    for key in keys:
        views = cache.get((key,))
        assert views in (None, key * 10)
        cache.put((key,), key * 10)
        assert len(cache) <= limit


def test_putting_a_key_again_replaces_it_and_evicts_nothing() -> None:
    cache: RecentlyUsed[str] = RecentlyUsed(limit=2)
    cache.put(1, "one")
    cache.put(2, "two")
    cache.put(2, "new")
    assert cache.get(1) == "one"
    assert cache.get(2) == "new"
    cache.clear()
    assert len(cache) == 0


def test_a_view_cache_needs_room() -> None:
    with pytest.raises(ValueError, match="at least 1 entry, and this limit is 0"):
        RecentlyUsed(limit=0)
