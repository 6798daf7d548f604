"""One rank of two: loads batches of SGLang, of which some are illegal, and prints what came out.

Run by test_sglang_refusals.py as `refusal_process.py SCENARIO BACKEND RANK RENDEZVOUS_FILE`.
"""

from __future__ import annotations

import json
import sys
from dataclasses import replace

import torch
import torch.distributed as dist

from support.rank_processes import join_group
from support.sglang_engine import decode_batch, two_ranks
from ullage_generated.sglang import EagerTargetRunner, LiveBatch, Mode
from ullage_runtime.errors import UllageRuntimeError
from ullage_runtime.ranks import DistributedRanks


def outcome(runner: EagerTargetRunner, live: LiveBatch) -> object:
    before = [slot.clone() for slot in runner.registry.slots]
    try:
        batch = runner.load(live)
    except UllageRuntimeError as error:
        written = not all(map(torch.equal, before, runner.registry.slots))
        return [error.code, str(error), written]
    return [batch.live_requests, batch.requests, batch.tokens]


def main() -> None:
    scenario, backend, rank, rendezvous = sys.argv[1:]
    device = join_group(backend, int(rank), rendezvous)
    debug = scenario == "in_debug_mode"
    ranks = DistributedRanks(None, device, check_order=debug)
    runner = EagerTargetRunner(two_ranks(), ranks, device="cpu", debug=debug)
    too_large = decode_batch(7)
    wrong_source = replace(decode_batch(2), seq_lens=torch.tensor([5, 6], dtype=torch.int16))
    idle = LiveBatch(mode=Mode.IDLE)
    legal = (decode_batch(3),) * 4
    batches = (legal, (too_large, idle, wrong_source, idle))[int(rank)]
    print(json.dumps([outcome(runner, live) for live in batches]))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
