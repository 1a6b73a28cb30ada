"""Output verification of modules made of requests: what their emitter never writes is refused, as it is in those of seeds."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from formulaseed import pipeline
from formulaseed.backends.python import dialects, names, prelude, render, requests_plan
from formulaseed.backends.python.code import Code
from formulaseed.backends.python.dialects import REQUESTS, SEEDS, Dialect
from formulaseed.backends.python.verify import verify, verify_source
from formulaseed.documents import compile_seed, load_requests
from formulaseed.errors import SeedError
from formulaseed.ir import attributes
from formulaseed.runtime.loading import module_from_source
from generated_trees import code_alone
from helpers import ROOT
from test_output_verification import AT_THE_END, INSIDE, careless, raw

GENERATED = ROOT / "generated" / "requests_module.py"
HONEST = pipeline.compile(load_requests(ROOT / "examples" / "requests.jsonl"), formatted=False)
"""Every kind of evidence, and so every helper."""

# --- modules by hand

_CALLED = {
    "EvaluationError": "DataError",
    "Context": "Background",
    "KEYWORDS": "GOLD",
    "Row": "Restaurant",
    "_finite": "_truth",
}
"""What stands in a module of requests for a name of a seed's module."""

_ALLOWED = {"a list comprehension", "a set"}
"""What modules of requests may hold, and those of seeds may not."""


def as_in_requests(texts: dict[str, str]) -> dict[str, str]:
    found = {}
    for name, text in texts.items():
        for before, after in _CALLED.items():
            text = text.replace(before, after)
        found[name] = text
    return {name: text for name, text in found.items() if name not in _ALLOWED}


OUTSIDE = {
    **as_in_requests(AT_THE_END),
    "the module of seeds": "import math",
    "two modules at once": "import ast, re",
    "a module's part": "from re import sub",
    "another part": "from ast import parse",
    "a part of a module for itself": "from warnings import warn",
    "a decorator": "from functools import cache",
    "a module as a constant": "M: Final = warnings",
    "a module as a type": "X: re = 1",
    "a function as a constant": "F: Final = evaluate",
    "functions in a table": "TABLE: Final = {'R01': evaluate}",
    "a union with a call": "U: TypeAlias = int | len('x')",
    "an object": "class Other:\n    def f(self) -> int:\n        return 1",
    "a second Restaurant": "class Restaurant(NamedTuple):\n    place: int",
    "further arguments of another name": "def f(*others: int) -> int:\n    return 1",
    "any error": "class Oh(Exception):\n    '''Oh.'''",
    "further arguments by another name": "def f(**others: int) -> int:\n    return 1",
    "an annotation of the rest that is called": "def f(**rules: len('x')) -> int:\n    return 1",
}
"""Statements at the end of an honest module."""

IN_A_FUNCTION = {
    **as_in_requests(INSIDE),
    "ast.parse": "return ast.parse('1')",
    "ast.walk": "return ast.walk(rows)",
    "re.sub": "return re.sub('a', len, 'b')",
    "re.purge": "re.purge()",
    "a module behind a module": "return re.sys.modules",
    "another one": "return ast.sys",
    "warnings.warn": "warnings.warn('x')",
    "a module behind warnings": "return warnings.sys",
    "warnings turned off": "warnings.simplefilter('ignore')",
    "re itself": "return re",
    "re under another name": "r = re\n    return r.compile('x')",
    "re changed": "re.compile = len",
    "literal_eval changed": "ast.literal_eval = len",
    "a type made": "return NamedTuple('X', [])",
    "a constant's item": "GOLD['R01'] = 'x'",
    "a constant cleared": "GOLD.clear()",
    "an item's item": "found = {}\n    found[rows][0] = 1",
    "an argument's item": "context['x'] = 1",
    "an argument's item added to": "rows[0] += 1",
    "an argument's field's item": "context.parts[0] = 1",
    "an argument's field cleared": "context.parts.clear()",
    "an argument cleared": "rows.clear()",
    "a call's field": "evaluate(rows, context).head = 1",
    "a field of an object": "context.head = 1",
    "a field of an object added to": "context.head += 1",
    "a file opened": "with open('x'):\n        return 1",
    "a file opened besides": "with warnings.catch_warnings(), open('x'):\n        warnings.simplefilter('ignore')",
    "warnings kept": "with warnings.catch_warnings() as kept:\n        warnings.simplefilter('ignore')",
    "warnings recorded": "with warnings.catch_warnings(record=True):\n        warnings.simplefilter('ignore')",
    "warnings that are errors": "with warnings.catch_warnings():\n        warnings.simplefilter('error')",
    "warnings of a kind": "with warnings.catch_warnings():\n        warnings.simplefilter('ignore', eval)",
    "warnings and what follows": "with warnings.catch_warnings():\n        warnings.simplefilter('ignore')\n        eval('1')",
    "nothing turned off": "with warnings.catch_warnings():\n        return 1",
    "another handler": "try:\n        return 1\n    except ValueError:\n        return 2",
    "the handler of seeds": "try:\n        return 1\n    except OverflowError:\n        return 2",
    "a handler that is called": "try:\n        return 1\n    except len(rows):\n        return 2",
    "a list unpacked": "return [*rows]",
    "a set unpacked": "return {*rows}",
    "arguments unpacked": "return _check_attribute(rows, context, **GOLD)",
    "a loop that goes on": "for x in rows:\n        continue",
    "an argument changed by a comprehension": "return [rows for rows in context]",
    "a constant hidden by a comprehension": "return {GOLD for GOLD in rows}",
    "a helper hidden by a comprehension": "return {_truth: 1 for _truth in rows}",
    "a builtin hidden by a comprehension": "return [1 for len in rows]",
    "a module hidden": "re = rows",
    "a module hidden by a loop": "for warnings in rows:\n        return 1",
}
"""Statements in the body of a function with the arguments `rows` and `context`."""

_METHOD = "(self) -> int:\n        return 1"
IN_A_RECORD = {
    "a method": f"def x{_METHOD}",
    "a property": f"@property\n    def x{_METHOD}",
    "a static method": f"@staticmethod\n    def x{_METHOD}",
    "a decorator of a module": f"@re.compile\n    def x{_METHOD}",
    "what makes it": "def __init__(self) -> None:\n        return None",
    "an attribute of every name": "def __getattr__(self, name: str) -> int:\n        return 1",
    "a method at the end": f"def __del__{_METHOD}",
    "a method for subclasses": "def __init_subclass__(cls) -> None:\n        return None",
    "a private method": f"def _x{_METHOD}",
    "a coroutine": f"async def x{_METHOD}",
    "a field with a call": "x: int = len('x')",
    "a field twice": "reviews: int",
    "a private field": "_x: int",
    "a field of a frame": "gi_frame: int",
    "a value": "x = 1",
    "slots": "__slots__ = ()",
    "a field of every object": "__class__: int",
    "a call": "print('x')",
    "a branch": "if True:\n        x: int",
    "a class": "class X:\n        x: int",
}
"""Members of the class `Restaurant`."""


def replaced(before: str, after: str) -> str:
    assert HONEST.count(before) == 1, before
    return HONEST.replace(before, after)


_FIRST = "\n    business: JsonObject\n"
BY_HAND = {
    **{f"{name}, outside": f"{HONEST}\n{text}\n" for name, text in OUTSIDE.items()},
    **{
        f"{name}, inside": f"{HONEST}\ndef _extra(rows, context):\n    {text}\n" for name, text in IN_A_FUNCTION.items()
    },
    **{f"{name}, in a record": replaced(_FIRST, f"\n    {text}\n{_FIRST}") for name, text in IN_A_RECORD.items()},
    "annotations that are evaluated": replaced("from __future__ import annotations\n", ""),
    "a record with another base": replaced("class Restaurant(NamedTuple):", "class Restaurant(Background):"),
    "a record with a metaclass": replaced("class Restaurant(NamedTuple):", "class Restaurant(metaclass=type):"),
    "a decorated record": replaced("class Restaurant(NamedTuple):", "@len\nclass Restaurant(NamedTuple):"),
}  # fmt: skip


@pytest.mark.parametrize("name", BY_HAND)
def test_what_no_emitter_writes_is_refused(name: str) -> None:
    """A module that is honest but for one thing is refused, and for being foreign, not for being no Python."""
    fault = verify_source(BY_HAND[name], REQUESTS)
    assert fault is not None
    assert not fault.startswith("it is no Python"), fault
    assert fault.startswith("line "), fault


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
    """The honest modules, and honest statements and members where the foreign ones stood."""
    assert verify_source(HONEST, REQUESTS) is None
    assert verify_source(GENERATED.read_text(encoding="utf-8"), REQUESTS) is None
    assert verify_source(f"{HONEST}\nONE: Final = {{'a': (1, -2.5)}}\n{HONEST_INSIDE}", REQUESTS) is None
    assert verify_source(replaced(_FIRST, f"\n    x: int = 1\n{_FIRST}"), REQUESTS) is None


def test_a_module_is_of_one_kind() -> None:
    """A module of the one kind is refused as one of the other."""
    for source, other in ((HONEST, SEEDS), ((ROOT / "generated" / "g1a_v2.py").read_text(encoding="utf-8"), REQUESTS)):
        fault = verify_source(source, other)
        assert fault is not None
        assert fault.startswith("line ")


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
    """Whatever a dialect allows stands in a module of its kind, or in a helper."""
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
    assert dialect.caught <= {
        ast.unparse(node.type) for node in nodes if isinstance(node, ast.ExceptHandler) and node.type
    }
    functions = [node for node in nodes if isinstance(node, ast.FunctionDef)]
    rest = {
        each.arg for function in functions for each in (function.args.vararg, function.args.kwarg) if each is not None
    }
    assert dialect.variadic_arguments == rest


@pytest.mark.parametrize("character", ["\u202e", "\u200b", "\u2028", "\x0c", "\x00", "\r", "\ufeff"], ids=ascii)
def test_what_cannot_be_seen_is_refused(character: str) -> None:
    """A comment that shows another order than it has, or hides something, though the tree is the same."""
    assert verify(HONEST, HONEST, REQUESTS) is None
    fault = verify(HONEST.replace("  # a review", f"  # a review{character}", 1), HONEST, REQUESTS)
    assert fault is not None
    assert "cannot be seen" in fault


# --- a broken emitter


def one_request(**changes: str) -> dict[str, Any]:
    """A request in which every text that reaches a module can be chosen."""
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
    return {
        "id": "R01",
        "group": "G01",
        "scenario": texts["scenario"],
        "text": texts["text"],
        "shorthand": "AND(a, a, a)",
        "structure": {"op": "AND", "args": [{"aspect": a, "evidence": e} for a, e in evidence.items()]},
        "gold_restaurant": texts["gold"],
    }


def compiled(**changes: str) -> str:
    return pipeline.compile(load_requests([one_request(**changes)]), formatted=False)


def refused(**changes: str) -> str | None:
    """The message with which the request is refused as a bug of ours; None where it is compiled."""
    loaded = load_requests([one_request(**changes)])
    try:
        pipeline.compile(loaded, formatted=False)
    except SeedError as error:
        (found,) = error.diagnostics
        assert found.code == "FS901"
        return found.message
    return None


def value_of(source: str) -> int:
    """The request's value for a restaurant that meets all of it, as it is without changes."""
    module: Any = module_from_source(source, "broken")
    business = {"attributes": {"A": "x"}}
    review = {"review_id": "r", "text": "tea", "user": {"name": "Ann"}}
    known = module.parse_background([{"review_id": "r", "aspect": "tea", "judgement": "positive"}], None)
    found: dict[str, int] = module.evaluate(module.parse_restaurant(business, [review]), known)
    return found["R01"]


@pytest.fixture
def broken() -> Iterator[pytest.MonkeyPatch]:
    """A patch under which no template that was made before is used, nor any afterwards."""
    render._environment.cache_clear()
    with pytest.MonkeyPatch.context() as patch:
        yield patch
    render._environment.cache_clear()


LITERALS = ("gold", "path", "value", "pattern", "topic", "friend")


@pytest.mark.parametrize("quote", ["'", '"'])
@pytest.mark.parametrize("place", LITERALS)
def test_literals_printed_carelessly_are_refused(place: str, quote: str, broken: pytest.MonkeyPatch) -> None:
    """A text that leaves its quotes to open a file is refused, wherever it stands; one that stays inside is a text."""
    payload = f"tea{quote} % open({quote}canary{quote}) or {quote}tea"
    assert value_of(compiled()) == 1
    assert refused(**{place: payload}) is None
    broken.setattr(requests_plan, "literal", careless(quote))
    assert refused() is None
    message = refused(**{place: payload})
    assert message is not None
    assert "`open`" in message or place in ("gold", "pattern"), message  # which are refused for less


IN_COMMENTS = ("scenario", "text", "topic", "friend")
TEXTS = {
    "a docstring's end": 'x """ + open("canary").read() + """ y',
    "a docstring's end and a line": 'x """\n    open("canary")\n    """ y',
    "a line": "x\n        open('canary')\n        # y",
    "a line at the margin": "x\nopen('canary')\n# y",
    "a form feed": "x\x0copen('canary')",
    "a reversed line": "x \u202e y",
    "a backslash": "x\\",
    "quotes": "x'y\"z",
    "a tool's name": "x # type: ignore",
}
HIDDEN = ("a form feed", "a reversed line")
HARMFUL = {
    **dict.fromkeys(IN_COMMENTS, ("a line", "a line at the margin", "a docstring's end and a line", *HIDDEN)),
    **dict.fromkeys(("topic", "friend"), ("a reversed line",)),  # all other space is gone where a comment is wrapped
}
"""What must be refused where it stands as it is."""


@pytest.mark.parametrize("place", IN_COMMENTS)
def test_raw_descriptions_never_become_code(place: str, broken: pytest.MonkeyPatch) -> None:
    """Printed as they are, texts in docstrings and comments are refused, or nothing but comments that can be seen."""
    honest = {name: code_alone(compiled(**{place: text})) for name, text in TEXTS.items()}
    for printer in ("comment_text", "docstring_text"):
        broken.setattr(requests_plan, printer, raw)
    reported = {name: refused(**{place: text}) for name, text in TEXTS.items()}
    assert [name for name in HARMFUL[place] if reported[name] is None] == []
    for name, text in TEXTS.items():
        if reported[name] is None:
            source = compiled(**{place: text})
            assert code_alone(source) == honest[name], name
            assert all(line.isprintable() for line in source.split("\n"))


def test_a_template_that_prints_a_text_raw_is_stopped(broken: pytest.MonkeyPatch) -> None:
    """By the barrier, which takes Code alone; and where that is off as well, by the verifier."""
    payload = TEXTS["a line"]
    broken.setattr(requests_plan, "comment_text", str)
    broken.setattr(requests_plan, "Code", str)
    message = refused(text=payload)
    assert message is not None
    assert "RawTextError" in message
    broken.setattr(render, "_require_code", lambda value: value)
    render._environment.cache_clear()
    message = refused(text=payload)
    assert message is not None
    assert "RawTextError" not in message


ASPECTS = {
    "code": "x(self, y=open('canary')): return 1\n    def z",
    "a dunder": "__getattr__",
    "a dunder of classes": "__init_subclass__",
    "the maker": "__init__",
    "a private name": "_x",
    "a frame": "gi_frame",
    "a keyword": "class",
    "two words": "x y",
}


@pytest.mark.parametrize("name", ASPECTS)
def test_an_aspect_is_a_literal_whatever_it_is_called(name: str, broken: pytest.MonkeyPatch) -> None:
    """Also where it is not made a plain word first."""
    assert value_of(compiled(aspect=ASPECTS[name])) == 1
    broken.setattr(names.Names, "add_local", lambda _, name: Code(name))
    broken.setattr(requests_plan, "make_word", lambda text, _: text)
    assert value_of(compiled(aspect=ASPECTS[name])) == 1
