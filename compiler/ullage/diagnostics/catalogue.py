"""Every code that a diagnostic may carry.

To add one, append a `Code` to the file of its hundred in `ullage.diagnostics.codes`, with the
next free number. A number is never used again for something else.
"""

from __future__ import annotations

from itertools import chain
from typing import Final

from ullage.diagnostics.codes import (
    audit,
    bound,
    configuration,
    expression,
    layout,
    output,
    proof,
    structure,
    yaml_text,
)
from ullage.diagnostics.entry import Code

__all__ = ["GROUPS", "Code", "all_codes", "code", "group_of"]

GROUPS: Final = {
    1: "YAML text",
    2: "structure of the spec",
    3: "expressions",
    4: "bounds",
    5: "proofs",
    6: "tails, dtypes and memory",
    7: "configurations and batches",
    8: "audits",
    9: "files and output",
}

_ALL: Final = tuple(
    chain(
        yaml_text.CODES,
        structure.CODES,
        expression.CODES,
        bound.CODES,
        proof.CODES,
        layout.CODES,
        configuration.CODES,
        audit.CODES,
        output.CODES,
    )
)
_BY_ID: Final = {entry.id: entry for entry in _ALL}


def all_codes() -> tuple[Code, ...]:
    """Every code, in the order of the ids."""
    return _ALL


def code(identifier: str) -> Code:
    """The entry of a code such as `U203`. Raises KeyError if there is none."""
    return _BY_ID[identifier]


def group_of(identifier: str) -> str:
    """What the codes of the same hundred are about."""
    return GROUPS[int(identifier[1])]
