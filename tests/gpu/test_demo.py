"""Every mode of the demo on a device, against what the CPU expects."""

from __future__ import annotations

import pytest

from ullage_demo.options import MODES
from ullage_demo.place import Place
from ullage_demo.scenarios import SCENARIOS
from ullage_demo.setting import Demo, build_demo


@pytest.fixture(scope="module")
def demo() -> Demo:
    return build_demo(8, place=Place(device="cuda"))


@pytest.mark.parametrize("mode", MODES)
def test_a_device_serves_the_tokens_of_the_reference(demo: Demo, mode: str) -> None:
    outcome = SCENARIOS[mode](demo)
    assert [check for check in outcome.checks if not check.passed] == []


@pytest.mark.parametrize("mode", ["graph", "graph_verify"])
def test_replays_on_a_device_equal_the_forward_and_the_unpadded_step(mode: str) -> None:
    outcome = SCENARIOS[mode](build_demo(8, place=Place(device="cuda", debug=True)))
    assert [check for check in outcome.checks if not check.passed] == []
