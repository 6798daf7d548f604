"""Choosing a runner for each batch, as generated code does it."""

from __future__ import annotations

import inspect
from dataclasses import replace
from types import ModuleType
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from support.generated import generated, package
from ullage_runtime import checks
from ullage_runtime.errors import BatchError, ConfigurationError
from ullage_runtime.ranks import RecordedRanks, Refusal, SingleRank

# Any: the packages exist only once the test has generated them.
Drawn = Any


class Ranks(SingleRank):
    """One of some ranks, of which the largest brings `most` rows; counts exchanges."""

    def __init__(self, count: int = 1, most: int = 0) -> None:
        self.count = count
        self.most = most
        self.exchanges = 0

    def max_of(self, *values: int, collective: str = "") -> tuple[int, ...]:
        self.exchanges += 1
        return tuple(max(value, self.most) for value in values)


class Engine:
    """Answers facts, and gives the rows that it is called with as output."""

    def __init__(self, **answers: bool) -> None:
        self.answers = answers
        self.asked: list[str] = []

    def __getattr__(self, name: str) -> Drawn:
        def answer(batch: Drawn) -> bool:
            self.asked.append(name)
            return self.answers[name]

        if name not in self.answers:
            raise AttributeError(name)
        return answer

    def replay(self, batch: Drawn) -> torch.Tensor:
        return batch.input_ids

    forward = replay


def sluice(module: str = "") -> ModuleType:
    return package("sluice", module)


def weir(module: str = "") -> ModuleType:
    return package("weir", module)


def runners(engine: ModuleType, ranks: Ranks | None = None, **arguments: object) -> Drawn:
    config = engine.Config.of(**arguments)
    return engine.TargetRunners(config, ranks or Ranks(), device="cpu", debug=True)


def decode(engine: ModuleType, rows: int) -> Drawn:
    ids = torch.arange(rows) % 90 + 3
    lengths = torch.arange(rows, dtype=torch.int32) + 5
    return engine.LiveBatch(mode=engine.Mode.DECODE, size=rows, input_ids=ids, seq_lens=lengths)


def extend(engine: ModuleType, rows: int, tokens: int) -> Drawn:
    ids = torch.arange(tokens) % 90 + 3
    lengths = torch.arange(rows, dtype=torch.int32) + 5
    return engine.LiveBatch(mode=engine.Mode.EXTEND, size=rows, input_ids=ids, seq_lens=lengths)


@pytest.mark.parametrize(
    ("rows", "name", "padded"),
    [(1, "graph", 1), (3, "graph", 4), (16, "graph", 16), (17, "eager", 17)],
)
def test_a_runner_gets_what_it_accepts(rows: int, name: str, padded: int) -> None:
    every = runners(sluice())
    live = decode(sluice(), rows)
    runner, offered = every.select(live)
    assert runner is (every.decode_graph if name == "graph" else every.eager)
    assert offered.rows == (rows, rows)
    batch = runner.load(live, pad=offered)
    assert (batch.live_requests, batch.requests, batch.tokens) == (rows, padded, padded)
    assert batch.seq_lens.tolist() == [*live.seq_lens.tolist(), *[1] * (padded - rows)]


def test_a_runner_does_what_its_steps_say_with_the_rows_offered() -> None:
    every = runners(sluice())
    live = decode(sluice(), 3)
    runner, offered = every.select(live)
    assert runner.execute(live, Engine(), pad=offered).tolist() == live.input_ids.tolist()


def test_there_are_only_the_runners_of_the_configuration() -> None:
    every = runners(sluice(), cuda_graph=False)
    assert every.decode_graph is None
    assert every.select(decode(sluice(), 3))[0] is every.eager


def test_a_runner_that_does_not_exist_is_not_made() -> None:
    config = sluice().Config.of(cuda_graph=False)
    with pytest.raises(ConfigurationError, match="runner decode_graph of worker target is broken"):
        sluice().DecodeGraphTargetRunner(config, Ranks(), device="cpu")


@pytest.mark.slow
def test_a_mode_that_another_runner_takes_whole_is_not_served() -> None:
    every = runners(sluice(), max_requests=16)
    live = decode(sluice(), 16)
    assert every.select(live)[0] is every.decode_graph
    assert sluice().Mode.DECODE not in every.eager.modes
    with pytest.raises(BatchError, match="U717"):
        every.eager.load(live)


def test_a_runner_refuses_to_load_what_it_does_not_accept() -> None:
    every = runners(sluice())
    before = every.decode_graph.registry.input_ids.clone()
    with pytest.raises(BatchError, match=r"requests <= max\(captured\)"):
        every.decode_graph.load(decode(sluice(), 17))
    assert torch.equal(every.decode_graph.registry.input_ids, before)


@pytest.mark.parametrize("mode", ["DECODE", "IDLE"])
@pytest.mark.parametrize(("most", "name"), [(16, "decode_graph"), (17, "eager")])
def test_all_ranks_choose_by_what_they_agree_on(mode: str, most: int, name: str) -> None:
    ranks = Ranks(2, most)
    every = runners(sluice(), ranks, dp_size=2)
    live = decode(sluice(), 3)
    if mode == "IDLE":
        live = sluice().LiveBatch(mode=sluice().Mode.IDLE, size=0, input_ids=None, seq_lens=None)
    runner, offered = every.select(live)
    assert runner is getattr(every, name)
    assert offered.rows == (most, most)


@pytest.mark.parametrize("rows", [3, 17])
def test_ranks_meet_once_for_each_batch(rows: int) -> None:
    ranks = Ranks(2, rows)
    every = runners(sluice(), ranks, dp_size=2)
    live = decode(sluice(), rows)
    runner, offered = every.select(live)
    assert ranks.exchanges == 1
    runner.execute(live, Engine(), pad=offered)
    assert ranks.exchanges == 1
    runner.load(live)
    assert ranks.exchanges == 2


@pytest.mark.parametrize("rows", [3, 17])
def test_a_compared_step_runs_with_the_rows_offered(rows: int) -> None:
    ranks = Ranks(2, rows)
    every = runners(sluice(), ranks, dp_size=2)
    live = decode(sluice(), rows)
    runner, offered = every.select(live)
    output = runner.execute_compared(live, Engine(), pad=offered)
    assert output.tolist() == live.input_ids.tolist()
    assert ranks.exchanges == 1
    runner.execute_compared(live, Engine())
    assert ranks.exchanges == 2


# Sources that are wrong where other ranks wait


def test_a_source_that_every_runner_loads_is_refused_before_ranks_agree() -> None:
    ranks = RecordedRanks(0, rounds=[[(3,)], [(3,)]], count=2)
    every = sluice().TargetRunners(sluice().Config.of(dp_size=2), ranks, device="cpu")
    with pytest.raises(BatchError, match="U713"):
        every.select(replace(decode(sluice(), 3), seq_lens=None))
    assert ranks.entered == [("sync_rows", Refusal("U713"))]
    assert every.select(decode(sluice(), 3))[1].rows == (3, 3)


def test_values_of_sources_are_refused_before_ranks_agree_in_debug_mode() -> None:
    ranks = RecordedRanks(0, rounds=[[(3,)]], count=2)
    config = sluice().Config.of(dp_size=2)
    every = sluice().TargetRunners(config, ranks, device="cpu", debug=True)
    with pytest.raises(BatchError, match="input_ids holds 100 at element 2"):
        every.select(replace(decode(sluice(), 3), input_ids=torch.tensor([1, 2, 100])))
    assert ranks.entered == [("sync_rows", Refusal("U712"))]


def test_a_source_that_lies_in_the_buffers_of_the_runner_is_left_to_it() -> None:
    ranks = RecordedRanks(0, rounds=[[(3,)]], count=2)
    every = sluice().TargetRunners(sluice().Config.of(dp_size=2), ranks, device="cpu")
    own = every.decode_graph.registry.seq_lens[:3]
    own.copy_(torch.tensor([5, 6, 7]))
    live = replace(decode(sluice(), 3), seq_lens=own)
    runner, offered = every.select(live)
    assert runner is every.decode_graph
    assert runner.load(live, pad=offered).seq_lens.tolist() == [5, 6, 7, 1]


def test_nothing_is_asked_of_sources_where_nobody_waits() -> None:
    every = runners(sluice())
    live = replace(decode(sluice(), 3), seq_lens=None)
    runner, offered = every.select(live)
    assert not offered.checked
    with pytest.raises(BatchError, match="U713"):
        runner.load(live, pad=offered)


@pytest.mark.parametrize("rows", [3, 17])
def test_sources_are_looked_at_once_for_each_batch(
    rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, bool]] = []
    check = checks.check_source

    def noted(mode: str, slot: str, source: object, **given: Any) -> None:
        asked.append((slot, given.get("known", False)))
        check(mode, slot, source, **given)

    for module in ("selection", "eager_target", "decode_graph_target"):
        monkeypatch.setattr(sluice(module), "check_source", noted)
    every = runners(sluice(), Ranks(2, rows), dp_size=2)
    live = decode(sluice(), rows)
    runner, offered = every.select(live)
    assert asked
    assert offered.checked
    runner.load(live, pad=offered)
    in_full = [slot for slot, known in asked if not known]
    assert sorted(in_full) == sorted(set(in_full)) == sorted(slot for slot, known in asked if known)


def test_what_is_in_the_runners_own_buffers_is_refused_after_the_choice() -> None:
    every = runners(sluice(), Ranks(2, 3), dp_size=2)
    shifted = every.decode_graph.registry.seq_lens[1:4].fill_(7)
    live = replace(decode(sluice(), 3), seq_lens=shifted)
    runner, offered = every.select(live)
    with pytest.raises(BatchError, match="U718"):
        runner.load(live, pad=offered)


def test_an_offer_is_for_its_own_batch_only() -> None:
    every = runners(sluice(), Ranks(2, 3), dp_size=2)
    runner, offered = every.select(decode(sluice(), 3))
    before = runner.registry.input_ids.clone()
    for other in (decode(sluice(), 3), replace(decode(sluice(), 3), seq_lens=None)):
        with pytest.raises(BatchError, match="pad holds rows that were offered for another"):
            runner.load(other, pad=offered)
    assert torch.equal(runner.registry.input_ids, before)


@pytest.mark.parametrize("mode", ["decode", 0, None, ("decode",)])
def test_what_is_no_mode_has_no_runner(mode: object) -> None:
    live = replace(decode(sluice(), 3), mode=mode)
    every = runners(sluice())
    for refuse in (every.select, every.eager.load, every.decode_graph.load):
        with pytest.raises(BatchError, match="takes a member of Mode"):
            refuse(live)


def test_a_batch_that_is_not_legal_has_no_runner() -> None:
    every = runners(sluice(), max_requests=24)
    with pytest.raises(BatchError, match="U712"):
        every.select(decode(sluice(), 25))
    idle = sluice().LiveBatch(mode=sluice().Mode.IDLE, size=0, input_ids=None, seq_lens=None)
    with pytest.raises(BatchError, match="U717"):
        every.select(idle)


@given(st.data())
@pytest.mark.slow
def test_every_legal_batch_is_loaded_by_the_runner_that_takes_it(data: st.DataObject) -> None:
    strategies = sluice("strategies")
    config = data.draw(strategies.configs(span=6))
    others = data.draw(st.integers(0, config.max_requests)) if config.dp_size > 1 else 0
    ranks = Ranks(config.dp_size, others)
    every = sluice().TargetRunners(config, ranks, device="cpu", debug=True)
    mode = data.draw(st.sampled_from(every.modes))
    serving = next(r for r in (every.eager, every.decode_graph) if r and mode in r.modes)
    batches = (
        strategies.eager_target_batches
        if serving is every.eager
        else strategies.decode_graph_target_batches
    )
    live = data.draw(batches(config, mode))
    runner, offered = every.select(live)
    batch = runner.load(live, pad=offered)
    captured = config.captured
    if runner is every.decode_graph:
        assert batch.requests == min(each for each in captured if each >= offered.rows.requests)
    elif mode != sluice().Mode.EXTEND and captured is not None:
        assert offered.rows.requests > max(captured)


def test_a_configuration_without_any_bucket_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="captured has an element is broken"):
        sluice().Config.of(sizes=(3, 5), row_multiple=2)


# What the engine is asked


@pytest.mark.slow
def test_the_engine_is_asked_where_its_answer_matters() -> None:
    every = runners(weir())
    engine = Engine(embeds=False, calm=True)
    assert every.select(decode(weir(), 3), engine)[0] is every.decode_graph
    assert engine.asked == ["embeds"]
    engine = Engine(embeds=False, calm=True)
    assert every.select(extend(weir(), 2, 7), engine)[0] is every.prompt_graph
    assert engine.asked == ["embeds"]


@pytest.mark.parametrize(
    ("answers", "tokens", "name"),
    [
        ({"embeds": True, "calm": True}, 7, "eager"),
        ({"embeds": False, "calm": False}, 16, "prompt_graph"),
        ({"embeds": False, "calm": False}, 17, "eager"),
        ({"embeds": False, "calm": True}, 17, "prompt_graph"),
        ({"embeds": False, "calm": True}, 24, "prompt_graph"),
        ({"embeds": False, "calm": True}, 25, "eager"),
    ],
)
def test_answers_decide(answers: dict[str, bool], tokens: int, name: str) -> None:
    every = runners(weir())
    live = extend(weir(), 2, tokens)
    runner, offered = every.select(live, Engine(**answers))
    assert runner is getattr(every, name)
    assert runner.load(live, pad=offered).tokens == tokens + (-tokens % 4 if name != "eager" else 0)


def test_what_one_runner_refuses_the_next_is_offered() -> None:
    every = runners(weir())
    live = decode(weir(), 17)
    assert every.select(live, Engine(embeds=False, calm=True))[0] is every.prompt_graph
    assert every.select(live, Engine(embeds=False, calm=False))[0] is every.eager


def test_a_batch_that_only_one_runner_takes_asks_the_engine_nothing() -> None:
    every = runners(weir())
    live = replace(decode(weir(), 16), mode=weir().Mode.CAPTURE)
    engine = Engine(embeds=True, calm=False)
    assert every.select(live, engine)[0] is every.decode_graph
    assert engine.asked == []


def test_a_fact_is_asked_by_the_protocol_of_its_runner() -> None:
    facts = weir("engine").PromptGraphTargetFacts
    assert {name for name in vars(facts) if not name.startswith("_")} == {"embeds", "calm"}
    assert "LiveBatch" in str(inspect.signature(facts.calm))


# Where there is nothing to choose


@pytest.mark.parametrize("engine", ["tank", "barrel"])
@pytest.mark.slow
def test_runners_without_an_alternative_need_no_selection(engine: str) -> None:
    files = generated(engine)[1]
    assert "selection.py" not in files
    assert not any("can_run" in text for text in files.values())
