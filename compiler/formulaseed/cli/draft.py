"""`formulaseed draft`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from formulaseed import limits
from formulaseed.cli.output import emit, say, show
from formulaseed.cli.seeds import replace_file
from formulaseed.data.files import holds, read_bytes
from formulaseed.diagnostics.render import render_text, summary
from formulaseed.draft.carriers import Carrier, Kept, Live, Replay
from formulaseed.draft.estimate import estimate
from formulaseed.draft.report import costs, report
from formulaseed.draft.session import Drafted, Session
from formulaseed.draft.task import Task, read_task
from formulaseed.draft.transcript import Settings, Transcript
from formulaseed.errors import DataError, FormulaSeedError
from formulaseed.llm.budget import Budget
from formulaseed.llm.calls import EFFORTS
from formulaseed.llm.client import must_be_ready
from formulaseed.llm.prices import Prices, read_prices
from formulaseed.loading import analyse_text
from formulaseed.source.text import Source
from formulaseed.wording import number_of

_INTERRUPTED = 130


@click.command("draft")
@click.argument("task", metavar="TASK.md")
@click.option("--out", help="Where to write the seed; seed.json beside the text by default, - for standard output.")
@click.option("--force", is_flag=True, help="Replace a seed that is there already.")
@click.option("--model", default="claude-sonnet-5-5", show_default=True, help="The model that drafts.")
@click.option("--effort", type=click.Choice(EFFORTS), default="medium", show_default=True, help="How hard it tries.")
@click.option("--max-repairs", type=click.IntRange(0, 20), default=3, show_default=True,
              help="Rounds in which the model mends what the compiler found.")  # fmt: skip
@click.option("--transcript", help="The folder for prompts and answers; TASK.transcript by default.")
@click.option("--resume", is_flag=True, help="Go on with the transcript, after the last answer that can be used.")
@click.option("--replay", help="Take the answers from this transcript: no network, the same bytes.")
@click.option("--dry-run", is_flag=True, help="Tell how many calls there are to make and what they may cost.")
@click.option("--max-usd", type=click.FloatRange(min=0, min_open=True), help="Stop before the calls can cost more.")
@click.option("--prices", help="A file of prices, in place of those that come with this version.")
def command(task: str, out: str | None, force: bool, **given: Any) -> None:
    """Draft a seed from a policy in words, by a model, in three steps; then compile it, and let the model repair it.

    What is left of the text, what was assumed and what is open is told at the end. Every answer is kept in the
    transcript as soon as it is there. Exit status 1, and the best draft as *.draft.json, where it ends with errors.
    """
    _refuse_what_clashes(given)
    if not (given["replay"] or given["dry_run"]):
        must_be_ready()
    text = _task(task)
    prices = read_prices(given["prices"])
    target = _target(task, out)
    kept, settings = _transcript(task, given)
    if given["dry_run"]:
        for line in estimate(text, settings, prices):
            say(line)
        return
    if given["max_usd"] is not None and settings.model not in prices.models:
        message = f"--max-usd needs a price, and there is none for {settings.model}; --prices FILE gives one"
        raise click.UsageError(message)
    if not given["replay"] and not force and target is not None and target.exists():
        raise click.UsageError(f"{target} is there already; --force replaces it, --out FILE writes elsewhere")
    live = Live(Budget(prices, given["max_usd"]), _report) if not given["replay"] else None
    inner: Carrier = live or Replay(Transcript(Path(given["replay"])))
    session = Session(text, Kept(inner, kept, settings) if kept else inner, settings, _report)
    try:
        drafted = session.run()
    except (FormulaSeedError, KeyboardInterrupt) as error:
        _report_of_stop(session, prices, kept)
        if isinstance(error, KeyboardInterrupt):
            sys.exit(_INTERRUPTED)
        raise
    finally:
        if live is not None:
            live.close()
    told = report(drafted, session.spent, prices)
    if kept is not None:
        kept.write_text("report.md", told)
    show(f"\n{told}", err=True)
    if drafted.checked.errors:
        _write_draft(drafted, target, kept)
        sys.exit(1)
    _write_seed(drafted.checked.text, target, force)


def _refuse_what_clashes(given: dict[str, Any]) -> None:
    """A replay takes everything from the transcript."""
    if given["replay"]:
        ctx = click.get_current_context()
        for name in ("model", "effort", "max_repairs", "resume", "dry_run", "max_usd"):
            if ctx.get_parameter_source(name) is not ParameterSource.DEFAULT:
                raise click.UsageError(f"--{name.replace('_', '-')} has no part in a replay")


def _task(task: str) -> Task:
    data, _ = read_bytes(task, limits.TASK_BYTES)
    try:
        return read_task(data)
    except DataError as error:
        raise error.at(task) from None


def _target(task: str, out: str | None) -> Path | None:
    """Where the seed goes; None for standard output."""
    if out == "-" or (out is None and task == "-"):
        return None
    return Path(out) if out is not None else Path(task).with_name("seed.json")


def _transcript(task: str, given: dict[str, Any]) -> tuple[Transcript | None, Settings]:
    """The folder to write into, if any, and what the session works with."""
    wanted = Settings(given["model"], given["effort"], given["max_repairs"])
    folder = given["transcript"]
    if given["replay"]:
        settings = Transcript(Path(given["replay"])).settings()
        if folder is None:
            return None, settings
        wanted = settings
    kept = Transcript(Path(folder) if folder else Path("task" if task == "-" else task).with_suffix(".transcript"))
    if given["resume"]:
        if not kept.holds_answers:
            raise click.UsageError(f"there is no answer in {kept.folder} to go on from")
        return kept, _resumed(kept.settings(), wanted)
    if kept.holds_answers and not given["dry_run"]:
        message = f"{kept.folder} holds a transcript; --resume goes on with it, --transcript DIR begins another one"
        raise click.UsageError(message)
    return kept, wanted


def _resumed(recorded: Settings, wanted: Settings) -> Settings:
    """The recorded settings, but for those that are given now."""
    source = click.get_current_context().get_parameter_source
    is_given = {name: source(name) is not ParameterSource.DEFAULT for name in ("model", "effort", "max_repairs")}
    return Settings(
        wanted.model if is_given["model"] else recorded.model,
        wanted.effort if is_given["effort"] else recorded.effort,
        wanted.max_repairs if is_given["max_repairs"] else recorded.max_repairs,
        recorded.note,
    )


def _report(text: str) -> None:
    say(text, err=True)


def _report_of_stop(session: Session, prices: Prices, kept: Transcript | None) -> None:
    for line in costs(session.spent, prices) if session.spent else ():
        _report(line)
    if kept is not None and kept.holds_answers:
        _report(f"what was answered is kept in {kept.folder}; --resume goes on from there")


def _write_draft(drafted: Drafted, target: Path | None, kept: Transcript | None) -> None:
    """Write what ended with errors where nobody takes it for a seed, and show them."""
    path = (
        target.with_name(f"{target.stem}.draft.json") if target else kept.folder / "seed.draft.json" if kept else None
    )
    name = path.as_posix() if path is not None else "<draft>"
    found = analyse_text(Source(name, drafted.checked.text)).diagnostics
    errors = [d for d in found if d.severity == "error"]
    if path is not None:
        replace_file(path, drafted.checked.text)
    if errors:
        show(render_text(errors), err=True)
    for fault in drafted.checked.faults:
        _report(f"error: {fault.part}: {fault.message}; {fault.help}")
    _report(f"{name}: {number_of(drafted.checked.errors, 'error')}; no seed is written")


def _write_seed(text: str, target: Path | None, force: bool) -> None:
    if target is None:
        emit(text)
        return
    if target.exists() and not force:
        if holds(target, text):
            say(f"{target}: as it was")
            return
        raise click.UsageError(f"{target} holds something else; --force replaces it, --out FILE writes elsewhere")
    replace_file(target, text)
    say(f"{target}: {summary(analyse_text(Source(target.as_posix(), text)).diagnostics) or 'no problems'}")
