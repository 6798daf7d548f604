"""The order of definitions, against the standard library as the oracle."""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter

from hypothesis import given
from hypothesis import strategies as st

from ullage.spec.order import dependency_order, reached

NAMES = "abcdefg"
GRAPHS = st.dictionaries(
    st.sampled_from(NAMES), st.lists(st.sampled_from(NAMES), max_size=4).map(tuple)
)


def has_cycle(uses: dict[str, tuple[str, ...]]) -> bool:
    known = {name: [used for used in names if used in uses] for name, names in uses.items()}
    try:
        TopologicalSorter(known).prepare()
    except CycleError:
        return True
    return False


@given(GRAPHS)
def test_a_cycle_is_found_where_there_is_one(uses: dict[str, tuple[str, ...]]) -> None:
    order, cycles = dependency_order(uses)
    assert bool(cycles) == has_cycle(uses)
    assert sorted(order) == sorted(uses)


@given(GRAPHS)
def test_a_cycle_lists_names_that_use_each_other_in_turn(uses: dict[str, tuple[str, ...]]) -> None:
    for cycle in dependency_order(uses)[1]:
        assert all(b in uses[a] for a, b in zip(cycle, cycle[1:] + cycle[:1], strict=True))


@given(GRAPHS)
def test_without_a_cycle_every_name_stands_behind_what_it_uses(
    uses: dict[str, tuple[str, ...]],
) -> None:
    order, cycles = dependency_order(uses)
    if not cycles:
        for index, name in enumerate(order):
            assert {used for used in uses[name] if used in uses} <= set(order[:index])


def test_an_order_that_is_right_already_is_kept() -> None:
    uses = {"b": (), "a": ("b",), "d": (), "c": ("a", "d")}
    assert dependency_order(uses)[0] == ("b", "a", "d", "c")


def test_a_long_chain_needs_no_deep_recursion() -> None:
    uses = {f"n{index}": (f"n{index + 1}",) for index in range(20_000)}
    assert dependency_order(uses)[0][-1] == "n0"


@given(GRAPHS, st.sampled_from(NAMES))
def test_what_is_reached_is_closed_under_use(uses: dict[str, tuple[str, ...]], root: str) -> None:
    found = reached(uses, (root,))
    assert root in found
    assert all(used in found for name in found for used in uses.get(name, ()))
