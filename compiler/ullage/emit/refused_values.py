"""What an error about a live value shows: its bound as the spec has it, and the values behind."""

from __future__ import annotations

from collections.abc import Iterator

from ullage.emit.padding import summing_source
from ullage.emit.scope import Scope
from ullage.emit.text import literal
from ullage.expr.simplify import fold
from ullage.expr.spell import spell
from ullage.expr.tree import Boolean, Expr, Integer, Name, Over, children, free_names


def bound_text(scope: Scope, end: Expr) -> str:
    """An end of a range as its author wrote it; nothing for a number, which says all itself."""
    return "" if isinstance(fold(scope.runner.rewrite(end)), Integer) else spell(end)


def values_behind(scope: Scope, *exprs: Expr) -> str:
    """A dictionary from what expressions name, and the parameters behind that, to its value.

    An expression that is a single name is not listed: its own value is what is shown anyway.
    """
    shown: dict[str, str] = {}
    said: set[str] = set()
    for expr in exprs:
        for leaf in _leaves(expr):
            rewritten = scope.runner.rewrite(leaf)
            if isinstance(rewritten, Name):
                said.add(rewritten.name)
            value = _value(scope, leaf, rewritten)
            if value is not None and leaf != expr:
                shown[spell(leaf)] = value
    for name in _parameters(scope, exprs):
        if name not in said:
            shown[name] = _configured(scope, name)
    return f"{{{', '.join(f'{literal(name)}: {value}' for name, value in shown.items())}}}"


def _leaves(node: Expr) -> Iterator[Expr]:
    """Names and whole sums over requests, as they are written."""
    if isinstance(node, Name | Over):
        yield node
        return
    for child in children(node):
        yield from _leaves(child)


def _value(scope: Scope, leaf: Expr, rewritten: Expr) -> str | None:
    """The source of what a leaf stands for; None for one that is shown by its parameters only."""
    if isinstance(leaf, Over):
        return summing_source(scope).of(scope.runner.of_batch(leaf))
    match rewritten:
        case Integer(value=value) | Boolean(value=value):
            return str(value)
        case Name(name=name) if name in scope.visible:
            return scope.local(name)
        case Name(name=name) if scope.runner.unfold(rewritten) == rewritten:
            return _configured(scope, name) if name in scope.runner.engine.settings else None
        case _:
            return None


def _configured(scope: Scope, name: str) -> str:
    if name in scope.serving:
        return scope.local(name)
    return f"config.{scope.runner.engine.settings.of(name).attribute}"


def _parameters(scope: Scope, exprs: tuple[Expr, ...]) -> tuple[str, ...]:
    """The parameters behind expressions, in declared order."""
    settings, domain = scope.runner.engine.settings, scope.runner.engine.domain
    used: set[str] = set()
    for expr in exprs:
        used |= free_names(settings.expanded(scope.runner.rewrite(expr), domain.definitions))
    return tuple(each.name for each in domain.variables if each.name in used)
