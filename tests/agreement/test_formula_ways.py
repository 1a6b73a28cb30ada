"""Formulas at random, two ways: the generated module and the reference interpreter agree on every value and every error."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any

import pytest
from formulaseed import DataError, EvaluationError, pipeline
from formulaseed.documents import analyse_formula, analyse_rules, load_reference
from formulaseed.ir import nodes
from formulaseed.pipeline import require_valid
from formulaseed.reference.evaluation import evaluate_steps, nest_values, select_steps
from formulaseed.runtime.loading import module_from_source
from helpers import EXAMPLES, IS_DEEP, formulaseed, write_json

REFERENCE = EXAMPLES / "formula_reference.json"
BATCH = 400 if IS_DEEP else 120
FIELDS = ("ram_gb", "listing.price_usd", "primary_storage_gb", "price_usd")
NULLABLE = (
    "cpu.cores", "cpu.tdp_w", "secondary_storage_gb", "listing.custom_fields.warranty_months", "gpu.gpu_mark",
    "cpu.custom_fields.efficiency_rating", "primary_storage.capacity_gb",
)  # fmt: skip


class Writer:
    """Writes formulas over the example's listing: right ones, mostly, that may well fail when evaluated."""

    def __init__(self, random: Random) -> None:
        self.random = random

    def number(self, depth: int) -> str:
        pick = self.random.choice
        if depth == 0:
            return pick([*FIELDS, *NULLABLE, "0", "1", "2.5", "-3", "1e3", f"({pick(NULLABLE)} or 0)", "0.0"])
        a, b, c = self.number(depth - 1), self.number(depth - 1), self.condition(depth - 1)
        field = pick(NULLABLE)
        entity = pick(["cpu", "gpu", "primary_storage"])
        fields = {"cpu": "cpu.cores", "gpu": "gpu.gpu_mark", "primary_storage": "primary_storage.capacity_gb"}
        return pick(
            [
                f"({a} + {b})", f"({a} - {b})", f"({a} * {b})", f"({a} / {b})", f"({a} // {b})", f"({a} % {b})",
                f"({a} if {c} else {b})", f"({a} / {b} if {b} != 0 else {a})", f"max({a}, {b})", f"min({a}, {b}, 1)",
                f"abs({a})", f"clamp({a}, 0, 100)", f"round({a}, 2)", f"round({a})", f"int({c})", f"float({a})",
                f"sqrt(abs({a}))", f"sum([{a}, {b}, 1])", f"-{a}", f"floor({a})", f"({a} ** 2)", f"log(max({a}, 1))",
                f"({field} * 2 if {field} else {a})", f"({field} + {a} if {field} != None else 0)",
                f"({fields[entity]} * 2 if {entity} else {a})", f"({fields[entity]} if {entity} else {a})",
                f"(0 if {entity} == None else {fields[entity]} + {b})", f"({field} or {a})",
            ]
        )  # fmt: skip

    def condition(self, depth: int) -> str:
        pick = self.random.choice
        if depth == 0:
            return pick(
                [
                    "condition == 'new'", "condition in ['new', 'used']", "cpu", "not gpu", "cpu.cores != None",
                    "ports_profile.has_ethernet", "title == 'x'", "'x' in title", "seller == 'Ana'", "seller != None",
                    "ram_spec.ddr_generation == 'ddr5'", "ram_spec.ddr_generation in ['ddr4', 'ddr5']",
                    "listing.custom_fields.has_original_box", "cpu == None", "True",
                    "listing.custom_fields.cosmetic_grade != 'worn'",
                ]
            )  # fmt: skip
        a, b = self.number(depth - 1), self.number(depth - 1)
        c, d = self.condition(depth - 1), self.condition(depth - 1)
        return pick(
            [
                f"{a} < {b}",
                f"{a} >= {b}",
                f"{a} == {b}",
                f"0 <= {a} < {b}",
                f"({c} and {d})",
                f"({c} or {d})",
                f"not {c}",
            ]
        )

    def record(self) -> dict[str, Any]:
        """A listing in which much is missing."""
        pick, rare = self.random.choice, self.random.random
        whole, real = [0, 1, 2, 7, 64, -1, 10**6], [0.0, 0.5, 3.25, -2.0, 1e9, 1]
        cpu = {"cores": pick([*whole, None]), "tdp_w": pick([*whole, None])}
        cpu["custom_fields"] = pick([None, {"efficiency_rating": pick([*real, None])}])
        return {
            "ram_gb": pick(whole), "price_usd": pick(real), "primary_storage_gb": pick(whole), "title": pick(["x", "", "a x"]),
            "secondary_storage_gb": pick([*whole, None]), "seller": pick([None, "Ana", ""]),
            "condition": pick(["new", "refurb", "used"]), "cpu": cpu if rare() < 0.7 else None,
            "gpu": {"gpu_mark": pick([*whole, None])} if rare() < 0.6 else None,
            "primary_storage": {"capacity_gb": pick([*whole, None])} if rare() < 0.6 else None,
            "ports_profile": {"has_ethernet": pick([True, False])} if rare() < 0.6 else None,
            "ram_spec": {"ddr_generation": pick(["ddr4", "ddr5", "unknown"])} if rare() < 0.6 else None,
            "listing": {"custom_fields": {
                "warranty_months": pick([*real, None]), "has_original_box": pick([True, False]),
                "cosmetic_grade": pick([None, "mint", "worn"]),
            }},
        }  # fmt: skip


@pytest.mark.parametrize("seed", [1, 2])
def test_modules_and_interpreter_agree(seed: int, tmp_path: Path) -> None:
    """Of each formula and listing both give the same float, or both fail with the same kind; mypy finds nothing."""
    random = Random(seed)
    writer, reference = Writer(random), load_reference(REFERENCE)
    texts: list[str] = []
    tried = 0
    while len(texts) < BATCH:
        tried += 1
        text = writer.number(random.choice([1, 2, 2, 3])) if random.random() < 0.8 else writer.condition(2)
        if analyse_formula(text, reference).program is not None:
            texts.append(text)
    assert tried < 4 * BATCH, "most of what is written should be right"
    rules = [{"name": f"r{n}", "formula": text} for n, text in enumerate(texts)]
    loaded = require_valid(analyse_rules(write_json(tmp_path / "rules.json", rules), REFERENCE))
    source = pipeline.compile(loaded, formatted=False)
    module: Any = module_from_source(source, f"random_{seed}")
    programs = [select_steps(loaded.program, [step]) for step in loaded.program.steps]
    failures = 0
    for _ in range(25):
        values = writer.record()
        record = module.parse_record(values)
        for program, text in zip(programs, texts, strict=True):
            name = program.output[0]
            made = outcome(getattr(module, name), record, module.EvaluationError)
            expected = outcome(evaluate_one, program, values, EvaluationError)
            assert repr(made) == repr(expected), (text, values)
            failures += isinstance(made, str)
    assert 0 < failures < 25 * BATCH
    path = tmp_path / "made.py"
    path.write_text(source, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), str(path)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout


def evaluate_one(program: nodes.Program, values: dict[str, Any]) -> Any:
    (value,) = evaluate_steps(program, nest_values(program, values)).values()
    return value


def outcome(function: Any, *arguments: Any) -> float | str:
    """The value, or the kind of the error; the last argument is the class of errors that have one."""
    *given, kinds = arguments
    try:
        value: float = function(*given)
    except DataError as error:
        return str(error)
    except kinds as error:
        return str(error.kind)
    return value


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (f'{{"x": {"1" * 5000}}}', "--vars: a number has too many digits"),
        ('{"x": NaN}', "--vars: not JSON: `NaN` is not a JSON number"),
        ('{"x": ' + "[" * 50_000 + "]" * 50_000 + "}", "--vars: objects and lists are nested too deep"),
        ('{"x": ', "--vars:1:7: not JSON: Expecting value"),
    ],
)
def test_values_that_cannot_be_read_are_refused_in_our_words(values: str, message: str) -> None:
    """Neither Python's limits nor its settings are what the user can change."""
    done = formulaseed("formula", "x + 1", "--vars", values)
    assert (done.status, done.err.splitlines()[-1]) == (1, f"formulaseed: {message}")
