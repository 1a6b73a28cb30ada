"""Define the command `draft`, with which a model drafts a seed from a policy in words."""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import click

from formulaseed import limits
from formulaseed.cli.inputs import prices_for
from formulaseed.cli.options import check_suffix, flag_of, is_set
from formulaseed.cli.output import INTERRUPTED, emit, say, show, show_diagnostics
from formulaseed.data.file_kinds import kind_of_text
from formulaseed.data.files import has_text, read_bytes, replace_file
from formulaseed.data.results import PARTIAL
from formulaseed.diagnostics.render import summarize
from formulaseed.documents import analyse_text
from formulaseed.draft.report import estimate, list_costs, write_report
from formulaseed.draft.session import DraftResult, DraftSession
from formulaseed.draft.transcript import LiveTransport, Settings, Transcript, record_answers, replay_answers
from formulaseed.errors import DataError, FormulaSeedError, UnreadableError
from formulaseed.llm.calls import EFFORTS
from formulaseed.llm.connecting import check_ready
from formulaseed.llm.limiter import CostBudget, Prices
from formulaseed.seed.read.sections import is_task_name
from formulaseed.seed.task_text import Task, read_task
from formulaseed.source.printing import number_of
from formulaseed.source.text import Source

_SETTINGS = ("model", "effort", "max_repairs", "task_name")
"""The options that are the fields of `Settings`, in their order."""
_report = partial(say, err=True)


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
def draft(task: str, out: str | None, force: bool, **options: Any) -> None:
    """Draft a seed from a policy in words, by a model, in three steps; then compile it, and let the model repair it.

    A report at the end lists what of the text was not used, assumptions and open questions. Every answer is written to
    the transcript as soon as it comes. Exit status 3, and the best draft as *.draft.json, where it ends with errors.
    """
    if options["replay"]:
        _check_replay_options()
    check_suffix(out, ".json")
    if not (options["replay"] or options["dry_run"]):
        check_ready()
    policy = _read_policy(task)
    replayed = Transcript(Path(options["replay"])) if options["replay"] else None
    if options["task_name"] and not is_task_name(options["task_name"]):
        raise click.UsageError("--task-name needs letters or digits, with spaces, -, _ and . between them")
    settings = replayed.settings() if replayed else Settings(*(options[name] for name in _SETTINGS))
    transcript, settings = _choose_transcript(task, options, settings)
    policy = replace(policy, name=settings.task_name or policy.name)
    prices = prices_for(settings.model, options["prices"], None if options["dry_run"] else options["max_usd"])
    if options["dry_run"]:
        for line in estimate(policy, settings, prices):
            say(line)
        return
    target = _choose_target(task, out, may_exist=force or replayed is not None)
    live = LiveTransport(CostBudget(prices, options["max_usd"]), _report)
    ask = replay_answers(replayed) if replayed else live.ask
    if transcript is None:
        session = DraftSession(policy, ask, settings, _report)
    else:
        session = DraftSession(policy, record_answers(ask, transcript, settings, _report), settings, _report)
        session.keep = transcript.keep
    drafted = _run_session(session, live, transcript, prices)
    report_text = write_report(drafted, session.calls, prices)
    if transcript is not None:
        replace_file(transcript.folder / "report.md", report_text)
    show(f"\n{report_text}", err=True)
    _report_broken(live)
    if drafted.checked.errors:
        _write_draft(drafted, target, transcript)
        sys.exit(PARTIAL)
    _write_seed(drafted.checked.text, target, force)


def _check_replay_options() -> None:
    """Raise `UsageError` for an option that a replayed transcript decides or that only a live run needs."""
    for name in (*_SETTINGS, "resume", "dry_run", "max_usd"):
        if is_set(name):
            raise click.UsageError(f"{flag_of(name)} cannot be combined with --replay")


def _read_policy(task: str) -> Task:
    """Read the policy in words from the file `task`; `-` is standard input.

    Raises `UnreadableError` if the file cannot be opened or is of another kind, `DataError` if its text cannot be used.
    """
    data, _ = read_bytes(task, limits.TASK_BYTES)
    kind = kind_of_text(data.decode("utf-8", "replace"), task)
    if kind is not None and kind.name not in ("markdown", "text", "yaml"):  # front matter looks like YAML
        raise UnreadableError(f"cannot read {task}: it is {kind.noun}, not a policy in words; {kind.help.format(task)}")
    try:
        return read_task(data, _choose_task_name(task))
    except DataError as error:
        raise error.at(task) from None


def _choose_task_name(task: str) -> str:
    """Return the stem of the file, or its folder's name if the stem is "task"; "task" if that is no valid task name."""
    path = Path(task).absolute()
    name = path.parent.name if path.stem == "task" else path.stem
    return name if task != "-" and is_task_name(name) else "task"


def _choose_target(task: str, out: str | None, *, may_exist: bool) -> Path | None:
    """Return the file to write the seed to: `out`, else seed.json in the folder of the task; None for standard output.

    Raises `UsageError` if the file exists and `may_exist` is false.
    """
    if out == "-" or (out is None and task == "-"):
        return None
    target = Path(out) if out is not None else Path(task).with_name("seed.json")
    if not may_exist and target.exists():
        raise click.UsageError(f"{target} exists already; --force replaces it, --out FILE writes elsewhere")
    return target


def _choose_transcript(task: str, options: dict[str, Any], settings: Settings) -> tuple[Transcript | None, Settings]:
    """Return the transcript to write, or None for a mere replay, and the settings of the session.

    The settings are `settings`, or with --resume the recorded ones, changed by the options that the user passed. If the
    recorded ones cannot be read, that is reported, and `settings` is used. Raises `UsageError` if there is nothing to
    resume, or if a transcript exists already without --resume.
    """
    folder = options["transcript"]
    if options["replay"] and folder is None:
        return None, settings
    if not folder:
        folder = Path("task" if task == "-" else task).with_suffix(".transcript")
    transcript = Transcript(Path(folder))
    if options["resume"]:
        if not transcript.holds_answers:
            raise click.UsageError(f"there is no answer in {transcript.folder} to continue from")
        try:
            recorded = transcript.settings()
        except DataError as error:
            _report(f"{error}; the options of this command are used instead")
            return transcript, settings
        return transcript, replace(recorded, **{name: options[name] for name in _SETTINGS if is_set(name)})
    if transcript.holds_answers and not options["dry_run"]:
        raise click.UsageError(
            f"{transcript.folder} holds a transcript; --resume continues it, --transcript DIR begins another one"
        )
    return transcript, settings


def _run_session(
    session: DraftSession, live: LiveTransport, transcript: Transcript | None, prices: Prices
) -> DraftResult:
    """Run a session to its end and close the transport `live`.

    If the session fails or is interrupted, the costs and the place of the transcript are reported first. Then an
    interruption ends the command, and an error is raised again.
    """
    try:
        return session.run()
    except (FormulaSeedError, KeyboardInterrupt) as error:
        # An answer of `live` was paid for even if it could not be written into the transcript.
        billed = {**live.answered, **session.calls}
        if billed:
            for line in list_costs(billed, prices):
                _report(line)
        _report_broken(live)
        if transcript is not None and transcript.holds_answers:
            _report(f"the answers so far are kept in {transcript.folder}; --resume continues from there")
        if isinstance(error, KeyboardInterrupt):
            sys.exit(getattr(error, "status", INTERRUPTED))
        raise
    finally:
        live.close()


def _report_broken(live: LiveTransport) -> None:
    """Report on standard error how many attempts of calls ended without an answer, if any did."""
    if live.broken:
        attempts = number_of(live.broken, "attempt")
        _report(f"{attempts} ended without an answer: whether the API charges for that is unknown")


def _write_draft(drafted: DraftResult, target: Path | None, transcript: Transcript | None) -> None:
    """Write a draft with errors to *.draft.json, not to the file of the seed, and report its errors.

    It is written beside `target`, else into the folder of the transcript; without either, it is not written.
    """
    path = None
    if target is not None:
        path = target.with_name(f"{target.stem}.draft.json")
    elif transcript is not None:
        path = transcript.folder / "seed.draft.json"
    name = path.as_posix() if path is not None else "<draft>"
    diagnostics = analyse_text(Source(name, drafted.checked.text)).diagnostics
    if path is not None:
        replace_file(path, drafted.checked.text)
    show_diagnostics([d for d in diagnostics if d.severity == "error"], err=True)
    for fault in drafted.checked.faults:
        _report(f"error: {fault['part']}: {fault['message']}; {fault['help']}")
    _report(f"{name}: {number_of(drafted.checked.errors, 'error')}; no seed is written")


def _write_seed(text: str, target: Path | None, force: bool) -> None:
    """Write the seed to the file `target`, or to standard output if that is None; report its warnings.

    Raises `UsageError` if the file exists with another text and `force` is false.
    """
    if target is None:
        emit(text)
        return
    if target.exists() and not force:  # only after a replay, or if the file was written meanwhile
        if has_text(target, text):
            say(f"{target}: unchanged")
            return
        raise click.UsageError(f"{target} holds something else; --force replaces it, --out FILE writes elsewhere")
    replace_file(target, text)
    say(f"{target}: {summarize(analyse_text(Source(target.as_posix(), text)).diagnostics) or 'no problems'}")
