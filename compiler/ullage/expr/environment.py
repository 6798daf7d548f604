"""What names stand for where an expression is evaluated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

Value = int | bool | Sequence[int]
Result = int | bool | list[int]


class EvaluationError(ValueError):
    """An expression without a value: a divisor below one, an absent name, no large enough element.

    Also raised for a value of the wrong kind, which `infer` would have refused.
    """


@dataclass(frozen=True, slots=True)
class Environment:
    """What names stand for on one rank.

    `values`: integers, booleans, lists, and enums by code. `requests`: for each per-request
    variable, its value for every request, all of one length. `peers`: the environments of the
    other ranks of the group. `upper`: the largest value of each varying parameter. `known`: values
    of subexpressions, kept for an environment that never changes and is asked often.
    """

    values: Mapping[str, Value]
    requests: Mapping[str, Sequence[int]] = field(default_factory=dict)
    peers: tuple[Environment, ...] = ()
    upper: Mapping[str, int] = field(default_factory=dict)
    known: dict[object, Result] | None = field(default=None, compare=False, repr=False)

    def remembering(self) -> Environment:
        """The same environment, which keeps the values of subexpressions."""
        return Environment(self.values, self.requests, self.peers, self.upper, {})

    def binding(self, values: Mapping[str, Value]) -> Environment:
        """The same environment where some names have other values."""
        return self.over({**self.values, **values})

    def over(self, values: Mapping[str, Value]) -> Environment:
        """The same environment with other values, which may change."""
        return Environment(values, self.requests, self.peers, self.upper)

    def each_request(self) -> list[Environment]:
        """One environment for each request, where per-request names are that request's values."""
        lengths = {len(values) for values in self.requests.values()}
        if len(lengths) != 1:
            raise EvaluationError("per-request values are missing or differ in length")
        (count,) = lengths
        return [
            self.binding({name: values[index] for name, values in self.requests.items()})
            for index in range(count)
        ]

    def each_rank(self) -> list[Environment]:
        """One environment for each rank of the group, this one first."""
        group = (self, *self.peers)
        return [
            Environment(
                member.values, member.requests, group[:index] + group[index + 1 :], member.upper
            )
            for index, member in enumerate(group)
        ]
