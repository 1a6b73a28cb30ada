"""The command line: dispatches to a command, and turns our exceptions into messages and exit statuses.

0 fine; 1 the input has errors, or a check failed; 2 wrong usage, or a file that cannot be read; 3 finished, but
some restaurants or reviews failed; 130 interrupted, 143 terminated, 129 hung up.
"""

from __future__ import annotations

import gc
import importlib
import os
import sys
import traceback
from pathlib import Path
from typing import Any, NoReturn

import click

from formulaseed import __version__
from formulaseed.errors import ArgumentError, FormulaSeedError

_SECTIONS = {
    "Policy": {
        "init": "Write a project to start from.",
        "draft": "Draft a seed from a policy in words, by a model.",
        "check": "Report every problem in seeds or requests.",
        "fmt": "Format seeds.",
        "compile": "Compile seeds to Python modules.",
        "diff": "Compare two seeds, and what they make of the same restaurants.",
        "migrate": "Rewrite a v1 seed as a v2 seed.",
    },
    "Running": {
        "run": "Filter, extract and evaluate restaurants with their reviews.",
        "extract": "Filter and extract restaurants with their reviews, for evaluate to read.",
        "evaluate": "Evaluate restaurants whose reviews have been extracted.",
        "score": "Score whole tables of reviews and restaurants, on DuckDB or Spark.",
        "agreement": "Measure how far an extractor agrees with recorded extractions.",
        "store": "Manage the cached answers of models.",
    },
    "Understanding": {
        "explain": "Explain why a restaurant got its verdict, and what would change it.",
        "report": "Write a page of all restaurants, with the explanation of each.",
        "sensitivity": "Rank the numbers of a policy by how many verdicts hang on them.",
        "cover": "Show which rules, keys, values and branches restaurants reach.",
        "graph": "Write the computation of a seed as a graph.",
    },
    "Requests": {
        "validate": "Validate requests against restaurants: does each match its own, and no other?",
        "shorthand": "Read the shorthand of requests, or print a request to fill in.",
    },
    "Formulas": {
        "formula": "Check and evaluate a formula over the entities of a domain, or a file of rules.",
        "reference": "Print the formula reference of a domain: its fields, operators, functions and syntax.",
    },
    "Tools": {
        "demo": "Run the whole pipeline on the examples.",
        "rule": "Explain a diagnostic's code.",
        "dump": "Show a seed as one of the compiler's phases sees it.",
        "schema": "Print the JSON Schema of seeds, for editors, or of explanations.",
        "lsp": "Serve editors by the Language Server Protocol.",
    },
}
"""The commands in sections of the help, in the order of a first day."""
_COMMANDS = [name for section in _SECTIONS.values() for name in section]
_MODULES = {
    **dict.fromkeys(("compile", "dump", "fmt", "migrate", "schema"), "seeds"),
    "evaluate": "run",
    **dict.fromkeys(("diff", "sensitivity", "cover", "graph"), "analysis"),
    **dict.fromkeys(("validate", "shorthand"), "requests"),
    "report": "explain",
    "rule": "check",
    "formula": "reference",
}
"""The modules that hold commands of other names."""


_NO_FILES = ("TEXT", "CODE")
_FILES = (
    "FILE",
    "OUT",
    "ROWS",
    "NEW_ROWS",
    "CONTEXTS",
    "EXTRACTIONS",
    "RESTAURANTS",
    "REVIEWS",
    "JUDGEMENTS",
    "SOCIAL",
    "MATRIX",
    "SCHEMA",
)
"""Arguments that are no files, and options that are, by the names that help shows."""


_NAMED_COMMANDS = 3
"""At most so many commands are named that have an option."""


class _LazyGroup(click.Group):
    """Knows the commands by name and help; imports a command's module only to run it."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        module = importlib.import_module(f"formulaseed.cli.{_MODULES.get(cmd_name, cmd_name)}")
        command: click.Command = getattr(module, cmd_name)
        if "_FORMULASEED_COMPLETE" in os.environ:
            _complete_files(command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        widest = max(map(len, _COMMANDS))
        for title, commands in _SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(widest), help) for name, help in commands.items()])

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        if args and args[0] not in _COMMANDS and not args[0].startswith("-"):
            from formulaseed.diagnostics.suggestions import did_you_mean

            ctx.fail(f"there is no command `{args[0]}`; {did_you_mean(args[0], _COMMANDS, noun='commands', limit=20)}")
        return super().resolve_command(ctx, args)


def _complete_files(command: click.Command) -> None:
    """Let a shell complete the names of files, which commands take as strings."""
    for given in command.params:
        name = (given.metavar or given.name or "").upper()
        is_file = name not in _NO_FILES if isinstance(given, click.Argument) else name in _FILES
        if is_file and isinstance(given.type, click.types.StringParamType):
            given.type = click.Path()


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, prog_name="formulaseed")
def cli() -> None:
    """Compile scoring policies over reviews to reviewable Python, and run them."""


def main() -> None:
    """The entry point of the `formulaseed` command."""
    gc.set_threshold(50_000, 20, 50)  # trees have no cycles: to look for some took up to two fifths of the time
    _prepare_streams()
    try:
        try:
            status = cli(prog_name="formulaseed", standalone_mode=False)
        finally:
            sys.stdout.flush()
    except click.ClickException as error:
        _refuse(error)
    except click.Abort as error:
        _fail("interrupted", getattr(error.__cause__, "status", 130))
    except ArgumentError as error:
        _refuse(click.UsageError(f"--{error.argument.replace('_', '-')} {error.reason}"))
    except FormulaSeedError as error:
        from formulaseed.cli.output import report_error

        sys.exit(report_error(error))
    except BrokenPipeError:
        _silence_output()
        sys.exit(1)
    except OSError as error:
        _silence_output()
        _fail(f"cannot write: {error.strerror or error}", 2)
    except Exception as error:
        if os.environ.get("FORMULASEED_DEBUG") == "1":
            traceback.print_exc()
        message = f"internal error: {type(error).__name__}: {error}; FORMULASEED_DEBUG=1 prints the traceback"
        _fail(f"{message}; this is a bug of formulaseed: please report it", 1)
    sys.exit(status if isinstance(status, int) else 0)


def _prepare_streams() -> None:
    """Write UTF-8 whatever the locale, so that the same bytes come out everywhere, and nothing to a closed stream."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))
        elif hasattr(stream, "reconfigure"):
            # an unpaired surrogate, as in a file name that is not UTF-8, becomes its JSON escape
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")


def _silence_output() -> None:
    """Discard what is still buffered, so that the interpreter does not fail on it again when it exits."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _refuse(error: click.ClickException) -> NoReturn:
    """Report a usage error as click does, with what was typed escaped."""
    from formulaseed.cli.output import say, show

    if type(error).__name__ == "NoArgsIsHelpError":  # which click raises from 8.2 on
        show(error.format_message(), err=True)
        sys.exit(error.exit_code)
    if isinstance(error, click.UsageError) and error.ctx is not None:
        show(f"{error.ctx.get_usage()}\nTry '{error.ctx.command_path} --help' for help.\n", err=True)
    elsewhere = _commands_with(error.option_name, error.ctx) if isinstance(error, click.NoSuchOption) else []
    names = ", ".join(f"`{name}`" for name in elsewhere[:_NAMED_COMMANDS])
    hint = f" It is an option of {names}." if names else ""
    say(f"Error: {error.format_message()}{hint}", err=True)
    sys.exit(error.exit_code)


def _commands_with(option: str, context: click.Context | None) -> list[str]:
    """Return the commands that have an option which another command lacks, in the order of the help."""
    group = context.find_root().command if context is not None else None
    if not isinstance(group, _LazyGroup):
        return []
    commands = {name: group.get_command(click.Context(group), name) for name in _COMMANDS}
    return [name for name, command in commands.items() if command and _has_option(command, option)]


def _has_option(command: click.Command, option: str) -> bool:
    """Whether a command has an option that its help shows."""
    return any(option in param.opts and not getattr(param, "hidden", False) for param in command.params)


def _fail(message: str, status: int) -> NoReturn:
    from formulaseed.cli.output import say

    say(f"formulaseed: {message}", err=True)
    sys.exit(status)
