"""Reviews to add to a restaurant's: such as a step over reviews asks for, and such as there are already.

In: a program and one restaurant's rows. Out: rows, each with what it is in words. What no step asks for is that of a review of
the restaurant, which is named: the latest that the step counts or, if that does not do, the latest of all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any, NamedTuple

from formulaseed.explanation.verdict_dependencies import Field, Leading, Wish
from formulaseed.language.inputs import _iso_date
from formulaseed.language.types import Value
from formulaseed.pages.values import format_plain, format_value

_NAMED = 8
"""So many fields of a row are named."""
_NEUTRAL = {"stars": 3, "useful": 0, "funny": 0, "cool": 0, "year": 2025, "month": 1}
"""The metadata of a review where there is none to go by."""
Row = Mapping[str, Any]


class Addition(NamedTuple):
    """A row to add: one `like` another, but for what is `wanted` of it; where there is no other, the rest is assumed."""

    row: Row
    like: str
    wanted: Mapping[Field, Value] = MappingProxyType({})


@dataclass
class Additions:
    """Makes rows to add to those that are `given`; `counted` are the places of those that each step over reviews counts."""

    leading: Leading
    given: Sequence[Row]
    counted: Mapping[str, Sequence[int]]

    def rows(self, like: Iterable[int]) -> Iterator[Addition]:
        """Yield rows such as each step over reviews asks for, and such as those at some places."""
        for step, wishes in self.leading.wishes.items():
            if counted := self.counted.get(step):
                yield self._like(max(counted, key=self._age))
            yield self._latest_with(wishes)
        yield from map(self._like, like)

    def text(self, addition: Addition) -> str:
        """Return what an added row is like: what is wanted of it, and what else it has of which the verdict depends."""
        wanted = addition.wanted
        row = {"extraction": addition.row.get("extraction") or {}, "meta": _with_parts(addition.row.get("meta") or {})}
        named = [key for key in self.leading.fields if key not in wanted]
        rest = ", ".join(f"{name} {format_plain(row[section].get(name))}" for section, name in named[:_NAMED])
        rest += f" and {len(named) - _NAMED} more" if len(named) > _NAMED else ""
        if not wanted and addition.like:
            return f"like {addition.like}" + (f" ({rest})" if rest else "")
        asked = ", ".join(f"{name} is {format_value(value)}" for (_, name), value in wanted.items())
        source = f"otherwise as in {addition.like}" if addition.like else "assumed, as there is no review to go by"
        parts = [f"where {asked}" if asked else "", f"({source}: {rest})" if rest else ""]
        return " ".join(filter(None, parts))

    def _like(self, place: int) -> Addition:
        return Addition(self.given[place], name_of(self.given[place], place))

    def _latest_with(self, wishes: Sequence[Wish]) -> Addition:
        """The latest review with what a step asks for."""
        row = {section: dict(values) for section, values in self._base.items()}
        wanted: dict[Field, Value] = {}
        for wish in wishes:
            section, name = wish.field
            if wish.field not in wanted and (wish.is_exact or not wish.is_met(row[section].get(name))):
                row[section][name] = wanted[wish.field] = wish.value
        meta = row["meta"] = _with_parts(row["meta"])
        if "date" not in meta and isinstance(year := meta.get("year"), int) and 1 <= year <= 9999:
            month = meta.get("month")
            meta["month"] = month if isinstance(month, int) and 1 <= month <= 12 else 1
            meta["date"] = f"{year:04}-{meta['month']:02}-01"
        like = name_of(self.given[self._latest], self._latest) if self.given else ""
        return Addition({"review_id": "(one more)", **row}, like, wanted)

    def _age(self, place: int) -> str:
        """What sorts reviews by date, as far as it is known."""
        meta = self.given[place].get("meta") or {}
        date, year, month = (meta.get(name) for name in ("date", "year", "month"))
        if isinstance(date, str):
            return date
        return f"{year:04}-{month or 0:02}" if isinstance(year, int) and isinstance(month, int | None) else ""

    @cached_property
    def _latest(self) -> int:
        return max(range(len(self.given)), key=self._age)

    @cached_property
    def _base(self) -> dict[str, dict[str, Any]]:
        """The latest review, its date as year and month, or where there is none a neutral one."""
        if not self.given:
            fields = self.leading.program.fields
            neutral = {each.name: each.values[0].name if each.values else each.default for each in fields}
            return {"extraction": neutral, "meta": dict(_NEUTRAL)}
        row = self.given[self._latest]
        meta = _with_parts(row.get("meta") or {})
        meta.pop("date", None)
        return {"extraction": row.get("extraction") or {}, "meta": meta}


def name_of(row: Row, place: int) -> str:
    """Return the id of a review, or its place among the others."""
    given = row.get("review_id")
    return given if isinstance(given, str) else f"rows[{place}]"


def _with_parts(meta: Mapping[str, Any]) -> dict[str, Any]:
    """Metadata with the year and the month of its date."""
    date = meta.get("date")
    found = _iso_date(date) if isinstance(date, str) else None
    return {**meta, "year": found[0], "month": found[1]} if found is not None else {**meta}
