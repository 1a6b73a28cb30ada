"""Extraction by a model against a server on loopback: how near its calls come to what the server allows, and memory.

The server is the tests' stand-in for the API, in a process of its own; the command runs as users run it. Calls a second
are taken from the ledger, from the first request to the last answer; the ideal is as many calls at a time as are allowed,
each as long as the server takes. Memory is the command's largest resident set.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from measure import Process, run_apart
from tables import Line, table

ROOT = Path(__file__).resolve().parents[1]
SEED = ROOT / "tasks" / "g1a_v2" / "seed.json"
KEYWORD = json.loads(SEED.read_text(encoding="utf-8"))["filter"]["keywords"][0]
CALLS, SECONDS, AT_A_TIME = 2_000, (0.2, 1.0), 64
STREAMED = (10_000, 100_000)
REVIEWS_EACH = 20

sys.path.append(str(ROOT / "tests" / "support"))
from loopback import loopback  # noqa: E402
from loopback_script import Script  # noqa: E402


@dataclass(frozen=True)
class Run:
    """What the ledger and the system say of one command."""

    calls: int
    seconds: float
    process: Process


def report() -> str:
    """Measure calls a second and memory against a server on loopback, and return the tables."""
    runs: list[tuple[Run, Run]] = []
    for delay in SECONDS:
        with tempfile.TemporaryDirectory() as folder:
            first = measured(Path(folder), CALLS, delay)
            runs.append((first, measured(Path(folder), CALLS, delay, keep=True)))
    rates = [first.calls / first.seconds for first, _ in runs]
    shares = [rate * delay / AT_A_TIME for rate, delay in zip(rates, SECONDS, strict=True)]
    more = [(first.process.cpu - again.process.cpu) / first.calls * 1e3 for first, again in runs]
    lines = [
        Line("calls a second", tuple(f"{rate:.1f}" for rate in rates)),
        Line("share of the most that is possible", tuple(f"{share:.0%}" for share in shares), "90% at least, or"),
        Line("CPU ms a call, more than the same again", tuple(f"{ms:.1f}" for ms in more), "3 at most"),
        Line("the whole command, s", tuple(f"{first.process.wall:.1f}" for first, _ in runs)),
        Line(
            "the same again, s; calls",
            tuple(f"{again.process.wall:.1f}; {again.calls}" for _, again in runs),
            "no call",
        ),
    ]
    title = f"Asking: {CALLS:,} reviews, {AT_A_TIME} at a time"
    columns = [f"answers after {delay:g} s" for delay in SECONDS]
    return "\n".join([table(title, columns, lines), memory()])


def memory() -> str:
    """Peak memory while reviews stream through, answered at once."""
    lines = []
    for count in STREAMED:
        with tempfile.TemporaryDirectory() as folder:
            run = measured(Path(folder), count, 0.0)
        cells = (
            f"{run.process.memory / 2**20:.0f}",
            f"{run.calls / run.seconds:.0f}",
            f"{run.process.cpu / run.calls * 1e3:.1f}",
        )
        lines.append(Line(f"{count:,} reviews", cells))
    return table("Asking without delay: memory", ["peak MB", "calls/s", "CPU ms a call"], lines)


def measured(folder: Path, reviews: int, delay: float, *, keep: bool = False) -> Run:
    """One run over so many reviews; `keep` the store of the run before."""
    contexts, store = folder / "contexts.jsonl", folder / "answers.sqlite"
    write(contexts, reviews)
    if not keep:
        store.unlink(missing_ok=True)
    arguments = [
        sys.executable, "-m", "formulaseed", "run", str(SEED), "--contexts", str(contexts), "--extractor", "anthropic",
        "--concurrency", str(AT_A_TIME), "--store", str(store), "--out", str(folder / "out.jsonl"),
    ]  # fmt: skip
    before = ledger(store)[0]
    with loopback(Script(delay=delay, keep=False), process=True) as server:
        environment = {**os.environ, "ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": "none"}
        process = run_apart(arguments, environment)
    calls, seconds = ledger(store)
    return Run(calls - before, seconds, process)


def ledger(store: Path) -> tuple[int, float]:
    """How many attempts there were, and the seconds from the first one's beginning to the last one's end."""
    if not store.exists():
        return 0, 0.0
    with contextlib.closing(sqlite3.connect(store)) as db:
        calls, seconds = db.execute("SELECT COUNT(*), MAX(at) - MIN(at - ms / 1000.0) FROM attempts").fetchone()
    return calls, seconds or 0.0


def write(path: Path, reviews: int) -> None:
    """Write contexts with a number of relevant reviews."""
    filler = "It was a nice evening with friends, and we will come again. " * 4
    with path.open("w", encoding="utf-8") as file:
        for first in range(0, reviews, REVIEWS_EACH):
            listed = [
                {
                    "review_id": f"{n}",
                    "stars": 4.0,
                    "useful": 1,
                    "date": "2023-01-01",
                    "text": f"{n}: {KEYWORD}. {filler}",
                }
                for n in range(first, min(first + REVIEWS_EACH, reviews))
            ]
            line = {"business_id": f"b{first}", "business": {"name": "B", "categories": "Thai"}, "reviews": listed}
            file.write(json.dumps(line) + "\n")
