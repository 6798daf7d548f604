"""What tests of the command line say of a run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Ran:
    """What a command answered and wrote."""

    code: int
    out: str
    err: str

    @property
    def shown(self) -> str:
        """All of it, as golden files keep it."""
        error = f"--- error stream\n{self.err}" if self.err else ""
        return f"{self.out}{error}--- exit code {self.code}\n"


Run = Callable[..., Ran]
"""Runs one command, given its arguments."""
