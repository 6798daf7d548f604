"""A part of SGLang's specs: what is about its eager runners takes a tenth of the whole."""

from __future__ import annotations

import importlib.util
from pathlib import Path

ROOT = Path(__file__).parents[2]


def eager_part(into: Path) -> Path:
    """A copy of specs/sglang in `into` with its eager runners only."""
    spec = importlib.util.spec_from_file_location("spec_parts", ROOT / "benchmarks" / "parts.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return Path(module.part_of(ROOT / "specs" / "sglang", ["eager"], into))
