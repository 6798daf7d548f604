"""U8xx: formulas that stand beside derived capacities."""

from __future__ import annotations

from typing import Final

from ullage.diagnostics.entry import Code

CODES: Final = (
    Code(
        "U801",
        "verdict differs from the expected one",
        "The formula was decided, and the result is not what 'expect' says.",
        "expect: proved   # and a batch overflows",
        "If the formula changed for the better or worse, change 'expect'; else correct it.",
    ),
    Code(
        "U802",
        "audit undecided",
        "The solver reached its effort limit on this formula.",
        "a formula with a quotient of two variables",
        "Split it with 'let', or drop the expectation.",
    ),
    Code(
        "U803",
        "nothing to compare with",
        "The formula names a runner, worker, axis or slot that the spec does not have.",
        "{runner: eagre, axis: requests}",
        "Correct the name.",
    ),
)
