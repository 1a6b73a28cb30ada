"""Formulas as other languages write them: syntax with a safe fix is reported at once, and the rest is read as if it was fixed.

Where the help is a rewrite, the formula that it asks for has no errors.
"""

from __future__ import annotations

import builtins
import math
import random
import time
from typing import Any

import pytest
from formulaseed.diagnostics.model import Problems
from formulaseed.documents import analyse
from formulaseed.language import ast
from formulaseed.language.check.calls import report_unknown_function
from formulaseed.language.check.scope import Facts
from formulaseed.language.functions import FUNCTIONS
from formulaseed.language.hints import FOREIGN_CALLS, FUNCTION_HELP
from formulaseed.seed.check.scope import SeedScope
from formulaseed.source.text import Source, Span
from hypothesis import given
from hypothesis import strategies as st

SEED: dict[str, Any] = {
    "task_name": "T", "parameters": {"P": {"type": "number", "default": 1.5}},
    "context": [{"name": "tier", "type": "integer", "nullable": True}],
    "extract": {"fields": [{"name": "noise", "type": "enum", "values": ["quiet", "lots"]}]},
    "compute": [{"name": "F", "op": "define_filter", "extraction": {"noise": "lots"}}, {"name": "N", "op": "count"},
                {"name": "M", "op": "count", "where": {"$F": True}}],
}  # fmt: skip


def reported(formula: str, per_review: bool = False, severity: str = "error") -> list[tuple[str, str]]:
    """What is underlined of a formula, and the help, for each problem."""
    step = {"name": "X", "op": "sum" if per_review else "expr", "expr": formula}
    diagnostics = analyse({**SEED, "compute": [*SEED["compute"], step], "output": ["M", "X"]}).diagnostics
    problems = [d for d in diagnostics if d.severity == severity and d.pointer.startswith("/compute/3")]
    return [(d.span.source.text[d.span.start : d.span.end], d.help) for d in problems]


FIXED: dict[str, tuple[dict[str, str], str]] = {
    "2 × N if N ≥ 4 && N = 5 else “x”": (
        {"×": "write `*`", "≥": "write `>=`", "&&": "write `and`", "=": "write `==` to compare"},
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
    "1 if ! (N > 1) || N ! = 3 else 0": ({"!": "write `not`"}, "1 if not (N > 1) or N != 3 else 0"),
    "1 IF N > 0 AND M > 1 ELSE 0": (
        {"IF": "write `if`", "AND": "write `and`", "ELSE": "write `else`"}, "1 if N > 0 and M > 1 else 0",
    ),
    "N mod 2 + N ^ 2": ({"mod": "write `%` for the remainder"}, "N % 2 + N ** 2"),
    "1 if context.tier IS NOT NULL and context.tier is not 3 or context.tier is None else 0": (
        {"IS NOT NULL": "write `!= None`"},
        "1 if context.tier != None and context.tier != 3 or context.tier == None else 0",
    ),
    "1 if N is None else 0": ({"is None": "write `== None`"}, "1 if N == None else 0"),
    "1 if N = = 3 or N ~= M else 0": ({"= =": "write `==`", "~=": "write `!=`"}, "1 if N == 3 or N != M else 0"),
    "=(context.tier ?? 0) * 2": ({"=": "remove it"}, "(context.tier or 0) * 2"),
    "1,000 * N # thousands": ({"1,000": "write 1000"}, "1000 * N"),
}  # fmt: skip
"""A formula, what is reported of it, and how it is written here."""


@pytest.mark.parametrize("formula", FIXED)
def test_foreign_syntax_is_reported_up_to_the_first_without_a_safe_fix(formula: str) -> None:
    """Each sign with its help; behind safe fixes also other errors. The formula that the help asks for has none."""
    helps, fixed = FIXED[formula]
    assert (dict(reported(formula)), reported(fixed)) == (helps, [])


BROKEN = {
    "1 if N ≥ 3 { N <> 2 “a && b”": ["≥", "{"], "N ? M & 1 : 'a": ["?"], "qualité + naïve ≤ 3": ["é"], "N & & M": ["&"],
    "1 if 'a\\q && b' == context.name && N else 0": ["\\q"], "N ≥": ["≥"], "if (N > 0) 1 else 0": ["if"],
    "IF(N > 0; 1; 0 ≥ M)": [";"], "IF(N > 0, 1, 0) × 3": ["IF", "×"], "if(N > 0, 1, 0) × 3": ["if"],
    "SELECT COUNT(*) FROM reviews": ["SELECT"], "&& " * 20: ["&&"],
}  # fmt: skip
"""A formula that cannot be read to its end, and what is underlined: hints, and the fault that it breaks off at."""


@pytest.mark.parametrize("formula", BROKEN)
def test_a_formula_is_reported_up_to_the_fault_that_cannot_be_read(formula: str) -> None:
    """A replacement brings no fault of its own, and nothing is guessed behind the fault."""
    assert [underlined.replace("\\\\", "\\") for underlined, _ in reported(formula)] == BROKEN[formula]


def test_much_foreign_syntax_is_reported_soon() -> None:
    for sign in ("≥", " && N", "é", "“a” ", "N <> ", "=", "!", "if(", "( × "):
        start = time.process_time()
        assert reported((sign * 16_384)[:16_000])
        assert time.process_time() - start < 3.0


CALLS = {
    "AND(N > 1, M > 2, N < 5)": "N > 1 and M > 2 and N < 5", "NOT(N > 1 and M > 1)": "not (N > 1 and M > 1)",
    "xor(N > 1, M > 1)": "(N > 1) != (M > 1)", "isnull(context.tier)": "context.tier == None",
    "pd.notna(context.tier)": "context.tier != None", "contains(context.name, 'Thai')": "'Thai' in context.name",
    "BETWEEN(N, 1, 5)": "1 <= N <= 5", "IF(N > 0 or M > 0, N, M + 1)": "N if N > 0 or M > 0 else M + 1",
    "IFNULL(context.tier, 2)": "coalesce(context.tier, 2)", "NVL(context.stars, 3)": "coalesce(context.stars, 3)",
    "ln(N + 1)": "log(N + 1)", "lg(N + 1)": "log(N + 1) / log(10)", "mod(N + 1, 3)": "(N + 1) % 3",
    "np.square(-N)": "(-N) ** 2", "greatest(N, M, 3)": "max(N, M, 3)", "clip(N, 0, 5)": "clamp(N, 0, 5)",
}  # fmt: skip


@pytest.mark.parametrize("call", CALLS)
def test_a_call_is_rewritten(call: str) -> None:
    """The help says what to write with the call's own arguments, and that has no errors."""
    name, is_value = call.partition("(")[0], "> 1" not in call and "context" not in call and "BETWEEN" not in call
    for text in (call, CALLS[call]):
        errors = reported(text if is_value or "IF" in call or "NVL" in call else f"1 if {text} else 0")
        assert errors == ([(name, f"write `{CALLS[call]}`")] if text == call else [])


def test_a_function_of_python_is_not_taken_for_one_of_ours() -> None:
    """No function of Python's, nor one that the tables have, is met with a near name of ours."""
    foreign = {call.partition("(")[0] for call in FOREIGN_CALLS} | FUNCTION_HELP.keys()
    names = {*filter(str.islower, [*dir(builtins), *dir(math)]), *foreign} - {*FUNCTIONS}
    assert len(names) > 200
    for name in sorted(names - {"and", "or", "not", "if"}):
        problems, span = Problems(), Span(Source("", name), 0, len(name))
        report_unknown_function(SeedScope(problems, {}, {}, {}, {}, frozenset()), ast.Name(span, name), (), Facts())
        (problem,) = problems.sorted()
        assert problem.help
        assert not problem.help.startswith("did you mean"), name


YEAR = "declare the year in `parameters` and write `param.AS_OF_YEAR`, or write it as a number"
NO_METHODS = {
    "'{}'.format(N)": (".format", "functions are called by name, such as `max(a, b)`"),
    "$F.count()": (".count", "functions are called by name, such as `max(a, b)`"),
    "(N + 1).real": (".real", "use the value itself"),
    "datetime.now().year": ("datetime.now().year", YEAR),
    "datetime.now()": ("datetime.now", YEAR),
    "Math.max(N, 2)": ("Math.max", "write `max`"),
    "today()": ("today", YEAR),
    "count(*)": ("count(*)", "`count` is an operation: a formula uses its result by name"),
    "extraction.qualité": ("é", "names use the letters a to z, digits and `_`"),
    "extraction.été": ("été", "names use the letters a to z, digits and `_`"),
    "if(N > 0, M > 1, 0)": ("if", "write `a if condition else b`"),
    "and(N > 0, M > 1, 0)": ("and", "write `a and b`"),
    "or(N > 0, M > 1, 0)": ("or", "write `a or b`"),
}


@pytest.mark.parametrize("formula", NO_METHODS)
def test_methods_and_words_that_are_called(formula: str) -> None:
    """What is wrong is reported of the method, the clock, the letter or the word, not of the dot before it."""
    assert reported(formula) == [NO_METHODS[formula]]


ELSEWHERE = {
    "!=": ("≠", "<>", "!=="), ">=": ("≥",), "<=": ("≤",), "==": ("===", "= ="), "*": ("×", "·"),
    "/": ("÷",), "-": ("−", "–"), "and": ("&&", "AND", "And"), "or": ("||", "OR"), "not": ("NOT",),
    "if": ("IF", "If"), "else": ("ELSE",), "'Thai'": ("“Thai”", "‘Thai’", "«Thai»"), "in": ("IN",),
}  # fmt: skip
"""What is written here, and how it is elsewhere."""
SOUND = (
    "1 if not N >= 3 and M <= 5 or N != 1000 else 0.5 * N",
    "N * M - 0.5 if 'Thai' in context.categories and N == M else N / 1000",
    "( N // 7 + M % 5 ) ** 2 if context.name != 'Thai' else 1 if not N == 0 else 2",
    "max( N * 0.5 , M - 1 ) if N in [ 1 , 2 ] or N == 1000 else - M",
)


@given(st.sampled_from(SOUND), st.randoms(use_true_random=False))
def test_each_sign_with_a_safe_fix_is_reported_and_nothing_else(formula: str, chosen: random.Random) -> None:
    """A sound formula in which some signs are written as elsewhere has just these errors, each at its place."""
    written, foreign = [], []
    for word in formula.split(" "):
        if word in ELSEWHERE and len(foreign) < 8 and chosen.random() < 0.4:
            word = chosen.choice(ELSEWHERE[word])
            foreign.append(word)
        written.append(word)
    assert [underlined for underlined, _ in reported(" ".join(written))] == foreign
