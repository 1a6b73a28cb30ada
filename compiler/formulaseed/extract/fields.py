"""Extraction fields as the extractors see them: what to look for in a review, which answers are legal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

FieldType = Literal["enum", "boolean", "integer", "number", "string"]
FieldValue = str | int | float | bool


@dataclass(frozen=True, slots=True)
class Field:
    """One extraction field of a Formula Seed, as an extractor needs to know it."""

    name: str
    type: FieldType
    description: str = ""
    values: tuple[tuple[str, str], ...] = ()
    """An enum's values, each with its description, in the seed's order."""
    default: FieldValue | None = None
    """None: the seed states no default."""
