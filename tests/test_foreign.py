"""Formulas as other languages write them: everything foreign in one is told at once, with what to write, and that is read.

Where the help is a rewrite, the formula that it asks for has no errors.
"""

from __future__ import annotations

import time
from typing import Any

import pytest
from formulaseed.pipeline import analyse

SEED: dict[str, Any] = {
    "task_name": "T",
    "parameters": {"P": {"type": "number", "default": 1.5}},
    "context": [{"name": "tier", "type": "integer", "nullable": True}],
    "extract": {"fields": [{"name": "noise", "type": "enum", "values": ["quiet", "lots"]}]},
    "compute": [
        {"name": "F", "op": "define_filter", "extraction": {"noise": "lots"}},
        {"name": "N", "op": "count"},
        {"name": "M", "op": "count", "where": {"$F": True}},
    ],
}


def told(formula: str, per_review: bool = False, severity: str = "error") -> list[tuple[str, str]]:
    """What is underlined of a formula, and the help, for each problem."""
    step = {"name": "X", "op": "sum" if per_review else "expr", "expr": formula}
    found = analyse({**SEED, "compute": [*SEED["compute"], step], "output": ["M", "X"]})
    return [
        (d.span.source.text[d.span.start : d.span.end], d.help)
        for d in found.diagnostics
        if d.severity == severity and d.pointer.startswith("/compute/3")
    ]


MENDED: dict[str, tuple[dict[str, str], str]] = {
    "2 × N if N ≥ 4 && N = 5 else “x”": (
        {"2 × N if N ≥ 4 && N = 5 else “x”": "give both branches the same type", "×": "write `*`", "≥": "write `>=`",
         "&&": "write `and`", "=": "write `==` to compare, or give the value a step of its own", "“x”": "write `'x'`"},
        "2 * N if N >= 4 and N == 5 else 0",
    ),
    "1 if N ≥ 3 and N ≤ 5 and N ≠ 4 else 0": (
        {"≥": "write `>=`", "≤": "write `<=`", "≠": "write `!=`"}, "1 if N >= 3 and N <= 5 and N != 4 else 0",
    ),
    "1 if N > 0&&MISSING > 1 else 0": (
        {"&&": "write `and`", "MISSING": "steps defined before this one: `N`, `M`"}, "1 if N > 0 and M > 1 else 0",
    ),
    "1 if N !== 3 else 0": ({"!==": "write `!=`"}, "1 if N != 3 else 0"),
    "1 if N === 3 else 0": ({"===": "write `==` to compare"}, "1 if N == 3 else 0"),
    "1 if N => 3 else 0": ({"=>": "write `>=`"}, "1 if N >= 3 else 0"),
    "1 if N =< 3 else 0": ({"=<": "write `<=`"}, "1 if N <= 3 else 0"),
    "1 if N >== 3 else 0": ({">==": "write `>=`"}, "1 if N >= 3 else 0"),
    "1 if N <> 3 else 0": ({"<>": "write `!=`"}, "1 if N != 3 else 0"),
    "N << 1": ({"<<": "write `* 2 ** 1`"}, "N * 2 ** 1"),
    "N>>M": ({">>": "write `// 2 ** M`"}, "N // 2 ** M"),
    "1 if ! (N > 1) || N ! = 3 else 0": (
        {"!": "write `not`", "||": "write `or`", "! =": "write `!=`"}, "1 if not (N > 1) or N != 3 else 0",
    ),
    "1 IF N > 0 AND M > 1 ELSE 0": (
        {"IF": "write `if`", "AND": "write `and`", "ELSE": "write `else`"}, "1 if N > 0 and M > 1 else 0",
    ),
    "N mod 2 + N DIV 2 + N ^ 2": (
        {"mod": "write `%` for the remainder", "DIV": "write `//` for the quotient rounded down",
         "^": "write `**` for a power"},
        "N % 2 + N // 2 + N ** 2",
    ),
    "1 if context.tier IS NOT NULL and context.tier is not 3 or context.tier is None else 0": (
        {"IS NOT NULL": "write `!= None`", "is not": "write `!=`", "is None": "write `== None`"},
        "1 if context.tier != None and context.tier != 3 or context.tier == None else 0",
    ),
    "1 if N is None else 0": ({"is None": "remove the test"}, "1"),
    "1,000 * N # thousands": ({"1,000": "write 1000", "# thousands": "remove it"}, "1000 * N"),
    "Ｎ\u00a0 + １２": (
        {"Ｎ": "names use the letters a to z, digits and `_`", "\u00a0": "write a plain space", "１": "write `1`",
         "２": "write `2`"},
        "N  + 12",
    ),
}  # fmt: skip
"""A formula, what is told of it, and how it is written here."""


@pytest.mark.parametrize("formula", MENDED)
def test_all_that_is_foreign_is_told_at_once(formula: str) -> None:
    """Each sign with its help, and what is wrong besides; the formula that the help asks for has no errors."""
    helps, mended = MENDED[formula]
    assert dict(told(formula)) == helps
    assert told(mended) == []


UNMENDED = {
    "1 if N ≥ 3 { N <> 2 “a && b” 'c && d' # && e": ["≥", "{", "<>", "“a && b”", "# && e"],
    "N ? M & 1 : 'a": ["?", "&"],
    "1 if N > 1 XOR M ≥ 1 else 0": ["XOR", "≥"],
    "1 if 'a\\q && b' == context.name && N else 0": ["\\q", "&&"],
    "qualité + naïve ≤ 3": ["é", "ïve", "≤"],
    "N & & M": ["&", "&"],
    "N ≥": ["≥"],
    "SELECT COUNT(*) FROM reviews": ["SELECT"],
    "é " * 20: ["é"] * 8,
    "&& " * 20: ["&&"] * 8,
}
"""A formula that cannot be read to its end, and what is underlined."""


@pytest.mark.parametrize("formula", UNMENDED)
def test_what_is_foreign_behind_a_fault_is_told(formula: str) -> None:
    """Texts and comments hide nothing and hold nothing foreign; a replacement brings no fault; there is an end to it."""
    assert [underlined.replace("\\\\", "\\") for underlined, _ in told(formula)] == UNMENDED[formula]


def test_much_that_is_foreign_is_told_soon() -> None:
    """The longest formulas of foreign signs take no time to speak of."""
    for sign in ("≥", " && N", "é", "“a” ", "N <> ", "=", "!", "if(", "( × "):
        start = time.process_time()
        assert told((sign * 16_384)[:16_000])
        assert time.process_time() - start < 3.0
