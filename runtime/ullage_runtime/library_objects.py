"""Objects of a vendor's library, which generated wrappers make, plan and run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Protocol, cast

from torch import Tensor

from ullage_runtime.errors import WrapperError


class LibraryObject(Protocol):
    """What a class of a library gives: an object that is planned before each step, and run."""

    @property
    def plan(self) -> Callable[..., object]:
        """Prepares the next runs; takes keyword arguments."""
        ...

    @property
    def run(self) -> Callable[..., Tensor]:
        """Launches kernels; takes positional arguments."""
        ...


@dataclass(frozen=True, slots=True)
class Declaration:
    """What a spec says of one wrapper.

    `library`: the dotted name of a class; `condition`: where the wrapper exists; `place`: the spec
    line that declares it.
    """

    wrapper: str
    library: str
    condition: str
    place: str

    def require(self, exists: bool) -> None:
        """WrapperError U741 where the configuration is none that has the wrapper."""
        if not exists:
            raise self._error("U741", f"exists only where {self.condition}, and not here")

    def require_index(self, name: str, index: int, count: int) -> None:
        """WrapperError U742 for an index, called `name`, that is none of `count`."""
        if not 0 <= index < count:
            problem = f"has {count} objects, each for one {name} from 0 on, but {name} is {index}"
            raise self._error("U742", problem)

    def slot(
        self,
        name: str,
        slot: Tensor | None,
        only: str,
        *,
        at: int | None = None,
        flat: bool = False,
    ) -> Tensor:
        """A slot of a batch, or its row `at`, if `flat` in one axis; always the slot's storage.

        `only`: of which batches the slot is part. WrapperError U743 if it is not part of this one,
        U744 if only a copy would be in one axis.
        """
        if slot is None:
            problem = f"needs slot {name}, which is None in this batch: it is loaded only {only}"
            raise self._error("U743", problem)
        seen = slot if at is None else slot[at]
        if not flat:
            return seen
        if not seen.is_contiguous():
            shape, strides = tuple(seen.shape), seen.stride()
            problem = f"needs slot {name} in one axis, but {shape} with strides {strides} has gaps"
            raise self._error("U744", problem)
        return seen.view(-1)

    def made(self, **arguments: object) -> LibraryObject:
        """An object of the library. WrapperError U745 if the library or its class is missing."""
        return self._class()(**arguments)

    def _class(self) -> Callable[..., LibraryObject]:
        module, _, name = self.library.rpartition(".")
        try:
            imported = import_module(module)
        except ImportError as error:
            problem = f"needs {self.library}, but {module} cannot be imported: {error}"
            raise self._error("U745", problem) from error
        found: object = getattr(imported, name, None)
        if not isinstance(found, type):
            raise self._error("U745", f"needs {self.library}, but {module} has no class {name}")
        return cast("Callable[..., LibraryObject]", found)

    def _error(self, code: str, problem: str) -> WrapperError:
        return WrapperError(code, self.wrapper, problem, place=self.place)
