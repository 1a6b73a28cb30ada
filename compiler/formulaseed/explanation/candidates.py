"""Make candidate reviews to add to a restaurant's: one that each step over reviews would count, and copies of existing ones.

Fields that no condition tests are copied from an existing review, which the result names: the latest one that the step counts
or, if that does not meet the conditions, the latest of all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any, NamedTuple

from formulaseed.explanation.verdict_dependencies import Field, FieldRequirement, VerdictDependencies
from formulaseed.language.inputs import _parse_iso_date
from formulaseed.language.types import Value
from formulaseed.pages.values import format_plain, format_value

_MAX_NAMED_FIELDS = 8
_NEUTRAL_META = {"stars": 3, "useful": 0, "funny": 0, "cool": 0, "year": 2025, "month": 1}
"""The metadata of a candidate if there is no review to copy from."""
Row = Mapping[str, Any]


class Candidate(NamedTuple):
    """A row to add: `set` has the fields that were changed; the others are copied from `source`, assumed if that is empty."""

    row: Row
    source: str
    set: Mapping[Field, Value] = MappingProxyType({})


@dataclass
class CandidateReviews:
    """A maker of candidates from a restaurant's rows; `counted` has the positions of the rows that each step counts."""

    dependencies: VerdictDependencies
    rows: Sequence[Row]
    counted: Mapping[str, Sequence[int]]

    def make_candidates(self, places: Iterable[int]) -> Iterator[Candidate]:
        """Yield candidate reviews for each step with requirements, then copies of the rows at `places`.

        For each step: a copy of the latest review that the step counts, if it counts any, then the latest review of
        all, changed to meet the step's requirements. Duplicates are not removed.
        """
        for step, requirements in self.dependencies.requirements.items():
            if counted := self.counted.get(step):
                yield self._copy_review(max(counted, key=self._date_key))
            yield self._adapt_latest(requirements)
        yield from map(self._copy_review, places)

    def describe(self, candidate: Candidate) -> str:
        """Return a candidate in words: the fields that were set, then the other fields that the verdict depends on.

        At most `_MAX_NAMED_FIELDS` of the other fields are named. An unchanged copy is described as `like <review>`.
        """
        meta = _add_year_and_month(candidate.row.get("meta") or {})
        row = {"extraction": candidate.row.get("extraction") or {}, "meta": meta}
        copied = [field for field in self.dependencies.fields if field not in candidate.set]
        rest = ", ".join(
            f"{name} {format_plain(row[section].get(name))}" for section, name in copied[:_MAX_NAMED_FIELDS]
        )
        if len(copied) > _MAX_NAMED_FIELDS:
            rest += f" and {len(copied) - _MAX_NAMED_FIELDS} more"
        if not candidate.set and candidate.source:
            return f"like {candidate.source} ({rest})" if rest else f"like {candidate.source}"
        parts: list[str] = []
        if candidate.set:
            changed = ", ".join(f"{name} is {format_value(value)}" for (_, name), value in candidate.set.items())
            parts.append(f"where {changed}")
        if rest and candidate.source:
            parts.append(f"(otherwise as in {candidate.source}: {rest})")
        elif rest:
            parts.append(f"(assumed, as there is no review to go by: {rest})")
        return " ".join(parts)

    def _copy_review(self, place: int) -> Candidate:
        """Return the review at position `place` as a candidate, with no field set."""
        return Candidate(self.rows[place], review_name(self.rows[place], place))

    def _adapt_latest(self, requirements: Sequence[FieldRequirement]) -> Candidate:
        """Return the latest review, or neutral values, as a candidate with fields set to meet `requirements`.

        An exact requirement is always set; another one only if the review does not meet it yet. Of several
        requirements for a field the first wins. The date becomes the first day of the row's year and month; an
        invalid month becomes 1.
        """
        row = {section: dict(values) for section, values in self._base.items()}
        changed: dict[Field, Value] = {}
        for requirement in requirements:
            section, name = requirement.field
            is_met = not requirement.is_exact and requirement.is_met_by(row[section].get(name))
            if requirement.field not in changed and not is_met:
                row[section][name] = changed[requirement.field] = requirement.value
        meta = row["meta"] = _add_year_and_month(row["meta"])
        if "date" not in meta and isinstance(year := meta.get("year"), int) and 1 <= year <= 9999:
            if not (isinstance(month := meta.get("month"), int) and 1 <= month <= 12):
                meta["month"] = 1
            meta["date"] = f"{year:04}-{meta['month']:02}-01"
        source = review_name(self.rows[self._latest], self._latest) if self.rows else ""
        return Candidate({"review_id": "(one more)", **row}, source, changed)

    def _date_key(self, place: int) -> str:
        """Return a string that sorts reviews by date or, without one, year and month; empty if both are unknown."""
        meta = self.rows[place].get("meta") or {}
        date, year, month = (meta.get(name) for name in ("date", "year", "month"))
        if isinstance(date, str):
            return date
        if isinstance(year, int) and isinstance(month, int | None):
            return f"{year:04}-{month or 0:02}"
        return ""

    @cached_property
    def _latest(self) -> int:
        """The position of the latest review, the first of several. Raises `ValueError` if there are no reviews."""
        return max(range(len(self.rows)), key=self._date_key)

    @cached_property
    def _base(self) -> dict[str, dict[str, Any]]:
        """The `extraction` and `meta` of the latest review, with the year and month of its date in place of the date.

        If there is no review, each field has its first possible value or its default, and `meta` is `_NEUTRAL_META`.
        """
        if not self.rows:
            fields = self.dependencies.program.fields
            neutral = {field.name: field.values[0].name if field.values else field.default for field in fields}
            return {"extraction": neutral, "meta": dict(_NEUTRAL_META)}
        row = self.rows[self._latest]
        meta = _add_year_and_month(row.get("meta") or {})
        meta.pop("date", None)
        return {"extraction": row.get("extraction") or {}, "meta": meta}


def review_name(row: Row, place: int) -> str:
    """Return the id of the review at position `place`; `rows[place]` if it has none."""
    review_id = row.get("review_id")
    if isinstance(review_id, str):
        return review_id
    return f"rows[{place}]"


def _add_year_and_month(meta: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of `meta`; if it has a valid `date`, that date's year and month replace its own."""
    date = meta.get("date")
    year_and_month = _parse_iso_date(date) if isinstance(date, str) else None
    if year_and_month is None:
        return {**meta}
    return {**meta, "year": year_and_month[0], "month": year_and_month[1]}
