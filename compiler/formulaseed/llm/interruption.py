"""Interrupts work on an event loop at a signal: the coroutine that runs is cancelled, so that its cleanup runs.

SIGINT, SIGTERM and SIGHUP have the same effect. A signal that the program ignores or handles itself is not touched.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Coroutine
from types import FrameType
from typing import TYPE_CHECKING, Any, Self, TypeVar

if TYPE_CHECKING:
    import asyncio

_SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
_Result = TypeVar("_Result")


class Interrupted(KeyboardInterrupt):
    """Raised when a signal has arrived; `number` is that of the signal."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number

    @property
    def status(self) -> int:
        """The exit status that a command has by convention when the signal ends it."""
        return 128 + self.number


class Interruption:
    """A context that handles signals. `number` is that of the first signal, or None before it.

    A signal cancels the coroutine of `run`, and `Interrupted` is raised when that has ended. A second signal, or a signal while
    no coroutine runs, raises `Interrupted` at once. Of two nested contexts the inner one handles the signals.
    """

    def __init__(self) -> None:
        self.number: int | None = None
        self._previous_handlers: dict[int, Any] = {}
        self._cancel: Any = None

    def __enter__(self) -> Self:
        """Handle the signals that have their default handler or an outer context's; only in the main thread."""
        for number in _SIGNALS if threading.current_thread() is threading.main_thread() else ():
            handler = signal.getsignal(number)
            is_ours = isinstance(getattr(handler, "__self__", None), Interruption)
            if is_ours or handler in (signal.SIG_DFL, signal.default_int_handler):
                self._previous_handlers[number] = signal.signal(number, self._handle)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._previous_handlers.items():
            signal.signal(number, handler)
        self._previous_handlers = {}

    def run(self, runner: asyncio.Runner, work: Coroutine[Any, Any, _Result]) -> _Result:
        """Run a coroutine on the runner's loop and return its result; other tasks of the loop go on.

        Raises `Interrupted` if a signal arrives meanwhile, even if the coroutine has a result.
        """
        # not `runner.run`: a Ctrl-C that comes as the coroutine ends may stop its loop for good
        loop = runner.get_loop()
        task = loop.create_task(work)
        signals: list[int] = []

        def cancel(number: int) -> None:
            """Cancel the task at the first signal. Raises `Interrupted` at the next."""
            if signals:
                raise Interrupted(number)
            signals.append(number)
            loop.call_soon_threadsafe(task.cancel)

        self._cancel = cancel
        try:
            return loop.run_until_complete(task)
        finally:
            self._cancel = None
            if signals:
                raise Interrupted(signals[0])

    def _handle(self, number: int, frame: FrameType | None) -> None:
        """Cancel the coroutine that runs, and set `self.number` at the first signal.

        Raises `Interrupted` if no coroutine runs, or if it has been cancelled before.
        """
        self.number = self.number or number
        if self._cancel is None:
            raise Interrupted(number)
        self._cancel(number)


def run_interruptibly(runner: asyncio.Runner, work: Coroutine[Any, Any, _Result]) -> _Result:
    """Run a coroutine on the runner's loop and return its result. Raises `Interrupted` at a signal.

    The first signal cancels the coroutine, the next one stops at once.
    """
    with Interruption() as interruption:
        return interruption.run(runner, work)
