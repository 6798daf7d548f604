"""Random small specs, so that what the compiler says can be compared with brute force.

Ranges are tiny, so that all batches can be tried; a spec declares only what it uses.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, field

from support.small_specs import mode_text, small
from support.specs import Files

_PARAMETERS = {
    "cap": "{type: int, range: [1, 3]}",
    "top": "{type: int, range: [1, 5]}",
    "step": "{type: int, range: [1, 3]}",
    "flag": "{type: bool}",
    "width": "{type: int, range: [1, 3]}",
    "depth": "{type: int, range: [1, 2], when: flag}",
    "dp": "{type: int, range: [1, 3]}",
    "shape": "{type: enum, choices: [flat, tall, deep]}",
    "buckets": "{type: list, range: [3, 5]}",
}
_DEFINITIONS = {
    "factor": "width if shape == tall else 1",
    "levels": "depth if flag else 1",
    "rows": "align_up(cap, step)",
    "even": "[b for b in buckets if b % 2 == 0]",
}
_CONSTRAINTS = {"buckets": "cap <= max(buckets)", "even": "4 <= max(even)"}
_GUARDS = ("flag", "not flag", "shape == flat", "cap >= 2", "shape != deep and flag", "top > cap")


@dataclass
class _Draft:
    """A spec in the making."""

    source: random.Random
    transforms: dict[str, str] = field(default_factory=dict)
    slots: list[str] = field(default_factory=list)
    modes: list[str] = field(default_factory=list)

    def chance(self, share: float) -> bool:
        return self.source.random() < share

    def one(self, *choices: str) -> str:
        return self.source.choice(choices)


def random_spec(seed: int) -> Files:
    """One spec; the same for the same seed."""
    draft = _Draft(random.Random(seed))
    shared = draft.chance(0.4)
    pipeline = _pipeline(draft, shared)
    names = ["decode", "extend", "verify"][: draft.source.randint(1, 3)]
    for name in names:
        own = pipeline if shared else _pipeline(draft, collective=False)
        _add_mode(draft, name, own)
    if shared:
        peers = ", ".join(names[: draft.source.randint(1, len(names))])
        collective = [each for each in pipeline if each.startswith("sync")]
        draft.modes.append(
            mode_text("idle", live={}, requests="0", tokens="0", pipeline=collective, peers=[peers])
        )
    return _files(draft)


def _pipeline(draft: _Draft, collective: bool) -> list[str]:
    """Up to three transforms; one of them takes part in a collective if asked for."""
    names: list[str] = []
    kinds = ["local"] * draft.source.randint(0, 2) + ["sync"] * collective
    draft.source.shuffle(kinds)
    for kind in kinds:
        name = f"{kind}_{len(draft.transforms)}"
        draft.transforms[name] = _sync(draft) if kind == "sync" else _local(draft)
        names.append(name)
    return names


def _local(draft: _Draft) -> str:
    when = f"when: {draft.one(*_GUARDS)}, " if draft.chance(0.3) else ""
    axes = draft.source.sample(["requests", "tokens"], draft.source.randint(1, 2))
    assigned = ", ".join(f'{axis}: "{_step_of(draft, axis)}"' for axis in axes)
    return f"{{{when}{assigned}}}"


def _step_of(draft: _Draft, axis: str) -> str:
    if draft.chance(0.05):
        return draft.one(
            f"{axis} % step",
            f"max({axis} - cap, 0)",
            "max(tokens - requests, 0)",
            f"max(9 - {axis}, 0)",
            f"max(12 // max({axis}, 1), requests)",
        )
    return draft.one(
        f"align_up({axis}, step)",
        f"align_up(align_up({axis}, step), width)",
        f"cdiv({axis}, step) * step",
        f"{axis} * factor",
        f"{axis} * levels",
        f"{axis} + 1",
        f"max({axis}, rows)",
        f"max({axis}, requests)",
        f"{axis} * 2 if flag else {axis} + width",
        f"{axis} if shape == flat else align_up({axis}, width)",
        f"cdiv({axis}, width)",
        f"{axis} // step + 1",
    )


def _sync(draft: _Draft) -> str:
    when = f"when: {draft.one('flag', 'dp > 1')}, " if draft.chance(0.3) else ""
    over = draft.one("max_ranks", "max_ranks", "sum_ranks")
    head = f"{{{when}collective: {{op: all_gather, group: dp}}, "
    operand = draft.one("tokens", "align_up(tokens, step)", "tokens * width")
    if draft.chance(0.1):
        own = draft.one("max_ranks(tokens) - tokens + 1", "max(sum_ranks(tokens) - tokens, 1)")
        return f'{head}tokens: "{own}", requests: "max_ranks(requests)"}}'
    if draft.chance(0.4):
        rows = draft.one("padded // width", "max(padded, requests)", "requests")
        return f'{head}let: {{padded: "{over}({operand})"}}, requests: "{rows}", tokens: padded}}'
    return f'{head}tokens: "{over}({operand})"}}'


def _add_mode(draft: _Draft, name: str, pipeline: list[str]) -> None:
    when = draft.one(*_GUARDS) if draft.chance(0.4) else ""
    form = draft.source.choice((_counted, _coupled, _split, _summed))
    live, where, requests, tokens = form(draft, name)
    draft.modes.append(
        mode_text(
            name,
            live=live,
            where=where,
            requests=requests,
            tokens=tokens,
            pipeline=pipeline,
            when=when,
        )
    )


Live = tuple[dict[str, str], list[str], str, str]


def _counted(draft: _Draft, name: str) -> Live:
    """One live variable; tokens follow from the rows."""
    tokens = draft.one(
        "requests * factor",
        "requests * levels",
        "align_up(requests, step)",
        "max(requests, 2) * width",
        "requests + levels",
    )
    if draft.chance(0.2):
        tokens = draft.one("next_in(requests, buckets)", "next_in(requests, even)")
    if draft.chance(0.05):
        draft.slots.append(f"{name}_room: {_shaped('max(tokens - requests, 0)', name)}")
    return {"requests": draft.one("1; cap", "0; cap", "1; min(cap, top)")}, [], "requests", tokens


def _coupled(draft: _Draft, name: str) -> Live:
    """Two live variables, of which the second may depend on the first."""
    tokens = draft.one("1; top", "requests; requests * width", "0; top + cap - requests")
    where = [
        *(["requests <= toks"] if draft.chance(0.4) else []),
        *(
            [draft.one("requests + toks <= top + 1", "2 * requests + toks <= 6")]
            if draft.chance(0.15)
            else []
        ),
    ]
    if draft.chance(0.15):
        draft.slots.append(f"{name}_both: {_shaped('tokens + requests', name)}")
    axis = draft.one("toks", "toks + requests", "max(toks, requests)", "toks * levels")
    return {"requests": "1; cap", "toks": tokens}, where, "requests", axis


def _split(draft: _Draft, name: str) -> Live:
    """Two live variables that share one limit."""
    live = {"running": "0; cap", "fresh": "0; cap - running"}
    tokens = draft.one("running + fresh * width", "running * factor + fresh", "fresh * 2")
    return live, [], "running + fresh", tokens


def _summed(draft: _Draft, name: str) -> Live:
    """A live variable of each request, and sums over it."""
    ends = draft.one("1; 3", "1; top", "1; width", "1; 3", "0; 2", "2; width + 1")
    live = {"requests": "1; cap", "length": f"per requests: {ends}"}
    where = ["sum_requests(length) <= top + 1"] if draft.chance(0.7) else []
    tokens = draft.one(
        "sum_requests(length)",
        "sum_requests(length + 1)",
        "sum_requests(cdiv(length, 2))",
        "sum_requests(cdiv(length, width))",
        "sum_requests(2 * length + cdiv(length, 2))",
        "9 + sum_requests(2 * length) - sum_requests(cdiv(length, 2))",
    )
    if draft.chance(0.3):
        draft.slots.append(f"{name}_index: {_shaped('sum_requests(length + levels)', name)}")
    return live, where, "requests", tokens


def _shaped(extent: str, mode: str) -> str:
    return f'{{shape: ["{extent}"], dtype: int64, source: batch.extra, modes: [{mode}]}}'


def _files(draft: _Draft) -> Files:
    transforms = [f"{name}: {text}" for name, text in draft.transforms.items()]
    text = "\n".join([*draft.modes, *transforms, *draft.slots])
    definitions = [name for name in _DEFINITIONS if _used(name, text)]
    text += "\n".join(_DEFINITIONS[name] for name in definitions)
    constraints = [_CONSTRAINTS[name] for name in _CONSTRAINTS if _used(name, text)]
    text += "\n".join(constraints)
    names = [name for name in _PARAMETERS if _used(name, text)]
    if "depth" in names and "flag" not in names:
        names.append("flag")
    if any("collective" in each for each in transforms) and "dp" not in names:
        names.append("dp")
    return small(
        *draft.modes,
        parameters=[f"{name}: {_PARAMETERS[name]}" for name in _PARAMETERS if name in names],
        definitions=[f'{name}: "{_DEFINITIONS[name]}"' for name in definitions],
        constraints=[f'"{each}"' for each in constraints],
        transforms=transforms,
        slots=[
            "ids: {shape: [requests], dtype: int64, source: batch.ids}",
            f"own: {_shaped('tokens', 'decode')}",
            *draft.slots,
        ],
        ranks="dp" if "dp" in names else "",
    )


def _used(name: str, text: str) -> bool:
    return re.search(rf"\b{name}\b", text) is not None
