"""Built kernels are kept by what they are made from; a compiler that writes a file is enough."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from support.kernel_workshop import Workshop
from ullage_runtime.native.build import build_host_library, built_host_library, kept_folder
from ullage_runtime.native.build_command import build_kernels
from ullage_runtime.native.toolchain import BuildError


@pytest.fixture
def no_usual_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ullage_runtime.native.targets.USUAL", Path("nowhere"))


def test_a_kernel_is_built_once_and_then_found(tmp_path: Path) -> None:
    workshop = Workshop.of(tmp_path)
    library = workshop.library()
    assert library.read_text() == "whole library"
    assert library.parent == tmp_path / "kernels"
    assert workshop.library() == library
    assert workshop.calls == 1


def test_whatever_a_library_follows_from_makes_another_one(tmp_path: Path) -> None:
    workshop = Workshop.of(tmp_path)
    libraries = {workshop.library(), workshop.library("10.0")}
    workshop.kernel.write_text("other slots")
    libraries.add(workshop.library())
    libraries.add(replace(workshop, interface=replace(workshop.interface, version="2")).library())
    assert len(libraries) == workshop.calls == 4


def test_another_compiler_builds_another_library(tmp_path: Path) -> None:
    first = Workshop.of(tmp_path / "first")
    second = Workshop.of(tmp_path / "second")
    (tmp_path / "second" / "cuda" / "bin" / "version").write_text("release 2")
    assert first.library().name != second.library().name


def test_the_compiler_is_told_the_architecture_and_where_headers_are(tmp_path: Path) -> None:
    workshop = Workshop.of(tmp_path)
    workshop.library("9.0")
    (line,) = (tmp_path / "cuda" / "bin" / "calls").read_text().splitlines()
    assert "-gencode=arch=compute_90,code=sm_90" in line
    assert f"-I{tmp_path}/headers" in line
    assert f"-L{tmp_path}/lib -ltvm_ffi" in line


def test_many_builders_at_once_build_once(tmp_path: Path) -> None:
    workshop = Workshop.of(tmp_path, seconds=0.2)
    with ThreadPoolExecutor(8) as pool:
        found = {each.result() for each in [pool.submit(workshop.library) for _ in range(8)]}
    assert len(found) == workshop.calls == 1
    assert found.pop().read_text() == "whole library"


@pytest.mark.slow
def test_a_build_that_was_killed_leaves_nothing_that_others_take(tmp_path: Path) -> None:
    workshop = Workshop.of(tmp_path, seconds=2.0)
    builder = start_building(workshop)
    folder = tmp_path / "kernels"
    while not (folder.exists() and list(folder.glob("*.partial"))):
        assert builder.poll() is None
    builder.kill()
    builder.wait()
    assert not list(folder.glob("*.so")), "its compiler goes on, and must not be mixed up with"
    assert workshop.library().read_text() == "whole library"
    assert workshop.calls == 2
    assert not list(folder.glob("*.partial"))


def start_building(workshop: Workshop) -> subprocess.Popen[bytes]:
    """Another process that makes the library of the workshop."""
    program = (
        "import sys, pathlib; from ullage_runtime.native.build import library_of\n"
        "from ullage_runtime.native.targets import CudaTarget\n"
        "from ullage_runtime.native.toolchain import Interface\n"
        "kernel, home, cache, headers, library, version = sys.argv[1:]\n"
        "environment = {'CUDA_HOME': home, 'PATH': '', 'ULLAGE_CACHE_DIR': cache}\n"
        "interface = Interface((pathlib.Path(headers),), pathlib.Path(library), version)\n"
        "target = CudaTarget('9.0')\n"
        "library_of(pathlib.Path(kernel), target, interface=interface, environment=environment)"
    )
    interface, folder = workshop.interface, workshop.folder
    arguments = [workshop.kernel, folder / "cuda", folder, *interface.includes, interface.library]
    return subprocess.Popen([sys.executable, "-c", program, *arguments, interface.version])


def test_what_the_compiler_says_is_told_and_nothing_is_kept(tmp_path: Path) -> None:
    workshop = Workshop.of(tmp_path, status=1)
    with pytest.raises(BuildError, match="no such type"):
        workshop.library()
    assert [path.suffix for path in (tmp_path / "kernels").iterdir()] == [".lock"]


@pytest.mark.usefixtures("no_usual_compiler")
def test_without_a_compiler_what_another_one_built_is_taken(tmp_path: Path) -> None:
    workshop = Workshop.of(tmp_path)
    library = workshop.library()
    assert workshop.without_compiler().library() == library
    with pytest.raises(BuildError, match="no nvcc"):
        workshop.library("8.0")


def test_the_library_of_a_cpu_is_built_by_the_compiler_of_cxx_only_when_asked(
    tmp_path: Path,
) -> None:
    workshop = Workshop.of(tmp_path)
    environment, interface = workshop.host_environment, workshop.interface
    assert built_host_library(environment=environment, interface=interface) is None
    assert workshop.calls == 0
    library = build_host_library(environment=environment, interface=interface)
    assert workshop.calls == 1
    assert built_host_library(environment=environment, interface=interface) == library
    other = replace(interface, version="2")
    assert built_host_library(environment=environment, interface=other) is None


def test_without_a_compiler_of_cxx_no_library_of_a_cpu_is_built(tmp_path: Path) -> None:
    workshop = Workshop.of(tmp_path).without_compiler()
    with pytest.raises(BuildError, match=r"no C\+\+ compiler"):
        build_host_library(environment=workshop.host_environment, interface=workshop.interface)


def test_an_architecture_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match="compute capability"):
        Workshop.of(tmp_path).library("hopper")


def test_a_folder_that_cannot_be_written_is_no_place(tmp_path: Path) -> None:
    workshop = Workshop.of(tmp_path)
    (tmp_path / "kernels").write_text("a file")
    with pytest.raises(BuildError, match="kernels"):
        workshop.library()


def test_kernels_lie_beside_what_the_compiler_remembers(tmp_path: Path) -> None:
    assert kept_folder({"ULLAGE_CACHE_DIR": str(tmp_path)}) == tmp_path / "kernels"
    assert kept_folder({"XDG_CACHE_HOME": str(tmp_path)}) == tmp_path / "ullage" / "kernels"
    fleeting = kept_folder({"ULLAGE_NO_CACHE": "1", "ULLAGE_CACHE_DIR": str(tmp_path)})
    assert fleeting.is_dir()
    assert tmp_path not in fleeting.parents


def test_every_kernel_of_a_folder_is_built_ahead_for_every_architecture(tmp_path: Path) -> None:
    workshop = Workshop.of(tmp_path)
    workshop.kernel.with_name("decode.cu").write_text("others")
    lines: list[str] = []
    build_kernels(
        tmp_path / "package",
        ["9.0", "10.0", "9.0"],
        lines.append,
        environment=workshop.environment,
        interface=workshop.interface,
    )
    assert workshop.calls == len(lines) == 4
    assert lines[0].startswith("kernels/decode.cu for 9.0: ")


def test_a_folder_without_kernels_is_said_to_have_none(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match="no generated kernel"):
        build_kernels(tmp_path, ["9.0"], print)
