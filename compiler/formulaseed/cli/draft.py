"""`formulaseed draft`."""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from formulaseed import limits
from formulaseed.cli.inputs import prices_for
from formulaseed.cli.output import INTERRUPTED, check_suffix, emit, say, show, show_diagnostics
from formulaseed.data.file_kinds import kind_of_text
from formulaseed.data.files import has_text, read_bytes, replace_file
from formulaseed.data.results import PARTIAL
from formulaseed.diagnostics.render import summary
from formulaseed.documents import analyse_text
from formulaseed.draft.report import costs, estimate, report
from formulaseed.draft.session import DraftResult, Session
from formulaseed.draft.task import read_task
from formulaseed.draft.transcript import LiveTransport, Settings, Transcript, recording, replaying
from formulaseed.errors import DataError, FormulaSeedError, UnreadableError
from formulaseed.llm.calls import EFFORTS
from formulaseed.llm.connecting import must_be_ready
from formulaseed.llm.limiter import CostBudget
from formulaseed.seed.read.sections import is_task_name
from formulaseed.source.printing import number_of
from formulaseed.source.text import Source


@click.command("draft")
@click.argument("task", metavar="TASK.md")
@click.option("--out", help="Where to write the seed; seed.json beside the text by default, - for standard output.")
@click.option("--force", is_flag=True, help="Replace a seed that is there already.")
@click.option("--model", default="claude-sonnet-5-5", show_default=True, help="The model that drafts.")
@click.option("--effort", type=click.Choice(EFFORTS), default="medium", show_default=True, help="The model's effort.")
@click.option("--max-repairs", type=click.IntRange(0, 20), default=3, show_default=True,
              help="The most rounds in which the model fixes what the compiler found.")  # fmt: skip
@click.option("--transcript", help="The folder for prompts and answers; TASK.transcript by default.")
@click.option("--resume", is_flag=True, help="Continue the transcript after its last usable answer.")
@click.option("--replay", help="Take the answers from this transcript: no network, the same bytes.")
@click.option(
    "--task-name", default="", help="The name of the task; by default that in the text's first heading, or the file's."
)
@click.option("--dry-run", is_flag=True, help="Print how many calls would be made and what they may cost.")
@click.option("--max-usd", type=click.FloatRange(min=0, min_open=True), help="Stop before the calls can cost more.")
@click.option("--prices", help="A file of prices, in place of those that come with this version.")
def draft(task: str, out: str | None, force: bool, **given: Any) -> None:
    """Draft a seed from a policy in words, by a model, in three steps; then compile it, and let the model repair it.

    A report at the end lists what of the text was not used, assumptions and open questions. Every answer is written to
    the transcript as soon as it comes. Exit status 3, and the best draft as *.draft.json, where it ends with errors.
    """
    for name in (*_SETTINGS, "resume", "dry_run", "max_usd") if given["replay"] else ():
        if _is_given(name):
            raise click.UsageError(f"--{name.replace('_', '-')} cannot be combined with --replay")
    check_suffix(out, ".json")
    if not (given["replay"] or given["dry_run"]):
        must_be_ready()
    data, _ = read_bytes(task, limits.TASK_BYTES)
    kind = kind_of_text(data.decode("utf-8", "replace"), task)
    if kind is not None and kind.name not in ("markdown", "text", "yaml"):  # a front matter looks like YAML
        raise UnreadableError(f"cannot read {task}: it is {kind.noun}, not a policy in words; {kind.help.format(task)}")
    try:
        text = read_task(data, _name_of_file(task))
    except DataError as error:
        raise error.at(task) from None
    replayed = Transcript(Path(given["replay"])) if given["replay"] else None
    if given["task_name"] and not is_task_name(given["task_name"]):
        raise click.UsageError("--task-name needs letters or digits, with spaces, -, _ and . between them")
    wanted = replayed.settings() if replayed else Settings(*(given[name] for name in _SETTINGS))
    kept, settings = _transcript(task, given, wanted)
    text = replace(text, name=settings.task_name or text.name)
    prices = prices_for(settings.model, given["prices"], None if given["dry_run"] else given["max_usd"])
    if given["dry_run"]:
        for line in estimate(text, settings, prices):
            say(line)
        return
    to_stdout = out == "-" or (out is None and task == "-")
    target = None if to_stdout else Path(out) if out is not None else Path(task).with_name("seed.json")
    if not replayed and not force and target is not None and target.exists():
        raise click.UsageError(f"{target} exists already; --force replaces it, --out FILE writes elsewhere")
    live = LiveTransport(CostBudget(prices, given["max_usd"]), _report)
    ask = replaying(replayed) if replayed else live.ask
    session = Session(text, recording(ask, kept, settings, _report) if kept else ask, settings, _report)
    if kept is not None:
        session.keep = kept.keep
    try:
        drafted = session.run()
    except (FormulaSeedError, KeyboardInterrupt) as error:
        billed = {**live.answered, **session.calls}  # also one that could not be written into the transcript
        for line in (*(costs(billed, prices) if billed else ()), *_broken(live)):
            _report(line)
        if kept is not None and kept.holds_answers:
            _report(f"the answers so far are kept in {kept.folder}; --resume continues from there")
        if isinstance(error, KeyboardInterrupt):
            sys.exit(getattr(error, "status", INTERRUPTED))
        raise
    finally:
        live.close()
    text_of_report = report(drafted, session.calls, prices)
    if kept is not None:
        replace_file(kept.folder / "report.md", text_of_report)
    show(f"\n{text_of_report}", err=True)
    for line in _broken(live):
        _report(line)
    if drafted.checked.errors:
        _write_draft(drafted, target, kept)
        sys.exit(PARTIAL)
    _write_seed(drafted.checked.text, target, force)


_SETTINGS = ("model", "effort", "max_repairs", "task_name")
_report = partial(say, err=True)


def _name_of_file(task: str) -> str:
    """The name of the file, or of its folder where it is called task.md, as a name of a task."""
    path = Path(task).absolute()
    name = path.parent.name if path.stem == "task" else path.stem
    return name if task != "-" and is_task_name(name) else "task"


def _broken(live: LiveTransport) -> list[str]:
    what = number_of(live.broken, "attempt")
    return [f"{what} ended without an answer: whether the API charges for that is unknown"] if live.broken else []


def _is_given(name: str) -> bool:
    return click.get_current_context().get_parameter_source(name) is not ParameterSource.DEFAULT


def _transcript(task: str, given: dict[str, Any], wanted: Settings) -> tuple[Transcript | None, Settings]:
    """The folder to write into, if any, and what the session works with: when it is resumed, as it was recorded."""
    folder = given["transcript"]
    if given["replay"] and folder is None:
        return None, wanted
    kept = Transcript(Path(folder) if folder else Path("task" if task == "-" else task).with_suffix(".transcript"))
    if given["resume"]:
        if not kept.holds_answers:
            raise click.UsageError(f"there is no answer in {kept.folder} to continue from")
        try:
            started = kept.settings()
        except DataError as error:
            _report(f"{error}; the options of this command are used instead")
            return kept, wanted
        return kept, replace(started, **{name: given[name] for name in _SETTINGS if _is_given(name)})
    if kept.holds_answers and not given["dry_run"]:
        message = f"{kept.folder} holds a transcript; --resume continues it, --transcript DIR begins another one"
        raise click.UsageError(message)
    return kept, wanted


def _write_draft(drafted: DraftResult, target: Path | None, kept: Transcript | None) -> None:
    """Write a draft with errors where it cannot be taken for a seed, and show the errors."""
    path = kept.folder / "seed.draft.json" if kept else None
    if target:
        path = target.with_name(f"{target.stem}.draft.json")
    name = path.as_posix() if path is not None else "<draft>"
    found = analyse_text(Source(name, drafted.checked.text)).diagnostics
    errors = [d for d in found if d.severity == "error"]
    if path is not None:
        replace_file(path, drafted.checked.text)
    show_diagnostics(errors, err=True)
    for fault in drafted.checked.faults:
        _report(f"error: {fault['part']}: {fault['message']}; {fault['help']}")
    _report(f"{name}: {number_of(drafted.checked.errors, 'error')}; no seed is written")


def _write_seed(text: str, target: Path | None, force: bool) -> None:
    if target is None:
        emit(text)
        return
    if target.exists() and not force:
        if has_text(target, text):
            say(f"{target}: unchanged")
            return
        raise click.UsageError(f"{target} holds something else; --force replaces it, --out FILE writes elsewhere")
    replace_file(target, text)
    say(f"{target}: {summary(analyse_text(Source(target.as_posix(), text)).diagnostics) or 'no problems'}")
