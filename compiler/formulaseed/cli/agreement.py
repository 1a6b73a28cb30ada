"""Define the command `agreement`: it measures how far an extractor agrees with recorded extractions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, Literal

import click

from formulaseed.cli.inputs import Loaded, load, parameters_of
from formulaseed.cli.options import duplicates_option, format_option, param_option
from formulaseed.cli.output import emit_json, finish, report_failures, show
from formulaseed.data.duplicates import Duplicates
from formulaseed.data.records import RestaurantRecord
from formulaseed.data.results import Failures, ReviewInput, truncate_review
from formulaseed.extractors.base import SyncExtractor, fields_of
from formulaseed.extractors.lexical import LexicalExtractor
from formulaseed.extractors.recorded import Recorded
from formulaseed.runtime.extracting import RunOptions
from formulaseed.runtime.reviews import ReviewSource
from formulaseed.source.printing import number_of

if TYPE_CHECKING:
    from formulaseed.extractors.agreement import ComparedRestaurant, FieldAgreement, VerdictAgreement
    from formulaseed.extractors.trained.measuring import FieldMeasure


@click.command("agreement")
@click.argument("seed", metavar="SEED|MODULE")
@click.option("--contexts", required=True, help="Restaurants with their reviews, JSON Lines.")
@click.option("--extractions", required=True, help="Recorded extractions to compare with, JSON Lines.")
@click.option("--predictions", help="Recorded extractions to measure, in place of an extractor's.")
@click.option(
    "--extractor",
    type=click.Choice(["lexical", "trained"]),
    default="lexical",
    show_default=True,
    help="What is measured; trained: each restaurant by what the others teach.",
)
@click.option("--verdicts", is_flag=True, help="Evaluate both sides, and compare the outputs.")
@duplicates_option
@param_option
@format_option
def agreement(
    seed: str,
    contexts: str,
    extractions: str,
    predictions: str | None,
    extractor: Literal["lexical", "trained"],
    verdicts: bool,
    duplicates: Duplicates,
    params: tuple[str, ...],
    form: str,
) -> None:
    """Measure how far an extractor agrees with recorded extractions, field by field, and what that does to verdicts.

    Accuracy alone flatters where one value is common: compare it with the baseline, and read Cohen's kappa.
    """
    from formulaseed.extractors.agreement import compare_verdicts, measure_agreement

    loaded = load(seed, allow_edited=True)
    if params and not verdicts:
        raise click.UsageError("--param goes with --verdicts")
    if predictions is not None and extractor == "trained":
        raise click.UsageError("pass --predictions or --extractor trained")
    parameters = parameters_of(loaded.evaluator, params)
    fields = fields_of(loaded.program)
    options = RunOptions(review_handling=loaded.program.review_handling)
    source = ReviewSource(loaded.evaluator, contexts, None, options, duplicates)
    measures: list[FieldMeasure] = []
    with report_failures() as failures:
        recorded = Recorded(extractions).read(loaded.program, failures)
        predictor: SyncExtractor = LexicalExtractor(fields)
        if extractor == "trained":
            from formulaseed.extractors.trained.extractor import Trained

            predictor, measures = Trained(extractions).measure(loaded.program, source)
        elif predictions is not None:
            predictor = Recorded(predictions).read(loaded.program, failures)
        restaurants = [*_predict(loaded, source, recorded, predictor, failures)]
        outputs = compare_verdicts(loaded.evaluator, restaurants, parameters, failures) if verdicts else None
    pairs = [(review.recorded, review.predicted) for restaurant in restaurants for review in restaurant.reviews]
    agreements = measure_agreement(fields, pairs)
    if form == "json":
        _print_json(agreements, measures if extractor == "trained" else None, outputs)
    else:
        sides = "a recorded extraction and a prediction"
        if isinstance(predictor, LexicalExtractor):
            sides = "a recorded extraction"
        _print_tables(f"{number_of(len(pairs), 'review')} with {sides}", agreements, measures, outputs)
    finish(failures.status)


def _print_json(
    agreements: Sequence[FieldAgreement], measures: Sequence[FieldMeasure] | None, outputs: VerdictAgreement | None
) -> None:
    """Print the results as JSON on standard output: the list of fields alone, or an object of sections.

    `measures` are those of the trained extractor, `outputs` the agreement of verdicts. If both are None, only the list
    of fields is printed; otherwise a section that is None is left out.
    """
    sections: dict[str, Any] = {"fields": [asdict(field) for field in agreements]}
    if measures is not None:
        sections["trained"] = [asdict(field) for field in measures]
    if outputs is not None:
        sections["verdicts"] = asdict(outputs)
    emit_json(sections if len(sections) > 1 else sections["fields"])


def _print_tables(
    title: str, agreements: Sequence[FieldAgreement], measures: Sequence[FieldMeasure], outputs: VerdictAgreement | None
) -> None:
    """Print a table of the fields under `title`, one of the trained fields if there are any, and one of the outputs.

    The last table is left out if `outputs` is None.
    """
    from formulaseed.extractors.agreement import render_agreement

    show(f"{title}\n\n{render_agreement(agreements)}")
    if measures:
        from formulaseed.extractors.trained import measuring

        trained_title = "trained: each restaurant is predicted by what others teach; 95% intervals"
        show(f"{trained_title}\n\n{measuring.render_measures(measures)}")
    if outputs is not None:
        show(outputs.text(), nl=False)


def _predict(
    loaded: Loaded, source: ReviewSource, recorded: SyncExtractor, predictor: SyncExtractor, failures: Failures
) -> Iterator[ComparedRestaurant]:
    """Yield each restaurant with those of its reviews that have both a recorded extraction and a prediction.

    Adds restaurants that cannot be read to `failures`, and reviews that the lexical extractor cannot extract. A review
    that another predictor does not answer, or with no text to extract from, is left out without a failure.
    """
    from formulaseed.extractors.agreement import ComparedRestaurant, ComparedReview

    predicts_all = isinstance(predictor, LexicalExtractor)
    for place, restaurant, business_id in source.read_restaurants():
        if not isinstance(restaurant, RestaurantRecord):
            failures.add(f"{place}: {business_id}" if business_id else place, str(restaurant))
            continue
        failures.duplicates += restaurant.duplicates
        reviews: list[ComparedReview] = []
        relevant_count = 0
        for record in restaurant.reviews:
            review = ReviewInput(restaurant.business_id, record.review_id, record.text, record.facts())
            is_relevant = loaded.evaluator.is_relevant(record.text)
            relevant_count += is_relevant
            known = recorded.extract(review).fields
            text = truncate_review(review.text, loaded.program.review_handling)
            if known is None or text is None:
                continue
            prediction = predictor.extract(replace(review, text=text))
            if prediction.fields is not None:
                reviews.append(ComparedReview(record.review_id, record.meta(), known, prediction.fields, is_relevant))
            elif predicts_all:
                failures.add(f"{place}: {review.business_id}: review {review.review_id}", prediction.failure)
        yield ComparedRestaurant(place, restaurant.business_id, restaurant.context(), reviews, relevant_count)
