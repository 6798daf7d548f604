"""A model, its pool and table, and the generated runner that feeds it."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from transformers import LlamaForCausalLM

from ullage_demo.engine import LayerGroup, StepEngine
from ullage_demo.model import build_draft, build_target, route_through_pool
from ullage_demo.paged_kv import Device, KVPool, RequestTable
from ullage_demo.runners import Role, Runner, build_runner
from ullage_demo.sizes import Sizes
from ullage_generated.sglang import LiveBatch
from ullage_runtime.ranks import Ranks


@dataclass(frozen=True, slots=True)
class Worker:
    """A model routed through the pool, with the runner that owns its input buffers."""

    model: LlamaForCausalLM
    pool: KVPool
    table: RequestTable
    runner: Runner

    def forward(self, live: LiveBatch, *, tree: Tensor | None = None) -> Tensor:
        """Logits [live tokens, vocabulary]; `tree`: see `plan_attention`."""
        return self._execute(live, StepEngine(self.model, self.pool, self.table, tree=tree))

    def forward_layers(self, live: LiveBatch, group: LayerGroup) -> Tensor:
        """Hidden states [live tokens, hidden size], or logits after the last layers."""
        return self._execute(live, StepEngine(self.model, self.pool, self.table, group=group))

    @torch.inference_mode()
    def warm_up(self) -> None:
        """Compute the largest batch of the configuration, outside of the statistics."""
        self.runner.warm_up(StepEngine(self.model, self.pool, self.table))
        self.runner.statistics.clear()

    @torch.inference_mode()
    def _execute(self, live: LiveBatch, engine: StepEngine) -> Tensor:
        """In debug mode every step runs once more without padding, and is compared."""
        if self.runner.debug.compare:
            return self.runner.execute_compared(live, engine)
        return self.runner.execute(live, engine)


def target_worker(
    sizes: Sizes,
    *,
    model: LlamaForCausalLM | None = None,
    ranks: Ranks | None = None,
    device: Device = "cpu",
    debug: bool = False,
) -> Worker:
    """A fresh target, warmed up, with an empty pool and table. `ranks`, `debug`: of its runner."""
    served = route_through_pool(model or build_target(device=device))
    worker = Worker(
        model=served,
        pool=build_pool(served, sizes.pool_slots),
        table=build_table(sizes, device),
        runner=build_runner(Role.TARGET, sizes, device=device, ranks=ranks, debug=debug),
    )
    worker.warm_up()
    return worker


def draft_worker(target: Worker, sizes: Sizes, noise: float, *, debug: bool = False) -> Worker:
    """A draft beside `target`: the same table, and the same pool if its KV is frozen."""
    shares = sizes.speculation is not None and sizes.speculation.frozen_kv
    device = target.table.device
    model = route_through_pool(build_draft(build_target(), noise=noise, device=device))
    worker = Worker(
        model=model,
        pool=target.pool if shares else build_pool(model, sizes.pool_slots),
        table=target.table,
        runner=build_runner(Role.DRAFT, sizes, device=device, debug=debug),
    )
    worker.warm_up()
    return worker


def build_pool(model: LlamaForCausalLM, slots: int) -> KVPool:
    """An empty pool for the model's keys and values."""
    config = model.config
    heads = config.num_attention_heads
    return KVPool(
        config.num_hidden_layers,
        slots,
        config.num_key_value_heads or heads,
        config.head_dim or config.hidden_size // heads,
        device=model.device,
    )


def build_table(sizes: Sizes, device: Device) -> RequestTable:
    """A table of an engine of these sizes, which nobody has a row of."""
    return RequestTable(
        sizes.max_running, sizes.row_width, sizes.pages, sizes.page_size, device=device
    )
