"""A whole configuration from what was given: defaults, types, ranges, guards and constraints."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.specs import MINI, edited, resolved
from ullage.bound.domain import domain_of
from ullage.configuration.given import Plain
from ullage.configuration.read import parse_configuration
from ullage.configuration.values import complete
from ullage.diagnostics.diagnostic import DiagnosticError
from ullage.diagnostics.render import render_text
from ullage.expr.evaluate import evaluate
from ullage.spec.check import ResolvedSpec
from ullage.text.sources import shown_name

ENGINE = "engine.yaml"


@pytest.fixture(scope="module")
def mini(tmp_path_factory: pytest.TempPathFactory) -> ResolvedSpec:
    return resolved(tmp_path_factory.mktemp("spec"))


def problems_in(folder: Path, spec: ResolvedSpec, values: Mapping[str, Plain] | str) -> str:
    """What is wrong with values, or with the text of a file, as the command line shows it."""
    try:
        if isinstance(values, str):
            read = parse_configuration(values, "engine.conf.yaml")
            complete(spec, read.given, place=read.place, sources=read.sources)
        else:
            complete(spec, values)
    except DiagnosticError as error:
        shown = render_text(error.diagnostics, error.sources)
        return shown.replace(f"{shown_name(folder / 'mini', Path.cwd())}/", "mini/")
    return ""


def test_what_is_not_given_has_its_default(mini: ResolvedSpec) -> None:
    values = complete(mini, {})
    assert (values["max_requests"], values["pool_tokens_target"]) == (24, 4096)
    assert (values["algorithm"], values["widths"], values["sync"]) == (0, [2, 4], False)


def test_parameters_come_before_definitions_in_declared_order(mini: ResolvedSpec) -> None:
    names = list(complete(mini, {"algorithm": "tree"}))
    assert names[:4] == ["max_requests", "pool_tokens_target", "pool_tokens_draft", "context"]
    assert names.index("sync") < names.index("rows")


def test_an_enum_is_its_code(mini: ResolvedSpec) -> None:
    assert complete(mini, {"algorithm": "tree"})["algorithm"] == 2


def test_what_a_guard_excludes_is_absent(mini: ResolvedSpec) -> None:
    plain, speculative = complete(mini, {}), complete(mini, {"algorithm": "chain"})
    assert "width" not in plain
    assert "pool_tokens_draft" not in plain
    assert (speculative["width"], speculative["pool_tokens_draft"]) == (4, 4096)


def test_definitions_follow_from_parameters(mini: ResolvedSpec) -> None:
    values = complete(mini, {"max_requests": 9, "tp_size": 4, "algorithm": "chain", "width": 2})
    assert (values["rows"], values["step"], values["speculative"]) == (12, 2, True)


def test_one_value_is_for_all_workers_there_are(mini: ResolvedSpec) -> None:
    assert "pool_tokens_draft" not in complete(mini, {"pool_tokens": 99})
    values = complete(mini, {"pool_tokens": 99, "algorithm": "chain"})
    assert (values["pool_tokens_target"], values["pool_tokens_draft"]) == (99, 99)


@pytest.mark.parametrize(
    "own",
    [
        {"pool_tokens": {"target": 99, "draft": 55}},
        {"pool_tokens": 99, "pool_tokens_draft": 55},
        {"pool_tokens_draft": 55, "pool_tokens": 99},
        {"--pool-tokens-draft": "55", "pool-tokens": "99"},
    ],
)
def test_each_worker_may_have_a_value_of_its_own(
    mini: ResolvedSpec, own: Mapping[str, Plain]
) -> None:
    values = complete(mini, {"algorithm": "chain", **own})
    assert (values["pool_tokens_target"], values["pool_tokens_draft"]) == (99, 55)


def test_a_worker_has_one_value(tmp_path: Path, mini: ResolvedSpec) -> None:
    twice = "pool_tokens: {target: 99}\npool_tokens_target: 55\n"
    shown = problems_in(tmp_path, mini, twice)
    assert "2:1: error[U701]: 'pool_tokens_target' is given twice\n" in shown
    assert "1:15: first here\n" in shown


def test_a_name_unlike_all_others_is_told_where_those_are_listed(
    tmp_path: Path, mini: ResolvedSpec
) -> None:
    shown = problems_in(tmp_path, mini, "model_path: here\n")
    assert re.search(r"hint: all names: 'parameters' in .*mini/engine\.yaml:\d+\n", shown)


def test_an_enum_written_in_capitals_gets_the_value_as_a_hint(
    tmp_path: Path, mini: ResolvedSpec
) -> None:
    assert "did you mean 'tree'?" in problems_in(tmp_path, mini, "algorithm: TREE\n")


def test_names_may_be_spelled_as_on_the_command_line(mini: ResolvedSpec) -> None:
    values = complete(mini, {"--max-requests": "2^7", "tp-size": 16})
    assert (values["max_requests"], values["tp_size"]) == (128, 16)


def test_texts_mean_what_the_type_of_their_parameter_says(mini: ResolvedSpec) -> None:
    given_texts: dict[str, Plain] = {
        "context": "4_096",
        "sync": "true",
        "widths": ["3", 5],
        "algorithm": "none",
    }
    values = complete(mini, given_texts)
    assert (values["context"], values["sync"], values["widths"]) == (4096, True, [3, 5])
    assert values["algorithm"] == 0


def test_a_default_may_use_what_was_given_before_it(tmp_path: Path) -> None:
    spec = resolved(
        tmp_path, edited(ENGINE, ("default: 2048}", "default: max_requests * one * 7}"))
    )
    assert complete(spec, {"max_requests": 11})["context"] == 77


def test_a_guard_may_look_at_what_is_declared_later(tmp_path: Path) -> None:
    files = edited(
        ENGINE, ("unit: tokens, default: 2048", "unit: tokens, when: sync, default: 2048")
    )
    files = edited("slots.yaml", ("range: [0, context]", "range: [0, 9]"), files=files)
    decode = MINI["modes/decode.yaml"].replace("[1, context]", "[1, max_requests * one]")
    spec = resolved(tmp_path, {**files, "modes/decode.yaml": decode})
    assert "context" not in complete(spec, {})
    assert complete(spec, {"sync": True})["context"] == 2048


def test_the_upper_value_is_the_largest_of_the_list(tmp_path: Path) -> None:
    files = edited(
        ENGINE,
        ("  step: width if", "  widest: upper(width) if speculative else one\n  step: width if"),
    )
    values = complete(resolved(tmp_path, files), {"algorithm": "tree", "widths": [2, 9, 4]})
    assert values["widest"] == 9


ILLEGAL: dict[str, Mapping[str, Plain] | str] = {
    "an integer is not a text": "max_requests: many\n",
    "an integer is not a fraction": "max_requests: 1.5\n",
    "an integer is not a truth value": {"max_requests": True},
    "an integer is not a list": "max_requests: [3, 4]\n",
    "a truth value is not an integer": {"sync": 1},
    "a truth value is written in small letters": "sync: True\n",
    "an enum has its own values": "algorithm: tre\n",
    "a list is not a number": "widths: 4\n",
    "a list has elements": "widths: []\n",
    "elements are integers": "widths: [2, wide, 4, broad]\n",
    "an integer is in range": "tp_size: 65\n",
    "elements are in range": "widths: [4, 17]\n",
    "a worker has a value in range": "pool_tokens:\n  target: 1\n",
    "what a guard excludes is not given": "width: 4\n",
    "a worker that does not exist has no value": "pool_tokens: {target: 99, draft: 55}\n",
    "there is such a worker": "pool_tokens: {target: 99, daft: 55}\n",
    "only what differs by worker is given by worker": "tp_size: {target: 4}\n",
    "there is such a parameter": "max_request: 9\n",
    "a hint is spelled as the mistake": "--max-request: 9\n",
    "a definition is not given": "rows: 9\n",
    "constraints hold": "max_requests: 30\npool_tokens: 17\n",
    "constraints hold for defaults too": "pool_tokens: 17\n",
    "a varying parameter is one of its list": "algorithm: tree\nwidth: 3\n",
    "all mistakes are told": "max_requests: many\ntp_size: 0\nwidth: 3\nsynk: true\n",
    "a mistake is not told twice": "max_requests: 0\npool_tokens: 17\n",
    "values from code have no line": {"tp_size": 65, "synk": True},
}


@pytest.mark.parametrize("rule", ILLEGAL)
def test_an_illegal_configuration_is_refused(
    tmp_path: Path, golden: Callable[[str, str], None], rule: str
) -> None:
    shown = problems_in(tmp_path, resolved(tmp_path), ILLEGAL[rule])
    assert shown
    golden(f"configuration/{rule.replace(' ', '_')}.txt", shown)


def test_a_parameter_without_a_default_is_given(
    tmp_path: Path, golden: Callable[[str, str], None]
) -> None:
    spec = resolved(tmp_path, edited(ENGINE, ("unit: tokens, default: 2048", "unit: tokens")))
    golden(
        "configuration/a_parameter_without_a_default.txt",
        problems_in(tmp_path, spec, "tp_size: 2\n"),
    )
    assert complete(spec, {"context": 7})["context"] == 7


def test_a_default_is_in_range(tmp_path: Path, golden: Callable[[str, str], None]) -> None:
    spec = resolved(
        tmp_path, edited(ENGINE, ("default: 2048}", "default: max_requests * one * 1000}"))
    )
    golden(
        "configuration/a_default_in_range.txt", problems_in(tmp_path, spec, "max_requests: 99\n")
    )


def test_a_list_that_is_defined_has_elements(
    tmp_path: Path, golden: Callable[[str, str], None]
) -> None:
    files = edited(
        ENGINE, ("  rows:", '  broad: "[w for w in widths if w > tp_size * one]"\n  rows:')
    )
    spec = resolved(tmp_path, files)
    assert complete(spec, {"tp_size": 3})["broad"] == [4]
    golden(
        "configuration/a_defined_list_has_elements.txt", problems_in(tmp_path, spec, "tp_size: 4\n")
    )


@given(
    st.fixed_dictionaries(
        {
            "max_requests": st.integers(-1, 600),
            "pool_tokens": st.integers(0, 2000),
            "algorithm": st.sampled_from(["none", "chain", "tree"]),
            "tp_size": st.integers(0, 70),
            "widths": st.lists(st.integers(0, 18), max_size=3),
        }
    )
)
def test_a_completed_configuration_is_in_the_legal_domain(
    mini: ResolvedSpec, values: dict[str, int | str | list[int]]
) -> None:
    try:
        found = complete(mini, values)
    except DiagnosticError:
        return
    domain = domain_of(mini)
    for variable in domain.variables:
        assert (variable.name in found) == evaluate(variable.guard, found)
        value = found.get(variable.name)
        if variable.type == "int" and isinstance(value, int) and variable.low and variable.high:
            low, high = evaluate(variable.low, found), evaluate(variable.high, found)
            assert isinstance(low, int) and isinstance(high, int)  # noqa: PT018 - for the type checker
            assert low <= value <= high
    for constraint in domain.constraints:
        assert evaluate(constraint.that, found) is True
