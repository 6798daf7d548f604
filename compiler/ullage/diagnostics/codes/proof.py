"""U5xx: proving a capacity."""

from __future__ import annotations

from typing import Final

from ullage.diagnostics.entry import Code

CODES: Final = (
    Code(
        "U503",
        "not proved",
        "Not shown is that every batch fits into the capacity (sound), or that in each legal "
        "configuration some batch needs all of it (tight). The message lists what is open; where "
        "the solver reached its effort limit, nothing is known to be wrong.",
        "a product of four variables under a modulus",
        "Split the expression into definitions, state 'slack' with the reason for a bound that "
        "no batch attains, or pass --allow-unproven.",
    ),
)
