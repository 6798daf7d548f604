"""What is measured beside SGLang with, as far as it works without SGLang's files."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor

from sglang_peer.batches import PLAIN
from sglang_peer.cases import CAPTURED_TOKENS, Case, cases
from sglang_peer.comparing import broken_promises, differences, only_static_in
from sglang_peer.cuda import counted
from sglang_peer.implementations import config_of
from sglang_peer.report import Measured, Row, targets_missed
from sglang_peer.stubs import EmptyModule, LeftOutError
from sglang_peer.timing import Host
from sglang_peer.wheel import DIGESTS, VERSION, ForeignSourceError, path_of, sources
from ullage_runtime.integers import next_in

CASE = Case("decode", False, 2, 4, 2, 4)


@pytest.mark.parametrize("case", list(cases()), ids=lambda case: case.label)
def test_a_runner_pads_as_the_case_says(case: Case) -> None:
    config = config_of(case, PLAIN)
    if case.kind == "decode":
        assert config.captured is not None
        assert next_in(case.requests, config.captured) == case.padded_requests
        assert case.padded_tokens == case.padded_requests * config.target_width
    if case.kind == "prefill":
        assert config.captured_tokens == CAPTURED_TOKENS
        assert next_in(case.tokens, config.captured_tokens) == case.padded_tokens
    is_padded = (case.requests, case.tokens) != (case.padded_requests, case.padded_tokens)
    assert is_padded == (case.kind != "eager")


def test_a_file_that_is_not_the_measured_one_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    for module in DIGESTS:
        path = path_of(tmp_path / "ullage-benchmarks" / f"sglang-{VERSION}", module)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("changed = True\n")
    with pytest.raises(ForeignSourceError, match=r"environ\.py has the digest"):
        sources()


def test_what_is_left_out_serves_as_a_type_and_raises_when_it_is_called() -> None:
    left_out = EmptyModule("sglang.left.out")
    assert not isinstance(3, left_out.Thing)
    with pytest.raises(LeftOutError, match=r"sglang\.left\.out\.Thing"):
        left_out.Thing(3)


@dataclass
class Batch:
    """A batch with one slot that is padded, one that is not, and a carried field."""

    batch_size: int
    seq_lens: Tensor | None
    input_ids: Tensor | None
    lengths: Tensor | None = None


class Registry:
    """As much of SGLang's registry as comparing asks for; its slots hold poison."""

    def __init__(self) -> None:
        self._slots = {
            "seq_lens": slot("seq_lens", "bs", "fill_sentinel"),
            "input_ids": slot("input_ids", "tokens", "foreach_copy"),
        }

    def slot_names(self) -> list[str]:
        return list(self._slots)

    def has_slot(self, name: str) -> bool:
        return name in self._slots

    def get_slot(self, name: str) -> Any:
        return self._slots[name]


def slot(name: str, axis: str, policy: str) -> Any:
    buffer = torch.full((6,), 77)
    return SimpleNamespace(
        name=name,
        axis=axis,
        padding_policy=SimpleNamespace(value=policy),
        pad_value=1,
        buffer=buffer,
        copy_from_fb=True,
        slice_for=lambda requests, tokens: buffer[:requests],
    )


def loaded(registry: Registry, batch: Batch) -> Batch:
    """The view that the registry should give."""
    seq_lens = registry.get_slot("seq_lens").buffer[:4]
    input_ids = registry.get_slot("input_ids").buffer[:4]
    seq_lens[:2], seq_lens[2:], input_ids[:2] = batch.seq_lens, 1, batch.input_ids
    return replace(batch, batch_size=4, seq_lens=seq_lens, input_ids=input_ids)


BATCH = Batch(2, torch.tensor([5, 6]), torch.tensor([8, 9]), torch.tensor([3, 4]))


def test_equal_views_have_no_difference_and_padded_rows_without_a_rule_do_not_count() -> None:
    registry = Registry()
    view = loaded(registry, BATCH)
    assert broken_promises(CASE, BATCH, registry, view) == []
    other = replace(view, input_ids=torch.tensor([8, 9, 0, 0]))
    assert differences(CASE, BATCH, registry, view, other) == []


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("seq_lens", torch.tensor([5, 6, 1, 0])),
        ("seq_lens", torch.tensor([5, 6, 1])),
        ("seq_lens", torch.tensor([5, 6, 1, 1], dtype=torch.int32)),
        ("seq_lens", None),
        ("input_ids", torch.tensor([8, 7, 0, 0])),
        ("lengths", torch.tensor([3, 5])),
        ("lengths", None),
        ("batch_size", 2),
    ],
)
def test_a_difference_is_seen(field: str, value: object) -> None:
    registry = Registry()
    view = loaded(registry, BATCH)
    changed: Any = {field: value}
    assert differences(CASE, BATCH, registry, view, replace(view, **changed)) == [field]


def test_a_field_may_be_static_that_sglang_carries_if_it_holds_the_same() -> None:
    registry = Registry()
    view = loaded(registry, BATCH)
    other = replace(view, lengths=torch.tensor([3, 4, 0, 0]))
    assert differences(CASE, BATCH, registry, view, other) == []
    assert only_static_in(other, BATCH, registry) == ["lengths"]


def test_a_promise_that_the_real_registry_breaks_is_seen() -> None:
    registry = Registry()
    view = loaded(registry, BATCH)
    registry.get_slot("seq_lens").buffer[3] = 77
    assert broken_promises(CASE, BATCH, registry, view) == ["seq_lens"]


def test_events_of_a_trace_count_for_one_call() -> None:
    def event(category: str, name: str, duration: float = 0.0) -> dict[str, object]:
        return {"ph": "X", "cat": category, "name": name, "dur": duration}

    found = counted(
        [
            event("kernel", "copy", 3.0),
            event("kernel", "copy", 5.0),
            event("gpu_memcpy", "Memcpy HtoD", 2.0),
            event("cuda_runtime", "cudaLaunchKernel"),
            event("cuda_runtime", "cudaMemcpyAsync"),
            event("cuda_runtime", "cudaEventRecord"),
            {"ph": "i", "cat": "kernel", "name": "no span"},
        ],
        2,
    )
    assert found["device"] == 5.0
    assert (found["kernels"], found["copies"], found["fills"], found["launches"]) == (1, 0.5, 0, 1)
    assert found["names"] == {"copy": 1.0, "Memcpy HtoD": 0.5}


def measured(tokens: int, **rounds: tuple[float, ...]) -> Measured:
    rows = (
        Row(name.replace("_", "-"), Host(0.0, 0.0, 0.0, 0.0, 0.0, each), {})
        for name, each in rounds.items()
    )
    return Measured(replace(CASE, padded_tokens=tokens), tuple(rows))


def test_what_counts_is_sglangs_better_setting_round_by_round() -> None:
    one = measured(
        4, sglang=(90.0, 180.0), sglang_fast=(80.0, 160.0), floor=(5.0, 10.0), ullage=(10.0, 20.0)
    )
    assert one.speedup == 8.0
    assert one.over_floor == 2.0


@pytest.mark.parametrize(("tokens", "ullage", "missed"), [(4, 11.0, 1), (4096, 11.0, 0)])
def test_the_target_is_lower_where_more_is_copied(tokens: int, ullage: float, missed: int) -> None:
    one = measured(tokens, sglang=(80.0,), sglang_fast=(80.0,), floor=(10.0,), ullage=(ullage,))
    first = {"decode": {"sglang": 2.0, "ullage": 1.0}}
    assert len(targets_missed([one], first)) == missed
    slow = {"extend": {"sglang": 1.9, "ullage": 1.0, "ullage-torch": 1.1}}
    assert len(targets_missed([one], first | slow)) == missed + 2
