"""Define a line of expected outputs."""

from __future__ import annotations

from typing import Any

from pydantic import ConfigDict, Field

from formulaseed.data.records import Record


class ExpectedLine(Record):
    """The outputs that a restaurant is expected to have, and a note on who expects them, or why."""

    model_config = ConfigDict(extra="forbid")

    business_id: str = Field(min_length=1)
    output: dict[str, Any] = Field(min_length=1)
    note: str = ""
