"""The models: a small Llama with seeded random weights, its drafts, and its reference."""

from __future__ import annotations

import copy

import torch
from torch import nn
from transformers import LlamaConfig, LlamaForCausalLM

from ullage_demo.attention import PAGED_ATTENTION
from ullage_demo.paged_kv import Device

VOCABULARY = 384
HIDDEN_SIZE = 64
QUERY_HEADS = 4
KEY_HEADS = 2
MASK_TOKEN = VOCABULARY - 1
"""Stands for what a diffusion block does not know yet; no prompt holds it."""

INITIALIZER_RANGE = 0.2
"""Wide on purpose: with the default of 0.02 the greedy continuation repeats one token."""


def build_target(head_dim: int = 16, *, seed: int = 0, device: Device = "cpu") -> LlamaForCausalLM:
    """The served model in fp32: grouped-query attention and untied embeddings.

    Its weights are the same on every device.
    """
    config = LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=HIDDEN_SIZE,
        intermediate_size=128,
        num_hidden_layers=3,
        num_attention_heads=QUERY_HEADS,
        num_key_value_heads=KEY_HEADS,
        head_dim=head_dim,
        max_position_embeddings=1024,
        tie_word_embeddings=False,
        initializer_range=INITIALIZER_RANGE,
        bos_token_id=None,
        eos_token_id=None,
        pad_token_id=0,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = LlamaForCausalLM(config)
    return _for_inference(model, device)


def build_reference(target: LlamaForCausalLM) -> LlamaForCausalLM:
    """An independent copy with the library's own attention.

    Deep, because models built from one configuration share it: to route one through the paged
    pool would route them all, and the check would compare a thing with itself.
    """
    reference = copy.deepcopy(target)
    reference.set_attn_implementation("sdpa")
    return reference


def build_draft(
    target: LlamaForCausalLM, *, noise: float, seed: int = 1, device: Device = "cpu"
) -> LlamaForCausalLM:
    """A copy of a target on the CPU that disagrees with it now and then.

    `noise`: standard deviation of what is added to each matrix, relative to the matrix's own.
    """
    draft = copy.deepcopy(target)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in draft.parameters():
            if parameter.dim() == 2:
                disturbance = torch.randn(parameter.shape, generator=generator)
                parameter.add_(disturbance * parameter.std() * noise)
    return _for_inference(draft, device)


def route_through_pool(model: LlamaForCausalLM) -> LlamaForCausalLM:
    """Let the model's attention read and write the paged pool; returns the model."""
    model.set_attn_implementation(PAGED_ATTENTION)
    return model


def _for_inference(model: LlamaForCausalLM, device: Device) -> LlamaForCausalLM:
    model.requires_grad_(False)
    model.train(False)
    nn.Module.to(model, device)  # transformers' own is wrapped so that its types are wrong
    return model
