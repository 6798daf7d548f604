"""Configuration files: YAML or JSON, values as texts with their places."""

from __future__ import annotations

from pathlib import Path

import pytest

from ullage.configuration.given import Given, given, parameter_name, spelled_like
from ullage.configuration.read import Configuration, parse_configuration, read_configuration
from ullage.diagnostics.diagnostic import DiagnosticError


def read(text: str) -> Configuration:
    return parse_configuration(text, "engine.conf")


def refused(text: str) -> list[str]:
    with pytest.raises(DiagnosticError) as caught:
        read(text)
    return [str(found) for found in caught.value.diagnostics]


def test_a_value_is_a_text_at_its_place() -> None:
    found = read("tp_size: 8\nsync: off\n").given
    assert {name: value.value for name, value in found.items()} == {"tp_size": "8", "sync": "off"}
    assert (found["sync"].place.line, found["sync"].place.column) == (2, 7)


def test_keys_may_be_spelled_as_on_the_command_line() -> None:
    found = read("--tp-size: 8\nmax-running-requests: 64\n").given
    assert list(found) == ["tp_size", "max_running_requests"]
    assert found["tp_size"].key == "--tp-size"


def test_lists_and_mappings_keep_the_places_of_their_parts() -> None:
    found = read("buckets: [4, 16]\npool: {target: 99}\n").given
    buckets, pool = found["buckets"].value, found["pool"].value
    assert isinstance(buckets, tuple)
    assert [(each.value, each.place.column) for each in buckets] == [("4", 11), ("16", 14)]
    assert isinstance(pool, dict)
    assert (pool["target"].value, pool["target"].place.column) == ("99", 16)


@pytest.mark.parametrize("absent", ["null", "None", "~"])
def test_what_has_no_value_is_as_good_as_left_out(absent: str) -> None:
    assert list(read(f"tp_size: 8\nchunk: {absent}\n").given) == ["tp_size"]
    assert read(f"tp_size: '{absent}'\n").given["tp_size"].value == absent


def test_json_is_read_with_its_places() -> None:
    found = read('{\n\t"tp_size": 8,\n\t"algorithm":\t"tree",\n\t"widths": [2, 4]\n}\n').given
    assert list(found) == ["tp_size", "algorithm", "widths"]
    assert found["algorithm"].value == "tree"
    assert (found["tp_size"].place.line, found["tp_size"].place.column) == (2, 13)


def test_a_parameter_is_given_once_however_it_is_spelled() -> None:
    assert refused("--tp-size: 8\ntp_size: 4\n") == [
        "engine.conf:2:1: error[U701]: 'tp_size' is given twice, as '--tp-size' and as 'tp_size'"
    ]


def test_a_key_without_a_value_is_an_error() -> None:
    assert refused("tp_size:\nsync: true\n") == [
        "engine.conf:1:9: error[U701]: 'tp_size' has no value, found nothing"
    ]


def test_every_mistake_of_a_file_is_told() -> None:
    assert len(refused("tp_size:\nsync:\n")) == 2


def test_a_file_that_is_not_yaml_is_an_error_with_its_place() -> None:
    (found,) = refused("tp_size: [8\n")
    assert found.startswith("engine.conf:")


@pytest.mark.parametrize("text", ["", "# all as it is\n", "[]", "tp_size"])
def test_an_empty_file_is_told_how_to_leave_out_everything(text: str) -> None:
    (found,) = refused(text)
    assert "error[U112]: a configuration is a mapping of parameters to values, {} if" in found
    assert "spec file" not in found
    assert read("{}").given == {}


def test_json_that_is_cut_short_is_told_as_json() -> None:
    with pytest.raises(DiagnosticError) as caught:
        parse_configuration('{\n  "tp_size": 8,\n  "widths": [2', "engine.json")
    (found,) = caught.value.diagnostics
    assert str(found).startswith("engine.json:3:15: error[U104]: this is not JSON: ")


def test_what_a_worker_has_no_value_for_is_left_out() -> None:
    pool = read("pool: {target: 9, draft: null}").given["pool"].value
    assert isinstance(pool, dict)
    assert list(pool) == ["target"]


def test_a_file_is_called_by_its_name(tmp_path: Path) -> None:
    path = tmp_path / "engine.conf.yaml"
    path.write_bytes(b"tp_size: 8\r\n")
    found = read_configuration(path)
    assert (found.place.file, found.given["tp_size"].place.file) == ("engine.conf.yaml",) * 2
    assert read_configuration(path, "run/engine.conf").place.file == "run/engine.conf"
    assert found.sources == {"engine.conf.yaml": "tp_size: 8\n"}


def test_a_file_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DiagnosticError, match="U904") as caught:
        read_configuration(tmp_path / "missing.yaml")
    assert len(caught.value.diagnostics) == 1


def test_values_from_code_are_given_like_those_of_a_file() -> None:
    nested = given({"target": 9, "draft": [3, "4"]}, key="pool")
    assert isinstance(nested.value, dict)
    assert nested.value["target"].value == 9
    drafts = nested.value["draft"].value
    assert isinstance(drafts, tuple)
    assert [each.value for each in drafts] == [3, "4"]
    assert given(nested) is nested


@pytest.mark.parametrize(
    ("value", "shown"),
    [(True, "true"), (7, "7"), ("off", "'off'"), ([1], "a list"), ({}, "a mapping")],
)
def test_a_message_shows_what_was_given(value: bool | int | str | list[int], shown: str) -> None:
    assert given(value).shown == shown


def test_a_long_text_is_shown_short() -> None:
    assert len(Given("x" * 500, given(1).place).shown) < 70


def test_a_name_is_spelled_as_the_key_beside_it() -> None:
    assert parameter_name("--max-running-requests") == "max_running_requests"
    assert spelled_like("--tp-siz", "tp_size") == "--tp-size"
    assert spelled_like("tp-siz", "tp_size") == "tp-size"
    assert spelled_like("tp_siz", "tp_size") == "tp_size"
