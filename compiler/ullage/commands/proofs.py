"""Diagnostics for capacities that may not be used without reservation."""

from __future__ import annotations

from ullage.analysis import Analysis
from ullage.bound.problem import RunnerProblem
from ullage.diagnostics.diagnostic import Diagnostic
from ullage.prove.proof import Proof


def unproven(analysis: Analysis) -> tuple[Diagnostic, ...]:
    """An error for each capacity that is not proved, with what the proof lacks."""
    runners = {runner.name: runner for runner in analysis.problem.runners}
    proofs = analysis.certificate.unproven
    return tuple(_diagnostic(runners[proof.runner], proof) for proof in proofs)


def _diagnostic(runner: RunnerProblem, proof: Proof) -> Diagnostic:
    lacking = " and ".join(
        word for word, holds in (("sound", proof.sound), ("tight", proof.tight)) if not holds
    )
    lines = [f"{proof.runner}.{proof.target} is not proved to be {lacking}", *proof.flaws]
    hint = f"'ullage explain SPECS {proof.runner}.{proof.target}' shows the derivation"
    return Diagnostic("U503", "\n".join(lines), runner.place, hint)
