"""The module `selection`: for each worker with several runners, which of them takes a batch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from ullage.emit.accepting import Accepting, asked_facts, shared_slots
from ullage.emit.extents import ExtentsWriter
from ullage.emit.legality import LegalityWriter
from ullage.emit.model import Chain, EngineModel, RunnerModel
from ullage.emit.modules import Module
from ullage.emit.names import Names
from ullage.emit.padding import exchanges_of_padding
from ullage.emit.rendering import render
from ullage.emit.scope import Scope, scope_of
from ullage.emit.source_checks import SourceCheck
from ullage.emit.text import comment, docstring, literal, sentence
from ullage.expr.simplify import fold
from ullage.expr.tree import FALSE, TRUE, Expr, disjunction
from ullage.plan.model import PlannedSlot
from ullage.spec.model import Mode, Worker

RESERVED = ("config", "debug", "modes", "select", "self")
"""What the runners of a worker have besides runners and ranks."""


@dataclass(frozen=True, slots=True)
class RunnerView:
    """One runner as an attribute; `exists` is the condition for it, empty where it always holds."""

    attribute: str
    type: str
    arguments: str
    exists: str


@dataclass(frozen=True, slots=True)
class AskView:
    """One runner that may take a batch: how it is asked, and the attribute that it is."""

    place: str
    condition: str
    runner: str


@dataclass(frozen=True, slots=True)
class ModeView:
    """How a runner is chosen in one mode."""

    place: str
    name: str
    member: str
    doc: str
    lines: tuple[str, ...]
    checked: str
    asked: tuple[AskView, ...]
    last: str


@dataclass(frozen=True, slots=True)
class WorkerView:
    """The class of one worker."""

    place: str
    at: str
    name: str
    doc: str
    worker: str
    ranks: tuple[tuple[str, str], ...]
    runners: tuple[RunnerView, ...]
    modes: tuple[ModeView, ...]
    engine: str
    facts: tuple[str, ...]

    @property
    def uses_debug(self) -> bool:
        """Whether something is looked at in debug mode only."""
        return any("self.debug." in line for mode in self.modes for line in mode.lines)

    @property
    def checks_sources(self) -> bool:
        """Whether sources are looked at before a runner is chosen."""
        return any("check_source(" in line for mode in self.modes for line in mode.lines)


@dataclass(frozen=True, slots=True)
class CaseView:
    """Modes in which a runner takes a batch under the same condition."""

    pattern: str
    lines: tuple[str, ...]
    condition: str


@dataclass(frozen=True, slots=True)
class CanRunView:
    """Whether a runner takes a batch: by mode, and with which answers of the engine."""

    engine: str
    cases: tuple[CaseView, ...]

    @property
    def accepts_all(self) -> bool:
        """Whether it takes every batch of its modes."""
        return all(case.condition == "True" for case in self.cases)


def can_run(runner: RunnerModel) -> CanRunView | None:
    """How the runner says which batches it takes; None where there is no other to take them."""
    if not runner.engine.has_choice(runner.planned.worker):
        return None
    grouped: dict[tuple[tuple[str, ...], str], list[str]] = {}
    for mode, _ in runner.modes:
        scope = scope_of(runner, mode)
        accepting = Accepting(scope, "extents.rows", "extents.padded")
        lines = tuple(LegalityWriter(scope).seen(accepting.live()))
        grouped.setdefault((lines, accepting.condition()), []).append(f"Mode.{mode.name.upper()}")
    cases = tuple(
        CaseView(" | ".join(modes), lines, condition)
        for (lines, condition), modes in grouped.items()
    )
    return CanRunView(runner.classes.facts if asked_facts(runner) else "", cases)


@dataclass(frozen=True, slots=True)
class SelectionEmitter:
    """Writes how runners are chosen."""

    engine: EngineModel

    def modules(self) -> Iterator[Module]:
        """The module `selection`, if some worker has a choice."""
        workers = [
            worker for worker in self.engine.spec.workers if self.engine.has_choice(worker.name)
        ]
        if not workers:
            return
        views = [_WorkerWriter(self.engine, worker).view() for worker in workers]
        body = render("selection.py.j2", workers=views)
        about = (sentence(f"Which runner of {self.engine.spec.engine} takes a batch"),)
        yield Module("selection.py", about, body, self._siblings())

    def _siblings(self) -> Mapping[str, str]:
        siblings = {"Arenas": "arenas", "Config": "config", "Extents": "batch"}
        siblings |= dict.fromkeys(("LiveBatch", "Mode", "Offer", "Rows"), "batch")
        siblings |= dict.fromkeys(self.engine.settings.enum_classes, "config")
        for runner in self.engine.runners:
            siblings |= {runner.classes.runner: runner.classes.module, runner.classes.module: ""}
            siblings |= {runner.classes.facts: "engine"}
        return siblings


@dataclass(frozen=True, slots=True)
class SharedChecks:
    """Writes the checks of sources that every runner of a chain would make.

    `scope`: of the last runner, which exists wherever the mode occurs; `last`: how it is written.
    """

    chain: Chain
    scope: Scope
    last: str

    def lines(self) -> Iterator[str]:
        """Statements for the configurations in which other ranks would wait for a refusal."""
        checks = [SourceCheck(self.scope.runner, slot, settled=False) for slot in self._slots]
        lines = [line for check in checks for line in check.lines()]
        values = [line for check in checks for line in check.values()]
        if self.when == FALSE:
            return
        names = [slot.name for slot in self._slots]
        body = ["mode = live.mode.value", f"registry = {self.last}.registry"]
        body += [*ExtentsWriter(self.scope).live_extents(names), *lines]
        if values:
            body += ["if self.debug.values:", *(f"    {line}" for line in values)]
        if self.when == TRUE:
            yield from body
            return
        yield f"if {self._condition}:"
        yield from (f"    {line}" for line in body)

    @property
    def when(self) -> Expr:
        """The configurations in which there is something to check, and another rank waits."""
        if all(each.source is None for each in self._slots):
            return FALSE
        return fold(disjunction(*(each.guard for each in exchanges_of_padding(self.scope))))

    @property
    def checked(self) -> str:
        """Whether sources were checked, as generated code knows it."""
        return str(self.when == TRUE) if self.when in (TRUE, FALSE) else self._condition

    @property
    def _condition(self) -> str:
        return self.scope.runner.engine.settings.source("config").of(self.when)

    @property
    def _slots(self) -> tuple[PlannedSlot, ...]:
        """The slots that all runners load in the mode, as the last one has them."""
        shared = shared_slots(self.chain)
        return tuple(each for each in self.scope.runner.slots if each.name in shared)


class _OfWorker(RunnerModel):
    """A runner as the selection of its worker sees it: with the ranks of all runners."""

    def __init__(self, runner: RunnerModel, groups: tuple[str, ...]) -> None:
        super().__init__(
            runner.engine, runner.planned, runner.problem, runner.runner, runner.classes
        )
        self._groups = groups

    @property
    def collective_groups(self) -> tuple[str, ...]:
        return self._groups


@dataclass(frozen=True)
class _WorkerWriter:
    """Writes the class of one worker."""

    engine: EngineModel
    worker: Worker

    def view(self) -> WorkerView:
        facts = [each.classes.facts for each in self._runners if asked_facts(each)]
        name = self.engine.selection_class(self.worker.name)
        about = f"The runners of worker {self.worker.name}, of which one takes each batch"
        return WorkerView(
            comment(self.worker.place.short),
            literal(self.worker.place.short),
            name,
            docstring((sentence(about),)),
            literal(self.worker.name),
            tuple((self._ranks_name(group), group) for group in self._groups),
            tuple(self._runner(each) for each in self._runners),
            tuple(self._mode(each) for each in self.engine.chains[self.worker.name]),
            facts[0] if len(facts) == 1 else f"{name}Facts" if facts else "",
            tuple(facts) if len(facts) > 1 else (),
        )

    @cached_property
    def _runners(self) -> tuple[RunnerModel, ...]:
        own = (each for each in self.engine.runners if each.planned.worker == self.worker.name)
        return tuple(own)

    @cached_property
    def _groups(self) -> tuple[str, ...]:
        groups = (group for each in self._runners for group in each.collective_groups)
        return tuple(dict.fromkeys(groups))

    def _ranks_name(self, group: str) -> str:
        return "ranks" if len(self._groups) == 1 else f"{group}_ranks"

    @cached_property
    def _with_all_ranks(self) -> Mapping[str, _OfWorker]:
        return {each.planned.name: _OfWorker(each, self._groups) for each in self._runners}

    @cached_property
    def _attributes(self) -> Names:
        reserved = (*RESERVED, *(self._ranks_name(group) for group in self._groups))
        return Names((each.planned.runner for each in self._runners), reserved)

    def _attribute(self, runner: RunnerModel) -> str:
        return self._attributes.of(runner.planned.runner)

    def _scope(self, runner: RunnerModel, mode: Mode) -> Scope:
        return scope_of(self._with_all_ranks[runner.planned.name], mode)

    def _exists(self, runner: RunnerModel) -> str:
        exists = fold(runner.rewrite(runner.runner.when))
        return "" if exists == TRUE else self.engine.settings.source("config").of(exists)

    def _runner(self, runner: RunnerModel) -> RunnerView:
        ranks = (
            f"{runner.ranks_name(group)}={self._ranks_name(group)}"
            for group in runner.collective_groups
        )
        arguments = ", ".join(("config", *ranks, "device=device", "debug=debug", "arenas=arenas"))
        attribute, exists = self._attribute(runner), self._exists(runner)
        return RunnerView(attribute, runner.classes.runner, arguments, exists)

    def _mode(self, chain: Chain) -> ModeView:
        mode, first = chain.mode, chain.runners[0]
        scope = self._scope(first, mode)
        *earlier, last = chain.runners
        ending = f"self.{self._attribute(last)}"
        ending = f"present({ending})" if self._exists(last) else ending
        shared = SharedChecks(chain, self._scope(last, mode), ending)
        return ModeView(
            comment(mode.place.short, 4),
            mode.name,
            mode.name.upper(),
            docstring((sentence(f"The runner of a batch in mode {mode.name}"),), indent=8),
            tuple(ExtentsWriter(scope).offered(first.classes.module, tuple(shared.lines()))),
            shared.checked,
            tuple(self._ask(each) for each in earlier),
            ending,
        )

    def _ask(self, runner: RunnerModel) -> AskView:
        attribute = f"self.{self._attribute(runner)}"
        engine = ", engine" if asked_facts(runner) else ""
        asks = f"{attribute}.can_run(live, extents{engine})"
        condition = f"{attribute} is not None and {asks}" if self._exists(runner) else asks
        return AskView(comment(runner.planned.place.short, 8), condition, attribute)
