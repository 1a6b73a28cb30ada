"""Runs the command in processes that are forked from one that has imported everything, which saves each a third of a second.

It runs pytest in the same way, for the tests of what formulaseed adds to it, and `killed`, which ends commands.

`run` starts that process, the server, at its first call, and sends it what each command needs: arguments, environment,
working directory, and the ends of three pipes; `start` does not wait for the end. The server forks; the child leads a session
of its own, has the pipes as standard streams, runs the program and ends as Python does. No command finds what another one has
left in memory. A test of what happens while Python starts (its variables, the locale, streams that are closed) starts a process
of its own.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import io
import os
import pickle
import pkgutil
import resource
import select
import signal
import socket
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from threading import Thread
from typing import Any, NoReturn

import formulaseed
from formulaseed.cli.main import main

ROOT = Path(__file__).resolve().parents[2]
FIRST = (
    ("compile", "tasks/g1a_v2/seed.json", "--stdout"),
    ("compile", "examples/requests.jsonl", "--stdout"),
    ("formula", "examples/rules.json"),
)
"""Commands that the server runs before it forks: grammars and templates are read, and what is imported late is there."""


@dataclass(frozen=True)
class Command:
    """What a child runs, and in how many bytes of memory, the modules that it begins with included.

    `as_nobody`: as a user who may not write what belongs to the one who runs the tests, also where that is root.
    """

    program: str
    arguments: Sequence[str]
    environment: dict[str, str]
    folder: str
    memory: int | None = None
    as_nobody: bool = False


@dataclass(frozen=True)
class Wait:
    """The question how a child has ended, which is killed after so many seconds."""

    child: int
    seconds: float


def for_the_interpreter(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables that Python reads when it starts."""
    return {name: value for name, value in environment.items() if name.startswith(("PYTHON", "LC_", "LANG"))}


# --- in the process of the tests


class Server:
    """The process that forks, one command at a time; it ends with this process."""

    def __init__(self) -> None:
        self.environment = for_the_interpreter(os.environ)
        self.connection, its = socket.socketpair()
        self.stream = self.connection.makefile("rwb")
        command = [sys.executable, "-P", __file__, str(its.fileno())]
        with its:
            self.process = subprocess.Popen(
                command,
                pass_fds=[its.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                start_new_session=True,
            )
        atexit.register(self.close)

    def close(self) -> None:
        """End the server, and the command that it may be running."""
        with contextlib.suppress(OSError):  # what could not be sent
            self.stream.close()
        self.connection.close()
        self.process.wait()

    def start(self, command: Command, stdin: bytes, merged: bool, stdout: int | None = None) -> Forked:
        """Start a command, whose standard input is there from the start, and whose output may be a file of ours."""
        pipes = [os.pipe() for _ in range(3)]
        its, ours = [pipes[0][0], pipes[1][1], pipes[2][1]], [pipes[0][1], pipes[1][0], pipes[2][0]]
        if stdout is not None:
            os.dup2(stdout, its[1])
        if merged:
            os.dup2(its[1], its[2])
        _in_background(_write, ours[0], stdin)
        out, err = (_in_background(_read, end) for end in ours[1:])
        process = self.ask(command, its)
        return Forked(self, command, process, out, err)

    def ask(self, what: Command | Wait, ends: Sequence[int] = ()) -> Any:
        """Send a command, with the ends of its pipes, or the question how one has ended; return the answer."""
        try:
            socket.send_fds(self.connection, [b"\n"], ends)
            for end in ends:
                os.close(end)
            pickle.dump(what, self.stream)
            self.stream.flush()
            return pickle.load(self.stream)
        except BaseException:  # nobody knows where the conversation stopped
            self.close()
            raise


@dataclass
class Forked:
    """A command that was started: what `subprocess.Popen` is to one that starts anew, as far as tests need it."""

    server: Server
    command: Command
    pid: int
    out: Future[bytes]
    err: Future[bytes]
    returncode: int | None = None

    def send_signal(self, number: int) -> None:
        """Send a signal, also where it has ended: its number is no other process's before it is waited for."""
        os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def communicate(self, timeout: float) -> tuple[bytes, bytes]:
        """Wait for its end, so many seconds at most, and return what it wrote."""
        self.returncode = self.server.ask(Wait(self.pid, timeout))
        if self.returncode is None:
            raise subprocess.TimeoutExpired(self.command.arguments, timeout, self.out.result(), self.err.result())
        return self.out.result(), self.err.result()


def _in_background(function: Callable[..., Any], *arguments: Any) -> Future[Any]:
    """Call the function in a thread that no end of the tests waits for: a command that was started may go on for long."""
    result: Future[Any] = Future()
    Thread(target=lambda: result.set_result(function(*arguments)), daemon=True).start()
    return result


def _write(end: int, data: bytes) -> None:
    with contextlib.suppress(BrokenPipeError), open(end, "wb") as pipe:
        pipe.write(data)


def _read(end: int) -> bytes:
    with open(end, "rb") as pipe:
        return pipe.read()


_server: Server | None = None
_lock = threading.Lock()


def run(
    arguments: Sequence[str],
    *,
    stdin: bytes,
    folder: Path,
    environment: Mapping[str, str],
    seconds: float,
    memory: int | None = None,
    as_nobody: bool = False,
    program: str = "formulaseed",
    merged: bool = False,
) -> subprocess.CompletedProcess[bytes]:
    """Run `formulaseed`, `pytest`, or `killed`, forked unless the environment would make another interpreter of it.

    With `merged` both outputs come as one, as on a terminal. Raises `subprocess.TimeoutExpired` after so many seconds, when
    it and all that it has started are killed.
    """
    with _lock:
        if (server := _server_for(environment)) is not None:
            command = Command(program, arguments, dict(environment), str(folder), memory, as_nobody)
            started = server.start(command, stdin, merged)
            out, err = started.communicate(seconds)
            return subprocess.CompletedProcess(arguments, started.returncode or 0, out, err)
    return subprocess.run(
        [*_anew(program), *arguments], input=stdin, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT if merged else subprocess.PIPE, cwd=folder, env=environment, timeout=seconds, check=False,
        preexec_fn=None if memory is None else partial(limit, memory),
    )  # fmt: skip


def start(
    arguments: Sequence[str],
    *,
    folder: Path,
    environment: Mapping[str, str],
    merged: bool = False,
    stdout: int | None = None,
) -> Forked | subprocess.Popen[bytes]:
    """Start `formulaseed` in the same way, to be sent signals and waited for; its output may be a file of ours."""
    with _lock:
        if (server := _server_for(environment)) is not None:
            return server.start(Command("formulaseed", arguments, dict(environment), str(folder)), b"", merged, stdout)
    return subprocess.Popen(
        [*_anew("formulaseed"), *arguments], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE if stdout is None else stdout, stderr=subprocess.STDOUT if merged else subprocess.PIPE,
    )  # fmt: skip


def _server_for(environment: Mapping[str, str]) -> Server | None:
    """The server, if there can be one, and it has the environment that the interpreter reads."""
    global _server
    if hasattr(os, "pidfd_open") and (_server is None or _server.process.returncode is not None):
        _server = Server()
    return _server if _server is not None and _server.environment == for_the_interpreter(environment) else None


def _anew(program: str) -> list[str]:
    beside = Path(__file__).with_name(f"{program}.py")
    return [sys.executable, str(beside)] if beside.is_file() else [sys.executable, "-m", program]


def limit(memory: int) -> None:
    """Let this process take so many bytes of memory."""
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))


# --- in the server


def prepare() -> None:
    """Import all that a command may need."""
    for module in pkgutil.walk_packages(formulaseed.__path__, "formulaseed."):
        if not module.name.startswith(("formulaseed.testing", "formulaseed.__main__")):
            importlib.import_module(module.name)
    for name in ("anthropic", "black", "rich.progress", "rich.table", "sqlalchemy"):
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    os.chdir(ROOT)
    for arguments in FIRST:
        sys.argv = ["formulaseed", *arguments]
        out, err = contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO())
        with out, err, contextlib.suppress(SystemExit):
            main()
    gc.collect()
    gc.freeze()


@cache
def prepared_pytest() -> Callable[[], object]:
    """Import what pytest needs, but for our plugin, whose assertions it rewrites as it imports it; return what runs it."""
    import pytest
    from _pytest.config import default_plugins

    for name in ("hypothesis", *(f"_pytest.{name}" for name in default_plugins)):
        importlib.import_module(name)
    gc.collect()
    gc.freeze()
    return pytest.console_main


def serve(connection: socket.socket) -> Callable[[], object] | None:
    """Fork a child for every command; return in each of them what it is to call, and None when the tests have ended."""
    stream = connection.makefile("rwb")
    running: set[int] = set()
    while (received := socket.recv_fds(connection, 1, 3))[0]:
        asked, ends = pickle.load(stream), received[1]
        if isinstance(asked, Wait):
            answer = status_of(asked, connection)
            running.discard(asked.child)
        else:
            run = program_of(asked.program)
            answer = os.fork()
            if answer == 0:
                stream.close()
                connection.close()
                become(asked, ends)
                return run
            running.add(answer)
            for end in ends:
                os.close(end)
        with contextlib.suppress(BrokenPipeError):
            pickle.dump(answer, stream)
            stream.flush()
    for child in running:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
    return None


def program_of(name: str) -> Callable[[], object]:
    """What runs a program of this name."""
    if name == "formulaseed":
        return main
    return prepared_pytest() if name == "pytest" else importlib.import_module(name).main


def become(command: Command, ends: Sequence[int]) -> None:
    """Make this child what `python -m` would start."""
    os.setsid()
    for number, end in enumerate(ends):
        os.dup2(end, number)
        os.close(end)
    sys.stdin, sys.stdout, sys.stderr = (
        open(number, mode, buffering, encoding=old.encoding, errors=old.errors, closefd=False)
        for number, mode, buffering, old in ((0, "r", -1, sys.stdin), (1, "w", -1, sys.stdout), (2, "w", 1, sys.stderr))
    )
    os.environ.clear()
    os.environ.update(command.environment)
    time.tzset()
    if command.memory is not None:
        limit(command.memory)
    os.chdir(command.folder)
    if command.as_nobody and os.geteuid() == 0:
        os.setgid(65534)
        os.setuid(65534)
    sys.path.insert(0, command.folder)
    package = str(importlib.import_module(command.program).__file__)
    sys.argv = [str(Path(package).with_name("__main__.py")), *command.arguments]


def status_of(asked: Wait, connection: socket.socket) -> int | None:
    """How the child has ended; None where its time was over. It is killed too when the tests have ended."""
    watched = os.pidfd_open(asked.child)
    ready, _, _ = select.select([watched, connection], [], [], asked.seconds)
    os.close(watched)
    if not ready or ready == [connection]:
        os.killpg(asked.child, signal.SIGKILL)
    status = os.waitstatus_to_exitcode(os.waitpid(asked.child, 0)[1])
    return status if ready else None


def end_as_python_does(run: Callable[[], object]) -> NoReturn:
    """Run a command and end, without the tenth of a second that it takes to remove all modules from memory."""
    status: object = 1
    try:
        status = run() or 0
    except SystemExit as end:
        status = end.code
    except BaseException:
        traceback.print_exc()
    threading._shutdown()  # type: ignore[attr-defined]  # waits for threads, as Python does
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:
        status = 120
    os._exit(status if isinstance(status, int) else 1 if status else 0)


if __name__ == "__main__":
    sys.modules["forking"] = sys.modules["__main__"]  # where `pickle` looks for `Command`
    sys.path.append(str(Path(__file__).parent))
    tests = socket.socket(fileno=int(sys.argv[1]))
    prepare()
    if (chosen := serve(tests)) is not None:
        end_as_python_does(chosen)
