"""The generated configuration of SGLang: defaults, checks and what follows from parameters."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, fields, replace

import pytest
from hypothesis import given

from ullage_generated.sglang import Config, SpeculativeAlgorithm, strategies
from ullage_runtime.errors import ConfigurationError


def problems_of(**arguments: object) -> dict[str, str]:
    """What is wrong, by the parameter or relation that it is about."""
    with pytest.raises(ConfigurationError) as caught:
        Config.from_arguments(arguments)
    return {problem.parameter: str(problem) for problem in caught.value.problems}


def test_the_defaults_are_legal() -> None:
    config = Config.of()
    config.validate()
    assert config == Config.from_arguments({})


def test_guarded_parameters_get_their_defaults_where_they_mean_something() -> None:
    assert Config.of().speculative_eagle_topk is None
    config = Config.of(speculative_algorithm=SpeculativeAlgorithm.EAGLE)
    assert (config.speculative_eagle_topk, config.max_total_tokens_draft) == (1, 800000)


def test_every_problem_is_reported_with_its_spec_line() -> None:
    found = problems_of(max_running_requests=0, tp_size=3, attn_dp_size=2, speculative_num_steps=3)
    assert len(found) == 4
    assert "must be an integer in [1, 65536]" in found["max_running_requests"]
    assert "has no meaning unless speculative" in found["speculative_num_steps"]
    relation = "tp_size % (attn_dp_size * attn_cp_size) == 0"
    assert "with tp_size = 3, attn_dp_size = 2, attn_cp_size = 1" in found[relation]
    assert all("engine.yaml:" in text for text in found.values())


def test_relations_over_broken_values_are_not_reported() -> None:
    found = problems_of(max_running_requests=0, chunked_prefill_size=5000)
    assert set(found) == {"max_running_requests"}


def test_an_unknown_argument_gets_the_nearest_known_one() -> None:
    assert (
        "did you mean 'max_running_requests'?"
        in problems_of(max_runing_requests=3)["max_runing_requests"]
    )


def test_names_are_those_of_a_configuration_file() -> None:
    plain = Config.from_arguments({"max-total-tokens": 90000, "--tp-size": 2, "page_size": None})
    assert (plain.max_total_tokens_target, plain.max_total_tokens_draft) == (90000, None)
    assert (plain.tp_size, plain.page_size) == (2, Config.of().page_size)
    eagle = {"speculative_algorithm": "eagle", "max_total_tokens": {"draft": 70000}}
    drafted = Config.from_arguments(eagle)
    assert drafted.max_total_tokens_target == Config.of().max_total_tokens_target
    assert drafted.max_total_tokens_draft == 70000
    assert "has no meaning" in problems_of(max_total_tokens={"draft": 7})["max_total_tokens_draft"]


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("tp_size", "4", "must be an integer"),
        ("tp_size", True, "must be an integer"),
        ("tp_size", 4.0, "must be an integer"),
        ("enable_pdmux", 1, "must be True or False"),
        ("cp_strategy", "diagonal", "must be one of 'zigzag', 'interleave'"),
        ("cp_strategy", 1, "must be one of 'zigzag', 'interleave'"),
    ],
)
def test_an_argument_of_another_type_is_refused(name: str, value: object, expected: str) -> None:
    assert expected in problems_of(**{name: value})[name]


def test_a_value_of_another_type_is_refused_by_validate_too() -> None:
    for name in (field.name for field in fields(Config)):
        broken = replace(Config.of(), **{name: [3]})  # type: ignore[arg-type]  # wrong on purpose
        with pytest.raises(ConfigurationError):
            broken.validate()


def test_enums_are_their_values() -> None:
    config = Config.from_arguments({"speculative_algorithm": "ngram"})
    assert config.speculative_algorithm is SpeculativeAlgorithm.NGRAM
    assert config.speculative


def test_a_configuration_never_changes() -> None:
    config = Config.of()
    with pytest.raises(FrozenInstanceError):
        config.tp_size = 2  # type: ignore[misc]  # frozen


@given(strategies.configs())
@pytest.mark.slow
def test_drawn_configurations_are_legal_and_small(config: Config) -> None:
    config.validate()
    assert config.max_running_requests <= 1 + strategies.SPAN


@given(strategies.configs(fixed={"speculative_algorithm": "eagle", "page_size": 4}))
@pytest.mark.slow
def test_fixed_arguments_stay(config: Config) -> None:
    assert config.speculative_algorithm is SpeculativeAlgorithm.EAGLE
    assert config.page_size == 4


_OFFSETS = {
    "flashinfer": "flashinfer_kv_indptr",
    "triton": "triton_kv_indptr",
    "flashinfer_mla": "mla_kv_indptr",
    "trtllm_mla": "mla_kv_indptr",
}


@pytest.mark.parametrize("backend", _OFFSETS)
def test_offsets_into_more_keys_than_32_bits_count_are_refused(backend: str) -> None:
    found = problems_of(attention_backend=backend, max_running_requests=16384)
    assert any(f"of '{_OFFSETS[backend]}' must fit int32" in text for text in found.values())
    Config.from_arguments({"attention_backend": backend, "max_running_requests": 16383})
    Config.from_arguments({"attention_backend": "other", "max_running_requests": 16384})


@pytest.mark.parametrize("backend", _OFFSETS)
def test_requests_that_share_no_prefix_have_no_more_keys_than_their_pool(backend: str) -> None:
    many = {
        "attention_backend": backend,
        "max_running_requests": 65536,
        "disable_radix_cache": True,
    }
    Config.from_arguments(many)


def test_offsets_of_tables_are_refused_where_graphs_have_them() -> None:
    many = {"attention_backend": "fa3", "max_running_requests": 16384}
    Config.from_arguments(many)
    found = problems_of(**many, enable_decode_graph=True)
    assert any("of 'cu_seqlens_k' must fit int32" in text for text in found.values())


def test_branches_of_drafts_multiply_the_keys_that_offsets_reach() -> None:
    drafts = {
        "attention_backend": "triton",
        "enable_decode_graph": True,
        "speculative_algorithm": "eagle",
        "speculative_num_steps": 3,
        "speculative_num_draft_tokens": 12,
        "max_running_requests": 2048,
    }
    found = problems_of(**drafts, speculative_eagle_topk=8)
    assert any("of 'triton_draft_kv_indptr' must fit int32" in text for text in found.values())
    Config.from_arguments({**drafts, "speculative_eagle_topk": 7})
