"""Units: products of powers of requests, tokens, pages, ranks and bytes."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ullage.expr import errors
from ullage.expr.errors import ExpressionError, suggestion
from ullage.expr.lex import At
from ullage.place import BUILT_IN

BASES = ("requests", "tokens", "pages", "ranks", "bytes")
_FACTOR = re.compile(r"\s*(?P<base>\w+)(?:\s*\^\s*(?P<power>[1-9]))?\s*")
_DIMENSIONLESS = ("1", "none")


@dataclass(frozen=True, slots=True)
class Unit:
    """A product of powers of the bases: one exponent for each, in the order of `BASES`."""

    powers: tuple[int, ...] = (0,) * len(BASES)

    @staticmethod
    def parse(text: str, at: At = lambda offset, width: BUILT_IN) -> Unit:
        """Reads `tokens/requests`, `requests*tokens`, `tokens^2`, `1` or `none`.

        Raises ExpressionError at `at(offset, width)`, the place of the part that is wrong.
        """
        unit, sign, offset = Unit(), 1, 0
        while True:
            factor = _FACTOR.match(text, offset)
            if factor is None:
                message, hint = "expected a unit", "write it as 'tokens/requests', or '1' for none"
                raise ExpressionError(errors.NOT_A_UNIT, message, at(offset, 1), hint)
            unit = unit.times(_factor(factor, at), sign)
            offset = factor.end()
            if offset == len(text):
                return unit
            if text[offset] not in "*/":
                message = "expected '*' or '/' between units"
                raise ExpressionError(errors.NOT_A_UNIT, message, at(offset, 1))
            sign = 1 if text[offset] == "*" else -1
            offset += 1

    def times(self, other: Unit, power: int = 1) -> Unit:
        """This unit times the `power` of the other."""
        pairs = zip(self.powers, other.powers, strict=True)
        return Unit(tuple(mine + power * theirs for mine, theirs in pairs))

    def __mul__(self, other: Unit) -> Unit:
        return self.times(other)

    def __truediv__(self, other: Unit) -> Unit:
        return self.times(other, -1)

    def summed(self) -> Unit:
        """The unit of a sum over requests: `tokens/requests` add up to `tokens`."""
        return self * _REQUESTS if self.powers[BASES.index("requests")] < 0 else self

    @property
    def dimensionless(self) -> bool:
        return not any(self.powers)

    def __str__(self) -> str:
        above = [_powered(base, power) for base, power in self._factors() if power > 0]
        below = [_powered(base, -power) for base, power in self._factors() if power < 0]
        return "/".join(("*".join(above) or "1", *below))

    def _factors(self) -> zip[tuple[str, int]]:
        return zip(BASES, self.powers, strict=True)


def _powered(base: str, power: int) -> str:
    return base if power == 1 else f"{base}^{power}"


def _factor(found: re.Match[str], at: At) -> Unit:
    base, power = found["base"], int(found["power"] or 1)
    if base in _DIMENSIONLESS:
        return Unit()
    if base not in BASES:
        place = at(found.start("base"), len(base))
        hint = suggestion(base, BASES)
        raise ExpressionError(errors.NOT_A_UNIT, f"there is no unit '{base[:40]}'", place, hint)
    return Unit(tuple(power if known == base else 0 for known in BASES))


NO_UNIT = Unit()
_REQUESTS = Unit.parse("requests")
