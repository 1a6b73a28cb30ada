"""Checks files, once or whenever they change, and reports what is found; explains codes."""

from __future__ import annotations

import difflib
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import click

from formulaseed import __version__
from formulaseed.cli.output import (
    benchmark_option,
    emit,
    process_files,
    reference_option,
    say,
    show,
    show_diagnostics,
    strict_option,
)
from formulaseed.data.files import replace_file
from formulaseed.diagnostics.codes import CODES, page
from formulaseed.diagnostics.model import Diagnostic, strictly
from formulaseed.diagnostics.render import aligned, render_github, render_json, summary
from formulaseed.documents import analyse_file
from formulaseed.pipeline import Analysis, fixed
from formulaseed.source.printing import number_of

_SECONDS_BETWEEN_LOOKS = 0.3
_LISTED_PLACES = 5


class _Output(NamedTuple):
    """What of the diagnostics is printed, and how."""

    form: str
    notes: bool
    errors_only: bool
    statistics: bool


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
@benchmark_option
@reference_option
@strict_option
def check(
    seeds: tuple[str, ...],
    fix: bool,
    diff: bool,
    watch: bool,
    benchmark: bool,
    reference: str | None,
    strict: bool,
    **how: Any,
) -> None:
    """Report every problem in seeds, or in files of requests or rules.

    Exit status 1 where there are errors; warnings alone are fine, unless --strict makes them errors. Notes always are.
    """
    output = _Output(**how)
    if output.form != "text" and (output.statistics or diff or watch):
        raise click.UsageError("--statistics, --diff and --watch are for people: pass them without --format")
    if diff and not fix:
        raise click.UsageError("--diff shows what --fix would change: pass both")
    if watch and (diff or "-" in seeds):
        raise click.UsageError("--watch is for files, and checks them: pass it without --diff and `-`")

    def check_all() -> int:
        found: list[Diagnostic] = []
        explained = set[str]()

        def check_one(seed: str) -> int:
            analysis = analyse_file(seed, reference, benchmark=benchmark)
            if diff:
                return _print_changes(analysis, fixed(analysis))
            analysis = _write_fixed(analysis, fixed(analysis)) if fix else analysis
            diagnostics = strictly(analysis.diagnostics) if strict else analysis.diagnostics
            found.extend(diagnostics)
            if output.form == "text" and not output.statistics:
                _print(seed, diagnostics, output, explained)
            return 1 if any(d.severity == "error" for d in diagnostics) else 0

        status = process_files(seeds, check_one)
        _print_together(found, output)
        return status

    if watch:
        _watch([*seeds, *([reference] if reference else [])], check_all)
    sys.exit(check_all())


def _shown(diagnostics: Sequence[Diagnostic], output: _Output) -> list[Diagnostic]:
    """Return what is listed: tools get notes too, and filter themselves."""
    if output.errors_only:
        return [d for d in diagnostics if d.severity == "error"]
    return [d for d in diagnostics if output.notes or output.form in ("json", "sarif") or d.severity != "note"]


def _print(seed: str, diagnostics: Sequence[Diagnostic], output: _Output, explained: set[str]) -> None:
    shown = _shown(diagnostics, output)
    show_diagnostics(shown, explained=explained)
    counted = (
        summary(shown if output.errors_only else diagnostics) or f"no {(output.errors_only and 'errors') or 'problems'}"
    )
    has_more = not output.errors_only and len(shown) < len(diagnostics)
    say(f"{seed}: {counted}{' (see --notes)' if has_more else ''}")


def _print_together(found: Sequence[Diagnostic], output: _Output) -> None:
    """Print what is about all files in one piece."""
    shown = _shown(found, output)
    if output.statistics:
        numbers = Counter(d.code for d in (shown if output.errors_only else found))
        rows = [(f"{n:,}", code, CODES[code].severity, CODES[code].name) for code, n in numbers.most_common()]
        show(aligned([("number", "code", "severity", "name"), *rows]) if rows else "no problems")
    elif output.form == "json":
        emit(render_json(shown))
    elif output.form == "github":
        emit(render_github(shown))
    elif output.form == "sarif":
        from formulaseed.diagnostics.sarif import render_sarif

        emit(render_sarif(shown, __version__))


def _write_fixed(analysis: Analysis[Any, Any], found: Analysis[Any, Any]) -> Analysis[Any, Any]:
    """Fix the file, if it is one; return the analysis of its text now. Reports what was fixed and what not on standard error."""
    path = analysis.document.path
    if path is None:
        return analysis
    if found is not analysis:
        replace_file(path, found.document.source.text)
    if analysis.has_errors:
        say(f"{path}: {number_of(found.fixed_count, 'error')} fixed{_without_fix(found)}", err=True)
    return found


def _print_changes(analysis: Analysis[Any, Any], found: Analysis[Any, Any]) -> int:
    """Print what a fix would change, and on standard error what has no fix; return the exit status."""
    name, pair = analysis.document.source.name, (analysis.document.source.text, found.document.source.text)
    before, after = [text.splitlines() for text in pair]
    lines = difflib.unified_diff(before, after, name, f"{name} (fixed)", lineterm="")
    if changes := "\n".join(lines):
        show(changes)
    said = f"{number_of(found.fixed_count, 'error')} can be fixed{_without_fix(found)}"
    say(f"{name}: {said if analysis.has_errors else 'there are no errors to fix'}", err=True)
    return 1 if found.has_errors or changes else 0


def _without_fix(found: Analysis[Any, Any]) -> str:
    """Return the end of a message: the errors that are left, none of which has a safe fix; empty if there is none."""
    places = [f"{d.code} at {d.line}:{d.column}" for d in found.diagnostics if d.severity == "error"]
    more = f" and {len(places) - _LISTED_PLACES} more" if len(places) > _LISTED_PLACES else ""
    return f"; no safe fix for {', '.join(places[:_LISTED_PLACES])}{more}" if places else ""


def _watch(files: Sequence[str], check_all: Callable[[], int]) -> NoReturn:
    """Check the files now, and whenever one of them has changed."""
    seen: list[tuple[int, int, int] | None] = []
    while True:
        found = [_stamp(Path(file)) for file in files]
        if found != seen:
            click.clear()
            check_all()
            sys.stdout.flush()
            seen = found
        time.sleep(_SECONDS_BETWEEN_LOOKS)


def _stamp(path: Path) -> tuple[int, int, int] | None:
    """Return what changes when a file is written or replaced; None while there is none."""
    try:
        found = path.stat()
    except (OSError, ValueError):
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


@click.command("rule")
@click.argument("code", required=False)
def rule(code: str | None) -> None:
    """Explain a diagnostic's code: what it means, an example, what to write instead; or list all codes."""
    from formulaseed.diagnostics.suggestions import did_you_mean

    if code is None:
        show(aligned([("code", "severity", "name"), *CODES.values()]))
        return
    by_name = {entry.name: entry.code for entry in CODES.values()}
    wanted = by_name.get(code.strip().lower(), code.strip().upper())
    if wanted not in CODES:
        raise click.UsageError(f"there is no code `{code}`; {did_you_mean(wanted, CODES, what='codes', limit=60)}")
    show(page(wanted), nl=False)
