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
        "No rule finds the maximum: the extent grows and shrinks with this variable, a sum over "
        "requests has a product of what they bring, or no bound can be read off a 'where'.",
        "tokens: requests * (cap - requests)",
        "Rewrite the expression so that each variable appears in one direction, and by itself.",
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
        "list without a fitting element",
        "next_in(x, list) has no answer when x exceeds the list's largest element, nor have max, "
        "min and next_in when a filter may leave nothing of the list.",
        "next_in(requests, capture_requests)   # requests is not bounded by it",
        "Let eligibility require x <= max(list); give a list that may be empty a name: validate "
        "refuses the configurations in which a named list is empty.",
    ),
    Code(
        "U408",
        "extent can be negative",
        "A live batch within its ranges gives an axis or a slot a negative number of rows, or a "
        "rank brings less than nothing to a sum or maximum over ranks.",
        "axes: {tokens: requests - 20}",
        "Bound the live variables so that the extent stays at 0 or above, or use max(0, …).",
    ),
    Code(
        "U409",
        "nothing to prove",
        "The constraints exclude each other, or a mode has no batch in any configuration: whatever "
        "is claimed of nothing would be proved.",
        "constraints: [{that: tp_size > 1, …}, {that: tp_size == 1, …}]",
        "Correct the constraint, the 'when' of the mode, or the range that leaves nothing.",
    ),
    Code(
        "U410",
        "no rank",
        "The number of ranks that a collective joins counts the own one, so that it is at least 1.",
        "ranks: dp_size - 1",
        "Count the own rank, or raise the lower end of the range that the number follows from.",
    ),
    Code(
        "U411",
        "fewer rows than a batch brings",
        "What a pipeline does to a batch is padding: along each axis it ends with at least the "
        "rows that the sources hold, for load has to put them somewhere.",
        "shard: {tokens: tokens // tp_size * tp_size}",
        "Round up, refuse such batches by 'where' or 'accepts', or count the part by an axis of "
        "its own, with 'begins_as'.",
    ),
    Code(
        "U412",
        "rows that padding may lose",
        "It is neither proved that a pipeline keeps the rows of every batch, nor was a round found "
        "in which it does not. Load refuses a batch of which it would lose some.",
        "tokens: min_share if sum_ranks(tokens) > limit else tokens",
        "Write it so that each arm keeps the rows: max(tokens, …).",
    ),
)
