"""Describe the restaurants that a proof is about: the values that each field and parameter may have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

from formulaseed import limits
from formulaseed.errors import DataError
from formulaseed.ir import nodes
from formulaseed.language.typed import Symbol, SymbolKind, symbols_in
from formulaseed.language.types import Base, Value
from formulaseed.proofs.nodes import Constant, Interval, to_constant, to_fraction
from formulaseed.seed.standard_fields import FIELDS_BY_NAMESPACE

_HALVES = 2
_Field = nodes.ExtractionField | nodes.InputField | nodes.Parameter
_COUNT = (0, limits.INTEGER_MAX, 1)
_YELP_RANGES: dict[str, tuple[int, int, int | None]] = {
    "meta.stars": (1, 5, 1), "meta.useful": _COUNT, "meta.funny": _COUNT, "meta.cool": _COUNT, "meta.year": (2004, 2030, 1),
    "meta.month": (1, 12, 1), "context.stars": (1, 5, _HALVES), "context.review_count": _COUNT, "context.is_open": (0, 1, 1),
    "context.latitude": (-90, 90, None), "context.longitude": (-180, 180, None),
}  # fmt: skip
"""The lowest and the highest number, and how many numbers are in a range of 1; None for any number."""


class FieldDomain(NamedTuple):
    """The values of one field: those of an enum or boolean, or the numbers from `low` to `high`, or any string.

    `per_unit` is how many numbers are in a range of 1: 1 for whole numbers, whose `base` is INTEGER, 2 for halves; None for any
    number. `symbol` may also be a parameter.
    """

    symbol: Symbol
    base: Base
    values: tuple[Constant, ...] = ()
    low: Fraction = Fraction(0)
    high: Fraction = Fraction(0)
    per_unit: int | None = None
    nullable: bool = False

    def to_json(self, value: Constant) -> Value:
        """Return a value of the field as JSON has it: a whole number as an integer, unless a float must hold it."""
        if not isinstance(value, Fraction):
            return value
        is_whole = value.denominator == 1 and (self.base is Base.INTEGER or abs(value) < 2**53)
        return int(value) if is_whole else float(value)

    def describe(self) -> str:
        """Return the values in words, such as "whole numbers from 1 to 5"."""
        words = f"one of {len(self.values)} values" if self.values else "any string"
        if self.base is Base.BOOLEAN:
            words = "true or false"
        elif self.base.is_numeric:
            words = self._describe_numbers()
        return f"{words}, or null" if self.nullable else words

    def _describe_numbers(self) -> str:
        """Return the kind and the range of the numbers in words; bounds as wide as the module accepts are left out."""
        kind = {1: "whole numbers", _HALVES: "halves"}.get(self.per_unit or 0, "numbers")
        widest = to_fraction(limits.INTEGER_MAX if self.base is Base.INTEGER else limits.INPUT_MAX)
        low = format_number(self.low) if self.low > -widest else ""
        high = format_number(self.high) if self.high < min(widest, Fraction(limits.INTEGER_MAX)) else ""
        if low and high:
            return f"{kind} from {low} to {high}"
        if low:
            return f"{kind} of {low} or more"
        return f"{kind} of {high} or less" if high else f"any {kind[:-1]}"


class Domain(NamedTuple):
    """The values of every field that a proof reads. A parameter that is not in `fields` has its value of `parameters`."""

    fields: dict[Symbol, FieldDomain]
    parameters: dict[str, Constant]

    def rows(self) -> Iterator[FieldDomain]:
        """Yield the fields of reviews."""
        return (field for field in self.fields.values() if field.symbol.is_per_review)

    def shared(self) -> Iterator[FieldDomain]:
        """Yield the fields of restaurants, and the parameters that may have any value."""
        return (field for field in self.fields.values() if not field.symbol.is_per_review)


def read_domain(
    program: nodes.Program,
    parameters: Mapping[str, Value] | None = None,
    *,
    is_wide: bool = False,
    any_parameters: bool = False,
) -> Domain:
    """Return the domain of the fields that the program uses.

    Numbers that Yelp records have Yelp's ranges, other fields the range that the module accepts; with `is_wide` all fields have
    that. Parameters have their values in `parameters` or their defaults, or with `any_parameters` all values within their bounds.
    """
    reviews = [claim.review for claim in program.properties if claim.review is not None]
    used = program.used().union(*map(symbols_in, reviews))
    sections: dict[SymbolKind, Sequence[_Field]] = {
        SymbolKind.EXTRACTION: program.fields, SymbolKind.META: program.meta, SymbolKind.CONTEXT: program.context,
        SymbolKind.PARAMETER: program.parameters if any_parameters else (),
    }  # fmt: skip
    standard = {} if is_wide else FIELDS_BY_NAMESPACE
    declared = ((Symbol(kind, field.name), field) for kind, section in sections.items() for field in section)
    fields = {
        symbol: _read_field(symbol, field, is_yelp=standard.get(symbol.kind.value, {}).get(symbol.name) == field.ty)
        for symbol, field in declared
        if symbol in used
    }
    values = {p.name: to_constant((parameters or {}).get(p.name, p.default)) for p in program.parameters}
    return Domain(fields, values)


def join_domains(old: Domain, new: Domain) -> Domain:
    """Return the domain of restaurants that two seeds accept, with the parameters of the new one.

    Raises `DataError` for a field that has another type in each seed, or no value that both accept.
    """
    fields = dict(old.fields)
    for symbol, field in new.fields.items():
        fields[symbol] = _intersect(fields[symbol], field) if symbol in fields else field
    return Domain(fields, new.parameters)


def _intersect(old: FieldDomain, new: FieldDomain) -> FieldDomain:
    """Return the values that are in both domains of a field. Raises `DataError` if there are none."""
    is_typed_alike = old.base is new.base or (old.base.is_numeric and new.base.is_numeric)
    values = tuple(value for value in old.values or new.values if not new.values or value in new.values)
    low, high = max(old.low, new.low), min(old.high, new.high)
    is_empty = low > high or (not values and bool(old.values or new.values))
    if is_empty or not is_typed_alike:
        reason = "proofs compare seeds over the same restaurants"
        raise DataError(f"`{old.symbol}` has no value that both seeds accept; {reason}")
    whole = old if old.per_unit is not None else new
    return whole._replace(values=values, low=low, high=high, nullable=old.nullable and new.nullable)


def _read_field(symbol: Symbol, field: _Field, *, is_yelp: bool) -> FieldDomain:
    """Return the domain of a field, within its declared bounds; with `is_yelp` that of Yelp's data."""
    ty = field.ty
    if not ty.is_numeric:
        values = (False, True) if ty.base is Base.BOOLEAN else ty.values or ()
        return FieldDomain(symbol, ty.base, values, nullable=ty.nullable)
    widest = to_fraction(limits.INTEGER_MAX if ty.base is Base.INTEGER else limits.INPUT_MAX)
    low, high = -widest, widest
    per_unit = 1 if ty.base is Base.INTEGER else None
    if is_yelp and str(symbol) in _YELP_RANGES:
        *ends, per_unit = _YELP_RANGES[str(symbol)]
        low, high = map(Fraction, ends)
    if not isinstance(field, nodes.InputField):
        low = low if field.minimum is None else max(low, to_fraction(field.minimum))
        high = high if field.maximum is None else min(high, to_fraction(field.maximum))
    base = Base.INTEGER if per_unit == 1 else ty.base
    return FieldDomain(symbol, base, (), low, high, per_unit, ty.nullable)


def format_number(value: Fraction) -> str:
    """Return a number as people write it, with at most six digits if it is not whole."""
    return str(int(value)) if value == int(value) and abs(value) < 10**15 else f"{float(value):.6g}"


def format_interval(name: str, interval: Interval) -> str:
    """Return the condition that a number is in an interval, such as `4 <= SCORE < 5`."""
    low, high = interval.low, interval.high
    if isinstance(low, Fraction) and low == high:
        return f"{name} == {format_number(low)}"
    start = f"{format_number(low)} {'<' if interval.is_low_open else '<='} " if isinstance(low, Fraction) else ""
    end = f" {'<' if interval.is_high_open else '<='} {format_number(high)}" if isinstance(high, Fraction) else ""
    return f"{start}{name}{end}"
