"""What calls cost and may cost. The prices are a dated file that can be overridden; a model not listed costs "unknown".

Prices are in US dollars per million tokens. Reading a cached prompt, writing one and batches have factors of
their own. Where a model's prices hold for prompts up to a length only, a longer one's cost is unknown.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from formulaseed.data.files import read_json
from formulaseed.data.records import Amount, PositiveAmount, Record
from formulaseed.llm.calls import Attempt, Call, Usage

_OWN = Path(__file__).with_name("prices.json")


class Price(Record):
    """Of one model. `longest_prompt` is in tokens, None where the price holds for all."""

    input: Amount
    output: Amount
    longest_prompt: Amount | None = None


class Prices(Record):
    """The prices of one file, for `per_tokens` tokens. `cache_write`, `cache_read` and `batch` are factors."""

    models: dict[str, Price]
    as_of: str = ""
    per_tokens: PositiveAmount = 1_000_000
    cache_write: Amount = 1.25
    cache_read: Amount = 0.1
    batch: Amount = 0.5

    def cost(self, model: str, usage: Usage, *, is_batch: bool = False, calls: int = 1) -> float | None:
        """Return what the tokens of so many calls cost in US dollars; None where that is unknown."""
        price = self.models.get(model)
        if price is None or (price.longest_prompt is not None and usage.prompt > price.longest_prompt * max(1, calls)):
            return None
        read = usage.input + usage.cache_write * self.cache_write + usage.cache_read * self.cache_read
        cost = (read * price.input + usage.output * price.output) / self.per_tokens
        return cost * self.batch if is_batch else cost

    def at_most(self, call: Call, *, is_batch: bool = False) -> float | None:
        """Return an upper bound of the call's cost: every byte of the prompt counts as a token written to the cache."""
        return self.cost(call.model, Usage(cache_write=call.bytes, output=call.max_tokens), is_batch=is_batch)


def read_prices(path: str | Path | None = None) -> Prices:
    """Read the prices that come with this package, or those of another file of the same form.

    Raises `UnreadableError` where there is none, `DataError` where it is not of that form.
    """
    file = Path(path) if path is not None else _OWN
    return Prices.read(read_json(file), str(file))


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
