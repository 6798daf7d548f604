"""How generated code speaks of the configuration: attributes, enums and absent values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ullage.bound.domain import worker_name
from ullage.bound.problem import Definition, Variable
from ullage.emit.modules import IMPORTED
from ullage.emit.names import ClassNames, Names
from ullage.emit.source import Source
from ullage.expr.kinds import EnumKind, IntKind, Kind, ListKind
from ullage.expr.tree import TRUE, Enumerant, Expr, free_names, substitute
from ullage.place import Place
from ullage.spec.check import ResolvedSpec
from ullage.spec.check_names import WORKER
from ullage.spec.model import Parameter

RESERVED_ATTRIBUTES = (
    "cls",
    "config",
    "defaults",
    "from_arguments",
    "of",
    "self",
    "validate",
    *IMPORTED,
)
"""What `Config` has or uses besides parameters and definitions."""

RESERVED_CLASSES = (
    *("ArenaPlan", "Arenas", "Config", "Extents", "LiveBatch", "Mode", "Offer", "Rows", "Worker"),
    *IMPORTED,
)


@dataclass(frozen=True, slots=True)
class Described:
    """A parameter or definition of one worker, or of all: what it is called and what it holds."""

    name: str
    attribute: str
    base: str
    worker: str | None
    kind: Kind
    guard: Expr

    @property
    def guarded(self) -> bool:
        """Whether it has no value in some legal configuration."""
        return self.guard != TRUE


@dataclass(frozen=True, slots=True)
class DescribedEnum:
    """An enum: what its class is called, its values and what it is about."""

    name: str
    values: tuple[str, ...]
    doc: str
    place: Place


class Settings:
    """The parameters and definitions of an engine as `Config` holds them."""

    def __init__(
        self,
        resolved: ResolvedSpec,
        variables: tuple[Variable, ...],
        definitions: tuple[Definition, ...],
    ) -> None:
        self.resolved = resolved
        self._parameters = {each.name: each for each in resolved.spec.parameters}
        guards: dict[str, Expr] = {each.name: each.guard for each in variables}
        guards |= {each.name: each.guard for each in definitions}
        origins = dict(_origins(resolved))
        names = Names(guards, RESERVED_ATTRIBUTES)
        self._described: Mapping[str, Described] = {
            name: Described(
                name, names.of(name), *origins[name], resolved.kinds[origins[name][0]], guard
            )
            for name, guard in guards.items()
        }
        self._enums = dict(self._named_enums(definitions))

    def of(self, name: str) -> Described:
        """A parameter or definition, by the name it has for its worker."""
        return self._described[name]

    def __contains__(self, name: str) -> bool:
        return name in self._described

    def parameter(self, name: str) -> Parameter:
        """The spec's parameter behind a name."""
        return self._parameters[self._described[name].base]

    def _named_enums(self, definitions: tuple[Definition, ...]) -> Iterator[tuple[str, str]]:
        """Each enum with its class; that of the workers only if a definition is one of them."""
        classes = ClassNames(RESERVED_CLASSES)
        for parameter in self.resolved.spec.parameters:
            if parameter.type == "enum":
                yield parameter.name, classes.new(parameter.name)
        kinds = (self._described[each.name].kind for each in definitions)
        if any(isinstance(kind, EnumKind) and kind.name == WORKER for kind in kinds):
            yield WORKER, "Worker"

    @property
    def enum_classes(self) -> tuple[str, ...]:
        """The classes of all enums."""
        return tuple(self._enums.values())

    @property
    def enums(self) -> Iterator[DescribedEnum]:
        """Every enum that the configuration has values of."""
        spec = self.resolved.spec
        for parameter in spec.parameters:
            if parameter.type == "enum":
                name, doc = self._enums[parameter.name], parameter.doc or parameter.name
                yield DescribedEnum(name, parameter.choices, doc, parameter.place)
        if WORKER in self._enums:
            values = tuple(worker.name for worker in spec.workers)
            yield DescribedEnum(self._enums[WORKER], values, "process roles", spec.place)

    def member(self, value: Enumerant) -> str:
        """A value of an enum, such as `SpeculativeAlgorithm.EAGLE`."""
        return f"{self._enums[value.enum]}.{value.value.upper()}"

    def annotation(self, name: str) -> str:
        """The type of a value that is there."""
        return self.annotation_of(self._described[name].kind)

    def annotation_of(self, kind: Kind) -> str:
        """The type of a value of some kind."""
        if isinstance(kind, EnumKind):
            return self._enums[kind.name]
        if isinstance(kind, ListKind):
            return "tuple[int, ...]"
        return "int" if isinstance(kind, IntKind) else "bool"

    def source(self, owner: str) -> Source:
        """Writes expressions over the attributes of `owner`, a `Config`."""

        def name(each: str) -> str:
            described = self._described[each]
            attribute = f"{owner}.{described.attribute}"
            return f"present({attribute})" if described.guarded else attribute

        return Source(name, self.member)

    def expanded(self, expr: Expr, definitions: tuple[Definition, ...]) -> Expr:
        """`expr` with every definition written out, so that only parameters are left."""
        for definition in reversed(definitions):
            if definition.name in free_names(expr):
                expr = substitute(expr, {definition.name: definition.value})
        return expr


def _origins(resolved: ResolvedSpec) -> Iterator[tuple[str, tuple[str, str | None]]]:
    """Each name of the specialised domain, with the spec's own name and the worker."""
    declared = [each.name for each in resolved.spec.parameters]
    declared += [each.name for each in resolved.spec.definitions]
    for name in declared:
        if name not in resolved.worker_dependent:
            yield name, (name, None)
            continue
        for worker in resolved.spec.workers:
            yield worker_name(name, worker.name), (name, worker.name)
