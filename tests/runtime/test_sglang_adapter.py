"""SGLang's batches in front of generated runners, with a stand-in for its class."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from enum import Enum, auto
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor

from ullage_generated.sglang import (
    Config,
    DecodeGraphTargetRunner,
    EagerTargetRunner,
    LiveBatch,
    Mode,
    PrefillGraphTargetRunner,
)
from ullage_generated.sglang.config import PrefillGraphBackend
from ullage_generated.sglang.registry import DecodeGraphTargetRegistry
from ullage_runtime.adapters.sglang import MODES, NAMING, PROXIES, SglangLoader
from ullage_runtime.errors import BatchError
from ullage_runtime.ranks import SingleRank

ROWS = 8
SMALL: Mapping[str, Any] = {
    "max_running_requests": ROWS,
    "max_total_tokens_target": 256,
    "chunked_prefill_size": 32,
    "vocab_size": 32,
    "hidden_size": 4,
}


class ForwardMode(Enum):
    """The modes of SGLang that matter here, and one that no target's runner has."""

    DECODE = auto()
    EXTEND = auto()
    TARGET_VERIFY = auto()
    DRAFT_EXTEND_V2 = auto()


@dataclass
class ForwardBatch:
    """The attributes of SGLang's batch that loading reads, and two that it does not know."""

    forward_mode: ForwardMode
    batch_size: int
    input_ids: Tensor | None = None
    positions: Tensor | None = None
    out_cache_loc: Tensor | None = None
    req_pool_indices: Tensor | None = None
    seq_lens: Tensor | None = None
    seq_lens_cpu: Tensor | None = None
    mrope_positions: Tensor | None = None
    extend_seq_lens: Tensor | None = None
    extend_prefix_lens: Tensor | None = None
    extend_start_loc: Tensor | None = None
    input_embeds: Tensor | None = None
    rids_int: Tensor | None = None
    bootstrap_room_ids_int: Tensor | None = None
    global_num_tokens_gpu: Tensor | None = None
    global_num_tokens_for_logprob_gpu: Tensor | None = None
    num_token_non_padded: Tensor | None = None
    ngram_embedding_info: object = None
    sampling_info: object = None
    rids: list[str] | None = None


def decode(requests: int, **changed: object) -> ForwardBatch:
    rows = torch.arange(requests)
    given: dict[str, Any] = {
        "input_ids": rows + 11,
        "positions": rows + 21,
        "out_cache_loc": rows + 31,
        "req_pool_indices": rows + 1,
        "seq_lens": rows + 22,
        "seq_lens_cpu": rows + 22,
        "sampling_info": object(),
        "rids": ["a"] * requests,
    }
    return ForwardBatch(ForwardMode.DECODE, requests, **(given | changed))


def extend(requests: int, tokens: int) -> ForwardBatch:
    lengths = torch.full((requests,), tokens // requests, dtype=torch.int32)
    batch = decode(
        tokens,
        req_pool_indices=torch.arange(requests) + 1,
        seq_lens=lengths.to(torch.int64) + 2,
        seq_lens_cpu=lengths.to(torch.int64) + 2,
        extend_seq_lens=lengths,
        extend_prefix_lens=torch.full_like(lengths, 2),
        extend_start_loc=torch.cumsum(lengths, 0).to(torch.int32) - lengths,
    )
    batch.forward_mode, batch.batch_size = ForwardMode.EXTEND, requests
    return batch


def loader(runner: Any) -> SglangLoader[ForwardBatch, LiveBatch]:
    return SglangLoader(runner, LiveBatch)


def eager(**changed: object) -> EagerTargetRunner:
    return EagerTargetRunner(Config.of(**{**SMALL, **changed}), SingleRank(), device="cpu")


def graph(**changed: object) -> DecodeGraphTargetRunner:
    config = Config.of(
        **{**SMALL, "enable_decode_graph": True, "capture_requests": (4, ROWS), **changed}
    )
    return DecodeGraphTargetRunner(config, SingleRank(), device="cpu")


def carried(batch: ForwardBatch, view: ForwardBatch) -> set[str]:
    """The fields in which both have the same object."""
    names = (field.name for field in fields(batch))
    return {name for name in names if getattr(view, name) is getattr(batch, name)}


COPIED = {"input_ids", "positions", "out_cache_loc", "req_pool_indices", "seq_lens", "seq_lens_cpu"}


def test_slots_are_views_of_the_static_buffers_and_all_else_is_carried() -> None:
    runner, batch = eager(), decode(3)
    view = loader(runner).load(batch)
    assert type(view) is ForwardBatch
    assert view.batch_size == 3
    assert {field.name for field in fields(batch)} - carried(batch, view) == COPIED
    for name in COPIED:
        given, static = getattr(batch, name), getattr(view, name)
        assert static.data_ptr() == getattr(runner.registry, name).data_ptr()
        assert torch.equal(static, given)


def test_the_batch_itself_is_left_as_it_is() -> None:
    batch = decode(3)
    before = dict(vars(batch))
    loader(graph()).load(batch)
    assert all(vars(batch)[name] is value for name, value in before.items())


def test_a_graph_sees_the_padded_rows_and_their_fill() -> None:
    view = loader(graph()).load(decode(3))
    assert view.batch_size == 4
    assert view.seq_lens is not None
    assert view.seq_lens.tolist() == [22, 23, 24, 1]
    assert view.out_cache_loc is not None
    assert view.out_cache_loc.tolist() == [31, 32, 33, 0]


def test_what_load_computes_has_the_name_that_the_engine_gives_it() -> None:
    view = loader(graph()).load(decode(3))
    for counts in (view.global_num_tokens_gpu, view.global_num_tokens_for_logprob_gpu):
        assert counts is not None
        assert counts.tolist() == [4]


LENGTHS = {"extend_seq_lens", "extend_prefix_lens", "extend_start_loc"}


def test_lengths_of_prompts_are_copied_where_ranks_pad_them_and_a_decode_carries_them() -> None:
    runner = loader(eager(enable_dp_attention=True))
    batch = extend(2, 10)
    view = runner.load(batch)
    assert not carried(batch, view) & LENGTHS
    assert view.extend_seq_lens is not None
    assert view.extend_seq_lens.tolist() == [5, 5]
    lengths = torch.ones(3, dtype=torch.int32)
    assert runner.load(decode(3, extend_seq_lens=lengths)).extend_seq_lens is lengths


def test_lengths_of_prompts_are_carried_where_nothing_pads_them() -> None:
    runner = loader(eager())
    for tokens in (10, 10, 12, 12):  # of a new shape and of one that was seen
        batch = extend(2, tokens)
        view = runner.load(batch)
        assert carried(batch, view) >= LENGTHS
        assert view.input_ids is not None
        assert view.input_ids.shape == (tokens,)


def test_prefill_graphs_pad_tokens_and_carry_requests() -> None:
    config = Config.of(
        **SMALL,
        enable_prefill_graph=True,
        prefill_graph_backend=PrefillGraphBackend.PIECEWISE,
        capture_tokens=(16, 32),
    )
    batch = extend(2, 10)
    view = loader(PrefillGraphTargetRunner(config, SingleRank(), device="cpu")).load(batch)
    assert view.input_ids is not None
    assert view.input_ids.tolist() == [*range(11, 21), 0, 0, 0, 0, 0, 0]
    assert view.seq_lens is batch.seq_lens
    assert view.num_token_non_padded is not None
    assert view.num_token_non_padded.tolist() == [10]


def test_a_slot_called_otherwise_stands_for_its_source() -> None:
    config = Config.of(
        **SMALL,
        enable_prefill_graph=True,
        prefill_graph_backend=PrefillGraphBackend.BREAKABLE,
        capture_tokens=(16, 32),
    )
    runner = PrefillGraphTargetRunner(config, SingleRank(), device="cpu")
    view = loader(runner).load(extend(2, 10))
    assert view.seq_lens is not None
    assert runner.registry.static_seq_lens is not None
    assert view.seq_lens.data_ptr() == runner.registry.static_seq_lens.data_ptr()
    assert view.seq_lens.tolist() == [7, 7]


def test_mrope_positions_are_loaded_when_they_are_there_and_carried_as_none_when_not() -> None:
    runner = loader(graph())
    axes = torch.arange(9).reshape(3, 3) + 1
    loaded = runner.load(decode(3, mrope_positions=axes)).mrope_positions
    assert loaded is not None
    assert loaded.tolist() == [[1, 2, 3, 0], [4, 5, 6, 0], [7, 8, 9, 0]]
    assert runner.load(decode(3)).mrope_positions is None


def test_what_an_attribute_holds_is_loaded_and_the_attribute_carried() -> None:
    runner = graph(ngram_embedding=True)
    info = SimpleNamespace(
        column_starts=torch.tensor([5, 6, 7], dtype=torch.int32),
        req_lens=torch.tensor([1, 2, 3], dtype=torch.int32),
        out_column_starts=torch.tensor([7, 8, 9], dtype=torch.int32),
        out_req_lens=torch.tensor([4, 5, 6], dtype=torch.int32),
        skip_token_table_update=torch.tensor([True, False, True]),
    )
    view = loader(runner).load(decode(3, ngram_embedding_info=info))
    assert view.ngram_embedding_info is info
    assert runner.registry.ngram_column_starts is not None
    assert runner.registry.ngram_column_starts[:3].tolist() == [5, 6, 7]


def test_a_field_of_another_name_feeds_its_slot_which_stands_for_it() -> None:
    runner = graph(kv_canary=True)
    ids, rooms = torch.tensor([7, 8, 9]), torch.tensor([4, -1, 6])
    view = loader(runner).load(decode(3, rids_int=ids, bootstrap_room_ids_int=rooms))
    assert view.rids_int is not None
    assert view.rids_int.tolist() == [7, 8, 9, 0]
    assert view.bootstrap_room_ids_int is not None
    assert view.bootstrap_room_ids_int.tolist() == [4, -1, 6, -1]


@pytest.mark.parametrize("debug", [False, True])
def test_every_batch_is_loaded_as_if_it_were_the_first(debug: bool) -> None:
    config = Config.of(**SMALL, enable_decode_graph=True, capture_requests=(4, ROWS))
    runner = DecodeGraphTargetRunner(config, SingleRank(), device="cpu", debug=debug)
    kept = loader(runner)
    batches = [decode(requests) for requests in (3, 7, 3, 4, 3)]
    for at, batch in enumerate(batches):
        assert batch.input_ids is not None
        batch.input_ids.add_(at)
        view = kept.load(batch)
        padded = 4 if batch.batch_size <= 4 else ROWS
        assert view.batch_size == padded
        assert view.input_ids is not None
        assert view.input_ids.tolist() == pad(batch.input_ids, padded, 0)
        assert view.seq_lens is not None
        assert view.seq_lens.tolist() == pad(batch.seq_lens, padded, 1)
        assert view.sampling_info is batch.sampling_info


def pad(source: Tensor | None, rows: int, fill: int) -> list[int]:
    assert source is not None
    return [*source.tolist(), *[fill] * (rows - len(source))]


def test_proxies_are_handed_on_beside_the_batch() -> None:
    runner = graph(pp_size=2)
    states = torch.arange(12, dtype=torch.float32).reshape(3, 4)
    loader(runner).load(decode(3), SimpleNamespace(tensors={"hidden_states": states}))
    assert runner.registry.pipeline_hidden_states is not None
    assert torch.equal(runner.registry.pipeline_hidden_states[:3], states)


def test_a_forward_mode_that_the_runner_does_not_serve_is_refused_before_any_write() -> None:
    runner = graph()
    before = runner.registry.input_ids.clone()
    for mode in (ForwardMode.DRAFT_EXTEND_V2, ForwardMode.EXTEND):
        with pytest.raises(BatchError, match=r"U717.*DECODE") as refused:
            loader(runner).load(replace(decode(3), forward_mode=mode))
        assert refused.value.code == "U717"
    assert torch.equal(runner.registry.input_ids, before)


def test_what_the_runner_refuses_the_adapter_refuses() -> None:
    runner = loader(eager())
    with pytest.raises(BatchError, match="U712"):
        runner.load(decode(ROWS + 1))
    with pytest.raises(BatchError, match="U714"):
        runner.load(decode(3, positions=torch.ones(3)))
    with pytest.raises(BatchError, match="U713"):
        runner.load(decode(3, seq_lens=None))


def test_every_name_of_the_adapter_is_one_of_the_spec() -> None:
    live = {field.name for field in fields(LiveBatch)}
    slots = {field.name for field in fields(DecodeGraphTargetRegistry)}
    assert NAMING.sources.keys() <= live
    assert PROXIES.keys() <= live
    assert NAMING.fields.keys() <= slots | {"requests"}
    assert {name for names in MODES.values() for name in names} <= {mode.value for mode in Mode}
