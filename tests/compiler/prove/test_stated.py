"""What one assumption states is so wherever the assumptions are, and what it needs is named."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.bounds import read
from ullage.expr.evaluate import evaluate_boolean
from ullage.prove.stated import stating

CLAIMS = ["0 <= a", "1 <= a", "2 <= a", "a <= b", "1 <= b", "p", "q", "a + b <= 9", "3 <= a + b"]
TEXTS = [
    *CLAIMS,
    *(f"not ({case}) or {claim}" for case in ("p", "q", "a <= b") for claim in CLAIMS),
]


@given(st.sampled_from(CLAIMS), st.frozensets(st.sampled_from(TEXTS), max_size=6))
def test_what_is_stated_follows_from_what_is_named(claim: str, texts: frozenset[str]) -> None:
    known = tuple(map(read, sorted(texts)))
    needed = stating(read(claim), known)
    if needed is None:
        return
    assert needed <= frozenset(known)
    assert len(needed) <= 2
    for a, b, p, q in product(range(-1, 4), range(-1, 4), (False, True), (False, True)):
        values = {"a": a, "b": b, "p": p, "q": q}
        if all(evaluate_boolean(each, values) for each in needed):
            assert evaluate_boolean(read(claim), values)


@pytest.mark.parametrize(
    ("claim", "known", "needed"),
    [
        ("0 <= a", ["1 <= a", "p"], ["1 <= a"]),
        ("1 <= a", ["0 <= a"], None),
        ("a <= b", ["a <= b"], ["a <= b"]),
        ("0 <= a", ["not p or 1 <= a"], None),
        ("0 <= a", ["not p or 1 <= a", "p", "q"], ["not p or 1 <= a", "p"]),
        ("a <= b", ["not p or a <= b", "q"], None),
        ("a <= b", ["not p or a <= b", "p"], ["not p or a <= b", "p"]),
    ],
)
def test_an_assumption_states_what_it_says_and_less(
    claim: str, known: list[str], needed: list[str] | None
) -> None:
    found = stating(read(claim), tuple(map(read, known)))
    assert found == (None if needed is None else frozenset(map(read, needed)))


def test_of_two_that_state_it_the_first_is_named() -> None:
    first, second = read("1 <= a"), read("2 <= a")
    assert stating(read("0 <= a"), (first, second)) == {first}
    assert stating(read("0 <= a"), (second, first)) == {second}
