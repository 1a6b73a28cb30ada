"""Lines of rows, from the file to the results, with each way of decoding them."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from unittest import mock

from data import CONTEXT, dated, rows_of
from formulaseed import load_evaluator
from formulaseed.data import decoding, encoding
from formulaseed.data.jsonl import read_lines
from formulaseed.data.results import Failures, write_line
from formulaseed.runtime.evaluator import Evaluator
from formulaseed.runtime.running import evaluate_lines
from measure import Call, shortest
from tables import Line, table

SEED = Path(__file__).resolve().parents[1] / "tasks" / "g1a_v2" / "seed.json"
RESTAURANTS, ROWS = 400, 23
FILES = {"as they are": list, "with a date": dated}

STRICT = "json.loads with a hook for each object"
STANDARD = "json.loads, and keys counted"
OBJECTS = "msgspec, and keys counted"
TYPED = "msgspec, by the types of the seed's fields"
DECODERS: dict[str, Callable[[], Callable[[bytes], Any]]] = {
    STRICT: lambda: lambda line: json.loads(""),  # refuses every line, so that the strict reader has them all
    STANDARD: lambda: decoding._decode,
    OBJECTS: decoding.fast_decoder,
}
"""What takes the place of the fast decoder, where rows are read as objects."""


def report() -> str:
    """Measure each way of decoding lines of rows, and return the tables."""
    evaluator = load_evaluator(SEED)
    names = [STRICT, STANDARD, *([OBJECTS, TYPED] if find_spec("msgspec") else [])]
    with tempfile.TemporaryDirectory() as folder:
        paths = {kind: _file(Path(folder), kind) for kind in FILES}
        calls: dict[tuple[str, str], Call] = {
            (name, kind): partial(_evaluated, name, evaluator, path) for name in names for kind, path in paths.items()
        }
        seconds = shortest(calls, rounds=15, sample=0.0)
    lines = [
        Line(name, tuple(cell for kind in FILES for cell in _cells(seconds[name, kind], seconds[STRICT, kind])))
        for name in names
    ]
    lines += [] if TYPED in names else [Line(TYPED, ("-",) * 4, "not installed")]
    columns = [column for kind in FILES for column in (kind, "µs a row")]
    note = f"{RESTAURANTS} restaurants, {ROWS} rows each: read, checked, evaluated and written, in one process."
    return table("Rows from JSON Lines to results, by what decodes the lines", columns, lines, [note])


def _cells(seconds: float, strict: float) -> tuple[str, str]:
    return f"{seconds / strict:.2f}", f"{seconds / RESTAURANTS / ROWS * 1e6:.1f}"


def _file(folder: Path, kind: str) -> str:
    path = folder / f"{kind}.jsonl"
    with path.open("w", encoding="utf-8") as file:
        for number in range(RESTAURANTS):
            found = FILES[kind](rows_of(ROWS, number))
            write_line(file, {"business_id": f"restaurant-{number}", "context": CONTEXT, "rows": found})
    return str(path)


def _evaluated(name: str, evaluator: Evaluator, path: str) -> None:
    decoder = DECODERS.get(name, decoding.fast_decoder)
    encoder = encoding.fast_encoder if name in (OBJECTS, TYPED) else lambda: encoding._encode_by_type
    typed = evaluator.row_decoder if name == TYPED else lambda: None
    with (
        open(os.devnull, "w", encoding="utf-8") as out,
        mock.patch.object(decoding, "fast_decoder", decoder),
        mock.patch.object(encoding, "fast_encoder", encoder),
        mock.patch.object(evaluator, "row_decoder", typed),
    ):
        for result in evaluate_lines(evaluator, read_lines(path), Failures()):
            write_line(out, result)
