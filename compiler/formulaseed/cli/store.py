"""Define the group of commands `store`: they manage the answers that `run --extractor anthropic` stores."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import click

from formulaseed.cli.options import format_option
from formulaseed.cli.output import emit_json, finish, report_failures, say
from formulaseed.cli.results import check_lines
from formulaseed.data.files import text_writer
from formulaseed.data.jsonl import parse_lines, read_lines
from formulaseed.data.results import write_line
from formulaseed.errors import DataError
from formulaseed.extractors.model.answers import describe_creation, price_attempts
from formulaseed.extractors.model.ledger import OpenBatch, UnconfirmedBatch
from formulaseed.extractors.model.store import Store, default_path
from formulaseed.llm.calls import Usage, format_cost
from formulaseed.llm.limiter import read_prices
from formulaseed.source.printing import number_of


def _open_store(path: str | None, *, must_exist: bool = False, read_only: bool = False) -> Store:
    """Open the store in the file `path`, by default the one in the user's cache folder.

    With `read_only` nothing can be added or deleted. Raises `StoreError` if the store cannot be opened; with
    `must_exist` also if there is no store yet.
    """
    return Store(Path(path) if path else default_path(), must_exist=must_exist, read_only=read_only)


_store_option = click.option("--store", "path", help="The store; by default the one in the user's cache folder.")


@click.group("store")
def store() -> None:
    """Manage the store of answers that `run --extractor anthropic` keeps."""


@store.command("info")
@_store_option
@format_option
def info(path: str | None, form: str) -> None:
    """Print what is in the store and what it has cost."""
    prices = read_prices()
    with _open_store(path, must_exist=True, read_only=True) as answers:
        contents = answers.info()
        ledger = answers.ledger
        attempts = ledger.count_statuses()
        batches = ledger.open_batches()
        unconfirmed = ledger.find_unconfirmed_batches()
        accounts = {"spent": ledger.sum_known(), "unknown": ledger.sum_unknown(), "in_flight": ledger.sum_in_flight()}
    costs = {
        name: _Account(sum(spending.count for spending in account), price_attempts(account, prices))
        for name, account in accounts.items()
    }
    bounds = [(batch, price_attempts([batch.spending], prices)) for batch in unconfirmed]
    if form == "json":
        emit_json(
            {
                **contents,
                "answers": [{**model, "usage": model["usage"].to_json()} for model in contents["answers"]],
                "attempts": attempts,
                "open_batches": [{"id": batch.id, "calls": batch.waiting} for batch in batches],
                "unconfirmed_batches": [
                    {"at": batch.at, "calls": batch.spending.count, "at_most_usd": usd} for batch, usd in bounds
                ],
                "spent_usd": costs["spent"].usd,
                **{
                    name: {"calls": costs[name].calls, "at_most_usd": costs[name].usd}
                    for name in ("unknown", "in_flight")
                },
            }
        )
        return
    say(f"{contents['path']}: {contents['bytes']:,} bytes, version {contents['version']}")
    for model in contents["answers"]:
        say(_describe_answers(model))
    say("attempts: " + (", ".join(f"{count:,} {status}" for status, count in attempts.items()) or "none"))
    say(f"spent: {format_cost(costs['spent'].usd)} (prices of {prices.as_of})")
    for line in _describe_open_calls(costs["unknown"], costs["in_flight"], batches, bounds):
        say(line)


class _Account(NamedTuple):
    """A number of calls, and their cost in US dollars; None if the cost is unknown."""

    calls: int
    usd: float | None


def _describe_open_calls(
    unknown: _Account,
    sent: _Account,
    batches: list[OpenBatch],
    unconfirmed: list[tuple[UnconfirmedBatch, float | None]],
) -> Iterator[str]:
    """Yield a line for each open position: calls whose cost is unknown, calls in flight, and batches.

    `unconfirmed` are batches whose creation was cut off, each with the most that it can cost, None if that is unknown.
    A position without calls has no line.
    """
    if unknown.calls:
        attempts = f"{number_of(unknown.calls, 'attempt')} without an answer that states its cost"
        yield f"unknown: {attempts}, {format_cost(unknown.usd)} at most"
    if sent.calls:
        yield f"in flight: {number_of(sent.calls, 'call')}, {format_cost(sent.usd)} at most"
    for batch in batches:
        if batch.id is not None or batch.is_being_created:
            yield f"in progress: {batch.id or 'a batch that is being created'}, {number_of(batch.waiting, 'call')}"
    for unconfirmed_batch, usd in unconfirmed:
        created = (
            f"a batch whose creation was cut off, {describe_creation(unconfirmed_batch)}, {format_cost(usd)} at most"
        )
        yield f"unconfirmed: {created}; a run with --batch looks for it"


def _describe_answers(model: Mapping[str, Any]) -> str:
    """Return a line about the stored answers of a model, for an entry of `answers` in `Store.info`."""
    usage: Usage = model["usage"]
    title = f"{model['model']}, in batches" if model["batch"] else model["model"]
    answers = number_of(model["usable"], "answer")
    if model["unusable"]:
        answers += f", {model['unusable']:,} unusable"
    tokens = f"{usage.prompt:,} tokens in, {usage.cache_read:,} of them cached, {usage.output:,} out"
    return f"{title}: {answers}; {tokens}; last on {time.strftime('%Y-%m-%d', time.gmtime(model['last']))}"


@store.command("export")
@_store_option
@click.option("--out", default="-", help="Where to write; standard output by default.")
def export(path: str | None, out: str) -> None:
    """Write every answer as a line of JSON."""
    check_lines(out, "--out")
    with _open_store(path, must_exist=True, read_only=True) as answers, text_writer(out) as file:
        for line in answers.export():
            write_line(file, line)


@store.command("import")
@click.argument("source", metavar="FILE")
@_store_option
def import_(source: str, path: str | None) -> None:
    """Import exported answers. Those in the store already are kept as they are."""
    new = old = 0
    with report_failures() as failures, _open_store(path) as answers:
        for line, is_new in parse_lines(read_lines(source), answers.import_answer):
            if isinstance(is_new, DataError):
                failures.add(line.place, str(is_new))
            else:
                new += is_new
                old += not is_new
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
    before = time.time() - older_than * 86_400 if older_than is not None else None
    with _open_store(path, must_exist=True) as answers:
        deleted = answers.prune(before=before, model=model, unusable=unusable)
    say(f"{number_of(deleted, 'answer')} deleted", err=True)
