"""What a model answers: `run --extractor anthropic`, live, in batches or only an estimate; and `store`, its answers."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from formulaseed.cli.inputs import prices_for
from formulaseed.cli.output import Progress, emit_json, finish, format_option, progress, reported, say
from formulaseed.cli.results import check_lines
from formulaseed.data.jsonl import read_lines
from formulaseed.data.results import Failures, ResultCounts, ReviewInput, text_writer, write_line
from formulaseed.diagnostics.model import number_of
from formulaseed.errors import DataError
from formulaseed.extractors.base import fields_of
from formulaseed.extractors.cascade import Cascade, CascadeOptions
from formulaseed.extractors.model.answers import AnswerCache, UsageStats, cost_of, created_text
from formulaseed.extractors.model.asking import LiveExtractor
from formulaseed.extractors.model.batching import BatchRun
from formulaseed.extractors.model.estimating import counted_by_api, estimate
from formulaseed.extractors.model.examples import ReviewKey, reviewed_answers, texts_of
from formulaseed.extractors.model.prompting import PromptSpec
from formulaseed.extractors.model.store import Store, default_path, opened_for_run
from formulaseed.llm.calls import cost_text
from formulaseed.llm.connecting import Limits, NotReady, must_be_ready
from formulaseed.llm.interruption import Interrupted, Interruption
from formulaseed.llm.limiter import CostBudget

if TYPE_CHECKING:
    from formulaseed.cli.run import Job


def not_ready_to_ask(given: Mapping[str, Any]) -> NotReady | None:
    """Return why no call can be made from here, if so. Raises it where there is no stored answer either."""
    if given["dry_run"]:
        return None
    try:
        must_be_ready()
    except NotReady as error:
        with _store(given["store"], read_only=True) as store:
            if not store.info()["answers"]:
                raise
        return error
    return None


def _store(path: str | None, *, must_exist: bool = False, read_only: bool = False) -> Store:
    return Store(Path(path) if path else default_path(), must_exist=must_exist, read_only=read_only)


def ask(job: Job, not_ready: NotReady | None, cascade: CascadeOptions | None = None, **given: Any) -> int:
    """Run with a model and return the exit status. Where no call can be made, the store must have every answer.

    With `cascade` the model is asked about what a classifier that learns from it cannot predict.
    """
    from formulaseed.cli.run import can_be_reread, closing_line
    from formulaseed.runtime.extracting import asked_reviews
    from formulaseed.runtime.sampling import draw

    prices = prices_for(given["model"], given["prices"], given["max_usd"])
    is_reread = can_be_reread(job.inputs)
    if given["batch"] and not is_reread:
        raise click.UsageError("--batch reads its input several times: pass files, not - or a pipe")
    if cascade is not None and (given["batch"] or not is_reread):
        raise click.UsageError("--extractor cascade asks in rounds: pass files, not - or a pipe, and no --batch")

    def reviews() -> Iterator[list[ReviewInput]]:
        return asked_reviews(job.evaluator, job.source(Failures()), job.options)

    def cache(store: Store) -> AnswerCache:
        return AnswerCache(spec, store, UsageStats(prices), retry_errors=given["retry_errors"])

    fields_asked = fields_of(job.program)
    examples = job.program.examples
    if given["examples"] is not None:
        lines, handling = read_lines(given["examples"]), job.program.review_handling
        examples = reviewed_answers(lines, fields_asked, handling, partial(_texts, job, is_reread))
        if not examples:
            raise DataError(f"{given['examples']} has no reviewed answer")
        say(f"examples: {number_of(len(examples), 'reviewed answer')} of {given['examples']}", err=True)
    spec = PromptSpec(
        fields_asked,
        model=given["model"],
        effort=given["effort"],
        passes=job.program.passes,
        own_prompt=job.program.extraction_prompt,
        examples=examples,
    )
    if not_ready is not None and is_reread and cascade is None:
        with _store(given["store"], read_only=True) as store:
            if next(cache(store).unanswered(reviews()), None) is not None:
                raise not_ready
    path = Path(given["store"]) if given["store"] else default_path()
    with Store(path, read_only=True) if given["dry_run"] else opened_for_run(path) as store:
        answers = cache(store)
        if given["dry_run"]:
            if cascade is not None:
                say("at least, for the first sample:")
                options = replace(job.options, sample=draw(reviews(), cascade.sample, cascade.sample_seed))
                first = asked_reviews(job.evaluator, job.source(Failures()), options)
                for line in estimate(answers, first, prices, counted_by_api, may_batch=False):
                    say(line)
                say("at most, for every review:")
            for line in estimate(answers, reviews(), prices, counted_by_api, may_batch=cascade is None):
                say(line)
            return 0
        limits = Limits(**{field.name: given[field.name] for field in fields(Limits)})
        failures, counted, status = Failures(), ResultCounts(), 0
        report = partial(say, err=True)
        transport: BatchRun | LiveExtractor | Cascade | None = None
        try:
            with reported(failures), progress("restaurant", quiet=job.quiet) as shown, Interruption():
                if given["batch"]:
                    notify = (lambda text: None) if job.quiet else report
                    transport = BatchRun(answers, limits, most_usd=given["max_usd"], poll=given["poll"], notify=notify)
                    transport.ask(reviews)
                else:
                    is_counted = is_reread and not job.quiet and cascade is None
                    total = sum(1 for _ in answers.unanswered(reviews())) if is_counted else None
                    answers.unconfirmed()
                    budget = CostBudget(prices, given["max_usd"], answers.usage.unconfirmed_usd)
                    speed = _speed(answers.usage, total, shown)

                    def live() -> LiveExtractor:
                        budget.use_in_new_loop()
                        return LiveExtractor(answers, limits, budget, speed, report)

                    transport = live()
                    if cascade is not None:
                        transport = Cascade(fields_asked, live, spec.model, reviews, cascade, spec.passes)
                job.write(transport, failures, shown, counted)
        except Interrupted as error:
            report("interrupted: the answers so far are stored; run the same command to continue")
            status = error.status
        finally:
            if transport is not None and transport.stopped:
                more = "; run the same command to continue" if transport.goes_on else ""
                report(f"stopped: {transport.stopped}{more}")
            elif answers.usage.unanswered and not status:
                calls = number_of(answers.usage.unanswered, "call")
                report(f"{calls} ended without a usable answer; run the same command to make them again")
            closing = closing_line(counted, failures, f"{'cascade' if cascade else 'anthropic'}, {given['model']}")
            learned = transport.summary() if isinstance(transport, Cascade) and not status else ()
            for line in (*learned, *counted.lines(), closing, *answers.lines()):
                report(line)
        return status or failures.status


def _texts(job: Job, is_reread: bool, wanted: Collection[ReviewKey]) -> dict[ReviewKey, str]:
    """The texts of these reviews, as far as the job's restaurants have them."""
    if not is_reread:
        raise click.UsageError(
            "lines of --examples without a `text` need contexts that can be read twice: files, no pipes"
        )
    return texts_of(job.source(Failures()), wanted)


def _speed(usage: UsageStats, total: int | None, shown: Progress) -> Callable[[bool], None]:
    """Return what is called with every answer, and whether it is usable.

    It shows how fast they come, what they cost, how long the rest will take.
    """
    start, answered, failed = time.monotonic(), 0, 0

    def show(is_usable: bool) -> None:
        nonlocal answered, failed
        answered, failed = answered + is_usable, failed + (not is_usable)
        rate = (answered + failed) / max(1e-6, time.monotonic() - start)
        note = f"{answered:,} of {total:,} answers" if total is not None else number_of(answered, "answer")
        note += f", {failed:,} failed" if failed else ""
        note += f", {_span(max(0, total - answered - failed) / rate)} left" if total is not None else ""
        shown.show(f"{note}, {rate:.1f}/s, {cost_text(usage.paid)}")

    return show


def _span(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s" if minutes else f"{rest} s"


_store_option = click.option("--store", "path", help="The store; by default the one in the user's cache folder.")


@click.group("store")
def store() -> None:
    """Manage the store of answers that `run --extractor anthropic` keeps."""


@store.command("info")
@_store_option
@format_option
def info(path: str | None, form: str) -> None:
    """Print what is in the store and what it has cost."""
    from formulaseed.llm.prices import read_prices

    prices = read_prices()
    with _store(path, must_exist=True, read_only=True) as answers:
        found, ledger = answers.info(), answers.ledger
        attempts, batches, unconfirmed = ledger.by_status(), ledger.open_batches(), ledger.unconfirmed_batches()
        accounts = {"spent": ledger.spent(), "unknown": ledger.unknown(), "in_flight": ledger.in_flight()}
    costs = {name: (sum(each.count for each in of), cost_of(of, prices)) for name, of in accounts.items()}
    if form == "json":
        listed = [{**a, "usage": a["usage"].to_json()} for a in found["answers"]]
        counts = {name: {"calls": count, "at_most_usd": usd} for name, (count, usd) in costs.items() if name != "spent"}
        open_batches = [{"id": batch.id, "calls": batch.waiting} for batch in batches]
        unconfirmed_batches = [
            {"at": batch.at, "calls": batch.spent.count, "at_most_usd": cost_of([batch.spent], prices)}
            for batch in unconfirmed
        ]
        rest = {"attempts": attempts, "open_batches": open_batches, "unconfirmed_batches": unconfirmed_batches}
        emit_json({**found, "answers": listed, **rest, "spent_usd": costs["spent"][1], **counts})
        return
    say(f"{found['path']}: {found['bytes']:,} bytes, version {found['version']}")
    for each in found["answers"]:
        usage, last = each["usage"], time.strftime("%Y-%m-%d", time.gmtime(each["last"]))
        how = ", in batches" if each["batch"] else ""
        unusable = f", {each['unusable']:,} unusable" if each["unusable"] else ""
        say(
            f"{each['model']}{how}: {number_of(each['usable'], 'answer')}{unusable}; {usage.prompt:,} tokens in, "
            f"{usage.cache_read:,} of them cached, {usage.output:,} out; last on {last}"
        )
    say("attempts: " + (", ".join(f"{n:,} {status}" for status, n in attempts.items()) or "none"))
    say(f"spent: {cost_text(costs['spent'][1])} (prices of {prices.as_of})")
    unknown, most = costs["unknown"]
    if unknown:
        say(
            f"unknown: {number_of(unknown, 'attempt')} without an answer that states its cost, {cost_text(most)} at most"
        )
    sent, most = costs["in_flight"]
    if sent:
        say(f"in flight: {number_of(sent, 'call')}, {cost_text(most)} at most")
    for batch in batches:
        if batch.id is not None or batch.is_being_created:
            say(f"in progress: {batch.id or 'a batch that is being created'}, {number_of(batch.waiting, 'call')}")
    for maybe in unconfirmed:
        bound = cost_text(cost_of([maybe.spent], prices))
        say(
            f"unconfirmed: a batch whose creation was cut off, {created_text(maybe)}, {bound} at most; "
            "a run with --batch looks for it"
        )


@store.command("export")
@_store_option
@click.option("--out", default="-", help="Where to write; standard output by default.")
def export(path: str | None, out: str) -> None:
    """Write every answer as a line of JSON."""
    check_lines(out, "--out")
    with _store(path, must_exist=True, read_only=True) as answers, text_writer(out) as file:
        for line in answers.export():
            write_line(file, line)


@store.command("import")
@click.argument("source", metavar="FILE")
@_store_option
def import_(source: str, path: str | None) -> None:
    """Import exported answers. Those in the store already are kept as they are."""
    from formulaseed.data.jsonl import parsed, read_lines

    new = old = 0
    with reported() as failures, _store(path) as answers:
        for line, is_new in parsed(read_lines(source), answers.take):
            if isinstance(is_new, DataError):
                failures.add(line.place, str(is_new))
            else:
                new, old = new + is_new, old + (not is_new)
    say(f"{new:,} new, {old:,} known already", err=True)
    finish(failures.status)


@store.command("prune")
@_store_option
@click.option("--older-than", type=click.FloatRange(min=0), metavar="DAYS", help="Only answers of this age or more.")
@click.option("--model", help="Only answers of this model.")
@click.option("--unusable", is_flag=True, help="Only unusable answers.")
@click.option("--all", "everything", is_flag=True, help="All answers.")
def prune(path: str | None, older_than: float | None, model: str | None, unusable: bool, everything: bool) -> None:
    """Delete answers; the ledger of what was spent is kept."""
    if everything == bool(older_than is not None or model or unusable):
        raise click.UsageError("say which answers to delete: --older-than, --model and --unusable, or --all")
    with _store(path, must_exist=True) as answers:
        before = time.time() - older_than * 86_400 if older_than is not None else None
        gone = answers.prune(before=before, model=model, unusable=unusable)
    say(f"{number_of(gone, 'answer')} deleted", err=True)
