"""One configuration of an engine, and the values that expressions have in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ullage.analysis import Analysis
from ullage.bound.capacities import Candidate, Capacity
from ullage.bound.domain import worker_name
from ullage.commands.reporting import Json
from ullage.commands.terminal import NO_BREAK, Page
from ullage.configuration.read import Configuration, read_configuration
from ullage.configuration.values import complete
from ullage.expr.environment import EvaluationError
from ullage.expr.evaluate import evaluate, evaluate_integer
from ullage.expr.tree import Expr
from ullage.read import read
from ullage.spec.check import ResolvedSpec
from ullage.spec.model import Parameter

Value = int | bool | Sequence[int]


@dataclass(frozen=True, slots=True)
class Settings:
    """All parameters and definitions by name; an enum is its code, what is absent has no entry.

    `given`: the file that they are from.
    """

    resolved: ResolvedSpec
    values: Mapping[str, Value]
    given: Configuration

    def value(self, expr: Expr, live: Mapping[str, Value] | None = None) -> Value | None:
        """The value of an expression, with live variables if given; None where it has none."""
        try:
            return evaluate(expr, {**self.values, **(live or {})})
        except EvaluationError:
            return None

    def size(self, formula: Expr) -> int:
        """The value of a capacity, which has one in every configuration of its runner."""
        return evaluate_integer(formula, self.values)

    def parameters(self) -> dict[str, str | int | list[int] | None]:
        """Every parameter that has a value, each worker's own under its own name."""
        found: dict[str, str | int | list[int] | None] = {}
        for name, parameter, _ in self._instances():
            value = self.values.get(name)
            if isinstance(value, int) and parameter.type == "enum":
                found[name] = parameter.choices[value]
            elif value is not None:
                found[name] = plain(value)
        return found

    def defaults(self) -> tuple[str, ...]:
        """The parameters that have a value which was not given."""
        return tuple(
            name
            for name, parameter, worker in self._instances()
            if name in self.values and not self._is_given(name, parameter, worker)
        )

    def _instances(self) -> Iterator[tuple[str, Parameter, str]]:
        """Each parameter with its name here and, if each worker has it, the worker."""
        for parameter in self.resolved.spec.parameters:
            if not parameter.per_worker:
                yield parameter.name, parameter, ""
                continue
            for worker in self.resolved.spec.workers:
                yield worker_name(parameter.name, worker.name), parameter, worker.name

    def _is_given(self, name: str, parameter: Parameter, worker: str) -> bool:
        given = self.given.given
        if name in given or parameter.name not in given:
            return name in given
        by_worker = given[parameter.name].value
        return worker in by_worker if isinstance(by_worker, Mapping) else True

    def holds(self, condition: Expr) -> bool:
        """Whether a condition over parameters is true here."""
        return self.value(condition) is True

    def witness(self, candidate: Candidate) -> Mapping[str, Value]:
        """The live batch of a candidate in numbers."""
        found = {name: self.value(value) for name, value in candidate.witness.items()}
        return {name: value for name, value in found.items() if value is not None}

    def binding(self, capacity: Capacity) -> list[str]:
        """The modes that have a batch of exactly the capacity here; none if none occurs."""
        size = self.value(capacity.formula)
        modes = [
            candidate.mode
            for candidate in capacity.candidates
            if self.holds(candidate.condition) and self.value(candidate.formula) == size
        ]
        return list(dict.fromkeys(modes))


def read_settings(specs: Path, path: Path) -> Settings:
    """The configuration of a YAML or JSON file, with defaults for what it leaves out.

    Raises DiagnosticError with everything that makes it illegal, or that is wrong with the specs,
    but for what only a plan shows: `require_accepted`.
    """
    sources, resolved = read(specs)
    found = read_configuration(path, path.as_posix())
    texts = {**sources.texts, **found.sources}
    values = complete(resolved, found.given, place=found.place, sources=texts)
    return Settings(resolved, values, found)


def require_accepted(settings: Settings, analysis: Analysis) -> None:
    """Raises DiagnosticError for a configuration in which a slot could not hold its values."""
    if analysis.plan.refusals:
        found, domain = settings.given, analysis.problem.domain
        texts = {**analysis.sources.texts, **found.sources}
        complete(settings.resolved, found.given, domain=domain, place=found.place, sources=texts)


def show_parameters(settings: Settings, page: Page) -> None:
    """What was given, and what has a value because the engine has one for it by default."""
    defaults = frozenset(settings.defaults())
    parameters = settings.parameters().items()
    for title, by_default in (("given", False), ("default", True)):
        listed = ", ".join(
            f"{name}{NO_BREAK}={NO_BREAK}{_assigned(value)}"
            for name, value in parameters
            if (name in defaults) is by_default
        )
        page.wrapped(f"{title}: {listed or 'nothing'}")
    page.line()


def show_absent(analysis: Analysis, settings: Settings, page: Page) -> None:
    """The runners that the configuration does not have, in one line."""
    names = [each.name for each in analysis.plan.runners if not settings.holds(each.guard)]
    if names:
        page.wrapped(f"not in this configuration: {', '.join(names)}")


def parameters_record(settings: Settings) -> Mapping[str, Json]:
    """The configuration as JSON: all values, and the names of those that were not given."""
    return {"configuration": settings.parameters(), "defaults": list(settings.defaults())}


def _assigned(value: str | int | list[int] | None) -> str:
    return value if isinstance(value, str) else shown(value).replace(" ", NO_BREAK)


def shown(value: Value | None) -> str:
    """A value in the words of the language; `undefined` without one."""
    match value:
        case None:
            return "undefined"
        case bool(truth):
            return "true" if truth else "false"
        case int(number):
            return str(number)
        case _:
            return f"[{', '.join(map(str, value))}]"


def plain(value: Value | None) -> int | list[int] | None:
    """A value as JSON writes it; null without one."""
    return value if value is None or isinstance(value, int) else list(value)
