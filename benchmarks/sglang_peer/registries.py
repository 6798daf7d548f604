"""SGLang's registries, built by its own builders, as its runners do it."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import replace
from subprocess import CalledProcessError
from typing import Any, Final

import torch

from sglang_peer.batches import Contents, ForwardBatch
from sglang_peer.cases import MAX_REQUESTS, MAX_TOKENS, Kind
from sglang_peer.stubs import READ_AS_TEXT, install, module
from sglang_peer.wheel import path_of

Registry = Any
"""SGLang's class, of whose types nothing is known here."""

SEQUENCE_FILL: Final = 1
"""The length of a padded row, as backends that are common with graphs ask for."""

ENCODER_FILL: Final = 1500

_BUILDERS: Final[Mapping[Kind, str]] = {
    "eager": "build_eager_registry",  # of decodes and extends, never padded
    "decode": "build_decode_registry",  # of graphs of decodes and verifications
    "prefill": "build_prefill_registry",  # of graphs of prompts, where requests are not padded
}


def build(
    kind: Kind, device: torch.device, contents: Contents, *, gathered: bool = False
) -> Registry:
    """A registry with buffers of its own, apart from SGLang's pool of the process.

    `gathered`: a decode registry writes the token counts of ranks, which it leaves out for one.
    """
    module("srt.model_executor.input_buffers")._forward_input_buffer_pool.clear()
    options: dict[str, object] = {"enable_mamba_track": contents.mamba}
    if kind == "decode":
        options["seq_len_fill_value"] = SEQUENCE_FILL
        options["require_gathered_buffer"] = gathered
    if kind != "prefill" and contents.encoder:
        dtype = torch.int64 if device.type == "cpu" else torch.int32
        options |= {"is_encoder_decoder": True, "encoder_lens_dtype": dtype}
        options["encoder_len_fill_value"] = ENCODER_FILL
    if kind == "prefill":
        options["is_multimodal"] = contents.mrope
        options["register_input_embeds"] = False
    builder = getattr(module("srt.model_executor.cuda_graph_buffer_registry"), _BUILDERS[kind])
    return builder(
        device=device,
        max_bs=MAX_REQUESTS,
        max_num_token=MAX_TOKENS,
        cache_loc_dtype=torch.int64,
        **options,
    )


class EagerShim:
    """SGLang's EagerRunner, of which nothing but its registry is there."""

    def __init__(self, registry: Registry) -> None:
        self._eager_registry = registry


def eager_load(registry: Registry) -> Callable[[ForwardBatch], ForwardBatch]:
    """SGLang's real `EagerRunner.load_batch`, bound to a runner with this registry."""
    tree = ast.parse(path_of(install(), READ_AS_TEXT).read_text())
    runner = next(
        node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "EagerRunner"
    )
    method = next(
        node
        for node in runner.body
        if isinstance(node, ast.FunctionDef) and node.name == "load_batch"
    )
    method.returns = None
    for argument in (*method.args.args, *method.args.kwonlyargs):
        argument.annotation = None  # of types that are not imported
    names: dict[str, Any] = {"envs": module("srt.environ").envs, "replace": replace}
    exec(compile(ast.Module([method], []), READ_AS_TEXT, "exec"), names)
    load = names["load_batch"]
    shim = EagerShim(registry)
    return lambda batch: load(shim, batch)


def small_copy_problem(device: torch.device) -> str | None:
    """Why SGLang's default setting cannot fill on this device; None where it can.

    On a GPU it copies with a Triton kernel, whose launcher is built on first use, which needs a
    compiler of C and Python's headers. Its fast path needs neither.
    """
    if device.type == "cpu":
        return None
    sources = [torch.arange(1, 10, device=device) for _ in range(2)]
    copies = [torch.zeros_like(source) for source in sources]
    try:
        copied = module("kernels.ops.memory.small_copy").try_small_copy(copies, sources)
    except (ImportError, OSError, RuntimeError, CalledProcessError) as problem:
        return f"{type(problem).__name__}: {problem}"
    equal = all(torch.equal(*pair) for pair in zip(copies, sources, strict=True))
    return None if copied and equal else "it did not copy"


def poison(registry: Registry, value: int = 77) -> None:
    """Fill every slot along an axis, so that what nobody writes is seen."""
    for name in registry.slot_names():
        slot = registry.get_slot(name)
        if slot.axis != "none":  # others keep what they began with, unless a hook writes them
            slot.buffer.fill_(bool(value) if slot.buffer.dtype == torch.bool else value)
