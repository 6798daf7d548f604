"""compute-sanitizer finds nothing in random loads into poisoned buffers."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SANITIZER = shutil.which("compute-sanitizer")


@pytest.mark.skipif(SANITIZER is None, reason="compute-sanitizer is not installed")
@pytest.mark.parametrize("tool", ["memcheck", "initcheck"])
def test_loads_touch_only_what_is_there_and_was_written(tool: str) -> None:
    watched = [sys.executable, str(Path(__file__).with_name("sanitized_loads.py"))]
    options = ["--tool", tool, "--error-exitcode", "9", "--target-processes", "all"]
    done = subprocess.run(
        [str(SANITIZER), *options, *watched], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert "ERROR SUMMARY: 0 errors" in done.stdout
    assert "60 loads" in done.stdout
