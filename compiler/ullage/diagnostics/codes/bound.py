"""U4xx: deriving a maximum."""

from __future__ import annotations

from typing import Final

from ullage.diagnostics.entry import Code

CODES: Final = (
    Code(
        "U401",
        "live variable without a bound",
        "A buffer's size must follow from parameters; this live variable has no upper end.",
        "live: {tokens: {range: [1, tokens]}}",
        "Give it a range, or a 'where' that bounds it.",
    ),
    Code(
        "U402",
        "mixed direction",
        "The extent grows and shrinks with this variable, and no rule finds its maximum.",
        "tokens: requests * (cap - requests)",
        "Rewrite the expression so that each variable appears in one direction.",
    ),
    Code(
        "U403",
        "nothing is legal",
        "The constraints contradict each other, or no batch of the mode is ever legal.",
        "range: [1, cap - 1]   # with cap: [1, 1]",
        "Weaken a constraint or guard the mode with 'when'.",
    ),
    Code(
        "U404",
        "definitions in a cycle",
        "Each definition uses the next, and the last uses the first.",
        "definitions: {a: b + 1, b: a + 1}",
        "Break the cycle.",
    ),
    Code(
        "U405",
        "value beyond the list",
        "next_in(x, list) has no answer when x exceeds the list's largest element.",
        "next_in(requests, capture_requests)   # requests is not bounded by it",
        "Let eligibility require x <= max(list).",
    ),
    Code(
        "U406",
        "list may be empty",
        "max and next_in of a list need an element, and the filter may drop all of them.",
        "max([b for b in buckets if b % mul == 0])",
        "State a constraint that keeps one element.",
    ),
    Code(
        "U407",
        "mode without a runner",
        "No runner serves the mode for some legal configuration, so nothing sizes its batches.",
        "mode: idle   # and no runner lists it",
        "Add the mode to a runner, or narrow its 'when'.",
    ),
    Code(
        "U408",
        "extent can be negative",
        "A live batch within its ranges gives an axis or a slot a negative number of rows.",
        "axes: {tokens: requests - 20}",
        "Bound the live variables so that the extent stays at 0 or above, or use max(0, …).",
    ),
)
