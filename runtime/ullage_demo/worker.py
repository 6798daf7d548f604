"""A model, its pool and table, and the generated runner that feeds it."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from transformers import LlamaForCausalLM

from ullage_demo.attention import Attention, TorchAttention
from ullage_demo.engine import LayerGroup, StepEngine
from ullage_demo.flashinfer_attention import FlashInferAttention
from ullage_demo.model import build_draft, build_target, route_through_pool
from ullage_demo.paged_kv import KVPool, RequestTable
from ullage_demo.place import CPU, AttentionLibrary, Place
from ullage_demo.runners import Role, Runner, build_runner
from ullage_demo.sizes import Sizes
from ullage_demo.student import Student
from ullage_generated.sglang import Config, LiveBatch
from ullage_runtime.ranks import Ranks


@dataclass(frozen=True, slots=True, kw_only=True)
class Worker:
    """A model routed through the pool, with the runner that owns its input buffers.

    `student`: another worker that computes each batch of this one, and is compared with it.
    """

    place: Place
    model: LlamaForCausalLM
    pool: KVPool
    table: RequestTable
    runner: Runner
    attention: Attention
    student: Student | None = None

    def forward(self, live: LiveBatch, *, tree: Tensor | None = None) -> Tensor:
        """Logits [live tokens, vocabulary]; `tree`: see `Attention`."""
        logits = self.compute(live, tree)
        if self.student is not None:
            self.student.follow(self.table, live, logits, tree=tree)
        return logits

    def forward_layers(self, live: LiveBatch, group: LayerGroup) -> Tensor:
        """Hidden states [live tokens, hidden size], or logits after the last layers."""
        states = self._execute(live, self._engine(group=group))
        if self.student is not None:
            self.student.follow_layers(self.table, live, group, states)
        return states

    def compute(self, live: LiveBatch, tree: Tensor | None) -> Tensor:
        """What `forward` gives, by this worker alone."""
        return self._execute(live, self._engine(tree=tree))

    @torch.inference_mode()
    def warm_up(self) -> None:
        """Compute the largest batch of the configuration, outside of the statistics."""
        self.runner.warm_up(self._engine())
        self.runner.statistics.clear()

    def _engine(self, *, tree: Tensor | None = None, group: LayerGroup | None = None) -> StepEngine:
        return StepEngine(self.model, self.pool, self.table, self.attention, tree=tree, group=group)

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
    place: Place = CPU,
    student: Place | None = None,
) -> Worker:
    """A fresh target, warmed up, with an empty pool and table. `ranks`: of its runner.

    `student`: where another one computes each batch, see `Worker`; it has a model of its own, so
    ValueError if one is given.
    """
    if model is not None and student is not None:
        raise ValueError("A student has a model of its own, and not the one that is given.")
    served = route_through_pool(model or build_target(place.head_dim, device=place.device))
    runner = build_runner(Role.TARGET, sizes, place, ranks=ranks)
    pool = build_pool(served, sizes.pool_slots, place)
    worker = Worker(
        place=place,
        model=served,
        pool=pool,
        table=build_table(sizes, place),
        runner=runner,
        attention=build_attention(place, runner.config),
        student=taught(pool, target_worker(sizes, place=student)) if student else None,
    )
    worker.warm_up()
    return worker


def draft_worker(target: Worker, sizes: Sizes, noise: float) -> Worker:
    """A draft beside `target`: the same table, and the same pool if its KV is frozen.

    Beside the student of the target, if it has one, there is one of the draft.
    """
    place = target.place
    shares = sizes.speculation is not None and sizes.speculation.frozen_kv
    model = route_through_pool(
        build_draft(build_target(place.head_dim), noise=noise, device=place.device)
    )
    runner = build_runner(Role.DRAFT, sizes, place)
    pool = target.pool if shares else build_pool(model, sizes.pool_slots, place)
    taught_target = target.student.worker if target.student else None
    worker = Worker(
        place=place,
        model=model,
        pool=pool,
        table=target.table,
        runner=runner,
        attention=build_attention(place, runner.config),
        student=taught(pool, draft_worker(taught_target, sizes, noise)) if taught_target else None,
    )
    worker.warm_up()
    return worker


def taught(pool: KVPool, worker: Worker) -> Student:
    """`worker` as a student whose pool follows what is moved in `pool`."""
    pool.twin = worker.pool
    return Student(worker)


def build_attention(place: Place, config: Config) -> Attention:
    """Plans of one runner without graphs."""
    if place.library is AttentionLibrary.FLASHINFER:
        return FlashInferAttention(config, place.head_dim)
    return TorchAttention()


def build_pool(model: LlamaForCausalLM, slots: int, place: Place) -> KVPool:
    """An empty pool for the model's keys and values."""
    config = model.config
    heads = config.num_attention_heads
    return KVPool(
        config.num_hidden_layers,
        slots,
        config.num_key_value_heads or heads,
        place.head_dim,
        dtype=place.kv_dtype,
        device=place.device,
    )


def build_table(sizes: Sizes, place: Place) -> RequestTable:
    """A table of an engine of these sizes, which nobody has a row of."""
    return RequestTable(
        sizes.max_running, sizes.row_width, sizes.pages, sizes.page_size, device=place.device
    )
