"""Libraries that write slots of any dtype, built once for each device."""

from __future__ import annotations

import pytest

from support.load_libraries import EmulatedDevice, Kernel, needs_host_compiler
from ullage_runtime.native.library import TakeRecipe

HOST = pytest.param(Kernel.on_host, id="cpu", marks=needs_host_compiler)
EMULATED = pytest.param(Kernel.emulated, id="emulated", marks=needs_host_compiler)
DEVICE = pytest.param(Kernel.on_device, id="cuda", marks=pytest.mark.gpu)


@pytest.fixture(scope="session", params=[HOST, DEVICE])
def library(request: pytest.FixtureRequest) -> Kernel:
    """What runners load through."""
    made: Kernel = request.param()
    return made


@pytest.fixture(scope="session", params=[HOST, EMULATED, DEVICE])
def kernel(request: pytest.FixtureRequest) -> Kernel:
    """The same, and the kernel of a device where there is none."""
    made: Kernel = request.param()
    return made


@pytest.fixture(scope="session")
def device() -> EmulatedDevice:
    return EmulatedDevice()


@pytest.fixture(scope="session")
def emulated() -> Kernel:
    return Kernel.emulated()


@pytest.fixture
def take(emulated: Kernel) -> TakeRecipe:
    """Of a runner whose ring is its own."""
    return emulated.open(0)
