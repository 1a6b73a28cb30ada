"""Define the command `demo`: it runs the whole pipeline on the examples."""

from __future__ import annotations

import contextlib
import shlex
import sys
import time
from pathlib import Path

import click

from formulaseed.cli.examples import EXAMPLES, Example
from formulaseed.cli.output import report_failures, show
from formulaseed.data.files import replace_file
from formulaseed.data.jsonl import read_contexts, read_lines
from formulaseed.diagnostics.render import format_table, summarize
from formulaseed.documents import FormulaSeed, compile_seed, load_seed
from formulaseed.explanation.explainer import Explainer, explain_all
from formulaseed.explanation.explanation import Explanation
from formulaseed.explanation.report import make_report
from formulaseed.explanation.summary import build_summary_blocks
from formulaseed.explanation.text import build_title
from formulaseed.extractors.base import fields_of
from formulaseed.extractors.recorded import RecordedExtractor
from formulaseed.pages.text import as_text
from formulaseed.resources import resource_folder
from formulaseed.runtime.evaluator import Evaluator
from formulaseed.runtime.extracting import RunOptions
from formulaseed.runtime.extracting import extract as extract_restaurants
from formulaseed.runtime.loading import module_from_source

_SCORE = "FINAL_RISK_SCORE"


@click.command("demo")
@click.argument("name", metavar="[seed|requests|draft|v1|formulas]", default="seed",
                type=click.Choice(["seed", "requests", "draft", "v1", "formulas"]))  # fmt: skip
@click.option("--out", default="formulaseed-demo", show_default=True, help="The folder for what the demo writes.",
              type=click.Path(file_okay=False))  # fmt: skip
def demo(name: str, out: str) -> None:
    """Run the whole pipeline on the examples: compile a task, show the module, run it, explain a verdict.

    Or show requests with AND and OR, a draft and an extraction (with answers written by hand in a model's place), a seed v1, or
    formulas over any domain.
    """
    started = time.perf_counter()
    if name != "seed":
        _run_commands(EXAMPLES[name], Path(out))
        show(f"\n{time.perf_counter() - started:.1f} s, no network, no model. The files are in {out}.")
        return
    seed_path = resource_folder("tasks") / "g1a_v2" / "seed.json"
    contexts = resource_folder("examples") / "contexts.jsonl"
    extractions = resource_folder("examples") / "extractions-g1a_v2.jsonl"
    seed = load_seed(seed_path)
    source = compile_seed(seed)
    show(f"\n1. Compile {_short(seed_path)} ({seed.task_name}, {len(seed.program.steps)} steps)\n")
    warnings = summarize(seed.diagnostics)
    show(f"   {len(source.splitlines())} lines of Python; {warnings or 'no warnings'}")
    show("\n2. The module, from where the trust score is computed\n")
    show(_cut_excerpt(source))
    show(f"\n3. Run it on the restaurants of {_short(contexts)}, with extractions written by hand\n")
    explanations, page = _explain_restaurants(seed, source, contexts, extractions)
    explanations.sort(key=lambda explanation: -float(explanation.outputs.get(_SCORE) or 0))
    show(_format_table(explanations))
    nearest = min((e for e in explanations if e.changes), key=lambda explanation: explanation.changes[0].number)
    show(f"\n4. Why {build_title(nearest).text}\n")
    show("\n".join(f"   {line}" for line in as_text(build_summary_blocks(nearest)).splitlines()))
    folder = Path(out)
    EXAMPLES["g1a_v2"].copy(folder)
    replace_file(folder / "report.html", page)
    replace_file(folder / "explanation.html", nearest.html)
    show(f"\n5. Pages: {folder / 'report.html'} (all restaurants), {folder / 'explanation.html'} (that one)\n")
    show(f"What was extracted is in {_short(extractions)}; `formulaseed run --extractor` says who else can extract.")
    show(f"{time.perf_counter() - started:.1f} s, no network, no model. The files are in {out}.")
    sys.stdout.flush()


def _run_commands(example: Example, folder: Path) -> None:
    """Copy an example's files to `folder`, and run its commands there, each below its text."""
    group = click.get_current_context().find_root().command
    example.copy(folder)
    if example.note:
        show(f"\n{example.note}")
    with contextlib.chdir(folder):
        for command in example.commands:
            show(f"\n$ {command}\n")
            sys.stdout.flush()
            # a command ends with an exit status of its own: 1 if it has a problem to show
            with contextlib.suppress(SystemExit):
                group.main(shlex.split(command)[1:], prog_name="formulaseed", standalone_mode=False)
            sys.stdout.flush()


def _short(path: Path) -> str:
    """Return the path of an example from the folder `tasks` or `examples`."""
    return "/".join(path.parts[-3:] if path.parts[-3] == "tasks" else path.parts[-2:])


def _cut_excerpt(source: str) -> str:
    """Return the lines of the module's source that compute the trust score."""
    lines = source.splitlines()
    first = next(i for i, line in enumerate(lines) if line.lstrip().startswith("for incident_severity"))
    last = next(i for i, line in enumerate(lines) if line.lstrip().startswith("mild_weight ="))
    return "\n".join(lines[first:last])


def _explain_restaurants(
    seed: FormulaSeed, source: str, contexts: Path, extractions: Path
) -> tuple[list[Explanation], str]:
    """Run the module `source` on the example restaurants; return each explanation, and the HTML of the report.

    Restaurants that fail are printed on standard error, and have no explanation.
    """
    explainer = Explainer(seed.program, Evaluator(module_from_source(source, "demo")))
    extractor = RecordedExtractor(fields_of(seed.program), read_lines(str(extractions)))
    with report_failures() as failures:
        restaurants = read_contexts(read_lines(str(contexts)))
        extracted = extract_restaurants(explainer.evaluator, extractor, restaurants, RunOptions(), failures)
        explanations = list(explain_all(explainer, extracted, None, failures))
        page = make_report(explainer, explanations, failures)
    return explanations, page.html


def _format_table(explanations: list[Explanation]) -> str:
    """Return a table with the scores and the verdict of each restaurant."""
    rows: list[tuple[str, ...]] = [("restaurant", "reviews", "incidents", "trust", "risk", "verdict")]
    for explanation in explanations:
        values = explanation.outputs
        name = explanation.name or explanation.business_id
        scores = (f"{values['TRUST_SCORE']:.2f}", f"{values[_SCORE]:.2f}", str(explanation.verdict))
        rows.append((name, str(explanation.reviews), str(values["N_TOTAL_INCIDENTS"]), *scores))
    return "\n".join(f"   {line}" for line in format_table(rows).splitlines())
