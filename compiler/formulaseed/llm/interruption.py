"""Interrupt work on an event loop at a signal: the awaited task ends, and its cleanup can run.

SIGINT, SIGTERM and SIGHUP have the same effect; a signal that the program ignores or handles itself is left to it.
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
    """Raised for a signal of this number."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number

    @property
    def status(self) -> int:
        """The exit status of a command that the signal ends."""
        return 128 + self.number


class Interruption:
    """Listens for signals while it is entered. `number` is that of the first one, None before it.

    A signal cancels the coroutine that runs, and is raised when that has ended; a second one is raised at once, and so is any
    signal while none runs. Entered inside another one, it takes that one's place until it is left.
    """

    def __init__(self) -> None:
        self.number: int | None = None
        self._before: dict[int, Any] = {}
        self._cancel: Any = None

    def __enter__(self) -> Self:
        for number in _SIGNALS if threading.current_thread() is threading.main_thread() else ():
            before = signal.getsignal(number)
            is_ours = isinstance(getattr(before, "__self__", None), Interruption)
            if is_ours or before in (signal.SIG_DFL, signal.default_int_handler):
                self._before[number] = signal.signal(number, self._heard)
        return self

    def __exit__(self, *_: object) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)
        self._before = {}

    def run(self, runner: asyncio.Runner, work: Coroutine[Any, Any, _Result]) -> _Result:
        """Run a coroutine, while tasks that were started before go on. Raises `Interrupted`.

        `Runner.run` may stop the loop for good where a Ctrl-C comes as the coroutine ends.
        """
        loop = runner.get_loop()
        task = loop.create_task(work)
        heard: list[int] = []

        def cancel(number: int) -> None:
            if heard:
                raise Interrupted(number)
            heard.append(number)
            loop.call_soon_threadsafe(task.cancel)

        self._cancel = cancel
        try:
            return loop.run_until_complete(task)
        finally:
            self._cancel = None
            if heard:
                raise Interrupted(heard[0])

    def _heard(self, number: int, frame: FrameType | None) -> None:
        self.number = self.number or number
        if self._cancel is None:
            raise Interrupted(number)
        self._cancel(number)


def run_interruptibly(runner: asyncio.Runner, work: Coroutine[Any, Any, _Result]) -> _Result:
    """Run a coroutine that a signal ends. Raises `Interrupted`."""
    with Interruption() as interruption:
        return interruption.run(runner, work)
