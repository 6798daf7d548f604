"""Names of the spec as Python names: safe, distinct, and close to what the author wrote."""

from __future__ import annotations

import builtins
import keyword
from collections.abc import Iterable

_UNSAFE = frozenset((*dir(builtins), *keyword.kwlist, *keyword.softkwlist))


def camel(name: str) -> str:
    """`eager_target` as a class is called: `EagerTarget`."""
    return "".join(part[:1].upper() + part[1:] for part in name.split("_"))


def distinct(name: str, taken: Iterable[str]) -> str:
    """`name`, with as many underscores behind it as it takes not to be one of `taken`."""
    others = frozenset(taken)
    while name in others:
        name += "_"
    return name


class Names:
    """Python names for the names of one scope; `reserved` are used by generated code itself."""

    def __init__(self, names: Iterable[str], reserved: Iterable[str] = ()) -> None:
        unsafe = _UNSAFE | frozenset(reserved)
        given = tuple(dict.fromkeys(names))
        self._python: dict[str, str] = {name: name for name in given if name not in unsafe}
        taken = set(given) | unsafe
        for name in given:
            if name not in self._python:
                self._python[name] = distinct(name, taken)
                taken.add(self._python[name])

    def of(self, name: str) -> str:
        """The Python name of `name`. KeyError if the scope has no such name."""
        return self._python[name]

    def __contains__(self, name: str) -> bool:
        return name in self._python


class ClassNames:
    """Hands out class names of one module, each once."""

    def __init__(self, reserved: Iterable[str] = ()) -> None:
        self._taken = {*reserved, *_UNSAFE}

    def new(self, name: str) -> str:
        """`name` in camel case, with a number behind it where it is taken."""
        made, number = camel(name), 2
        while made in self._taken:
            made, number = f"{camel(name)}{number}", number + 1
        self._taken.add(made)
        return made
