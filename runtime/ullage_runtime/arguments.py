"""Arguments of an engine whose names and types nobody has checked yet.

They go by the names that a configuration file for the compiler has: a parameter's own, spelled
with `_` or as on a command line. A parameter that each worker has for itself is given under its
name with the worker's behind it, as a mapping by worker, or once for whichever workers there are.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, TypeVar

from ullage_runtime.errors import ConfigurationError, ConfigurationProblem

C = TypeVar("C")


@dataclass(frozen=True, slots=True)
class Argument:
    """A known argument: a whole number, a truth value, an enum by value, or a list of numbers.

    `keyword`: what Python calls it, if its name is one that Python uses itself. `required`: it
    has no default. `worker` has it for itself: it is that worker's `base`.
    """

    name: str
    kind: type[int] | type[bool] | type[tuple[int, ...]] | type[StrEnum]
    place: str
    keyword: str = ""
    required: bool = False
    base: str = ""
    worker: str = ""


def configured(
    make: Callable[..., C], arguments: Mapping[str, object], known: Sequence[Argument], place: str
) -> C:
    """What `make` answers to the arguments as keywords.

    What is given for all workers is left out for those that do not exist in this configuration.
    `place`: where the engine is declared. Raises ConfigurationError with everything that is wrong.
    """
    given = _Given(known, place)
    given.take(arguments)
    values = given.values()
    try:
        return make(**values)
    except ConfigurationError as error:
        absent = {each.parameter for each in error.problems if each.absent} & given.shared
        if not absent:
            raise
    left_out = {each.keyword or each.name for each in known if each.name in absent}
    return make(**{name: value for name, value in values.items() if name not in left_out})


@dataclass
class _Given:
    """Values by the names of the known arguments, with the spelling that each was given under.

    `shared` are the arguments whose values were given for whichever workers there are.
    """

    known: Sequence[Argument]
    place: str
    found: dict[str, tuple[str, object]] = field(default_factory=dict)
    shared: set[str] = field(default_factory=set)
    problems: list[ConfigurationProblem] = field(default_factory=list)

    def take(self, arguments: Mapping[str, object]) -> None:
        """Each value for the argument that its name means; None counts as not given."""
        by_name = {each.name: each for each in self.known}
        for spelled, value in arguments.items():
            name = str(spelled).removeprefix("--").replace("-", "_")
            workers = {each.worker: each for each in self.known if each.base == name}
            if name in by_name:
                self._take_own(by_name[name], spelled, value)
            elif not workers:
                expected = f"there is no such parameter{_hint(spelled, name, self._names())}"
                self._problem("U703", spelled, value, expected, self.place)
            elif isinstance(value, Mapping):
                self._take_by_worker(workers, spelled, value)
            elif value is not None:
                self._take_shared(workers.values(), spelled, value)

    def _names(self) -> Iterator[str]:
        for each in self.known:
            yield each.name
            yield each.base or each.name

    def _take_own(self, argument: Argument, spelled: str, value: object) -> None:
        if value is None:
            return
        if argument.name in self.found and argument.name not in self.shared:
            expected = f"it is given as {self.found[argument.name][0]!r} too"
            self._problem("U701", spelled, value, expected, argument.place)
        self.found[argument.name] = (spelled, value)
        self.shared.discard(argument.name)

    def _take_by_worker(
        self, workers: Mapping[str, Argument], spelled: str, values: Mapping[object, object]
    ) -> None:
        for worker, value in values.items():
            argument = workers.get(str(worker))
            if argument is not None:
                self._take_own(argument, f"{spelled}[{worker!r}]", value)
                continue
            expected = f"there is no such worker; there are {', '.join(workers)}"
            self._problem("U703", f"{spelled}[{worker!r}]", value, expected, self.place)

    def _take_shared(self, workers: Iterable[Argument], spelled: str, value: object) -> None:
        for each in workers:
            if each.name not in self.found:
                self.found[each.name] = (spelled, value)
                self.shared.add(each.name)

    # Any: the values go on as keyword arguments, whose types are those that were checked here.
    def values(self) -> dict[str, Any]:
        """The values by keyword, each of its type."""
        values: dict[str, Any] = {}
        for argument in self.known:
            if argument.name in self.found:
                spelled, value = self.found[argument.name]
                expected = _store(values, argument, value)
                if expected:
                    self._problem("U701", spelled, value, expected, argument.place)
            elif argument.required:
                expected = "it has no default, so it must be given"
                self._problem("U704", argument.name, None, expected, argument.place)
        if self.problems:
            raise ConfigurationError(self.problems)
        return values

    def _problem(self, code: str, name: str, value: object, expected: str, place: str) -> None:
        """Record a problem, but not for each worker again."""
        problem = ConfigurationProblem(code, name, value, expected, place)
        if problem not in self.problems:
            self.problems.append(problem)


def _store(values: dict[str, Any], argument: Argument, value: object) -> str:
    """Keep a value as what it should be; what was expected instead if it is something else."""
    kind, keyword = argument.kind, argument.keyword or argument.name
    if issubclass(kind, StrEnum):
        if isinstance(value, str) and value in [member.value for member in kind]:
            values[keyword] = kind(value)
            return ""
        return f"must be one of {', '.join(repr(member.value) for member in kind)}"
    if issubclass(kind, tuple):
        members = value if isinstance(value, tuple | list) else (None,)
        values[keyword] = tuple(members)
        return "" if all(type(each) is int for each in members) else "must be a list of integers"
    values[keyword] = value
    return "" if type(value) is kind else f"must be {_DESCRIBED[kind]}"


_DESCRIBED: Mapping[type, str] = {int: "an integer", bool: "True or False"}


def _hint(spelled: str, name: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(name, sorted(set(known)), n=1)
    if not near:
        return ""
    like = near[0].replace("_", "-") if "-" in spelled else near[0]
    dashes = "--" if spelled.startswith("--") else ""
    return f"; did you mean {dashes + like!r}?"
