"""Terms of z3 over operands whose sorts are known.

z3's own operators look up and compare the sorts of their operands, which takes several times as
long as to make the term. All operands are of one context.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import z3

# z3 types its functions as taking and giving anything.
_Make = Callable[[Any, int, Any], Any]
_MakeBinary = Callable[[Any, Any, Any], Any]


def plus(left: z3.ArithRef, right: z3.ArithRef) -> z3.ArithRef:
    return z3.ArithRef(_joined(z3.Z3_mk_add, (left, right), left.ctx), left.ctx)


def minus(left: z3.ArithRef, right: z3.ArithRef) -> z3.ArithRef:
    return z3.ArithRef(_joined(z3.Z3_mk_sub, (left, right), left.ctx), left.ctx)


def times(left: z3.ArithRef, right: z3.ArithRef) -> z3.ArithRef:
    return z3.ArithRef(_joined(z3.Z3_mk_mul, (left, right), left.ctx), left.ctx)


def at_most(left: z3.ArithRef, right: z3.ArithRef) -> z3.BoolRef:
    return _compared(z3.Z3_mk_le, left, right)


def at_least(left: z3.ArithRef, right: z3.ArithRef) -> z3.BoolRef:
    return _compared(z3.Z3_mk_ge, left, right)


def below(left: z3.ArithRef, right: z3.ArithRef) -> z3.BoolRef:
    return _compared(z3.Z3_mk_lt, left, right)


def above(left: z3.ArithRef, right: z3.ArithRef) -> z3.BoolRef:
    return _compared(z3.Z3_mk_gt, left, right)


def equal(left: z3.ExprRef, right: z3.ExprRef) -> z3.BoolRef:
    """For operands of one sort."""
    return _compared(z3.Z3_mk_eq, left, right)


def unequal(left: z3.ExprRef, right: z3.ExprRef) -> z3.BoolRef:
    """For operands of one sort."""
    return z3.BoolRef(_joined(z3.Z3_mk_distinct, (left, right), left.ctx), left.ctx)


def negated(operand: z3.BoolRef) -> z3.BoolRef:
    return z3.BoolRef(z3.Z3_mk_not(operand.ctx.ref(), operand.ast), operand.ctx)


def implied(condition: z3.BoolRef, conclusion: z3.BoolRef) -> z3.BoolRef:
    return _compared(z3.Z3_mk_implies, condition, conclusion)


def every(operands: Sequence[z3.BoolRef], context: z3.Context) -> z3.BoolRef:
    return z3.BoolRef(_joined(z3.Z3_mk_and, operands, context), context)


def some(operands: Sequence[z3.BoolRef], context: z3.Context) -> z3.BoolRef:
    return z3.BoolRef(_joined(z3.Z3_mk_or, operands, context), context)


def chosen(condition: z3.BoolRef, then: z3.ArithRef, otherwise: z3.ArithRef) -> z3.ArithRef:
    """`then` where the condition holds."""
    return z3.ArithRef(_choice(condition, then, otherwise), condition.ctx)


def chosen_truth(condition: z3.BoolRef, then: z3.BoolRef, otherwise: z3.BoolRef) -> z3.BoolRef:
    """`then` where the condition holds."""
    return z3.BoolRef(_choice(condition, then, otherwise), condition.ctx)


def _choice(condition: z3.BoolRef, then: z3.ExprRef, otherwise: z3.ExprRef) -> z3.Ast:
    return z3.Z3_mk_ite(condition.ctx.ref(), condition.ast, then.ast, otherwise.ast)


def _compared(make: _MakeBinary, left: z3.ExprRef, right: z3.ExprRef) -> z3.BoolRef:
    return z3.BoolRef(make(left.ctx.ref(), left.ast, right.ast), left.ctx)


def _joined(make: _Make, operands: Sequence[z3.ExprRef], context: z3.Context) -> z3.Ast:
    count = len(operands)
    return make(context.ref(), count, (z3.Ast * count)(*(each.ast for each in operands)))
