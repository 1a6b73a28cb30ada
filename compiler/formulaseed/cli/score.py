"""Define the command `score`: it scores whole tables of rows and restaurants with DuckDB, Spark or Python."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NoReturn

import click

from formulaseed.cli.inputs import Loaded, load, parameters_of
from formulaseed.cli.options import duplicates_option, param_option
from formulaseed.cli.output import (
    Progress,
    finish,
    is_terminal,
    report_failures,
    say,
    show_diagnostics,
    show_progress,
)
from formulaseed.cli.results import reasons_option
from formulaseed.data.files import refuse_input
from formulaseed.data.parquet import require_pyarrow
from formulaseed.data.results import FINE, PARTIAL, WRONG, Failures
from formulaseed.data.scored import build_table, check_suffix, skip_pandas, write_batches, write_values
from formulaseed.diagnostics.catalogue import reading as catalogue
from formulaseed.documents import FormulaSeed
from formulaseed.runtime.scoring import ScoredBatches, score_lines, score_tables
from formulaseed.runtime.table_names import (
    DEFAULT_KEY,
    DUPLICATE_ROWS,
    HANDED_BACK,
    KEYLESS_CONTEXTS,
    ORPHAN_ROWS,
    RESTAURANTS,
    UNCHANGED,
)
from formulaseed.runtime.tables import ScoreOptions
from formulaseed.source.printing import number_of

_MAX_HANDED_BACK = 0.01
"""The share of restaurants that a query may hand back, and that do not fail, without a warning."""


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
@reasons_option
@click.option("--jobs", type=click.IntRange(min=1), default=1, show_default=True, help="How many processes evaluate.")
@click.option(
    "--memory", metavar="SIZE", help="How much memory DuckDB may use, such as 4GB; the rest goes to the disk."
)
@click.option("--backend", type=click.Choice(["module", "sql"]), help="What computes the steps on DuckDB: a query hands back"
              " to the module what it cannot compute [default: sql where it can].")  # fmt: skip
@duplicates_option
@click.option("--strict", is_flag=True, help="Write nothing where rows belong to no restaurant.")
@click.option("--fingerprint", is_flag=True, help="Add a column by which --since recognises unchanged restaurants.")
@click.option("--since", metavar="FILE", help="Results with fingerprints; only restaurants that changed are evaluated.")
@param_option
def score(
    seed: str,
    rows: str,
    contexts: str | None,
    out: str,
    params: tuple[str, ...],
    strict: bool,
    order_by: str | None,
    engine: str,
    reason_count: int | None,
    **engine_options: Any,
) -> None:
    """Score whole tables: a row for each relevant review, and a context for each restaurant.

    Exit status 3 where some restaurants failed: their lines have an error in place of a value.
    """
    if engine != "spark":
        check_suffix(out)
        refuse_input(out, rows, contexts, engine_options["database"])
    loaded = load(seed)
    parameters = parameters_of(loaded.evaluator, params)
    reasons = loaded.make_reasons(reason_count, parameters)
    options = ScoreOptions(parameters, order=order_by, reasons=reasons, **engine_options)
    if engine == "python":
        _score_lines(loaded, rows, contexts, out, options)
    if engine == "spark":
        _score_on_spark(loaded, rows, contexts, out, options, strict)
    require_pyarrow("duckdb", "the engine `duckdb`")
    skip_pandas()
    with show_progress("batch", quiet=not is_terminal()) as progress:

        def write(results: ScoredBatches) -> Counter[str]:
            """Write the results, unless `strict` and rows without a restaurant cancel that; return the counts."""
            with suppress(_OrphanRowsError):
                write_batches(out, _MonitoredBatches(results.batches, results.counts, progress, strict), results.schema)
            return results.counts

        counts = score_tables(loaded.known_seed, loaded.evaluator, rows, contexts, options, write)
    _report_and_exit(out, counts, strict, seed=loaded.known_seed)


def _score_on_spark(
    loaded: Loaded, rows: str, contexts: str | None, out: str, options: ScoreOptions, strict: bool
) -> NoReturn:
    """Score tables with Spark, write the results to the folder `out`, report the counts, and exit.

    `contexts` is None if nested rows have their own contexts. With `strict` nothing is written if rows have no
    restaurant. Always stops the Spark session. Raises `UsageError` for options that are for DuckDB only.
    """
    from formulaseed.runtime import spark

    if (options.jobs, options.memory, options.database, options.backend) != (1, None, None, None):
        raise click.UsageError(
            "--jobs, --memory, --database and --backend are for DuckDB; Spark has its own configuration"
        )
    if options.fingerprint or options.since is not None:
        raise click.UsageError("--fingerprint and --since are for DuckDB; Spark scores all restaurants")
    if options.reasons is not None:
        raise click.UsageError("--reasons is for DuckDB and python; Spark finds no reasons")
    session = spark.open_session()
    try:
        row_table = spark.read(session, rows)
        context_table = None if contexts is None else spark.read(session, contexts)
        results = spark.score_frames(loaded.known_seed, loaded.evaluator, row_table, context_table, options)
        orphans = 0 if context_table is None else spark.count_orphans(row_table, context_table, options.key)
        duplicate_rows = spark.count_duplicates(row_table, options.key) if options.duplicates == "first" else 0
        counts = Counter[str]()
        if not (strict and orphans):
            counts = spark.write(results, out)
    finally:
        session.stop()
    counts[ORPHAN_ROWS] = orphans
    counts[DUPLICATE_ROWS] = duplicate_rows
    _report_and_exit(out, counts, strict)


def _score_lines(loaded: Loaded, rows: str, contexts: str | None, out: str, options: ScoreOptions) -> NoReturn:
    """Score JSON Lines of nested rows without an engine, write the results to `out`, report the counts, and exit.

    Raises `UsageError` if `contexts` is not None, and for options that are for engines only; `UnreadableError` for
    Parquet if pyarrow is not installed. Failures are also listed on standard error.
    """
    supported = ScoreOptions(
        options.parameters, trace=options.trace, duplicates=options.duplicates, reasons=options.reasons
    )
    if contexts is not None or options != supported:
        raise click.UsageError(
            "--engine python reads nested rows alone: pass --rows, --param, --trace, --reasons and --duplicates"
        )
    with report_failures() as failures:
        lines = score_lines(loaded.known_seed, loaded.evaluator, rows, failures, options)
        if out.endswith(".parquet"):
            require_pyarrow()
            table = build_table(lines.names, lines.kinds, lines.values, lines.metadata)
            write_batches(out, table.to_batches(), table.schema)
        else:
            write_values(out, lines.names, lines.values)
    _report_and_exit(out, lines.counts, False, failures)


class _OrphanRowsError(Exception):
    """Raised to cancel the writing of results, so that an existing file stays."""


@dataclass
class _MonitoredBatches:
    """The batches of results; iterating over them shows the progress.

    With `strict` the iteration ends with `_OrphanRowsError` if there are rows without a restaurant.
    """

    batches: Any
    counts: Counter[str]
    progress: Progress
    strict: bool

    def __iter__(self) -> Any:
        for batch in self.batches:
            yield batch
            self.progress.advance(lambda: number_of(self.counts[RESTAURANTS], "restaurant"))
        if self.strict and self.counts[ORPHAN_ROWS]:
            raise _OrphanRowsError


def _warn_of_hand_backs(seed: FormulaSeed, computed: int, restaurants: int) -> None:
    """Print a warning at `seed` if its query left many of the `restaurants` to the module, which `computed` them."""
    if computed > _MAX_HANDED_BACK * restaurants:
        number = number_of(computed, "restaurant")
        warning = catalogue.often_handed_back(seed.document.source, number, computed / restaurants)
        show_diagnostics([warning], err=True)


def _report_and_exit(
    out: str, counts: Counter[str], strict: bool, failures: Failures | None = None, seed: FormulaSeed | None = None
) -> NoReturn:
    """Report the numbers of restaurants, failures and unused rows on standard error, and exit with the status.

    `counts` are the failed restaurants by kind, and the numbers under `RESTAURANTS`, `ORPHAN_ROWS`, `KEYLESS_CONTEXTS`,
    `DUPLICATE_ROWS`, `HANDED_BACK` and `UNCHANGED`, which are removed from it. The status is `WRONG` if rows have no restaurant
    and `strict` forbids that, `PARTIAL` if restaurants failed. A query that often handed restaurants back is a warning at `seed`.
    """
    names = (ORPHAN_ROWS, KEYLESS_CONTEXTS, DUPLICATE_ROWS, RESTAURANTS, HANDED_BACK)
    orphans, nameless, duplicate_rows, restaurants, handed_back = (counts.pop(name, 0) for name in names)
    unchanged = counts.pop(UNCHANGED, None)
    if strict and orphans:
        say(f"formulaseed: {number_of(orphans, 'row')} without a restaurant; nothing is written", err=True)
        finish(WRONG)
    if seed is not None:
        _warn_of_hand_backs(seed, handed_back - counts.total(), restaurants)
    line = f"{out}: {number_of(restaurants, 'restaurant')}, {counts.total():,} failed"
    if counts:
        line += f" ({', '.join(f'{count:,} {kind}' for kind, count in sorted(counts.items()))})"
    if unchanged is not None:
        line += f"; {unchanged:,} unchanged, {restaurants - unchanged:,} evaluated"
    for number, noun, words in (
        (orphans, "row", "without a restaurant"),
        (nameless, "context", "without a key"),
        (duplicate_rows, "duplicate row", "left out"),
    ):
        if number:
            line += f"; {number_of(number, noun)} {words}"
    if handed_back:
        line += f"; {handed_back:,} handed back to the module"
    if failures is not None:
        line += failures.summary()
    say(line, err=True)
    finish(PARTIAL if counts or (failures is not None and failures.lines) else FINE)
