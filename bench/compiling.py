"""What compiling costs: a hundred different seeds, the phases for one of them, and seeds as large as the limits allow."""

from __future__ import annotations

import json
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from math import isfinite
from pathlib import Path
from types import ModuleType
from typing import Any

from formulaseed import documents
from formulaseed.backends.python import render, target
from formulaseed.seed import lint
from formulaseed.seed.check import program
from formulaseed.seed.read import seed
from formulaseed.source.json_reader import read_json
from formulaseed.source.text import Source
from measure import shortest
from tables import Line, table

TASKS = [
    path
    for path in sorted((Path(__file__).resolve().parents[1] / "tasks").glob("*/seed.json"))
    if path.parent.name != "g1a_v1"
]
G1A = next(path for path in TASKS if path.parent.name == "g1a_v2")
SEEDS = 100

PHASES: tuple[tuple[str, ModuleType, str], ...] = (
    ("read", documents, "read_document"),
    ("parse", seed, "lower_document"),
    ("check", program, "check_program"),
    ("lint", lint, "lint"),
    ("render", target, "render"),
    ("format", render, "format_body"),
    ("verify", target, "verify"),
)


def report() -> str:
    """Measure the compiler in one process, and return the tables."""
    return f"{_seeds()}\n{_phases()}\n{_large()}"


def _seeds() -> str:
    """Each seed's shortest of three compilations, the mean and the slowest of them; formatting for each fifth."""
    seeds = [_varied(index) for index in range(SEEDS)]
    bare = shortest({str(i): _compiling(seed, formatted=False) for i, seed in enumerate(seeds)}, rounds=3, sample=0.0)
    whole = shortest({str(i): _compiling(seeds[i], formatted=True) for i in range(0, SEEDS, 5)}, rounds=2, sample=0.0)
    lines = [
        _line(f"{len(bare)} seeds, without the formatter", list(bare.values()), "30 each at most"),
        _line(f"{len(whole)} of them, formatted", list(whole.values()), ""),
    ]
    return table("Compiling different seeds in one process, ms a seed", ["mean", "least", "most"], lines)


def _line(name: str, seconds: list[float], aim: str) -> Line:
    return Line(name, (_ms(sum(seconds) / len(seconds)), _ms(min(seconds)), _ms(max(seconds))), aim)


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:.1f}"


def _compiling(seed: dict[str, Any], *, formatted: bool) -> Callable[[], str]:
    return lambda: documents.compile_seed(seed, formatted=formatted)


def _varied(index: int) -> dict[str, Any]:
    """One of the tasks under another name and with other constants, so that no two are alike."""
    seed: dict[str, Any] = json.loads(TASKS[index % len(TASKS)].read_text(encoding="utf-8"))
    seed["task_name"] = f"{seed['task_name']} {index}"
    for step in seed["compute"]:
        if step["op"] == "const" and type(step["value"]) in (int, float):
            step["value"] += index
    return seed


def _phases() -> str:
    """G1a-v2's compilation, each phase in its shortest of several."""
    best: dict[str, float] = defaultdict(lambda: float("inf"))
    with _timed_phases() as spent:
        for _ in range(12):
            spent.clear()
            started = time.process_time()
            documents.compile_seed(G1A)
            whole = time.process_time() - started
            for name, seconds in {**spent, "plan, and the rest": whole - sum(spent.values()), "all": whole}.items():
                best[name] = min(best[name], seconds)
    names = [name for name, _, _ in PHASES] + ["plan, and the rest", "all"]
    lines = [
        Line(name, (_ms(best[name]), f"{best[name] / best['all']:.0%}") if isfinite(best[name]) else ("-", "-"))
        for name in names  # nothing is formatted where no line is too long
    ]
    return table("The phases of compiling G1a-v2", ["ms", "share"], lines)


@contextmanager
def _timed_phases() -> Iterator[dict[str, float]]:
    """Puts a clock around each phase's function; what it says is added to the dictionary by the phase's name."""
    spent: dict[str, float] = defaultdict(float)
    originals = [(module, name, getattr(module, name)) for _, module, name in PHASES]

    def timed(phase: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            started = time.process_time()
            try:
                return function(*args, **kwargs)
            finally:
                spent[phase] += time.process_time() - started

        return call

    for (phase, module, name), (_, _, function) in zip(PHASES, originals, strict=True):
        setattr(module, name, timed(phase, function))
    try:
        yield spent
    finally:
        for module, name, function in originals:
            setattr(module, name, function)


def large_seeds() -> dict[str, str]:
    """Seeds near the limits, as text: the first is accepted, the others are refused before anything is parsed."""
    return {
        "999 formulas of 100 terms, checked": _sums(999, 100),
        "1,999 formulas of 60 terms, refused": _sums(1_999, 60),
        "299 formulas of 700 terms, refused": _sums(299, 700),
        "2 MiB of formulas, refused": _sums(128, 4_000),
    }


def _sums(number: int, terms: int) -> str:
    """A seed of so many sums, each of the one before it."""
    steps: list[dict[str, str]] = [{"name": "N", "op": "count"}]
    for index in range(number):
        text = " + ".join([steps[-1]["name"], *["N"] * (terms - 1)])
        steps.append({"name": f"S{index}", "op": "expr", "expr": text})
    return json.dumps(
        {"task_name": "Large", "extract": {"fields": []}, "compute": steps, "output": [steps[-1]["name"]]}
    )


def _large() -> str:
    """Reading a seed's JSON with its places, and everything that `check` does with it."""
    lines = []
    for name, text in large_seeds().items():
        source = Source("seed.json", text)
        calls = {"read": partial(read_json, source), "check": partial(documents.analyse_text, source)}
        best = shortest(calls, rounds=3, sample=0.0)
        lines.append(Line(name, (_ms(best["read"]), _ms(best["check"])), "reading + 100" if "refused" in name else ""))
    return table("Seeds near the limits, ms", ["read JSON", "check"], lines)
