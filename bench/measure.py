"""Taking times: CPU time, the shortest of many short rounds, everything that is compared in turn in each round.

Other work on the machine only ever adds time, so the shortest round is the one that says most; and what is
compared is measured in the same seconds, so that a busy minute does not fall on one of them alone.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

Call = Callable[[], Any]
Name = TypeVar("Name")


def shortest(calls: Mapping[Name, Call], *, rounds: int, sample: float = 0.002) -> dict[Name, float]:
    """CPU seconds of one call of each, the shortest of `rounds` rounds of samples of about `sample` seconds.

    With a sample of 0 each round is one call.
    """
    repeats = {name: _repeats(call, sample) if sample else 1 for name, call in calls.items()}
    best = dict.fromkeys(calls, float("inf"))
    for _ in range(rounds):
        for name, call in calls.items():
            best[name] = min(best[name], _timed(call, repeats[name]))
    return best


def children_cpu() -> float:
    """CPU seconds of the processes that were started from here and have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


@dataclass(frozen=True)
class Process:
    """What a process took: wall and CPU seconds, and the bytes of memory that it had at most."""

    wall: float
    cpu: float
    memory: int


_APART = """
import json, resource, subprocess, sys, time
started = time.perf_counter()
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
wall, used = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps([wall, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024]))
"""


def run_apart(command: Sequence[object], environment: Mapping[str, str] | None = None) -> Process:
    """Run a command from a small process: a child's memory begins with that of the one that starts it."""
    apart = [sys.executable, "-c", _APART, *map(str, command)]
    done = subprocess.run(apart, env=environment, capture_output=True, text=True, check=True)
    return Process(*json.loads(done.stdout))


def _repeats(call: Call, sample: float) -> int:
    """How often to call for a sample to take long enough; the call is warm afterwards."""
    call()
    return max(1, round(sample / max(_timed(call, 3), 1e-9)))


def _timed(call: Call, repeats: int) -> float:
    started = time.process_time()
    for _ in range(repeats):
        call()
    return (time.process_time() - started) / repeats
