"""Output for people holds no character that a terminal acts on, whatever files and arguments are called."""

from __future__ import annotations

import ast
import io
import json
import os
from collections.abc import Iterator
from contextlib import redirect_stderr
from functools import partial
from pathlib import Path
from unittest.mock import Mock

import pytest
from asking import restaurant
from formulaseed.cli import output, validate
from formulaseed.cli.main import _COMMANDS
from helpers import (
    EXAMPLES,
    ROOT,
    command,
    formulaseed,
    read_lines,
    tiny_row,
    tiny_rows,
    tiny_seed,
    write_json,
    write_lines,
)

EVIL = "a\x1b[31m\x9b1m\r\x08\x7f\u202e\u2066\u200b\u2028\nfaked: b"
"""An escape sequence in both spellings, a carriage return, a backspace, marks of the writing direction, a line break."""


def is_tame(text: str) -> bool:
    """Whether a terminal shows the text as it is, and no line of it begins where a name says so."""
    return all(c.isprintable() or c in "\n\t" for c in text) and not any(
        line.lstrip().startswith("faked") for line in text.split("\n")
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files of every kind, all with evil names and contents."""
    folder = tmp_path_factory.mktemp("terminal")
    write_json(folder / f"good{EVIL}.json", tiny_seed())
    write_json(folder / f"warned{EVIL}.json", tiny_seed(output=["N_GOOD"]))
    count = {"name": EVIL, "op": "count", "where": {f"extraction.{EVIL}": EVIL}}
    bad = [count, {EVIL: EVIL}, {"name": "A", "op": EVIL}]
    write_json(folder / f"bad{EVIL}.json", tiny_seed(compute=bad, output=[EVIL]))
    write_json(folder / f"older{EVIL}.json", {"task_name": "Old", "compute_dag": [{"name": "n", "formula": EVIL}]})
    (folder / f"text{EVIL}.json").write_text(EVIL)
    (folder / f"folder{EVIL}").mkdir()
    session = {"model": EVIL, "effort": "low", "max_repairs": 0, "note": EVIL}
    write_json(folder / f"folder{EVIL}" / "session.json", session)
    write_json(folder / f"folder{EVIL}" / "01-conditions.json", {EVIL: EVIL, "step": EVIL})
    lone = {**tiny_rows(EVIL, tiny_row(EVIL, EVIL)), "context": {"name": EVIL, "is_open": 1}}
    none = {**tiny_rows(f"{EVIL}2"), "context": {"name": EVIL, "is_open": 1}}
    write_lines(folder / f"rows{EVIL}.jsonl", lone, none, {EVIL: 1}, EVIL, EVIL.encode())
    evil = {**restaurant(EVIL, "soup"), "business": {"name": EVIL, "is_open": EVIL}}
    reviews = [{"review_id": EVIL, "text": 1}]
    write_lines(folder / f"contexts{EVIL}.jsonl", evil, {**evil, "reviews": reviews}, {EVIL: 1})
    extraction = {"business_id": EVIL, "review_id": EVIL, "fields": {EVIL: EVIL}}
    write_lines(folder / f"extractions{EVIL}.jsonl", extraction, EVIL)
    first, second, *_ = read_lines(EXAMPLES / "requests.jsonl")
    valid = {**first, "scenario": EVIL, "gold_restaurant": EVIL, "text": EVIL}
    write_lines(folder / f"requests{EVIL}.jsonl", valid)
    write_lines(folder / f"unsound{EVIL}.jsonl", valid, {**second, "shorthand": EVIL, EVIL: EVIL})
    write_json(folder / f"rules{EVIL}.json", {"reference": EVIL, "rules": [{"name": EVIL, "formula": EVIL}]})
    entity = {"fields": [{"name": EVIL, "type": EVIL}]}
    write_json(folder / f"schema{EVIL}.json", {EVIL: EVIL, "entities": {EVIL: entity}})
    write_json(folder / f"prices{EVIL}.json", {EVIL: EVIL})
    return folder


def every_command() -> Iterator[tuple[str, ...]]:
    """Command lines, `{x}` being the evil file that begins so, and `!` an evil argument."""
    for verb in _COMMANDS:
        yield (verb, "!")
        yield (verb, "--!", "x")
        yield (verb, "--format", "!", "x")
    yield from (
        ("!",), ("--!",), ("--version=!",),
        *((verb, name) for verb in ("check", "compile", "fmt", "dump", "migrate") for name in FILES),
        *(("shorthand", option, name) for option in ("--check", "--print") for name in FILES),
        ("check", "--fix", "{bad}"), ("check", "--strict", "{warned}"), ("check", "{rules}", "--reference", "{schema}"),
        ("compile", "{good}", "--out", "{folder}"), ("compile", "{good}", "--out", "{folder}"),
        ("compile", "{good}", "{warned}", "--out", "{folder}"), ("compile", "{good}", "--out", "{good}"),
        ("compile", "{good}", "--check", "--out", "!"), ("compile", "{good}", "--target", "!"),
        ("evaluate", "{warned}", "--rows", "{rows}", "--out", "results"), ("evaluate", "{good}", "--rows", "!"),
        ("evaluate", "{good}", "--rows", "{rows}", "--param", "!"),
        ("evaluate", "{good}", "--rows", "{rows}", "--param", "!=1"),
        ("evaluate", "{good}", "--rows", "{rows}", "--param", "LEAST=!"),
        ("evaluate", "{good}", "--rows", "!", "--out", "{folder}"),
        ("run", "{good}", "--contexts", "{contexts}", "--out", "results"),
        ("run", "{good}", "--contexts", "{contexts}", "--out", "results", "--extractor", "recorded",
         "--extractions", "{extractions}"),
        ("evaluate", "{good}", "--rows", "{rows}", "--format", "table"),
        ("evaluate", "{good}", "--rows", "{rows}", "--sort", "!"),
        ("run", "{good}", "--contexts", "{contexts}", "--format", "table", "--rows-out", "rows"),
        ("extract", "{good}", "--contexts", "{contexts}", "--out", "rows", "--with-text"),
        ("extract", "{good}", "--contexts", "!"), ("extract", "{good}", "--contexts", "!", "--out", "{folder}"),
        ("run", "{good}", "--contexts", "!"), ("run", "{good}", "--extractor", "!"), ("run", "{good}", "--limit", "!"),
        ("run", "{good}", "--contexts", "{contexts}", "--extractor", "anthropic", "--dry-run", "--model", "!",
         "--store", "!"),
        ("run", "{good}", "--contexts", "{contexts}", "--extractor", "anthropic", "--prices", "{prices}"),
        ("run", "{good}", "--contexts", "{contexts}", "--extractor", "anthropic", "--max-usd", "1", "--model", "!"),
        ("draft", "{text}", "--dry-run", "--model", "!"), ("draft", "{text}", "--replay", "{folder}"),
        ("draft", "{text}", "--replay", "!"), ("draft", "{text}", "--resume", "--transcript", "!"),
        ("draft", "{text}", "--transcript", "{folder}"), ("draft", "{text}", "--out", "{good}"),
        *(("store", verb, "--store", name) for verb in ("info", "export") for name in ("!", "{text}", "{folder}")),
        ("store", "import", "!"), ("store", "import", "{rows}", "--store", "answers"), ("store", "prune", "--!"),
        *(("validate", name, "--restaurants", "{contexts}") for name in ("{requests}", "{unsound}", "{text}")),
        ("validate", "{requests}", "--restaurants", "!"),
        ("validate", "{requests}", "--restaurants", "{contexts}", "--group", "!"),
        ("validate", "{requests}", "--restaurants", "{contexts}", "--explain", "!"),
        ("validate", "{requests}", "--restaurants", "{contexts}", "--explain", "R01", "--explain", "R1"),
        ("agreement", "{good}", "--contexts", "{contexts}", "--extractions", "{extractions}"),
        ("formula", "--file", "{rules}"), ("formula", "1 + !"), ("formula", "a", "--vars", '{"!": 1}'),
        ("formula", "a", "--vars", "@!"), ("formula", "a", "--reference", "{schema}"), ("formula", "!.!"),
        ("reference", "--schema", "{schema}"), ("reference", "--out", "{text}"), ("reference", "--database", "!"),
        ("reference", "--schema", "{schema}", "--database", "sqlite:///!"), ("reference", "{good}", "--out", "new!"),
        ("reference", "{good}", "--out", "new!", "--check"), ("reference", "--format", "markdown", "--out", "md!"),
        ("schema", "--out", "{folder}"), ("schema", "--out", "schema!"), ("schema", "--check", "{text}"),
        ("migrate", "{older}", "--out", "!"), ("shorthand", "--template", "!"), ("shorthand", "AND(!, b)"),
        ("shorthand", "1HOP(['!'], 'x')"), ("dump", "{good}", "--after", "read"), ("dump", "{bad}", "--after", "read"),
    )  # fmt: skip


FILES = [
    "{good}",
    "{warned}",
    "{bad}",
    "{older}",
    "{text}",
    "{folder}",
    "{rules}",
    "{schema}",
    "{requests}",
    "{unsound}",
]


@pytest.mark.parametrize("arguments", dict.fromkeys(every_command()), ids=" ".join)
@pytest.mark.thorough
def test_nothing_that_is_printed_for_people_reaches_the_terminal_as_an_order(
    folder: Path, arguments: tuple[str, ...]
) -> None:
    """Whether a command works or not: file names, arguments and what files hold are shown with escapes."""
    files = {path.name.split("a\x1b")[0]: path.name for path in folder.iterdir()}
    line = [argument.replace("!", EVIL) for argument in arguments]
    for name, file in files.items():
        line = [argument.replace(f"{{{name}}}", file) for argument in line]
    done = command(*line, cwd=folder, env={"ANTHROPIC_API_KEY": "never used"})
    assert is_tame(done.err), repr(done.err)
    is_machine_output = arguments[0] in ("migrate", "reference") or arguments[:2] == ("store", "export")
    assert is_tame(done.out) or is_machine_output, repr(done.out)
    assert done.status in (0, 1, 2, 3)


def test_names_that_are_no_unicode_are_shown_and_written_as_escapes(tmp_path: Path) -> None:
    """On people's output, and in JSON, which has an escape for half a character; nothing ends in a traceback."""
    name = os.fsdecode(b"caf\xe9.json")
    write_json(tmp_path / name, tiny_seed(output=["NONE"]))
    reported = formulaseed("check", name, cwd=tmp_path)
    assert (reported.status, reported.out.count(r"caf\udce9.json")) == (1, 3)
    listed = json.loads(formulaseed("check", name, "--format", "json", cwd=tmp_path).out)
    assert {one["file"] for one in listed} == {name}
    assert formulaseed("check", name, "--format", "sarif", cwd=tmp_path).status == 1
    write_json(tmp_path / name, tiny_seed())
    compiled = formulaseed("compile", name, "--out", name + ".d", cwd=tmp_path)
    assert (compiled.status, compiled.out) == (0, "caf\\udce9.json.d/tiny_1.py\n")


def test_wrong_usage_is_laid_out_as_click_does(tmp_path: Path) -> None:
    """The usage, where to find help, what is wrong; help itself where nothing is asked for."""
    done = formulaseed("rule", "a\x1bb\nc", cwd=tmp_path)
    usage = "Usage: formulaseed rule [OPTIONS] [CODE]\nTry 'formulaseed rule --help' for help.\n\n"
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith(usage + r"Error: there is no code `a\x1bb\nc`; codes: ")
    for arguments, status in (((), 2), (("--help",), 0), (("check", "--help"), 0)):
        done = formulaseed(*arguments, cwd=tmp_path)
        assert (done.status, (done.out + done.err).startswith("Usage: formulaseed ")) == (status, True)


@pytest.mark.parametrize(
    ("error", "debug", "status", "message"),
    [
        (KeyboardInterrupt(), "", 130, "interrupted"),
        (ZeroDivisionError("a bug"), "", 1, "internal error: ZeroDivisionError: a bug; "),
        (ZeroDivisionError("a bug"), "1", 1, "internal error: ZeroDivisionError: a bug; "),
    ],
)
def test_a_command_that_is_interrupted_or_has_a_bug_ends_with_one_line(
    error: BaseException, debug: str, status: int, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`FORMULASEED_DEBUG=1` prints the traceback of a bug before it."""
    monkeypatch.setattr("formulaseed.cli.check.analyse_file", Mock(side_effect=error))
    done = command("check", "x.json", cwd=tmp_path, env={"FORMULASEED_DEBUG": debug})
    *before, last = done.err.strip().splitlines()
    assert (done.status, done.out, last.startswith(f"formulaseed: {message}")) == (status, "", True)
    assert any(line.startswith("Traceback") for line in before) == bool(debug)


def test_a_progress_bar_shows_names_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a terminal: rich's own escapes are there, those of a restaurant's name are not, nor is its markup obeyed."""

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    screen = Terminal()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "200")
    for note in ("[/nothing] \x1b]0;owned\x07 \u202e", "[bold]\nfaked"):
        with redirect_stderr(screen), output.show_progress("restaurant", 2) as bar:
            bar.advance(partial(str, note))
        with redirect_stderr(screen), output.show_progress("restaurant", 2) as bar:
            bar.show(note)
    for seen in (r"[/nothing] \x1b]0;owned\x07 \u202e", r"[bold]\nfaked"):
        assert screen.getvalue().count(seen) >= 2
    assert not any(order in screen.getvalue() for order in ("\x1b]0", "\x07", "\u202e", "\nfaked"))


def test_a_table_of_requests_shows_names_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same for the report of `validate`, also where it is a table."""
    screen = io.StringIO()
    monkeypatch.setattr(validate, "is_terminal", lambda _: True)
    listed = validate.ReportedRequest("R1", "ok", f"[/x] {EVIL}", EVIL, (EVIL,))
    with redirect_stderr(screen):
        validate.print_group(EVIL, [listed], on_error=True)
    assert is_tame(screen.getvalue()), screen.getvalue()


def test_commands_print_through_one_place() -> None:
    """`cli/output.py` alone calls click's echo, so that no message can forget what it quotes."""
    printing = ("click.echo", "click.secho", "print", "sys.stdout.write", "sys.stderr.write")
    files = [
        path.name
        for path in sorted((ROOT / "compiler" / "formulaseed" / "cli").glob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and ast.unparse(node.func) in printing
    ]
    assert files == ["output.py"] * 4
