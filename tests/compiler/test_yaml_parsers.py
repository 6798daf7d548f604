"""Two parsers read YAML: the quick one is trusted only where the other one reads the same."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.diagnostics.diagnostic import Collector
from ullage.text.compose import SPEC_RULE, Composer
from ullage.text.positions import Source
from ullage.text.yaml_source import QUICK, composed_quickly

SPECS = Path(__file__).parents[2] / "specs"
LINES = [line for path in sorted(SPECS.rglob("*.yaml")) for line in path.read_text().splitlines()]
INSERTED = (
    *"{}[]:,-#'\"|>&*!%@`\n ",
    ": ",
    " - ",
    "\n  ",
    "'é'",
    '"a\\u00e9b"',
    " |\n    ",
    "[a: b]",
)


@st.composite
def nearly_specs(draw: st.DrawFn) -> str:
    """Some lines of a spec with a few changes."""
    start = draw(st.integers(0, len(LINES) - 8))
    text = "\n".join(LINES[start : start + draw(st.integers(1, 8))])
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(text)))
        text = text[:at] + draw(st.sampled_from(INSERTED)) + text[at + draw(st.integers(0, 1)) :]
    return text


@pytest.mark.skipif(QUICK is None, reason="PyYAML was built without libyaml")
@given(nearly_specs())
def test_what_the_quick_parser_accepts_is_what_the_other_one_reads(text: str) -> None:
    tree = composed_quickly(Source("specs/a.yaml", text), SPEC_RULE)
    if tree is not None:
        collector = Collector()
        assert Composer(Source("specs/a.yaml", text), collector).compose() == tree
        assert collector.diagnostics == ()


@pytest.mark.skipif(QUICK is None, reason="PyYAML was built without libyaml")
@pytest.mark.parametrize("path", sorted(SPECS.rglob("*.yaml")), ids=lambda path: path.stem)
def test_a_spec_is_what_either_parser_reads(path: Path) -> None:
    source = Source("specs/a.yaml", path.read_text())
    quick = composed_quickly(source, SPEC_RULE)
    assert quick is None or quick == Composer(source, Collector()).compose()
