"""Compare a seed with its policy for `check --policy`: read the policy and its notes, leave out the gaps that are known."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from formulaseed import limits
from formulaseed.data.documents import read_source, read_text
from formulaseed.data.files import read_bytes
from formulaseed.diagnostics.model import Diagnostic, Problems
from formulaseed.errors import SeedError
from formulaseed.pipeline import Analysis
from formulaseed.seed import citations, surface
from formulaseed.seed.read.sections import is_v1
from formulaseed.seed.task_text import read_task
from formulaseed.source.json_reader import JsonObject
from formulaseed.source.text import Source


@dataclass(frozen=True, slots=True)
class Comparison:
    """The differences between a seed and its policy that are not known, and the known gaps that are no longer there."""

    diagnostics: tuple[Diagnostic, ...]
    closed_gaps: tuple[str, ...]


def compare_with_policy(analysis: Analysis[Any, Any], policy_file: str, baseline: str | None) -> Comparison:
    """Compare a seed with the policy in a file, and with the notes beside it if there are any.

    The known gaps are those of the notes in the file `baseline`, or without one those of the notes beside the policy. Raises
    `click.UsageError` unless the document is a seed v2, `UnreadableError` and `DataError` for a policy that cannot be read, and
    `SeedError` for notes that are malformed.
    """
    tree, program = analysis.document.tree, analysis.parsed
    not_v2 = click.UsageError("--policy is for seeds with `sources`: pass a seed v2; `formulaseed migrate` makes one")
    if not isinstance(program, surface.Program) or not isinstance(tree, JsonObject) or analysis.kind.name != "seed":
        raise not_v2
    if is_v1({key.value for key in tree.names()}):
        raise not_v2
    data, _ = read_bytes(policy_file, limits.TASK_BYTES)
    policy = citations.Policy(read_task(data).sentences)
    source = Source(Path(policy_file).as_posix(), data.decode("utf-8-sig"))
    notes_file = Path(policy_file).with_name(citations.NOTES_FILE)
    notes = _read_notes(notes_file, policy) if notes_file.exists() else citations.PolicyNotes()
    known_gaps = _read_notes(Path(baseline), policy).gaps if baseline else notes.gaps
    gaps = citations.find_gaps(citations.list_citations(program, tree), policy, notes.no_rule)
    return _leave_out(citations.report_gaps(gaps, source, program.suppressions), known_gaps)


def _read_notes(path: Path, policy: citations.Policy) -> citations.PolicyNotes:
    """Read notes on a policy from a file. Raises `UnreadableError` if it cannot be opened, `SeedError` if it is malformed."""
    problems = Problems()
    source, _ = read_source(path, problems)
    document = read_text(source, path, problems)
    notes = citations.PolicyNotes()
    if document.tree is not None and not problems.has_errors:
        notes = citations.read_policy_notes(document.tree, policy, problems)
    if problems.has_errors:
        raise SeedError(problems.sorted())
    return notes


def _leave_out(findings: list[citations.Finding], known_gaps: tuple[str, ...]) -> Comparison:
    """Return the findings without the known gaps; a gap that is known once leaves out one finding."""
    remaining = Counter(known_gaps)
    diagnostics = []
    for finding in findings:
        if remaining[finding.gap] > 0:
            remaining[finding.gap] -= 1
        else:
            diagnostics.append(finding.problem)
    return Comparison(tuple(diagnostics), tuple(remaining.elements()))
