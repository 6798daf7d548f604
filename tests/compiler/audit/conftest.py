"""The audit of SGLang's specs, made once: it takes minutes."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.audits import Audited
from ullage.analyse import analyse
from ullage.audit.decide import audit

SPECS = Path(__file__).parents[3] / "specs" / "sglang"


@pytest.fixture(scope="session")
def sglang() -> Audited:
    """SGLang's specs with the verdicts of all their audits."""
    analysis = analyse(SPECS)
    return Audited(analysis, audit(analysis))
