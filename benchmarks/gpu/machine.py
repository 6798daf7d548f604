"""When, where and with which versions something was measured."""

from __future__ import annotations

import os
import platform
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version

import torch

PACKAGES = ("torch", "apache-tvm-ffi", "transformers", "flashinfer-python")


def about() -> dict[str, object]:
    """The head of each record."""
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "machine": {
            "device": torch.cuda.get_device_name(),
            "cores": os.cpu_count(),
            "python": platform.python_version(),
        },
        "versions": {name: _version(name) for name in PACKAGES},
    }


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
