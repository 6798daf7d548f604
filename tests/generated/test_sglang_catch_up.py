"""What rows without a request hold where a draft model catches up in a graph."""

from __future__ import annotations

import pytest
import torch

from ullage_generated.sglang import Config, DraftExtendGraphDraftRunner, LiveBatch, Mode
from ullage_runtime.ranks import SingleRank

WIDTH = 4


def loaded(**arguments: object) -> dict[str, list[int]]:
    """Lengths of three requests in a graph of four, on the device and on the host."""
    config = Config.from_arguments(
        {
            "max_running_requests": 8,
            "max_total_tokens_target": 64,
            "max_total_tokens_draft": 64,
            "context_length": 256,
            "speculative_algorithm": "eagle",
            "enable_decode_graph": True,
            "capture_requests": [2, 4, 8],
            **arguments,
        }
    )
    runner = DraftExtendGraphDraftRunner(config, SingleRank(), device="cpu")
    rows, tokens = torch.arange(1, 4), torch.arange(1, 3 * WIDTH + 1)
    batch = runner.load(
        LiveBatch(
            mode=Mode.DRAFT_EXTEND,
            batch_size=3,
            input_ids=tokens,
            positions=tokens + 10,
            out_cache_loc=tokens + 20,
            req_pool_indices=rows,
            seq_lens=rows + 30,
            seq_lens_cpu=rows + 30,
            extend_seq_lens=torch.full((3,), WIDTH),
            num_correct_drafts=rows - 1,
            num_accept_tokens=rows,
            select_index=(rows - 1) * WIDTH,
        )
    )
    device, host = batch.catch_up_seq_lens, batch.catch_up_seq_lens_cpu
    assert device is not None
    assert host is not None
    return {"device": device.tolist(), "host": host.tolist()}


@pytest.mark.parametrize("pooled", [2, 5])
def test_a_row_without_a_request_is_as_long_as_its_queries_and_the_keys_that_are_pooled(
    pooled: int,
) -> None:
    lengths = [31, 32, 33, WIDTH + pooled]
    found = loaded(attention_backend="dsa", dsa_index_kpool=pooled)
    assert found == {"device": lengths, "host": lengths}


@pytest.mark.parametrize("arguments", [{}, {"attention_backend": "dsa"}])
def test_without_pooling_it_is_one_key_long(arguments: dict[str, object]) -> None:
    lengths = [31, 32, 33, 1]
    assert loaded(**arguments) == {"device": lengths, "host": lengths}
