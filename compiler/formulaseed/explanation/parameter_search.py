"""Search the nearest value of a parameter that changes a verdict, by doubling the distance and then bisecting it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from formulaseed.ir import nodes
from formulaseed.language.types import Base

_MAX_DOUBLINGS = 24
_RELATIVE_PRECISION = 1e-6  # of the search, relative to the start
_MAX_DECIMALS = 6


@dataclass(frozen=True, slots=True)
class ParameterSearch:
    """The search for the value of a numeric parameter nearest to `start` for which `is_turned` returns True.

    `direction` is 1 for values above the start, and -1 for those below.
    """

    parameter: nodes.Parameter
    start: float
    direction: int
    is_turned: Callable[[float], bool]

    def find_nearest(self) -> float | None:
        """Return the nearest value for which `is_turned` is True, with few decimals; None if none is found.

        The search respects the parameter's bounds and stops after `_MAX_DOUBLINGS`. It assumes that `is_turned` stays
        True beyond the nearest value.
        """
        bracket = self._find_bracket()
        if bracket is None:
            return None
        low, high = bracket
        precision = 1.0 if self._is_whole else self._scale * _RELATIVE_PRECISION
        while high - low > precision:
            middle = (low + high) // 2 if self._is_whole else (low + high) / 2
            if self.is_turned(self._value_at(middle)):
                high = middle
            else:
                low = middle
        return self._round(high)

    def _find_bracket(self) -> tuple[float, float] | None:
        """Return a distance at which `is_turned` is False, and a larger one at which it is True.

        Doubles the distance, at most `_MAX_DOUBLINGS` times. Returns None if `is_turned` is False up to there or up
        to the bound.
        """
        low = 0.0
        high = 1.0 if self._is_whole else self._scale / 64
        for _ in range(_MAX_DOUBLINGS):
            if self.is_turned(self._value_at(high)):
                return low, high
            if self._value_at(high) == self._bound:
                return None
            low = high
            high *= 2
        return None

    def _round(self, distance: float) -> float | None:
        """Return the number with the fewest decimals at or just beyond `distance` for which `is_turned` is True.

        Without such a number, returns the value itself; None if `is_turned` is False for the value.
        """
        value = self._value_at(distance)
        round_away = math.ceil if self.direction > 0 else math.floor
        for digits in range(0 if self._is_whole else 1, _MAX_DECIMALS + 1):
            scale = 10.0**digits
            rounded: float = round_away(value * scale) / scale
            if self._is_whole:
                rounded = int(rounded)
            is_near = abs(rounded - value) < abs(distance) / 10 + self._is_whole
            if is_near and not self._is_beyond_bound(rounded) and self.is_turned(rounded):
                return rounded
        return value if self.is_turned(value) else None

    def _value_at(self, distance: float) -> float:
        """Return the value at a distance from the start, at most the bound, rounded if it must be an integer."""
        value = self.start + self.direction * distance
        if self._is_beyond_bound(value):
            value = self._bound
        return round(value) if self._is_whole else value

    def _is_beyond_bound(self, value: float) -> bool:
        """Return True if the value is beyond the bound in this direction."""
        return (value - self._bound) * self.direction > 0

    @property
    def _scale(self) -> float:
        """The order of magnitude of the start, at least 1."""
        return max(abs(self.start), 1.0)

    @property
    def _bound(self) -> float:
        """The bound of the parameter in this direction; infinite if it has none."""
        bound = self.parameter.maximum if self.direction > 0 else self.parameter.minimum
        return self.direction * math.inf if bound is None else bound

    @property
    def _is_whole(self) -> bool:
        """True if the parameter is an integer."""
        return self.parameter.ty.base is Base.INTEGER
