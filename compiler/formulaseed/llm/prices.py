"""What calls cost and may cost. The prices are a dated file that can be overridden; a model not listed costs "unknown".

Prices are in US dollars per million tokens. Reading a cached prompt, writing one and batches have factors of
their own. Where a model's prices hold for prompts up to a length only, a longer one's cost is unknown.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from formulaseed.data.files import read_whole
from formulaseed.errors import DataError
from formulaseed.limits import FILE_BYTES
from formulaseed.llm.calls import Attempt, Call, Usage

_OWN = Path(__file__).with_name("prices.json")
_MOST = 1e15
_FACTORS = {"cache_write": 1.25, "cache_read": 0.1, "batch": 0.5}


@dataclass(frozen=True, slots=True)
class Price:
    """Of one model, per token. `longest_prompt` is in tokens, None where the price holds for all."""

    input: float
    output: float
    longest_prompt: int | None = None


@dataclass(frozen=True, slots=True)
class Prices:
    """The prices of one file. `cache_write`, `cache_read` and `batch` are factors."""

    as_of: str
    models: Mapping[str, Price]
    cache_write: float
    cache_read: float
    batch: float

    def cost(self, model: str, usage: Usage, *, is_batch: bool = False, calls: int = 1) -> float | None:
        """Return what the tokens of so many calls cost in US dollars; None where that is unknown."""
        price = self.models.get(model)
        if price is None or (price.longest_prompt is not None and usage.prompt > price.longest_prompt * max(1, calls)):
            return None
        read = usage.input + usage.cache_write * self.cache_write + usage.cache_read * self.cache_read
        return (read * price.input + usage.output * price.output) * (self.batch if is_batch else 1.0)

    def at_most(self, call: Call, *, is_batch: bool = False) -> float | None:
        """Return an upper bound of the call's cost: every byte of the prompt counts as a token written to the cache."""
        return self.cost(call.model, Usage(cache_write=call.bytes, output=call.max_tokens), is_batch=is_batch)


def read_prices(path: str | Path | None = None) -> Prices:
    """Read the prices that come with this package, or those of another file of the same form.

    Raises `UnreadableError` where there is none, `DataError` where it is not of that form.
    """
    file = Path(path) if path is not None else _OWN
    try:
        given = json.loads(read_whole(file, FILE_BYTES).decode())
    except (ValueError, RecursionError) as error:
        raise DataError(f"not JSON: {error}", str(file)) from None
    try:
        return _prices(given)
    except DataError as error:
        raise error.at(str(file)) from None


def _prices(given: Any) -> Prices:
    if not isinstance(given, dict) or not isinstance(given.get("models"), dict):
        raise DataError('prices are an object with "models", each with "input" and "output" in USD per million tokens')
    tokens = _number(given.get("per_tokens", 1_000_000), "`per_tokens`")
    if tokens == 0:
        raise DataError("`per_tokens` must not be 0")
    models = {}
    for name, entry in given["models"].items():
        if not isinstance(entry, dict):
            raise DataError(f"`{name}` must be an object")
        longest = entry.get("longest_prompt")
        models[name] = Price(
            _number(entry.get("input"), f"`input` of `{name}`") / tokens,
            _number(entry.get("output"), f"`output` of `{name}`") / tokens,
            int(_number(longest, f"`longest_prompt` of `{name}`")) if longest is not None else None,
        )
    factors = {name: _number(given.get(name, usual), f"`{name}`") for name, usual in _FACTORS.items()}
    return Prices(str(given.get("as_of", "")), models, **factors)


def _number(value: Any, what: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < _MOST:
        raise DataError(f"{what} must be a number of 0 or more")
    return float(value)


def cost_text(cost: float | None) -> str:
    """Return a cost for people."""
    if cost is None:
        return "an unknown cost"
    return f"${cost:.2f}" if cost >= 1 else f"${cost:.4f}"


def total(costs: Sequence[float | None]) -> float | None:
    """Return the sum of costs; None where one is unknown."""
    return None if None in costs else sum(cost for cost in costs if cost is not None)


class Budget:
    """Limits what calls may cost to `most` US dollars; None for no limit.

    Each call reserves an upper bound until its answer states its usage. An attempt that ended without an answer counts
    with its whole reservation.
    """

    def __init__(self, prices: Prices, most: float | None) -> None:
        self.most = most
        self._prices = prices
        self._spent = 0.0
        self._reserved: dict[str, float] = {}
        self._changed = asyncio.Event()

    async def reserve(self, call: Call) -> bool:
        """Wait until the call fits beside those in flight; return False where it does not fit at all."""
        if self.most is None:
            return True
        bound = self._prices.at_most(call)
        while bound is None or self._spent + sum(self._reserved.values()) + bound > self.most:
            if bound is None or not self._reserved:
                return False
            self._changed.clear()
            await self._changed.wait()
        self._reserved[call.key] = bound
        return True

    def may_retry(self) -> bool:
        """Whether a call in flight may be sent again: an attempt without an answer may have cost something."""
        return self.most is None or self._spent + sum(self._reserved.values()) <= self.most

    def has_price(self, call: Call) -> bool:
        """Whether the call's price is known."""
        return self._prices.at_most(call) is not None

    def refusal(self, call: Call) -> str:
        """Return why a call was not made."""
        if not self.has_price(call):
            return f"not asked: what {call.model} costs for so long a prompt is unknown, and there is a limit"
        return f"it could cost more than the limit of ${self.most:g}"

    def settle(self, call: Call) -> None:
        """Release the call's reservation."""
        self._reserved.pop(call.key, None)
        self._changed.set()

    def attempted(self, attempt: Attempt) -> None:
        """Count what an attempt cost."""
        if attempt.usage is not None:
            self._spent += self._prices.cost(attempt.model, attempt.usage) or 0.0
        elif not attempt.status.isdecimal():
            self._spent += self._reserved.get(attempt.key, 0.0)
