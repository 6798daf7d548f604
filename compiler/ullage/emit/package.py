"""All files of the package that is generated for one engine."""

from __future__ import annotations

from collections.abc import Mapping

from ullage.analysis import Analysis
from ullage.emit.batch import BatchEmitter
from ullage.emit.capacities import CapacitiesEmitter
from ullage.emit.config import ConfigEmitter
from ullage.emit.engine import EngineEmitter
from ullage.emit.model import EngineModel
from ullage.emit.modules import Module, assembled
from ullage.emit.registry import RegistryEmitter
from ullage.emit.runner import RunnerEmitter


def modules_of(analysis: Analysis) -> list[Module]:
    """The modules, in no particular order, not formatted yet."""
    engine = EngineModel(analysis)
    return [
        ConfigEmitter(engine.spec, engine.domain, analysis.plan, engine.settings).module(),
        BatchEmitter(engine).module(),
        CapacitiesEmitter(engine).module(),
        RegistryEmitter(engine).module(),
        EngineEmitter(engine).module(),
        *(RunnerEmitter(runner).module() for runner in engine.runners),
    ]


def emit(analysis: Analysis, allow_unproven: bool = False) -> Mapping[str, str]:
    header = ("DO NOT EDIT.",)
    return {m.path: assembled(m, header) for m in modules_of(analysis)}
