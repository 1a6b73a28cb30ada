"""Dispatch to a command, and turn exceptions into messages and exit statuses.

Exit statuses: 0 fine; 1 the input has errors, or a check failed; 2 wrong usage, or a file that cannot be read; 3 finished,
but some restaurants or reviews failed; 130 interrupted, 143 terminated, 129 hung up.
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
        "expect": "Compare the outputs of restaurants with the expected ones.",
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
        "prove": "Prove what holds for all restaurants, and find those for which it does not.",
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
        "schema": "Print the JSON Schema of seeds, for editors, or of explanations or proofs.",
        "lsp": "Serve editors by the Language Server Protocol.",
    },
}  # the sections of the help with their commands, in the order of a first day
_COMMANDS = [name for section in _SECTIONS.values() for name in section]
# the modules of commands that are not in a module of their own name
_MODULES = {
    **dict.fromkeys(("dump", "fmt", "migrate", "schema"), "seeds"),
    "compile": "compiling",
    "evaluate": "run",
    "extract": "extracting",
    "init": "examples",
    **dict.fromkeys(("diff", "expect", "sensitivity", "cover", "graph", "prove"), "analysis"),
    "report": "explain",
    "rule": "check",
    "formula": "reference",
}

# for the completion of file names: arguments that are no files, and options that are, by their names in the help
_NON_FILE_ARGUMENTS = ("TEXT", "CODE")
_FILE_OPTIONS = (
    "FILE", "OUT", "ROWS", "NEW_ROWS", "CONTEXTS", "EXTRACTIONS", "RESTAURANTS", "REVIEWS", "JUDGEMENTS", "SOCIAL", "MATRIX",
    "SCHEMA", "EXPECTED",
)  # fmt: skip
_MAX_NAMED_COMMANDS = 3  # a message names at most 3 commands that have an option


class _LazyGroup(click.Group):
    """The group of all commands. It lists them without their modules, and imports the module of a command to run it."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands in the order of the help."""
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the module of a command and return the command; None if there is no command of this name.

        While a shell completes a command line, the command's parameters for files complete paths.
        """
        if cmd_name not in _COMMANDS:
            return None
        module = importlib.import_module(f"formulaseed.cli.{_MODULES.get(cmd_name, cmd_name)}")
        command: click.Command = getattr(module, cmd_name)
        if "_FORMULASEED_COMPLETE" in os.environ:
            _complete_files(command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands in sections to the formatter."""
        widest = max(map(len, _COMMANDS))
        for title, commands in _SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(widest), help) for name, help in commands.items()])

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """Return the command that the arguments begin with. Raises `UsageError` with suggestions if there is none."""
        if args and args[0] not in _COMMANDS and not args[0].startswith("-"):
            from formulaseed.diagnostics.suggestions import did_you_mean

            ctx.fail(f"there is no command `{args[0]}`; {did_you_mean(args[0], _COMMANDS, noun='commands', limit=20)}")
        return super().resolve_command(ctx, args)


def _complete_files(command: click.Command) -> None:
    """Change the types of the command's parameters for files from strings to paths, so that a shell completes them."""
    for parameter in command.params:
        name = (parameter.metavar or parameter.name or "").upper()
        if isinstance(parameter, click.Argument):
            is_file = name not in _NON_FILE_ARGUMENTS
        else:
            is_file = name in _FILE_OPTIONS
        if is_file and isinstance(parameter.type, click.types.StringParamType):
            parameter.type = click.Path()


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, prog_name="formulaseed")
def cli() -> None:
    """Compile scoring policies over reviews to reviewable Python, and run them."""


def main() -> None:
    """Run the command line of this process, and exit with the status of the command.

    Errors are printed on standard error, without a traceback unless FORMULASEED_DEBUG is 1. The status is 2 for usage
    errors, unreadable files and output that cannot be written, 1 for other errors, 130 after an interruption.
    """
    # trees have no reference cycles: looking for cycles took up to two fifths of the time
    gc.set_threshold(50_000, 20, 50)
    _prepare_streams()
    try:
        try:
            status = cli(prog_name="formulaseed", standalone_mode=False)
        finally:
            sys.stdout.flush()
    except click.ClickException as error:
        _refuse(error)
    except click.Abort as error:
        _exit_with("interrupted", getattr(error.__cause__, "status", 130))
    except ArgumentError as error:
        from formulaseed.cli.options import flag_of

        _refuse(click.UsageError(f"{flag_of(error.argument)} {error.reason}"))
    except FormulaSeedError as error:
        from formulaseed.cli.output import report_error

        sys.exit(report_error(error))
    except BrokenPipeError:
        _silence_output()
        sys.exit(1)
    except OSError as error:
        _silence_output()
        _exit_with(f"cannot write: {error.strerror or error}", 2)
    except Exception as error:
        if os.environ.get("FORMULASEED_DEBUG") == "1":
            traceback.print_exc()
        message = f"internal error: {type(error).__name__}: {error}; FORMULASEED_DEBUG=1 prints the traceback"
        _exit_with(f"{message}; this is a bug of formulaseed: please report it", 1)
    sys.exit(status if isinstance(status, int) else 0)


def _prepare_streams() -> None:
    """Make standard output and error write UTF-8 whatever the locale; replace a closed stream by the null device."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))
        elif hasattr(stream, "reconfigure"):
            # an unpaired surrogate, as in a file name that is not UTF-8, becomes its JSON escape
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")


def _silence_output() -> None:
    """Redirect standard output to the null device, so that flushing its buffer at exit does not fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _refuse(error: click.ClickException) -> NoReturn:
    """Print a usage error as click does, with control characters of the input escaped, and exit with its status.

    For an unknown option the message also names commands that have this option.
    """
    from formulaseed.cli.output import say, show

    if type(error).__name__ == "NoArgsIsHelpError":  # raised since click 8.2
        show(error.format_message(), err=True)
        sys.exit(error.exit_code)
    if isinstance(error, click.UsageError) and error.ctx is not None:
        show(f"{error.ctx.get_usage()}\nTry '{error.ctx.command_path} --help' for help.\n", err=True)
    message = f"Error: {error.format_message()}"
    if isinstance(error, click.NoSuchOption):
        commands = _find_commands_with(error.option_name, error.ctx)[:_MAX_NAMED_COMMANDS]
        if commands:
            names = ", ".join(f"`{name}`" for name in commands)
            message += f" It is an option of {names}."
    say(message, err=True)
    sys.exit(error.exit_code)


def _find_commands_with(option: str, context: click.Context | None) -> list[str]:
    """Return the names of the commands that have an option, in the order of the help; imports all commands.

    `context` is that of the command without the option; if it is None, no name is returned.
    """
    group = context.find_root().command if context is not None else None
    if not isinstance(group, _LazyGroup):
        return []
    commands = {name: group.get_command(click.Context(group), name) for name in _COMMANDS}
    return [name for name, command in commands.items() if command and _has_option(command, option)]


def _has_option(command: click.Command, option: str) -> bool:
    """Return True if a command has the option and its help shows it."""
    return any(option in param.opts and not getattr(param, "hidden", False) for param in command.params)


def _exit_with(message: str, status: int) -> NoReturn:
    """Print a message on standard error and exit with the status."""
    from formulaseed.cli.output import say

    say(f"formulaseed: {message}", err=True)
    sys.exit(status)
