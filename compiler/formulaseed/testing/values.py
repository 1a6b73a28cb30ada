"""The values that seeds and inputs are made of: mostly small and plain, some at the edges."""

from __future__ import annotations

import math
from collections.abc import Collection

from hypothesis import strategies as st

from formulaseed import limits

JsonValue = str | int | float | bool | None

EDGE_INTEGERS = (2**31, 2**53 - 1, 2**53, 2**53 + 1, 2**62 + 1, limits.INTEGER_MAX)
EDGE_NUMBERS = (5e-324, 1e-300, 1e-17, 0.1, 9007199254740993.0, 1e16, 1e99, limits.INPUT_MAX)

PLAIN_TEXTS = ("", "none", "mild", "severe", "Thai", "Bars", "Thai, Bars", "x", "X", "ß", "日本", "🍜")
HOSTILE_TEXTS = (
    "'", '"', "\\", "'''", '"""', "x\ny", "\t", "\r", "\x00", "\u2028", "{{ x }}", "{% raw %}", "# noqa", "# type: ignore",
    "None", "True", "1", "\\N{DIGIT ONE}", "\ufeff", "%s", "$A", " ", "e\u0301", "\\'", "fmt: off",
)  # fmt: skip

TEXTS: st.SearchStrategy[str] = st.one_of(
    st.sampled_from(PLAIN_TEXTS),
    st.sampled_from(HOSTILE_TEXTS),
    st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=12),
)
"""Any text but one with half a character, which JSON cannot hold."""

SHORT_TEXTS = st.one_of(st.sampled_from(PLAIN_TEXTS), st.sampled_from(PLAIN_TEXTS + HOSTILE_TEXTS))

_PLAIN_INTEGERS = (0, 1, 2, 3, 4, 5, 7, 10, -1, -2, 100, 2023)
_PLAIN_NUMBERS = (0, 1, 2, 3, 5, 0.0, -0.0, 0.5, 1.0, 2.5, 4.75, -1.5, -2)


def integers(
    hints: Collection[int] = (), least: int = -limits.INTEGER_MAX, most: int = limits.INTEGER_MAX
) -> st.SearchStrategy[int]:
    """Integers between two bounds: plain ones, the hints and their neighbours, edges, any."""
    near = sorted({hint + step for hint in hints for step in (-1, 0, 1)})
    edges = [*EDGE_INTEGERS, *(-edge for edge in EDGE_INTEGERS)]
    pools = [[value for value in pool if least <= value <= most] for pool in (_PLAIN_INTEGERS, near, near, edges)]
    return st.one_of(*[st.sampled_from(pool) for pool in pools if pool], st.integers(least, most))


def numbers(
    hints: Collection[float] = (), least: float = -limits.INPUT_MAX, most: float = limits.INPUT_MAX
) -> st.SearchStrategy[int | float]:
    """Integers and floats between two bounds, chosen as `integers` are."""
    edges: list[int | float] = [*EDGE_NUMBERS, *EDGE_INTEGERS, *(-edge for edge in EDGE_NUMBERS + EDGE_INTEGERS)]
    pools = [
        [value for value in pool if least <= value <= most]
        for pool in (_PLAIN_NUMBERS, [least, most], sorted(hints), edges)
    ]
    low, high = float(least), float(most)
    low = math.nextafter(low, math.inf) if low < least else low
    high = math.nextafter(high, -math.inf) if high > most else high
    floats = [st.floats(low, high, allow_nan=False)] if low <= high else []
    return st.one_of(*[st.sampled_from(pool) for pool in pools if pool], *floats)
