"""Work in pieces on one event loop, and a Ctrl-C at any moment of it."""

from __future__ import annotations

import asyncio
import signal

import pytest
from formulaseed.llm.interruption import Interrupted, Interruption, run_interruptibly


async def answer(value: int, ticks: int = 0) -> int:
    for _ in range(ticks):
        await asyncio.sleep(0)
    return value


async def raise_and_wait(number: int) -> None:
    signal.raise_signal(number)
    await asyncio.sleep(10)


def test_a_task_continues_while_others_run() -> None:
    with asyncio.Runner() as runner:
        task = runner.get_loop().create_task(answer(1, ticks=3))
        assert run_interruptibly(runner, answer(2, ticks=1)) == 2
        assert not task.done()
        assert run_interruptibly(runner, answer(3, ticks=5)) == 3
        assert task.result() == 1


@pytest.mark.parametrize("ticks", range(6))
def test_a_ctrl_c_at_any_moment_leaves_the_loop_usable(ticks: int) -> None:
    """Before the work ends, in the very step in which it does, and afterwards."""

    def interrupt(remaining: int) -> None:
        if remaining:
            asyncio.get_running_loop().call_soon(interrupt, remaining - 1)
        else:
            signal.raise_signal(signal.SIGINT)

    async def work() -> None:
        asyncio.get_running_loop().call_soon(interrupt, ticks)
        await answer(1, ticks=2)

    with asyncio.Runner() as runner:
        other = runner.get_loop().create_task(answer(7, ticks=20))
        with pytest.raises(KeyboardInterrupt):  # noqa: PT012
            run_interruptibly(runner, work())
            run_interruptibly(runner, answer(1, ticks=20))
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        assert run_interruptibly(runner, answer(2, ticks=30)) == 2
        assert other.result() == 7


@pytest.mark.parametrize("again", [False, True])
def test_a_ctrl_c_cancels_and_waits_for_the_clean_up(again: bool) -> None:
    """A second one does not wait."""
    cleaned_up = False

    async def work() -> None:
        nonlocal cleaned_up
        try:
            await raise_and_wait(signal.SIGINT)
        finally:
            await asyncio.sleep(0)
            if again:
                signal.raise_signal(signal.SIGINT)
            cleaned_up = True

    with asyncio.Runner() as runner, pytest.raises(KeyboardInterrupt):
        run_interruptibly(runner, work())
    assert cleaned_up is not again


def test_an_error_of_the_work_is_raised() -> None:
    async def work() -> None:
        raise LookupError("nothing there")

    with asyncio.Runner() as runner, pytest.raises(LookupError, match="nothing there"):
        run_interruptibly(runner, work())


def test_a_handler_of_the_program_is_called() -> None:
    signals: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: signals.append(number))

    async def work() -> int:
        signal.raise_signal(signal.SIGINT)
        return 1

    try:
        with asyncio.Runner() as runner:
            assert run_interruptibly(runner, work()) == 1
    finally:
        signal.signal(signal.SIGINT, before)
    assert signals == [signal.SIGINT]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_between_two_pieces_of_work_is_raised(number: signal.Signals) -> None:
    """Also one that would end the process; work inside handles its signals, and gives them back."""
    before = signal.getsignal(number)
    with Interruption(), asyncio.Runner() as runner:
        for _ in range(2):
            with Interruption() as inner, pytest.raises(Interrupted):
                inner.run(runner, raise_and_wait(number))
            with pytest.raises(Interrupted) as caught:
                signal.raise_signal(number)
            assert caught.value.status == 128 + number
    assert signal.getsignal(number) is before
