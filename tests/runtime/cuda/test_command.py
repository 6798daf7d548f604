"""`ullage build-kernels`: what is built, and what is said where nothing can be."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.kernel_workshop import Workshop
from ullage.cli import main
from ullage_runtime.cuda import build
from ullage_runtime.cuda.toolchain import BuildError, Interface


@pytest.fixture
def workshop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workshop:
    made = Workshop.of(tmp_path)
    for name, value in made.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("ULLAGE_NO_CACHE", raising=False)
    monkeypatch.setattr(Interface, "installed", lambda: made.interface)
    return made


def test_kernels_are_built_for_the_architectures_that_are_named(
    workshop: Workshop, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = str(workshop.folder / "package")
    assert main(["build-kernels", folder, "--arch", "9.0", "--arch", "8.0"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(": ")[0] for line in lines] == [
        "kernels/eager.cu for 9.0",
        "kernels/eager.cu for 8.0",
    ]
    assert all(Path(line.partition(": ")[2]).is_file() for line in lines)


def test_a_folder_without_kernels_is_wrong_usage(
    workshop: Workshop, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["build-kernels", str(workshop.folder / "cuda"), "--arch", "9.0"]) == 2
    assert "there is no generated kernel below" in capsys.readouterr().err


def test_what_is_missing_is_named(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse() -> Interface:
        raise BuildError("tvm_ffi is missing; the extra 'gpu' installs it")

    monkeypatch.setattr(build.Interface, "installed", refuse)
    assert main(["build-kernels", str(workshop.folder / "package"), "--arch", "9.0"]) == 2
    assert capsys.readouterr().err == "ullage: tvm_ffi is missing; the extra 'gpu' installs it\n"
