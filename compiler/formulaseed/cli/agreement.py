"""`formulaseed agreement`."""

from __future__ import annotations

import json
from dataclasses import replace

import click

from formulaseed.cli.common import finish, load_program, reported
from formulaseed.cli.output import emit, show
from formulaseed.data.contexts import read_contexts
from formulaseed.data.extractions import ReviewInput, handled
from formulaseed.data.jsonl import read_lines
from formulaseed.data.records import RestaurantRecord
from formulaseed.data.results import Failures
from formulaseed.diagnostics.model import number_of
from formulaseed.extract.agreement import Pair, measure, render, to_json
from formulaseed.extract.base import TextExtractor, fields_of
from formulaseed.extract.lexical import LexicalExtractor
from formulaseed.extract.recorded import RecordedExtractor
from formulaseed.ir import nodes


@click.command("agreement")
@click.argument("seed", metavar="SEED|MODULE")
@click.option("--contexts", required=True, help="Restaurants with their reviews, JSON Lines.")
@click.option("--extractions", required=True, help="Recorded extractions to compare with, JSON Lines.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", help="How to print it.")
def command(seed: str, contexts: str, extractions: str, form: str) -> None:
    """Measure how far the lexical extractor agrees with recorded extractions, field by field.

    Accuracy alone flatters where one value is common: compare it with the baseline, and read Cohen's kappa.
    """
    program = load_program(seed)
    fields = fields_of(program)
    failures = Failures()
    with reported(failures):
        pairs = _pairs(program, contexts, extractions, failures)
    agreements = measure(fields, pairs)
    if form == "json":
        emit(json.dumps(to_json(agreements), indent=2, ensure_ascii=False) + "\n")
    else:
        show(f"{number_of(len(pairs), 'review')} with a recorded extraction\n\n{render(agreements)}")
    finish(failures.status)


def _pairs(program: nodes.Program, contexts: str, extractions: str, failures: Failures) -> list[Pair]:
    """For each review with a recorded extraction, that and the lexical extractor's."""
    fields = fields_of(program)
    recorded = RecordedExtractor(fields, read_lines(extractions))
    for place, reason in recorded.faults:
        failures.add(place, reason)
    extractor = TextExtractor("lexical", LexicalExtractor(fields).extract)
    pairs: list[Pair] = []
    for place, restaurant, _ in read_contexts(read_lines(contexts)):
        if not isinstance(restaurant, RestaurantRecord):
            failures.add(place, str(restaurant))
            continue
        texts = [ReviewInput(restaurant.business_id, r.review_id, r.text, r.facts()) for r in restaurant.reviews]
        for review, known in zip(texts, recorded.extract(texts), strict=True):
            text = handled(review.text, program.review_handling)
            if known.fields is not None and text is not None:
                (found,) = extractor.extract([replace(review, text=text)])
                if found.fields is None:
                    failures.add(f"{place}: {review.business_id}: review {review.review_id}", found.failure)
                else:
                    pairs.append((known.fields, found.fields))
    return pairs
