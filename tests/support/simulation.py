"""What a spec means, by brute force: every legal configuration, batch and group of ranks.

Nothing here is shared with the compiler but the meaning of single expressions. Transforms are
run on ranks one after another, collectives on all ranks at once.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from ullage.expr.environment import Environment, EvaluationError, Value
from ullage.expr.evaluate import evaluate, evaluate_boolean, evaluate_integer
from ullage.expr.tree import Expr, Name, Over, free_names, walk
from ullage.expr.tree import transform as rewritten
from ullage.spec.chains import chain
from ullage.spec.check import ResolvedSpec
from ullage.spec.model import Mode, Parameter, PipelineEntry, Runner, Transform
from ullage.spec.peers import are_peers

Values = dict[str, Value]


@dataclass(frozen=True, slots=True)
class Configuration:
    """One legal configuration: what names stand for on each worker that exists."""

    of_worker: Mapping[str, Values]
    expanded: Values


def configurations(resolved: ResolvedSpec) -> Iterator[Configuration]:
    """All legal configurations; parameters have small ranges, lists have short ones."""
    return _Configurations(resolved).all()


@dataclass
class _Configurations:
    resolved: ResolvedSpec

    def all(self) -> Iterator[Configuration]:
        for raw in self._assigned({}, list(self._instances())):
            found = self._configuration(raw)
            if found is not None:
                yield found

    def _instances(self) -> Iterator[tuple[Parameter, str | None]]:
        for parameter in self.resolved.spec.parameters:
            workers = [each.name for each in self.resolved.spec.workers]
            for worker in workers if parameter.per_worker else [None]:
                yield parameter, worker

    def _assigned(
        self, known: dict[tuple[str, str | None], Value], left: list[tuple[Parameter, str | None]]
    ) -> Iterator[dict[tuple[str, str | None], Value]]:
        if not left:
            yield known
            return
        (parameter, worker), rest = left[0], left[1:]
        values = self._values(known, worker)
        exists = worker is None or self._exists(worker, known)
        if not (exists and self._true(parameter.when, values)):
            yield from self._assigned(known, rest)
            return
        for value in self._candidates(parameter, values):
            yield from self._assigned({**known, (parameter.name, worker): value}, rest)

    def _candidates(self, parameter: Parameter, values: Values) -> list[Value]:
        match parameter.type:
            case "bool":
                return [False, True]
            case "enum":
                return list(range(len(parameter.choices)))
        assert parameter.range is not None
        low = evaluate_integer(parameter.range.low, values)
        high = evaluate_integer(parameter.range.high, values)
        if parameter.type == "int":
            return list(range(low, high + 1))
        elements = range(low, high + 1)
        sizes = range(1, len(elements) + 1)
        return [list(each) for size in sizes for each in itertools.combinations(elements, size)]

    def _exists(self, worker: str, known: dict[tuple[str, str | None], Value]) -> bool:
        found = next(each for each in self.resolved.spec.workers if each.name == worker)
        return self._true(found.when, self._values(known, None))

    def _values(self, known: dict[tuple[str, str | None], Value], worker: str | None) -> Values:
        """What is known on one worker: parameters, and the definitions that follow from them."""
        values: Values = {
            name: value for (name, owner), value in known.items() if owner in (None, worker)
        }
        if worker is not None:
            names = [each.name for each in self.resolved.spec.workers]
            values["worker"] = names.index(worker)
        for definition in self.resolved.spec.definitions:
            try:
                if evaluate_boolean(definition.when, values):
                    values[definition.name] = evaluate(definition.value, self._with_upper(values))
            except EvaluationError:
                continue
        return values

    def _with_upper(self, values: Values) -> Environment:
        return with_upper(self.resolved, values)

    def _true(self, condition: Expr, values: Values) -> bool:
        return evaluate_boolean(condition, self._with_upper(values))

    def _configuration(self, raw: dict[tuple[str, str | None], Value]) -> Configuration | None:
        workers = [each for each in self.resolved.spec.workers if self._exists(each.name, raw)]
        of_worker = {each.name: self._values(raw, each.name) for each in workers}
        if not all(self._legal(values) for values in of_worker.values()):
            return None
        expanded: Values = dict(self._values(raw, None))
        for worker, values in of_worker.items():
            for name in self.resolved.worker_dependent & values.keys():
                expanded[f"{name}_{worker}"] = values[name]
        return Configuration(of_worker, expanded)

    def _legal(self, values: Values) -> bool:
        lists_have_elements = all(value != [] for value in values.values())
        varied = all(
            values[each.name] in values[each.varies]  # type: ignore[operator]  # a list
            for each in self.resolved.spec.parameters
            if each.varies is not None and each.name in values and each.varies in values
        )
        return (
            lists_have_elements
            and varied
            and all(
                self._true(each.that, values)
                for each in self.resolved.spec.constraints
                if self._true(each.when, values)
            )
        )


def with_upper(resolved: ResolvedSpec, values: Values) -> Environment:
    """The environment in which `upper` is the largest value that a parameter varies over."""
    upper: dict[str, int] = {}
    for parameter in resolved.spec.parameters:
        if parameter.varies is not None and parameter.name in values:
            elements = values.get(parameter.varies)
            own = values[parameter.name]
            assert isinstance(own, int)
            upper[parameter.name] = max(elements) if isinstance(elements, list) else own
    return Environment(values, upper=upper)


@dataclass(frozen=True, slots=True)
class Batch:
    """One live batch of one mode on one rank."""

    mode: Mode
    serving: Values
    live: Mapping[str, int]
    requests: Mapping[str, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class Rank:
    """One rank in the middle of its pipeline."""

    batch: Batch
    axes: Mapping[str, int]
    done: int = 0
    local: Values = field(default_factory=dict)

    @property
    def environment(self) -> Environment:
        return Environment({**self.batch.serving, **self.axes, **self.local})

    @property
    def kind(self) -> tuple[object, ...]:
        """What the pipeline of a rank depends on, at its start."""
        return (self.batch.mode.name, *self.axes.values(), repr(self.batch.serving))


@dataclass
class Simulation:
    """One worker of one configuration."""

    resolved: ResolvedSpec
    values: Values
    _transforms: dict[str, Transform] = field(init=False)
    _distinct: dict[str, list[Rank]] = field(default_factory=dict, init=False)
    _padded: dict[tuple[object, ...], list[Mapping[str, int]]] = field(
        default_factory=dict, init=False
    )

    def __post_init__(self) -> None:
        self._transforms = {each.name: each for each in self.resolved.spec.transforms}

    def batches(self, mode: Mode) -> list[Batch]:
        """All legal live batches of a mode; requests are interchangeable, so lengths ascend."""
        if not evaluate_boolean(mode.when, with_upper(self.resolved, self.values)):
            return []
        return [
            batch
            for serving in self._servings()
            for batch in self._filled(Batch(mode, serving, {}, {}), 0)
            if all(self._holds(condition, batch) for condition in mode.where)
        ]

    def _servings(self) -> list[Values]:
        """The values while serving: what varies takes on each of its values, definitions follow."""
        varying = [
            (each.name, self.values[each.varies])
            for each in self.resolved.spec.parameters
            if each.varies in self.values and each.name in self.values
        ]
        found: list[Values] = []
        for chosen in itertools.product(*(elements for _, elements in varying)):  # type: ignore[arg-type]  # lists
            serving = self.values | dict(zip((name for name, _ in varying), chosen, strict=True))
            for definition in self.resolved.spec.definitions if varying else ():
                if definition.name in serving:
                    environment = with_upper(self.resolved, serving)
                    serving[definition.name] = evaluate(definition.value, environment)
            found.append(serving)
        return found

    def _filled(self, batch: Batch, place: int) -> Iterator[Batch]:
        if place == len(batch.mode.live):
            yield batch
            return
        variable = batch.mode.live[place]
        environment = self._seen(batch)
        low = evaluate_integer(variable.range.low, environment)
        high = evaluate_integer(variable.range.high, environment)
        every = range(low, high + 1)
        if variable.per is None:
            for value in every:
                live = {**batch.live, variable.name: value}
                more = Batch(batch.mode, batch.serving, live, batch.requests)
                yield from self._filled(more, place + 1)
            return
        count = batch.live[variable.per]
        first = not any(each.per == variable.per for each in batch.mode.live[:place])
        columns = (
            itertools.combinations_with_replacement(every, count)
            if first
            else itertools.product(every, repeat=count)
        )
        for column in columns:
            requests = {**batch.requests, variable.name: column}
            more = Batch(batch.mode, batch.serving, batch.live, requests)
            yield from self._filled(more, place + 1)

    def _seen(self, batch: Batch) -> Environment:
        return with_upper(self.resolved, batch.serving).binding(batch.live)

    def _holds(self, condition: Expr, batch: Batch) -> bool:
        return bool(self.over_requests(condition, self._seen(batch), batch))

    def over_requests(self, node: Expr, environment: Environment, batch: Batch) -> int:
        """The value of an expression with sums over the requests of a batch."""
        outside, sums = _sums_apart(node)
        if sums:
            environment = environment.binding(
                {name: self._sum(operand, environment, batch) for name, operand in sums}
            )
        return int(evaluate(outside, environment))  # type: ignore[arg-type]  # no list

    def _sum(self, operand: Expr, environment: Environment, batch: Batch) -> int:
        names = free_names(operand)
        counted = {each.per for each in batch.mode.live if each.per and each.name in names}
        (per,) = counted
        assert per is not None
        return sum(
            evaluate_integer(
                operand,
                environment.binding(
                    {
                        name: column[index]
                        for name, column in batch.requests.items()
                        if index < len(column)
                    }
                ),
            )
            for index in range(batch.live[per])
        )

    def largest(self, runner: Runner, mode: Mode) -> dict[str, int]:
        """The largest extent of each axis and slot dimension; empty if no batch is legal."""
        found: dict[str, int] = {}
        for own in self.batches(mode):
            for extents in self.outcomes(runner, own):
                for target, extent in extents.items():
                    found[target] = max(extent, found.get(target, extent))
        return found

    def outcomes(self, runner: Runner, own: Batch) -> Iterator[dict[str, int]]:
        """What the batch comes to, for every group of ranks that it can be in."""
        for axes in self._paddings(self._start(own)):
            padded = Rank(own, axes, len(own.mode.pipeline))
            if self._gets(runner, padded):
                yield self._extents(
                    runner, self._through(runner.pipeline_in(own.mode.name), padded)
                )

    def padded_of(self, mode: Mode) -> Iterator[tuple[Mapping[str, int], Mapping[str, int]]]:
        """The axes of every batch of a mode before its pipeline and after it, in every group."""
        for own in self.batches(mode):
            start = self._start(own)
            yield from ((start.axes, after) for after in self._paddings(start))

    def _paddings(self, start: Rank) -> list[Mapping[str, int]]:
        """The axes after the pipeline in all groups, for which no more of a batch counts."""
        key = start.kind
        if key not in self._padded:
            first = self._until_collective(start)
            found = (
                self.padded([first, *others])[0].axes for others in self._groups(start.batch.mode)
            )
            self._padded[key] = list({tuple(each.items()): each for each in found}.values())
        return self._padded[key]

    def _gets(self, runner: Runner, offered: Rank) -> bool:
        """Whether the runner may be the one that takes a batch after the pipeline of its mode."""
        worker = self.resolved.spec.workers[int(self.values["worker"])].name  # type: ignore[arg-type]  # no list
        for each in chain(self.resolved.spec.runners, worker, offered.batch.mode.name):
            takes = self._takes(each, offered)
            if each.name == runner.name:
                return takes
            if takes and each.exclusive:
                return False
        return False

    def _takes(self, runner: Runner, offered: Rank) -> bool:
        """Whether the runner exists, and takes the batch for some answers of the engine."""
        if not evaluate_boolean(runner.when, with_upper(self.resolved, self.values)):
            return False
        if not runner.accepts:
            return True
        start = self._start(offered.batch)
        entries = itertools.takewhile(
            lambda entry: self._transform(entry).in_batch, offered.batch.mode.pipeline
        )
        brought = self._through(tuple(entries), start).axes
        known = {f"live_{axis}": extent for axis, extent in brought.items()} | dict(offered.axes)
        environment = self._seen(offered.batch)
        facts = [fact.name for fact in runner.facts]
        return any(
            all(
                self._meets(each, offered.batch, replace(environment, values=values))
                for each in runner.accepts
            )
            for answers in itertools.product((False, True), repeat=len(facts))
            for values in (
                {**environment.values, **known, **dict(zip(facts, answers, strict=True))},
            )
        )

    def _meets(self, condition: Expr, batch: Batch, environment: Environment) -> bool:
        return bool(self.over_requests(condition, environment, batch))

    def _through(self, entries: tuple[PipelineEntry, ...], rank: Rank) -> Rank:
        """The rank after some transforms that it runs alone."""
        if not entries:
            return Rank(rank.batch, rank.axes)
        alone = replace(rank.batch, mode=replace(rank.batch.mode, pipeline=entries))
        done = self.padded([Rank(alone, rank.axes)])[0]
        return Rank(rank.batch, done.axes, done.done, done.local)

    def _start(self, batch: Batch) -> Rank:
        environment = self._seen(batch)
        return Rank(
            batch,
            {name: self.over_requests(each, environment, batch) for name, each in batch.mode.axes},
        )

    def _groups(self, mode: Mode) -> Iterator[tuple[Rank, ...]]:
        """The other ranks of the group, one of each kind that could make a difference."""
        if not any(self._transform(entry).collective for entry in mode.pipeline):
            yield ()
            return
        count = self.resolved.spec.rank_count
        ranks = 1 if count is None else evaluate_integer(count, self.values)
        yield from itertools.combinations_with_replacement(self._others(mode), ranks - 1)

    def _others(self, mode: Mode) -> list[Rank]:
        """What another rank may bring to its first collective, one of each kind."""
        if mode.name not in self._distinct:
            starts = (self._start(own) for peer in self._peers(mode) for own in self.batches(peer))
            distinct = {rank.kind: rank for rank in starts}
            self._distinct[mode.name] = [self._until_collective(each) for each in distinct.values()]
        return self._distinct[mode.name]

    def _peers(self, mode: Mode) -> list[Mode]:
        """The modes that another rank may be in: its own, those it names and those that name it."""
        return [each for each in self.resolved.spec.modes if each == mode or are_peers(mode, each)]

    def _transform(self, entry: PipelineEntry) -> Transform:
        return self._transforms[entry.transform]

    def _applies(self, entry: PipelineEntry) -> bool:
        return evaluate_boolean(self._transform(entry).when, self.values)

    def padded(self, ranks: list[Rank]) -> list[Rank]:
        """All ranks at the end of their pipelines."""
        while True:
            ranks = [self._until_collective(rank) for rank in ranks]
            if all(rank.done == len(rank.batch.mode.pipeline) for rank in ranks):
                return ranks
            ranks = self._together(ranks)

    def _until_collective(self, rank: Rank) -> Rank:
        for entry in rank.batch.mode.pipeline[rank.done :]:
            if self._applies(entry):
                if self._transform(entry).collective:
                    return rank
                (rank,) = self._step([rank])
            else:
                rank = Rank(rank.batch, rank.axes, rank.done + 1, rank.local)
        return rank

    def _together(self, ranks: list[Rank]) -> list[Rank]:
        assert all(rank.done < len(rank.batch.mode.pipeline) for rank in ranks)
        return self._step(ranks)

    def _step(self, ranks: list[Rank]) -> list[Rank]:
        """One transform on every rank: its local names one after another, then all axes at once."""
        entries = [rank.batch.mode.pipeline[rank.done] for rank in ranks]
        transforms = [self._transform(entry) for entry in entries]
        ranks = [
            Rank(
                rank.batch,
                rank.axes,
                rank.done,
                {
                    name: evaluate_integer(value, rank.environment)
                    for name, value in entry.arguments
                },
            )
            for rank, entry in zip(ranks, entries, strict=True)
        ]
        for place in range(max(len(each.let) for each in transforms)):
            ranks = [
                self._with_let(rank, ranks, transform, place)
                for rank, transform in zip(ranks, transforms, strict=True)
            ]
        return [
            self._assigned(rank, ranks, transform)
            for rank, transform in zip(ranks, transforms, strict=True)
        ]

    def _with_let(self, rank: Rank, ranks: list[Rank], transform: Transform, place: int) -> Rank:
        name, value = transform.let[place]
        found = evaluate(value, _among(rank, ranks))
        return Rank(rank.batch, rank.axes, rank.done, {**rank.local, name: found})

    def _assigned(self, rank: Rank, ranks: list[Rank], transform: Transform) -> Rank:
        environment = _among(rank, ranks)
        new = {name: evaluate_integer(value, environment) for name, value in transform.assigns}
        return Rank(rank.batch, {**rank.axes, **new}, rank.done + 1)

    def _extents(self, runner: Runner, rank: Rank) -> dict[str, int]:
        extents = dict(rank.axes)
        labels = {rank.batch.mode.name, *rank.batch.mode.families}
        environment = Environment({**rank.batch.serving, **rank.batch.live, **rank.axes})
        for slot in self.resolved.spec.slots:
            if slot.name in runner.slots and (not slot.modes or labels & set(slot.modes)):
                for place, dimension in enumerate(slot.shape):
                    value = self.over_requests(dimension, environment, rank.batch)
                    extents[f"{slot.name}.{place}"] = value
        return extents


def _among(rank: Rank, ranks: list[Rank]) -> Environment:
    """What one rank sees, with the others of its group."""
    others = tuple(each.environment for each in ranks if each is not rank)
    return Environment(rank.environment.values, peers=others)


@functools.cache
def _sums_apart(node: Expr) -> tuple[Expr, tuple[tuple[str, Expr], ...]]:
    """The expression over names of its sums, and the operand of each."""
    sums = dict.fromkeys(each for each in walk(node) if isinstance(each, Over))
    names = {each: f"sum {place}" for place, each in enumerate(sums)}
    outside = rewritten(node, lambda each: Name(names[each]) if isinstance(each, Over) else each)
    return outside, tuple((names[each], each.operand) for each in sums)
