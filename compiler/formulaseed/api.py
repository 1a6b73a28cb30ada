"""The Python interface beside `loading`: check seeds, and evaluate restaurants, formulas and requests with them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from formulaseed import documents, pipeline
from formulaseed.data.arguments import validate_arguments
from formulaseed.data.duplicates import Duplicates, drop_duplicates, review_ids
from formulaseed.diagnostics.catalogue import reading as catalogue
from formulaseed.diagnostics.model import Diagnostic
from formulaseed.documents import FormulaSeed, RequestsAnalysis, RequestsFile, RequestsLike, SeedLike
from formulaseed.errors import DataError, SeedError
from formulaseed.ir.inputs import rows_of
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
    """Return every diagnostic of a seed, errors, warnings and notes, in the order of the file."""
    if isinstance(seed, FormulaSeed):
        return list(seed.diagnostics)
    return list(documents.analyse(seed).diagnostics)


@validate_arguments
def load_evaluator(
    seed_or_path: SeedLike | FormulaSeed, *, strict: bool = False, allow_edited: bool = False
) -> Evaluator:
    """Return an evaluator of a seed (a path, JSON values or a loaded one) or of a generated module (a path to a .py).

    With `strict` rows may have no extraction or metadata that the seed does not know. Raises `SeedError` for a seed with
    errors and for a module that is not as compiled; with `allow_edited` a module may differ from its seed, as long as it is
    what the compiler could have written.
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

    `reference` is a formula reference or a schema file: a path, JSON values or a loaded one. `variables` are names
    besides, or alone where there is no reference: a list of numbers' names, or a mapping of names to types (`"number"`,
    `{"type": "string", "nullable": true}`), to example values, or to such mappings for entities. With
    neither, names are the restaurant's fields. Raises `SeedError`, whose `.diagnostics` hold every problem,
    and `DataError` for a file that cannot be opened and for malformed variables.
    """
    from formulaseed.documents import domain_of
    from formulaseed.pipeline import checked
    from formulaseed.reference.evaluation import Formula

    found = checked(documents.analyse_formula(text, domain_of(reference, variables)))
    return Formula(text, found.program, found.diagnostics)


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
    extractor's `quotes` by field. `output` is the output to explain, by default the last that chooses by rules. With
    `duplicates="first"` the first of the rows with the same `review_id` counts; otherwise they are refused. `evaluator` saves
    compiling the seed again. Raises `SeedError`, and `DataError` for what the seed does not allow; where a step has no value
    the explanation has an `error`.
    """
    from formulaseed.explanation.explainer import Explainer

    if not isinstance(evaluator, Evaluator | None):
        raise DataError(f"`evaluator` must be what `load_evaluator` returns, not {evaluator!r:.80}")
    loaded = documents.load_seed(seed)
    evaluator = evaluator or compile_evaluator(loaded)
    explainer = Explainer(loaded.program, evaluator, output)
    listed = [*rows_of(rows)]
    rows = drop_duplicates(listed, review_ids(listed), duplicates, "rows[{}]".format)
    made_with = evaluator.provenance(parameters).to_json()
    return explainer.explain(business_id, rows, context, parameters, made_with)


@validate_arguments
def score(
    seed: SeedLike | FormulaSeed,
    rows: Any,
    contexts: Any = None,
    *,
    engine: Literal["duckdb", "python"] = "duckdb",
    parameters: Mapping[str, Any] | None = None,
    trace: bool = False,
    duplicates: Duplicates = "fail",
) -> Any:
    """Score whole tables: a row for each relevant review, a context for each restaurant; return a `pyarrow.Table` of results.

    Tables are paths or patterns of Parquet, JSON Lines or CSV files, Arrow tables or readers, pandas or polars frames, or
    DuckDB relations. The engine `python` takes JSON Lines of nested rows, or their objects, alone. Restaurants that fail are
    lines with `error_step`, `error_kind` and `error_message`; so is one with a review twice, unless `duplicates` is
    `"first"`: then the first counts. Raises `SeedError`, and `DataError` for columns that do not fit the seed, before anything
    runs.
    """
    from formulaseed.data.parquet import require_pyarrow
    from formulaseed.data.results import Failures
    from formulaseed.data.scored import build_table, merge_batches
    from formulaseed.runtime.scoring import score_lines, score_tables
    from formulaseed.runtime.tables import ScoreOptions

    require_pyarrow("duckdb" if engine == "duckdb" else "parquet", "a table of results")
    loaded = documents.load_seed(seed)
    evaluator, options = load_evaluator(loaded), ScoreOptions(parameters, trace=trace, duplicates=duplicates)
    if engine == "duckdb":
        return score_tables(
            loaded, evaluator, rows, contexts, options, lambda results: merge_batches(results.batches, results.schema)
        )
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

    Files are given as paths or as the JSON values that they would hold, lines as data frames too; without `reviews` the
    restaurants hold their own. With `duplicates="first"` the first of a restaurant's reviews with the same `review_id` counts;
    otherwise the restaurant cannot be used. A request with errors has the status `invalid`, with its `errors`, and no row in
    the matrix; the others are validated. Lines of the data that cannot be used are in the result's `failures`. Raises
    `SeedError` for requests of which none can be read, and `DataError` for a file that cannot be opened or a malformed social
    graph.
    """
    from formulaseed.data.candidates import read_dataset
    from formulaseed.data.results import Failures
    from formulaseed.requests.validate import valid, validate

    analysis, failures = documents.read_requests(requests), Failures()
    lines = analysis.parsed or ()
    dataset = read_dataset(restaurants, reviews, judgements, social, failures, duplicates)
    return validate(lines, dataset, failures.lines, requests_evaluator(analysis, valid(lines)))


def requests_evaluator(analysis: RequestsAnalysis, requests: Sequence[Request]) -> Evaluate:
    """Compile some valid requests of a file in memory, and return what their module finds for a restaurant."""
    from formulaseed.requests.model import Requests
    from formulaseed.requests.validate import RequestValues

    whole, program = analysis.document.source, Requests("requests", tuple(requests))
    text = "\n".join(whole.text[request.span.start : request.span.end] for request in requests)
    document = replace(analysis.document, source=Source(whole.name, text))
    compiled = pipeline.compile(RequestsFile(analysis.kind, document, program, ()), formatted=False)
    module: Any = module_from_source(compiled, "requests")
    pieces = program.evidence()

    def evaluate(place: Restaurant, known: Background) -> RequestValues:
        found = module.conditions(place, known)
        return RequestValues(module.requests(found), dict(zip(pieces, found.values(), strict=True)))

    return evaluate
