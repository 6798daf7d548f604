"""Samples are legal configurations, the same on every run, and as various as the domain."""

from __future__ import annotations

import random

import pytest

from support.bounds import defined, domain, flag, limit, number, read, values
from ullage.bound.sampling import ConfigurationDrawer
from ullage.expr.evaluate import evaluate, holding

DOMAIN = domain(
    number("tp", 1, 64),
    number("dp", 1, 64),
    number("rows", 1, 4096),
    number("most", "rows", 8192),
    flag("wide"),
    flag("graphs"),
    values("sizes", 1, 512),
    defined("width", "tp // dp"),
    defined("captured", "max(sizes)", when="graphs"),
    limit("tp % dp == 0"),
    limit("not wide or dp > 1"),
    limit("not graphs or captured <= rows"),
)


def drawn(seed: int, guard: str, count: int = 40) -> list[dict[str, object]]:
    drawer = ConfigurationDrawer(DOMAIN, random.Random(seed))
    found = (drawer.draw(read(guard)) for _ in range(count))
    return [dict(sample.values) for sample in found if sample is not None]


@pytest.mark.parametrize("guard", ["true", "wide", "graphs and wide", "width >= 3 and tp != 3"])
@pytest.mark.parametrize("seed", range(5))
def test_every_sample_is_legal_and_satisfies_its_guard(guard: str, seed: int) -> None:
    samples = drawn(seed, guard)
    assert len(samples) > 30
    for sample in samples:
        for condition in (read(guard), *(each.that for each in DOMAIN.constraints)):
            assert evaluate(condition, sample) is True
        for variable in DOMAIN.variables:
            if variable.type == "int" and variable.low and variable.high:
                low, high = evaluate(variable.low, sample), evaluate(variable.high, sample)
                assert low <= sample[variable.name] <= high
        for definition in DOMAIN.definitions:
            assert evaluate(definition.value, sample) == sample[definition.name]


def test_no_sample_has_a_parameter_without_a_value() -> None:
    found = domain(number("rows", 1, 64), flag("wide"), number("most", 60, "rows", when="wide"))
    drawer = ConfigurationDrawer(found, random.Random(1))
    samples = [drawer.draw(read("true")) for _ in range(100)]
    has_value = read("not wide or 60 <= most and most <= rows")
    assert all(each is not None and evaluate(has_value, each.values) is True for each in samples)


def test_the_same_seed_draws_the_same_samples() -> None:
    assert drawn(3, "wide") == drawn(3, "wide") != drawn(4, "wide")


def test_samples_differ_from_one_another() -> None:
    samples = drawn(1, "true")
    for name in ("tp", "dp", "rows", "most", "wide", "graphs"):
        assert len({str(sample[name]) for sample in samples}) > 1, name


def test_a_guard_that_cannot_be_has_no_samples() -> None:
    assert drawn(2, "wide and dp == 1", 3) == []


def test_a_condition_without_a_value_counts_as_is_said() -> None:
    sample = ConfigurationDrawer(DOMAIN, random.Random(1)).draw(read("true"))
    assert sample is not None
    for default in (False, True):
        assert holding(read("1 // (tp - tp) == 1"), default)(sample) is default


def test_a_list_is_made_of_definitions_that_nobody_looked_up_before() -> None:
    """The guard of a graph that only lists elements within a definition's value."""
    found = domain(
        number("rows", 1, 64),
        values("sizes", 1, 64),
        defined("most", "2 * rows"),
        defined("kept", "[each for each in sizes if each <= most]"),
        limit("max([each for each in sizes if each <= most + 1]) >= 1"),
    )
    drawer = ConfigurationDrawer(found, random.Random(8))
    samples = [sample for _ in range(40) if (sample := drawer.draw(read("true"))) is not None]
    assert len(samples) > 30
    for sample in samples:
        for definition in found.definitions:
            assert evaluate(definition.value, sample) == sample.values[definition.name]


def test_an_equality_between_wide_ranges_is_met_by_setting_one_side() -> None:
    found = domain(
        flag("chained"),
        number("steps", 0, 10**6),
        number("tokens", 1, 10**6),
        limit("not chained or tokens == steps + 1"),
    )
    drawer = ConfigurationDrawer(found, random.Random(5))
    samples = [drawer.draw(read("chained and steps >= 1000")) for _ in range(30)]
    assert sum(each is not None for each in samples) > 20


def test_a_parameter_in_a_sum_is_set_where_the_other_side_is_fixed_by_a_list() -> None:
    """As the steps, tokens and candidates of adaptive speculation."""
    found = domain(
        flag("chained"),
        number("steps", 0, 10**6),
        number("tokens", 1, 10**6),
        values("candidates", 1, 10**6),
        limit("tokens == steps + 1"),
        limit("not chained or tokens == max(candidates)"),
    )
    drawer = ConfigurationDrawer(found, random.Random(5))
    samples = [drawer.draw(read("chained and steps >= 1000")) for _ in range(30)]
    assert sum(each is not None for each in samples) > 20


def test_repairs_do_not_give_up_the_guard() -> None:
    """What the guard brings with it is rarely met by chance, and at once without it."""
    names = [f"option_{i}" for i in range(8)]
    found = domain(
        flag("adaptive"),
        *(number(name, 0, 60) for name in names),
        *(limit(f"not adaptive or {name} >= 52") for name in names),
    )
    drawers = [ConfigurationDrawer(found, random.Random(seed)) for seed in range(4)]
    samples = [drawer.draw(read("adaptive")) for drawer in drawers for _ in range(15)]
    assert sum(each is not None for each in samples) > 55


def test_a_range_may_rest_on_definitions_and_on_parameters_declared_later() -> None:
    found = domain(
        number("early", 0, "late"),
        number("within", 0, "part"),
        number("late", 0, 9),
        defined("part", "9 // late"),
        limit("late >= 1"),
    )
    drawer = ConfigurationDrawer(found, random.Random(3))
    samples = [sample for _ in range(40) if (sample := drawer.draw(read("true"))) is not None]
    assert len(samples) > 30
    assert all(holding(read("early <= late and within <= part"), False)(each) for each in samples)
    assert len({each.values["within"] for each in samples}) > 2
