"""A z3 solver for many questions, most of whose conditions are those of the question before.

What it was told stays as long as the next question has it too; what goes takes all with it that was
told later. Each condition has a literal, so that a refusal names the conditions that it needed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import z3

from ullage.expr.tree import Expr
from ullage.prove.terms import implied

# What costs more than it finds where questions are easy; hard ones are put to another solver, anew.
_WITHOUT: Mapping[str, bool] = {
    "arith.nl.grobner": False,
    "arith.nl.horner": False,
    "arith.nl.propagate_linear_monomials": False,
    "arith.enable_hnf": False,
}


@dataclass(frozen=True, slots=True)
class Translated:
    """What z3 is told of one condition: itself, what holds anyway, and the terms of its names.

    `axioms` are by z3's own numbers.
    """

    term: z3.BoolRef
    axioms: Mapping[int, z3.BoolRef]
    names: Mapping[str, z3.ExprRef]


@dataclass(frozen=True, slots=True)
class _Told:
    """One condition that the solver has been told, and the axioms that were new with it."""

    condition: Expr
    axioms: frozenset[int]


@dataclass(frozen=True, slots=True)
class _Labelled:
    """A literal, and the term that holds where the literal does."""

    literal: z3.BoolRef
    implied: z3.BoolRef


class StandingSolver:
    """Whether conditions can hold together, in one context of z3."""

    def __init__(self, context: z3.Context) -> None:
        self._context = context
        self._solver = z3.SimpleSolver(context)
        self._solver.set(**_WITHOUT)
        self._effort = 0
        self._told: list[_Told] = []
        self._axioms: set[int] = set()
        self._labelled: dict[Expr, _Labelled] = {}
        self._conditions: dict[int, Expr] = {}

    def check(self, conditions: Mapping[Expr, Translated], effort: int) -> z3.CheckSatResult:
        """z3's answer within so many of its steps; conditions that others share come first."""
        if effort != self._effort:
            self._solver.set("rlimit", effort)
            self._effort = effort
        self._forget_all_but(conditions)
        told = {each.condition for each in self._told}
        for condition, translated in conditions.items():
            if condition not in told:
                self._tell(condition, translated)
        return check(self._solver, [self._labelled[each].literal for each in conditions])

    def needed(self) -> frozenset[Expr]:
        """Conditions that cannot hold together, of those that were refused last."""
        context, core = self._context.ref(), self._solver.unsat_core()
        terms = (z3.Z3_ast_vector_get(context, core.vector, i) for i in range(len(core)))
        return frozenset(self._conditions[z3.Z3_get_ast_id(context, each)] for each in terms)

    def model(self) -> z3.ModelRef:
        """The values for which the conditions of the last question hold."""
        return self._solver.model()

    def _forget_all_but(self, conditions: Mapping[Expr, Translated]) -> None:
        """Keep what was told before the first condition that the question does not have."""
        gone = (i for i, each in enumerate(self._told) if each.condition not in conditions)
        kept = next(gone, len(self._told))
        if kept < len(self._told):
            self._solver.pop(len(self._told) - kept)
            for each in self._told[kept:]:
                self._axioms -= each.axioms
            del self._told[kept:]

    def _tell(self, condition: Expr, translated: Translated) -> None:
        self._solver.push()
        tell(self._solver, self._with_literal(condition, translated.term).implied)
        new = translated.axioms.keys() - self._axioms
        for each in sorted(new):
            tell(self._solver, translated.axioms[each])
        self._axioms |= new
        self._told.append(_Told(condition, frozenset(new)))

    def _with_literal(self, condition: Expr, term: z3.BoolRef) -> _Labelled:
        if condition not in self._labelled:
            literal = z3.FreshBool(ctx=self._context)
            self._labelled[condition] = _Labelled(literal, implied(literal, term))
            self._conditions[literal.get_id()] = condition
        return self._labelled[condition]


def check(solver: z3.Solver, literals: Sequence[z3.BoolRef]) -> z3.CheckSatResult:
    """z3's answer where the literals hold; as with `tell`, their sorts are not looked up."""
    terms = (z3.Ast * len(literals))(*(each.as_ast() for each in literals))
    context = solver.ctx.ref()
    return z3.CheckSatResult(
        z3.Z3_solver_check_assumptions(context, solver.solver, len(terms), terms)
    )


def tell(solver: z3.Solver, term: z3.BoolRef) -> None:
    """Assert one term; `add` would look up the sort of each, at some cost."""
    z3.Z3_solver_assert(solver.ctx.ref(), solver.solver, term.as_ast())
