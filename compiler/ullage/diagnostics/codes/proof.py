"""U5xx: proving a capacity."""

from __future__ import annotations

from typing import Final

from ullage.diagnostics.entry import Code

CODES: Final = (
    Code(
        "U501",
        "capacity too small",
        "A legal configuration has a legal batch that exceeds the capacity; the message shows "
        "the smallest one found.",
        "capacity max_running_requests, extent max_running_requests * topk",
        "Correct the formula, or the spec if the batch should not be legal.",
    ),
    Code(
        "U502",
        "capacity not attained",
        "For some legal configuration no legal batch needs the whole capacity.",
        "align_up(cap, 8) where batches stop at cap",
        "Tighten the spec, or state 'slack' with the reason.",
    ),
    Code(
        "U503",
        "not proved",
        "The solver reached its effort limit. Nothing is known to be wrong.",
        "a product of four variables under a modulus",
        "Split the expression into definitions, or pass --allow-unproven.",
    ),
    Code(
        "U504",
        "derivation rejected",
        "The checker could not replay a step of the derivation.",
        "a rule applied outside of its premises",
        "This is a fault of the compiler: report it together with the spec.",
    ),
    Code(
        "U505",
        "obligation fails",
        "A fact that the derivation rests on does not follow from the constraints.",
        "attn_tp_size >= 1 without a constraint on tp_size",
        "Add the constraint that makes it true.",
    ),
)
