"""How many reviews a second: the lexical extractor alone, and whole runs over the example restaurants."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable
from pathlib import Path

from formulaseed import load_evaluator, load_seed
from formulaseed.data.jsonl import read_contexts, read_lines
from formulaseed.data.results import Failures, Result
from formulaseed.extractors.base import fields_of
from formulaseed.extractors.lexical import LexicalExtractor
from formulaseed.runtime.extracting import RunOptions
from formulaseed.runtime.running import evaluate_lines, run
from measure import Call, shortest
from tables import Line, table

ROOT = Path(__file__).resolve().parents[1]
SEED = ROOT / "tasks" / "g1a_v2" / "seed.json"
CONTEXTS = ROOT / "examples" / "contexts.jsonl"
ROWS = ROOT / "examples" / "rows-g1a_v2.jsonl"
TIMES = 5


def report() -> str:
    """Measure reviews a second from text to verdict, and return the table."""
    restaurants = [json.loads(line) for line in CONTEXTS.read_text(encoding="utf-8").splitlines()]
    texts = [review["text"] for restaurant in restaurants for review in restaurant["reviews"]]
    evaluator, program = load_evaluator(SEED), load_seed(SEED).program
    lexical = LexicalExtractor(fields_of(program))
    options = RunOptions(review_handling=program.review_handling)
    relevant = sum(evaluator.is_relevant(text) for text in texts)
    rows = sum(len(json.loads(line)["rows"]) for line in ROWS.read_text(encoding="utf-8").splitlines())
    with tempfile.TemporaryDirectory() as folder:
        contexts, rows_file = _repeated(CONTEXTS, folder), _repeated(ROWS, folder)
        calls: dict[str, Call] = {
            "lexical extraction, 3 enums": lambda: [lexical.values(text) for text in texts],
            "run: read, filter, extract, evaluate": lambda: _finished(
                run(evaluator, lexical, read_contexts(read_lines(contexts)), options, Failures())
            ),
            "evaluate: read, check, evaluate": lambda: _finished(
                evaluate_lines(evaluator, read_lines(rows_file), Failures())
            ),
        }
        seconds = shortest(calls, rounds=8, sample=0.0)
    done = (len(texts), TIMES * len(texts), TIMES * rows)
    lines = [
        Line(name, (f"{reviews / seconds[name]:,.0f}", f"{seconds[name] / reviews * 1e6:.0f}"))
        for name, reviews in zip(calls, done, strict=True)
    ]
    length = sum(map(len, texts)) // len(texts)
    note = f"The examples: {len(texts)} reviews, {length} characters each on average, {relevant} relevant to G1a-v2."
    return table("Throughput, one process", ["reviews/s", "µs a review"], lines, [note])


def _repeated(path: Path, folder: str) -> str:
    """A file with the same lines several times over."""
    copy = Path(folder) / path.name
    copy.write_bytes(path.read_bytes() * TIMES)
    return str(copy)


def _finished(results: Iterable[Result]) -> list[str]:
    return [json.dumps(result.to_json(), ensure_ascii=False) for result in results]
