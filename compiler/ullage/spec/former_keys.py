"""Keys of entities that were called otherwise before, with what they are called now.

Each old word had a second meaning elsewhere, so that the nearest known key would mislead.
"""

from __future__ import annotations

from typing import Final

PARAMETER: Final = {"values": "choices"}
SLOT: Final = {
    "values": "range",
    "live_values": "live_range",
    "compute": "value",
    "accepts": "casts_from",
    "kept": "lifetime",
}
DTYPE: Final = {"compute": "accelerator", "host": "cpu"}
READ: Final = {"writes": "scatters"}
STEP: Final = {"rows": "padded"}
RUNNER: Final = {"takes_all": "accepts_all"}
AUDIT: Final = {"source": "quoted_from"}
