"""Test that generated modules stand alone, offer their interface, and pass every tool, whatever the seed contains."""

from __future__ import annotations

import io
import itertools
import json
import re
import shutil
import subprocess
import sys
import tokenize
from pathlib import Path
from typing import Any

import formulaseed
import pytest
from helpers import ROOT, SEEDS, write_json
from hostile_corpus import entries

OFFERS = (
    "TASK_NAME", "SEED_SHA256", "KEYWORDS", "STEPS", "OUTPUT", "Row", "Context", "Steps", "Result", "is_relevant",
    "parse_row", "parse_context", "evaluate", "trace", "evidence", "EvaluationError", "DataError",
)  # fmt: skip

# --- seeds that try to break a module by their names and texts

NAMES = (
    "class", "def", "match", "type", "_", "__", "_x", "x", "X", "__init__", "__class__", "__new__", "__slots__", "__doc__",
    "count", "index", "_fields", "_replace", "_asdict", "_make", "int", "float", "str", "bool", "list", "len", "max", "print",
    "object", "property", "rows", "row", "context", "parameters", "position", "counted", "steps", "record", "extraction",
    "meta", "math", "annotations", "Steps", "Row", "Result", "Context", "Parameters", "PARAMETERS", "OUTPUT", "STEPS",
    "TASK_NAME", "Literal", "Final", "NamedTuple", "Iterable", "Mapping", "JsonObject", "evaluate", "trace", "evidence",
    "is_relevant", "parse_row", "EvaluationError", "DataError", "_divide", "_finite", "_LARGEST", "_integer", "_Number",
    "N_x", "n_X", "n_x", "n_x_2", "value", "field", "field_2", "l", "O", "I", "self", "cls", "x" * 255,
)  # fmt: skip


TEXTS = (
    "a backslash at the end \\", "two lines\nreturn 1  # third", "braces {x} {{ y }} {% endraw %} {# z #} %s %(a)s $HOME",
    'close it""" + __import__("os").getcwd() + """', "", "# type: ignore", "x" * 3000,
)  # fmt: skip
_HOSTILE_NAMES = (
    "keywords", "builtins-that-modules-use", "builtins-of-classes", "dunders-of-classes", "mangled-in-classes", "records",
    "helpers", "offered", "locals", "imports", "short-and-long", "of-types", "numbered",
)  # fmt: skip
_HOSTILE_TEXTS = (
    "every-description-at-once", "description-type-ignore", "description-isort", "enum-value-noqa", "enum-value-type-ignore",
    "task-noqa",
)  # fmt: skip
HOSTILE = [entries()[name] for name in (*(f"names-{name}" for name in _HOSTILE_NAMES), *_HOSTILE_TEXTS)]
"""The seeds of the corpus with hostile names, and with texts that tools obey; `test_hostile` compares their values."""


ORDERS = {
    "type": "ignore", "noqa": "F401", "fmt": "off", "mypy": "ignore-errors", "pyright": "basic", "ruff": "noqa",
    "isort": "skip_file", "pylint": "disable=all", "flake8": "noqa", "nosec": "B101", "pragma": "no cover",
    "Type": "ignore", "NOQA": "",
}  # fmt: skip
"""Directives of tools, as a name and its description: the two together would be the directive."""


def orders_seed() -> dict[str, Any]:
    """Names and values that begin directives of tools, with descriptions that would complete the directives."""
    fields: list[dict[str, Any]] = [{"name": n, "type": "integer", "description": d} for n, d in ORDERS.items()]
    values = {
        "fmt_": ORDERS, "noqa_": {f"{name}:": rest for name, rest in ORDERS.items()},
        "Pyright": {name: f"{name}: {rest}" for name, rest in ORDERS.items()},
    }  # fmt: skip
    fields += [{"name": n, "type": "enum", "description": "ignore", "values": listed} for n, listed in values.items()]
    steps: list[dict[str, Any]] = [
        {"name": name, "op": "sum", "expr": f"extraction.{name} * param.{name}_",
         "where": {"extraction.fmt_": name, "extraction.noqa_": f"{name}:", "extraction.Pyright": {"!=": name}}}
        for name in ORDERS
    ]  # fmt: skip
    table = {
        "name": "noqa__",
        "op": "lookup",
        "source": "context.name",
        "table": {"noqa": 1},
        "match": "exact",
        "default": 0,
    }
    return {
        "task_name": "noqa", "description": "F401", "version": "type: ignore",
        "parameters": {f"{n}_": {"type": "integer", "default": 1, "description": d} for n, d in ORDERS.items()},
        "extract": {"fields": fields}, "compute": [*steps, table], "output": [*ORDERS, "noqa__"],
    }  # fmt: skip


# --- and by their formulas

FORMS = (
    "sum: 1 if not (extraction.a in ['x', 'y']) else 0", "sum: 1 if not extraction.a == 'x' else 0",
    "sum: 1 if not not extraction.b else 0", "sum: 1 if extraction.b == True else 0",
    "sum: 1 if extraction.b != False else 0", "sum: 1 if extraction.a == extraction.c else 0",
    "sum: extraction.n + meta.stars * 0.5 if extraction.b else extraction.n", "expr: 1 if context.p == None else 0",
    "expr: context.p * 2 if context.p != None else 0", "expr: (context.p or 0) * 2",
    "expr: context.p * 5 if context.p else 0", "expr: 1 if context.s == 'x' or context.q else 2",
    "expr: 1 < N < 5 <= 5 + N", "expr: N in [1, 2, 3]",
    "expr: 'Thai' in context.categories and not 'Bar' in context.categories", "expr: 'Thai' not in context.categories",
    "expr: 1 if (N > 3) == (N < 5) else 0", "expr: N or 3", "expr: N and 3",
    "expr: (1 if N > 1 else 2) if N > 2 else (3 if N > 3 else 4)",
    "expr: -N ** 2 + +N - (N - 1) - -N * (2 / 3) // 4 % 5", "expr: 1 / (N + 1) + N / max(N, 1) + 10 // (N + 2) + N % 7",
    "expr: 1 / N + log(N) + sqrt(N - 1) + N ** 0.5",
    "expr: floor(N / 2) + ceil(N / 3) + round(N / 7, 2) + round(N / 7) + abs(N - 9) + pow(N, 2)",
    "expr: int(N / 2) + float(N) + min(1, N / 2) + max(N, 2, 3) + clamp(N, 0, 10)",
    "expr: N + float(2.5) + float(2) + int(2.5) + int(2)", "expr: 1e3 + 0.1 + 1e-7 + 123456789012 + K * 2",
    "expr: 1 if WORD == 'word' else 0", "expr: len(context.name)", "expr: 1 if N > 2 else 2.5",
    "expr: param.F * 2 + (1 if param.B else 0) + (1 if param.S == 'x' else 0)",
    # conditions that can never hold, or always do
    "sum: 1 if extraction.a == 'x' and extraction.a == 'y' else 0", "expr: 1 if V == 'hi' else 2 if V == 'hi' else 3",
    "sum: 1 if extraction.a == 'x' or extraction.a == 'x' else 0", "expr: 1 if V == 'hi' else 2 if V == 'lo' else 3",
    "expr: 1 if K == None else 2", "expr: 1 if K == 6 else 2", "expr: 1 if YES == False else 2",
    "expr: (1 if context.p == None else 2) if context.p != None else 3",
)  # fmt: skip


def forms_seed() -> dict[str, Any]:
    """Formulas and conditions of every shape, many as no one would write them."""
    steps: list[dict[str, Any]] = [
        {"name": "N", "op": "count"},
        {"name": "K", "op": "const", "value": 5},
        {"name": "WORD", "op": "const", "value": "word"},
        {"name": "YES", "op": "const", "value": True},
        {"name": "FY", "op": "define_filter", "extraction": {"a": "y"}},
        {"name": "FG", "op": "define_filter", "where": {"$FY": False, "extraction.n": {">=": 2, "<": 9, "!=": 5}}},
        {"name": "FC", "op": "define_filter", "context": {"is_open": 1}, "meta": {"stars": {"<=": 4.5}}},
        {"name": "IDLE", "op": "define_filter", "extraction": {"b": True}},
        {"name": "G", "op": "count", "where": {"$FG": True}},
        {"name": "H", "op": "count", "where": {"$FC": True, "$FG": False, "meta.date": "2020-01-01"}},
        {"name": "P", "op": "count", "where": {"extraction.b": "param.B", "extraction.a": {"in": ["x"]}}},
        {"name": "Q", "op": "count", "where": {"extraction.a": {"in": ["x", "y"]}, "meta.year": {">": 2000}}},
        {"name": "LOW", "op": "min", "expr": "extraction.n * meta.stars", "where": {"$FG": True}, "default": 0.0},
        {"name": "TOP", "op": "max", "field": "meta.stars", "default": -1},
        {"name": "V", "op": "case", "rules": [{"when": "N > 3", "then": "hi"}, {"else": "lo"}]},
        {"name": "SAME", "op": "case", "rules": [{"when": "N > 3", "then": "one"}, {"else": "one"}]},
        {"name": "OF_V", "op": "case", "source": "V", "rules": [{"when": "== 'hi'", "then": 1}, {"else": 2.5}]},
        {"name": "NONE", "op": "case", "source": "N", "rules": [{"when": "> 3", "then": None}, {"else": 1}]},
        {"name": "AFTER", "op": "expr", "expr": "NONE or 7"},
        {"name": "MANY", "op": "case", "source": "N", "rules": [
            *[{"when": f"== {n}", "then": f"v{n}"} for n in range(60)], {"else": "more"}]},
        {"name": "L1", "op": "lookup", "source": "context.categories", "table": {"Thai": 1.5, "Bars": 2},
         "match": "substring_max", "default": 0},
        {"name": "L2", "op": "lookup", "source": "V", "table": {"hi": "a", "lo": "b"}, "match": "exact"},
        {"name": "L3", "op": "lookup", "source": "context.categories", "table": {"Thai": True},
         "match": "substring_first", "default": False},
        {"name": "v", "op": "expr", "expr": "V"},
    ]  # fmt: skip
    forms = [form.partition(": ") for form in FORMS]
    steps += [{"name": f"F{place}", "op": op, "expr": text} for place, (op, _, text) in enumerate(forms)]
    scalars = {"p": "integer", "q": "boolean", "s": "string"}
    parameters = {"B": ("boolean", True), "S": ("string", ""), "F": ("number", 1)}
    return {
        "task_name": "Forms",
        "parameters": {name: {"type": kind, "default": default} for name, (kind, default) in parameters.items()},
        "context": [{"name": name, "type": kind, "nullable": True} for name, kind in scalars.items()],
        "extract": {"fields": [
            {"name": "a", "type": "enum", "values": ["x", "y", "z"]}, {"name": "b", "type": "boolean"},
            {"name": "c", "type": "enum", "values": ["z", "x"]}, {"name": "n", "type": "integer"}]},
        "compute": steps,
        "output": [step["name"] for step in steps if step["op"] != "define_filter"],
    }  # fmt: skip


def clash_seed() -> dict[str, Any]:
    """Extraction and metadata that share some names."""
    names = ("stars", "useful", "plain")
    total = " + ".join(["meta.stars", "meta.cool", *(f"extraction.{name}" for name in names)])
    return {
        "task_name": "Clash", "extract": {"fields": [{"name": name, "type": "integer"} for name in names]},
        "compute": [{"name": "TOTAL", "op": "sum", "expr": total}], "output": ["TOTAL"],
    }  # fmt: skip


OLDER_FORMULAS = (
    "len(extractions)",
    "sum(e['{0}'] for e in extractions) / max(1, len(extractions))",
    "max((e['{0}'] for e in extractions if e['kind'] == 'x'), default=-1) + 1",
    "min(e['{0}'] for e in extractions) if extractions else 0",
    "(min(e['{0}'] / 2 for e in extractions) * 2 if extractions else 1.5) + sum(1 / (e['{0}'] + 1) for e in extractions)",
    "any(e['kind'] != 'x' for e in extractions) and not all(e['{0}'] > 1 for e in extractions)",
    "'x' if sum(e['kind'] in ['x', 'y'] and e['flag'] for e in extractions) > 2 else 'z' if not extractions else 'y'",
    "max([e['{0}'] for e in extractions if e['flag']] or [None]) or 0",
    "sum(e['{0}'] / len(extractions) for e in extractions) if len(extractions) > 0 else None",
)


def older_seed() -> dict[str, Any]:
    """The older shape with hostile names, for loops of every kind, in front of names that their parts would like to have."""
    names = [*NAMES[::6], "n_extractions", "_sum", "_count", "x_count", "X_SUM", "n_extractions_2"]
    fields: list[dict[str, Any]] = [{"name": name, "type": "integer"} for name in NAMES]
    fields += [{"name": "kind", "values": ["x", "y", "z"]}, {"name": "flag", "type": "boolean"}]
    forms = itertools.cycle(OLDER_FORMULAS)
    steps = [{"name": n, "formula": next(forms).format(field)} for n, field in zip(names, NAMES, strict=False)]
    return {
        "task_name": "Older", "description": TEXTS[3], "extraction_fields": fields,
        "extraction_prompt": f"{{review_text}} {TEXTS[3]} {TEXTS[5]}", "compute_dag": steps, "output_fields": names,
    }  # fmt: skip


VALUE_OF = {"enum": "'q'", "integer": "2", "number": "2.5", "boolean": "True", "string": "'s'"}


def paths_seed() -> dict[str, Any]:
    """Context fields of every type at a path, with hostile names and keys, nullable or not; fields with bounds."""
    context: list[dict[str, Any]] = []
    for place, name in enumerate([*NAMES[:12], "ast", "re", "warnings", "context", "_value_at", "price"]):
        path = [TEXTS[place % len(TEXTS)] or "a", "it's", "{x}"][: 1 + place % 3]
        kind = [*VALUE_OF][place % len(VALUE_OF)]
        values_and_null = ({"values": ["q", "l"]} if kind == "enum" else {}) | ({"nullable": True} if place % 2 else {})
        context.append({"name": name, "type": kind, "path": path, **values_and_null})
    values = {field["name"]: "None" if "nullable" in field else VALUE_OF[field["type"]] for field in context}
    used = [f"int(context.{name} == {value})" for name, value in values.items()]
    bounded: list[dict[str, Any]] = [
        {"name": "low", "type": "integer", "minimum": -5}, {"name": "high", "type": "number", "maximum": 2.5, "default": 1},
        {"name": "both", "type": "number", "minimum": 0, "maximum": 1e100},
    ]  # fmt: skip
    steps = [
        {"name": "N", "op": "expr", "expr": " + ".join(used)},
        {"name": "LOW", "op": "define_filter", "expr": "extraction.low < 0 or extraction.high > extraction.both"},
        {"name": "re", "op": "count", "where": {"$LOW": True}},
    ]
    extract = {"fields": bounded}
    return {"task_name": "Paths", "context": context, "extract": extract, "compute": steps, "output": ["N", "re"]}


DECIDED = (
    "N / MIN if MIN > 0 else 0", "1 if MODE == 'lenient' else 2", "1 if 'lenient' == MODE else 2",
    "1 if MODE == OTHER else 2", "1 if MODE != OTHER else 2", "1 if MODE in ['a', 'b'] else 2",
    "1 if MODE in ['strict', 'b'] else 2", "1 if MODE in ['strict'] else 2", "1 if MODE == 'strict' else 2",
    "1 if 'a' in ['b', 'c'] else 2", "1 if 'a' in ['a', 'c'] else 2", "1 if 'a' == 'b' else 2",
    "1 if 'a' in 'abc' else 2", "1 if 'str' in MODE else 2", "1 if 'a' == MODE == 'b' else 2", "1 if N == None else 2",
    "1 if None != N else 2", "1 if N in [None] else 2", "1 if N in [None, 1] else 2",
    "1 if N not in [None, None] else 2", "1 if None in [N, MIN] else 2", "1 if None in [N, 1/(N+0)] else 2",
    "1 if 1/(N+0) == None else 2", "1 if 1/(N+0) != None and N > 0 else 2", "1 if 0 < N == None else 2",
    "1 if 0 < N != None else 2", "1 if N == None == context.n else 2", "1 if MODE == None else 2",
    "1 if DEBUG == None else 2", "1 if None == None else 2", "1 if context.n == None else 2", "1/0 if DEBUG else 2",
    "1/0 if DEBUG == True else 2", "2 if not DEBUG or 1/0 > 1 else 3", "1/0 if False else 2",
    "None + 1 if DEBUG else 3", "abs(None) if DEBUG else 3", "(5 * None if DEBUG else 3.5) * 2",
    "1 if DEBUG and 'a' in None else 2", "1 if DEBUG and None in 'abc' else 2", "len(None) if DEBUG else 3",
    "1 if DEBUG and None > 5 else 3", "N + TEN ** 400 if DEBUG else 1", "9**9**9 if N < 0 else 1",
    "1e308 * 10 if N < 0 else 1", "10**300 * 10**300 if N < 0 else 1", "clamp(N, 10, 5) if N < 0 else 1",
    "log(0 - N) if N < 0 else 1", "sqrt(-1) if DEBUG else 1", "1/0 if N > 5 else 2", "log(-1) if N > 5 else 2",
    "None + 1 if N > 5 else 2", "TEN**300 * TEN**300 if N > 5 else 2", "-(TEN**301) * TEN**300 if N > 5 else 2",
    "1.5 if N < 0 < 1/0 else 2", "sum([])", "sum([1.5]) + sum([N])", "(context.n and 5 or 6)",
    "(1/0 if DEBUG else context.n) or 1", "'x' if DEBUG and 1/0 > 1 else MODE",
    "1 if LEVEL == 'high' and LEVEL == 'low' else 2", "1 if MODE == 'strict' and MODE != 'strict' else 2",
    "0 if MODE != 'strict' and MODE == 'foo' else 1", "0 if not (MODE == 'strict') and 1/0 > 2 else 1",
    "1 if 'a' in [MODE, OTHER] else 2", "1 if 'loose' in [MODE, OTHER] else 2", "1 if N > 3 and False else 2",
    "1 if 1/(N+0) > 3 and False else 2", "1 if 1/(N+0) > 3 or True else 2", "1 if 1 < 2 < N else 2",
    "1 if 2 in [1, 2] else 2", "1 if 2 < 1 else 2", "1 if 0 < N < 5 == 5 else 2", "1 if True and N > 3 else 2",
)  # fmt: skip
"""Constants compared, tests for null of what never is null, and what can only fail behind guards."""


def decided_seed() -> dict[str, Any]:
    steps: list[dict[str, Any]] = [
        {"name": "N", "op": "count"},
        {"name": "MIN", "op": "const", "value": 0},
        {"name": "TEN", "op": "const", "value": 10},
        {"name": "MODE", "op": "const", "value": "strict"},
        {"name": "OTHER", "op": "const", "value": "loose"},
        {"name": "DEBUG", "op": "const", "value": False},
        {"name": "LEVEL", "op": "case", "rules": [{"when": "N > 3", "then": "high"}, {"else": "low"}]},
        {"name": "CASE", "op": "case", "source": "MODE", "rules": [
            {"when": "== 'lenient'", "then": 1}, {"when": "== 'strict'", "then": 2}, {"else": 3}]},
        {"name": "TABLE", "op": "lookup", "source": "MODE", "match": "exact", "table": {"lax": 1, "strict": 2}, "default": 0},
        {"name": "NONE", "op": "count", "where": {"meta.useful": None}},
        {"name": "ALL", "op": "count", "where": {"meta.useful": {"!=": None}, "extraction.mood": "good"}},
        {"name": "LATE", "op": "define_filter", "where": {"extraction.score": {">": 3}, "meta.cool": None}},
        {"name": "N_LATE", "op": "count", "where": {"$LATE": True}},
        {"name": "TOP", "op": "max", "field": "extraction.score", "where": {"meta.stars": None}, "default": 0},
        {"name": "SUM", "op": "sum", "expr": "1 if extraction.score == None else 2"},
        {"name": "SHUT", "op": "sum", "expr": "1 if extraction.score > 3 and False else meta.useful"},
    ]  # fmt: skip
    steps += [{"name": f"F{place}", "op": "expr", "expr": text} for place, text in enumerate(DECIDED)]
    return {
        "task_name": "Decided",
        "context": [{"name": "n", "type": "number", "nullable": True}],
        "extract": {"fields": [
            {"name": "mood", "type": "enum", "values": ["good", "bad"]}, {"name": "score", "type": "integer"}]},
        "compute": steps,
        "output": ["N", "F0"],
    }  # fmt: skip


OWN_SEEDS = {
    **{entry.id.replace("-", "_"): entry.seed for entry in HOSTILE},
    "hostile_orders": orders_seed(),
    "forms": forms_seed(),
    "clash": clash_seed(),
    "older": older_seed(),
    "paths": paths_seed(),
    "decided": decided_seed(),
}
TASK_MODULES = [seed.parent.name for seed in SEEDS]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the modules of all tasks and of the seeds above, and nothing else in Python."""
    folder = tmp_path_factory.mktemp("modules")
    for name in TASK_MODULES:  # which are what their seeds compile to: test_determinism
        shutil.copy(ROOT / "generated" / f"{name}.py", folder)
    for name, own in OWN_SEEDS.items():
        source = formulaseed.compile_seed(write_json(folder / f"{name}.json", own))
        (folder / f"{name}.py").write_text(source, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def imported(folder: Path) -> dict[str, dict[str, Any]]:
    """The names and records of each module, imported by an interpreter without packages."""
    program = """
import importlib.util, json, pathlib, sys
before = set(sys.modules)
modules = {}
for path in sorted(pathlib.Path(sys.argv[1]).glob("*.py")):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    modules[path.stem] = {
        "names": dir(module), "row": getattr(module.Row, "_fields", None), "steps": module.STEPS, "output": module.OUTPUT,
        "counts": [len(module.Steps._fields), len(module.Result._fields)],
    }
print(json.dumps({"modules": modules, "new": sorted(set(sys.modules) - before)}))
"""
    command = [sys.executable, "-I", "-S", "-bb", "-W", "error", "-c", program, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    reported = json.loads(done.stdout)
    assert {name.split(".")[0] for name in reported["new"]} <= sys.stdlib_module_names
    modules: dict[str, dict[str, Any]] = reported["modules"]
    return modules


@pytest.mark.parametrize("name", [*TASK_MODULES, *OWN_SEEDS])
@pytest.mark.thorough
def test_a_module_stands_alone_and_offers_what_it_promises(name: str, imported: dict[str, dict[str, Any]]) -> None:
    """It imports with the standard library alone, without a warning, and has every name of the interface."""
    module = imported[name]
    assert set(OFFERS) <= set(module["names"])
    assert module["counts"] == [len(module["steps"]), len(module["output"])]
    assert set(module["output"]) <= set(module["steps"])


def test_a_module_keeps_the_seeds_names_and_prefixes_only_where_two_clash(imported: dict[str, dict[str, Any]]) -> None:
    """The fields of a row are the seed's; only a name that extraction and metadata share gets its section in front."""
    assert imported["clash"]["row"] == ["extraction_stars", "useful", "plain", "meta_stars", "cool"]
    assert imported["wait_times"]["row"] == ["wait_kind", "wait_minutes", "outcome", "blames_staffing", "year"]


# --- tools


def run_tool(*arguments: object, cwd: Path) -> tuple[int, list[str]]:
    """Run a tool of this environment; return the exit status and the lines of output."""
    command = [str(Path(sys.executable).parent / str(arguments[0])), *map(str, arguments[1:])]
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    return done.returncode, (done.stdout + done.stderr).splitlines()


@pytest.fixture(scope="module")
def mypy(folder: Path) -> list[str]:
    """The lines that mypy --strict reports for all modules, in one run."""
    status, lines = run_tool("mypy", "--strict", "--cache-dir", "/dev/null", ".", cwd=folder)
    assert (status == 0) == lines[-1].startswith("Success")
    return lines[:-1]


@pytest.fixture(scope="module")
def pyright(folder: Path) -> list[str]:
    """The lines that pyright's strict mode reports for all modules, in one run; needless directives are errors, too."""
    if run_tool("pyright", "--version", cwd=folder)[0]:
        pytest.skip("pyright does not run here: it needs Node.js, which it downloads where there is none")
    settings = {"typeCheckingMode": "strict", "pythonVersion": "3.11", "reportUnnecessaryTypeIgnoreComment": "error"}
    write_json(folder / "pyrightconfig.json", settings)
    status, lines = run_tool("pyright", "--project", folder, cwd=folder)
    assert (status == 0) == lines[-1].startswith("0 errors, 0 warnings")
    return [line for line in lines[:-1] if line.startswith(" ")]


@pytest.mark.parametrize("checker", ["mypy", pytest.param("pyright", marks=pytest.mark.thorough)])
@pytest.mark.thorough
def test_type_checkers_find_nothing(checker: str, request: pytest.FixtureRequest) -> None:
    """Strict modes report neither an error nor a needless directive."""
    assert request.getfixturevalue(checker) == []


def test_ruff_finds_nothing(folder: Path) -> None:
    """Neither its default rules nor those for needless directives report anything, and no directive is malformed."""
    for rules in ([], ["--select", "RUF100,PGH"]):
        status, lines = run_tool("ruff", "check", "--isolated", "--no-cache", "-q", *rules, ".", cwd=folder)
        assert (status, lines) == (0, [])


ORDER = re.compile(r"#\s*((?i:noqa|ruff\s*:|flake8\s*:)|type\s*:|fmt\s*:|mypy\s*:|pyright\s*:|isort\s*:|pylint\s*:)")


@pytest.mark.parametrize("name", [*TASK_MODULES, *OWN_SEEDS])
def test_a_module_shows_all_that_it_holds(name: str, folder: Path) -> None:
    """Every line is printable, and no comment is a directive, except `# fmt: skip` behind a list that the emitter lays out."""
    source = (folder / f"{name}.py").read_bytes().decode("utf-8")
    for line in source.split("\n"):
        assert line.isprintable(), ascii(line)
        if "# fmt: skip" in line:
            assert re.fullmatch(r"(\s*[)\]}]+|[A-Z_0-9]+: Final\[dict\[object, \w+\]\] = \{.*\})  # fmt: skip", line)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT and token.string != "# fmt: skip":  # which the emitter writes itself
            assert not ORDER.search(token.string), token.string
            assert token.string[:2] == "# "
