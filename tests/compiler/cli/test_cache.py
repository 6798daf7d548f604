"""The cache of compilations: what it keeps, and that nothing wrong comes out of it."""

from __future__ import annotations

import os
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage import cache as module
from ullage.cache import Cache, cache_of, compiler_digest, installed, key_of

KEY = "a" * 64


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "kept"


def entries(cache: Cache) -> list[str]:
    return sorted(path.name for path in cache.folder.iterdir())


def test_a_stored_text_is_loaded_again(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "deep" / "cache")
    cache.store(KEY, "capacity ✓\n")
    assert cache.load(KEY) == "capacity ✓\n"
    assert cache.load("b" * 64) is None


@given(data=st.data())
def test_a_damaged_entry_counts_as_absent(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    cache = Cache(tmp_path_factory.mktemp("cache"))
    cache.store(KEY, "one text that was kept")
    (path,) = cache.folder.iterdir()
    stored = path.read_bytes()
    index = data.draw(st.integers(min_value=0, max_value=len(stored) - 1))
    if data.draw(st.booleans()):
        path.write_bytes(stored[:index])
    else:
        other = data.draw(st.integers(0, 255).filter(lambda byte: byte != stored[index]))
        path.write_bytes(stored[:index] + bytes([other]) + stored[index + 1 :])
    assert cache.load(KEY) is None
    cache.store(KEY, "a new text")
    assert cache.load(KEY) == "a new text"


def test_the_entries_used_last_stay_when_there_are_too_many(folder: Path) -> None:
    cache = Cache(folder, max_entries=3)
    for age, key in enumerate("dcba"):
        cache.store(key, key * 10)
        os.utime(folder / f"{key}.entry", ns=(10**9 + age, 10**9 + age))
    assert cache.load("c") is not None  # now the one used last
    cache.store("e", "new")
    assert entries(cache) == ["a.entry", "c.entry", "e.entry"]


def test_the_oldest_entries_go_when_all_are_too_large(folder: Path) -> None:
    cache = Cache(folder, max_bytes=400)
    for age, key in enumerate("abc"):
        cache.store(key, key * 100)
        os.utime(folder / f"{key}.entry", ns=(10**9 + age, 10**9 + age))
    assert entries(cache) == ["b.entry", "c.entry"]


def test_an_entry_larger_than_the_whole_cache_is_kept_alone(folder: Path) -> None:
    cache = Cache(folder, max_bytes=300)
    cache.store("a", "a" * 100)
    cache.store("b", "b" * 1000)
    assert entries(cache) == ["b.entry"]


def test_a_cache_that_cannot_be_written_keeps_nothing_and_says_nothing(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    cache = Cache(blocked / "cache")
    cache.store(KEY, "text")
    assert cache.load(KEY) is None


@pytest.mark.parametrize("name", ["x" * 300, "nul\0", "loop/below"])
def test_a_cache_that_cannot_be_looked_at_has_nothing(tmp_path: Path, name: str) -> None:
    (tmp_path / "loop").symlink_to("loop")
    cache = Cache(tmp_path / name)
    assert not cache.has(KEY)
    assert cache.load(KEY) is None


def test_an_interrupted_store_leaves_nothing_aside(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(source: str, target: Path) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        Cache(folder).store(KEY, "text")
    assert list(folder.iterdir()) == []


def test_the_environment_names_the_folder(tmp_path: Path) -> None:
    assert cache_of({"ULLAGE_CACHE_DIR": str(tmp_path)}) == Cache(tmp_path)
    assert cache_of({"XDG_CACHE_HOME": str(tmp_path)}) == Cache(tmp_path / "ullage")


@pytest.mark.parametrize("switch", ["1", "true"])
def test_the_environment_switches_the_cache_off(switch: str, tmp_path: Path) -> None:
    assert cache_of({"ULLAGE_NO_CACHE": switch, "ULLAGE_CACHE_DIR": str(tmp_path)}) is None


@pytest.mark.parametrize("switch", ["", "0"])
def test_an_empty_switch_leaves_the_cache_on(switch: str, tmp_path: Path) -> None:
    found = cache_of({"ULLAGE_NO_CACHE": switch, "ULLAGE_CACHE_DIR": str(tmp_path)})
    assert found == Cache(tmp_path)


def test_a_relative_user_folder_is_not_taken(tmp_path: Path) -> None:
    found = cache_of({"XDG_CACHE_HOME": "here"})
    assert found is not None
    assert found.folder.is_absolute()


def test_the_key_follows_spec_options_and_versions(monkeypatch: pytest.MonkeyPatch) -> None:
    key = key_of("digest", "prefix")
    assert key == key_of("digest", "prefix")
    others = {key_of("digest2", "prefix"), key_of("digest", "other"), key_of("digestprefix")}
    monkeypatch.setattr(module, "__version__", "0.0.1")
    others.add(key_of("digest", "prefix"))
    assert key not in others
    assert len(others) == 4


def test_the_key_follows_the_compilers_own_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_PACKAGE", tmp_path)
    digests = set()
    for name, text in (("a.py", "x"), ("a.py", "y"), ("templates.j2", "y")):
        (tmp_path / name).write_text(text)
        compiler_digest.cache_clear()
        digests.add(compiler_digest())
    (tmp_path / "__pycache__").mkdir()
    (tmp_path / "__pycache__" / "a.pyc").write_text("z")
    compiler_digest.cache_clear()
    assert compiler_digest() in digests
    assert len(digests) == 3
    compiler_digest.cache_clear()


def test_versions_are_those_that_the_installation_states() -> None:
    packages = ("ruff", "sympy", "jinja2")
    stated = tuple(f"{name}-{version(name)}" for name in packages)
    found = installed(packages, sys.path)
    assert found is not None
    assert tuple(name.lower() for name in found) == stated


def test_without_a_version_there_is_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    assert installed(("ruff", "no_such_package"), sys.path) is None
    monkeypatch.setattr(module, "_DEPENDENCIES", ("no_such_package",))
    assert key_of("digest") is None
