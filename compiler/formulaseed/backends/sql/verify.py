"""Verify a query before it is written or run: sqlglot parses the text again, and knows nothing of the printer.

Two rules: the query is one SELECT over its tables, with functions from a list; and without comments it is the query that was
compiled without them, so that no description has become code.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from formulaseed.backends.sql.dialects import Dialect
from formulaseed.errors import require_extra

_FUNCTIONS = frozenset((
    "ABS", "AGGREGATE", "AND", "ANY_VALUE", "ARG_MIN", "ARRAY_AGG", "ARRAY_SORT", "BITWISE_COUNT", "BITWISE_OR_AGG",
    "BIT_COUNT", "CASE", "CAST", "CEIL", "CHR", "COALESCE", "CONTAINS", "COUNT", "COUNT_IF", "FLOOR", "GREATEST", "IF", "LEAST",
    "LENGTH", "LIST", "LIST_UNIQUE", "LN", "LOGICAL_AND", "LOGICAL_OR", "MAX", "MIN", "MONTH", "NULLIF", "OR",
    "POWER", "PRINTF", "REDUCE", "REGEXP_FULL_MATCH", "REGEXP_LIKE", "RINT", "ROUND_EVEN", "SQRT", "STRUCT",
    "SUBSTRING", "SUM", "TRUNC", "TRY_CAST", "YEAR",
))  # fmt: skip
"""The names of the functions that printers write, as sqlglot calls them."""
_REFUSED = ("Command", "Subquery", "Union", "Window", "Lateral", "Unnest", "Parameter", "Placeholder", "Semicolon")
"""The classes of nodes that no query of ours has."""


def verify(query: str, bare: str, dialect: Dialect, tables: Iterable[str]) -> str | None:
    """Return the first problem of a query, in words; None if it is as compiled.

    `bare` is the query of the same program without comments, `tables` are the names of the tables that it reads, without
    quotes. Raises `MissingExtraError` if sqlglot is not installed.
    """
    with require_extra("sql", "the target `sql`"):
        import sqlglot
    if not query.isascii() and not all(line.isprintable() for line in query.split("\n")):
        return "there is something that cannot be seen"
    try:
        parsed = {text: sqlglot.parse(text, read=dialect.name) for text in {query, bare}}
        trees: list[Any] = [parsed[query], parsed[bare]]
    except (sqlglot.errors.SqlglotError, RecursionError) as error:
        return f"it is no {dialect.title}: {str(error).splitlines()[0] if str(error) else error!r}"
    if [len(statements) for statements in trees] != [1, 1]:
        return "it is not one statement"
    (tree,), (bare_tree,) = trees
    fault = _find_foreign(tree, frozenset(tables))
    if fault is None and tree != bare_tree:
        fault = "its code depends on a comment"
    return fault


def _find_foreign(tree: Any, tables: frozenset[str]) -> str | None:
    """Return the first part of a statement that no query of ours has, in words; None if there is none."""
    from sqlglot import exp

    if not isinstance(tree, exp.Select):
        return "it is not a SELECT"
    names = tables | {expression.alias for expression in tree.find_all(exp.CTE)}
    for node in tree.walk():
        if type(node).__name__ in _REFUSED:
            return f"there is a {type(node).__name__}"
        if isinstance(node, exp.Table) and _table_name(node) not in names:
            return f"it reads the table {node.sql()}"
        if isinstance(node, exp.Func):
            name = node.name if isinstance(node, exp.Anonymous) else node.sql_name()
            if name.upper() not in _FUNCTIONS:
                return f"it calls {name}"
    return None


def _table_name(table: Any) -> str:
    """Return the name of a table with those of its catalog and schema, without quotes."""
    return ".".join(part.name for part in table.parts)
