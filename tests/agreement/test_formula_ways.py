"""Formulas at random, two ways: the generated module and the reference interpreter agree on every value and every error."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
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
from formulaseed.testing.formulas import Variable
from guarded_formulas import GuardedWriter
from helpers import EXAMPLES, IS_DEEP, command, write_json
from hypothesis import given, settings
from hypothesis import strategies as st

REFERENCE = EXAMPLES / "formula_reference.json"
ENUMS = {"condition": ("new", "refurb", "used"), "ram_spec.ddr_generation": ("ddr4", "ddr5", "unknown")}
VARIABLES = [
    *[Variable(name, "integer") for name in ("ram_gb", "primary_storage_gb")],
    *[Variable(name, "number") for name in ("listing.price_usd", "price_usd")],
    *[
        Variable(name, "number", nullable=True)
        for name in (
            "cpu.cores", "cpu.tdp_w", "secondary_storage_gb", "listing.custom_fields.warranty_months", "gpu.gpu_mark",
            "cpu.custom_fields.efficiency_rating", "primary_storage.capacity_gb",
        )
    ],
    *[Variable("title", "string"), Variable("seller", "string", nullable=True)],
    *[Variable(name, "string", values, nullable="." in name) for name, values in ENUMS.items()],
    Variable("listing.custom_fields.has_original_box", "boolean"),
    Variable("ports_profile.has_ethernet", "boolean", nullable=True),
]  # fmt: skip
_IN_ENTITIES = {"cpu": "cpu.cores", "gpu": "gpu.gpu_mark", "primary_storage": "primary_storage.capacity_gb"}


class Writer(GuardedWriter):
    """Writes formulas over the example's listing, in which an entity that is present implies its required fields."""

    numbers = (
        *GuardedWriter.numbers,
        [
            (form.format(entity, field), "")
            for form in ("{1} * 2 if {0} else {{m}}", "{1} if {0} else {{m}}", "0 if {0} == None else {1} + {{m:*}}")
            for entity, field in _IN_ENTITIES.items()
        ],
    )
    conditions = (
        *GuardedWriter.conditions,
        [("cpu", "()"), ("not gpu", "not"), ("cpu == None", "<"), ("cpu.cores != None", "<")],
    )


@st.composite
def formulas(draw: st.DrawFn) -> str:
    writer = Writer(draw, VARIABLES)
    return (writer.condition(2) if writer.one_in(5) else writer.number(draw(st.integers(1, 3)))).text


def draw_record(random: Random) -> dict[str, Any]:
    """Return a listing in which much is missing."""
    pick, rare = random.choice, random.random
    whole, real = [0, 1, 2, 7, 64, -1, 10**6], [0.0, 0.5, 3.25, -2.0, 1e9, 1]
    cpu = {"cores": pick([*whole, None]), "tdp_w": pick([*whole, None])}
    cpu["custom_fields"] = pick([None, {"efficiency_rating": pick([*real, None])}])
    return {
        "ram_gb": pick(whole), "price_usd": pick(real), "primary_storage_gb": pick(whole), "title": pick(["x", "", "a x"]),
        "secondary_storage_gb": pick([*whole, None]), "seller": pick([None, "Ana", ""]),
        "condition": pick(ENUMS["condition"]), "cpu": cpu if rare() < 0.7 else None,
        "gpu": {"gpu_mark": pick([*whole, None])} if rare() < 0.6 else None,
        "primary_storage": {"capacity_gb": pick([*whole, None])} if rare() < 0.6 else None,
        "ports_profile": {"has_ethernet": pick([True, False])} if rare() < 0.6 else None,
        "ram_spec": {"ddr_generation": pick(ENUMS["ram_spec.ddr_generation"])} if rare() < 0.6 else None,
        "listing": {"custom_fields": {
            "warranty_months": pick([*real, None]), "has_original_box": pick([True, False]),
            "cosmetic_grade": pick([None, "mint", "worn"]),
        }},
    }  # fmt: skip


def compile_rules(texts: list[str], folder: Path) -> tuple[nodes.Program, str]:
    """Return the checked program and the module of rules with these formulas."""
    rules = [{"name": f"r{place}", "formula": text} for place, text in enumerate(texts)]
    loaded = require_valid(analyse_rules(write_json(folder / "rules.json", rules), REFERENCE))
    return loaded.program, pipeline.compile(loaded, formatted=False)


@pytest.mark.thorough
def test_modules_and_interpreter_agree(tmp_path: Path) -> None:
    """For each formula and listing both return the same float, or fail with the same kind; mypy accepts the module."""
    reference = load_reference(REFERENCE)
    outcomes: Counter[str] = Counter()
    accepted: list[str] = []

    @settings(max_examples=100 if IS_DEEP else 15)
    @given(st.lists(formulas(), min_size=20, max_size=20), st.randoms(use_true_random=False))
    def agree(written: list[str], random: Random) -> None:
        texts = [text for text in written if analyse_formula(text, reference).program is not None]
        outcomes["refused"] += len(written) - len(texts)
        accepted.extend(texts)
        program, source = compile_rules(texts, tmp_path)
        module: Any = module_from_source(source, "random_rules")
        programs = [select_steps(program, [step]) for step in program.steps]
        for _ in range(15):
            values = draw_record(random)
            record = module.parse_record(values)
            for part, text in zip(programs, texts, strict=True):
                found = outcome(getattr(module, part.output[0]), record, module.EvaluationError)
                assert repr(found) == repr(outcome(evaluate_one, part, values, EvaluationError)), (text, values)
                outcomes[type(found).__name__] += 1

    agree()
    assert outcomes["refused"] < len(accepted)
    assert outcomes["str"] > 100
    assert outcomes["float"] > 1000
    source = compile_rules(accepted[-200:], tmp_path)[1]
    path = tmp_path / "rules.py"
    path.write_text(source, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), str(path)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    places = re.findall(r"^.*?rules\.py:(\d+): error:.*$", done.stdout, re.MULTILINE)
    lines = [source.splitlines()[int(place) - 1] for place in places]
    # mypy does not follow a converted value that a test has narrowed, nor what `**` returns
    assert [line for line in lines if "_float_or_null(" not in line and "**" not in line] == []


def evaluate_one(program: nodes.Program, values: dict[str, Any]) -> Any:
    (value,) = evaluate_steps(program, nest_values(program, values)).values()
    return value


def outcome(function: Any, *arguments: Any) -> float | str:
    """Return the value, or the kind of the error, whose class is the last argument, or the message of a `DataError`."""
    *inputs, kinds = arguments
    try:
        value: float = function(*inputs)
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
    done = command("formula", "x + 1", "--vars", values)
    assert (done.status, done.err.splitlines()[-1]) == (1, f"formulaseed: {message}")
