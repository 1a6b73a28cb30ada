"""Make candidate reviews to add to a restaurant's: reviews of the run that a step over reviews would count, then others.

A review with values that no review of the run has comes last: it is like the latest one but for what a step requires.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from types import MappingProxyType
from typing import Any, NamedTuple

from formulaseed.explanation.verdict_dependencies import Field, FieldRequirement, VerdictDependencies
from formulaseed.language.inputs import _parse_iso_date
from formulaseed.language.typed import Symbol, SymbolKind
from formulaseed.language.types import Value
from formulaseed.pages.values import format_plain

_MAX_NAMED_FIELDS = 8
_MAX_OBSERVED_REVIEWS = 20_000
_NEUTRAL_META = {"stars": 3, "useful": 0, "funny": 0, "cool": 0, "year": 2025, "month": 1}
"""The metadata of a candidate if there is no review to copy from."""
Row = Mapping[str, Any]


class Candidate(NamedTuple):
    """A row to add: `set` has the fields that were changed; the others are copied from `source`, assumed if that is empty.

    If not `is_observed`, no review of the run has its extracted values.
    """

    row: Row
    source: str
    set: Mapping[Field, Value] = MappingProxyType({})
    is_observed: bool = True


class ObservedReviews:
    """The reviews of a run, as far as they were added: the latest one for each combination of values of the `fields`."""

    def __init__(self, fields: Iterable[Field]) -> None:
        self._names = [name for section, name in fields if section == "extraction"]
        self._latest: dict[tuple[str, ...], Row] = {}
        self._read = 0

    @property
    def is_full(self) -> bool:
        """True if no further review is taken."""
        return self._read >= _MAX_OBSERVED_REVIEWS

    def add(self, rows: Iterable[Row]) -> None:
        """Add the reviews of one restaurant, up to `_MAX_OBSERVED_REVIEWS` of all. Rows that are no reviews are ignored."""
        for row in islice(rows, max(0, _MAX_OBSERVED_REVIEWS - self._read)):
            self._read += 1
            if not isinstance(row, Mapping) or not all(
                isinstance(row.get(key, {}), Mapping) for key in ("extraction", "meta")
            ):
                continue
            key = self._key(row)
            self._latest[key] = max(self._latest.get(key, row), row, key=_date_key)

    def has(self, row: Row) -> bool:
        """Return True if some review has the extracted values of `row`."""
        return self._key(row) in self._latest

    def find(self, requirements: Sequence[FieldRequirement]) -> Row | None:
        """Return the latest of the reviews that meet `requirements`; None if there is none."""
        meeting = [row for row in self._latest.values() if _meets(row, requirements)]
        return max(meeting, key=_date_key, default=None)

    def _key(self, row: Row) -> tuple[str, ...]:
        """Return the extracted values of a row."""
        extracted = row.get("extraction") or {}
        return tuple(repr(extracted.get(name)) for name in self._names)


@dataclass
class CandidateReviews:
    """A maker of candidates from a restaurant's rows; `counted` has the positions of the rows that each step counts.

    `observed` has the reviews of the run, those of the restaurant included, and `names` the words for fields.
    """

    dependencies: VerdictDependencies
    rows: Sequence[Row]
    counted: Mapping[str, Sequence[int]]
    observed: ObservedReviews
    names: Mapping[Symbol, str]

    def make_candidates(self, places: Iterable[int]) -> Iterator[Candidate]:
        """Yield candidate reviews for each step with requirements, then copies of the rows at `places`.

        For each step: a copy of the latest review that the step counts, if it counts any; then of the latest review of
        the run that meets the step's requirements; then the restaurant's latest review, changed to meet them. Those
        whose values no review of the run has come last. Duplicates are not removed.
        """
        unobserved: list[Candidate] = []
        for step, requirements in self.dependencies.requirements.items():
            if counted := self.counted.get(step):
                yield self._copy_review(max(counted, key=lambda place: _date_key(self.rows[place])))
            row = self.observed.find(requirements)
            if row is not None:
                yield Candidate(row, review_name(row, 0))
            adapted = self._adapt_latest(requirements)
            if adapted.is_observed:
                yield adapted
            else:
                unobserved.append(adapted)
        yield from map(self._copy_review, places)
        yield from unobserved

    def describe(self, candidate: Candidate) -> str:
        """Return a candidate in words: the fields that were set, then the other fields that the verdict depends on.

        At most `_MAX_NAMED_FIELDS` of the other fields are named. An unchanged copy is described as `like <review>`.
        """
        row = _read_sections(candidate.row)
        copied = [field for field in self.dependencies.fields if field not in candidate.set]
        rest = ", ".join(
            f"{self._name(field)} {format_plain(row[field[0]].get(field[1]))}" for field in copied[:_MAX_NAMED_FIELDS]
        )
        if len(copied) > _MAX_NAMED_FIELDS:
            rest += f" and {len(copied) - _MAX_NAMED_FIELDS} more"
        if not candidate.set and candidate.source:
            return f"like {candidate.source} ({rest})" if rest else f"like {candidate.source}"
        changed = [f"{self._name(field)} is {format_plain(value)}" for field, value in candidate.set.items()]
        parts = [f"where {' and '.join(changed)}"] if changed else []
        if rest:
            lead = (
                f"otherwise as in {candidate.source}" if candidate.source else "assumed, as there is no review to go by"
            )
            parts.append(f"({lead}: {rest})")
        return " ".join(parts)

    def _name(self, field: Field) -> str:
        """Return a field in words."""
        return self.names[Symbol(SymbolKind(field[0]), field[1])]

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
        return Candidate({"review_id": "(one more)", **row}, source, changed, self.observed.has(row))

    @cached_property
    def _latest(self) -> int:
        """The position of the latest review, the first of several. Raises `ValueError` if there are no reviews."""
        return max(range(len(self.rows)), key=lambda place: _date_key(self.rows[place]))

    @cached_property
    def _base(self) -> dict[str, dict[str, Any]]:
        """The `extraction` and `meta` of the latest review, with the year and month of its date in place of the date.

        If there is no review, each field has its first possible value or its default, and `meta` is `_NEUTRAL_META`.
        """
        if not self.rows:
            fields = self.dependencies.program.fields
            neutral = {field.name: field.values[0].name if field.values else field.default for field in fields}
            return {"extraction": neutral, "meta": dict(_NEUTRAL_META)}
        sections = _read_sections(self.rows[self._latest])
        sections["meta"].pop("date", None)
        return sections


def review_name(row: Row, place: int) -> str:
    """Return the id of the review at position `place`; `rows[place]` if it has none."""
    review_id = row.get("review_id")
    return review_id if isinstance(review_id, str) else f"rows[{place}]"


def _date_key(row: Row) -> str:
    """Return a string that sorts reviews by date or, without one, year and month; empty if both are unknown."""
    meta = row.get("meta") or {}
    date, year, month = (meta.get(name) for name in ("date", "year", "month"))
    if isinstance(date, str):
        return date
    if isinstance(year, int) and isinstance(month, int | None):
        return f"{year:04}-{month or 0:02}"
    return ""


def _meets(row: Row, requirements: Sequence[FieldRequirement]) -> bool:
    """Return True if a review meets all requirements."""
    sections = _read_sections(row)
    return all(one.is_met_by(sections[one.field[0]].get(one.field[1])) for one in requirements)


def _read_sections(row: Row) -> dict[str, dict[str, Any]]:
    """Return the `extraction` of a row and a copy of its `meta`, with the year and the month of a valid date."""
    return {"extraction": row.get("extraction") or {}, "meta": _add_year_and_month(row.get("meta") or {})}


def _add_year_and_month(meta: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of `meta`; if it has a valid `date`, that date's year and month replace its own."""
    date = meta.get("date")
    year_and_month = _parse_iso_date(date) if isinstance(date, str) else None
    if year_and_month is None:
        return {**meta}
    return {**meta, "year": year_and_month[0], "month": year_and_month[1]}
