"""Generates integers, numbers and strings: most are small and plain, some are edge cases or hostile."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import TypeVar

from hypothesis import strategies as st

from formulaseed import limits

JsonValue = str | int | float | bool | None
_Choice = TypeVar("_Choice")

EDGE_INTEGERS = (2**31, 2**53 - 1, 2**53, 2**53 + 1, 2**62 + 1, limits.INTEGER_MAX)
EDGE_NUMBERS = (5e-324, 1e-300, 1e-17, 0.1, 9007199254740993.0, 1e16, 1e99, limits.INPUT_MAX)

PLAIN_STRINGS = ("", "none", "mild", "severe", "Thai", "Bars", "Thai, Bars", "x", "X", "ß", "日本", "🍜")
HOSTILE_STRINGS = (
    "'", '"', "\\", "'''", '"""', "x\ny", "\t", "\r", "\x00", "\u2028", "{{ x }}", "{% raw %}", "# noqa", "# type: ignore",
    "None", "True", "1", "\\N{DIGIT ONE}", "\ufeff", "%s", "$A", " ", "e\u0301", "\\'", "fmt: off",
)  # fmt: skip
SHORT_STRINGS = st.one_of(st.sampled_from(PLAIN_STRINGS), st.sampled_from(PLAIN_STRINGS + HOSTILE_STRINGS))
STRINGS: st.SearchStrategy[str] = st.one_of(
    st.sampled_from(PLAIN_STRINGS),
    st.sampled_from(HOSTILE_STRINGS),
    st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=12),
)
"""Any string but one with an unpaired surrogate, which JSON cannot hold."""


def integers(
    hints: Collection[int] = (), least: int = -limits.INTEGER_MAX, most: int = limits.INTEGER_MAX
) -> st.SearchStrategy[int]:
    """Return a strategy for integers from `least` to `most`: small ones, near the hints, edge cases, any."""
    near = sorted({hint + step for hint in hints for step in (-1, 0, 1)})
    edges = [sign * edge for edge in EDGE_INTEGERS for sign in (1, -1)]
    pools = _sample_between(((0, 1, 2, 3, 4, 5, 7, 10, -1, -2, 100, 2023), near, near, edges), least, most)
    return st.one_of(*pools, st.integers(least, most))


def numbers(
    hints: Collection[float] = (), least: float = -limits.INPUT_MAX, most: float = limits.INPUT_MAX
) -> st.SearchStrategy[int | float]:
    """Return a strategy for integers and floats from `least` to `most`: small ones, the hints, edge cases, any.

    NaN and infinity are never drawn.
    """
    edges = [sign * edge for edge in EDGE_NUMBERS + EDGE_INTEGERS for sign in (1, -1)]
    plain = (0, 1, 2, 3, 5, 0.0, -0.0, 0.5, 1.0, 2.5, 4.75, -1.5, -2)
    pools = _sample_between((plain, [least, most], sorted(hints), edges), least, most)
    low = float(least)
    high = float(most)
    # the floats next to the bounds may be outside of them
    if low < least:
        low = math.nextafter(low, math.inf)
    if high > most:
        high = math.nextafter(high, -math.inf)
    if low <= high:
        pools.append(st.floats(low, high, allow_nan=False))
    return st.one_of(*pools)


def _sample_between(pools: Sequence[Sequence[_Choice]], least: float, most: float) -> list[st.SearchStrategy[_Choice]]:
    """Return a strategy for each pool, for its values from `least` to `most`; none for a pool without such values."""
    bounded = [[value for value in pool if least <= value <= most] for pool in pools]  # type: ignore[operator]
    return [st.sampled_from(pool) for pool in bounded if pool]
