"""Scores whole tables: an engine sorts rows and contexts, the generated module evaluates batches of them.

In: a seed, tables. Out: batches of results in the order of the keys, the same whatever the engine and the number of
processes. A restaurant that fails is a line with its error. Source: SCALE.md, sections 1 and 2.
"""

from __future__ import annotations

import json
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from formulaseed import pipeline
from formulaseed.data.jsonl import Lines as GivenLines
from formulaseed.data.jsonl import lines_of
from formulaseed.data.results import Failures
from formulaseed.errors import UnreadableError
from formulaseed.limits import INTEGER_MAX
from formulaseed.loading import FormulaSeed
from formulaseed.runtime.evaluator import Evaluator
from formulaseed.runtime.loading import module_from_source
from formulaseed.runtime.running import evaluate_lines
from formulaseed.runtime.tables import ERRORS, KEY, OVERSIZED, RESTAURANTS, map_columns, output_types

if TYPE_CHECKING:
    from concurrent.futures import Future

    from formulaseed.runtime.batches import Plan, Scorer


@dataclass(frozen=True, slots=True)
class ScoreOptions:
    """How tables are scored. `jobs` are processes; `memory` is DuckDB's limit, such as `4GB`.

    `database` is a DuckDB file whose tables `rows` and `contexts` name.
    """

    parameters: Mapping[str, Any] | None = None
    key: str = KEY
    order: str | None = None
    trace: bool = False
    jobs: int = 1
    memory: str | None = None
    database: str | None = None


@dataclass(frozen=True, slots=True)
class Scored:
    """Results as they come: `counts` are complete once the batches are used up."""

    batches: Iterator[Any]
    schema: Any
    counts: Counter[str]


def metadata(
    evaluator: Evaluator, parameters: Mapping[str, Any] | None, key: str, order: str, engine: str,
    versions: Mapping[str, str],
) -> dict[str, str]:  # fmt: skip
    """Return what results were made with, for the metadata of their file."""
    given = evaluator.provenance(parameters or None).to_json()
    known = {
        "task": evaluator.task_name,
        **{name: given[name] for name in ("seed_sha256", "seed_version", "parameters")},
    }
    made_by = {
        "key": key,
        "order_by": order,
        "engine": engine,
        "versions": {"formulaseed": version("formulaseed"), **versions},
    }
    return {"formulaseed": json.dumps({**known, **made_by}, ensure_ascii=False)}


@contextmanager
def scored(
    seed: FormulaSeed, evaluator: Evaluator, rows: Any, contexts: Any, options: ScoreOptions
) -> Iterator[Scored]:
    """Score tables with DuckDB. Raises `DataError` for columns that do not fit, before anything runs."""
    from formulaseed.runtime import duck

    connection = duck.connect(options.jobs, options.memory, options.database)
    import duckdb
    import pyarrow as pa

    with duck.spilling(connection):
        in_database = options.database is not None
        row_table, context_table = duck.open_tables(connection, rows, contexts, options.key, in_database=in_database)
        mapped = map_columns(
            evaluator, seed.program, row_table.columns,
            None if context_table is None else context_table.columns, key=options.key,
            order=options.order, trace=options.trace, parameters=options.parameters,
        )  # fmt: skip
        plan, counts = mapped.plan, Counter[str]()
        batches = duck.sorted_batches(connection, row_table, context_table, mapped)
        with _results(pipeline.compile(seed, formatted=False), plan, batches, counts, options.jobs) as results:
            first = next(results, None)
            empty = plan.schema(pa.string(), pa.string())
            versions = {"duckdb": duckdb.__version__, "pyarrow": pa.__version__}
            made_with = metadata(evaluator, options.parameters, plan.key, plan.order, "duckdb", versions)
            schema = (empty if first is None else first.schema).with_metadata(made_with)
            yield Scored(_prepended(first, results), schema, counts)


@dataclass(frozen=True, slots=True)
class Lines:
    """Results without Arrow: names of columns, and a tuple for each restaurant. `kinds` are the types of values."""

    names: tuple[str, ...]
    kinds: Mapping[str, str]
    values: Iterator[tuple[Any, ...]]
    counts: Counter[str]
    metadata: dict[str, str]


def scored_lines(
    seed: FormulaSeed, evaluator: Evaluator, rows: GivenLines, failures: Failures, options: ScoreOptions
) -> Lines:
    """Score lines of nested rows one by one, without any engine; lines that cannot be used are in `failures`."""
    plan_types = output_types(evaluator, seed.program, options.trace)
    counts = Counter[str]()
    names = (KEY, *(name for name, _ in plan_types), *ERRORS, *(("evidence",) if options.trace else ()))

    def values() -> Iterator[tuple[Any, ...]]:
        found = evaluate_lines(
            evaluator, lines_of(rows, "a row"), failures, trace=options.trace, parameters=options.parameters
        )
        for result in found:
            counts[RESTAURANTS] += 1
            given = result.steps if options.trace else result.output
            error = result.error or dict[str, "str | None"]()
            oversized = _oversized(given, plan_types)
            if oversized is not None:
                given, error = None, {"step": oversized, "kind": "overflow", "message": OVERSIZED}
            if error:
                counts[str(error["kind"])] += 1
            evidence = (result.evidence if given is not None else None,) if options.trace else ()
            shown = (given[name] if given is not None else None for name, _ in plan_types)
            yield (result.business_id, *shown, *(error.get(each) for each in ("step", "kind", "message")), *evidence)

    made_with = metadata(evaluator, options.parameters, KEY, "position", "python", {})
    return Lines(names, dict(plan_types), values(), counts, made_with)


def _oversized(given: Mapping[str, Any] | None, types: Iterable[tuple[str, str]]) -> str | None:
    """The first integer that no column holds."""
    for name, kind in types if given is not None else ():
        value = given[name] if given is not None else None
        if kind == "integer" and value is not None and not -INTEGER_MAX - 1 <= value <= INTEGER_MAX:
            return name
    return None


def _prepended(first: Any, rest: Iterator[Any]) -> Iterator[Any]:
    if first is not None:
        yield first
    yield from rest


@contextmanager
def _results(
    source: str, plan: Plan, batches: Iterable[Any], counts: Counter[str], jobs: int
) -> Iterator[Iterator[Any]]:  # fmt: skip
    """Provide the results of batches, evaluated in this process or in some others, in the order of the batches."""
    from formulaseed.runtime.batches import Scorer, whole_restaurants

    if jobs == 1:
        yield Scorer(module_from_source(source, "scored"), plan).score(batches, counts)
        return
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool

    arguments = (source, plan.to_json())
    # not forked: a fork of a process with DuckDB's threads can deadlock
    pool = ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn"), _start_worker, arguments)

    def evaluated() -> Iterator[Any]:
        pending: deque[Future[tuple[Any, Counter[str]]]] = deque()
        try:
            for chunk in whole_restaurants(batches):
                pending.append(pool.submit(_score_chunk, chunk))
                if len(pending) > 2 * jobs:
                    yield taken(pending.popleft())
            while pending:
                yield taken(pending.popleft())
        except BrokenProcessPool:
            raise UnreadableError("a process of --jobs was killed; fewer jobs need less memory") from None

    def taken(future: Future[tuple[Any, Counter[str]]]) -> Any:
        result, found = future.result()
        counts.update(found)
        return result

    try:
        yield evaluated()
    finally:
        pool.shutdown(cancel_futures=True)


_scorer: Scorer | None = None


def _start_worker(source: str, plan: str) -> None:
    global _scorer
    from formulaseed.runtime.batches import Plan, Scorer

    _scorer = Scorer(module_from_source(source, "scored"), Plan.from_json(plan))


def _score_chunk(chunk: Any) -> tuple[Any, Counter[str]]:
    assert _scorer is not None
    counts = Counter[str]()
    return _scorer.score_chunk(chunk, counts), counts
