"""Versions, and the refusal of generated code that this runtime cannot serve."""

from __future__ import annotations

from ullage_runtime.errors import StaleCodeError

__version__ = "0.1.0"

# Raised whenever a signature that generated code calls changes its meaning.
GENERATED_CODE_VERSION = 8


def require_generated_code_version(found: int, module: str) -> None:
    """Refuse a generated `module` written for another version of this runtime.

    Raises StaleCodeError (U721), which says what to do.
    """
    if found != GENERATED_CODE_VERSION:
        raise StaleCodeError(module, found, GENERATED_CODE_VERSION)
