"""Compute the costs of calls, and upper bounds of them.

The prices are a dated file that can be overridden; a model that is not listed costs "unknown". They are in US dollars per
million tokens. Reading a cached prompt, writing one and batches have factors of their own. If a model's prices hold only
for prompts up to a length, the cost of a longer prompt is unknown.
"""

from __future__ import annotations

from pathlib import Path

from formulaseed.data.files import read_json
from formulaseed.data.records import Amount, PositiveAmount, Record
from formulaseed.llm.calls import Call, Usage

_OWN = Path(__file__).with_name("prices.json")


class Price(Record):
    """The price of one model. `longest_prompt` is in tokens; None if the price holds for every prompt."""

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
        """Return an upper bound of the call's cost."""
        return self.cost(call.model, call.at_most, is_batch=is_batch)


def read_prices(path: str | Path | None = None) -> Prices:
    """Read the prices that come with this package, or those of another file of the same form.

    Raises `UnreadableError` if there is no file, `DataError` if it has another form.
    """
    file = Path(path) if path is not None else _OWN
    return Prices.read(read_json(file), str(file))
