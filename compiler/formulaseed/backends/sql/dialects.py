"""Defines the dialects of SQL: how names, literals and types are written, and which functions differ between engines."""

from __future__ import annotations

import re
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from formulaseed.backends.base import Construct
from formulaseed.language.operators import Spelling
from formulaseed.language.types import Base

COMMON = "sql"
"""The key of the spellings that all dialects share, in the tables of the language."""
BIGINT, DOUBLE, BOOLEAN = "BIGINT", "DOUBLE", "BOOLEAN"
POWERS: frozenset[Construct] = frozenset((("function", "pow"), ("operator", "**")))
"""The constructs that are exact everywhere as a table of results."""


class Sql(str):
    """A piece of a query. Only the printers of this package make it, never directly from a seed's text."""

    __slots__ = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """A dialect of SQL, named as in `--dialect`."""

    name: str
    title: str
    """The name of the engine in documents."""
    quote: str
    """The character around names."""
    string_type: str
    try_cast: str = "TRY_CAST"
    escapes: Mapping[str, str] = field(default_factory=dict)
    """The printable characters of a string literal that are written in another way."""
    character: str = ""
    """An expression of the character `{0}`, a code point; empty if a literal escapes the characters that cannot be printed."""
    first_fault: str
    """The fault of the first row that has one: `{fault}` and `{order}` are columns."""
    ordered_sum: str
    """The sum of the floats `{value}` in the order of `{order}`; `{filter}` selects rows."""
    integer_sum: str
    """The exact sum of the integers `{value}`, of a type that cannot overflow."""
    conditional_count: str = "COUNT(*) FILTER (WHERE {where})"
    """The number of rows that meet `{where}`, a BIGINT."""
    integer_division: str
    """The operator of the quotient of two integers, cut off."""
    floor: str
    """The next integer below the float `{0}`, of any size, as a float."""
    nearest: str
    """The integer nearest to the float `{0}`, halves to even, as a float."""
    decimals: str = ""
    """The number `{0}` rounded exactly to `{1}` decimal places; empty if the engine has no such function."""
    is_day: str
    """The condition that the string `{0}` is a date in the form YYYY-MM-DD."""
    distinct_orders: str = "COUNT(DISTINCT {0})"
    """The number of different values of the order key, an integer."""
    is_template: bool = False
    """Whether the text is a template of Jinja, in which no string may open a tag."""
    inexact: AbstractSet[Construct] = frozenset()
    """The rows of the language's tables that the engine computes with other bits than Python."""

    def type_of(self, base: Base) -> str:
        """Return the SQL type of values of this kind."""
        return {Base.INTEGER: BIGINT, Base.NUMBER: DOUBLE, Base.BOOLEAN: BOOLEAN}.get(base, self.string_type)

    def find_spelling(self, spellings: Mapping[str, Spelling]) -> Spelling | None:
        """Return the spelling for this dialect, else that for all dialects; None if there is neither."""
        return spellings.get(self.name) or spellings.get(COMMON)

    def quote_name(self, name: str) -> Sql:
        """Return a name as a quoted identifier."""
        return Sql(f"{self.quote}{name.replace(self.quote, self.quote * 2)}{self.quote}")

    def quote_path(self, name: str) -> Sql:
        """Return the name of a table, whose parts are separated by dots."""
        return Sql(".".join(map(self.quote_name, name.split("."))))

    def string(self, text: str) -> Sql:
        """Return a string literal; characters that cannot be printed are escaped, or concatenated."""
        parts = [""]
        for index, character in enumerate(text):
            if self.is_template and text[index - 1 : index] == "{" and character in "{%#":
                parts += ["", character]
            elif character.isprintable():
                parts[-1] += self.escapes.get(character, character)
            elif self.character:
                parts += [self.character.format(ord(character)), ""]
            else:
                parts[-1] += f"\\u{ord(character):04X}" if ord(character) < 0x10000 else f"\\U{ord(character):08X}"
        literals = [part if index % 2 else f"'{part}'" for index, part in enumerate(parts)]
        return Sql(literals[0] if len(literals) == 1 else f"({' || '.join(filter(None, literals))})")


def number_literal(value: int | float) -> Sql:
    """Return a number as SQL: a float with an exponent, since a plain decimal is an exact type."""
    text = repr(value).replace("e+", "e")
    if isinstance(value, float) and "e" not in text:
        text += "e0"
    return Sql(text)


def ascii_comment(text: str, width: int = 150) -> Sql:
    """Return a text on one line of ASCII, of at most about `width` characters; other characters become escapes."""
    line = re.sub(r"[^ -~]", lambda match: ascii(match[0])[1:-1], " ".join(text.split()))
    line = re.sub(r"\{(?=[{%#])", "{ ", line)  # opens no tag of Jinja
    return Sql(line if len(line) <= width else f"{line[: width - 3].rstrip()}...")


DUCKDB = Dialect(
    name="duckdb",
    title="DuckDB",
    quote='"',
    string_type="VARCHAR",
    escapes={"'": "''"},
    character="CHR({0})",
    first_fault="ARG_MIN({fault}, {order}) FILTER (WHERE {fault} IS NOT NULL)",
    ordered_sum="SUM({value} ORDER BY {order}){filter}",
    integer_sum="SUM({value}){filter}",
    conditional_count="CAST(COUNT_IF({where}) AS BIGINT)",  # faster than FILTER, which copies the selected rows
    integer_division="//",
    floor="FLOOR({0})",
    nearest="ROUND_EVEN({0}, 0)",
    is_day="(REGEXP_FULL_MATCH({0}, '[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}') AND TRY_CAST({0} AS DATE) IS NOT NULL)",
    decimals="CAST(PRINTF('%.{1}f', {0}) AS DOUBLE)",
    distinct_orders=(
        "BIT_COUNT(COALESCE(BIT_OR(CAST(1 AS BIGINT) << CASE WHEN {0} BETWEEN 0 AND 61 THEN {0} END), 0))"
        "\n  + COALESCE(LIST_UNIQUE(LIST({0}) FILTER (WHERE {0} NOT BETWEEN 0 AND 61)), 0)"
    ),
)
SPARK = Dialect(
    name="spark",
    title="Spark SQL",
    quote="`",
    string_type="STRING",
    escapes={"'": "\\'", "\\": "\\\\"},
    first_fault="MIN_BY({fault}, {order}) FILTER (WHERE {fault} IS NOT NULL)",
    ordered_sum=(
        "AGGREGATE(ARRAY_SORT(COLLECT_LIST(STRUCT({order} AS place, {value} AS term)){filter}),"
        " 0e0, (total, entry) -> total + entry.term)"
    ),
    integer_sum="SUM(CAST({value} AS DECIMAL(28, 0))){filter}",
    integer_division="DIV",
    floor="CASE WHEN RINT({0}) > {0} THEN RINT({0}) - 1e0 ELSE RINT({0}) END",
    nearest="RINT({0})",
    is_day="({0} RLIKE '^[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}$' AND TRY_CAST({0} AS DATE) IS NOT NULL)",
    inexact=POWERS | {("function", "log")},
)
DIALECTS = {dialect.name: dialect for dialect in (DUCKDB, SPARK)}
