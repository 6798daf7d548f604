"""Imports SGLang's measured files without the rest of SGLang.

A finder serves every `sglang.*` name: the measured files as they are, small answers written here
for the modules that they call, and for all others an empty module whose names raise when called,
so that nothing that is left out is used unnoticed. No package's `__init__` is run. Only torch is
needed, and triton for SGLang's copies on a GPU. `ForwardBatch.init_new` and what pads over ranks
reach into what is left out and do not work; batches come from `batches`.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Final, NoReturn

import torch

from sglang_peer.wheel import DIGESTS, path_of, sources

READ_AS_TEXT: Final = "sglang.srt.model_executor.runner.eager_runner"
"""One method is compiled out of this file, which is not imported: it needs all of SGLang."""


class LeftOutError(Exception):
    """SGLang called something that the comparison leaves out, so that it would mean nothing."""


class EmptyModule(ModuleType):
    """A module that has every name: a class, to serve in annotations, checks and bases too."""

    def __getattr__(self, name: str) -> type:
        if name.startswith("__"):
            raise AttributeError(name)
        title = f"{self.__name__}.{name}"

        def refuse(cls: type, *_: object, **__: object) -> NoReturn:
            raise LeftOutError(f"{title} was called")

        made = type(name, (), {"__new__": refuse, "__module__": self.__name__})
        setattr(self, name, made)
        return made


def _utils() -> Mapping[str, object]:
    """What `sglang.srt.utils` answers on a CPU or with CUDA. Asked at import and on building."""

    def get_bool_env_var(name: str, default: str = "false") -> bool:
        return os.getenv(name, default).lower() in ("true", "1")

    return {
        "is_npu": lambda: False,
        "is_hip": lambda: torch.version.hip is not None,
        "is_cpu": lambda: get_bool_env_var("SGLANG_USE_CPU_ENGINE"),
        "get_bool_env_var": get_bool_env_var,
        "support_triton": lambda backend: backend not in ("torch_native", "intel_amx"),
    }


def _common() -> Mapping[str, object]:
    return {
        "ceil_align": lambda value, multiple: -(-value // multiple) * multiple,
        "is_pin_memory_available": lambda device=None: torch.cuda.is_available(),
    }


def _context() -> Mapping[str, object]:
    """One GPU. Read on building, and by the count of real tokens where that is sharded."""
    parallel = SimpleNamespace(
        num_dp_ranks=1, attn_tp_size=1, attn_tp_rank=0, attn_dcp_size=1, attn_dcp_rank=0, pp_size=1
    )
    return {"get_parallel": lambda: parallel}


_ANSWERED: Final[Mapping[str, Callable[[], Mapping[str, object]]]] = {
    "sglang.srt.utils": _utils,
    "sglang.srt.utils.common": _common,
    "sglang.srt.runtime_context": _context,
}


class _Finder(MetaPathFinder, Loader):
    """Leaves every name but SGLang's alone."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name.partition(".")[0] != "sglang":
            return None
        if name in DIGESTS and name != READ_AS_TEXT:
            return spec_from_file_location(name, path_of(self._root, name))
        return ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = EmptyModule(spec.name)
        module.__path__ = []
        return module

    def exec_module(self, module: ModuleType) -> None:
        if module.__name__ in _ANSWERED:
            vars(module).update(_ANSWERED[module.__name__]())


def install() -> Path:
    """Make SGLang's measured modules importable; returns the folder that they lie in.

    ForeignSourceError as of `wheel.sources`; RuntimeError where an installed SGLang is in use.
    """
    for finder in sys.meta_path:
        if isinstance(finder, _Finder):
            return finder._root
    if "sglang" in sys.modules:
        raise RuntimeError("An installed sglang is imported already, and would be mixed in.")
    finder = _Finder(sources())
    sys.meta_path.insert(0, finder)
    return finder._root


def module(name: str) -> ModuleType:
    """One of SGLang's measured modules, such as `srt.environ`."""
    install()
    return importlib.import_module(f"sglang.{name}")


FAST_PATH: Final = "SGLANG_OPT_CUDA_GRAPH_FILL_FAST_PATH"
"""SGLang's switch for its other way to fill. It reads it from the environment on each call."""


@contextmanager
def fast_path(enabled: bool) -> Iterator[None]:
    """SGLang's fast path on or off; the better of the two is what counts."""
    before = os.environ.pop(FAST_PATH, None)
    if enabled:
        os.environ[FAST_PATH] = "1"
    try:
        yield
    finally:
        os.environ.pop(FAST_PATH, None)
        if before is not None:
            os.environ[FAST_PATH] = before
