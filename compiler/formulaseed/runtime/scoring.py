"""Scores whole tables: an engine sorts rows and contexts, the generated module evaluates batches of them.

In: a seed, tables. Out: batches of results in the order of the keys, the same whatever the engine and the number of
processes. A restaurant that fails is a line with its error. Documentation: docs/scale.md.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, TypeVar

from formulaseed.data.duplicates import Duplicates
from formulaseed.data.jsonl import Lines as GivenLines
from formulaseed.data.jsonl import lines_of
from formulaseed.data.parquet import require_pyarrow
from formulaseed.data.results import Failures
from formulaseed.documents import FormulaSeed
from formulaseed.limits import INTEGER_MAX
from formulaseed.runtime.evaluator import Evaluator
from formulaseed.runtime.running import evaluate_lines
from formulaseed.runtime.tables import ERRORS, KEY, OVERSIZED, RESTAURANTS, map_columns, output_types

if TYPE_CHECKING:
    pass

Used = TypeVar("Used")


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
    duplicates: Duplicates = "fail"


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


def score_tables(
    seed: FormulaSeed,
    evaluator: Evaluator,
    rows: Any,
    contexts: Any,
    options: ScoreOptions,
    use: Callable[[Scored], Used],
) -> Used:
    """Score tables with DuckDB, and return what `use` makes of the results.

    Where tables turn out not to be sorted, `use` has the results from the beginning once more. Several jobs need tables that
    can be opened by their names. Raises `DataError` for columns that do not fit, before anything runs.
    """
    require_pyarrow("duckdb", "the engine `duckdb`")
    from formulaseed.runtime import duck, ranges

    counts = Counter[str]()
    with (
        ranges.processes(options.jobs) if options.jobs > 1 else nullcontext() as others,
        duck.session(1, options.memory, options.database) as session,
    ):
        tables = session.open_tables(rows, contexts, options.key)
        known = [None if table is None else table.columns for table in tables]
        mapped = map_columns(
            evaluator, seed.program, known[0] or {}, known[1], key=options.key, order=options.order, trace=options.trace,
            parameters=options.parameters, duplicates=options.duplicates,
        )  # fmt: skip
        plan = mapped.plan
        made_with = metadata(evaluator, options.parameters, plan.key, plan.order, "duckdb", duck.versions())

        def used(batches: Iterator[Any], schema: Any) -> Used:
            return use(Scored(batches, schema.with_metadata(made_with), counts))

        if others is None:
            return ranges.score_range(tables, mapped, evaluator.module, counts, used)
        source, memory = seed.module_source, ranges.shared(options.memory, options.jobs)
        given = tables[0].shared(), None if tables[1] is None else tables[1].shared()
        work = ranges.Work(source, mapped, given, memory, options.database)
        parts = duck.ranges(tables, mapped, options.jobs)
        return used(ranges.scored_ranges(others, work, parts, counts), duck.schema(tables, mapped))


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
            evaluator, lines_of(rows, "rows"), failures, trace=options.trace, parameters=options.parameters,
            duplicates=options.duplicates,
        )  # fmt: skip
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
