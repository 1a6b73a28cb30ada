"""What calls cost. The prices are a dated file that can be overridden; a model that it does not list costs "unknown".

Prices are in US dollars per million tokens. Reading a cached prompt, writing one and batches have factors of
their own. Where a model's prices hold for prompts up to a length only, a longer one's cost is unknown.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from formulaseed.data.files import read_whole
from formulaseed.errors import DataError
from formulaseed.limits import FILE_BYTES
from formulaseed.llm.calls import Call, Usage

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
        """What the tokens of so many calls cost in US dollars; None where that is not known."""
        price = self.models.get(model)
        if price is None or (price.longest_prompt is not None and usage.prompt > price.longest_prompt * max(1, calls)):
            return None
        read = usage.input + usage.cache_write * self.cache_write + usage.cache_read * self.cache_read
        return (read * price.input + usage.output * price.output) * (self.batch if is_batch else 1.0)

    def at_most(self, call: Call, *, is_batch: bool = False) -> float | None:
        """More than the call can cost: as if every byte of the prompt were a token that is written to the cache."""
        return self.cost(call.model, Usage(cache_write=call.bytes, output=call.max_tokens), is_batch=is_batch)


def read_prices(path: str | Path | None = None) -> Prices:
    """The prices that come with this package, or those of another file of the same form.

    Raises `UnreadableError` where there is none, `DataError` where it is not of that form.
    """
    file = Path(path) if path is not None else _OWN
    try:
        given = json.loads(read_whole(file, FILE_BYTES).decode())
    except (ValueError, RecursionError) as error:
        raise DataError(f"no JSON: {error}", str(file)) from None
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
    """A sum for people."""
    if cost is None:
        return "an unknown cost"
    return f"${cost:.2f}" if cost >= 1 else f"${cost:.4f}"
