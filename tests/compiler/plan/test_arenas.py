"""Arenas: who shares storage with whom, that nothing alive is lost, and how little it takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations, permutations, product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.generated import generated, package
from ullage.configuration.values import complete
from ullage.expr.tree import FALSE, TRUE
from ullage.place import BUILT_IN
from ullage.plan.arenas import PlacedArena, alive_together, arenas_for, heaviest, starts_of
from ullage.plan.bases import bases_of
from ullage.plan.greedy import greedy_bytes, greedy_starts
from ullage.plan.lifetimes import pairs_of, together
from ullage.plan.model import ALIGNMENT, Group, PlannedRunner
from ullage.plan.orientation import transitive_order
from ullage.plan.validate import Placed, flaws_of, flaws_of_slots

Given = Mapping[str, int | bool]
Pairs = frozenset[frozenset[str]]

RUNNERS = ("plain_main", "second_main")
SWITCHES = ("drafts", "streams", "wide")
GIVEN: list[Given] = [
    {
        **dict(zip(SWITCHES, switches, strict=True)),
        **({"overlap": overlap} if switches[1] else {}),
        "graph_rows": rows,
        "max_tokens": tokens,
    }
    for switches in product((False, True), repeat=3)
    for overlap in ((False, True) if switches[1] else (False,))
    for rows, tokens in ((1, 3000), (64, 7))
]


def placed(given: Given) -> tuple[PlacedArena, ...]:
    analysis, _ = generated("canal")
    return arenas_for(analysis.plan, complete(analysis.resolved, given))


def starts(arena: PlacedArena) -> dict[str, int]:
    return {runner.name: runner.start for runner in arena.runners}


def bytes_of(arena: PlacedArena) -> dict[str, int]:
    return {runner.name: runner.bytes for runner in arena.runners}


# One engine with two groups.


def test_what_is_written_once_shares_storage_with_nothing() -> None:
    analysis, _ = generated("dipper")
    for chosen in ({}, {"context": 3, "page": 1, "mirrored": False}):
        values = complete(analysis.resolved, chosen)
        arenas = arenas_for(analysis.plan, values)
        assert flaws_of(arenas, analysis.resolved, values, ALIGNMENT) == ()
        kept = [
            f"{runner.name}.{slot.name}"
            for arena in arenas
            for runner in arena.runners
            for slot in runner.slots
            if slot.kept and not list(arena.sharing(slot))
        ]
        counts = [f"{runner}_kept.counts" for runner in RUNNERS if "mirrored" not in chosen]
        firsts = [f"{runner}_kept.firsts" for runner in RUNNERS]
        assert sorted(kept) == sorted([*firsts, *counts, "plain_main_kept.ends"])


def test_what_is_kept_shares_storage_with_nothing() -> None:
    analysis, _ = generated("ladle")
    for chosen in ({}, {"most": 31, "classes": 7, "masked": False}):
        values = complete(analysis.resolved, chosen)
        (arena,) = arenas_for(analysis.plan, values)
        assert flaws_of((arena,), analysis.resolved, values, ALIGNMENT) == ()
        kept = {each.name: each.slots for each in arena.runners if each.name.endswith("_kept")}
        assert {name: [slot.name for slot in slots] for name, slots in kept.items()} == {
            "plain_main_kept": ["scores"],
            "second_main_kept": ["picked"],
        }
        assert [list(arena.sharing(slot)) for slots in kept.values() for slot in slots] == [[], []]
        assert arena.bytes == arena.lower_bound < arena.alone


def test_kept_slots_that_share_bytes_are_a_flaw() -> None:
    slots = (Placed("one", "ids", 0, 256), Placed("two", "scores", 0, 256, kept=True))
    found = [str(flaw) for flaw in flaws_of_slots(slots, 256, 256, lambda one, two: False)]
    assert found == [
        "one.ids in bytes 0 to 256 and two.scores in bytes 0 to 256 are alive together and share "
        "256 bytes"
    ]


def test_runners_that_take_turns_begin_at_the_same_byte() -> None:
    for arena in placed({"drafts": True}):
        assert set(starts(arena).values()) == {0}
        assert len(arena.runners) == 6
        assert arena.bytes == arena.lower_bound == max(bytes_of(arena).values())


def test_runners_of_one_group_lie_one_behind_the_other() -> None:
    for arena in placed({"drafts": True, "streams": True, "overlap": False}):
        begins, sizes = starts(arena), bytes_of(arena)
        largest = max(sizes["eager_target"], sizes["eager_draft"])
        assert begins["eager_target"] == begins["eager_draft"] == 0
        assert begins["graph_target"] == begins["graph_draft"] == largest
        assert begins["prompt_target"] == begins["prompt_draft"] == 0
        assert arena.gap == 0


def test_a_group_may_name_the_runner_of_one_worker() -> None:
    analysis, _ = generated("canal")
    _, second = analysis.plan.groups
    assert second.parts == (("prompt_target",), ("graph_target", "graph_draft"))


@pytest.mark.parametrize("given", GIVEN, ids=str)
def test_every_configuration_is_valid_and_has_no_gap(given: Given) -> None:
    analysis, _ = generated("canal")
    values = complete(analysis.resolved, given)
    arenas = placed(given)
    assert flaws_of(arenas, analysis.resolved, values, ALIGNMENT) == ()
    assert [arena.gap for arena in arenas] == [0, 0]
    assert alive_together(analysis.plan, values) == frozenset() or given["streams"]


@pytest.mark.parametrize("given", GIVEN, ids=str)
def test_generated_code_places_runners_as_the_plan_does(given: Given) -> None:
    module = package("canal")
    arenas = module.Arenas.allocate(module.Config.of(**given), device="cpu")
    for arena in placed(given):
        for runner in arena.runners:
            region = getattr(getattr(arenas, runner.name), arena.device)
            assert (region.start, region.end) == (runner.start, runner.end)
            assert region.shared.arena.size_bytes == arena.bytes
            offsets = zip(region.layout.slots, region.layout.offsets, strict=True)
            assert {slot.name: region.start + offset for slot, offset in offsets} == {
                slot.name: slot.offset for slot in runner.slots
            }


def test_a_slot_says_what_it_shares_with() -> None:
    compute, _ = placed({"graph_rows": 64, "max_tokens": 3000})
    eager = next(each for each in compute.runners if each.name == "eager_target")
    sharing = {
        slot.name: [(name, other.name) for name, other in compute.sharing(slot)]
        for slot in eager.slots
    }
    assert ("graph_target", "input_ids") in sharing["input_ids"]
    assert all(name != "eager_target" for each in sharing.values() for name, _ in each)


# Any relation between runners, and any sizes.

NAMES = ("a", "b", "c", "d", "e", "f")


def runner(name: str) -> PlannedRunner:
    return PlannedRunner(name, name, "target", TRUE, (), BUILT_IN)


def group(*parts: str) -> Group:
    return Group(tuple(tuple(part) for part in parts), TRUE, "", BUILT_IN)


@st.composite
def groups(draw: st.DrawFn) -> tuple[Group, ...]:
    """Up to four groups of up to three parts."""
    found: list[Group] = []
    for _ in range(draw(st.integers(0, 4))):
        named = draw(st.lists(st.sampled_from(NAMES), min_size=2, unique=True))
        parts = draw(st.lists(st.integers(0, 2), min_size=len(named), max_size=len(named)))
        chosen = ("".join(n for n, p in zip(named, parts, strict=True) if p == k) for k in range(3))
        found.append(group(*(part for part in chosen if part)))
    return tuple(found)


sizes_of_runners = st.fixed_dictionaries(
    {name: st.integers(0, 9).map(lambda blocks: blocks * ALIGNMENT) for name in NAMES}
)


def pairs(found: Sequence[Group]) -> Pairs:
    return frozenset(pair for each in found for pair in pairs_of(each))


def planned_starts(
    found: Sequence[Group], sizes: Mapping[str, int], alive: Pairs
) -> Mapping[str, int]:
    return starts_of(bases_of([runner(name) for name in NAMES], found), sizes, alive)


def size_of(begins: Mapping[str, int], sizes: Mapping[str, int]) -> int:
    return max(begins[name] + sizes[name] for name in sizes)


def flaws(begins: Mapping[str, int], sizes: Mapping[str, int], alive: Pairs) -> tuple[str, ...]:
    slots = [Placed(name, "all", begins[name], begins[name] + sizes[name]) for name in sizes]

    def beside(one: str, two: str) -> bool:
        return frozenset((one, two)) in alive

    found = flaws_of_slots(slots, size_of(begins, sizes), ALIGNMENT, beside)
    return tuple(map(str, found))


@given(groups(), sizes_of_runners)
def test_nothing_alive_together_shares_a_byte(
    found: tuple[Group, ...], sizes: Mapping[str, int]
) -> None:
    alive = pairs(found)
    begins = planned_starts(found, sizes, alive)
    assert flaws(begins, sizes, alive) == ()
    assert size_of(begins, sizes) >= heaviest(sizes, alive)
    assert flaws(greedy_starts(sizes, alive), sizes, alive) == ()


@given(groups(), sizes_of_runners, st.data())
def test_a_plan_holds_where_some_groups_do_not_occur(
    found: tuple[Group, ...], sizes: Mapping[str, int], data: st.DataObject
) -> None:
    occurring = [each for each in found if data.draw(st.booleans())]
    alive = pairs(occurring)
    assert flaws(planned_starts(found, sizes, alive), sizes, alive) == ()


@given(groups(), sizes_of_runners)
def test_a_transitive_order_leaves_no_gap(
    found: tuple[Group, ...], sizes: Mapping[str, int]
) -> None:
    known = together([runner(name) for name in NAMES], found)
    if transitive_order(NAMES, known) is not None:
        alive = pairs(found)
        size = size_of(planned_starts(found, sizes, alive), sizes)
        assert size == heaviest(sizes, alive) <= greedy_bytes(sizes, alive)


@given(st.lists(st.sampled_from(NAMES), min_size=2, unique=True), sizes_of_runners)
def test_one_group_leaves_no_gap(named: list[str], sizes: Mapping[str, int]) -> None:
    found = (group(*named),)
    alive = pairs(found)
    size = size_of(planned_starts(found, sizes, alive), sizes)
    alone = [sizes[name] for name in NAMES if name not in named]
    assert size == max(sum(sizes[name] for name in named), *alone, 0) == heaviest(sizes, alive)


def is_transitive(order: Sequence[str], edges: frozenset[frozenset[str]]) -> bool:
    return all(
        frozenset((a, c)) in edges
        for a, b, c in combinations(order, 3)
        if frozenset((a, b)) in edges and frozenset((b, c)) in edges
    )


@given(st.frozensets(st.sampled_from([*combinations(NAMES[:5], 2)])))
def test_an_order_is_found_exactly_where_there_is_one(edges: frozenset[tuple[str, str]]) -> None:
    joined = frozenset(map(frozenset, edges))
    order = transitive_order(NAMES[:5], edges)
    if order is None:
        assert not any(is_transitive(each, joined) for each in permutations(NAMES[:5]))
    else:
        assert sorted(order) == sorted(NAMES[:5])
        assert is_transitive(order, joined)


def test_five_runners_in_a_ring_have_no_such_order() -> None:
    ring = [("a", "b"), ("b", "c"), ("c", "d"), ("d", "e"), ("e", "a")]
    assert transitive_order(NAMES[:5], ring) is None
    found = [group(one, two) for one, two in ring]
    sizes = dict.fromkeys(NAMES, ALIGNMENT)
    begins = planned_starts(found, sizes, pairs(found))
    assert flaws(begins, sizes, pairs(found)) == ()
    assert size_of(begins, sizes) > heaviest(sizes, pairs(found)) == 2 * ALIGNMENT


@given(groups(), sizes_of_runners)
def test_the_lower_bound_is_the_heaviest_set_that_is_alive_at_once(
    found: tuple[Group, ...], sizes: Mapping[str, int]
) -> None:
    alive = pairs(found)
    every = (each for count in range(1, 7) for each in combinations(NAMES, count))
    cliques = (
        each for each in every if all(frozenset(pair) in alive for pair in combinations(each, 2))
    )
    assert heaviest(sizes, alive) == max(sum(sizes[name] for name in each) for each in cliques)


# The validator finds what is wrong.


def always(one: str, two: str) -> bool:
    return True


@pytest.mark.parametrize(
    ("slots", "flaw"),
    [
        ([("a", 0, 8), ("b", 0, 4)], "a.s in bytes 0 to 8 and b.s in bytes 0 to 4 are alive"),
        ([("a", 0, 300), ("a", 256, 257)], "share 1 bytes"),
        ([("a", 8, 16)], "does not begin at a multiple of 256"),
        ([("a", 256, 513)], "leaves the 512 bytes of the arena"),
        ([("a", -256, -200)], "leaves the 512 bytes of the arena"),
    ],
)
def test_a_flaw_is_told(slots: list[tuple[str, int, int]], flaw: str) -> None:
    found = flaws_of_slots([Placed(name, "s", *ends) for name, *ends in slots], 512, 256, always)
    assert any(flaw in each.text for each in found)


def test_sound_slots_have_no_flaw() -> None:
    slots = [Placed("a", "s", 0, 256), Placed("b", "s", 256, 512), Placed("b", "t", 256, 256)]
    assert list(flaws_of_slots(slots, 512, 256, always)) == []
    shared = [Placed("a", "s", 0, 256), Placed("b", "s", 0, 512)]
    assert list(flaws_of_slots(shared, 512, 256, lambda one, two: False)) == []


def test_a_plan_that_forgets_a_group_is_found_out(tmp_path: Path) -> None:
    analysis, _ = generated("canal")
    values = complete(analysis.resolved, {"streams": True})
    forgetful = arenas_for(
        type(analysis.plan)(analysis.plan.runners, (), (), analysis.plan.bases), values
    )
    found = [str(flaw) for flaw in flaws_of(forgetful, analysis.resolved, values, ALIGNMENT)]
    assert any("eager_target.input_ids" in flaw and "graph_target" in flaw for flaw in found)
    assert {flaw.split(":")[0] for flaw in found} == {"compute arena", "host arena"}


def test_a_group_that_never_occurs_is_left_out() -> None:
    analysis, _ = generated("canal")
    assert all(each.condition != FALSE for each in analysis.plan.groups)
