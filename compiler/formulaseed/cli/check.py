"""Define the commands `check`, which reports the problems of files, and `rule`, which explains the codes of problems."""

from __future__ import annotations

import difflib
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import click

from formulaseed import __version__
from formulaseed.cli.options import benchmark_option, reference_option, refuse, strict_option
from formulaseed.cli.output import emit, process_files, say, show, show_diagnostics
from formulaseed.data.files import replace_file
from formulaseed.diagnostics.codes import CODES, read_page
from formulaseed.diagnostics.model import Diagnostic, promote_warnings
from formulaseed.diagnostics.render import format_table, render_github, render_json, summarize
from formulaseed.diagnostics.suggestions import did_you_mean
from formulaseed.documents import analyse_file
from formulaseed.pipeline import Analysis, fixed
from formulaseed.source.printing import number_of

_SECONDS_BETWEEN_LOOKS = 0.3
_MAX_LISTED_PLACES = 5


@click.command("check")
@click.argument("seeds", nargs=-1, required=True, metavar="SEED|REQUESTS|RULES...")
@click.option("--format", "--output-format", "form", type=click.Choice(["text", "json", "sarif", "github"]),
              default="text", help="How to print diagnostics; github: as annotations of a workflow.")  # fmt: skip
@click.option("--notes", is_flag=True, help="Show notes too: what could be tidier. JSON and SARIF always have them.")
@click.option("--errors-only", is_flag=True, help="Print errors alone.")
@click.option("--statistics", is_flag=True, help="Print how often each code occurs, in place of the diagnostics.")
@click.option("--fix", is_flag=True, help="Apply the fixes that cannot change a file's meaning.")
@click.option("--diff", is_flag=True, help="With --fix: write nothing, print the changes; exit 1 where there are any.")
@click.option("--watch", is_flag=True, help="Check again whenever a file changes, until Ctrl-C.")
@click.option("--policy", metavar="TASK.md", help="Compare a seed with the policy that its `sources` quote.")
@click.option(
    "--baseline", metavar="FILE", help="With --policy: the known gaps, by default those of policy.json beside it."
)
@benchmark_option
@reference_option
@strict_option
def check(seeds: tuple[str, ...], watch: bool, **options: Any) -> None:
    """Report every problem in seeds, or in files of requests or rules.

    Exit status 1 where there are errors; warnings alone are fine, unless --strict makes them errors. Notes always are.
    With --policy also 1 where the seed and its policy differ, unless that is a known gap.
    """
    checking = _Check(seeds, **options)
    is_for_people = checking.statistics or checking.diff or watch
    refuse(
        (is_for_people and checking.form != "text",
         "--statistics, --diff and --watch are for people: pass them without --format"),
        (checking.diff and not checking.fix, "--diff shows what --fix would change: pass both"),
        (checking.policy and (len(seeds) != 1 or checking.fix),
         "--policy compares one seed with one policy: pass one file, without --fix"),
        (checking.baseline and not checking.policy,
         "--baseline lists the known gaps between a seed and its policy: pass --policy too"),
        (watch and (checking.diff or "-" in seeds),
         "--watch is for files, and checks them: pass it without --diff and `-`"),
    )  # fmt: skip
    if watch:
        _watch([*seeds, *filter(None, (checking.reference, checking.policy, checking.baseline))], checking.run)
    sys.exit(checking.run())


@dataclass
class _Check:
    """The work of one `check` command: its files and options, and the diagnostics of the files checked so far."""

    files: tuple[str, ...]
    form: str
    notes: bool
    errors_only: bool
    statistics: bool
    fix: bool
    diff: bool
    benchmark: bool
    reference: str | None
    strict: bool
    policy: str | None
    baseline: str | None

    def run(self) -> int:
        """Check all files, print their problems, and return the highest exit status of a file.

        Resets `self.diagnostics`, and `self.explained`, the codes whose explanation has been printed. A file that
        cannot be read is reported on standard error; the next file is checked.
        """
        self.diagnostics: list[Diagnostic] = []
        self.explained = set[str]()  # codes whose explanation has been printed
        status = process_files(self.files, self._check_file)
        self._print_all()
        return status

    def _check_file(self, file: str) -> int:
        """Check a file, with --fix after fixing it, print its problems, and return its exit status.

        The status is 1 if the file has errors or differs from its policy, with --strict also if it has warnings. Adds
        the diagnostics to `self.diagnostics`; prints them now only in the format for people. With --diff only prints
        the changes that fixes would make. Raises `UnreadableError` if the file cannot be opened or written.
        """
        analysis = analyse_file(file, self.reference, benchmark=self.benchmark)
        if self.diff:
            return _print_changes(analysis, fixed(analysis))
        if self.fix:
            analysis = _write_fixed(analysis, fixed(analysis))
        differences = self._compare_with_policy(analysis)
        diagnostics = (*analysis.diagnostics, *differences)
        if self.strict:
            diagnostics = promote_warnings(diagnostics)
        self.diagnostics.extend(diagnostics)
        if self.form == "text" and not self.statistics:
            self._print_file(file, diagnostics)
        return 1 if differences or any(d.severity == "error" for d in diagnostics) else 0

    def _compare_with_policy(self, analysis: Analysis[Any, Any]) -> tuple[Diagnostic, ...]:
        """Return the differences between a seed and its policy that are not known; none without --policy or after errors.

        The known gaps that are closed are printed on standard error. Raises as `compare_with_policy` does.
        """
        if self.policy is None or analysis.has_errors:
            return ()
        from formulaseed.cli.policy import compare_with_policy

        comparison = compare_with_policy(analysis, self.policy, self.baseline)
        for gap in comparison.closed_gaps:
            say(f"closed, to be removed from `gaps`: {gap}", err=True)
        return comparison.diagnostics

    def _select(self, diagnostics: Sequence[Diagnostic]) -> list[Diagnostic]:
        """Return the diagnostics to print: only errors with --errors-only, otherwise all; notes only with --notes.

        JSON and SARIF have the notes without --notes, as tools filter for themselves.
        """
        if self.errors_only:
            return [d for d in diagnostics if d.severity == "error"]
        return [d for d in diagnostics if self.notes or self.form in ("json", "sarif") or d.severity != "note"]

    def _print_file(self, file: str, diagnostics: Sequence[Diagnostic]) -> None:
        """Print the diagnostics of one file for people, and a line with their numbers."""
        selected = self._select(diagnostics)
        show_diagnostics(selected, explained=self.explained)
        if self.errors_only:
            say(f"{file}: {summarize(selected) or 'no errors'}")
            return
        line = f"{file}: {summarize(diagnostics) or 'no problems'}"
        if len(selected) < len(diagnostics):
            line += " (see --notes)"
        say(line)

    def _print_all(self) -> None:
        """Print the statistics, or the diagnostics of all files in a format for tools.

        Without --statistics the format for people prints nothing here: `_print_file` has printed it already.
        """
        selected = self._select(self.diagnostics)
        if self.statistics:
            numbers = Counter(d.code for d in (selected if self.errors_only else self.diagnostics))
            rows = [(f"{n:,}", code, CODES[code].severity, CODES[code].name) for code, n in numbers.most_common()]
            show(format_table([("number", "code", "severity", "name"), *rows]) if rows else "no problems")
        elif self.form == "json":
            emit(render_json(selected))
        elif self.form == "github":
            emit(render_github(selected))
        elif self.form == "sarif":
            from formulaseed.diagnostics.sarif import render_sarif

            emit(render_sarif(selected, __version__))


def _write_fixed(analysis: Analysis[Any, Any], after: Analysis[Any, Any]) -> Analysis[Any, Any]:
    """Write the fixed text to the document's file, and return `after`, the analysis of that text.

    If `after` is `analysis` itself, nothing was fixed and nothing is written. Without a file nothing is written and
    `analysis` is returned. If `analysis` has errors, the numbers of fixed and remaining errors are printed on standard
    error. Raises `UnreadableError` if the file cannot be written.
    """
    path = analysis.document.path
    if path is None:
        return analysis
    if after is not analysis:
        replace_file(path, after.document.source.text)
    if analysis.has_errors:
        say(f"{path}: {number_of(after.fixed_count, 'error')} fixed{_describe_rest(after)}", err=True)
    return after


def _print_changes(analysis: Analysis[Any, Any], after: Analysis[Any, Any]) -> int:
    """Print the changes from `analysis` to the fixed text `after` as a diff; write no file.

    The numbers of fixed and remaining errors are reported on standard error. Returns the exit status: 1 if there are changes
    or remaining errors.
    """
    name = analysis.document.source.name
    old_lines = analysis.document.source.text.splitlines()
    new_lines = after.document.source.text.splitlines()
    changes = "\n".join(difflib.unified_diff(old_lines, new_lines, name, f"{name} (fixed)", lineterm=""))
    if changes:
        show(changes)
    if analysis.has_errors:
        say(f"{name}: {number_of(after.fixed_count, 'error')} can be fixed{_describe_rest(after)}", err=True)
    else:
        say(f"{name}: there are no errors to fix", err=True)
    return 1 if after.has_errors or changes else 0


def _describe_rest(after: Analysis[Any, Any]) -> str:
    """Return the end of a message: the first places of errors that remain, as they have no safe fix.

    Returns an empty string without errors.
    """
    places = [f"{d.code} at {d.line}:{d.column}" for d in after.diagnostics if d.severity == "error"]
    if not places:
        return ""
    text = f"; no safe fix for {', '.join(places[:_MAX_LISTED_PLACES])}"
    if len(places) > _MAX_LISTED_PLACES:
        text += f" and {len(places) - _MAX_LISTED_PLACES} more"
    return text


def _watch(files: Sequence[str], check_all: Callable[[], int]) -> NoReturn:
    """Clear the screen and call `check_all`, now and whenever one of the files has changed, until interrupted.

    Looks at the files at regular intervals; a file that appears or disappears has changed, too.
    """
    last: list[tuple[int, int, int] | None] = []
    while True:
        stamps = [_read_stamp(Path(file)) for file in files]
        if stamps != last:
            click.clear()
            check_all()
            sys.stdout.flush()
            last = stamps
        time.sleep(_SECONDS_BETWEEN_LOOKS)


def _read_stamp(path: Path) -> tuple[int, int, int] | None:
    """Return the inode, size and time of a file, which change when it is written or replaced.

    Returns None if the file cannot be found or looked at.
    """
    try:
        status = path.stat()
    except (OSError, ValueError):
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns


@click.command("rule")
@click.argument("code", required=False)
def rule(code: str | None) -> None:
    """Explain a diagnostic's code: what it means, an example, what to write instead; or list all codes."""
    if code is None:
        show(format_table([("code", "severity", "name"), *CODES.values()]))
        return
    by_name = {entry.name: entry.code for entry in CODES.values()}
    key = by_name.get(code.strip().lower(), code.strip().upper())
    if key not in CODES:
        raise click.UsageError(f"there is no code `{code}`; {did_you_mean(key, CODES, noun='codes', limit=60)}")
    show(read_page(key), nl=False)
