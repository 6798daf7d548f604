"""Putting modules together: header, imports of what the body uses, and the body."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from typing import Final

from ullage.emit.rendering import render
from ullage.emit.scan import names_of, without_unused
from ullage.emit.text import comment, docstring

GENERATED_CODE_VERSION: Final = 8
"""Which version of the runtime's interface generated code is written for."""

STANDARD: Final[Mapping[str, str]] = {
    "AbstractContextManager": "contextlib",
    "ClassVar": "typing",
    "Enum": "enum",
    "Final": "typing",
    "Generic": "typing",
    "Callable": "collections.abc",
    "Hashable": "collections.abc",
    "Iterable": "collections.abc",
    "Iterator": "collections.abc",
    "Mapping": "collections.abc",
    "MappingProxyType": "types",
    "NamedTuple": "typing",
    "Protocol": "typing",
    "Sequence": "collections.abc",
    "StrEnum": "enum",
    "TypeVar": "typing",
    "cached_property": "functools",
    "dataclass": "dataclasses",
    "math": "",
    "nullcontext": "contextlib",
}
THIRD_PARTY: Final[Mapping[str, str]] = {
    "Tensor": "torch",
    "torch": "",
    "reject": "hypothesis",
    "st": "hypothesis",
}
ALIASES: Final[Mapping[str, str]] = {"st": "strategies"}
RUNTIME: Final[Mapping[str, str]] = {
    "Arena": "arena",
    "Argument": "arguments",
    "Constant": "constants",
    "BatchError": "errors",
    "another_offer": "checks",
    "broken_relation": "checks",
    "ConfigurationError": "errors",
    "ConfigurationProblem": "errors",
    "DebugOptions": "debug",
    "Declaration": "library_objects",
    "LibraryObject": "library_objects",
    "PeerError": "errors",
    "Problems": "configuration",
    "LoadPlan": "load_plan",
    "PlanCache": "plan_cache",
    "Ranks": "ranks",
    "Recipes": "recipe",
    "Regions": "arena_regions",
    "RunnerLayout": "arena_regions",
    "Seen": "plan_cache",
    "SharedArena": "arena_regions",
    "SingleRank": "ranks",
    "Slot": "slots",
    "SlotGroup": "slots",
    "SlotShape": "arena",
    "SlotTable": "slots",
    "UllageRuntimeError": "errors",
    "align_up": "integers",
    "cdiv": "integers",
    "check_extent": "checks",
    "check_member": "checks",
    "check_source": "checks",
    "check_values": "checks",
    "configured": "arguments",
    "Defaults": "configuration",
    "cut_to_live": "outputs",
    "live_extent": "checks",
    "made_at_once": "records",
    "map_tensors": "outputs",
    "next_in": "integers",
    "out_of_range": "checks",
    "poison": "debug",
    "poison_around": "debug",
    "present": "configuration",
    "require_capacities": "requirements",
    "require_generated_code_version": "version",
    "require_ranks": "requirements",
    "require_same_configuration": "requirements",
    "require_same_outputs": "debug",
    "require_unpoisoned": "debug",
    "single_value": "checks",
    "unknown_mode": "checks",
    "values_of": "checks",
    "whole_number": "checks",
    "writer_for": "native.writer",
}
IMPORTED: Final = (*STANDARD, *THIRD_PARTY, *RUNTIME)
"""Names that generated modules import, and that nothing of a spec may be called."""


@dataclass(frozen=True, slots=True)
class Module:
    """A module to write: what it is about, and its definitions as text.

    `siblings` says which module of the package defines a name that the body may use; `exports`
    are names to import from there although the body only lists them; `usage`: lines that follow
    what it is about.
    """

    path: str
    about: tuple[str, ...]
    body: str
    siblings: Mapping[str, str]
    exports: tuple[str, ...] = ()
    usage: tuple[str, ...] = ()


def assembled(module: Module, header: Iterable[str]) -> str:
    """The text of a module, not formatted yet."""
    names = tuple(names_of(module.body))
    body = without_unused(module.body, names, PREPARED)
    used = {each.name for each in names}
    if not module.exports:
        used.add("require_generated_code_version")
        check = f"require_generated_code_version({GENERATED_CODE_VERSION}, __name__)"
        body = f"{check}\n\n{body}"
    return render(
        "module.py.j2",
        header="\n".join(comment(line) for line in header),
        about=docstring(module.about, indent=0, listing=module.usage),
        imports=_imports(module, used),
        body=body,
    )


PREPARED: Final = (
    "config = self.config",
    "mode = live.mode.value",
    "registry = self.registry",
)
"""Local variables that templates provide, whether or not the lines of a spec need them."""

_DEFINITION: Final = re.compile(r"^(?:class|def) (\w+)", re.MULTILINE)


def _imports(module: Module, names: Set[str]) -> str:
    """The imports that these names of a module need, in the order of isort."""
    used = (names | set(module.exports)) - set(_DEFINITION.findall(module.body))
    sections = (
        {name: module for name, module in STANDARD.items() if name in used},
        {name: module for name, module in THIRD_PARTY.items() if name in used},
        {name: f"ullage_runtime.{module}" for name, module in RUNTIME.items() if name in used},
        {name: f".{module}" for name, module in module.siblings.items() if name in used},
    )
    blocks = ["from __future__ import annotations", *(_section(each) for each in sections)]
    return "\n\n".join(block for block in blocks if block)


def _section(modules: Mapping[str, str]) -> str:
    """The imports of one section: whole modules first, then names by module."""
    by_module: dict[str, list[str]] = {}
    for name, module in modules.items():
        by_module.setdefault(module, []).append(name)
    lines = [f"import {name}" for name in sorted(by_module.pop("", []))]
    for module, names in sorted(by_module.items()):
        plain = sorted((name for name in names if name not in ALIASES), key=_member_order)
        lines += [f"from {module} import {', '.join(plain)}"] if plain else []
        aliased = (f"{ALIASES[name]} as {name}" for name in names if name in ALIASES)
        lines += [f"from {module} import {each}" for each in aliased]
    return "\n".join(lines)


def _member_order(name: str) -> tuple[int, list[str | int], str]:
    """Constants, then classes, then the rest, each in natural order."""
    kind = 0 if name.isupper() and len(name) > 1 else 1 if name[:1].isupper() else 2
    natural = [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)]
    return kind, natural, name
