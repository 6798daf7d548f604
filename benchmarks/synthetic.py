"""Spec folders of any size that look like an engine's, for measuring how the compiler grows.

Ten modes make a runner with 100 slots of its own, as ten make an engine's; every tenth mode has one
form. Parameters grow with the runners, and each runner takes some of its own and some of all.
"""

from __future__ import annotations

from pathlib import Path

MODES_OF_A_RUNNER = 10
SLOTS_OF_A_RUNNER = 100

ENGINE = """\
ullage: 1
engine: synthetic
axes:
  requests: {{unit: requests}}
  tokens: {{unit: tokens}}
workers:
  target: {{doc: the served model}}
parameters:
  max_running_requests: {{type: int, range: [1, 4096], unit: requests, default: 256}}
  max_total_tokens: {{type: int, range: [2, 2^24], unit: tokens, default: 65536}}
  tp_size: {{type: int, range: [1, 64], default: 1}}
  vocab_size: {{type: int, range: [2, 2^20], default: 32000}}
{parameters}
definitions:
  one_each: {{value: 1, unit: tokens/requests}}
{definitions}
transforms:
  pad_tokens:
    tokens: align_up(tokens, tp_size)
  pad_requests:
    arguments: [width]
    let: {{padded: "align_up(tokens, tp_size)"}}
    requests: padded // width
    tokens: padded
"""

PARAMETERS = """\
  depth_{0}: {{type: int, range: [1, 16], unit: tokens/requests, default: 4}}
  chunk_{0}: {{type: int, range: [1, 65536], unit: tokens, default: 8192}}
  chunked_{0}: {{type: bool, default: true}}
"""

DEFINITIONS = """\
  limit_{0}: {{value: "min(chunk_{0}, max_total_tokens) if chunked_{0} else max_total_tokens"}}
"""

# A fixed number of tokens for each request: (width, whether rows are padded, its condition).
FIXED = (
    ("one_each", False, ""),
    ("one_each", True, ""),
    ("depth_{0}", False, "chunked_{0}"),
    ("depth_{0}", True, ""),
    ("depth_{0} + one_each", True, "not chunked_{0}"),
    ("2 * depth_{0}", False, "tp_size > 1"),
)

FIXED_MODE = """\
mode: {name}
{when}live:
  requests: {{range: [1, max_running_requests], seen_in: batch.batch_size}}
axes:
  requests: requests
  tokens: requests * ({width})
"""

# A number of tokens that each batch has: (whether tokens are padded, its condition).
VARIABLE = ((False, ""), (True, "chunked_{0}"), (True, ""), (False, "depth_{0} > one_each"))

VARIABLE_MODE = """\
mode: {name}
{when}live:
  requests: {{range: [1, max_running_requests], seen_in: batch.batch_size}}
  tokens: {{range: [1, "limit_{runner}"], seen_in: "batch.input_ids[0]"}}
  where:
    - requests * one_each <= tokens
axes:
  requests: requests
  tokens: tokens
"""


def write_specs(folder: Path, modes: int) -> None:
    """A spec folder of so many modes, and a runner and 100 slots for every ten of them."""
    runners = range(-(-modes // MODES_OF_A_RUNNER))
    for kind in ("modes", "runners", "slots"):
        (folder / kind).mkdir(parents=True)
    parameters = "".join(PARAMETERS.format(runner) for runner in runners).rstrip()
    definitions = "".join(DEFINITIONS.format(runner) for runner in runners).rstrip()
    engine = ENGINE.format(parameters=parameters, definitions=definitions)
    (folder / "engine.yaml").write_text(engine)
    for number in range(modes):
        runner, form = divmod(number, MODES_OF_A_RUNNER)
        (folder / "modes" / f"{_mode(number)}.yaml").write_text(_mode_text(number, runner, form))
    for runner in runners:
        numbers = range(runner * MODES_OF_A_RUNNER, min(modes, (runner + 1) * MODES_OF_A_RUNNER))
        (folder / "runners" / f"runner_{runner}.yaml").write_text(_runner_text(runner, numbers))
        (folder / "slots" / f"slots_{runner}.yaml").write_text(_slots_text(runner))


def _mode(number: int) -> str:
    return f"mode_{number}"


def _mode_text(number: int, runner: int, form: int) -> str:
    if form < len(FIXED):
        width, padded, when = FIXED[form]
        width = width.format(runner)
        text = FIXED_MODE.format(name=_mode(number), width=width, when=_when(when, runner))
        return text + (f"pipeline: [pad_requests(width={width})]\n" if padded else "")
    padded, when = VARIABLE[form - len(FIXED)]
    text = VARIABLE_MODE.format(name=_mode(number), runner=runner, when=_when(when, runner))
    return text + ("pipeline: [pad_tokens]\n" if padded else "")


def _when(condition: str, runner: int) -> str:
    return f"when: {condition.format(runner)}\n" if condition else ""


def _runner_text(runner: int, numbers: range) -> str:
    modes = ", ".join(map(_mode, numbers))
    slots = ", ".join(_slot(runner, place) for place in range(SLOTS_OF_A_RUNNER))
    return (
        f"runner: runner_{runner}\nworkers: [target]\nmodes: [{modes}]\nslots: [{slots}]\n"
        f"steps:\n  - {{do: load}}\n  - {{step: forward, readers: [reader_{runner}]}}\n"
    )


def _slot(runner: int, place: int) -> str:
    return f"slot_{runner}_{place}"


def _slots_text(runner: int) -> str:
    slots, reads = "slots:\n", f"readers:\n  reader_{runner}:\n    reads:\n"
    for place in range(SLOTS_OF_A_RUNNER):
        name = _slot(runner, place)
        shape = ("requests", "tokens", f"tokens, {1 + place}")[place % 3]
        dtype = ("int32", "int64")[place % 2]
        slots += (
            f"  {name}: {{shape: [{shape}], dtype: {dtype}, source: batch.field_{place},"
            " range: [0, vocab_size - 1]}\n"
        )
        reads += f"      {name}: {{rows: padded, fill: 0}}\n"
    return slots + reads
