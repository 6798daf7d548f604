"""All buffers that are compared one by one are together what SGLang allocates."""

from __future__ import annotations

import json

import pytest

from support.sglang_graphs import graph_rows, table_rows
from support.sglang_memory import DATA, Allocated
from support.sglang_table import Buffer, rows

ALLOCATED = [Allocated(**each) for each in json.loads(DATA.read_text(encoding="utf-8"))]


def buffers_of(configuration: str) -> list[Buffer]:
    """The buffers of the eager and the graph runners of a configuration."""
    found = [row for row in (*rows(), *graph_rows()) if row.name == configuration]
    assert {row.worker for row in found} <= {"target", "draft"}
    return [buffer for row in found for buffer in row.buffers]


@pytest.mark.parametrize("allocated", ALLOCATED, ids=lambda each: each.id)
def test_no_buffer_of_a_runner_is_left_out_of_the_comparison(allocated: Allocated) -> None:
    on_host = [each.name.endswith("_cpu") for each in buffers_of(allocated.id)]
    sizes = [each.bytes for each in buffers_of(allocated.id)]
    host = sum(size for size, host in zip(sizes, on_host, strict=True) if host)
    assert (sum(sizes) - host, host) == (allocated.runner_device, allocated.runner_host)


@pytest.mark.parametrize("allocated", ALLOCATED, ids=lambda each: each.id)
def test_no_buffer_of_a_backend_is_left_out_of_the_comparison(allocated: Allocated) -> None:
    found = [row for row in table_rows() if row.graphs.name == allocated.id]
    assert sum(each.bytes for row in found for each in row.buffers) == allocated.backend_device


def test_every_configuration_is_compared() -> None:
    ids = {each.id for each in ALLOCATED}
    assert ids == {row.name for row in graph_rows()} == {row.graphs.name for row in table_rows()}
    assert {row.name for row in rows()} == ids | {"c08_cp4_8b"}  # the same with another backend
