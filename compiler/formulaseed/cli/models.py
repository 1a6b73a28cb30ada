"""The commands `store`: they manage the answers that `run --extractor anthropic` keeps."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from formulaseed.cli.output import emit_json, finish, format_option, reported, say
from formulaseed.cli.results import check_lines
from formulaseed.data.jsonl import read_lines
from formulaseed.data.results import text_writer, write_line
from formulaseed.diagnostics.model import number_of
from formulaseed.errors import DataError
from formulaseed.extractors.model.answers import cost_of, created_text
from formulaseed.extractors.model.salvage import Gap
from formulaseed.extractors.model.store import Store, default_path
from formulaseed.llm.calls import cost_text

if TYPE_CHECKING:
    pass


def _store(path: str | None, *, must_exist: bool = False, read_only: bool = False) -> Store:
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
    saved = 0
    with reported() as failures, _store(path, must_exist=True, read_only=True) as answers, text_writer(out) as file:
        for line in answers.export():
            if isinstance(line, Gap):
                between = (
                    f"answers between `{line.low[:12]}` and `{line.high[:12]}`" if line.low < line.high else line.low
                )
                failures.add(str(answers.path), f"{between} cannot be read: {line.reason}")
            else:
                write_line(file, line)
                saved += 1
    if failures.status:
        help = f"`formulaseed store import {'FILE' if out == '-' else out} --store NEW` puts them into a new store"
        say(f"{number_of(saved, 'answer')} saved of a damaged store; {help}", err=True)
    finish(failures.status)


@store.command("import")
@click.argument("source", metavar="FILE")
@_store_option
def import_(source: str, path: str | None) -> None:
    """Import exported answers. Those in the store already are kept as they are."""
    from formulaseed.data.jsonl import parsed

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
