"""Plans of loads by what decides about them, so that a shape is checked and laid out once."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping
from enum import Enum
from typing import Generic, TypeAlias, TypeVar

from torch import Tensor

from ullage_runtime.errors import UllageRuntimeError
from ullage_runtime.load_plan import LoadPlan, values_of, with_fields
from ullage_runtime.recipe import ALIKE, BatchT, Recipes
from ullage_runtime.slots import ExtentsT, LiveT
from ullage_runtime.views import RecentlyUsed

ModeT = TypeVar("ModeT")


class Seen:
    """What decides about the extents of a mode's batches, beside the configuration.

    It stands for its mode in keys, being faster to look up than a member of an enum.
    """

    __slots__ = ("_extents", "_numbers", "by_contents", "fields", "key")

    def __init__(
        self,
        numbers: tuple[str, ...] = (),
        extents: tuple[tuple[str, int], ...] = (),
        *,
        by_contents: bool = False,
    ) -> None:
        """`numbers`: fields that hold whole numbers; `extents`: fields of tensors, and the
        dimension of each that counts; `by_contents`: whether elements of a source decide too."""
        self.fields = (*numbers, *(name for name, _ in extents))
        self._numbers = numbers
        self._extents = extents
        self.by_contents = by_contents
        self.key = _key_by(numbers, tuple(name for name, _ in extents))
        """The numbers of a batch, and the shapes of those tensors; None where some are no plain
        ones, which checks have to name. What a batch lacks is as if it were None."""

    def renamed(self, attribute_of: Callable[[str], str]) -> Seen:
        """The same of batches that have other names."""
        return Seen(
            tuple(map(attribute_of, self._numbers)),
            tuple((attribute_of(name), dimension) for name, dimension in self._extents),
            by_contents=self.by_contents,
        )


Key: TypeAlias = tuple[Hashable, ...]


def _key_by(numbers: tuple[str, ...], tensors: tuple[str, ...]) -> Callable[[object], Key | None]:
    """What reads these fields of a batch; see `Seen`. It is a part of every load, and of those of
    prompts it was a tenth before the usual fields were written out."""
    if any("." in name for name in (*numbers, *tensors)):
        return _any_key(numbers, tensors)
    match numbers, tensors:
        case (number,), ():
            return _number_key(number)
        case (number,), (first, second):
            return _prompt_key(number, first, second)
        case _:
            return _any_key(numbers, tensors)


def _number_key(name: str) -> Callable[[object], Key | None]:
    def key(live: object) -> Key | None:
        number = getattr(live, name, None)
        return (number,) if type(number) is int or number is None else None

    return key


def _prompt_key(name: str, first: str, second: str) -> Callable[[object], Key | None]:
    def key(live: object) -> Key | None:
        number = getattr(live, name, None)
        if type(number) is not int and number is not None:
            return None
        one, two = getattr(live, first, None), getattr(live, second, None)
        if one is not None:
            if type(one) is not Tensor or one.is_nested:
                return None
            one = one.shape
        if two is not None:
            if type(two) is not Tensor or two.is_nested:
                return None
            two = two.shape
        return number, one, two

    return key


def _any_key(numbers: tuple[str, ...], tensors: tuple[str, ...]) -> Callable[[object], Key | None]:
    read_numbers, read_tensors = (values_of(each, lenient=True) for each in (numbers, tensors))

    def key(live: object) -> Key | None:
        found: list[Hashable] = []
        for number in read_numbers(live):
            if type(number) is not int and number is not None:
                return None
            found.append(number)
        for tensor in read_tensors(live):
            if tensor is None:
                found.append(None)
            elif type(tensor) is Tensor and not tensor.is_nested:
                found.append(tensor.shape)
            else:
                return None
        return tuple(found)

    return key


class PlanCache(Generic[BatchT, LiveT, ExtentsT]):
    """Keeps the plans of a runner; the least recently used ones leave when it is full.

    `recipes`: what makes them.
    """

    def __init__(
        self,
        recipes: Recipes[BatchT, LiveT, ExtentsT],
        seen: Mapping[ModeT, Seen],
        *,
        exchanging: Collection[ModeT] = (),
        limit: int = 1024,
    ) -> None:
        """`exchanging`: modes whose padding depends on other ranks."""
        self.recipes = recipes
        self._seen: dict[object, Seen] = {mode: each for mode, each in seen.items()}
        self._exchanging = frozenset(exchanging)
        self.kept: RecentlyUsed[tuple[LoadPlan[BatchT], ...]] = RecentlyUsed(limit)

    def deciding(self, mode: object, agreed: Hashable) -> Seen | None:
        """What alone decides about batches of a mode; None where something else does too."""
        seen = self._seen.get(mode) if isinstance(mode, Enum) else None
        if seen is None or seen.by_contents or agreed is None:
            return None
        return None if agreed is True and mode in self._exchanging else seen

    def key(self, live: object, mode: object, agreed: Hashable) -> Hashable | None:
        """What stands for all that decides about a batch; None where only its extents do.

        `agreed`: whether it is padded, or the rows that it is padded to.
        """
        seen = self.deciding(mode, agreed)
        numbers = None if seen is None else seen.key(live)
        return None if numbers is None else (seen, numbers, agreed)

    def key_of(self, live: object, mode: object, extents: Hashable) -> Hashable | None:
        """The same by the extents of a batch; None where its numbers are no plain ones."""
        seen = self._seen[mode]
        numbers = seen.key(live)
        return None if numbers is None else (seen, numbers, extents)

    def load(self, key: Hashable, live: object) -> BatchT | None:
        """Load a batch by a plan that is kept; None where none is for such a one."""
        for plan in self.kept.get(key) or ():
            batch = plan.load(live)
            if batch is not None:
                return batch
        return None

    def load_unseen(
        self, key: Hashable, live: LiveT, extents: Callable[[], ExtentsT]
    ) -> BatchT | None:
        """Load a batch of a new shape that nobody has checked, as others like it were.

        Its plan is kept when the shape comes for the second time: of prompts most never do.
        `extents`: finds and checks those, without a look at sources, which is made here. None,
        with nothing written, where there was none like it, or something is wrong: checks say what.
        """
        is_known = self.kept.get(key) is not None
        found: ExtentsT | None = None
        for recipe in self.recipes.known(live):
            if not recipe.loads_unseen:
                continue
            try:
                found = extents() if found is None else found
            except UllageRuntimeError:
                return None  # which sources are wrong is to be said first
            sources = recipe.read.of(live)
            if is_known:
                plan = recipe.plan(live, found, sources)
                if plan is not None and plan.write(sources):
                    self._keep(key, plan)
                    return plan.loaded(live)
                continue
            views = recipe.write(live, found, sources)
            if views is not None:
                self.kept.put(key, ())
                batch = recipe.batch(live.mode, found, views)
                return with_fields(batch, recipe.read.carried_by(live))
        return None

    def load_new(self, key: Hashable | None, live: LiveT, extents: ExtentsT) -> BatchT:
        """Load a batch that was checked, by the plan of one like it or else by a new one.

        Without a key the new one is not kept.
        """
        batch = None if key is None else self.load(key, live)
        if batch is None:
            plan = self.recipes.plan(live, extents)
            batch = plan.load_first(live)
            if key is not None:
                self._keep(key, plan)
        return batch

    def _keep(self, key: Hashable, plan: LoadPlan[BatchT]) -> None:
        others = self.kept.get(key) or ()
        self.kept.put(key, (plan, *others[: ALIKE - 1]))
