"""`formulaseed agreement`: how far an extractor agrees with recorded extractions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, Literal

import click

from formulaseed.cli.inputs import Loaded, duplicates_option, load, param_option, parameters_of
from formulaseed.cli.output import emit_json, finish, format_option, reported, show
from formulaseed.data.duplicates import Duplicates
from formulaseed.data.jsonl import LocatedRestaurant, read_contexts, read_lines
from formulaseed.data.records import RestaurantRecord
from formulaseed.data.results import Failures, ReviewInput, handled
from formulaseed.diagnostics.model import number_of
from formulaseed.extractors.base import SyncExtractor, fields_of
from formulaseed.extractors.lexical import LexicalExtractor
from formulaseed.extractors.recorded import Recorded
from formulaseed.runtime.extracting import RunOptions
from formulaseed.runtime.reviews import ReviewSource

if TYPE_CHECKING:
    from formulaseed.extractors.trained.measuring import FieldMeasure
    from formulaseed.extractors.verdicts import ComparedRestaurant


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
    seed: str, contexts: str, extractions: str, predictions: str | None, extractor: Literal["lexical", "trained"],
    verdicts: bool, duplicates: Duplicates, params: tuple[str, ...], form: str
) -> None:  # fmt: skip
    """Measure how far an extractor agrees with recorded extractions, field by field, and what that does to verdicts.

    Accuracy alone flatters where one value is common: compare it with the baseline, and read Cohen's kappa.
    """
    from formulaseed.extractors.agreement import measure, render
    from formulaseed.extractors.verdicts import compare

    loaded = load(seed, allow_edited=True)
    if params and not verdicts:
        raise click.UsageError("--param goes with --verdicts")
    if predictions is not None and extractor == "trained":
        raise click.UsageError("pass --predictions or --extractor trained")
    parameters = parameters_of(loaded.evaluator, params)
    program, trained, measured = loaded.program, extractor == "trained", list["FieldMeasure"]()
    with reported() as failures:
        recorded = Recorded(extractions).read(program, failures)
        other: SyncExtractor
        if trained:
            other, measured = _trained(loaded, contexts, extractions, duplicates)
        elif predictions is not None:
            other = Recorded(predictions).read(program, failures)
        else:
            other = LexicalExtractor(fields_of(program))
        is_reported = predictions is None and not trained
        restaurants = read_contexts(read_lines(contexts, "contexts"), duplicates=duplicates)
        compared = [*_compared(loaded, restaurants, recorded, other, failures, is_reported=is_reported)]
        found = compare(loaded.evaluator, compared, parameters, failures) if verdicts else None
    pairs = [(review.recorded, review.predicted) for restaurant in compared for review in restaurant.reviews]
    agreements = measure(fields_of(program), pairs)
    if form == "json":
        fields = [asdict(one) for one in agreements]
        also: dict[str, Any] = {"trained": [asdict(one) for one in measured]} if trained else {}
        also |= {} if found is None else {"verdicts": asdict(found)}
        emit_json({"fields": fields, **also} if also else fields)
    else:
        what = " and a prediction" if predictions is not None or trained else ""
        show(f"{number_of(len(pairs), 'review')} with a recorded extraction{what}\n\n{render(agreements)}")
        if trained:
            from formulaseed.extractors.trained import measuring

            show(
                f"trained: each restaurant is predicted by what others teach; 95% intervals\n\n{measuring.render(measured)}"
            )
        show("" if found is None else found.text(), nl=False)
    finish(failures.status)


def _trained(
    loaded: Loaded, contexts: str, extractions: str, duplicates: Duplicates
) -> tuple[SyncExtractor, list[FieldMeasure]]:
    """Return what predicts each recorded review by training on other restaurants, and how well."""
    from formulaseed.extractors.trained.extractor import Trained

    options = RunOptions(review_handling=loaded.program.review_handling)
    source = ReviewSource(loaded.evaluator, contexts, None, options, duplicates)
    return Trained(extractions).measure(loaded.program, source)


def _compared(
    loaded: Loaded,
    restaurants: Iterator[LocatedRestaurant],
    recorded: SyncExtractor,
    extractor: SyncExtractor,
    failures: Failures,
    *,
    is_reported: bool,
) -> Iterator[ComparedRestaurant]:
    """Each restaurant with the reviews that have a recorded extraction, and those of the other side.

    `is_reported`: a review that the extractor cannot extract is a failure.
    """
    from formulaseed.extractors.verdicts import ComparedRestaurant, ComparedReview

    for place, restaurant, business_id in restaurants:
        if not isinstance(restaurant, RestaurantRecord):
            failures.add(f"{place}: {business_id}" if business_id else place, str(restaurant))
            continue
        failures.duplicates += restaurant.duplicates
        reviews: list[ComparedReview] = []
        relevant = 0
        for record in restaurant.reviews:
            review = ReviewInput(restaurant.business_id, record.review_id, record.text, record.facts())
            is_relevant = loaded.evaluator.is_relevant(record.text)
            relevant += is_relevant
            known = recorded.extract(review)
            text = handled(review.text, loaded.program.review_handling)
            if known.fields is None or text is None:
                continue
            found = extractor.extract(replace(review, text=text))
            if found.fields is not None:
                reviews.append(ComparedReview(record.review_id, record.meta(), known.fields, found.fields, is_relevant))
            elif is_reported:
                failures.add(f"{place}: {review.business_id}: review {review.review_id}", found.failure)
        yield ComparedRestaurant(place, restaurant.business_id, restaurant.context(), reviews, relevant)
