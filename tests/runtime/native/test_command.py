"""`ullage build-kernels`: what is built, and what is said where nothing can be."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.kernel_workshop import Workshop
from ullage.cli import main
from ullage_runtime.native import build
from ullage_runtime.native.build import built_host_library
from ullage_runtime.native.toolchain import BuildError, Interface


@pytest.fixture
def workshop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workshop:
    made = Workshop.of(tmp_path)
    for name, value in {**made.host_environment, **made.environment}.items():
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


def test_one_library_is_built_for_all_runners_on_the_cpu(
    workshop: Workshop, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["build-kernels", "--device", "cpu"]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    who, _, library = line.partition(": ")
    assert who == "all runners on the CPU"
    assert Path(library) == built_host_library()


@pytest.mark.parametrize(
    "arguments",
    [["--device", "cpu", "generated"], ["--device", "cpu", "--arch", "9.0"], ["--arch", "9.0"]],
)
def test_a_folder_and_architectures_are_for_cuda_only(
    workshop: Workshop, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["build-kernels", *arguments]) == 2
    assert "folder" in capsys.readouterr().err
    assert workshop.calls == 0


def test_a_folder_without_kernels_is_wrong_usage(
    workshop: Workshop, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["build-kernels", str(workshop.folder / "cuda"), "--arch", "9.0"]) == 2
    assert "there is no generated kernel below" in capsys.readouterr().err


def test_what_is_missing_is_named(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse() -> Interface:
        raise BuildError("tvm_ffi is missing; the extra 'native' installs it")

    monkeypatch.setattr(build.Interface, "installed", refuse)
    assert main(["build-kernels", str(workshop.folder / "package"), "--arch", "9.0"]) == 2
    assert capsys.readouterr().err == "ullage: tvm_ffi is missing; the extra 'native' installs it\n"
