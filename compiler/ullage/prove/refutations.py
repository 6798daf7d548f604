"""What z3 has found against some claims, tried against others before z3 is asked again.

A model satisfies all that z3 was told of its names, so it counts against any claim about some of
them that z3 would be told no more for.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ullage.expr.environment import Environment
from ullage.expr.evaluate import holding
from ullage.expr.tree import Expr

KEPT = 64


@dataclass
class Refutations:
    """The last models that were found."""

    models: deque[Environment] = field(default_factory=lambda: deque(maxlen=KEPT))

    def keep(self, model: Mapping[str, int], booleans: frozenset[str]) -> None:
        """Keep what a model says of integers and of the names that are `booleans`."""
        values = {name: bool(value) if name in booleans else value for name, value in model.items()}
        self.add(Environment(values))

    def add(self, example: Environment) -> None:
        """Keep an example that has a value for each name."""
        self.models.appendleft(example.remembering())

    def refute(self, claim: Expr, given: Sequence[Expr]) -> bool:
        """Whether some model satisfies all that is given and not the claim, with a value each."""
        holds = holding(claim, True)
        against = [model for model in self.models if not holds(model)]
        if not against:
            return False
        satisfied = [holding(each, False) for each in given]
        return any(all(each(model) for each in satisfied) for model in against)
