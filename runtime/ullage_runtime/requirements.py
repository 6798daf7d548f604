"""What runners demand of what they are given when they are made: ranks, capacities and arenas."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, ClassVar, Protocol

from ullage_runtime.errors import ConfigurationError, ConfigurationProblem
from ullage_runtime.ranks import Ranks


class Record(Protocol):
    """A dataclass."""

    # Any: what typeshed says of every dataclass.
    __dataclass_fields__: ClassVar[dict[str, Any]]


def require_ranks(name: str, ranks: Ranks, group: str, count: int, *, place: str) -> None:
    """The ranks of a group that exchange counts. ConfigurationError: U701 for something else than
    ranks, U702 for another number of them than the configuration's.

    `name`: the argument that they are given as.
    """
    found: object = getattr(ranks, "count", None)
    if type(found) is not int:
        expected = (
            f"must be the ranks of group {group}, such as DistributedRanks, or SingleRank() for one"
        )
        raise ConfigurationError((ConfigurationProblem("U701", name, ranks, expected, place),))
    if found != count:
        problem = f"must be the count of the ranks given, which is {found}"
        problem += f"; give those of group {group}"
        statement = "the number of ranks"
        raise ConfigurationError((ConfigurationProblem("U702", statement, count, problem, place),))


def require_capacities(runner: str, given: Record, needed: Record) -> None:
    """No capacity is smaller than the configuration needs. ValueError names those that are."""
    small = [
        f"{each.name} is {found}, not {wanted}"
        for each in fields(needed)
        if (found := getattr(given, each.name)) < (wanted := getattr(needed, each.name))
    ]
    if small:
        raise ValueError(
            f"The capacities given for runner {runner} are less than the configuration needs: "
            f"{', '.join(small)}."
        )


def require_same_configuration(what: str, made_for: Record, used_for: Record) -> None:
    """Something was made for the configuration that it is used for. ValueError names differences.

    Two configurations may need the same shapes, and yet not the same places.
    """
    if made_for == used_for:
        return
    different = [
        f"{each.name} is {getattr(made_for, each.name)}, not {getattr(used_for, each.name)}"
        for each in fields(used_for)
        if getattr(made_for, each.name) != getattr(used_for, each.name)
    ]
    raise ValueError(f"The {what} are for another configuration: {', '.join(different)}.")
