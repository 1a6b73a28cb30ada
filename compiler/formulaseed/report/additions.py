"""Reviews to add to a restaurant's: such as a step over reviews asks for, and such as there are already.

In: a program and one restaurant's rows. Out: rows, each with what it is in words. What no step asks for is assumed, and said.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any, NamedTuple

from formulaseed.language.inputs import _iso_date
from formulaseed.language.types import Value
from formulaseed.report.leading import Field, Leading, Wish
from formulaseed.report.values import plain, shown

_NAMED = 8
"""So many fields of a row are named."""
Row = Mapping[str, Any]


class Addition(NamedTuple):
    """A row to add: `like` another one again, or with what a step asks for, as far as that is not assumed anyway."""

    row: Row
    wanted: Mapping[Field, Value] = MappingProxyType({})
    like: str = ""


@dataclass
class Additions:
    """Makes rows to add to those that are `given`."""

    leading: Leading
    given: Sequence[Row]

    def rows(self, like: Iterable[int]) -> Iterator[Addition]:
        """Yield rows such as each step over reviews asks for, and such as those at some places."""
        yield from map(self._asked_for, self.leading.wishes)
        rows = (self.given[place] for place in like)
        yield from (Addition(row, like=str(row.get("review_id", "one of these"))) for row in rows)

    def text(self, addition: Addition) -> str:
        """Return what an added row is like: all that it has of which the verdict depends, and what of it is assumed."""
        row, wanted = addition.row, addition.wanted
        named = [key for key in self.leading.fields if key not in wanted]
        rest = ", ".join(f"{name} {plain((row.get(section) or {}).get(name))}" for section, name in named[:_NAMED])
        rest += f" and {len(named) - _NAMED} more" if len(named) > _NAMED else ""
        asked = ", ".join(f"{name} is {shown(value)}" for (_, name), value in wanted.items())
        about = [f"like {addition.like}" if addition.like else f"where {asked}" if asked else ""]
        about.append(f"({'' if addition.like else 'assumed: '}{rest})" if rest else "")
        return " ".join(filter(None, about))

    def _asked_for(self, wishes: Sequence[Wish]) -> Addition:
        """A review that meets these wishes, the rest as is assumed of a review."""
        row = {section: dict(values) for section, values in self._common_row.items()}
        wanted: dict[Field, Value] = {}
        for wish in wishes:
            section, name = wish.field
            if wish.field not in wanted and (wish.is_exact or not wish.is_met(row[section].get(name))):
                row[section][name] = wanted[wish.field] = wish.value
        meta = row["meta"]
        if (date := _iso_date(str(meta.get("date")))) is not None:
            meta["year"], meta["month"] = date
            return Addition({"review_id": "(one more)", **row}, wanted)
        year, month = meta.get("year"), meta.get("month")
        if isinstance(year, int) and 1 <= year <= 9999:
            meta["month"] = month if isinstance(month, int) and 1 <= month <= 12 else 1
            meta["date"] = f"{year:04}-{meta['month']:02}-01"
        return Addition({"review_id": "(one more)", **row}, wanted)

    @cached_property
    def _common_row(self) -> dict[str, dict[str, Any]]:
        """What is assumed of a review: what most reviews have, and the newest year."""
        row: dict[str, dict[str, Any]] = {"extraction": {}, "meta": {}}
        for section, values in row.items():
            given = [each.get(section) or {} for each in self.given]
            for name in sorted({name for each in given for name in each}):
                common = {repr(each.get(name)): each.get(name) for each in given}
                values[name] = common[Counter(repr(each.get(name)) for each in given).most_common(1)[0][0]]
        for each in self.leading.program.fields:
            row["extraction"].setdefault(each.name, each.values[0].name if each.values else each.default)
        meta = row["meta"]
        if not self.given:
            meta |= {"stars": 3, "useful": 0, "funny": 0, "cool": 0, "year": 2025, "month": 1}
        meta.pop("date", None)
        years = [year for each in self.given if (year := _year(each.get("meta") or {})) is not None]
        return {**row, "meta": meta | ({"year": max(years)} if years else {})}


def _year(meta: Mapping[str, Any]) -> int | None:
    year, date = meta.get("year"), meta.get("date")
    if isinstance(year, int):
        return year
    found = _iso_date(date) if isinstance(date, str) else None
    return found[0] if found is not None else None
