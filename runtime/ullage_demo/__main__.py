"""`python -m ullage_demo`: the same as `ullage demo`, where the compiler is not installed."""

from __future__ import annotations

from collections.abc import Sequence

from ullage_demo.options import parse
from ullage_demo.serving import serve


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status: 0 if every check passed."""
    return 0 if serve(parse(arguments, "python -m ullage_demo")) else 1


if __name__ == "__main__":
    raise SystemExit(main())
