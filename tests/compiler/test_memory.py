"""What is remembered is asked only once, and only where nothing of the question has changed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from ullage import cache as cache_module
from ullage.cache import Cache
from ullage.memory import NOTHING, Memory, memory_of
from ullage.processes import at_once


@dataclass(frozen=True, slots=True)
class Square:
    """An answer."""

    of: int
    value: int


@dataclass(frozen=True, slots=True)
class Cube:
    """Another one, with the same fields."""

    of: int
    value: int


@dataclass(frozen=True, slots=True)
class Nested:
    """A question of any depth."""

    inner: Nested | None


@dataclass
class Asked:
    """Squares numbers, and remembers which ones."""

    numbers: list[int] = field(default_factory=list)

    def square(self, number: int) -> Square:
        self.numbers.append(number)
        return Square(number, number * number)

    def squares(self, memory: Memory, numbers: Sequence[int]) -> list[Square]:
        return memory.answers(Square, self.square, numbers, lambda number: (number,))


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    return Memory(Cache(tmp_path / "kept"))


def of(*numbers: int) -> list[Square]:
    return [Square(number, number * number) for number in numbers]


def entries(memory: Memory) -> list[Path]:
    assert memory.cache is not None
    return sorted(memory.cache.folder.iterdir())


def test_only_new_questions_are_asked_and_answers_keep_their_places(memory: Memory) -> None:
    asked = Asked()
    assert asked.squares(memory, [5, 3]) == of(5, 3)
    assert asked.squares(memory, [2, 3, 7, 5]) == of(2, 3, 7, 5)
    assert asked.numbers == [5, 3, 2, 7]


def test_without_a_cache_everything_is_asked_anew() -> None:
    asked = Asked()
    assert asked.squares(NOTHING, [5]) == asked.squares(NOTHING.about("more"), [5]) == of(5)
    assert asked.numbers == [5, 5]


def test_whether_an_answer_is_kept_is_seen_without_reading_it(memory: Memory) -> None:
    assert not memory.has(Square, 3)
    Asked().squares(memory, [3])
    assert memory.has(Square, 3)
    assert not memory.has(Square, 4)
    assert not memory.has(Cube, 3)
    assert not memory.about("more").has(Square, 3)
    assert not NOTHING.has(Square, 3)


def test_new_questions_are_shared_out(memory: Memory) -> None:
    asked = Asked()
    asked.squares(memory, [4])
    found = memory.answers(Square, asked.square, [1, 4, 6], lambda number: (number,), at_once)
    assert found == of(1, 4, 6)
    assert Asked().squares(memory, [1, 6]) == of(1, 6)


def test_what_all_questions_have_in_common_is_part_of_each(memory: Memory) -> None:
    asked = Asked()
    for about in (memory, memory.about(1), memory.about(1, 2), memory.about(1).about(2)):
        asked.squares(about, [3])
    assert asked.numbers == [3] * 4
    asked.squares(memory.about(1), [3])
    assert asked.numbers == [3] * 4


def test_an_answer_of_one_kind_is_none_of_another(memory: Memory) -> None:
    Asked().squares(memory, [3])
    assert memory.answer(Cube, lambda: Cube(3, 27), 3) == Cube(3, 27)


def test_another_compiler_remembers_nothing(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = Asked()
    asked.squares(memory, [3])
    monkeypatch.setattr(cache_module, "compiler_digest", lambda: "another")
    asked.squares(memory, [3])
    assert asked.numbers == [3, 3]


@pytest.mark.parametrize(
    "damaged",
    [
        lambda stored: b"",
        lambda stored: stored[:-3],
        lambda stored: stored.replace(b"9", b"8"),
        lambda stored: b"not\xff a text\n" + stored,
    ],
)
def test_a_damaged_answer_is_asked_for_again(
    memory: Memory, damaged: Callable[[bytes], bytes]
) -> None:
    asked = Asked()
    asked.squares(memory, [3])
    (entry,) = entries(memory)
    stored = entry.read_bytes()
    entry.write_bytes(damaged(stored))
    assert asked.squares(memory, [3]) == of(3)
    assert asked.numbers == [3, 3]
    assert entry.read_bytes() == stored


def test_an_answer_in_the_place_of_another_is_asked_for_again(memory: Memory) -> None:
    asked = Asked()
    asked.squares(memory, [3])
    (three,) = entries(memory)
    asked.squares(memory, [4])
    (four,) = {*entries(memory)} - {three}
    three.write_bytes(four.read_bytes())
    assert asked.squares(memory, [3]) == of(3)
    assert asked.numbers == [3, 4, 3]


@pytest.mark.parametrize("text", ["", "[]", "nonsense", '{"classes": [], "rows": [], "root": 0}'])
def test_an_entry_of_another_form_is_asked_for_again(memory: Memory, text: str) -> None:
    asked = Asked()
    asked.squares(memory, [3])
    assert memory.cache is not None
    (entry,) = entries(memory)
    memory.cache.store(entry.stem, text)
    assert asked.squares(memory, [3]) == of(3)
    assert asked.numbers == [3, 3]


def test_what_a_question_raises_is_raised_and_not_kept(memory: Memory) -> None:
    def fail(number: int) -> Square:
        raise LookupError(number)

    with pytest.raises(LookupError):
        memory.answers(Square, fail, [3], lambda number: (number,))
    assert Asked().squares(memory, [3]) == of(3)


def test_what_comes_first_is_done_each_time_and_nothing_is_kept_if_it_raises(
    memory: Memory,
) -> None:
    asked = Asked()

    def answers(first: Callable[[], None]) -> list[Square]:
        numbers = [3]
        return memory.answers(Square, asked.square, numbers, lambda n: (n,), at_once, first)

    def refuse() -> None:
        raise LookupError

    for _ in range(2):
        with pytest.raises(LookupError):
            answers(refuse)
    done: list[str] = []
    assert answers(lambda: done.append("first")) == of(3)
    asked.numbers.clear()
    assert answers(lambda: done.append("second")) == of(3)
    with pytest.raises(LookupError):
        answers(refuse)
    assert (done, asked.numbers) == (["first", "second"], [])


def test_what_is_nested_too_deeply_is_not_remembered_and_no_error(memory: Memory) -> None:
    deep: Nested | None = None
    for _ in range(5000):
        deep = Nested(deep)
    asked = Asked()
    for _ in range(2):
        assert memory.answer(Square, lambda: asked.square(3), deep) == Square(3, 9)
        assert memory.about(deep).answer(Square, lambda: asked.square(4)) == Square(4, 16)
        assert memory.answer(Nested, lambda: Nested(deep), "deep").inner is deep
    assert asked.numbers == [3, 4, 3, 4]


def test_the_environment_switches_it_off(tmp_path: Path) -> None:
    named = {"ULLAGE_CACHE_DIR": str(tmp_path)}
    assert memory_of(named) == Memory(Cache(tmp_path))
    assert memory_of({**named, "ULLAGE_NO_CACHE": "1"}) == NOTHING
