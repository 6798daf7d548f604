"""Adaptive speculation: the length of the chain changes from round to round, under way.

An engine would follow the acceptance; here the lengths simply take turns, so that each of them,
and jumps in both directions, come up in every run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from itertools import cycle, pairwise

from ullage_demo.checks import Check, accepts_some, equals_generate, saw_modes
from ullage_demo.eagle_draft import EagleDrafter
from ullage_demo.report import Outcome, rows_of
from ullage_demo.runners import Role, Runner
from ullage_demo.schedule import RunningSequence
from ullage_demo.setting import Demo, build_scheduler
from ullage_demo.sizes import Sizes, Speculation
from ullage_demo.speculation import Round, SpeculativeDecoder, verify_batch
from ullage_demo.student import agrees
from ullage_demo.tree import ROOT, DraftTree
from ullage_demo.worker import Worker, draft_worker, target_worker
from ullage_demo.workload import make_requests
from ullage_generated.sglang import Mode
from ullage_runtime.errors import BatchError

DRAFT_NOISE = 0.03
CANDIDATES = (1, 2, 4, 6, 8)
"""Draft tokens with the last token of the sequence: 0, 1, 3, 5 or 7 steps of the draft."""

TURNS = (4, 8, 1, 6, 2)
ADAPTIVE = Speculation(steps=7, topk=1, draft_tokens=8, candidates=CANDIDATES)
NO_CANDIDATE = 5


def adaptive(demo: Demo) -> Outcome:
    """A chain of drafts that is longer in one round and shorter in the next."""
    sizes = adaptive_sizes()
    requests = make_requests(demo.fewer, seed=6)
    target = target_worker(sizes, place=demo.place, student=demo.student)
    draft = draft_worker(target, sizes, DRAFT_NOISE)
    decoder = SpeculativeDecoder(target, EagleDrafter(draft), ADAPTIVE, cycle(TURNS))
    outputs = build_scheduler(requests, target.table, sizes).serve(decoder.run_step)
    verified = target.runner.statistics[Mode.ADAPTIVE_VERIFY].shapes
    seen = target.runner.statistics | draft.runner.statistics
    modes = (
        Mode.EXTEND,
        Mode.ADAPTIVE_VERIFY,
        Mode.EAGLE_DRAFT,
        Mode.ADAPTIVE_DRAFT_EXTEND,
    )
    return Outcome(
        rows=(
            *rows_of("adaptive", Role.TARGET.value, target.runner),
            *rows_of("adaptive", Role.DRAFT.value, draft.runner),
        ),
        checks=(
            equals_generate(demo.reference, requests, outputs),
            accepts_some(decoder.acceptance.rate),
            saw_modes(seen, modes),
            switched_under_way(decoder.rounds, CANDIDATES),
            verified_the_chosen(decoder.rounds, verified),
            holds_the_longest(target.runner, draft.runner, sizes),
            refuses_another_length(target),
            *agrees(target, draft),
        ),
    )


def adaptive_sizes() -> Sizes:
    """So few tokens to a chunk that the longest drafts, and not prompts, decide on capacities."""
    return Sizes(speculation=ADAPTIVE, max_running=6, chunk=32)


def switched_under_way(rounds: Sequence[Round], candidates: Collection[int]) -> Check:
    """Every length came up, and most changes of length met requests that were under way."""
    counted = Counter(each.draft_tokens for each in rounds)
    switches = sum(_switches(one, next_one) for one, next_one in pairwise(rounds))
    listed = ", ".join(f"{length} in {counted[length]}" for length in sorted(candidates))
    return Check(
        "switches lengths under way",
        counted.keys() == set(candidates) and switches > len(rounds) // 2,
        f"{switches} times in {len(rounds)} rounds: {listed}",
    )


def _switches(one: Round, next_one: Round) -> bool:
    shared = set(map(id, one.sequences)) & set(map(id, next_one.sequences))
    return one.draft_tokens != next_one.draft_tokens and bool(shared)


def verified_the_chosen(rounds: Sequence[Round], loaded: Iterable[tuple[int, int]]) -> Check:
    """Each verify was loaded with as many tokens to a request as its round chose."""
    chosen = [(len(each.sequences), len(each.sequences) * each.draft_tokens) for each in rounds]
    found = list(loaded)
    wrong = sum(ours != theirs for ours, theirs in zip(chosen, found, strict=False))
    wrong += abs(len(chosen) - len(found))
    return Check(
        "verifies are as wide as chosen",
        not wrong,
        f"{wrong} of {len(chosen)} differ" if wrong else f"{len(chosen)} verifies",
    )


def holds_the_longest(target: Runner, draft: Runner, sizes: Sizes) -> Check:
    """The buffers hold the longest chain of every request, and not a token more."""
    needed = sizes.max_running * max(CANDIDATES)
    found = [runner.capacities.tokens for runner in (target, draft)]
    return Check(
        "buffers hold the longest drafts",
        found == [needed, needed],
        f"{sizes.max_running} requests of {max(CANDIDATES)} tokens: {found[0]} and {found[1]}",
    )


def refuses_another_length(target: Worker) -> Check:
    """A length that is shorter than the longest, and fits, but is no candidate."""
    sequence = RunningSequence(make_requests(1)[0], 1, [5, 6], 1)
    chain = DraftTree(
        tokens=tuple(range(5, 5 + NO_CANDIDATE)),
        parents=(ROOT, *range(NO_CANDIDATE - 1)),
        depths=tuple(range(NO_CANDIDATE)),
    )
    live = verify_batch(target.table, [sequence], [chain], length=NO_CANDIDATE)
    claim = "another length is refused"
    try:
        target.runner.load(live)
    except BatchError as error:
        by_length = "adaptive_draft_tokens" in str(error)
        return Check(claim, by_length, f"{NO_CANDIDATE} tokens raise {error.code}")
    return Check(claim, False, f"{NO_CANDIDATE} tokens were loaded")
