"""The audit of SGLang's specs."""

from __future__ import annotations

import pytest

from support.audits import Audited
from support.shared import sglang as analysis
from support.shared import sglang_audit


@pytest.fixture(scope="session")
def sglang() -> Audited:
    """SGLang's specs with the verdicts of the audits that tests decide."""
    return Audited(analysis(), sglang_audit())
