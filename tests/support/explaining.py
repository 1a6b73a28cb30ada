"""Helps tests of explanations: the restaurants of the examples, explained, and steps of small seeds in few words."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from formulaseed import explain, load_evaluator, load_seed
from formulaseed.data.jsonl import open_lines
from formulaseed.data.results import Failures
from formulaseed.explanation.explainer import Explainer, explain_all
from formulaseed.explanation.explanation import Explanation
from formulaseed.runtime.running import read_rows
from helpers import EXAMPLES, TASKS, read_lines

Json = Any
SEED = TASKS / "g1a_v2" / "seed.json"
ROWS = EXAMPLES / "rows-g1a_v2.jsonl"
G1A = load_seed(SEED)
LINES = {line["business_id"]: line for line in read_lines(ROWS)}


@cache
def explain_line(name: str) -> Explanation:
    """Explain a restaurant of the examples."""
    return explain(G1A, LINES[name]["rows"], LINES[name]["context"], name)


def explain_run(seed: Any, lines: Sequence[Json]) -> list[Explanation]:
    """Explain all restaurants of a run, as the report does."""
    explainer = Explainer(load_seed(seed).program, load_evaluator(seed))
    failures = Failures()
    restaurants = read_rows(explainer.evaluator, open_lines(lines, "rows"), failures, None, "fail")
    return [*explain_all(explainer, restaurants, None, failures)]


def count(name: str, where: Json = None) -> Json:
    return {"name": name, "op": "count", **({} if where is None else {"where": where})}


def formula(name: str, expr: str) -> Json:
    return {"name": name, "op": "expr", "expr": expr}


def choose(name: str, rules: dict[str, Any], otherwise: object) -> Json:
    """Return a step with a rule for each condition, which is given with its result."""
    listed = [{"when": condition, "then": result} for condition, result in rules.items()]
    return {"name": name, "op": "case", "rules": [*listed, {"else": otherwise}]}


def make_seed(compute: list[Json], *output: str, fields: list[Json] | None = None, **sections: Json) -> Json:
    """Return a seed with these steps, outputs, fields and other sections."""
    topic = {"name": "topic", "type": "string", "default": "none"}
    extract = {"fields": [topic] if fields is None else fields}
    return {"task_name": "Made", "extract": extract, "compute": compute, "output": [*output], **sections}


def join_words(text: str) -> str:
    """Return a wrapped text on one line."""
    return " ".join(text.split())
