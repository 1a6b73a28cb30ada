"""The totals of a run with a model: calls, tokens, costs, what the store saved, quotes, agreement of passes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from formulaseed.diagnostics.model import number_of
from formulaseed.extract.model.prompting import Values, exact
from formulaseed.llm.calls import Attempt, Usage
from formulaseed.llm.prices import Prices, cost_text


class PassAgreement:
    """For each field, in how many reviews all passes gave the same value."""

    def __init__(self) -> None:
        self.reviews = 0
        self.agreed: Counter[str] = Counter()

    def add(self, passes: Sequence[Values]) -> None:
        self.reviews += 1
        for name in passes[0].fields:
            self.agreed[name] += len({exact(each.fields[name]) for each in passes}) == 1


@dataclass
class UsageStats:
    """Counts while a run goes on. Costs are US dollars; an unknown one makes the sum unknown."""

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
    agreement: PassAgreement = field(default_factory=PassAgreement)

    def add_attempt(self, attempt: Attempt, *, is_batch: bool = False) -> None:
        self.attempts += 1
        self.asked += attempt.number == 1 and not is_batch
        if attempt.usage is not None:
            self.usage += attempt.usage
            self.paid = _sum(self.paid, self.prices.cost(attempt.model, attempt.usage, is_batch=is_batch))
        elif not attempt.status.isdecimal() and not is_batch:
            self.broken += 1

    def add_stored(self, model: str, usage: Usage, *, is_batch: bool) -> None:
        """Count an answer that was in the store already."""
        self.stored += 1
        self.saved = _sum(self.saved, self.prices.cost(model, usage, is_batch=is_batch))

    def add_values(self, passes: Sequence[Values], chosen: Values) -> None:
        """Count the quotes of a review's values, and the agreement of its passes."""
        if len(passes) > 1:
            self.agreement.add(passes)
        self.quotes += len(chosen.quotes)
        self.unverified += sum(not quote.is_verified for quote in chosen.quotes.values())

    def lines(self) -> list[str]:
        """Return the closing lines, for people."""
        usage, reviews = self.usage, self.agreement.reviews
        paid = f"paid {cost_text(self.paid)} for {number_of(self.asked, 'call')}"
        paid += f" ({usage.prompt:,} tokens in, {usage.cache_read:,} of them cached, {usage.output:,} out)"
        saved = f"the store saved {number_of(self.stored, 'call')}, {cost_text(self.saved)}"
        shares = (f"{name} {n / reviews:.0%}" for name, n in self.agreement.agreed.items())
        found = {
            f"{paid}; {saved}; {number_of(self.failed, 'review')} failed": True,
            f"{number_of(self.attempts, 'attempt')} in all": self.attempts > self.asked,
            f"{number_of(self.broken, 'attempt')} ended without an answer: whether the API charges for that is unknown": (
                self.broken
            ),
            f"{self.quotes - self.unverified:,} of {number_of(self.quotes, 'quote')} found in their reviews": self.quotes,
            f"all passes agree on: {', '.join(shares)} of {number_of(reviews, 'review')}": reviews,
        }
        return [line for line, is_shown in found.items() if is_shown]


def _sum(total: float | None, cost: float | None) -> float | None:
    return None if total is None or cost is None else total + cost
