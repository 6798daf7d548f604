"""The values of names in a model of z3."""

from __future__ import annotations

from collections.abc import Mapping

import z3


def read_model(model: z3.ModelRef, names: Mapping[str, z3.ExprRef]) -> dict[str, int]:
    """The values of all names in a model; booleans as 0 and 1."""
    return {name: _value(model, term) for name, term in names.items()}


def _value(model: z3.ModelRef, term: z3.ExprRef) -> int:
    """The value of one name, without making a term of it that Python has to hold."""
    context, found = model.ctx.ref(), (z3.Ast * 1)()
    if not z3.Z3_model_eval(context, model.model, term.ast, True, found):
        raise z3.Z3Exception(f"a model has no value for {term}")
    if isinstance(term, z3.BoolRef):
        return int(z3.Z3_get_bool_value(context, found[0]) == z3.Z3_L_TRUE)
    return int(z3.Z3_get_numeral_string(context, found[0]))
