"""Computes the costs of calls, and upper bounds of them.

The prices are in a dated file, in US dollars per million tokens; another file of the same form can replace it. Writing a prompt
to the cache, reading it from the cache and batches have factors. The cost of a model that is not listed is unknown, and so
is the cost of a prompt that is longer than the `longest_prompt` of its model.
"""

from __future__ import annotations

from pathlib import Path

from formulaseed.data.files import read_json
from formulaseed.data.records import Amount, PositiveAmount, Record
from formulaseed.llm.calls import ModelCall, Usage

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
