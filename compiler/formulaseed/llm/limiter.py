"""Limits the concurrency of calls, their rates per minute, and their costs, which follow from a dated file of prices.

A limiter belongs to one event loop. The concurrency decreases multiplicatively while the server pushes back and increases
additively, as in TCP, so that it approaches the server's limit, which nobody has to configure.

Prices are in US dollars per million tokens; another file of the same form can replace them. Writing a prompt to the cache,
reading it from the cache and batches have factors. The cost of a model that is not listed is unknown, and so is the cost of a
prompt that is longer than the `longest_prompt` of its model.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path

from formulaseed.data.files import read_json
from formulaseed.data.records import Amount, PositiveAmount, Record
from formulaseed.llm.calls import Attempt, ModelCall, Usage

_DEFAULT_PRICES = Path(__file__).with_name("prices.json")


class Price(Record):
    """The price of one model. `longest_prompt` is in tokens, or None if the price holds for prompts of any length."""

    input: Amount
    output: Amount
    longest_prompt: Amount | None = None


class Prices(Record):
    """The prices of a file, each for `per_tokens` tokens. `cache_write`, `cache_read` and `batch` are factors of them."""

    models: dict[str, Price]
    as_of: str = ""
    per_tokens: PositiveAmount = 1_000_000
    cache_write: Amount = 1.25
    cache_read: Amount = 0.1
    batch: Amount = 0.5

    def cost(self, model: str, usage: Usage, *, is_batch: bool = False, calls: int = 1) -> float | None:
        """Return the cost in US dollars of the tokens of `calls` calls, with `is_batch` at the price of batches.

        Returns None if the price is unknown: the model is not listed, or prompts are longer on average than
        `longest_prompt`.
        """
        price = self.models.get(model)
        if price is None or (price.longest_prompt is not None and usage.prompt > price.longest_prompt * max(1, calls)):
            return None
        read = usage.input + usage.cache_write * self.cache_write + usage.cache_read * self.cache_read
        cost = (read * price.input + usage.output * price.output) / self.per_tokens
        return cost * self.batch if is_batch else cost

    def max_cost(self, call: ModelCall, *, is_batch: bool = False) -> float | None:
        """Return an upper bound of the call's cost in US dollars; None if the price is unknown."""
        return self.cost(call.model, call.max_usage, is_batch=is_batch)


def read_prices(path: str | Path | None = None) -> Prices:
    """Read the prices in a file, or by default those that come with this package.

    Raises `UnreadableError` if the file cannot be read, and `DataError` if it is not a file of prices.
    """
    file = Path(path) if path is not None else _DEFAULT_PRICES
    return Prices.read(read_json(file), str(file))


_SLOWDOWN_FACTOR = 0.7
_SECONDS_BETWEEN_SLOWDOWNS = 1.0
_POLL_SECONDS = 0.5


class AdaptiveLimiter:
    """A context that at most `width` tasks can be in; the next task waits. `slow` and `recover` change the width.

    The width is between 1 and `max_width`, where it starts; `active` is the number of tasks that are in the context now.
    """

    def __init__(self, max_width: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.max_width = max_width
        self.width = float(max_width)
        self.active = 0
        self._clock = clock
        self._last_slowdown = -_SECONDS_BETWEEN_SLOWDOWNS
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def __aenter__(self) -> None:
        """Wait until fewer than `width` tasks are in the context, then enter it."""
        while self.active >= max(1, int(self.width)):
            waiter = asyncio.get_running_loop().create_future()
            self._waiting.append(waiter)
            try:
                await waiter
            except asyncio.CancelledError:
                self._wake()  # another task gets the slot if this one was woken for it
                raise
        self.active += 1

    async def __aexit__(self, *_: object) -> None:
        self.active -= 1
        self._wake()

    async def reacquire(self) -> None:
        """Leave the context and enter it again, which waits if the width has decreased meanwhile.

        If the wait is cancelled, the task still counts as inside, and leaves the context as usual.
        """
        await self.__aexit__()
        try:
            await self.__aenter__()
        except BaseException:
            self.active += 1  # the task will still leave the context, which subtracts 1
            raise

    def slow(self) -> None:
        """Decrease the width by 30 %, unless it was decreased less than a second ago: a burst of rejections counts once."""
        now = self._clock()
        if now - self._last_slowdown >= _SECONDS_BETWEEN_SLOWDOWNS:
            self._last_slowdown = now
            self.width = max(1.0, self.width * _SLOWDOWN_FACTOR)

    def recover(self) -> None:
        """Increase the width after a successful call, by 1 in `width` calls, and wake a task that waits."""
        self.width = min(float(self.max_width), self.width + 1.0 / self.width)
        self._wake()

    def _wake(self) -> None:
        """Let as many waiting tasks enter as there are free slots."""
        free = max(1, int(self.width)) - self.active
        while free > 0 and self._waiting:
            waiter = self._waiting.popleft()
            if not waiter.done():
                waiter.set_result(None)
                free -= 1


class RateLimiter:
    """A limit of an amount per minute, such as tokens, or None for no limit. Each caller waits for the amounts before it."""

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
        """Take an amount: wait until those that were taken before are used up, or `is_over` returns True.

        The amount counts from now on, also if the wait is cancelled. Without a limit there is no wait.
        """
        start = max(self._clock(), self._free_at)
        self._free_at = start + amount * self._seconds
        while (remaining := start - self._clock()) > 0 and not self._is_over():
            await asyncio.sleep(min(remaining, _POLL_SECONDS))


class CostBudget:
    """A limit of the costs of calls in US dollars, or None for no limit. `spent` is what was spent before.

    A `spent` of None is an unknown cost, which exceeds every limit. Each call reserves the upper bound of its cost until
    its answer states the usage. An attempt whose usage is unknown counts with that bound.
    """

    def __init__(self, prices: Prices, limit: float | None, spent: float | None = 0.0) -> None:
        self.limit = limit
        self._prices = prices
        self._spent = math.inf if spent is None else spent
        self._reserved: dict[str, float] = {}
        self._changed = asyncio.Event()

    def use_in_new_loop(self) -> None:
        """Move the budget to the current event loop, with what was spent and reserved so far."""
        self._changed = asyncio.Event()

    async def reserve(self, call: ModelCall) -> bool:
        """Reserve the upper bound of a call's cost, which `settle` releases, and return True.

        Waits for calls in flight if they may leave enough. Returns False if the call exceeds the limit, or has no price.
        """
        if self.limit is None:
            return True
        bound = self._prices.max_cost(call)
        while bound is None or self._spent + sum(self._reserved.values()) + bound > self.limit:
            if bound is None or not self._reserved:
                return False
            self._changed.clear()
            await self._changed.wait()
        self._reserved[call.key] = bound
        return True

    def may_retry(self) -> bool:
        """Return True if a call in flight may be sent again, although its attempts so far may have been charged.

        That is the case if what is spent and reserved is within the limit, or there is no limit.
        """
        return self.limit is None or self._spent + sum(self._reserved.values()) <= self.limit

    def has_price(self, call: ModelCall) -> bool:
        """Return True if the price of the call is known."""
        return self._prices.max_cost(call) is not None

    def explain_refusal(self, call: ModelCall) -> str:
        """Return the reason why `reserve` returned False for the call."""
        if not self.has_price(call):
            return f"not asked: what {call.model} costs for so long a prompt is unknown, and there is a limit"
        return f"it could cost more than the limit of ${self.limit:g}"

    def settle(self, call: ModelCall) -> None:
        """Release the reservation of the call, and wake the calls that wait in `reserve`."""
        self._reserved.pop(call.key, None)
        self._changed.set()

    def charge(self, attempt: Attempt) -> None:
        """Add the cost of an attempt to what is spent; an unknown price, or no usage, counts as nothing."""
        if attempt.usage is not None:
            self._spent += self._prices.cost(attempt.model, attempt.usage) or 0.0
