"""What every test shares: hypothesis profiles, golden files, a cache, and that gpu needs a GPU."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers

from golden_files import compare_with_golden
from support.shared import make_shared_folder

TESTS = Path(__file__).parent
GOLDENS = TESTS / "goldens"

# Neither profile depends on the clock: a busy machine must not fail a test that passes.
TIMED_CHECKS = [HealthCheck.too_slow]
settings.register_profile(
    "ci",
    derandomize=True,
    deadline=None,
    max_examples=40,
    print_blob=True,
    suppress_health_check=TIMED_CHECKS,
)
settings.register_profile(
    "thorough",
    deadline=None,
    max_examples=1000,
    print_blob=True,
    suppress_health_check=TIMED_CHECKS,
)
PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "ci")
settings.load_profile(PROFILE)
if PROFILE == "ci" and hasattr(providers, "_get_local_constants"):
    # Examples also hold constants of the modules that the process has imported so far, which is
    # another set in each run of several test processes. What passes once must pass again.
    NO_CONSTANTS = providers.Constants()
    providers._get_local_constants = lambda: NO_CONSTANTS


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-goldens",
        action="store_true",
        help="rewrite the files under tests/goldens with what the tests produce now",
    )


def pytest_configure(config: pytest.Config) -> None:
    make_shared_folder(config)


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """`golden(name, text)` fails with a diff unless tests/goldens/`name` holds `text`."""
    update = bool(request.config.getoption("--update-goldens"))
    return lambda name, text: compare_with_golden(GOLDENS / name, text, update=update)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if TESTS / "gpu" in item.path.parents:
            item.add_marker("gpu")
    on_gpu = [item for item in items if item.get_closest_marker("gpu")]
    if on_gpu and not has_cuda():
        for item in on_gpu:
            item.add_marker(pytest.mark.skip(reason="needs a CUDA device"))


def has_cuda() -> bool:
    """Asks torch only when a test needs the answer: most tests do without importing it."""
    if importlib.util.find_spec("torch") is None:
        return False
    import torch

    return torch.cuda.is_available()
