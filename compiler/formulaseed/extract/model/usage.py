"""What a run with a model came to: calls, tokens, costs, what the store saved, quotes, agreement of passes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from formulaseed.data.extractions import Quote
from formulaseed.diagnostics.model import number_of
from formulaseed.extract.passes import Agreement
from formulaseed.llm.calls import Usage
from formulaseed.llm.client import Attempt
from formulaseed.llm.prices import Prices, cost_text


@dataclass
class UsageStats:
    """Counts as the work goes on. Costs are US dollars; one that is not known makes the sum unknown."""

    prices: Prices
    asked: int = 0
    """Calls that were sent in this run."""
    attempts: int = 0
    broken: int = 0
    """Attempts that ended without an answer and may have been paid for."""
    stored: int = 0
    failed: int = 0
    """Reviews without values."""
    usage: Usage = Usage()
    paid: float | None = 0.0
    saved: float | None = 0.0
    quotes: int = 0
    unverified: int = 0
    agreement: Agreement = field(default_factory=Agreement)

    def attempt(self, attempt: Attempt, *, is_batch: bool = False) -> None:
        self.attempts += 1
        self.asked += attempt.number == 1 and not is_batch
        if attempt.usage is not None:
            self.usage += attempt.usage
            self.paid = _sum(self.paid, self.prices.cost(attempt.model, attempt.usage, is_batch=is_batch))
        elif not attempt.status.isdecimal() and not is_batch:
            self.broken += 1

    def spared(self, model: str, usage: Usage, *, is_batch: bool) -> None:
        """An answer that was in the store already."""
        self.stored += 1
        self.saved = _sum(self.saved, self.prices.cost(model, usage, is_batch=is_batch))

    def quoted(self, quotes: Mapping[str, Quote]) -> None:
        self.quotes += len(quotes)
        self.unverified += sum(not quote.is_verified for quote in quotes.values())

    def lines(self) -> list[str]:
        """The closing lines, for people."""
        usage = self.usage
        paid = f"paid {cost_text(self.paid)} for {number_of(self.asked, 'call')}"
        paid += f" ({usage.prompt:,} tokens in, {usage.cache_read:,} of them cached, {usage.output:,} out)"
        saved = f"the store saved {number_of(self.stored, 'call')}, {cost_text(self.saved)}"
        told_ = [f"{paid}; {saved}; {number_of(self.failed, 'review')} failed"]
        if self.attempts > self.asked:
            told_.append(f"{number_of(self.attempts, 'attempt')} in all")
        if self.broken:
            told_.append(
                f"{number_of(self.broken, 'attempt')} ended without an answer: whether the API charges for that is unknown"
            )
        if self.quotes:
            told_.append(
                f"{self.quotes - self.unverified:,} of {number_of(self.quotes, 'quote')} stand in their reviews"
            )
        if self.agreement.reviews:
            shares = (f"{name} {n / self.agreement.reviews:.0%}" for name, n in self.agreement.agreed.items())
            told_.append(f"all passes agree on: {', '.join(shares)} of {number_of(self.agreement.reviews, 'review')}")
        return told_


def _sum(total: float | None, cost: float | None) -> float | None:
    return None if total is None or cost is None else total + cost
