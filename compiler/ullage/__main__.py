"""`python -m ullage`."""

from __future__ import annotations

import sys

from ullage.cli import main

if __name__ == "__main__":
    sys.exit(main())
