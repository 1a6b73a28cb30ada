"""Runs the command in forked processes and ends each by a signal, at a moment that it is given.

`forking` runs this, where what the command imports is imported by then. In: JSON on standard input, `{"arguments": […],
"ends": [{"signal": "SIGKILL", …}]}`, each with the moment: `"after"` so many seconds, when so many more `"answers"` are
in the store `answers.sqlite`, when so many calls are in flight there (`"sent"`), or when something is said on standard
error (`"when"`). Where an end has `"again"`, the same signal is sent once more when that is said. Out: JSON, for each of
these the status, negative for a signal, and what was written to standard error.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sqlite3
import sys
import time
import traceback
from pathlib import Path
from typing import Any

import anthropic  # noqa: F401  # so that no forked process has to import it
from formulaseed.cli.main import main as command


def ended(arguments: list[str], end: dict[str, Any], log: Path) -> dict[str, Any]:
    log.write_bytes(b"")
    before = count("FROM answers")
    again = end.get("again", "")
    started = time.monotonic()
    child = os.fork()
    if child == 0:
        run(arguments, log)
    status = None
    while status is None:
        time.sleep(0.002)
        if "after" in end:
            is_time = time.monotonic() - started >= end["after"]
        elif "answers" in end:
            is_time = count("FROM answers") >= before + end["answers"]
        elif "sent" in end:
            is_time = count("FROM attempts WHERE status = 'sent'") >= end["sent"]
        else:
            is_time = end["when"] in log.read_text(encoding="utf-8")
        if is_time:
            os.kill(child, getattr(signal, end["signal"]))
            while again and again not in log.read_text(encoding="utf-8"):
                time.sleep(0.002)
            if again:
                os.kill(child, getattr(signal, end["signal"]))
            status = os.waitpid(child, 0)[1]
        else:
            found, code = os.waitpid(child, os.WNOHANG)
            status = code if found else None
    return {"status": os.waitstatus_to_exitcode(status), "err": log.read_text(encoding="utf-8")}


def count(what: str) -> int:
    try:
        with contextlib.closing(sqlite3.connect("file:answers.sqlite?mode=ro", uri=True)) as db:
            found: int = db.execute(f"SELECT COUNT(*) {what}").fetchone()[0]
            return found
    except sqlite3.OperationalError:  # there is none yet
        return 0


def run(arguments: list[str], log: Path) -> None:
    """In the forked process: the command, which never comes back."""
    code = 70
    try:
        descriptor = os.open(log, os.O_WRONLY | os.O_TRUNC)
        os.dup2(descriptor, 1)
        os.dup2(descriptor, 2)
        sys.argv[1:] = arguments
        command()
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else 0
    except BaseException:  # as Python reports what is not caught
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def main() -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    given = json.load(sys.stdin)
    print(json.dumps([ended(given["arguments"], end, Path("killed.log")) for end in given["ends"]]))


if __name__ == "__main__":
    main()
