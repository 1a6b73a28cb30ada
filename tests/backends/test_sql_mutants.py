"""Each guard of the printer of SQL is needed: without it, a query is wrong, fails, or is seen to have an unguarded operation."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

sqlglot = pytest.importorskip("sqlglot", reason="queries are parsed again")
duckdb = pytest.importorskip("duckdb", reason="queries run on duckdb")

import pyarrow as pa  # noqa: E402
import sql_queries  # noqa: E402
from formulaseed import load_seed  # noqa: E402
from formulaseed.backends.sql import arithmetic, calls, dialects, steps  # noqa: E402
from helpers import ROOT  # noqa: E402
from sql_queries import evaluate_restaurants, find_wrong, flat_tables, read_query_results, write_query  # noqa: E402
from sqlglot import exp  # noqa: E402

FIELDS = [
    {"name": "mood", "type": "enum", "values": ["good", "bad"], "description": "m"},
    {"name": "x", "type": "number", "description": "x"},
    {"name": "n", "type": "integer", "description": "n"},
]
FORMULAS = (
    "1 / extraction.x", "7 // extraction.n", "7 % extraction.n", "extraction.x // 0.3", "-7 % extraction.n",
    "sqrt(extraction.x)", "floor(extraction.x * 1e10)", "round(extraction.x)", "extraction.n * extraction.n * 1000",
    "extraction.x * 1e300 * 1e300", "1 / extraction.x if extraction.x > 0 else 0.1 + 0.2", "max(1 / extraction.x, 0.5)",
    "extraction.x * 0.1 * 3", "round(extraction.x, 2)",
)  # fmt: skip
VALUES = ((2.675, 3), (0.0, 0), (-1.5, -2), (1e15, 10**8), (0.5, 7), (1e16, 10**15), (1e99, 1))


def make_seed(formulas: Sequence[str]) -> Any:
    totals = [{"name": f"S{at}", "op": "sum", "expr": text} for at, text in enumerate(formulas)]
    # The battery also has a mean, of reviews of which there may be none.
    means = [{"name": "M", "op": "mean", "field": "extraction.x", "where": {"extraction.mood": "good"}, "default": 0.5}]
    seed = {"task_name": "T", "extract": {"fields": FIELDS}, "compute": [*totals, *means], "output": ["M"]}
    return load_seed(seed)


SEEDS = [make_seed([formula]) for formula in FORMULAS]
ROWS = [[{"extraction": {"mood": mood, "x": x, "n": n}, "meta": {}}] for x, n in VALUES for mood in ("good", "bad")]
ADDED = [{"extraction": {"mood": "good", "x": x, "n": 1}, "meta": {}} for x in [0.1, 1e16, -1e16, 0.2, 0.3, 1e-9] * 40]
RESTAURANTS = {f"b{at}": (rows, {}) for at, rows in enumerate([*ROWS, ADDED])}


def list_unguarded(query: str, dialect: str) -> Iterator[str]:
    """Yield the operations of a query that nothing beside them guards from raising in an engine, and decimal literals."""
    tree = sqlglot.parse_one(query, read=dialect)
    for node in tree.find_all(exp.Div, exp.IntDiv, exp.Mod, exp.Ln, exp.Sqrt, exp.Literal):
        match node:
            case exp.Literal():
                if not node.is_string and "." in node.name and "e" not in node.name.lower():
                    yield node.sql()
            case exp.Ln() | exp.Sqrt():
                if not isinstance(node.this.unnest(), exp.Case | exp.Literal):
                    yield node.sql()
            case _:
                divisor = node.expression.unnest()
                if not isinstance(divisor, exp.Nullif | exp.Literal | exp.Neg):
                    yield node.sql()


def run_query(seed: Any) -> dict[str, Any]:
    """Return the results of a query over the rows in the opposite order."""
    rows, contexts = flat_tables(seed, RESTAURANTS)
    with duckdb.connect() as connection:
        connection.execute("SET threads = 1")
        connection.register("rows", rows.take(pa.array(range(len(rows) - 1, -1, -1))))
        connection.register("contexts", contexts)
        return read_query_results(connection.sql(sql_queries.write_query(seed, steps=True)).to_arrow_table())


@functools.cache
def expect(at: int) -> dict[str, Any]:
    return evaluate_restaurants(SEEDS[at], RESTAURANTS)


def finds_fault() -> bool:
    """Return whether a query of the battery is wrong, fails, or has an unguarded operation."""
    for at, seed in enumerate(SEEDS):
        try:
            results = run_query(seed)
        except duckdb.Error:
            return True
        if find_wrong(results, expect(at)):
            return True
        if any(list_unguarded(sql_queries.write_query(seed, steps=True), "duckdb")):
            return True
    return False


def _drop_guard(condition: Any, value: Any, otherwise: str = "") -> Any:
    return value


def _plain_number(value: float) -> Any:
    return dialects.Sql(dialects.number_literal(value).removesuffix("e0"))


def _write_without_order(*arguments: Any, **options: Any) -> str:
    return write_query(*arguments, **options).replace(' ORDER BY "position"', "")


MUTANTS: dict[str, tuple[Any, str, Any]] = {
    "e0 of literals": (arithmetic, "number_literal", _plain_number),
    "guards of functions": (calls.FunctionPrinter, "_guard", lambda self, function, value, node: value),
    "guards of values of functions": (calls, "value_if", _drop_guard),
    "bounds of results": (arithmetic, "value_if", _drop_guard),
    "checks of results": (arithmetic.Arithmetic, "finish", lambda self, raw: raw),
    "faults": (arithmetic, "fault_of_kind", lambda condition, kind: None),
    "the order of sums": (sql_queries, "write_query", _write_without_order),
    "faults of rows": (steps._StepPlanner, "_add_row_fault", lambda *_: None),
}


def test_the_battery_passes_without_a_mutant() -> None:
    assert not finds_fault()


@pytest.mark.thorough
@pytest.mark.parametrize(("place", "name", "mutant"), MUTANTS.values(), ids=MUTANTS)
def test_the_printer_needs_each_guard(place: Any, name: str, mutant: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(place, name, mutant)
    assert finds_fault()


REMOVALS = {"NULLIF": (r"NULLIF\(([^(),]+), 0(?:\.0e0)?\)", r"\1"), "e0": (r"(\d\.\d+)e0", r"\1")}
"""A pattern of a part of a query, and what is left without it."""
QUERIES = sorted((ROOT / "generated" / "sql").glob("*.sql"))


@pytest.mark.parametrize(("pattern", "rest"), REMOVALS.values(), ids=REMOVALS)
def test_a_removed_guard_of_a_task_is_seen(pattern: str, rest: str) -> None:
    """Without any `NULLIF` or `e0`, a query has one more operation that is not guarded by its form."""
    removed = 0
    for path in QUERIES:
        text = re.sub(r"-- .*", "", path.read_text(encoding="utf-8"))
        dialect = path.name.split(".")[1]
        unguarded = [*list_unguarded(text, dialect)]
        matches = [*re.finditer(pattern, text)]
        removed += len(matches)
        for match in matches[:: max(len(matches) // 3, 1)]:
            mutant = text[: match.start()] + match.expand(rest) + text[match.end() :]
            assert len([*list_unguarded(mutant, dialect)]) > len(unguarded), match[0]
    assert removed > 10
