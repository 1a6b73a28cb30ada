"""Test that output verification refuses code that the emitter of requests never writes, as for seeds."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from formulaseed import pipeline
from formulaseed.backends.python import dialects, names, prelude, requests_plan
from formulaseed.backends.python.code import Code
from formulaseed.backends.python.dialects import REQUESTS, SEEDS, Dialect
from formulaseed.backends.python.verify import verify_source
from formulaseed.documents import compile_seed, load_requests
from formulaseed.ir import attributes
from formulaseed.runtime.loading import module_from_source
from generated_trees import code_alone
from helpers import ROOT
from test_output_verification import (
    AT_THE_END,
    INSIDE,
    assert_foreign,
    careless,
    extend_module,
    raw,
    refusal_of,
    remove_barrier,
)

GENERATED = ROOT / "generated" / "requests_module.py"
HONEST = pipeline.compile(load_requests(ROOT / "examples" / "requests.jsonl"), formatted=False)
"""Every kind of evidence, and so every helper."""

# --- modules by hand

_RENAMED = {
    "EvaluationError": "DataError", "Context": "Background", "KEYWORDS": "GOLD", "Row": "Restaurant", "_finite": "_truth",
}  # fmt: skip
"""The names in a module of requests by those in a seed's module."""
_SEED_NAME = re.compile("|".join(_RENAMED))
_ALLOWED = {"return [x for x in rows]", "return {1, 2}"}
"""The statements that modules of requests may have, and those of seeds may not."""


def rename_for_requests(statements: Iterable[str]) -> list[str]:
    """Return the statements with the names that modules of requests have, without those that these modules may have."""
    refused = [statement for statement in statements if statement not in _ALLOWED]
    return [_SEED_NAME.sub(lambda name: _RENAMED[name[0]], statement) for statement in refused]


OUTSIDE = (
    *rename_for_requests(AT_THE_END), "import math", "import ast, re", "from re import sub", "from ast import parse",
    "from warnings import warn", "from functools import cache", "M: Final = warnings", "X: re = 1",
    "F: Final = evaluate", "TABLE: Final = {'R01': evaluate}", "U: TypeAlias = int | len('x')",
    "class Other:\n    def f(self) -> int:\n        return 1", "class Restaurant(NamedTuple):\n    place: int",
    "def f(*others: int) -> int:\n    return 1", "class Oh(Exception):\n    '''Oh.'''",
    "def f(**others: int) -> int:\n    return 1", "def f(**rules: len('x')) -> int:\n    return 1",
)  # fmt: skip
"""Statements at the end of an honest module."""

IN_A_FUNCTION = (
    *rename_for_requests(INSIDE), "return ast.parse('1')", "return ast.walk(rows)", "return re.sub('a', len, 'b')",
    "re.purge()", "return re.sys.modules", "return ast.sys", "warnings.warn('x')", "return warnings.sys",
    "warnings.simplefilter('ignore')", "return re", "r = re\n    return r.compile('x')", "re.compile = len",
    "ast.literal_eval = len", "return NamedTuple('X', [])", "GOLD['R01'] = 'x'", "GOLD.clear()",
    "found = {}\n    found[rows][0] = 1", "context['x'] = 1", "rows[0] += 1", "context.parts[0] = 1",
    "context.parts.clear()", "rows.clear()", "evaluate(rows, context).head = 1", "context.head = 1",
    "context.head += 1", "with open('x'):\n        return 1",
    "with warnings.catch_warnings(), open('x'):\n        warnings.simplefilter('ignore')",
    "with warnings.catch_warnings() as kept:\n        warnings.simplefilter('ignore')",
    "with warnings.catch_warnings(record=True):\n        warnings.simplefilter('ignore')",
    "with warnings.catch_warnings():\n        warnings.simplefilter('error')",
    "with warnings.catch_warnings():\n        warnings.simplefilter('ignore', eval)",
    "with warnings.catch_warnings():\n        warnings.simplefilter('ignore')\n        eval('1')",
    "with warnings.catch_warnings():\n        return 1",
    "try:\n        return 1\n    except ValueError:\n        return 2",
    "try:\n        return 1\n    except OverflowError:\n        return 2",
    "try:\n        return 1\n    except len(rows):\n        return 2", "return [*rows]", "return {*rows}",
    "return _check_attribute(rows, context, **GOLD)", "for x in rows:\n        continue",
    "return [rows for rows in context]", "return {GOLD for GOLD in rows}", "return {_truth: 1 for _truth in rows}",
    "return [1 for len in rows]", "re = rows", "for warnings in rows:\n        return 1",
)  # fmt: skip
"""Statements in the body of a function with the arguments `rows` and `context`."""

_METHOD = "(self) -> int:\n        return 1"
IN_A_RECORD = (
    f"def x{_METHOD}", f"@property\n    def x{_METHOD}", f"@staticmethod\n    def x{_METHOD}",
    f"@re.compile\n    def x{_METHOD}", "def __init__(self) -> None:\n        return None",
    "def __getattr__(self, name: str) -> int:\n        return 1", f"def __del__{_METHOD}",
    "def __init_subclass__(cls) -> None:\n        return None", f"def _x{_METHOD}", f"async def x{_METHOD}",
    "x: int = len('x')", "reviews: int", "_x: int", "gi_frame: int", "x = 1", "__slots__ = ()", "__class__: int",
    "print('x')", "if True:\n        x: int", "class X:\n        x: int",
)  # fmt: skip
"""Members of the class `Restaurant`."""


def replace_once(before: str, after: str) -> str:
    assert HONEST.count(before) == 1, before
    return HONEST.replace(before, after)


_FIRST = "\n    business: JsonObject\n"
FOREIGN_MODULES = [
    *extend_module(HONEST, OUTSIDE, IN_A_FUNCTION),
    *(replace_once(_FIRST, f"\n    {text}\n{_FIRST}") for text in IN_A_RECORD),
    replace_once("from __future__ import annotations\n", ""),
    replace_once("class Restaurant(NamedTuple):", "class Restaurant(Background):"),
    replace_once("class Restaurant(NamedTuple):", "class Restaurant(metaclass=type):"),
    replace_once("class Restaurant(NamedTuple):", "@len\nclass Restaurant(NamedTuple):"),
]


@pytest.mark.parametrize("module", FOREIGN_MODULES, ids=range(len(FOREIGN_MODULES)))
@pytest.mark.thorough
def test_a_module_with_one_foreign_statement_is_refused(module: str) -> None:
    assert_foreign(module, REQUESTS)


HONEST_INSIDE = """\
def _extra(rows, context, *values: Scalar, **rules: Scalar):
    found = {}
    found[context] = [{1} for x in rows]
    found.get(context)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        value = ast.literal_eval("1")
    try:
        return {re.compile(x, re.IGNORECASE) for x in rules}
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return value
"""


def test_the_same_modules_without_that_one_thing_pass() -> None:
    assert verify_source(HONEST, REQUESTS) is None
    assert verify_source(GENERATED.read_text(encoding="utf-8"), REQUESTS) is None
    assert verify_source(f"{HONEST}\nONE: Final = {{'a': (1, -2.5)}}\n{HONEST_INSIDE}", REQUESTS) is None
    assert verify_source(replace_once(_FIRST, f"\n    x: int = 1\n{_FIRST}"), REQUESTS) is None


def test_a_module_is_of_one_kind() -> None:
    assert_foreign(HONEST, SEEDS)
    assert_foreign((ROOT / "generated" / "g1a_v2.py").read_text(encoding="utf-8"), REQUESTS)


LONG = {
    "task_name": "Long", "extract": {"fields": []},
    "compute": [{"name": "X", "op": "expr", "expr": " / ".join(["param.Y"] * 50)}],
    "parameters": {"Y": {"type": "number", "default": 1}}, "output": ["X"],
}  # fmt: skip
SOURCES = {
    "SEEDS": [
        compile_seed(LONG),
        *(path.read_text(encoding="utf-8") for path in sorted((ROOT / "generated").glob("*.py")) if path != GENERATED),
        *(Path(str(helpers.__file__)).read_text(encoding="utf-8") for helpers in (prelude, attributes)),
    ],
    "REQUESTS": [HONEST],
}


@pytest.mark.parametrize("name", SOURCES)
def test_a_dialect_has_nothing_that_no_module_needs(name: str) -> None:
    dialect: Dialect = getattr(dialects, name)
    nodes = [node for source in SOURCES[name] for node in ast.walk(ast.parse(source))]
    names = {node.id for node in nodes if isinstance(node, ast.Name)}
    attributes = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    assert dialect.syntax | dialect.types <= {type(node) for node in nodes}
    assert dialect.builtins | dialect.bases <= names
    assert dialect.attributes - (dialects.EARLIER_ATTRIBUTES if name == "SEEDS" else frozenset()) <= attributes
    for module, parts in dialect.modules.items():
        used = {node.attr for node in nodes if isinstance(node, ast.Attribute) and ast.unparse(node.value) == module}
        assert parts <= used
    imported = {alias.name for node in nodes if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert {part for parts in dialect.imports.values() for part in parts} <= imported
    assert dialect.caught <= {ast.unparse(n.type) for n in nodes if isinstance(n, ast.ExceptHandler) and n.type}
    functions = [node for node in nodes if isinstance(node, ast.FunctionDef)]
    arguments = [argument for node in functions for argument in (node.args.vararg, node.args.kwarg)]
    assert dialect.variadic_arguments == {argument.arg for argument in arguments if argument is not None}


# --- a broken emitter


def one_request(**changes: str) -> dict[str, Any]:
    """Return a request; `changes` are for the texts that reach a module."""
    texts = {
        "aspect": "tea", "scenario": "A Guest", "text": "Tea.", "gold": "b1", "path": "A", "value": "x", "pattern": "tea",
        "topic": "tea", "friend": "Ann", **changes,
    }  # fmt: skip
    circle = {"friends": [texts["friend"]], "hops": 1}
    evidence: dict[str, dict[str, Any]] = {
        texts["aspect"]: {"kind": "item_meta", "path": ["attributes", texts["path"]], "contains": texts["value"]},
        "said": {"kind": "review_text", "pattern": texts["pattern"], "social_filter": circle},
        "liked": {"kind": "review_sentiment", "topic": texts["topic"], "sentiment": "positive"},
    }
    structure = {"op": "AND", "args": [{"aspect": a, "evidence": e} for a, e in evidence.items()]}
    return {
        "id": "R01", "group": "G01", "scenario": texts["scenario"], "text": texts["text"], "shorthand": "AND(a, a, a)",
        "structure": structure, "gold_restaurant": texts["gold"],
    }  # fmt: skip


def compile_request(**changes: str) -> str:
    return pipeline.compile(load_requests([one_request(**changes)]), formatted=False)


def refusal_of_request(**changes: str) -> str | None:
    return refusal_of(partial(compile_request, **changes))


def value_of(source: str) -> int:
    """Return the request's value for a restaurant that meets the request without changes."""
    module: Any = module_from_source(source, "broken")
    business = {"attributes": {"A": "x"}}
    review = {"review_id": "r", "text": "tea", "user": {"name": "Ann"}}
    known = module.parse_background([{"review_id": "r", "aspect": "tea", "judgement": "positive"}], None)
    values: dict[str, int] = module.evaluate(module.parse_restaurant(business, [review]), known)
    return values["R01"]


LITERALS = ("gold", "path", "value", "pattern", "topic", "friend")


@pytest.mark.parametrize("quote", ["'", '"'])
@pytest.mark.parametrize("place", LITERALS)
@pytest.mark.thorough
def test_literals_printed_carelessly_are_refused(place: str, quote: str, broken: pytest.MonkeyPatch) -> None:
    """A text that leaves its quotes to open a file is refused in every place; one that stays inside is a text."""
    payload = f"tea{quote} % open({quote}canary{quote}) or {quote}tea"
    assert value_of(compile_request()) == 1
    assert refusal_of_request(**{place: payload}) is None
    broken.setattr(requests_plan, "literal", careless(quote))
    assert refusal_of_request() is None
    message = refusal_of_request(**{place: payload})
    assert message is not None
    assert "`open`" in message or place in ("gold", "pattern"), message  # which are refused for less


IN_COMMENTS = ("scenario", "text", "topic", "friend")
TEXTS = {
    "a docstring's end": 'x """ + open("canary").read() + """ y', "a line": "x\n        open('canary')\n        # y",
    "a docstring's end and a line": 'x """\n    open("canary")\n    """ y', "a line at the margin": "x\nopen('canary')\n# y",
    "a form feed": "x\x0copen('canary')", "a reversed line": "x \u202e y", "a backslash": "x\\", "quotes": "x'y\"z",
    "a tool's name": "x # type: ignore",
}  # fmt: skip
HIDDEN = ("a form feed", "a reversed line")
HARMFUL = {
    **dict.fromkeys(IN_COMMENTS, ("a line", "a line at the margin", "a docstring's end and a line", *HIDDEN)),
    **dict.fromkeys(("topic", "friend"), ("a reversed line",)),  # all other space is gone where a comment is wrapped
}
"""The texts that must be refused if they are printed raw."""


@pytest.mark.parametrize("place", IN_COMMENTS)
@pytest.mark.thorough
def test_raw_descriptions_never_become_code(place: str, broken: pytest.MonkeyPatch) -> None:
    """Printed as they are, texts in docstrings and comments are refused, or nothing but comments that can be seen."""
    honest = {name: code_alone(compile_request(**{place: text})) for name, text in TEXTS.items()}
    for printer in ("comment_text", "docstring_text"):
        broken.setattr(requests_plan, printer, raw)
    reported = {name: refusal_of_request(**{place: text}) for name, text in TEXTS.items()}
    assert [name for name in HARMFUL[place] if reported[name] is None] == []
    for name, text in TEXTS.items():
        if reported[name] is None:
            source = compile_request(**{place: text})
            assert code_alone(source) == honest[name], name
            assert all(line.isprintable() for line in source.split("\n"))


def test_a_template_that_prints_a_text_raw_is_stopped(broken: pytest.MonkeyPatch) -> None:
    payload = TEXTS["a line"]
    broken.setattr(requests_plan, "comment_text", str)
    broken.setattr(requests_plan, "Code", str)
    assert "RawTextError" in (refusal_of_request(text=payload) or "")
    remove_barrier(broken)
    assert "RawTextError" not in (refusal_of_request(text=payload) or "RawTextError")


ASPECTS = (
    "x(self, y=open('canary')): return 1\n    def z", "__getattr__", "__init_subclass__", "__init__", "_x", "gi_frame",
    "class", "x y",
)  # fmt: skip


@pytest.mark.parametrize("aspect", ASPECTS)
@pytest.mark.thorough
def test_an_aspect_is_a_literal(aspect: str, broken: pytest.MonkeyPatch) -> None:
    """Also if it is not made a plain word first."""
    assert value_of(compile_request(aspect=aspect)) == 1
    broken.setattr(names.Names, "add_local", lambda _, name: Code(name))
    broken.setattr(requests_plan, "make_word", lambda text, _: text)
    assert value_of(compile_request(aspect=aspect)) == 1
