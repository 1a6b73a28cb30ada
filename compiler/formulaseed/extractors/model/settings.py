"""Define the options of the extractors that ask a model: the model, the pace and number of calls, and their cost."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from formulaseed.extractors.base import ExtractorOptions, LinesOption, PathOption, Seconds
from formulaseed.llm.calls import Effort


class ModelSettings(ExtractorOptions):
    """The options of every extractor that asks a model. Times are in seconds, costs in US dollars; None means no limit."""

    asks_model: ClassVar[bool] = True

    model: str = Field("claude-haiku-5-5", description="The model.")
    effort: Effort = Field("low", description="The model's effort.")
    concurrency: int = Field(16, ge=1, le=1000, description="Concurrent calls; fewer while the API pushes back.")
    examples: LinesOption | None = Field(
        None, description="Reviewed answers to show the model, JSON Lines, in place of the seed's."
    )
    store: PathOption | None = Field(
        None, description="Where answers are cached; by default in the user's cache folder."
    )
    retry_errors: bool = Field(False, description="Ask again where a stored answer is unusable.")
    timeout: Seconds = Field(60.0, description="Seconds for one attempt.")
    deadline: Seconds = Field(300.0, description="Seconds for one call with all of its attempts.")
    retries: int = Field(8, ge=0, le=20, description="Attempts after the first, for transient errors.")
    requests_per_minute: float | None = Field(None, gt=0, description="The most requests a minute.")
    tokens_per_minute: float | None = Field(None, gt=0, description="About the most prompt tokens a minute.")
    max_usd: float | None = Field(
        None, gt=0, description="Stop before the calls of this run can cost more, in US dollars."
    )
    prices: PathOption | None = Field(
        None, description="A file of prices, in place of those that come with this version."
    )

    @classmethod
    def find_panel(cls, option: str) -> str:
        """Return the name of the panel of a command's help that lists `option`: `cost` or `model`."""
        return "cost" if option in ("max_usd", "prices") else "model"

    @property
    def needs_all_answers(self) -> bool:
        """Whether every review needs an answer of the model, so that a missing answer is known before the run."""
        return True
