"""One line of progress for those who wait."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Progress = Callable[[str], None]


@contextmanager
def progress(wanted: bool = True) -> Iterator[Progress]:
    """A function that shows what is being done, on the error stream if that is a terminal."""
    if not wanted or not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console  # nobody else has to wait for them
    from rich.live import Live
    from rich.text import Text

    console = Console(file=sys.stderr, highlight=False, markup=False)
    # Without a thread of its own, which would keep the work from being shared out to processes.
    with Live(Text("starting"), console=console, auto_refresh=False, transient=True) as live:
        shown_by = os.getpid()

        def show(message: str) -> None:
            if os.getpid() == shown_by:
                live.update(Text(message), refresh=True)

        yield show
