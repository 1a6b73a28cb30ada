"""`formulaseed demo`."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import click

from formulaseed.cli.output import reported, say, show
from formulaseed.data.jsonl import read_contexts, read_lines
from formulaseed.data.records import RestaurantRecord
from formulaseed.data.results import Result
from formulaseed.diagnostics.render import aligned, summary
from formulaseed.extractors.base import fields_of
from formulaseed.extractors.recorded import RecordedExtractor
from formulaseed.loading import FormulaSeed, compile_seed, load_seed
from formulaseed.resources import resource_folder
from formulaseed.runtime.evaluator import Evaluator
from formulaseed.runtime.extracting import RunOptions
from formulaseed.runtime.loading import module_from_source
from formulaseed.runtime.running import run
from formulaseed.source.text import one_line

_VERDICT, _SCORE = "VERDICT", "FINAL_RISK_SCORE"
_WHY = ("N_TOTAL_INCIDENTS", "TRUST_SCORE", "INCIDENT_IMPACT", "TRUST_IMPACT", "CUISINE_IMPACT", "POSITIVE_CREDIT")
_COUNTS = ("N_SEVERE", "N_MODERATE", "N_MILD", "N_BETRAYAL", "N_POSITIVE")
_QUOTE = 150


@click.command("demo")
def demo() -> None:
    """Run the whole pipeline on the examples: compile a task, show the module, run it, explain a verdict."""
    started = time.perf_counter()
    seed_path = resource_folder("tasks") / "g1a_v2" / "seed.json"
    contexts = resource_folder("examples") / "contexts.jsonl"
    extractions = resource_folder("examples") / "extractions-g1a_v2.jsonl"
    seed = load_seed(seed_path)
    source = compile_seed(seed)
    show(f"\n1. Compile {_short(seed_path)} ({seed.task_name}, {len(seed.program.steps)} steps)\n")
    warnings = summary(seed.diagnostics)
    show(f"   {len(source.splitlines())} lines of Python; {warnings or 'no warnings'}")
    show("\n2. The module, from where the trust score is computed\n")
    show(_excerpt(source))
    show(f"\n3. Run it on the restaurants of {_short(contexts)}, with recorded extractions\n")
    results, texts = _results(seed, source, contexts, extractions)
    show(_table(results))
    worst = max(results, key=lambda result: result.steps[_SCORE] if result.steps else 0)
    show(f"\n4. Why {worst.name} got its verdict\n")
    show(_why(worst, texts))
    say("")
    show(f"What was extracted is in {_short(extractions)}; `formulaseed run --extractor` says who else can extract.")
    show(f"{time.perf_counter() - started:.1f} s, no network, no model.")
    sys.stdout.flush()


def _short(path: Path) -> str:
    return "/".join(path.parts[-3:] if path.parts[-3] == "tasks" else path.parts[-2:])


def _excerpt(source: str) -> str:
    lines = source.splitlines()
    first = next(i for i, line in enumerate(lines) if line.lstrip().startswith("for incident_severity"))
    last = next(i for i, line in enumerate(lines) if line.lstrip().startswith("mild_weight ="))
    return "\n".join(lines[first:last])


def _results(seed: FormulaSeed, source: str, contexts: Path, extractions: Path) -> tuple[list[Result], dict[str, str]]:
    evaluator = Evaluator(module_from_source(source, "demo"))
    extractor = RecordedExtractor(fields_of(seed.program), read_lines(str(extractions)))
    restaurants = list(read_contexts(read_lines(str(contexts))))
    known = (found for _, found, _ in restaurants if isinstance(found, RestaurantRecord))
    texts = {review.review_id: review.text for found in known for review in found.reviews}
    with reported() as failures:
        return list(run(evaluator, extractor, restaurants, RunOptions(trace=True), failures)), texts


def _table(results: list[Result]) -> str:
    rows: list[tuple[str, ...]] = [("restaurant", "reviews", "relevant", "incidents", "trust", "risk", "verdict")]
    for result in sorted(results, key=lambda r: -r.output[_SCORE] if r.output else 0):
        if result.output is not None and result.reviews is not None:
            name, reviews, output = result.name or result.business_id, result.reviews, result.output
            counts = (reviews.total, reviews.relevant, output["N_TOTAL_INCIDENTS"])
            scores = (f"{output['TRUST_SCORE']:.2f}", f"{output[_SCORE]:.2f}", output[_VERDICT])
            rows.append((name, *map(str, (*counts, *scores))))
    return "\n".join(f"   {line}" for line in aligned(rows).split("\n"))


def _why(result: Result, texts: dict[str, str]) -> str:
    steps, evidence = result.steps or {}, result.evidence or {}
    lines = [f"   {steps[_VERDICT]}: risk {steps[_SCORE]:.2f} of 20"]
    shown = {name: f"{value:.3f}" if isinstance(value, float) else value for name, value in steps.items()}
    lines += [f"   {name:<18} {shown[name]}" for name in _WHY]
    for name in _COUNTS:
        for review_id in evidence.get(name, [])[:2]:
            text = one_line(texts.get(review_id, ""))
            quote = text if len(text) <= _QUOTE else f"{text[:_QUOTE].rstrip()}…"
            lines += ["", f"   {name}: review {review_id}", f"     “{quote}”"]
    return "\n".join(lines)
