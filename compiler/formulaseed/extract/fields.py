"""Extraction fields as the extractors use them: what to look for in a review, which values are legal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from formulaseed.data.results import FieldValue
from formulaseed.errors import DataError
from formulaseed.language.json_values import _shown
from formulaseed.limits import INPUT_MAX, INTEGER_MAX

FieldType = Literal["enum", "boolean", "integer", "number", "string"]


@dataclass(frozen=True, slots=True)
class Field:
    """One extraction field of a Formula Seed."""

    name: str
    type: FieldType
    description: str = ""
    values: tuple[tuple[str, str], ...] = ()
    """An enum's values, each with its description, in the seed's order."""
    default: FieldValue | None = None
    """None: the seed states no default."""
    evidence: bool = False
    """Whether a quote from the review is asked for."""
    minimum: int | float | None = None
    maximum: int | float | None = None
    """The bounds of a number, both inclusive; None where the seed states none."""
    hint: str | None = None
    """`stars`: the lexical extractor may take a review's stars into account."""

    def allows(self, number: float) -> bool:
        """Return whether a number is inside the bounds."""
        return (self.minimum is None or number >= self.minimum) and (self.maximum is None or number <= self.maximum)

    @property
    def bounds(self) -> str:
        """The bounds in words, such as `from 0 to 240`; empty where there are none."""
        if self.minimum is not None and self.maximum is not None:
            return f"from {self.minimum} to {self.maximum}"
        if self.minimum is not None:
            return f"{self.minimum} or more"
        return f"{self.maximum} or less" if self.maximum is not None else ""


_KINDS: dict[FieldType, tuple[type, ...]] = {
    "enum": (str,),
    "string": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
}


def legal(field: Field, value: Any) -> FieldValue:
    """Return the value as the field holds it: 3.0 is the integer 3. Raises `DataError` for an illegal one."""
    if field.type == "integer" and isinstance(value, float) and value.is_integer():
        value = int(value)
    if type(value) not in _KINDS[field.type]:
        raise DataError(f"`{field.name}` must be of type {field.type}, not {_shown(value)}")
    allowed = [name for name, _ in field.values]
    if field.type == "enum" and value not in allowed:
        raise DataError(f"`{field.name}` must be one of {', '.join(allowed)}, not {_shown(value)}")
    found: FieldValue = value
    if not isinstance(found, str | bool):
        most = INTEGER_MAX if field.type == "integer" else INPUT_MAX
        if not -most <= found <= most:  # NaN is not
            raise DataError(f"`{field.name}` must be a number between -{most:g} and {most:g}")
        if not field.allows(found):
            raise DataError(f"`{field.name}` must be {field.bounds}, not {found!r}")
    return found
