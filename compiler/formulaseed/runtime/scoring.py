"""Scores whole tables: an engine sorts rows and contexts, the generated module evaluates batches of them.

In: a seed and tables. Out: batches of results in the order of the keys; neither the engine nor the number of processes
changes them. A restaurant that fails is a line with its error. Documentation: docs/scale.md.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, TypeVar

from formulaseed.data.jsonl import Lines, open_lines
from formulaseed.data.parquet import require_pyarrow
from formulaseed.data.results import Failures
from formulaseed.documents import FormulaSeed
from formulaseed.limits import INTEGER_MAX
from formulaseed.runtime.evaluator import Evaluator
from formulaseed.runtime.extracting import RunOptions
from formulaseed.runtime.running import evaluate_lines
from formulaseed.runtime.table_names import DEFAULT_KEY, ERROR_COLUMNS, OVERFLOW_MESSAGE, RESTAURANTS
from formulaseed.runtime.tables import ScoreOptions, map_columns, output_types

_Returned = TypeVar("_Returned")


@dataclass(frozen=True, slots=True)
class ScoredBatches:
    """The batches of results, each computed when it is read; `counts` are complete after the last."""

    batches: Iterator[Any]
    schema: Any
    counts: Counter[str]


def metadata(
    evaluator: Evaluator,
    parameters: Mapping[str, Any] | None,
    key: str,
    order: str,
    engine: str,
    versions: Mapping[str, str],
) -> dict[str, str]:
    """Return the provenance of results as the metadata of their file: the key `formulaseed` with a JSON string.

    `versions` are those of the engine's packages. Raises `DataError` for invalid parameters.
    """
    provenance = evaluator.provenance(parameters or None).to_json()
    record = {
        "task": evaluator.task_name,
        **{name: provenance[name] for name in ("seed_sha256", "seed_version", "parameters")},
        "key": key,
        "order_by": order,
        "engine": engine,
        "versions": {"formulaseed": version("formulaseed"), **versions},
    }
    return {"formulaseed": json.dumps(record, ensure_ascii=False)}


def score_tables(
    seed: FormulaSeed,
    evaluator: Evaluator,
    rows: Any,
    contexts: Any,
    options: ScoreOptions,
    use: Callable[[ScoredBatches], _Returned],
) -> _Returned:
    """Score tables with DuckDB, and return what `use` returns for the results.

    `rows` and `contexts` are paths, tables of a database, or tables in memory; with several jobs only the former two.
    If the tables turn out to be unsorted, or a query has too little memory, `use` is called again with all results. Raises
    `DataError` for columns that do not fit the seed, before anything runs, and `UnreadableError` if a package is missing or a
    table cannot be read.
    """
    require_pyarrow("duckdb", "the engine `duckdb`")
    from formulaseed.runtime import duck, fingerprints, queries, ranges

    by_query = queries.can_score(options, queries.find_obstacle(seed, evaluator, options))
    counts = Counter[str]()
    with (
        # processes start first: they are forked only before DuckDB has threads
        ranges.start_workers(options.jobs) if options.jobs > 1 and not by_query else nullcontext() as workers,
        duck.open_session(1, options.memory, options.database) as session,
        ExitStack() as stack,
    ):
        update = None
        tables = session.open_tables(rows, contexts, options.key)
        row_table, context_table = tables
        context_columns = None if context_table is None else context_table.columns
        mapping = map_columns(evaluator, seed.program, row_table.columns, context_columns, options)
        plan = mapping.plan
        provenance = metadata(evaluator, options.parameters, plan.key, plan.order, "duckdb", duck.versions())

        def use_batches(batches: Iterator[Any], schema: Any) -> _Returned:
            """Call `use` with the results, whose schema has their provenance, and return what it returns."""
            if update is not None:
                batches = update.complete(batches, counts)
                schema = schema.append(fingerprints.FIELD)
            return use(ScoredBatches(batches, schema.with_metadata(provenance), counts))

        if by_query and queries.can_score(options, queries.find_table_obstacle(tables, mapping)):
            try:
                return queries.score_by_query(session, tables, mapping, seed, evaluator, options, counts, use_batches)
            except duck.LittleMemoryError:
                if options.backend == "sql":
                    raise
                counts.clear()  # the module is slower, but all that it needs memory for is sorted on the disk
        if options.fingerprint or options.since is not None:
            record = json.loads(provenance["formulaseed"])
            update = stack.enter_context(fingerprints.open_update(tables, mapping, record, options))
            tables = update.tables
            row_table, context_table = tables
        if workers is None:
            return ranges.score_range(tables, mapping, evaluator.module, counts, use_batches)
        memory = ranges.divide_memory(options.memory, options.jobs)
        table_keys = row_table.reopen_key(), None if context_table is None else context_table.reopen_key()
        job = ranges.ScoreJob(seed.module_source, mapping, table_keys, memory, options.database)
        key_ranges = duck.split_keys(tables, mapping, options.jobs)
        return use_batches(ranges.score_ranges(workers, job, key_ranges, counts), duck.result_schema(tables, mapping))


@dataclass(frozen=True, slots=True)
class ScoredLines:
    """Results without Arrow: the names of columns, and a tuple for each restaurant, computed when it is read."""

    names: tuple[str, ...]
    kinds: Mapping[str, str]
    """The types of the outputs' columns."""
    values: Iterator[tuple[Any, ...]]
    counts: Counter[str]
    """The counts of restaurants and errors, complete after the last tuple."""
    metadata: dict[str, str]


def score_lines(
    seed: FormulaSeed, evaluator: Evaluator, rows: Lines, failures: Failures, options: ScoreOptions
) -> ScoredLines:
    """Return the scores of lines of nested rows, evaluated without an engine, one by one as `values` is iterated.

    Unusable lines are then added to `failures`, and the counts grow. A restaurant that fails, or has an integer of more
    than 64 bits, has its error in its tuple. Raises `DataError` for invalid parameters.
    """
    types = output_types(evaluator, seed.program, options.trace)
    counts = Counter[str]()
    names = (DEFAULT_KEY, *(name for name, _ in types), *ERROR_COLUMNS, *options.details)
    find_reasons = None if options.reasons is None else options.reasons.start(evaluator)
    run_options = RunOptions(trace=options.trace, parameters=options.parameters, find_reasons=find_reasons)

    def evaluate() -> Iterator[tuple[Any, ...]]:
        """Yield the values of each restaurant in the order of `names`, and add it to `counts`."""
        results = evaluate_lines(evaluator, open_lines(rows, "rows"), failures, run_options, options.duplicates)
        for result in results:
            counts[RESTAURANTS] += 1
            values = result.steps if options.trace else result.output
            error: Mapping[str, str | None] = result.error or {}
            oversized = _find_oversized(values or {}, types)
            if oversized is not None:
                values = None
                error = {"step": oversized, "kind": "overflow", "message": OVERFLOW_MESSAGE}
            if error:
                counts[str(error["kind"])] += 1
            cells: list[Any] = [(values or {}).get(name) for name, _ in types]
            cells += [error.get(name) for name in ("step", "kind", "message")]
            cells += [None if values is None else getattr(result, name) for name in options.details]
            yield (result.business_id, *cells)

    provenance = metadata(evaluator, options.parameters, DEFAULT_KEY, "position", "python", {})
    return ScoredLines(names, dict(types), evaluate(), counts, provenance)


def _find_oversized(values: Mapping[str, Any], types: Iterable[tuple[str, str]]) -> str | None:
    """Return the name of the first value of the type `integer` that has more than 64 bits; None if there is none."""
    for name, kind in types:
        value = values.get(name)
        if kind == "integer" and value is not None and not -INTEGER_MAX - 1 <= value <= INTEGER_MAX:
            return name
    return None
