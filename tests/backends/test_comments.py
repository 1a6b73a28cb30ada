"""Test that comments and docstrings of modules read as sentences, also if the seed's texts end with other marks."""

from __future__ import annotations

import io
import re
import tokenize
from pathlib import Path
from typing import Any

import pytest
from formulaseed import compile_seed
from formulaseed.source.text import end_sentence, join_sentences
from helpers import ROOT

ENDS = ("", ".", "?", "!", "…")
DOUBLED = re.compile(r"[.!?…]\.(?: |$)")
"""A full stop after another mark."""


def make_seed(end: str) -> dict[str, Any]:
    """Return a seed whose descriptions end in one way, and whose formulas begin with a sign."""
    bounds = ({"minimum": 1, "maximum": 100}, {"minimum": 1}, {"maximum": 9}, {})
    parameter = {"type": "integer", "default": 3, "description": f"Used if it is unknown{end}"}
    moods = {"a": f"good{end}", "b": f"bad{end}"}
    fields = [
        {"name": "mood", "type": "enum", "description": f"How it was{end}", "values": moods},
        {"name": "tone", "type": "integer", "description": f"-1 where it was bad{end}"},
    ]
    steps = [
        {"name": "IS_BAD", "op": "define_filter", "expr": "-extraction.tone > 0 and extraction.mood == 'b'"},
        {"name": "N", "op": "count", "where": {"$IS_BAD": True}},
        {"name": "LOSS", "op": "expr", "expr": "-N * (param.P0 + param.P1 + param.P2 + param.P3)"},
        {"name": "LONG", "op": "expr", "expr": f"-N {' '.join(f'- {number} * LOSS' for number in range(2, 30))}"},
    ]
    return {
        "task_name": "T", "version": "1.0", "description": f"A policy{end}",
        "parameters": {f"P{number}": {**parameter, **some} for number, some in enumerate(bounds)},
        "extract": {"fields": fields}, "compute": steps, "output": ["LOSS", "LONG"],
    }  # fmt: skip


def find_comments(source: str) -> list[str]:
    """Return the comments and the docstrings, line by line."""
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    texts = [t.string for t in tokens if t.type == tokenize.COMMENT or '"""' in t.string]
    return [line.strip().strip('"') for text in texts for line in text.splitlines()]


@pytest.mark.parametrize("end", ENDS)
def test_a_comment_has_one_mark_at_the_end_of_a_sentence(end: str) -> None:
    """The next sentence begins after the description's own mark, or after a full stop."""
    lines = find_comments(compile_seed(make_seed(end)))
    assert [line for line in lines if DOUBLED.search(line)] == []
    for rest in ("From 1 to 100", "At least 1", "At most 9"):
        assert f"# Used if it is unknown{end or '.'} {rest}" in lines


def test_a_formula_that_begins_with_a_sign_is_shown_as_any_other() -> None:
    """Its name is before it once: as the name of the field, or of the filter."""
    source = compile_seed(make_seed("."))
    for text in (
        "    LOSS: int  # -N * (param.P0 + param.P1 + param.P2 + param.P3)\n",
        "    tone: int  # -1 where it was bad.\n", "    # -N - 2 * LOSS", "    # $IS_BAD: -extraction.tone > 0",
    ):  # fmt: skip
        assert text in source
    assert "`LOSS`" not in source


@pytest.mark.parametrize("path", sorted((ROOT / "generated").rglob("*.py")), ids=lambda path: path.stem)
def test_the_modules_of_the_project_have_such_comments(path: Path) -> None:
    """No mark is doubled, and no line names its field twice."""
    source = path.read_text(encoding="utf-8")
    assert [line for line in find_comments(source) if DOUBLED.search(line) and "..." not in line] == []
    assert re.findall(r"^ *(\w+): \w+  # `\1`:.*$", source, re.MULTILINE) == []


def test_sentences_are_joined() -> None:
    assert (end_sentence("A"), join_sentences(("A", "", "B.", "C?", "D"))) == ("A.", "A. B. C? D")
    assert join_sentences(("", "")) == ""
