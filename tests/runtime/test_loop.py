"""Work in pieces on one event loop, and a Ctrl-C at any moment of it."""

from __future__ import annotations

import asyncio
import signal

import pytest
from formulaseed.llm.interruption import Interrupted, Interruption, run_interruptibly


async def answered(value: int, ticks: int = 0) -> int:
    for _ in range(ticks):
        await asyncio.sleep(0)
    return value


def test_what_was_started_goes_on_while_others_run() -> None:
    with asyncio.Runner() as runner:
        task = runner.get_loop().create_task(answered(1, ticks=3))
        assert run_interruptibly(runner, answered(2, ticks=1)) == 2
        assert not task.done()
        assert run_interruptibly(runner, answered(3, ticks=5)) == 3
        assert task.result() == 1


@pytest.mark.parametrize("ticks", range(6))
def test_a_ctrl_c_at_any_moment_leaves_the_loop_usable(ticks: int) -> None:
    """Before the work ends, in the very step in which it does, and when it has."""

    def interrupt(left: int) -> None:
        if left:
            asyncio.get_running_loop().call_soon(interrupt, left - 1)
        else:
            signal.raise_signal(signal.SIGINT)

    async def work() -> None:
        asyncio.get_running_loop().call_soon(interrupt, ticks)
        await answered(1, ticks=2)

    def interrupted(runner: asyncio.Runner) -> None:
        run_interruptibly(runner, work())
        run_interruptibly(runner, answered(1, ticks=20))

    with asyncio.Runner() as runner:
        other = runner.get_loop().create_task(answered(7, ticks=20))
        with pytest.raises(KeyboardInterrupt):
            interrupted(runner)
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        assert run_interruptibly(runner, answered(2, ticks=30)) == 2
        assert other.result() == 7


def test_a_ctrl_c_cancels_and_what_is_put_in_order_then_is_waited_for() -> None:
    """A second one does not wait."""
    order: list[str] = []

    async def work(again: bool) -> None:
        try:
            signal.raise_signal(signal.SIGINT)
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0)
            if again:
                signal.raise_signal(signal.SIGINT)
            order.append("in order")

    with asyncio.Runner() as runner, pytest.raises(KeyboardInterrupt):
        run_interruptibly(runner, work(again=False))
    assert order == ["in order"]
    with asyncio.Runner() as runner, pytest.raises(KeyboardInterrupt):
        run_interruptibly(runner, work(again=True))
    assert order == ["in order"]


def test_an_error_of_the_work_is_raised() -> None:
    async def work() -> None:
        raise LookupError("nothing there")

    with asyncio.Runner() as runner, pytest.raises(LookupError, match="nothing there"):
        run_interruptibly(runner, work())


def test_another_handler_stays() -> None:
    """Where the program listens for itself, it goes on to."""
    heard: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: heard.append(number))
    try:

        async def work() -> int:
            signal.raise_signal(signal.SIGINT)
            return 1

        with asyncio.Runner() as runner:
            assert run_interruptibly(runner, work()) == 1
    finally:
        signal.signal(signal.SIGINT, before)
    assert heard == [signal.SIGINT]


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_signal_between_two_pieces_of_work_is_raised(name: str) -> None:
    """Also one that would end the process; work inside has its turn, and gives the signals back."""
    number = getattr(signal, name)
    before = signal.getsignal(number)
    with Interruption(), asyncio.Runner() as runner:
        for _ in range(2):
            with Interruption() as inner, pytest.raises(Interrupted):
                inner.run(runner, signalled(number))
            with pytest.raises(Interrupted) as found:
                signal.raise_signal(number)
            assert found.value.status == 128 + number
    assert signal.getsignal(number) is before


async def signalled(number: int) -> None:
    signal.raise_signal(number)
    await asyncio.sleep(10)
