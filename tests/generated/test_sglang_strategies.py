"""What the generated strategies cannot draw, they say."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage_generated.sglang import Config, Mode, SpeculativeAlgorithm, strategies
from ullage_runtime.errors import BatchError, ConfigurationError


def error_of(fixed: dict[str, object]) -> str:
    @given(strategies.configs(fixed=fixed))
    def draws(config: Config) -> None:
        """Nothing is ever drawn."""

    with pytest.raises(ConfigurationError) as caught:
        draws()
    return str(caught.value)


def test_an_unknown_fixed_argument_is_named() -> None:
    message = error_of({"max_runing": 1})
    assert "max_runing" in message
    assert "no such parameter" in message


@pytest.mark.parametrize(
    ("fixed", "expected"),
    [
        ({"tp_size": 0}, "tp_size is 0, but must be an integer in"),
        ({"tp_size": "4"}, "tp_size is '4', but must be an integer"),
        ({"cp_strategy": "diagonal"}, "cp_strategy is 'diagonal', but must be one of"),
        ({"tp_size": 3, "attn_dp_size": 2}, "tp_size % (attn_dp_size * attn_cp_size) == 0"),
        ({"speculative_eagle_topk": 3}, "has no meaning unless"),
    ],
)
def test_fixed_arguments_that_no_configuration_has_are_named(
    fixed: dict[str, object], expected: str
) -> None:
    assert expected in error_of(fixed)


@pytest.mark.parametrize("mode", [Mode.TARGET_VERIFY, Mode.EAGLE_DRAFT, "decode"])
def test_batches_of_a_mode_that_is_not_served_are_refused(mode: Mode) -> None:
    with pytest.raises(BatchError, match="U717"):
        strategies.eager_target_batches(Config.of(), mode)


@given(st.data(), st.sampled_from(["max_total_tokens", "--max-total-tokens-target"]))
@pytest.mark.slow
def test_a_fixed_argument_stays_however_it_is_spelled(data: st.DataObject, name: str) -> None:
    config = data.draw(strategies.configs(fixed={name: 71, "max-running-requests": 5}))
    assert (config.max_total_tokens_target, config.max_running_requests) == (71, 5)


@pytest.mark.slow
@given(st.data())
def test_fixed_arguments_stay(data: st.DataObject) -> None:
    fixed = {"speculative_algorithm": "eagle", "max_running_requests": 7, "tp_size": 4}
    config = data.draw(strategies.configs(fixed=fixed))
    assert config.speculative_algorithm is SpeculativeAlgorithm.EAGLE
    assert (config.max_running_requests, config.tp_size) == (7, 4)
