"""What calls may cost: nothing is sent that could bring the sum over the limit."""

from __future__ import annotations

import asyncio

from formulaseed.llm.calls import Call
from formulaseed.llm.client import Attempt
from formulaseed.llm.prices import Prices


class Budget:
    """`most` in US dollars, None for no limit.

    Each call reserves more than it can cost until its answer tells what it did. An attempt that ended without an
    answer counts with all that it could have cost, since nobody knows.
    """

    def __init__(self, prices: Prices, most: float | None) -> None:
        self.most = most
        self._prices = prices
        self._spent = 0.0
        self._reserved: dict[str, float] = {}
        self._changed = asyncio.Event()

    async def reserve(self, call: Call) -> bool:
        """Wait until the call fits beside those under way; False where it does not fit at all."""
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
        """Whether a call under way may be sent once more: an attempt without an answer may have cost something."""
        return self.most is None or self._spent + sum(self._reserved.values()) <= self.most

    def has_price(self, call: Call) -> bool:
        """Whether anybody knows what the call may cost."""
        return self._prices.at_most(call) is not None

    def refusal(self, call: Call) -> str:
        """Why a call was not made."""
        if not self.has_price(call):
            return f"not asked: what {call.model} costs for so long a prompt is unknown, and there is a limit"
        return f"it could cost more than the limit of ${self.most:g}"

    def settle(self, call: Call) -> None:
        """The call is over."""
        self._reserved.pop(call.key, None)
        self._changed.set()

    def attempted(self, attempt: Attempt) -> None:
        """Count what an attempt cost."""
        if attempt.usage is not None:
            self._spent += self._prices.cost(attempt.model, attempt.usage) or 0.0
        elif not attempt.status.isdecimal():
            self._spent += self._reserved.get(attempt.key, 0.0)
