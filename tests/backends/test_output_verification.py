"""Test that output verification refuses code that no emitter writes, also if the emitter is broken on purpose."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import formulaseed
import pytest
from click.testing import CliRunner
from formulaseed.backends.python import expressions, names, plan, render, statements, target
from formulaseed.backends.python.code import Code
from formulaseed.backends.python.dialects import SEEDS, Dialect
from formulaseed.backends.python.identity import insert_hash
from formulaseed.backends.python.verify import verify, verify_source
from formulaseed.cli.seeds import compile as command
from formulaseed.documents import compile_seed
from formulaseed.errors import SeedError
from formulaseed.runtime import loading
from formulaseed.runtime.evaluator import Evaluator
from formulaseed.runtime.loading import module_from_file, module_from_source
from generated_trees import code_alone
from helpers import IS_DEEP, TASKS, tiny_seed, write_json
from hostile_corpus import Entry, entries

FINE = [e for e in entries().values() if e.is_fine and e.seed is not None and len(e.data) < 30_000]
UNSEALED = "it does not state the hash of its own text"
HONEST = compile_seed(tiny_seed(), formatted=False)
SPICY = compile_seed(tiny_seed(filter={"keywords": ["jalapeño"]}), formatted=False)

# --- modules by hand

AT_THE_END = (
    "import os", "import math, os", "import math as sys", "from os import system", "from typing import *",
    "from . import evil", "from typing import Final as print", "from typing import get_type_hints",
    "from typing import Final", "print('imported')", "evaluate((), Context())", "TIME: Final = evaluate((), Context())",
    "TIMES: Final = (1, len('x'))", "BIG: Final = 9 ** 9", "BOTH: Final = {**ONE}", "A, B = 1, 2", "A = B = 1",
    "PARAMETERS.LEAST = 3", "KEYWORDS[0] = 'x'", "f'{len(KEYWORDS)}'", "if True:\n    X = 1", "for x in ():\n    pass",
    "try:\n    X = 1\nexcept OverflowError:\n    X = 2", "assert KEYWORDS", "del KEYWORDS", "raise DataError('x')",
    "B: Final = __builtins__", "def print(text: str) -> None:\n    return None",
    "def len(text: str) -> int:\n    return 0", "__all__: Final = ('evaluate',)",
    "def __getattr__(name: str) -> int:\n    return 1", "EvaluationError = ValueError",
    "class Row(NamedTuple):\n    x: int", "def evaluate(rows: int) -> int:\n    return rows",
    "def _finite(value: float, step: str) -> float:\n    return value", "@staticmethod\ndef f() -> int:\n    return 1",
    "@Final\nclass X(NamedTuple):\n    x: int", "class X(NamedTuple, metaclass=type):\n    x: int",
    "class X(evaluate((), ())):\n    x: int", "class X(ValueError, Exception):\n    '''Two.'''", "class X:\n    x: int",
    "class X(Row):\n    x: int", "class X(NamedTuple):\n    x: int\n    if True:\n        y: int",
    "class X(NamedTuple):\n    x: int = evaluate((), ())",
    "class X(NamedTuple):\n    x: int\n    def f(self) -> int:\n        return 1",
    "class X(Exception):\n    def __str__(self) -> str:\n        return 'x'",
    "class X(NamedTuple):\n    x: int\n    def __init__(self) -> None:\n        return None",
    "class X(NamedTuple):\n    __globals__: int", "class X(NamedTuple):\n    f_builtins: int",
    "def f(x: int = len('x')) -> int:\n    return x", "def f(*, x: int = len('x')) -> int:\n    return x",
    "def f(*x: int) -> int:\n    return 1", "def f(**x: int) -> int:\n    return 1",
    "def f(x: int, /) -> int:\n    return x", "async def f() -> int:\n    return 1",
    "def f(x: len('x')) -> int:\n    return x", "X: math.inf = 1", "def f(eval: int) -> int:\n    return eval",
    "def f(_finite: int) -> int:\n    return _finite",
    "def TypeVar(name: str) -> str:\n    return name\nX = TypeVar('X')",
)  # fmt: skip
"""Statements at the end of an honest module."""

INSIDE = (
    "eval('1')", "exec('x = 1')", "compile('1', 'x', 'eval')", "open('x', 'w')", "print(rows)", "input()",
    "getattr(rows, 'x')", "setattr(rows, 'x', 1)", "globals()", "vars()", "type('C', (), {})", "__import__('os')",
    "nowhere(rows)", "return folded", "return mood", "import math", "from typing import Final", "return rows.__class__",
    "return evaluate.__globals__", "return math.__dict__", "return math.factorial(9)", "return math",
    "m = math\n    return m.log(1)", "return Mapping.get(rows, 1)", "return (x for x in rows).gi_frame",
    "return rows.tb_frame", "return '{}'.format(rows)", "return 'x'.encode()", "return b'x'.decode('rot13')",
    "math.log = len", "Row.step = 1", "EvaluationError.kind = 1", "rows[0] = 1", "global KEYWORDS\n    KEYWORDS = ()",
    "nonlocal x", "KEYWORDS = ()", "Row = 1", "_finite = len", "len = 1", "context = 1", "rows = ()", "rows += ()",
    "nowhere += 1", "while True:\n        return 1", "with rows:\n        return 1", "yield rows", "await rows",
    "return lambda: 1", "return (x := 1)", "return (part := 1)", "return (x := 1, x)[-1]",
    "return (part := 1, part_2 := part)[-1]", "return (part := 1, part)[0]", "if part := context:\n        return part",
    "return [x for x in rows]", "return {x: 1 for x in rows}", "return {1, 2}",
    "match rows:\n        case _:\n            return 1", "del rows", "assert rows", "for x in rows:\n        break",
    "return max(*rows)", "return dict(**rows)", "a, *b = rows\n    return a",
    "def inner() -> int:\n        return 1\n    return inner()", "class Inner(NamedTuple):\n        x: int",
    "return evaluate(rows, context)(1)", "return rows[0]()", "try:\n        return 1\n    except:\n        return 2",
    "try:\n        return 1\n    except Exception:\n        return 2",
    "try:\n        return 1\n    except OverflowError as error:\n        return 2", "return f'{open(1)}'",
    "return f'{rows:{open(1)}}'", "return f'{rows.__class__}'", "return super(Row, rows).__init__()",
    "return context.__init__()", "x: len('x') = 1\n    return x", "x: (lambda: int) = 1\n    return x",
)  # fmt: skip
"""Statements in the body of a function with the arguments `rows` and `context`."""

WITH_MATH = HONEST.replace("import annotations\n", "import annotations\nimport math\n", 1)


def extend_module(module: str, outside: Iterable[str], inside: Iterable[str]) -> list[str]:
    """Return the module with each statement at its end, and with each in the body of a function."""
    functions = (f"def _extra(rows, context):\n    {text}" for text in inside)
    return [f"{module}\n{text}\n" for text in (*outside, *functions)]


FOREIGN_MODULES = [
    *extend_module(HONEST, AT_THE_END, INSIDE),
    *extend_module(WITH_MATH, ["M: Final = math"], ["math.log = len"]),
    HONEST.replace("from __future__ import annotations\n", ""),
    HONEST.replace("import annotations\n", "import annotations\n'again'\n", 1),
]


def assert_foreign(module: str, dialect: Dialect = SEEDS) -> None:
    """Assert that the module is refused for syntax of its dialect, not for being no Python."""
    fault = verify_source(module, dialect)
    assert fault is not None
    assert fault.startswith("line "), fault


@pytest.mark.parametrize("module", FOREIGN_MODULES, ids=lambda module: module.rstrip().splitlines()[-1].strip())
@pytest.mark.thorough
def test_a_module_with_one_foreign_statement_is_refused(module: str) -> None:
    assert_foreign(module)


def test_the_same_modules_without_that_one_thing_pass() -> None:
    assert verify_source(HONEST) is None
    inside = "total = 0\n    for row in rows:\n        total += 1\n    return math.log(total) if total else _finite(0.5, 'X')"
    extra = f"ONE: Final = {{'a': (1, -2.5)}}\ndef _extra(rows, context):\n    {inside}\n"
    assert verify_source(f"{WITH_MATH}\n{extra}") is None


def test_a_refused_module_is_not_imported(tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text(f"{HONEST}\nopen({str(tmp_path / 'canary')!r}, 'w')\n", encoding="utf-8")
    with pytest.raises(SeedError) as refused:
        module_from_file(path)
    assert [d.code for d in refused.value.diagnostics] == ["FS701"]
    assert not (tmp_path / "canary").exists()


def changed_modules(source: str) -> Iterator[str]:
    """Yield the module without a line, with one twice, with two exchanged, and with a docstring around others."""
    lines = source.split("\n")
    for at in range(len(lines) - 1):
        for replacement in ([], [lines[at], lines[at]], [lines[at + 1], lines[at]], ['    """', lines[at]]):
            yield "\n".join([*lines[:at], *replacement, *lines[at + (2 if len(replacement) == 2 and at % 2 else 1) :]])
        if lines[at].startswith("def "):
            ends = [end for end in range(at, len(lines)) if not lines[end]]
            for end in ends[:6]:
                yield "\n".join([*lines[: at + 1], '    """', *lines[at + 1 : end], '    """', *lines[end:]])


@pytest.mark.thorough
@pytest.mark.parametrize("task", ["value_for_money", pytest.param("g1a_v2", marks=pytest.mark.thorough)])
def test_parts_that_are_compared_are_the_whole(task: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module passes, also if the bare one has other blank lines; a changed module is refused, or the same program."""
    arguments: list[Any] = []
    with monkeypatch.context() as patch:
        patch.setattr(target, "verify", lambda *values: arguments.append(values))
        compile_seed(TASKS / task / "seed.json")
    [(source, bare, dialect)] = arguments
    expected = code_alone(bare)
    assert source != bare
    assert verify(source, bare, dialect) is None
    assert verify(source, bare.replace("\n\n\n", "\n\n\n\n"), dialect) is None
    unclear = 0
    for text in [*changed_modules(source)][:: 1 if IS_DEEP else 25]:
        changed = insert_hash(text)
        if verify(changed, bare, dialect) is None:
            assert code_alone(changed) == expected
            unclear += 1
    assert unclear, "some changes are in comments and docstrings"


@pytest.mark.parametrize("place", [1, 3, -2])
@pytest.mark.parametrize("text", ['"""', "x = (", "if True:", "@property", "x = 1 \\", '"""text"""', "0"], ids=repr)
@pytest.mark.thorough
def test_a_bare_module_is_whole_in_each_part(text: str, place: int) -> None:
    parts = HONEST.split("\n\n\n")
    assert verify(HONEST, HONEST) is None
    for part in (f"{text}\n{parts[place]}", f"{parts[place]}\n{text}"):
        bare = "\n\n\n".join([*parts[:place], part, *parts[place:][1:]])
        assert verify(HONEST, bare) is not None, part


@pytest.mark.parametrize("encoding", ["utf-7", "rot13", "latin-1", "no-such-encoding"])
def test_the_encoding_is_that_of_a_file(encoding: str) -> None:
    """A first line that names another encoding makes another module of the file."""
    line = f"# -*- coding: {encoding} -*-\n"
    assert verify(insert_hash(f"{line}{SPICY}"), SPICY) not in (None, UNSEALED)
    assert verify(insert_hash(f"# -*- coding: utf-8 -*-\n{SPICY}"), SPICY) is None


def test_a_module_states_its_own_hash() -> None:
    """A module with a changed comment, a changed hash or no hash is refused, although its tree is the same."""
    stated = next(line for line in HONEST.splitlines() if line.startswith("BODY_SHA256"))
    for before, after in (("  # Points given", "  # Points taken"), (stated, f'{stated[:-2]}x"'), (f"{stated}\n", "")):
        other = HONEST.replace(before, after)
        assert other != HONEST
        assert verify(other, HONEST) == UNSEALED
        assert (verify(insert_hash(other), HONEST) is None) is ("BODY_SHA256" in other)


@pytest.mark.parametrize("character", [*"\u202e\u2066\u200b\u2028\x0c\x00\r\x1b\ufeff"], ids=ascii)
def test_an_invisible_character_is_refused(character: str) -> None:
    assert verify(HONEST, HONEST) is None
    fault = verify(HONEST.replace("  # Points given", f"  # Points{character} given"), HONEST)
    assert fault is not None
    assert "cannot be seen" in fault


# --- a broken emitter


def refusal_of(compile_it: Callable[[], str]) -> str | None:
    """Return the message with which compiling fails as a bug of ours; None if it does not."""
    try:
        compile_it()
    except SeedError as error:
        (problem,) = error.diagnostics
        assert problem.code == "FS901", problem.message
        return problem.message
    return None


def refusal_of_entry(entry: Entry) -> str | None:
    return refusal_of(partial(compile_seed, entry.seed or {}, formatted=False))


def does_right(entry: Entry) -> bool:
    """Return True if the entry's module, compiled by the broken emitter, gives the right values."""
    evaluator = Evaluator(module_from_source(compile_seed(entry.seed or {}, formatted=False), "broken"))
    values = evaluator.trace(entry.rows, entry.context, entry.parameters)
    return all(repr(values[name]) == repr(value) for name, value in entry.values.items())


def remove_barrier(patch: pytest.MonkeyPatch) -> None:
    """Let templates place any string."""
    patch.setattr(render, "_require_code", lambda value: value)
    render._environment.cache_clear()


def raw(text: str) -> Code:
    return Code(text)


def print_descriptions_raw(patch: pytest.MonkeyPatch) -> None:
    for module in (plan, statements):
        patch.setattr(module, "comment_text", raw)
    patch.setattr(plan, "docstring_text", raw)


DESCRIBED = [e for e in FINE if re.search("^description-|^version-|-description-|every-", e.id)]


@pytest.mark.thorough
def test_raw_descriptions_never_become_code(broken: pytest.MonkeyPatch) -> None:
    """Printed as they are, hostile descriptions are refused with FS901, or are nothing but comments that can be seen."""
    honest = {entry.id: code_alone(compile_seed(entry.seed or {}, formatted=False)) for entry in DESCRIBED}
    print_descriptions_raw(broken)
    reported = {entry.id: refusal_of_entry(entry) for entry in DESCRIBED}
    assert [e.id for e in DESCRIBED if e.canary in ("comment", "docstring") and reported[e.id] is None] == []
    bare = ("description-bidi", "description-nul", "description-form-feed", "value-description-unicode")
    assert None not in [reported[name] for name in (*bare, "field-description-indent")]
    for entry in DESCRIBED:
        if reported[entry.id] is None:
            source = compile_seed(entry.seed or {}, formatted=False)
            assert code_alone(source) == honest[entry.id], entry.id
            assert all(line.isprintable() for line in source.split("\n"))


def test_a_template_that_prints_a_description_raw_is_stopped(broken: pytest.MonkeyPatch) -> None:
    """The barrier, which takes `Code` alone, stops it; without the barrier, the verifier does."""
    broken.setattr(plan, "docstring_text", str)
    payloads = [entry for entry in FINE if entry.canary == "docstring"]
    assert len(payloads) >= 3
    assert all("RawTextError" in (refusal_of_entry(entry) or "") for entry in payloads)
    remove_barrier(broken)
    assert all("RawTextError" not in (refusal_of_entry(entry) or "RawTextError") for entry in payloads)


def careless(quote: str) -> Any:
    """Return a printer of literals that does not escape quotes."""
    return lambda value: Code(f"{quote}{value}{quote}" if isinstance(value, str) else repr(value))


@pytest.mark.parametrize(("quote", "canaries"), [("'", ["single", "key"]), ('"', ["double"])])
@pytest.mark.thorough
def test_literals_printed_carelessly_are_refused(quote: str, canaries: list[str], broken: pytest.MonkeyPatch) -> None:
    payloads = [entry for entry in FINE if entry.canary in canaries]
    assert payloads
    for module in (plan, statements, expressions):
        broken.setattr(module, "literal", careless(quote))
    assert {entry.id for entry in payloads if refusal_of_entry(entry) is None} == set()


NAMED = [entry for entry in FINE if entry.id.startswith("names-")]
MUST = {
    "names-keywords", "names-builtins-that-run-code", "names-builtins-that-modules-use", "names-builtins-of-classes",
    "names-dunders-of-modules", "names-dunders-of-classes", "names-helpers", "names-offered", "names-locals", "names-imports",
    "names-frames",
}  # fmt: skip


@pytest.mark.thorough
def test_names_let_through_are_refused_or_harmless(broken: pytest.MonkeyPatch) -> None:
    """Without mangling, names that hide or reach something are refused; a module that passes gives right values."""
    for maker in ("add_local", "add_constant", "add_type_alias", "add_field"):
        broken.setattr(names.Names, maker, lambda _, name: Code(name))
    reported = {entry.id: refusal_of_entry(entry) for entry in NAMED}
    assert {name for name, message in reported.items() if message is None} & MUST == set()
    assert {entry.id for entry in NAMED if reported[entry.id] is None and not does_right(entry)} == set()


def test_nothing_refused_is_written_or_imported(broken: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The command ends with status 1 and an empty folder; an evaluator is not made."""
    print_descriptions_raw(broken)
    entry = entries()["every-description-at-once"]
    path = write_json(tmp_path / "seed.json", entry.seed)
    done = CliRunner().invoke(command, [str(path), "--out", str(tmp_path / "out")])
    assert done.exit_code == 1
    assert "error[FS901]" in done.output
    assert not (tmp_path / "out").exists()
    broken.setattr(loading, "module_from_source", lambda *_: pytest.fail("it was imported"))
    with pytest.raises(SeedError):
        formulaseed.load_evaluator(path)
