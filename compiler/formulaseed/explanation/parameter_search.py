"""Searches the nearest value of a parameter that changes something, by doubling the distance and then halving it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from formulaseed.ir import nodes
from formulaseed.language.types import Base

_MAX_DOUBLINGS = 24
_PRECISION = 1e-6
"""The precision of the search, relative to the start."""
_MAX_DIGITS = 6


@dataclass(frozen=True, slots=True)
class ParameterSearch:
    """Searches the value of a numeric parameter nearest to `start` for which `is_turned` returns True.

    `direction` is 1 for values above the start, and -1 for those below.
    """

    parameter: nodes.Parameter
    start: float
    direction: int
    is_turned: Callable[[float], bool]

    def find_nearest(self) -> float | None:
        """Return the nearest value that was found; None if there is none within the bounds."""
        bracket = self._find_bracket()
        if bracket is None:
            return None
        low, high = bracket
        precision = 1.0 if self._is_whole else max(abs(self.start), 1.0) * _PRECISION
        while high - low > precision:
            middle = (low + high) // 2 if self._is_whole else (low + high) / 2
            if self.is_turned(self._value_at(middle)):
                high = middle
            else:
                low = middle
        return self._round(high)

    def _find_bracket(self) -> tuple[float, float] | None:
        """Return a distance at which nothing turns, and a larger one at which something does; None if there is none."""
        low, high = 0.0, 1.0 if self._is_whole else max(abs(self.start), 1.0) / 64
        for _ in range(_MAX_DOUBLINGS):
            if self.is_turned(self._value_at(high)):
                return low, high
            if self._bound is not None and self._value_at(high) == self._bound:
                return None
            low, high = high, high * 2
        return None

    def _round(self, distance: float) -> float | None:
        """Return the shortest decimal near the value at a distance that turns too; None if the value itself does not."""
        value = self._value_at(distance)
        round_away = math.ceil if self.direction > 0 else math.floor
        for digits in range(0 if self._is_whole else 1, _MAX_DIGITS + 1):
            scale = 10.0**digits
            rounded: float = round_away(value * scale) / scale
            if self._is_whole:
                rounded = int(rounded)
            is_near = abs(rounded - value) < abs(distance) / 10 + self._is_whole
            if is_near and not self._is_beyond_bound(rounded) and self.is_turned(rounded):
                return rounded
        return value if self.is_turned(value) else None

    def _value_at(self, distance: float) -> float:
        """Return the value at a distance from the start, within the bounds."""
        value = self.start + self.direction * distance
        if self._bound is not None and self._is_beyond_bound(value):
            value = self._bound
        return round(value) if self._is_whole else value

    def _is_beyond_bound(self, value: float) -> bool:
        return self._bound is not None and (value - self._bound) * self.direction > 0

    @property
    def _bound(self) -> float | None:
        return self.parameter.maximum if self.direction > 0 else self.parameter.minimum

    @property
    def _is_whole(self) -> bool:
        return self.parameter.ty.base is Base.INTEGER
