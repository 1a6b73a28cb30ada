"""Offer the Python interface: check seeds, and evaluate restaurants, formulas and requests with them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from formulaseed import documents, pipeline
from formulaseed.data.arguments import validate_arguments
from formulaseed.data.duplicates import Duplicates, drop_duplicates, review_ids
from formulaseed.data.results import Failures
from formulaseed.diagnostics.catalogue import reading as catalogue
from formulaseed.diagnostics.model import Diagnostic
from formulaseed.documents import FormulaSeed, RequestsAnalysis, RequestsFile, RequestsLike, SeedLike
from formulaseed.errors import DataError, SeedError
from formulaseed.ir.inputs import check_rows
from formulaseed.runtime.evaluator import Evaluator
from formulaseed.runtime.loading import compile_evaluator, load_module, module_from_source
from formulaseed.source.text import Source

if TYPE_CHECKING:
    from formulaseed.data.jsonl import Lines
    from formulaseed.documents import ReferenceLike, Variables
    from formulaseed.explanation.explanation import Explanation
    from formulaseed.reference.evaluation import Formula
    from formulaseed.requests.model import Request
    from formulaseed.requests.records import Background, Restaurant
    from formulaseed.requests.validate import Evaluate, Validation


@validate_arguments
def check(seed: SeedLike | FormulaSeed) -> list[Diagnostic]:
    """Return every diagnostic of a seed (errors, warnings and notes) in the order of the file; an empty list if none.

    Raises `DataError` if the file cannot be opened. Errors in the seed are returned, not raised.
    """
    if isinstance(seed, FormulaSeed):
        return list(seed.diagnostics)
    return list(documents.analyse(seed).diagnostics)


@validate_arguments
def load_evaluator(
    seed_or_path: SeedLike | FormulaSeed, *, strict: bool = False, allow_edited: bool = False
) -> Evaluator:
    """Return an evaluator of a seed (a path, JSON values or a loaded one) or of a generated module (a path to a .py).

    With `strict` rows may have no extraction or metadata that the seed does not know. Raises `SeedError` for a seed with
    errors and for a module that differs from what its seed compiles to; `allow_edited` permits the difference, as long as the
    compiler could have written the module. Raises `DataError` for a file that cannot be opened.
    """
    if isinstance(seed_or_path, str | os.PathLike) and Path(seed_or_path).suffix == ".py":
        file = load_module(Path(seed_or_path))
        if file.fault and not allow_edited:
            raise SeedError([catalogue.edited_module(Source(str(file.path), ""), file.fault)])
        return file.evaluator(strict=strict)
    seed = documents.load_seed(seed_or_path)
    return compile_evaluator(seed, strict=strict)


@validate_arguments
def compile_formula(
    text: str, *, reference: ReferenceLike | None = None, variables: Variables | None = None
) -> Formula:
    """Check one formula over the entities of a domain, ready to evaluate.

    `reference` is a formula reference or a schema file: a path, JSON values or a loaded one. `variables` are further names,
    or the only ones without a reference: a list of numbers' names, or a mapping of names to types (`"number"`,
    `{"type": "string", "nullable": true}`), to example values, or to such mappings for entities. Without either, names are the
    restaurant's fields. Raises `SeedError`, whose `.diagnostics` hold every problem, and `DataError` for a file that cannot be
    opened and for malformed variables.
    """
    from formulaseed.reference.evaluation import Formula

    valid = pipeline.require_valid(documents.analyse_formula(text, documents.load_domain(reference, variables)))
    return Formula(text, valid.program, valid.diagnostics)


@validate_arguments
def explain(
    seed: SeedLike | FormulaSeed,
    rows: Sequence[Mapping[str, Any]],
    context: Mapping[str, Any],
    business_id: str,
    *,
    output: str | None = None,
    parameters: Mapping[str, Any] | None = None,
    duplicates: Duplicates = "fail",
    evaluator: Evaluator | None = None,
) -> Explanation:
    """Explain why a restaurant got its verdict, and what would change it.

    Rows and context are JSON values as `Evaluator.evaluate` takes them; a row may also have the review's `text` and the
    extractor's `quotes` by field. `output` is the output to explain, by default the last that chooses by rules.
    `parameters` are the seed's by name; those left out have their defaults. With `duplicates="first"` the first of the
    rows with the same `review_id` counts; otherwise they are refused. `evaluator` saves compiling the seed again.
    Raises `SeedError`, and `DataError` for input that the seed does not allow; if a step cannot be computed, the
    explanation has an `error`.
    """
    from formulaseed.explanation.explainer import Explainer

    if not isinstance(evaluator, Evaluator | None):
        raise DataError(f"`evaluator` must be what `load_evaluator` returns, not {evaluator!r:.80}")
    loaded = documents.load_seed(seed)
    evaluator = evaluator or compile_evaluator(loaded)
    explainer = Explainer(loaded.program, evaluator, output)
    row_list = [*check_rows(rows)]
    rows = drop_duplicates(row_list, review_ids(row_list), duplicates, "rows[{}]".format)
    provenance = evaluator.provenance(parameters).to_json()
    explainer.observed.add(rows)
    return explainer.explain(business_id, rows, context, parameters, provenance)


@validate_arguments
def score(
    seed: SeedLike | FormulaSeed,
    rows: Any,
    contexts: Any = None,
    *,
    engine: Literal["duckdb", "python"] = "duckdb",
    parameters: Mapping[str, Any] | None = None,
    trace: bool = False,
    reasons: int | None = None,
    duplicates: Duplicates = "fail",
    fingerprint: bool = False,
    since: str | Path | None = None,
    backend: Literal["module", "sql"] | None = None,
) -> Any:
    """Score whole tables: a row for each relevant review, a context for each restaurant; return a table of results.

    The result is a `pyarrow.Table`. Tables are paths or patterns of Parquet, JSON Lines or CSV files, Arrow tables or
    readers, pandas or polars frames, or DuckDB relations. The engine `python` takes nested rows only, as JSON Lines or
    as objects, and no `contexts`. With `trace` results have every step's value, and the rows behind each aggregate; with
    `reasons` at most that many reasons of the verdict, as `Attribution.select_reasons` returns them.
    Restaurants that fail are lines with `error_step`, `error_kind` and `error_message`; so is one with a duplicate
    review, unless `duplicates` is `"first"`: then the first counts. With `fingerprint` results have a column by which
    `since`, a Parquet file of such results, spares the evaluation of restaurants that have not changed; only the engine
    `duckdb` has both. There the `backend` `sql`, a query, computes the steps, and hands back to the module what it cannot
    compute; None chooses `module` where no query can. Raises `SeedError`, `DataError` for columns that do not fit the
    seed, before anything runs, and `UnreadableError` if the packages of the engine are not installed.
    """
    from formulaseed.data.parquet import require_pyarrow
    from formulaseed.data.scored import build_table, merge_batches
    from formulaseed.explanation.explainer import VerdictReasons
    from formulaseed.runtime.scoring import score_lines, score_tables
    from formulaseed.runtime.tables import ScoreOptions

    require_pyarrow("duckdb" if engine == "duckdb" else "parquet", "a table of results")
    loaded = documents.load_seed(seed)
    evaluator = load_evaluator(loaded)
    if reasons is not None and reasons not in (1, 2, 3, 4):
        raise DataError("`reasons` must be a number from 1 to 4")
    source = None if reasons is None else VerdictReasons(loaded.program, reasons, parameters)
    options = ScoreOptions(
        parameters,
        trace=trace,
        duplicates=duplicates,
        reasons=source,
        fingerprint=fingerprint,
        since=since,
        backend=backend,
    )
    if engine == "duckdb":
        return score_tables(
            loaded, evaluator, rows, contexts, options, lambda results: merge_batches(results.batches, results.schema)
        )
    if fingerprint or since is not None:
        raise DataError("`fingerprint` and `since` are for the engine `duckdb`")
    if contexts is not None:
        raise DataError("the engine `python` reads nested rows, which have their contexts: pass no other ones")
    failures = Failures()
    lines = score_lines(loaded, evaluator, rows, failures, options)
    table = build_table(lines.names, lines.kinds, lines.values, lines.metadata)
    if failures.unreadable:
        raise DataError(failures.lines[0])
    return table


@validate_arguments
def validate_requests(
    requests: RequestsLike | RequestsFile,
    *,
    restaurants: Lines,
    reviews: Lines | None = None,
    judgements: Lines | None = None,
    social: str | os.PathLike[str] | Mapping[str, Any] | None = None,
    duplicates: Duplicates = "fail",
) -> Validation:
    """Validate requests against restaurants: a status for each request, and the matrix of all values.

    Each argument is a path or the JSON values of such a file; restaurants, reviews and judgements may also be data frames.
    Without `reviews` the restaurants contain their own. With `duplicates="first"` the first of a restaurant's reviews with the
    same `review_id` counts; otherwise the restaurant cannot be used. A request with errors has the status `invalid`, with its
    `errors`, and no row in the matrix; the others are validated. Lines of the data that cannot be used are in the result's
    `failures`. Raises `SeedError` if no request can be read, and `DataError` for a file that cannot be opened or a malformed
    social graph.
    """
    from formulaseed.data.candidates import read_dataset
    from formulaseed.requests.validate import valid_requests, validate

    analysis = documents.read_requests(requests)
    lines = analysis.parsed or ()
    failures = Failures()
    dataset = read_dataset(restaurants, reviews, judgements, social, failures, duplicates)
    return validate(lines, dataset, failures.lines, requests_evaluator(analysis, valid_requests(lines)))


def requests_evaluator(analysis: RequestsAnalysis, requests: Sequence[Request]) -> Evaluate:
    """Compile some valid requests of a file in memory, and return the function that evaluates them for a restaurant.

    `requests` are some or all of the requests of `analysis`; invalid ones must not be among them.
    """
    from formulaseed.requests.model import Requests
    from formulaseed.requests.validate import RequestValues

    source = analysis.document.source
    program = Requests("requests", tuple(requests))
    text = "\n".join(source.text[request.span.start : request.span.end] for request in requests)
    document = replace(analysis.document, source=Source(source.name, text))
    compiled = pipeline.compile(RequestsFile(analysis.kind, document, program, ()), formatted=False)
    module: Any = module_from_source(compiled, "requests")
    evidence = program.evidence()

    def evaluate(place: Restaurant, known: Background) -> RequestValues:
        """Return the values of the requests and of their evidence for one restaurant."""
        conditions = module.conditions(place, known)
        return RequestValues(module.requests(conditions), dict(zip(evidence, conditions.values(), strict=True)))

    return evaluate
