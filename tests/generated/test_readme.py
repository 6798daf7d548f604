"""The examples of the README are what the project does."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import torch
import yaml

from ullage.configuration.read import parse_configuration
from ullage.configuration.values import complete
from ullage.read import read
from ullage_generated.sglang import Config, SpeculativeAlgorithm

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
DECLARATION, CONFIGURATION = re.findall(r"^```yaml\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)
EXAMPLES = re.findall(r"^```python\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)


def test_the_example_of_using_generated_code_runs(tmp_path: Path) -> None:
    script = tmp_path / "example.py"
    script.write_text(next(each for each in EXAMPLES if each.startswith("import torch")))
    batch = runpy.run_path(str(script))["batch"]
    assert torch.equal(batch.input_ids, torch.tensor([100, 101, 102]))
    assert torch.equal(batch.seq_lens, torch.tensor([8, 9, 10]))


def test_the_generated_lines_that_are_shown_are_generated() -> None:
    shown = next(each for each in EXAMPLES if each.startswith("tokens_per_request"))
    generated = (ROOT / "generated/ullage_generated/sglang/eager_draft.py").read_text()
    without_spaces = [re.sub(r"\s+", "", text) for text in (shown, generated)]
    assert without_spaces[0] in without_spaces[1]


def test_the_declaration_that_is_shown_is_the_one_of_the_mode() -> None:
    assert DECLARATION in (ROOT / "specs/sglang/modes/frozen_kv_draft.yaml").read_text()


def test_the_configuration_that_is_shown_is_one_for_compiler_and_generated_code() -> None:
    _, resolved = read(ROOT / "specs/sglang")
    known = complete(resolved, parse_configuration(CONFIGURATION, "engine.yaml").given)
    config = Config.from_arguments(yaml.safe_load(CONFIGURATION))
    assert config.max_total_tokens_draft == known["max_total_tokens_draft"] == 200000
    assert config.max_total_tokens_target == known["max_total_tokens_target"] == 400000
    assert config.max_running_requests == known["max_running_requests"] == 48
    assert config.speculative_algorithm is SpeculativeAlgorithm.EAGLE
