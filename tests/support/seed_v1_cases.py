"""Random seeds v1, and rows for them, as several tests use them.

Formulas are written from the top down, so that each is well typed: a grammar says what a number or a condition is made of.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType, SimpleNamespace
from typing import Any

from formulaseed.testing.formulas import Chooser, integers_below
from hypothesis import strategies as st

Json = dict[str, Any]

KINDS = ("none", "mild", "severe")
FIELDS: list[Json] = [
    {"name": "kind", "values": list(KINDS)},
    {"name": "n", "type": "integer"},
    {"name": "x", "type": "number"},
    {"name": "flag", "type": "boolean"},
    {"name": "cool", "type": "integer", "description": "Hides the metadata of the same name"},
]
_NAMES = [
    "a", "b", "n_mild", "SCORE", "n_extractions", "a_sum", "a_count", "SCORE_MAX", "e", "extraction", "rows", "verdict",
]  # fmt: skip
WORDS: dict[str, tuple[str, ...]] = {
    "kind": KINDS, "loop": ("e", "e", "e", "r", "x", "review", "a"), "order": ("<", ">=", "!=", "=="), "is": ("==", "!="),
    "field": ("n", "x", "cool", "stars", "review_stars", "useful", "review_useful", "funny", "year", "review_cool"),
    "extreme": ("max", "min"), "word": ("and", "or"), "year": ("2020", "2023"), "in": ("in", "not in"),
    "sure": ("+", "-", "*"), "risky": ("+", "-", "*", "/", "//", "%"), "root": ("log", "sqrt"),
    "function": ("abs", "sqrt", "round", "float"), "literal": ("0", "1", "2", "3", "0.5", "-1", "1"),
    "outside": ("context.review_count", "param.P", "len(extractions)", "{earlier}"),
    "default": ("0", "-1", "2.5", "{earlier}"), "any reviews": ("extractions", "len(extractions) > 0", "len(extractions)!=0"),
}  # fmt: skip
"""What may stand for a name in braces."""
PLAIN = {
    "row": ("{e}['{field}']", '{e}["{field}"]', "{literal}", "{outside}"),
    "row test": (
        "{e}['kind'] {is} '{kind}'", "{e}['kind'] {in} ['{kind}', 'none']", "{e}['flag']", "{e}['year'] {order} {year}",
        "2020 <= {e}['year'] < 2024",
    ),
    "number": ("1", "2", "0.5", "param.P", "context.stars", "{earlier}", "{earlier}"),
    "test": ("extractions", "not extractions", "{flag}", "{number} > 1"),
}  # fmt: skip
"""The forms of a number and of a condition, for each review and for the restaurant, which end a formula."""
DEEP = {
    "row": (
        "({row} {operator} {row})", "({row} if {row test} else {row})", "{extreme}({row}, {row})", "abs({row})",
        "int({row test})", "{rooted}",
    ),
    "row test": ("{row} {order} {row}", "({row test} {word} {row test})", "(not {row test})"),
    "number": (
        "{aggregate}", "{aggregate}", "({number} {risky} {number})", "({number} if {test} else {number})",
        "({number} {word} {number})", "{extreme}({number}, {number})", "{function}({number})",
        "({number} / len(extractions) if extractions else {number})", "-{number}",
    ),
    "test": (
        "{number} {order} {number}", "0 < {number} <= {number}", "{any or all}", "({test} {word} {test})", "(not {test})",
    ),
}  # fmt: skip
"""The forms with parts of a lower level."""
AGGREGATES = (
    "len(extractions)", "sum(1 {over})", "sum(1 {over})", "sum({row test} {over})", "len([{e} {over}])", "sum({row} {over})",
    "sum([{row} {over}])", "{extreme}(({row} {over}), default={default})", "{extreme}([{row} {over}], default={default})",
    "{extreme}([{row} {over}] or [{default}])", "({extreme}({row} {over}) if {some} else {default})",
    "({default} if not ({some}) else {extreme}({row} {over}))",
)  # fmt: skip
SHARED = (
    "{e}['useful'] > 0", "0 < {e}['useful']", "{e}['useful'] != 0", "0 < {e}['stars'] < 10", "{e}['stars'] > 1",
    "{first} > 1", "{e}['kind'] == 'mild'", "1 / {e}['useful'] > 0.5", "10 % {e}['useful'] > 0.5", "7 // {e}['useful'] > 1",
    "log({e}['useful']) > 0.5", "sqrt({e}['n']) > 0.5", "{e}['useful'] / {first} > 1", "{e}['useful'] + {e}['stars'] > 2",
)  # fmt: skip
"""Conditions of which a seed has a few in several loops: some guard others, which can fail."""


class Formulas(Chooser):
    """Writes formulas over the steps so far."""

    def __init__(self, draw: st.DrawFn) -> None:
        super().__init__(draw)
        self.numbers: list[str] = []
        self.flags: list[str] = []
        self.shared = draw(st.lists(st.sampled_from(SHARED), min_size=1, max_size=4, unique=True))

    def write(self, kind: str, depth: int, scope: Mapping[str, str] = MappingProxyType({})) -> str:
        """Return a formula of a kind; `scope` has the forms that some names stand for."""
        is_plain = depth <= 0 or (kind.startswith("row") and self.one_in(2))
        return self.fill(self.choose(PLAIN[kind] if is_plain else DEEP[kind]), depth - 1, scope)

    def fill(self, form: str, depth: int, scope: Mapping[str, str]) -> str:
        return re.sub(r"\{([\w ]+)\}", lambda match: self.part(match[1], depth, scope), form)

    def part(self, name: str, depth: int, scope: Mapping[str, str]) -> str:
        numbers = [number for number in self.numbers if number != scope.get("e")] or ["2"]
        match name:
            case "aggregate":
                return self.aggregate(AGGREGATES, 1)
            case "any or all":
                return self.aggregate(("any({row test} {over})", "all({row test} {over})"), 1, is_safe=True)
            case "earlier":
                return self.choose(numbers)
            case "first":
                return numbers[0]
            case "flag":
                return self.choose(self.flags or ["extractions"])
            case _ if name in PLAIN:
                return self.write(name, depth, scope)
        return self.fill(scope.get(name) or self.choose(WORDS[name]), depth, scope)

    def aggregate(self, forms: Sequence[str], depth: int, *, is_safe: bool = False) -> str:
        """Return an aggregate over the reviews, which cannot fail if it is safe."""
        is_safe = is_safe or self.choose((True, False, True))
        scope = {"e": self.choose(WORDS["loop"]), "operator": "{sure}" if is_safe else "{risky}"}
        scope["rooted"] = "{row}" if is_safe else "{root}({row})"
        if not is_safe and self.one_in(2):
            shared = self.draw(st.permutations(self.shared))[: 1 + self.draw(integers_below(len(self.shared)))]
            tests = [" and ".join(self.fill(condition, 0, scope) for condition in shared)]
        else:
            tests = [self.write("row test", depth, scope) for _ in range(self.choose((0, 1, 1, 2)))]
        scope["over"] = f"for {scope['e']} in extractions" + "".join(f" if {test}" for test in tests)
        scope["some"] = f"len([1 {scope['over']}]) > 0" if tests else "{any reviews}"
        return self.fill(self.choose(forms), depth, scope)

    def step(self, name: str) -> str:
        """Return a step's formula, and let later ones use the step."""
        kind = self.choose(("aggregate", "number", "number", "number", "flag", "text"))
        if kind == "flag":
            condition = self.write("test", 2) if self.one_in(2) else self.fill("{number} < {number}", 1, {})
            self.flags.append(name)
            return f"True if {condition} else False"
        if kind == "text":
            return self.fill("'low' if {test} else ('mid' if {number} > 2 else 'high')", 2, {})
        formula = self.aggregate(AGGREGATES, 2) if kind == "aggregate" else self.write("number", 3)
        self.numbers.append(name)
        return formula


@st.composite
def v1_seeds(draw: st.DrawFn, *, max_steps: int = 5) -> Json:
    """Seeds v1 that can be evaluated, though not for all rows."""
    formulas = Formulas(draw)
    names = draw(st.lists(st.sampled_from(_NAMES), min_size=1, max_size=max_steps, unique=True))
    return {
        "task_name": "Older",
        "parameters": {"P": {"type": "integer", "default": 2}},
        "extraction_fields": FIELDS,
        "extraction_prompt": "{review_text}",
        "compute_dag": [{"name": name, "formula": formulas.step(name)} for name in names],
        "output_fields": names,
    }


def _halves(low: int, high: int) -> st.SearchStrategy[float]:
    return st.integers(2 * low, 2 * high).map(lambda n: n / 2)


_EXTRACTIONS = st.fixed_dictionaries({
    "kind": st.sampled_from(KINDS), "n": st.integers(-3, 5), "x": _halves(-2, 4), "flag": st.booleans(),
    "cool": st.integers(0, 3),
})  # fmt: skip
_METADATA = st.fixed_dictionaries({
    "stars": _halves(1, 5), "useful": st.integers(0, 4), "funny": st.integers(0, 2), "cool": st.integers(5, 9),
    "year": st.integers(2018, 2026),
})  # fmt: skip
_ROWS = st.lists(st.fixed_dictionaries({"extraction": _EXTRACTIONS, "meta": _METADATA}), max_size=5)
_CONTEXTS = st.fixed_dictionaries({"review_count": st.integers(0, 9), "stars": _halves(0, 5)})
v1_inputs = st.tuples(_ROWS, _CONTEXTS)
"""Rows and a context."""


def python_scope(rows: list[Json], context: Json) -> Json:
    """What `eval` finds in a formula, as the two-phase design has it; metadata beside the extraction's fields."""
    extractions = []
    for row in rows:
        meta = {**row["meta"], **{f"review_{name}": value for name, value in row["meta"].items()}}
        extractions.append({**meta, **row["extraction"]})
    return {"extractions": extractions, "context": SimpleNamespace(**context), "param": SimpleNamespace(P=2)}
