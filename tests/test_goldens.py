"""The golden fixture itself: it must fail where texts differ, and write only when told to."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from golden_files import compare_with_golden


def test_equal_text_passes(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"rows = 7\n")
    compare_with_golden(tmp_path / "a.txt", "rows = 7\n", update=False)


def test_a_difference_fails_with_a_diff(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"rows = 7\n")
    with pytest.raises(pytest.fail.Exception, match=r"(?s)-rows = 7\n\+rows = 8"):
        compare_with_golden(tmp_path / "a.txt", "rows = 8\n", update=False)


def test_a_difference_in_line_ends_alone_fails(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"rows = 7\r\n")
    with pytest.raises(pytest.fail.Exception, match="line ends"):
        compare_with_golden(tmp_path / "a.txt", "rows = 7\n", update=False)


def test_the_flag_writes_what_was_produced(tmp_path: Path) -> None:
    compare_with_golden(tmp_path / "folder" / "a.txt", "rows = 8\n", update=True)
    compare_with_golden(tmp_path / "folder" / "a.txt", "rows = 8\n", update=False)


def test_a_missing_golden_names_the_flag(
    request: pytest.FixtureRequest, golden: Callable[[str, str], None]
) -> None:
    if request.config.getoption("--update-goldens"):
        pytest.skip("with the flag a missing golden is written")
    with pytest.raises(pytest.fail.Exception, match="--update-goldens"):
        golden("nobody writes this one.txt", "rows = 8\n")
