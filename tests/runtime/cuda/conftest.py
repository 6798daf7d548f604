"""One kernel for every dtype, built once for each device."""

from __future__ import annotations

import pytest

from support.emulated_cuda import EVERY_DTYPE, Kernel, needs_emulation


@pytest.fixture(
    scope="session",
    params=[
        pytest.param("cpu", marks=needs_emulation),
        pytest.param("cuda", marks=pytest.mark.gpu),
    ],
)
def kernel(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Kernel:
    return Kernel.built(EVERY_DTYPE, str(request.param), tmp_path_factory.mktemp("kernels"))
