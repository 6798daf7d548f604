"""The examples of the language reference are one spec, once the names that they use are added."""

from __future__ import annotations

import re
from pathlib import Path
from textwrap import indent

import pytest

from support.specs import write_spec
from ullage.analyse import analyse
from ullage.diagnostics.catalogue import code
from ullage.expr.lex import MAX_DEPTH, MAX_LENGTH, MAX_LITERAL
from ullage.read import read
from ullage.spec.flow import MOST_TRIALS
from ullage.spec.library import SECTIONS
from ullage.spec.load_audits import VERDICTS
from ullage.spec.model import BYTES_OF_DTYPE
from ullage.spec.write import write_spec as written

REFERENCE = Path(__file__).parents[3] / "docs" / "language.md"
SECTION_OF = {
    "Parameters": "parameters",
    "Constraints": "constraints",
    "Transforms": "transforms",
    "Slots": "slots",
    "Slot groups": "slot_groups",
    "Readers": "readers",
    "Wrappers": "wrappers",
    "Concurrent": "concurrent",
}

REST = """\
parameters:
  max_running_requests: {type: int, range: [1, 64], unit: requests, default: 4}
  chunked_prefill_size: {type: int, range: [1, 4096], unit: tokens, default: 64}
  context_length: {type: int, range: [1, 4096], unit: tokens, default: 512}
  vocab_size: {type: int, range: [2, 2^20], default: 32000}
  speculative_algorithm: {type: enum, choices: [none, eagle, dflash], default: none}
  speculative_num_draft_tokens:
    {type: int, range: [1, 64], unit: tokens/requests, when: speculative, default: 4}
  dllm: {type: bool, default: false}
  enable_pdmux: {type: bool, default: false}
  enable_two_batch_overlap: {type: bool, default: false}
  cuda_graph: {type: bool, default: false}
  capture_requests: {type: list, range: [1, 64], unit: requests, when: cuda_graph, default: "[1]"}
  require_mlp_sync: {type: bool, default: false}
  num_dp_ranks: {type: int, range: [1, 8], default: 1}
  attn_tp_size: {type: int, range: [1, 8], default: 1}
  cp_align: {type: int, range: [1, 8], default: 1}
definitions:
  one_request: {value: 1, unit: requests}
  token_per_request: {value: 1, unit: tokens/requests}
  speculative: speculative_algorithm != none
  has_draft_worker: speculative_algorithm == eagle
  capture_rows: max(capture_requests) if cuda_graph else max_running_requests
  target_width: speculative_num_draft_tokens if speculative else token_per_request
  captured:
    {value: "[b for b in capture_requests if b <= max_running_requests]", when: cuda_graph}
  prefill_limit: min(chunked_prefill_size, max_total_tokens)
families:
  extending: a number of tokens that differs between requests
transforms:
  bucket:
    let: {rows: "next_in(requests, captured)"}
    requests: rows
    tokens: rows * target_width
  mlp_sync_tokens:
    when: require_mlp_sync
    collective: {op: all_gather_max, group: dp}
    let: {padded: "align_up(align_up(tokens, attn_tp_size), cp_align)"}
    tokens: max_ranks(padded)
slots:
  input_ids: {shape: [tokens], dtype: int64, source: batch.input_ids, range: [0, vocab_size - 1]}
  extend_start_loc:
    {shape: [requests], dtype: int64, source: batch.extend_start_loc, range: [0, 2^31]}
  layer_lengths:
    {shape: [2, requests], dtype: int32, range: [0, 2^31 - 1], modes: [decoding],
     written_by: [plan_attention, replay]}
readers:
  rotary: {reads: {input_ids: {rows: padded, range: [0, vocab_size - 1]}}}
carried:
  input_embeds: {source: batch.input_embeds}
constraints:
  - {that: not enable_pdmux or not require_mlp_sync, else: nothing is padded that is not loaded}
"""
ROUND = """\
mode: {name}
when: worker == target{when}
family: decoding
live:
  requests: {{range: [1, max_running_requests], seen_in: batch.batch_size}}
axes: {{requests: requests, tokens: requests * {width}}}
pipeline: [mlp_sync_rows(tokens_per_request={width})]
"""
IDLE = """\
mode: idle
when: worker == target
live: {}
axes: {requests: 0, tokens: 0}
pipeline: [mlp_sync_rows(tokens_per_request=token_per_request)]
peers: [decode, target_verify]
"""
BESIDE = """\
mode: idle_beside_extend
when: worker == target
family: extending
live: {}
axes: {requests: 0, tokens: 0}
pipeline: [mlp_sync_tokens]
"""
MODES = {
    "decode": ROUND.format(name="decode", when=" and not speculative", width="token_per_request"),
    "target_verify": ROUND.format(
        name="target_verify", when=" and speculative", width="speculative_num_draft_tokens"
    ),
    "idle": IDLE,
    "idle_beside_extend": BESIDE,
}
PROMPTS = """\
runner: prompt_graph
workers: [target]
modes: [extend]
slots: all
accepts: [tokens <= 32]
fallback: eager
steps: [{do: load}, {step: replay}]
"""
MORE_FORMULAS = "audit: more\nquoted_from: the reference\nformulas:\n"


def blocks() -> list[tuple[str, str]]:
    """The heading and the text of every example, in order."""
    found: list[tuple[str, str]] = []
    heading = ""
    for title, block in re.findall(
        r"^#+ (.*?)$|^```yaml\n(.*?)^```$", REFERENCE.read_text(), re.DOTALL | re.MULTILINE
    ):
        heading = title or heading
        if block:
            found.append((heading, block))
    return found


def files() -> dict[str, str]:
    """The examples as a spec folder, with the rest that they need."""
    texts = {
        "rest.yaml": REST,
        "prompts.yaml": PROMPTS,
        **{f"modes/{name}.yaml": text for name, text in MODES.items()},
    }
    for position, (heading, block) in enumerate(blocks()):
        if heading in SECTION_OF:
            text = f"{SECTION_OF[heading]}:\n{indent(block, '  ')}"
        else:
            text = MORE_FORMULAS + indent(block, "  ") if block.startswith("-") else block
        texts[f"example_{position}.yaml"] = text
    return texts


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_spec(tmp_path_factory.mktemp("reference"), files())


@pytest.mark.slow
def test_every_example_of_the_reference_is_part_of_one_sound_spec(examples: Path) -> None:
    analysis = analyse(examples)
    assert analysis.certificate.unproven == ()
    spec = analysis.resolved.spec
    assert {"eager", "decode_graph", "prompt_graph"} == {runner.name for runner in spec.runners}
    assert {"sglang_0_5_23", "more"} == {audit.name for audit in spec.audits}
    assert {"extend", "capture", *MODES} == {mode.name for mode in spec.modes}


def test_every_section_of_the_language_is_in_the_reference() -> None:
    text = REFERENCE.read_text()
    for section in SECTIONS:
        assert f"`{section}`" in text, section


@pytest.mark.slow
def test_every_key_that_is_written_is_in_the_reference(examples: Path) -> None:
    text = REFERENCE.read_text()
    for path, content in written(read(examples)[1].spec).items():
        for key in re.findall(r"(?:^|[{,] ?)([a-z_]+): ", content, re.MULTILINE):
            assert key in text, (path, key)


def test_every_code_that_the_reference_names_is_in_the_catalogue() -> None:
    for found in set(re.findall(r"\bU\d{3}\b", REFERENCE.read_text())):
        assert code(found).id == found


def test_the_limits_and_words_in_the_reference_are_those_of_the_compiler() -> None:
    text = " ".join(REFERENCE.read_text().split())
    assert f"at most {MAX_LENGTH} characters and is nested at most {MAX_DEPTH} deep" in text
    assert MAX_LITERAL == 2**63
    assert "a literal is at most 2^63" in text
    assert f"left out where {MOST_TRIALS} combinations of them do not tell" in text
    *first, last = (f"`{dtype}`" for dtype in BYTES_OF_DTYPE)
    assert f"Dtypes are {', '.join(first)} and {last}." in text
    assert all(f"| `{verdict}` |" in text for verdict in VERDICTS)
