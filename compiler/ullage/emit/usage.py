"""How an engine uses a generated package, as the package's documentation shows it."""

from __future__ import annotations

from collections.abc import Iterator

from ullage.emit.accepting import asked_facts
from ullage.emit.model import EngineModel, RunnerModel


def usage_of(engine: EngineModel) -> Iterator[str]:
    """Lines for the package's docstring; none where there is no runner."""
    if not engine.runners:
        return
    runner = engine.runners[0]
    worker = runner.planned.worker
    yield f"How an engine uses them, for worker {worker}:"
    yield ""
    yield from (f"    {line}".rstrip() for line in _code(engine, runner))
    yield ""
    yield f"`engine` has the methods of `{runner.classes.engine}`, which the engine implements."
    if _groups(engine, worker):
        groups = " and ".join(_groups(engine, worker))
        yield f"Several ranks of group {groups} are `DistributedRanks` in place of `SingleRank`."
    yield "A refused batch raises a UllageRuntimeError with a code, and nothing is written."
    yield "help(Config) and help(LiveBatch) say what each argument is, and which modes need it."
    yield "The module `strategies` draws legal configurations and batches for property tests."
    others = [each for each in engine.runners if each.planned.worker != worker]
    if others:
        yield f"Other workers: {', '.join(_made_by(engine, others))}."


def _code(engine: EngineModel, runner: RunnerModel) -> Iterator[str]:
    worker = runner.planned.worker
    groups = _groups(engine, worker)
    ranks = "".join(", SingleRank()" for _ in groups)
    given = f'config{ranks}, device="cuda", arenas=arenas'
    mode = next((mode.name.upper() for mode, _ in runner.modes), "")
    if groups:
        yield "from ullage_runtime.ranks import SingleRank"
        yield ""
    yield "config = Config.of()  # with the engine's arguments"
    yield 'arenas = Arenas.allocate(config, device="cuda")  # once for all runners of a process'
    if engine.has_choice(worker):
        yield f"runners = {engine.selection_class(worker)}({given})"
    else:
        yield f"runner = {runner.classes.runner}({given})"
    yield f"live = LiveBatch(mode=Mode.{mode})  # with the fields that its mode needs"
    pad = ""
    if engine.has_choice(worker):
        own = (each for each in engine.runners if each.planned.worker == worker)
        asks = ", engine" if any(asked_facts(each) for each in own) else ""
        yield f"runner, offer = runners.select(live{asks})"
        pad = ", pad=offer"
    yield f"batch = runner.load(live{pad})  # views of the static buffers, padded"
    yield f"output = runner.execute(live, engine{pad})  # or all declared steps, load among them"


def _groups(engine: EngineModel, worker: str) -> tuple[str, ...]:
    own = (each for each in engine.runners if each.planned.worker == worker)
    return tuple(dict.fromkeys(group for each in own for group in each.collective_groups))


def _made_by(engine: EngineModel, runners: list[RunnerModel]) -> Iterator[str]:
    """Each worker with the class that serves it."""
    for worker in dict.fromkeys(each.planned.worker for each in runners):
        first = next(each for each in runners if each.planned.worker == worker)
        chosen = engine.has_choice(worker)
        yield f"{worker} ({engine.selection_class(worker) if chosen else first.classes.runner})"
