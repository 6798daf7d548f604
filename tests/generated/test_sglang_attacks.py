"""Sources and numbers that nobody should pass: refused before any write, or loaded as they are."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace

import numpy
import pytest
import torch
from torch import Tensor

from support.sglang_engine import Peers, Recorder, decode_batch, two_ranks
from ullage_generated.sglang import (
    Arenas,
    Config,
    EagerDraftRunner,
    EagerTargetBatch,
    EagerTargetCapacities,
    EagerTargetRegistry,
    EagerTargetRunner,
    LiveBatch,
    Mode,
    SpeculativeAlgorithm,
)
from ullage_runtime.errors import (
    BatchError,
    ConfigurationError,
    OutputError,
    UllageRuntimeError,
)
from ullage_runtime.ranks import Gathered, RecordedRanks, Refusal, SingleRank
from ullage_runtime.views import CacheStatistics, RecentlyUsed, SlotViews

CONFIG = Config.of(max_running_requests=6, max_total_tokens_target=64, chunked_prefill_size=16)


def runner(*, debug: bool = True) -> EagerTargetRunner:
    return EagerTargetRunner(CONFIG, SingleRank(), device="cpu", debug=debug)


def padded_runner(rows: int, *, debug: bool = True) -> EagerTargetRunner:
    return EagerTargetRunner(two_ranks(), Peers(rows), device="cpu", debug=debug)


def bytes_of(served: EagerTargetRunner) -> list[Tensor]:
    return [arena.storage.clone() for arena in served.registry.arenas]


def refusal_of(served: EagerTargetRunner, live: LiveBatch) -> UllageRuntimeError:
    """The error of a load that has to be refused without a trace."""
    before = bytes_of(served)
    with pytest.raises(UllageRuntimeError) as caught:
        served.load(live)
    assert all(map(torch.equal, before, bytes_of(served)))
    return caught.value


Wrong = dict[str, object]
TENSORS: dict[str, tuple[object, str, str]] = {
    "a list": ([12, 13, 14], "U714", "of type list, but accepts a torch.Tensor"),
    "a number": (3, "U714", "of type int, but accepts a torch.Tensor"),
    "an array": (numpy.arange(3), "U714", "of type numpy.ndarray, but accepts a torch.Tensor"),
    "floats": (torch.ones(3), "U714", "of torch.float32, but accepts torch.int64 or torch.int32"),
    "truth values": (torch.ones(3, dtype=torch.bool), "U714", "of torch.bool"),
    "sparse": (torch.arange(3).to_sparse(), "U714", "accepts dense tensors only"),
    "no dimension": (torch.tensor(3), "U716", "of shape (), but the batch implies (3,)"),
    "a column": (torch.ones(3, 1, dtype=torch.int64), "U716", "of shape (3, 1)"),
    "no rows": (torch.ones(0, dtype=torch.int64), "U716", "of shape (0,)"),
    "on meta": (torch.ones(3, dtype=torch.int64, device="meta"), "U715", "on meta"),
}


@pytest.mark.parametrize("field", ["seq_lens", "input_ids", "seq_lens_cpu"])
@pytest.mark.parametrize("name", TENSORS)
def test_what_is_no_source_is_refused_with_what_would_be(name: str, field: str) -> None:
    source, code, expected = TENSORS[name]
    live = replace(decode_batch(3), **{field: source})  # type: ignore[arg-type]  # on purpose
    error = refusal_of(runner(debug=False), live)
    assert error.code == code
    assert field in str(error)
    if field == "seq_lens":
        assert expected in str(error)


@pytest.mark.parametrize("value", [None, "3", 3.0, True, torch.tensor(3)])
def test_a_number_is_a_whole_one(value: object) -> None:
    live = replace(decode_batch(3), batch_size=value)  # type: ignore[arg-type]  # on purpose
    error = refusal_of(runner(debug=False), live)
    assert error.code == "U712"
    assert "must be a whole number" in str(error)


def test_a_number_of_numpy_is_one_too() -> None:
    live = replace(decode_batch(3), batch_size=numpy.int64(3))
    batch = runner().load(live)
    assert (batch.live_requests, type(batch.live_requests)) == (3, int)


@pytest.mark.parametrize("source", [[1, 2, 3], torch.tensor(3)])
def test_a_source_that_rows_are_seen_in_is_a_tensor_with_rows(source: object) -> None:
    live = LiveBatch(mode=Mode.EXTEND, batch_size=2, input_ids=source)  # type: ignore[arg-type]
    error = refusal_of(runner(debug=False), live)
    assert error.code in ("U714", "U716")
    assert "tokens" in str(error)


@pytest.mark.parametrize(
    ("mode", "expected"),
    [("decode", "such as Mode.DECODE"), (0, "of type int"), (None, "of type NoneType")],
)
def test_a_mode_is_a_member_of_its_enum(mode: object, expected: str) -> None:
    live = replace(decode_batch(3), mode=mode)  # type: ignore[arg-type]  # on purpose
    error = refusal_of(runner(), live)
    assert error.code == "U717"
    assert expected in str(error)
    assert Mode("decode") is Mode.DECODE


def test_other_ranks_hear_of_what_is_no_source() -> None:
    ranks = RecordedRanks(0, rounds=[[(4, 4, 4)], [(4, 4, 4)], [(4, 4, 4)]], count=2)
    served = EagerTargetRunner(two_ranks(), ranks, device="cpu")
    wrong: tuple[Wrong, ...] = ({"seq_lens": [1, 2, 3]}, {"batch_size": "3"})
    for fields in wrong:
        refusal_of(served, replace(decode_batch(3), **fields))  # type: ignore[arg-type]
    assert [entered for _, entered in ranks.entered] == [Refusal("U714"), Refusal("U712")]
    assert served.load(decode_batch(3)).requests == 4


@pytest.mark.parametrize("ranks", [None, 2])
def test_ranks_are_needed_where_counts_are_exchanged(ranks: object) -> None:
    with pytest.raises(ConfigurationError, match="must be the ranks of group dp") as caught:
        EagerTargetRunner(two_ranks(), ranks, device="cpu")  # type: ignore[arg-type]
    assert caught.value.code == "U701"


def test_a_rank_that_agrees_on_less_than_it_has_is_refused() -> None:
    class Forgetful(Peers):
        def gather(self, *values: int, collective: str = "") -> Gathered:
            return tuple((2,) * len(values) for _ in range(self.count))

    served = EagerTargetRunner(two_ranks(), Forgetful(2), device="cpu")
    assert "requests after padding is 2, but 3 are live" in str(refusal_of(served, decode_batch(3)))


# Where the sources lie


def source_in(arena: str, slot: str, rows: slice) -> Callable[[EagerTargetRunner], Tensor]:
    def take(served: EagerTargetRunner) -> Tensor:
        tensor: Tensor = getattr(served.registry, slot)[rows]
        return tensor

    take.__name__ = f"{slot} of the {arena}"
    return take


@pytest.mark.parametrize("field", ["seq_lens", "seq_lens_cpu", "positions"])
@pytest.mark.parametrize(
    "take",
    [
        source_in("compute arena", "req_pool_indices", slice(0, 3)),
        source_in("host arena", "seq_lens_cpu", slice(1, 4)),
        source_in("compute arena", "seq_lens", slice(2, 5)),
    ],
)
def test_a_source_in_either_arena_is_refused_unless_it_is_in_place(
    field: str, take: Callable[[EagerTargetRunner], Tensor]
) -> None:
    served = runner(debug=False)
    served.load(decode_batch(6))
    error = refusal_of(served, replace(decode_batch(3), **{field: take(served)}))
    assert error.code == "U718"


def test_a_host_source_that_is_the_device_slot_of_the_same_load_is_refused() -> None:
    served = runner(debug=False)
    kept = served.load(decode_batch(3)).seq_lens
    live = replace(decode_batch(3), seq_lens=torch.tensor([7, 8, 9]), seq_lens_cpu=kept)
    assert refusal_of(served, live).code == "U718"


def test_sources_may_be_strided_expanded_overlapping_or_read_only() -> None:
    wide = torch.arange(1, 40)
    array = numpy.arange(31, 34)
    array.flags.writeable = False
    live = replace(
        decode_batch(3),
        input_ids=wide[2:11:3],
        positions=torch.tensor(4).expand(3),
        seq_lens=wide[5:8],
        req_pool_indices=torch.tensor([3, 1, 2], dtype=torch.int32),
        out_cache_loc=wide[6:9],
        mrope_positions=wide[:9].view(3, 3).t(),
    )
    served = padded_runner(5)
    batch = served.load(live)
    assert wide.tolist() == list(range(1, 40))
    assert contents(batch) == {
        "input_ids": [3, 6, 9, *batch.input_ids[3:].tolist()],  # type: ignore[index]
        "positions": [4, 4, 4, 0, 0],
        "seq_lens": [6, 7, 8, 1, 1],
        "req_pool_indices": [3, 1, 2, 0, 0],
        "out_cache_loc": [7, 8, 9, 0, 0],
        "mrope_positions": [[1, 4, 7, 0, 0], [2, 5, 8, 0, 0], [3, 6, 9, 0, 0]],
    }
    served.registry.regions.check_canaries()


def contents(batch: EagerTargetBatch) -> dict[str, object]:
    names = ("input_ids", "positions", "seq_lens", "req_pool_indices", "out_cache_loc")
    found = {name: getattr(batch, name) for name in (*names, "mrope_positions")}
    return {name: tensor.tolist() for name, tensor in found.items() if tensor is not None}


def test_a_batch_that_was_loaded_may_be_loaded_again_and_grow_into_its_padding() -> None:
    served = padded_runner(5)
    first = served.load(decode_batch(3))
    sources = {name: getattr(first, name) for name in ("positions", "seq_lens")}
    rest = replace(decode_batch(5), **sources)
    again = served.load(rest)
    assert again.seq_lens is not None
    assert again.seq_lens.tolist() == [12, 13, 14, 1, 1]


def test_debug_mode_refuses_a_live_row_that_names_the_slot_of_padding() -> None:
    error = refusal_of(runner(), replace(decode_batch(3), out_cache_loc=torch.tensor([4, 0, 6])))
    assert (error.code, "out_cache_loc holds 0 at element 1" in str(error)) == ("U712", True)


# Order of loads


def test_more_shapes_than_the_cache_holds_change_nothing() -> None:
    served = padded_runner(1, debug=False)
    served.plans.recipes.views = SlotViews(24)
    served.plans.kept = RecentlyUsed(2)
    for rows in (1, 6, 6, 2, 5, 3, 4, 6, 1, 2, 2):
        live = decode_batch(rows)
        assert contents(served.load(live)) == contents(padded_runner(1).load(live))
    assert len(served.plans.recipes.views) <= 24
    assert served.plans.kept.statistics == CacheStatistics(2, 18, 7, 2)


def test_a_step_that_fails_leaves_the_runner_as_good_as_new() -> None:
    class Failing(Recorder):
        def forward(self, batch: EagerTargetBatch, inputs: str, /) -> Tensor:
            raise ZeroDivisionError

    served = padded_runner(5)
    with pytest.raises(ZeroDivisionError):
        served.execute(decode_batch(6), Failing())
    for rows in (2, 4):
        assert served.execute(decode_batch(rows), Recorder()).shape == (rows,)
        assert contents(served.load(decode_batch(rows))) == contents(
            padded_runner(5).load(decode_batch(rows))
        )


@pytest.mark.parametrize("rows", [4, 2])
def test_a_forward_that_gives_other_rows_than_its_batch_has_is_refused(rows: int) -> None:
    class Short(Recorder):
        def forward(self, batch: EagerTargetBatch, inputs: str, /) -> Tensor:
            return torch.ones(rows, 7)

    for served in (padded_runner(5), runner()):
        with pytest.raises(OutputError, match="U736: Mode 'decode': the output has the shape"):
            served.execute(decode_batch(3), Short())
        assert served.load(decode_batch(3)).live_requests == 3


def test_runners_of_two_threads_do_not_disturb_each_other() -> None:
    found: list[bool] = []

    def work(rows: int) -> None:
        served = padded_runner(5)
        expected = contents(padded_runner(5).load(decode_batch(rows)))
        found.append(all(contents(served.load(decode_batch(rows))) == expected for _ in range(30)))

    threads = [threading.Thread(target=work, args=(rows,)) for rows in (2, 3, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * 3


def test_a_load_works_in_inference_mode_and_outside_of_it_by_turns() -> None:
    served = padded_runner(5)
    for inside in (True, False, True):
        with torch.inference_mode(inside):
            live = decode_batch(3)
            assert served.load(live).live_requests == 3


# What a runner is made of


def test_a_registry_has_no_less_than_its_configuration_needs() -> None:
    small = EagerTargetCapacities(4, 4, 4)
    with pytest.raises(ValueError, match="requests is 4, not 6"):
        EagerTargetRegistry.allocate(CONFIG, small, device="cpu")
    large = EagerTargetCapacities(9, 64, 6)
    assert EagerTargetRegistry.allocate(CONFIG, large, device="cpu").seq_lens.shape == (9,)


def test_a_registry_needs_a_legal_configuration() -> None:
    illegal = replace(CONFIG, tp_size=0)
    with pytest.raises(ConfigurationError, match="tp_size is 0"):
        EagerTargetRegistry.allocate(illegal, EagerTargetCapacities(6, 64, 6), device="cpu")


def test_arenas_are_for_one_configuration() -> None:
    eagle = Config.of(speculative_algorithm=SpeculativeAlgorithm.EAGLE)
    without_draft = Arenas.allocate(Config.of(), device="cpu")
    with pytest.raises(ValueError, match=r"another configuration: .*speculative_algorithm is none"):
        EagerDraftRunner(eagle, SingleRank(), device="cpu", arenas=without_draft)
    same_shapes = Config.of(page_size=4)
    with pytest.raises(ValueError, match="another configuration: page_size is 1, not 4"):
        EagerTargetRunner(same_shapes, SingleRank(), device="cpu", arenas=without_draft)
    served = EagerTargetRunner(Config.of(), SingleRank(), device="cpu", arenas=without_draft)
    assert served.registry.arenas == (
        without_draft.eager_target.compute.shared.arena,
        without_draft.eager_target.host.shared.arena,
    )


def test_gradients_are_never_recorded_into_a_buffer() -> None:
    embeddings = torch.ones(3, 2, requires_grad=True)
    live = LiveBatch(
        mode=Mode.EXTEND,
        batch_size=1,
        input_embeds=embeddings,
        positions=torch.arange(3),
        req_pool_indices=torch.tensor([1]),
        seq_lens=torch.tensor([3]),
        extend_seq_lens=torch.tensor([3]),
        extend_prefix_lens=torch.tensor([0]),
    )
    served = runner()
    assert served.load(live).input_embeds is embeddings
    assert not any(slot.requires_grad for slot in served.registry.slots)


def test_a_refused_batch_says_that_it_is_refused_and_is_of_one_kind() -> None:
    error = refusal_of(runner(), replace(decode_batch(3), positions=None))
    assert isinstance(error, BatchError)
    assert str(error).endswith("Nothing was written.")
