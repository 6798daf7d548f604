"""`ullage demo`: serve a small model through generated code.

The one door in the wall between the compiler and the runtime: the demo is loaded when this runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from ullage.commands.reporting import Exit, UsageError


def run(arguments: Sequence[str]) -> Exit:
    """Serve what the arguments say; FOUND if a check failed. UsageError without the extra."""
    with _needs_the_extra():
        from ullage_demo.options import parse

        options = parse(arguments, "ullage demo")
    with _needs_the_extra():
        from ullage_demo.serving import serve
    return Exit.OK if serve(options) else Exit.FOUND


@contextmanager
def _needs_the_extra() -> Iterator[None]:
    try:
        yield
    except ModuleNotFoundError as error:
        raise UsageError(
            f"the demo needs the module '{error.name}', which the extra 'demo' installs: "
            "pip install 'ullage[demo]'"
        ) from error
