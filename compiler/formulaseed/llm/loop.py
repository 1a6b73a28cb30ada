"""An event loop for work in pieces, which a Ctrl-C cancels in an orderly way.

asyncio's own runner may raise KeyboardInterrupt inside a task other than the one that is waited for; the loop is then
unusable, and cleanup does not run.
"""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Coroutine
from types import FrameType, TracebackType
from typing import Any, TypeVar

_Result = TypeVar("_Result")


class InterruptibleLoop:
    """Runs one coroutine after another; tasks that they have started go on while the next one runs."""

    def __init__(self) -> None:
        self._runner = asyncio.Runner()

    def __enter__(self) -> InterruptibleLoop:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Cancel what is still running."""
        self._runner.close()

    def start(self, work: Coroutine[Any, Any, _Result]) -> asyncio.Task[_Result]:
        """Start a coroutine without waiting for it."""
        return self._runner.get_loop().create_task(work)

    def run(self, work: Coroutine[Any, Any, _Result]) -> _Result:
        """Run a coroutine. A Ctrl-C cancels it and is raised when it has ended; a second one is raised at once."""
        loop, task = self._runner.get_loop(), self.start(work)
        is_interrupted = False

        def interrupt(number: int, frame: FrameType | None) -> None:
            nonlocal is_interrupted
            if is_interrupted:
                raise KeyboardInterrupt
            is_interrupted = True
            loop.call_soon_threadsafe(task.cancel)

        listens = (
            threading.current_thread() is threading.main_thread()
            and signal.getsignal(signal.SIGINT) is signal.default_int_handler
        )
        if listens:
            signal.signal(signal.SIGINT, interrupt)
        try:
            return loop.run_until_complete(task)
        finally:
            if listens:
                signal.signal(signal.SIGINT, signal.default_int_handler)
            if is_interrupted:
                raise KeyboardInterrupt
