"""What was proved of capacities."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True, slots=True)
class Proof:
    """What was proved of one capacity, by how many obligations; `flaws` say what was not.

    `everywhere`: each legal configuration of the runner has a mode, hence a batch that attains
    the capacity; otherwise `nowhere` is a configuration of which none is known. A tight capacity is
    zero where nothing occurs.
    `slack` is the author's reason why the capacity need not be tight.
    """

    runner: str
    target: str
    sound: bool
    tight: bool
    everywhere: bool
    nowhere: Mapping[str, int] | None
    obligations: int
    flaws: tuple[str, ...]
    slack: str | None = None

    @property
    def proved(self) -> bool:
        """Whether the capacity may be used without reservation."""
        return self.sound and (self.tight or self.slack is not None)


@dataclass(frozen=True)
class Certificate:
    """The proofs of all capacities, and what they take for granted about live batches."""

    proofs: tuple[Proof, ...]
    assumed: tuple[str, ...]

    @property
    def unproven(self) -> tuple[Proof, ...]:
        """The capacities that are not proved."""
        return tuple(proof for proof in self.proofs if not proof.proved)

    def of(self, runner: str, target: str) -> Proof:
        """The proof of one capacity."""
        return self._named[runner, target]

    @cached_property
    def _named(self) -> Mapping[tuple[str, str], Proof]:
        return {(each.runner, each.target): each for each in self.proofs}
