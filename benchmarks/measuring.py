"""What the measurements share: whole processes, and results kept with the machine they are of."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"

# What the console script does, without needing it to be on the path.
ULLAGE = [sys.executable, "-c", "import sys; from ullage.cli import main; sys.exit(main())"]

_PACKAGES = ("ullage", "sympy", "z3-solver", "ruff")


class CommandError(Exception):
    """A measured command exited with an error; its time would mean nothing."""


def seconds_of(command: list[str], cache: Path | None = None) -> float:
    """How long a process takes, with a compiler's cache of its own if there is one."""
    environment = dict(os.environ)
    environment.pop("ULLAGE_NO_CACHE", None)  # or there would be no warm compile
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # sympy has its byte code; an engine too
    if cache is not None:
        environment["ULLAGE_CACHE_DIR"] = str(cache)
    started = time.perf_counter()
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    elapsed = time.perf_counter() - started
    if done.returncode != 0:
        raise CommandError(f"exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return elapsed


def record(
    name: str, what: str, measured: Mapping[str, object], packages: Sequence[str] = _PACKAGES
) -> None:
    """Overwrites the recorded result: its history is the repository's.

    `packages`: those whose versions it depends on.
    """
    result = {
        "what": what,
        "date": datetime.now(UTC).date().isoformat(),
        "machine": {
            "architecture": platform.machine(),
            "cores": os.cpu_count(),
            "system": platform.system(),
            "python": platform.python_version(),
        },
        "versions": {package: version(package) for package in packages},
        **measured,
    }
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.json").write_text(json.dumps(result, indent=2) + "\n")
