"""Random seeds v1, and rows for them, as several tests use them.

Formulas are written from the top down, so that each is well typed: what is wanted is known before how it is made.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from formulaseed.testing.formulas import Chooser
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
_ROW_NUMBERS = ("n", "x", "cool", "stars", "review_stars", "useful", "review_useful", "funny", "year", "review_cool")
_NAMES = [
    "a", "b", "n_mild", "SCORE", "n_extractions", "a_sum", "a_count", "SCORE_MAX", "e", "extraction", "rows", "verdict",
]  # fmt: skip
_VARIABLES = ("e", "e", "e", "r", "x", "review", "a")


class Formulas(Chooser):
    """Writes formulas over the steps so far; those named `safe` cannot fail."""

    def __init__(self, draw: st.DrawFn) -> None:
        super().__init__(draw)
        self.numbers: list[str] = []
        self.flags: list[str] = []

    def one_of(self, *choices: Any) -> Any:
        return self.choose(choices)

    # --- for each review

    def field(self, loop: str, name: str) -> str:
        quote = self.one_of("'", '"')
        return f"{loop}[{quote}{name}{quote}]"

    def row_number(self, loop: str, depth: int, safe: bool) -> str:
        plain: list[Callable[[], str]] = [
            lambda: self.field(loop, self.one_of(*_ROW_NUMBERS)),
            lambda: self.field(loop, self.one_of(*_ROW_NUMBERS)),
            lambda: self.one_of("0", "1", "2", "3", "0.5", "-1", "1"),
            lambda: self.one_of("context.review_count", "param.P", "len(extractions)", *self.named(self.numbers, loop)),
        ]
        if depth <= 0:
            return str(self.one_of(*plain)())
        number = lambda: self.row_number(loop, depth - 1, safe)  # noqa: E731
        condition = lambda: self.row_condition(loop, depth - 1, safe)  # noqa: E731
        operator = self.one_of("+", "-", "*", *(() if safe else ("/", "//", "%")))
        larger: list[Callable[[], str]] = [
            lambda: f"({number()} {operator} {number()})",
            lambda: f"({number()} if {condition()} else {number()})",
            lambda: f"{self.one_of('max', 'min')}({number()}, {number()})",
            lambda: f"abs({number()})",
            lambda: f"int({condition()})",
            lambda: number() if safe else f"{self.one_of('log', 'sqrt')}({number()})",
        ]
        return str(self.one_of(*plain, *larger)())

    def row_condition(self, loop: str, depth: int, safe: bool) -> str:
        kind = self.field(loop, "kind")
        plain: list[Callable[[], str]] = [
            lambda: f"{kind} {self.one_of('==', '!=')} '{self.one_of(*KINDS)}'",
            lambda: f"{kind} {self.one_of('in', 'not in')} ['{self.one_of(*KINDS)}', 'none']",
            lambda: self.field(loop, "flag"),
            lambda: f"{self.field(loop, 'year')} {self.one_of('>=', '<', '==', '!=')} {self.one_of('2020', '2023')}",
            lambda: f"2020 <= {self.field(loop, 'year')} < 2024",
        ]
        if depth <= 0:
            return str(self.one_of(*plain)())
        number = lambda: self.row_number(loop, depth - 1, safe)  # noqa: E731
        condition = lambda: self.row_condition(loop, depth - 1, safe)  # noqa: E731
        larger: list[Callable[[], str]] = [
            lambda: f"{number()} {self.one_of('<', '>=', '!=', '==')} {number()}",
            lambda: f"({condition()} {self.one_of('and', 'or')} {condition()})",
            lambda: f"(not {condition()})",
        ]
        return str(self.one_of(*plain, *larger)())

    def named(self, names: list[str], loop: str | None = None) -> list[str]:
        return [name for name in names if name != loop]

    # --- for the restaurant

    def loop(self, element: str, conditions: int, depth: int, safe: bool) -> tuple[str, str]:
        """`element for e in extractions if …`, and its conditions alone."""
        variable = self.one_of(*_VARIABLES)
        written = {"1": "1", "e": variable}.get(element, "")
        if element == "number":
            written = self.row_number(variable, depth, safe)
        elif element == "condition":
            written = self.row_condition(variable, depth, safe)
        tests = "".join(f" if {self.row_condition(variable, depth, safe)}" for _ in range(conditions))
        return f"{written} for {variable} in extractions{tests}", f"for {variable} in extractions{tests}"

    def aggregate(self, depth: int) -> str:
        safe = self.one_of(True, False, True)
        tests = self.one_of(0, 1, 1, 2)
        form = self.one_of("count", "count", "sum", "sum", "flags", "len", "list", "extreme", "guarded")
        if form == "len":
            return "len(extractions)"
        if form == "count":
            return f"sum({self.loop('1', tests, depth, safe)[0]})"
        if form == "flags":
            return f"sum({self.loop('condition', tests, depth, safe)[0]})"
        if form == "list":
            return f"len([{self.loop('e', tests, depth, safe)[0]}])"
        over, where = self.loop("number", tests, depth, safe)
        if form == "sum":
            return f"sum({self.one_of('{}', '[{}]').format(over)})"
        name = self.one_of("max", "min")
        if form == "extreme":
            default = self.one_of("0", "-1", "2.5", *self.numbers[-1:])
            return str(self.one_of(
                f"{name}(({over}), default={default})", f"{name}([{over}], default={default})", f"{name}([{over}] or [{default}])"
            ))  # fmt: skip
        guard = (
            f"len([1 {where}]) > 0"
            if tests
            else self.one_of("extractions", "len(extractions) > 0", "len(extractions)!=0")
        )
        other = self.one_of("0", "-2", *self.numbers[-1:])
        if self.one_of(True, False):
            return f"({name}({over}) if {guard} else {other})"
        return f"({other} if not ({guard}) else {name}({over}))"

    def number(self, depth: int) -> str:
        if depth <= 0:
            return str(self.one_of("1", "2", "0.5", "param.P", "context.stars", *self.numbers, *self.numbers))
        number = lambda: self.number(depth - 1)  # noqa: E731
        condition = lambda: self.condition(depth - 1)  # noqa: E731
        forms: list[Callable[[], str]] = [
            lambda: self.aggregate(1),
            lambda: self.aggregate(1),
            lambda: f"({number()} {self.one_of('+', '-', '*', '/', '//', '%')} {number()})",
            lambda: f"({number()} if {condition()} else {number()})",
            lambda: f"({number()} {self.one_of('and', 'or')} {number()})",
            lambda: f"{self.one_of('max', 'min')}({number()}, {number()})",
            lambda: f"{self.one_of('abs', 'sqrt', 'round', 'float')}({number()})",
            lambda: f"({number()} / len(extractions) if extractions else {number()})",
            lambda: f"-{number()}",
        ]
        return str(self.one_of(*forms)())

    def condition(self, depth: int) -> str:
        if depth <= 0:
            return str(self.one_of("extractions", "not extractions", *self.flags, f"{self.number(0)} > 1"))
        condition = lambda: self.condition(depth - 1)  # noqa: E731
        forms: list[Callable[[], str]] = [
            lambda: f"{self.number(depth - 1)} {self.one_of('<', '>=', '==', '!=')} {self.number(depth - 1)}",
            lambda: f"0 < {self.number(depth - 1)} <= {self.number(depth - 1)}",
            lambda: f"{self.one_of('any', 'all')}({self.loop('condition', self.one_of(0, 0, 1), 1, True)[0]})",
            lambda: f"({condition()} {self.one_of('and', 'or')} {condition()})",
            lambda: f"(not {condition()})",
        ]
        return str(self.one_of(*forms)())

    def step(self, name: str) -> str:
        kind = self.one_of("aggregate", "number", "number", "number", "flag", "text")
        if kind == "flag":
            formula = (self.one_of(True, False) and self.condition(2)) or f"{self.number(1)} < {self.number(1)}"
            formula = formula if formula not in ("extractions",) else "not extractions"
            formula = f"not (not {formula})" if "extractions and" in formula or "extractions or" in formula else formula
            formula = f"True if {formula} else False"
            self.flags.append(name)
        elif kind == "text":
            formula = f"'low' if {self.condition(2)} else ('mid' if {self.number(1)} > 2 else 'high')"
        else:
            formula = self.aggregate(2) if kind == "aggregate" else self.number(3)
            self.numbers.append(name)
        return str(formula)


@st.composite
def v1_seeds(draw: st.DrawFn, *, max_steps: int = 5) -> Json:
    """Seeds v1 that can be evaluated, though not for all rows."""
    formulas = Formulas(draw)
    names = draw(st.lists(st.sampled_from(_NAMES), min_size=1, max_size=max_steps, unique=True))
    steps = [{"name": name, "formula": formulas.step(name)} for name in names]
    return {
        "task_name": "Older",
        "parameters": {"P": {"type": "integer", "default": 2}},
        "extraction_fields": FIELDS,
        "extraction_prompt": "{review_text}",
        "compute_dag": steps,
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
