"""`score`: whole tables of rows and restaurants, on an engine."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NoReturn

import click

from formulaseed.cli.inputs import Loaded, duplicates_option, load, param_option, parameters_of
from formulaseed.cli.output import Progress, finish, is_terminal, progress, reported, say
from formulaseed.data.files import refuse_input
from formulaseed.data.parquet import require_pyarrow
from formulaseed.data.results import FINE, PARTIAL, WRONG, Failures
from formulaseed.data.scored import build_table, check_suffix, skip_pandas, write_batches, write_values
from formulaseed.runtime.scoring import ScoredBatches, score_lines, score_tables
from formulaseed.runtime.table_names import DEFAULT_KEY, DUPLICATE_ROWS, KEYLESS_CONTEXTS, ORPHAN_ROWS, RESTAURANTS
from formulaseed.runtime.tables import ScoreOptions
from formulaseed.source.printing import number_of


@click.command("score")
@click.argument("seed", metavar="SEED|MODULE")
@click.option("--rows", required=True, help="The rows: a file or a pattern of files, or a table with --database.")
@click.option("--contexts", help="The restaurants, each with its context; nested rows have their own.")
@click.option(
    "--out", required=True, help="Where results go: a file that ends in .parquet, .csv or .jsonl; with Spark a folder."
)
@click.option(
    "--engine",
    type=click.Choice(["duckdb", "spark", "python"]),
    default="duckdb",
    show_default=True,
    help="What reads and sorts; python reads nested rows alone, without any package.",
)
@click.option("--database", metavar="FILE", help="A DuckDB database; --rows and --contexts name its tables.")
@click.option("--key", default=DEFAULT_KEY, show_default=True, help="The column that names the restaurant.")
@click.option("--order-by", metavar="COLUMN", help="The column that orders the rows of a restaurant [default: position,"
              " else review_id].")  # fmt: skip
@click.option("--trace", is_flag=True, help="Add every step's value, and the rows behind each aggregate.")
@click.option("--jobs", type=click.IntRange(min=1), default=1, show_default=True, help="How many processes evaluate.")
@click.option(
    "--memory", metavar="SIZE", help="How much memory DuckDB may use, such as 4GB; the rest goes to the disk."
)
@duplicates_option
@click.option("--strict", is_flag=True, help="Write nothing where rows belong to no restaurant.")
@param_option
def score(
    seed: str, rows: str, contexts: str | None, out: str, params: tuple[str, ...], strict: bool, order_by: str | None,
    engine: str, **how: Any,
) -> None:  # fmt: skip
    """Score whole tables: a row for each relevant review, and a context for each restaurant.

    Exit status 3 where some restaurants failed: their lines have an error in place of a value.
    """
    if engine != "spark":
        check_suffix(out)
        refuse_input(out, rows, contexts, how["database"])
    loaded = load(seed)
    parameters = parameters_of(loaded.evaluator, params)
    options = ScoreOptions(parameters, order=order_by, **how)
    if engine == "python":
        _score_lines(loaded, rows, contexts, out, options)
    if engine == "spark":
        _score_on_spark(loaded, rows, contexts, out, options, strict)
    require_pyarrow("duckdb", "the engine `duckdb`")
    skip_pandas()
    with progress("batch", quiet=not is_terminal()) as shown:

        def write(results: ScoredBatches) -> Counter[str]:
            with suppress(_Orphans):
                write_batches(out, _Watched(results.batches, results.counts, shown, strict), results.schema)
            return results.counts

        counts = score_tables(loaded.known_seed, loaded.evaluator, rows, contexts, options, write)
    _close(out, counts, strict)


def _score_on_spark(
    loaded: Loaded, rows: str, contexts: str | None, out: str, options: ScoreOptions, strict: bool
) -> NoReturn:
    from formulaseed.runtime import spark

    if (options.jobs, options.memory, options.database) != (1, None, None):
        raise click.UsageError("--jobs, --memory and --database are for DuckDB; Spark has its own configuration")
    started = spark.open_session()
    try:
        tables = spark.read(started, rows), None if contexts is None else spark.read(started, contexts)
        found = spark.score_frames(loaded.known_seed, loaded.evaluator, *tables, options)
        lost = 0 if tables[1] is None else spark.count_orphans(tables[0], tables[1], options.key)
        duplicate_rows = spark.count_duplicates(tables[0], options.key) if options.duplicates == "first" else 0
        counts = Counter[str]() if strict and lost else spark.write(found, out)
    finally:
        started.stop()
    counts[ORPHAN_ROWS] = lost
    counts[DUPLICATE_ROWS] = duplicate_rows
    _close(out, counts, strict)


def _score_lines(loaded: Loaded, rows: str, contexts: str | None, out: str, options: ScoreOptions) -> NoReturn:
    own = ScoreOptions(options.parameters, trace=options.trace, duplicates=options.duplicates)
    if contexts is not None or options != own:
        raise click.UsageError(
            "--engine python reads nested rows alone: pass --rows, --param, --trace and --duplicates"
        )
    with reported() as failures:
        lines = score_lines(loaded.known_seed, loaded.evaluator, rows, failures, options)
        if out.endswith(".parquet"):
            require_pyarrow()
            table = build_table(lines.names, lines.kinds, lines.values, lines.metadata)
            write_batches(out, table.to_batches(), table.schema)
        else:
            write_values(out, lines.names, lines.values)
    _close(out, lines.counts, False, failures)


class _Orphans(Exception):
    """Ends the writing, so that an old file stays."""


@dataclass
class _Watched:
    """Batches that pass by, with the progress of their restaurants."""

    batches: Any
    counts: Counter[str]
    shown: Progress
    strict: bool

    def __iter__(self) -> Any:
        for batch in self.batches:
            yield batch
            self.shown.advance(lambda: number_of(self.counts[RESTAURANTS], "restaurant"))
        if self.strict and self.counts[ORPHAN_ROWS]:
            raise _Orphans


def _close(out: str, counts: Counter[str], strict: bool, failures: Failures | None = None) -> NoReturn:
    names = ORPHAN_ROWS, KEYLESS_CONTEXTS, DUPLICATE_ROWS, RESTAURANTS
    orphans, nameless, duplicate_rows, restaurants = (counts.pop(name, 0) for name in names)
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in sorted(counts.items()))
    failed = f"{counts.total():,} failed" + (f" ({kinds})" if kinds else "")
    lost = f"; {number_of(orphans, 'row')} without a restaurant" if orphans else ""
    lost += f"; {number_of(nameless, 'context')} without a key" if nameless else ""
    lost += f"; {number_of(duplicate_rows, 'duplicate row')} left out" if duplicate_rows else ""
    lost += failures.summary() if failures is not None else ""
    if strict and orphans:
        say(f"formulaseed: {number_of(orphans, 'row')} without a restaurant; nothing is written", err=True)
        finish(WRONG)
    say(f"{out}: {number_of(restaurants, 'restaurant')}, {failed}{lost}", err=True)
    finish(PARTIAL if counts or (failures is not None and failures.lines) else FINE)
