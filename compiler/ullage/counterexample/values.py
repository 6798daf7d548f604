"""Values as an author writes them."""

from __future__ import annotations

Shown = int | bool | str | tuple[int, ...]


def spelled(value: Shown) -> str:
    """A value as an author writes it."""
    match value:
        case bool(truth):
            return "true" if truth else "false"
        case tuple(elements):
            return f"[{', '.join(map(str, elements))}]"
        case _:
            return str(value)
