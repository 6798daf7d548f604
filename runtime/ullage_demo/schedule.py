"""Continuous batching: who runs in the next step, and how many tokens of each prompt."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from ullage_demo.paged_kv import RequestTable
from ullage_generated.sglang import Mode


@dataclass(frozen=True, slots=True)
class Request:
    """A prompt to continue by `new_tokens`; it arrives before step number `arrival`."""

    prompt: tuple[int, ...]
    new_tokens: int
    arrival: int = 0

    @property
    def length(self) -> int:
        return len(self.prompt) + self.new_tokens


@dataclass(slots=True, eq=False)
class RunningSequence:
    """A request in progress: `cached` of its `tokens` have keys and values in the pool."""

    request: Request
    row: int
    tokens: list[int]
    cached: int = 0

    @property
    def decodes(self) -> bool:
        """All but the last token is cached, and the prompt is behind it."""
        return self.cached >= len(self.request.prompt)

    @property
    def finished(self) -> bool:
        return len(self.tokens) >= self.request.length

    @property
    def output(self) -> tuple[int, ...]:
        """The tokens that were asked for, and none of those that speculation adds past them."""
        return tuple(self.tokens[len(self.request.prompt) : self.request.length])


@dataclass(frozen=True, slots=True)
class Chunk:
    """The next `length` tokens of a sequence that are not cached yet."""

    sequence: RunningSequence
    length: int

    @property
    def tokens(self) -> tuple[int, ...]:
        start = self.sequence.cached
        return tuple(self.sequence.tokens[start : start + self.length])


@dataclass(frozen=True, slots=True)
class Step:
    """What the engine does next. The last `decodes` chunks are those of decoding sequences."""

    mode: Mode
    chunks: tuple[Chunk, ...] = ()
    decodes: int = 0

    @property
    def sequences(self) -> list[RunningSequence]:
        return [chunk.sequence for chunk in self.chunks]


@dataclass(slots=True)
class Scheduler:
    """First come, first served; prompts go before decodes, in chunks of one token budget.

    `budget`: most tokens of an extend or mixed step; `window`: slots that a sequence needs past
    its own tokens; `mixes`: let running decodes take part in the chunks of others.
    """

    requests: Iterable[Request]
    table: RequestTable
    max_running: int
    budget: int
    window: int = 0
    mixes: bool = False
    running: list[RunningSequence] = field(default_factory=list)
    outputs: dict[int, tuple[int, ...]] = field(default_factory=dict)
    _waiting: deque[tuple[int, Request]] = field(init=False)
    _numbers: dict[int, int] = field(init=False, default_factory=dict)
    _step: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        """ValueError if running decodes could leave no token of the budget to a prompt."""
        if self.budget <= (self.max_running if self.mixes else 0):
            raise ValueError(f"A budget of {self.budget} tokens leaves none for prompts.")
        self._waiting = deque(enumerate(self.requests))

    def next_step(self) -> Step | None:
        """The next step; IDLE if nobody has arrived yet, None when all requests are served."""
        self._retire()
        self._admit()
        self._step += 1
        if not self.running:
            return Step(Mode.IDLE) if self._waiting else None
        decoding = self.decoding()
        if len(decoding) == len(self.running):
            return Step(Mode.DECODE, tuple(Chunk(each, 1) for each in decoding), len(decoding))
        joining = decoding if self.mixes else []
        prefills = self._prompt_chunks(self.budget - len(joining))
        chunks = (*prefills, *(Chunk(each, 1) for each in joining))
        return Step(Mode.MIXED if joining else Mode.EXTEND, chunks, len(joining))

    def decoding(self) -> list[RunningSequence]:
        """Running sequences whose prompt is cached and that want more tokens."""
        return [each for each in self.running if each.decodes and not each.finished]

    def serve(self, execute: Callable[[Step], None]) -> list[tuple[int, ...]]:
        """Run every step until all requests are served; outputs in the requests' order."""
        while (step := self.next_step()) is not None:
            execute(step)
        return self.results()

    def results(self) -> list[tuple[int, ...]]:
        """Outputs of the served requests, in the order in which the requests were given."""
        return [self.outputs[number] for number in sorted(self.outputs)]

    def _prompt_chunks(self, budget: int) -> list[Chunk]:
        chunks: list[Chunk] = []
        for sequence in self.running:
            left = len(sequence.request.prompt) - sequence.cached
            length = min(left, budget)
            if length > 0:
                chunks.append(Chunk(sequence, length))
                budget -= length
        return chunks

    def _admit(self) -> None:
        while self._waiting and len(self.running) < self.max_running:
            number, request = self._waiting[0]
            length = request.length + self.window
            if request.arrival > self._step or not self.table.fits(length):
                return
            self._waiting.popleft()
            row = self.table.admit(length)
            self._numbers[row] = number
            self.running.append(RunningSequence(request, row, list(request.prompt)))

    def _retire(self) -> None:
        for sequence in [each for each in self.running if each.finished]:
            self.running.remove(sequence)
            self.outputs[self._numbers.pop(sequence.row)] = sequence.output
            self.table.release(sequence.row)
