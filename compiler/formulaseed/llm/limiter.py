"""Limit calls: a concurrency that adapts while the server pushes back, rates per minute, costs.

All of it lives in one event loop. The concurrency decreases multiplicatively and increases additively, as in TCP, so that a
server's limit is found without being configured.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

from formulaseed.llm.calls import Attempt, Call

if TYPE_CHECKING:
    from formulaseed.llm.prices import Prices

SLOWED_TO = 0.7
SECONDS_BETWEEN_SLOWDOWNS = 1.0
_SECONDS_BETWEEN_LOOKS = 0.5


class AdaptiveLimiter:
    """Limits concurrent calls; `slow` and `recover` move the limit between 1 and `most`."""

    def __init__(self, most: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.most = most
        self.width = float(most)
        self.inside = 0
        self._clock = clock
        self._slowed = -SECONDS_BETWEEN_SLOWDOWNS
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def __aenter__(self) -> None:
        while self.inside >= max(1, int(self.width)):
            waiter = asyncio.get_running_loop().create_future()
            self._waiting.append(waiter)
            try:
                await waiter
            except asyncio.CancelledError:
                self._wake()  # it may have been this one's turn
                raise
        self.inside += 1

    async def __aexit__(self, *_: object) -> None:
        self.inside -= 1
        self._wake()

    async def reacquire(self) -> None:
        """Release the slot and acquire one again, since there may be fewer of them now."""
        await self.__aexit__()
        try:
            await self.__aenter__()
        except BaseException:
            self.inside += 1  # its holder will release it once more
            raise

    def slow(self) -> None:
        """Decrease the limit. A burst of calls counts once."""
        now = self._clock()
        if now - self._slowed >= SECONDS_BETWEEN_SLOWDOWNS:
            self._slowed = now
            self.width = max(1.0, self.width * SLOWED_TO)

    def recover(self) -> None:
        """Increase the limit: by one after `width` successful calls."""
        self.width = min(float(self.most), self.width + 1.0 / self.width)
        self._wake()

    def _wake(self) -> None:
        free = max(1, int(self.width)) - self.inside
        while free > 0 and self._waiting:
            waiter = self._waiting.popleft()
            if not waiter.done():
                waiter.set_result(None)
                free -= 1


class RateLimiter:
    """Limits an amount a minute to a steady flow: the next caller waits for what is taken now."""

    def __init__(
        self,
        per_minute: float | None,
        is_over: Callable[[], bool] = lambda: False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._seconds = 60.0 / per_minute if per_minute else 0.0
        self._is_over = is_over
        self._clock = clock
        self._free_at = 0.0

    async def take(self, amount: float) -> None:
        """Wait until the amount is available, or the run is over."""
        starts = max(self._clock(), self._free_at)
        self._free_at = starts + amount * self._seconds
        while (left := starts - self._clock()) > 0 and not self._is_over():
            await asyncio.sleep(min(left, _SECONDS_BETWEEN_LOOKS))


class CostBudget:
    """Limits what calls may cost to `most` US dollars, with what was `spent` before; None for no limit.

    A `spent` of None is an unknown cost, which no limit allows. Each call reserves an upper bound until its answer states
    its usage. An attempt without one counts with that bound.
    """

    def __init__(self, prices: Prices, most: float | None, spent: float | None = 0.0) -> None:
        self.most = most
        self._prices = prices
        self._spent = math.inf if spent is None else spent
        self._reserved: dict[str, float] = {}
        self._changed = asyncio.Event()

    def use_in_new_loop(self) -> None:
        """Limit the calls of another event loop from now on; what was spent stays spent."""
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
