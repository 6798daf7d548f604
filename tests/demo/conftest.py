from __future__ import annotations

import pytest
import torch

from ullage_demo.setting import Demo, build_demo


@pytest.fixture(autouse=True, scope="session")
def one_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def demo() -> Demo:
    return build_demo(8)


@pytest.fixture(scope="session")
def padded_demo(demo: Demo) -> Demo:
    """The same, but every batch is padded to multiples of three rows."""
    return Demo(demo.reference, demo.requests, alignment=3)
