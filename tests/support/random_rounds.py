"""Random small specs in which ranks decide together: conditions over sums and maxima over ranks.

Peers are named one way only, some modes do not occur everywhere, collectives come in twos, and
conditions are nested, about the ranks alone or about each rank as well.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from support.small_specs import mode_text, small
from support.specs import Files

PARAMETERS = {
    "dp": "{type: int, range: [1, 3]}",
    "cap": "{type: int, range: [1, 3]}",
    "step": "{type: int, range: [1, 2]}",
    "flag": "{type: bool}",
}
"""The parameters of every such spec, those that it does not use left out."""


@dataclass
class _Draft:
    source: random.Random

    def one(self, *choices: str) -> str:
        return self.source.choice(choices)

    def chance(self, share: float) -> bool:
        return self.source.random() < share

    def operand(self) -> str:
        return self.one("tokens", "requests", "align_up(tokens, step)", "tokens + requests")

    def over(self) -> str:
        return f"{self.one('max_ranks', 'sum_ranks')}({self.operand()})"

    def condition(self) -> str:
        """A condition over ranks; about the rank itself as well, or of two parts, now and then."""
        found = self.one(
            f"2 * sum_ranks({self.operand()}) >= max_ranks({self.operand()}) * dp",
            f"{self.over()} > {self.one('cap', '2', '3', 'step')}",
            f"{self.over()} <= {self.one('cap', '2', '4')}",
            f"{self.over()} < {self.over()}",
            f"{self.over()} >= 2 * {self.one('tokens', 'requests')}",
            f"{self.operand()} < {self.over()}",
            f"{self.over()} == {self.one('1', '2', 'cap')}",
        )
        if self.chance(0.15):
            return f"not ({found})"
        return f"{found} {self.one('and', 'or')} {self.condition()}" if self.chance(0.2) else found

    def amount(self, depth: int = 0) -> str:
        if self.chance(0.5 if depth == 0 else 0.15):
            arms = self.amount(depth + 1), self.amount(depth + 1)
            return f"({arms[0]} if {self.condition()} else {arms[1]})"
        return self.one(
            "tokens",
            "tokens",
            "requests",
            "align_up(tokens, step)",
            f"max_ranks({self.operand()})",
            f"max_ranks({self.operand()})",
            f"sum_ranks({self.operand()})",
            "cap",
            "2 * tokens",
            "max(6 - tokens, 0)",
            f"max(5 - {self.over()}, 0)",
        )


def random_rounds(seed: int) -> Files:
    """One spec; the same for the same seed."""
    draft = _Draft(random.Random(seed))
    transforms = {f"sync_{place}": _sync(draft) for place in range(draft.source.randint(1, 2))}
    pipeline = list(transforms)
    if draft.chance(0.3):
        transforms["local"] = (
            f'{{tokens: "{draft.one("tokens + requests", "align_up(tokens, 2)")}"}}'
        )
    names = ["decode", "extend", "idle"][: draft.source.randint(1, 3)]
    modes = [_mode(draft, name, names, pipeline, "local" in transforms) for name in names]
    text = "\n".join([*modes, *transforms.values()])
    return small(
        *modes,
        parameters=[
            f"{name}: {given}" for name, given in PARAMETERS.items() if name == "dp" or name in text
        ],
        transforms=[f"{name}: {given}" for name, given in transforms.items()],
        slots=["ids: {shape: [requests, tokens], dtype: int64, source: batch.ids}"],
        ranks="dp",
    )


def _sync(draft: _Draft) -> str:
    group = draft.one("dp", "dp", "dp", "far")
    head = f"{{collective: {{op: all_gather, group: {group}}}, "
    when = "when: flag, " if draft.chance(0.1) else ""
    if draft.chance(0.3):
        lets = f'let: {{agreed: "{draft.condition()}", most: "{draft.amount(1)}"}}, '
        tokens = draft.one("most if agreed else tokens", "max_ranks(most) if agreed else 1")
        return f'{head}{when}{lets}tokens: "{tokens}"}}'
    rows = f', requests: "{draft.amount()}"' if draft.chance(0.3) else ""
    return f'{head}{when}tokens: "{draft.amount()}"{rows}}}'


def _mode(draft: _Draft, name: str, names: list[str], pipeline: list[str], local: bool) -> str:
    others = [each for each in names if each != name and draft.chance(0.5)]
    own = [*pipeline]
    if local and draft.chance(0.5):
        own.insert(draft.source.randint(0, len(own)), "local")
    live, requests, tokens, where = _live(draft) if name != "idle" else ({}, "0", "0", [])
    return mode_text(
        name,
        live=live,
        requests=requests,
        tokens=tokens,
        where=where,
        pipeline=own,
        peers=others,
        when="flag" if draft.chance(0.15) else "",
    )


def _live(draft: _Draft) -> tuple[dict[str, str], str, str, list[str]]:
    if draft.chance(0.5):
        return {"n": draft.one("1; cap", "0; 2", "1; 3", "2; cap + 1")}, "1", "n", []
    live = {"requests": draft.one("1; 2", "1; cap"), "n": draft.one("1; 3", "1; cap")}
    return live, "requests", "n", _where(draft)


def _where(draft: _Draft) -> list[str]:
    chosen = draft.one("", "requests + n <= 4", "requests <= n")
    return [chosen] if chosen else []
