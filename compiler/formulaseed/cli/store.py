"""`formulaseed store`: the answers of models that runs keep, so that nothing is paid twice."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from formulaseed.cli.common import finish, reported
from formulaseed.cli.output import emit, say
from formulaseed.data.jsonl import parsed, read_lines
from formulaseed.data.results import Failures, text_writer
from formulaseed.diagnostics.model import number_of
from formulaseed.errors import DataError
from formulaseed.extract.model.store import Store, default_path
from formulaseed.llm.prices import cost_text, read_prices

_store_option = click.option("--store", "path", help="The store; by default the one in the user's cache folder.")


@click.group("store")
def command() -> None:
    """Manage the store of answers that `run --extractor anthropic` keeps."""


@command.command("info")
@_store_option
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True,
              help="How to print it.")  # fmt: skip
def info(path: str | None, form: str) -> None:
    """Print what is in the store and what it has cost."""
    prices = read_prices()
    with _opened(path, read_only=True) as store:
        found = store.info()
        costs = [prices.cost(model, usage, is_batch=batch, calls=n) for model, batch, n, usage in store.spent()]
    known = [cost for cost in costs if cost is not None]
    spent = sum(known) if len(known) == len(costs) else None
    if form == "json":
        answers = [{**a, "usage": a["usage"].to_json()} for a in found["answers"]]
        emit(json.dumps({**found, "answers": answers, "spent_usd": spent}, indent=2) + "\n")
        return
    say(f"{found['path']}: {found['bytes']:,} bytes, version {found['version']}")
    for each in found["answers"]:
        usage = each["usage"]
        how = ", in batches" if each["batch"] else ""
        unusable = f", {each['unusable']:,} unusable" if each["unusable"] else ""
        say(
            f"{each['model']}{how}: {number_of(each['usable'], 'answer')}{unusable}; {usage.prompt:,} tokens in, "
            f"{usage.cache_read:,} of them cached, {usage.output:,} out; last on {_day(each['last'])}"
        )
    say("attempts: " + (", ".join(f"{n:,} {status}" for status, n in found["attempts"].items()) or "none"))
    say(f"spent: {cost_text(spent)} (prices of {prices.as_of})")
    for batch in found["open_batches"]:
        say(f"in progress: {batch}")


@command.command("export")
@_store_option
@click.option("--out", default="-", help="Where to write; standard output by default.")
def export(path: str | None, out: str) -> None:
    """Write every answer as a line of JSON."""
    with _opened(path, read_only=True) as store, text_writer(out) as file:
        for line in store.export():
            file.write(json.dumps(line, ensure_ascii=False) + "\n")


@command.command("import")
@click.argument("source", metavar="FILE")
@_store_option
def import_(source: str, path: str | None) -> None:
    """Import exported answers. Those in the store already are kept as they are."""
    failures = Failures()
    new = old = 0
    with reported(failures), Store(Path(path) if path else default_path()) as store:
        for line, is_new in parsed(read_lines(source), store.take):
            if isinstance(is_new, DataError):
                failures.add(line.place, str(is_new))
            else:
                new, old = new + is_new, old + (not is_new)
    say(f"{new:,} new, {old:,} known already", err=True)
    finish(failures.status)


@command.command("prune")
@_store_option
@click.option("--older-than", type=click.FloatRange(min=0), metavar="DAYS", help="Only answers of this age or more.")
@click.option("--model", help="Only answers of this model.")
@click.option("--unusable", is_flag=True, help="Only unusable answers.")
@click.option("--all", "everything", is_flag=True, help="All answers.")
def prune(path: str | None, older_than: float | None, model: str | None, unusable: bool, everything: bool) -> None:
    """Delete answers; the ledger of what was spent is kept."""
    if everything == bool(older_than is not None or model or unusable):
        raise click.UsageError("say which answers to delete: --older-than, --model and --unusable, or --all")
    with _opened(path) as store:
        before = time.time() - older_than * 86_400 if older_than is not None else None
        gone = store.prune(before=before, model=model, unusable=unusable)
    say(f"{number_of(gone, 'answer')} deleted", err=True)


@contextmanager
def _opened(path: str | None, *, read_only: bool = False) -> Iterator[Store]:
    with Store(Path(path) if path else default_path(), must_exist=True, read_only=read_only) as store:
        yield store


def _day(at: float) -> str:
    return time.strftime("%Y-%m-%d", time.gmtime(at))
