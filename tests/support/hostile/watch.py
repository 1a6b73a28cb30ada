"""Runs commands of ours, in this process, and notes what the interpreter was asked to do meanwhile.

    watch.py PLAN REPORT

PLAN is JSON: `warm`, a list of argument lists that are run before anybody watches, and `warm_load`, modules that are
evaluated then, so that all code and templates are loaded; `watched`, those that count; `load`, a list of [module,
rows, context, parameters] to be evaluated; `plain`, a list of [way, text] to be turned into code without care, which
shows that a payload would be seen. REPORT gets, as JSON, every event of the audit hook that could be an effect, what
was printed, the status of each command, the processor time at which each file was opened, and the values.
"""

# no `from __future__ import annotations`: what is executed here would inherit it
import builtins
import contextlib
import io
import json
import os
import pickle
import subprocess
import sys
import time
import types
from pathlib import Path
from typing import Any

CANARY = "canary"
"""What payloads leave behind: a file, an attribute of `builtins`, or an event that begins with `hostile.`."""

EFFECTS = (
    "exec", "compile", "import", "os.", "subprocess.", "socket.", "shutil.", "ctypes.", "pickle.", "marshal.", "code.",
    "builtins.input", "builtins.breakpoint", "urllib.", "http.", "webbrowser.", "tempfile.", "glob.", "pty.", "signal.",
    "cpython.", "sys.set", "hostile.",
)  # fmt: skip

events: list[list[str]] = []
opened: dict[str, float] = {}
watching = False


def watch(event: str, arguments: tuple[Any, ...]) -> None:
    if not watching:
        return
    if event == "open":
        path, mode, flags = arguments
        if isinstance(path, str) and (path.endswith(".json") or not _writes(mode, flags)):
            opened.setdefault(path, time.process_time())
        if _writes(mode, flags):
            events.append(["write", str(path)])
    elif event.startswith(EFFECTS):
        events.append([event, *(_shown(argument) for argument in arguments)])


def _writes(mode: object, flags: object) -> bool:
    if isinstance(mode, str):
        return any(letter in mode for letter in "wax+")
    return isinstance(flags, int) and bool(flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND))


def _shown(argument: object) -> str:
    if isinstance(argument, types.CodeType):
        return argument.co_filename
    return argument.decode("utf-8", "replace") if isinstance(argument, bytes) else str(argument)


def run(arguments: list[str]) -> dict[str, Any]:
    """One command of ours as `python -m formulaseed` runs it; what it prints is kept."""
    from formulaseed.cli.main import main

    sys.argv[1:] = arguments
    out, err, status = io.StringIO(), io.StringIO(), 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main()
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else 1
    return {"status": status, "out": out.getvalue(), "err": err.getvalue()}


def values_of(module: str, rows: Any, context: Any, parameters: Any) -> dict[str, Any]:
    import formulaseed

    evaluator = formulaseed.load_evaluator(module)
    try:
        return dict(evaluator.trace(rows, context, parameters))
    except formulaseed.EvaluationError as error:
        return {"raises": [error.step, error.kind]}


def plainly(way: str, text: str) -> bool:
    """Make code of the text without care, and say whether its payload left anything behind."""
    before = len(events)
    with contextlib.suppress(BaseException):
        match way:
            case "eval":
                eval(text, {"N": 1})
            case "exec":
                exec(text, {"N": 1})
            case "comment":
                exec(f"# {text}")
            case "docstring":
                exec(f'"""{text}"""')
            case "single":
                exec(f"x = '{text}'")
            case "double":
                exec(f'x = "{text}"')
            case "key":
                exec(f"x = {{'{text}': 1}}")
            case "jinja":
                from jinja2 import Template

                Template(text).render()
            case "pickle":
                pickle.loads(text.encode())
            case "shell":
                subprocess.run(text, shell=True, check=False, capture_output=True)
    left = (
        Path(CANARY).exists() or hasattr(builtins, CANARY) or any(e[0].startswith("hostile.") for e in events[before:])
    )
    Path(CANARY).unlink(missing_ok=True)
    if hasattr(builtins, CANARY):
        delattr(builtins, CANARY)
    return left


def main() -> None:
    global watching
    plan = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    report = Path(sys.argv[2])
    warm = [run(arguments) for arguments in plan.get("warm", ())]
    for each in plan.get("warm_load", ()):
        values_of(*each)
    names = set(vars(builtins))
    sys.addaudithook(watch)
    watching = True
    start = time.process_time()
    commands = [run(arguments) for arguments in plan.get("watched", ())]
    values = [values_of(*each) for each in plan.get("load", ())]
    plain = [plainly(way, text) for way, text in plan.get("plain", ())]
    watching = False
    found = {
        "warm": warm,
        "commands": commands,
        "values": values,
        "plain": plain,
        "events": events,
        "opened": {path: at - start for path, at in opened.items()},
        "ended": time.process_time() - start,
        "new builtins": sorted(set(vars(builtins)) - names),
    }
    report.write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    main()
