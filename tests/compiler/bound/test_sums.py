"""Sums over the requests of a batch: what is certified is what trying all lengths gives."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from support.bounds import Derived, derived, refusal
from support.simulation import Simulation, configurations
from support.small_specs import mode_text, small
from support.specs import Files
from ullage.diagnostics.diagnostic import DiagnosticError
from ullage.expr.environment import Value
from ullage.expr.evaluate import evaluate_integer

LIMITS = (
    "rows_max: {type: int, range: [1, 4]}",
    "longest: {type: int, range: [1, 7]}",
    "pool: {type: int, range: [1, 12]}",
    "page: {type: int, range: [1, 3]}",
)
"""1,008 configurations, the family in which bounding pages by the product undersizes."""


def paged(
    tokens: str,
    *,
    length: str = "1; longest",
    where: str = "sum_requests(length) <= pool",
    requests: str = "1; rows_max",
    parameters: tuple[str, ...] = LIMITS,
    slack: str = "",
) -> Files:
    """A mode whose tokens are a sum over requests."""
    live = {"requests": requests, "length": f"per requests: {length}"}
    coupled = [where] if where else []
    mode = mode_text(live=live, requests="requests", tokens=tokens, where=coupled)
    return small(mode, parameters=parameters, slack=slack)


def brute_force(rows: int, longest: int, pool: int, pages_of: int) -> int:
    """The most pages over all lengths, straight from the definition."""
    return max(
        sum(-(-length // pages_of) for length in lengths)
        for count in range(1, rows + 1)
        for lengths in itertools.combinations_with_replacement(range(1, longest + 1), count)
        if sum(lengths) <= pool
    )


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Derived:
    """The capacity of the pages of a batch."""
    return derived(tmp_path_factory.mktemp("pages"), paged("sum_requests(cdiv(length, page))"))


def test_the_pages_of_a_batch_are_certified(pages: Derived) -> None:
    proof = pages.certificate.of("eager_target", "tokens")
    assert proof.proved
    assert proof.tight
    assert proof.everywhere


@pytest.mark.parametrize("page", [1, 2, 3])
def test_the_pages_of_a_batch_are_exact_in_all_small_cases(pages: Derived, page: int) -> None:
    formula = pages.capacities.of("eager_target", "tokens").formula
    for rows, longest, pool in itertools.product(range(1, 5), range(1, 8), range(1, 13)):
        values: dict[str, Value] = {
            "rows_max": rows,
            "longest": longest,
            "pool": pool,
            "page": page,
        }
        assert evaluate_integer(formula, values) == brute_force(rows, longest, pool, page), values


def test_bounding_pages_by_two_products_would_undersize() -> None:
    """What the exact form is for: the obvious formula is too small in almost a third of them."""
    wrong = 0
    for rows, longest, pool, page in itertools.product(
        range(1, 5), range(1, 8), range(1, 13), range(1, 4)
    ):
        obvious = min(rows * -(-longest // page), -(-pool // page))
        wrong += obvious < brute_force(rows, longest, pool, page)
    assert wrong == 305


FEW = (
    "rows_max: {type: int, range: [1, 3]}",
    "longest: {type: int, range: [1, 3]}",
    "pool: {type: int, range: [1, 6]}",
    "page: {type: int, range: [1, 2]}",
)

SUMS: dict[str, Files] = {
    "lengths": paged("sum_requests(length)", parameters=FEW),
    "lengths without a pool": paged("sum_requests(length)", where="", parameters=FEW),
    "lengths and a row each": paged("sum_requests(length + 1)", parameters=FEW),
    "weighted": paged("sum_requests(2 * length + page)", parameters=FEW),
    "pages without a pool": paged("sum_requests(cdiv(length, page))", where="", parameters=FEW),
    "whole pages": paged("sum_requests(align_up(length, page))", parameters=FEW),
    "pages and lengths": paged("sum_requests(3 * cdiv(length, page) + length)", parameters=FEW),
    "pages of a pool of pages": paged(
        "requests", where="sum_requests(cdiv(length, page)) <= pool", parameters=FEW
    ),
    "lengths of a pool of pages": paged(
        "sum_requests(length)", where="sum_requests(cdiv(length, page)) <= pool", parameters=FEW
    ),
    "rows beside lengths": paged("requests * 2 + sum_requests(length)", parameters=FEW),
    "what is left": paged("20 - sum_requests(length)", parameters=FEW),
    "what is left by pages": paged("20 - sum_requests(cdiv(length, page))", parameters=FEW),
    "rows without what they fill": paged(
        "requests * 9 - sum_requests(cdiv(length, page))", parameters=FEW
    ),
    "lengths of two and more": paged(
        "sum_requests(length)", length="2; longest + 1", parameters=FEW
    ),
    "pages of two and more": paged(
        "sum_requests(cdiv(length, page))", length="2; longest + 1", parameters=FEW
    ),
    "lengths that may be zero": paged("sum_requests(length)", length="0; longest", parameters=FEW),
    "pages of lengths that may be zero": paged(
        "sum_requests(cdiv(length, page))", length="0; longest", parameters=FEW
    ),
    "a batch that may be empty": paged(
        "sum_requests(cdiv(length, page))", requests="0; rows_max", parameters=FEW
    ),
    "two page sizes": paged("sum_requests(cdiv(length, 2) + cdiv(length, 3))", parameters=FEW),
    "a choice of the configuration": paged(
        "sum_requests(length * 2 if page > 1 else cdiv(length, page))", parameters=FEW
    ),
    "rounded twice": paged("align_up(sum_requests(length), page)", parameters=FEW),
    "a lower limit": paged("requests", where="sum_requests(length) >= pool", parameters=FEW),
    "equal to the pool": paged(
        "sum_requests(cdiv(length, page))", where="sum_requests(length) == pool", parameters=FEW
    ),
}


LOOSE = {"pages of two and more", "pages of lengths that may be zero", "two page sizes"}
"""What no closed form is known for: sound, and never called tight."""
PARTLY = {
    "what is left by pages",
    "lengths of a pool of pages",
}
"""What is tight where lengths end with a page, and not elsewhere."""


@pytest.mark.parametrize("name", SUMS)
@pytest.mark.slow
def test_a_sum_is_never_exceeded_and_tight_where_that_is_claimed(name: str, tmp_path: Path) -> None:
    found = derived(tmp_path, SUMS[name])
    compare_with_all_batches(found)
    tight = found.certificate.of("eager_target", "tokens").tight
    assert tight == (name not in LOOSE) or name in PARTLY


def compare_with_all_batches(found: Derived) -> None:
    """Sound and tight mean what they say, in every configuration."""
    runner, (mode,) = found.resolved.spec.runners[0], found.resolved.spec.modes
    for configuration in configurations(found.resolved):
        values = configuration.of_worker["target"]
        largest = Simulation(found.resolved, values).largest(runner, mode)
        for target in ("requests", "tokens"):
            capacity = found.capacities.of("eager_target", target)
            proof = found.certificate.of("eager_target", target)
            size = evaluate_integer(capacity.formula, configuration.expanded)
            assert proof.sound
            assert largest.get(target, 0) <= size, (target, values)
            assert largest.get(target, 0) == size or not proof.tight, (target, values)


@pytest.mark.slow
@pytest.mark.parametrize("name", SUMS)
def test_a_sum_is_exact_for_longer_requests_too(name: str, tmp_path: Path) -> None:
    files = dict(SUMS[name])
    for short, long in (("range: [1, 3]}", "range: [1, 4]}"), ("range: [1, 6]}", "range: [1, 9]}")):
        files["engine.yaml"] = files["engine.yaml"].replace(short, long)
    compare_with_all_batches(derived(tmp_path, files))


@pytest.mark.parametrize(
    "tokens",
    [
        "sum_requests(min(length, 3))",
        "sum_requests(length * length)",
        "sum_requests(length // page)",
        "sum_requests(cdiv(length + 1, page))",
        "sum_requests(align_up(length + 1, page))",
    ],
)
def test_a_sum_of_another_form_is_refused_where_it_is_written(tokens: str, tmp_path: Path) -> None:
    said = refusal(tmp_path, paged(tokens, parameters=FEW))
    assert "error[U402]" in said
    assert "mode_0.yaml" in said


def test_a_total_less_another_that_falls_with_it_is_refused_and_not_guessed(tmp_path: Path) -> None:
    files = paged("9 * sum_requests(length) - sum_requests(cdiv(length, page))", parameters=FEW)
    with pytest.raises(DiagnosticError) as raised:
        derived(tmp_path, files)
    assert {found.code for found in raised.value.diagnostics} == {"U402"}
