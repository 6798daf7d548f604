"""Decodes and verifies in graphs: padded to buckets, replayed over static buffers, else eager."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from ullage_demo.adaptive import DRAFT_NOISE
from ullage_demo.checks import Check, equals_generate, saw_modes
from ullage_demo.eagle_draft import EagleDrafter
from ullage_demo.graph_worker import GraphWorker, TailTrials, graph_worker
from ullage_demo.plain import run_step
from ullage_demo.report import Outcome, Row, rows_of
from ullage_demo.runners import MeasuredRunners, Role
from ullage_demo.schedule import Request, Step
from ullage_demo.setting import Demo, build_scheduler
from ullage_demo.sizes import Sizes, Speculation
from ullage_demo.speculation import SpeculativeDecoder
from ullage_demo.student import agrees
from ullage_demo.worker import Worker, draft_worker, target_worker
from ullage_demo.workload import make_requests
from ullage_generated.sglang import Mode
from ullage_runtime.graphs import Shape

REQUESTS = 12
"""However many the plain scenario serves: these leave every bucket a batch, and some none."""

DECODES = Sizes(buckets=(2, 3, 6))
VERIFIES = Sizes(
    buckets=(3, 6),
    speculation=Speculation(steps=3, topk=4, draft_tokens=8),
)
"""With fewer buckets than requests, so that the largest batches are left to the eager runner."""


def graph(demo: Demo) -> Outcome:
    """Decodes; a pause in which nobody waits is padded to a bucket too."""
    requests = make_requests(REQUESTS, seed=8, pause_before_last=60)
    return _serve(demo, "graph", DECODES, requests, (Mode.DECODE, Mode.IDLE), _decode)


def graph_verify(demo: Demo) -> Outcome:
    """Verifies of trees, several tokens to a request."""
    requests = make_requests(REQUESTS, seed=6, new_tokens=(6, 40))
    return _serve(demo, "graph verify", VERIFIES, requests, (Mode.TARGET_VERIFY,), _speculate)


Serve = Callable[[Worker, Sizes, Sequence[Request]], list[tuple[int, ...]]]


def _serve(
    demo: Demo,
    name: str,
    sizes: Sizes,
    requests: Sequence[Request],
    modes: tuple[Mode, ...],
    serve: Serve,
) -> Outcome:
    """Serve by graphs, then once more eagerly and without padding."""
    sizes = replace(sizes, alignment=demo.alignment)
    worker = graph_worker(sizes, place=demo.place, student=demo.student)
    outputs = serve(worker, sizes, requests)
    unpadded = replace(sizes, buckets=(), alignment=1)
    eager = serve(target_worker(unpadded, place=demo.place), unpadded, requests)
    graphs = worker.graphs
    return Outcome(
        rows=_rows(name, worker),
        checks=(
            equals_generate(demo.reference, requests, outputs),
            equals_eager(eager, outputs),
            saw_modes(worker.runners.decode_graph.statistics, modes),
            captured_in_turn(graphs.graphs.shapes, graphs.replays, worker.buckets),
            falls_back(worker.runners, modes[0], worker.buckets),
            *(ignores_tails(each.trials) for each in _replaying(worker)),
            *agrees(worker),
        ),
    )


def _replaying(worker: GraphWorker) -> Iterator[GraphWorker]:
    """The worker, and its student if it has one."""
    yield worker
    if worker.student is not None and isinstance(worker.student.worker, GraphWorker):
        yield worker.student.worker


def _rows(name: str, worker: GraphWorker) -> tuple[Row, ...]:
    return (
        *rows_of(name, "graph", worker.runners.decode_graph),
        *rows_of(name, Role.TARGET.value, worker.runners.eager),
    )


def _decode(worker: Worker, sizes: Sizes, requests: Sequence[Request]) -> list[tuple[int, ...]]:
    def execute(step: Step) -> None:
        run_step(worker, step)

    return build_scheduler(requests, worker.table, sizes).serve(execute)


def _speculate(worker: Worker, sizes: Sizes, requests: Sequence[Request]) -> list[tuple[int, ...]]:
    if sizes.speculation is None:
        raise ValueError("These sizes are of an engine without speculation.")
    drafter = EagleDrafter(draft_worker(worker, sizes, DRAFT_NOISE))
    decoder = SpeculativeDecoder(worker, drafter, sizes.speculation)
    return build_scheduler(requests, worker.table, sizes).serve(decoder.run_step)


def equals_eager(expected: Sequence[tuple[int, ...]], outputs: Sequence[tuple[int, ...]]) -> Check:
    """Every token is that of the run without graphs and without a padded row."""
    wrong = [
        number
        for number, (ours, theirs) in enumerate(zip(outputs, expected, strict=True))
        if ours != theirs
    ]
    tokens = sum(map(len, expected))
    return Check(
        "tokens equal the unpadded run",
        not wrong,
        f"different in requests {wrong}" if wrong else f"{len(expected)} requests, {tokens} tokens",
    )


def captured_in_turn(
    shapes: Sequence[Shape], replays: Mapping[Shape, int], buckets: Collection[int]
) -> Check:
    """A graph for each bucket, the largest first, and each of them was replayed."""
    captured = [requests for requests, _ in shapes]
    replayed = {requests: count for (requests, _), count in replays.items()}
    passed = captured == sorted(buckets, reverse=True) and set(captured) == set(replayed)
    listed = ", ".join(f"{bucket} ({replayed.get(bucket, 0)})" for bucket in captured)
    return Check("every bucket captured and replayed", passed, f"rows and replays: {listed}")


def falls_back(runners: MeasuredRunners, mode: Mode, buckets: Collection[int]) -> Check:
    """Batches above the largest bucket, and only those, went to the eager runner."""
    largest = max(buckets)
    eager = [requests for requests, _ in runners.eager.statistics[mode].shapes]
    graphs = [requests for requests, _ in runners.decode_graph.statistics[mode].shapes]
    passed = bool(eager) and min(eager) > largest and set(graphs) <= set(buckets)
    detail = f"{len(eager)} above {largest} requests were eager, {len(graphs)} others replayed"
    return Check("larger batches fall back", passed, detail)


def ignores_tails(trials: TailTrials) -> Check:
    """No live row of a padded replay depends on what stood in its tails."""
    passed = trials.padded > 0 and trials.different == 0
    if trials.different:
        return Check("outputs ignore tails", passed, f"{trials.different} differ: {trials.first}")
    return Check("outputs ignore tails", passed, f"{trials.padded} padded replays, bit for bit")
