"""Output verification alone: what no emitter writes is refused, also where the emitter was broken on purpose."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import formulaseed
import pytest
from click.testing import CliRunner
from formulaseed.backends.python import expressions, names, plan, render, statements, target
from formulaseed.backends.python.code import Code
from formulaseed.backends.python.identity import insert_hash
from formulaseed.backends.python.verify import verify, verify_source
from formulaseed.cli.seeds import compile as command
from formulaseed.documents import compile_seed
from formulaseed.errors import SeedError
from formulaseed.runtime import loading
from formulaseed.runtime.evaluator import Evaluator
from formulaseed.runtime.loading import module_from_file, module_from_source
from generated_trees import code_alone
from helpers import IS_DEEP, ROOT, TASKS, tiny_seed, write_json
from hostile_corpus import Entry, entries

FINE = [e for e in entries().values() if e.is_fine and e.seed is not None and len(e.data) < 30_000]
UNSEALED = "it does not state the hash of its own text"
HONEST = compile_seed(tiny_seed(), formatted=False)
SPICY = compile_seed(tiny_seed(filter={"keywords": ["jalapeño"]}), formatted=False)

# --- modules by hand

AT_THE_END = {
    "an import": "import os",
    "an import among others": "import math, os",
    "an import under another name": "import math as sys",
    "an import of a part": "from os import system",
    "an import of all": "from typing import *",
    "an import from here": "from . import evil",
    "an import under a builtin's name": "from typing import Final as print",
    "a part that is not needed": "from typing import get_type_hints",
    "a second import of one name": "from typing import Final",
    "a call": "print('imported')",
    "a call of its own": "evaluate((), Context())",
    "a call for a constant": "TIME: Final = evaluate((), Context())",
    "a call inside a constant": "TIMES: Final = (1, len('x'))",
    "a constant that is computed": "BIG: Final = 9 ** 9",
    "a constant that unpacks": "BOTH: Final = {**ONE}",
    "a constant of two names": "A, B = 1, 2",
    "a constant of a chain": "A = B = 1",
    "an attribute of a constant": "PARAMETERS.LEAST = 3",
    "an item of a constant": "KEYWORDS[0] = 'x'",
    "a text in a row": "f'{len(KEYWORDS)}'",
    "a branch": "if True:\n    X = 1",
    "a loop": "for x in ():\n    pass",
    "a handler": "try:\n    X = 1\nexcept OverflowError:\n    X = 2",
    "an assertion": "assert KEYWORDS",
    "a deletion": "del KEYWORDS",
    "a raise": "raise DataError('x')",
    "the built-ins": "B: Final = __builtins__",
    "a builtin's name": "def print(text: str) -> None:\n    return None",
    "a builtin that is allowed": "def len(text: str) -> int:\n    return 0",
    "a dunder": "__all__: Final = ('evaluate',)",
    "a module's own getattr": "def __getattr__(name: str) -> int:\n    return 1",
    "a second EvaluationError": "EvaluationError = ValueError",
    "a second Row": "class Row(NamedTuple):\n    x: int",
    "a second evaluate": "def evaluate(rows: int) -> int:\n    return rows",
    "a helper again": "def _finite(value: float, step: str) -> float:\n    return value",
    "a decorator": "@staticmethod\ndef f() -> int:\n    return 1",
    "a decorated class": "@Final\nclass X(NamedTuple):\n    x: int",
    "a metaclass": "class X(NamedTuple, metaclass=type):\n    x: int",
    "a class of a call": "class X(evaluate((), ())):\n    x: int",
    "a class of two": "class X(ValueError, Exception):\n    '''Two.'''",
    "a class of nothing": "class X:\n    x: int",
    "a class of a name": "class X(Row):\n    x: int",
    "a class with code": "class X(NamedTuple):\n    x: int\n    if True:\n        y: int",
    "a class with a call": "class X(NamedTuple):\n    x: int = evaluate((), ())",
    "a class with a method": "class X(NamedTuple):\n    x: int\n    def f(self) -> int:\n        return 1",
    "a class with another method": "class X(Exception):\n    def __str__(self) -> str:\n        return 'x'",
    "a record made by code": "class X(NamedTuple):\n    x: int\n    def __init__(self) -> None:\n        return None",
    "a field of every object": "class X(NamedTuple):\n    __globals__: int",
    "a field of a frame": "class X(NamedTuple):\n    f_builtins: int",
    "a default that is called": "def f(x: int = len('x')) -> int:\n    return x",
    "a default by name that is called": "def f(*, x: int = len('x')) -> int:\n    return x",
    "any number of arguments": "def f(*x: int) -> int:\n    return 1",
    "any named arguments": "def f(**x: int) -> int:\n    return 1",
    "arguments by place alone": "def f(x: int, /) -> int:\n    return x",
    "a coroutine": "async def f() -> int:\n    return 1",
    "an annotation that is called": "def f(x: len('x')) -> int:\n    return x",
    "an annotation with an attribute": "X: math.inf = 1",
    "an argument that is a builtin": "def f(eval: int) -> int:\n    return eval",
    "an argument that is a helper": "def f(_finite: int) -> int:\n    return _finite",
    "a type variable by hand": "def TypeVar(name: str) -> str:\n    return name\nX = TypeVar('X')",
}
"""Statements at the end of an honest module."""

INSIDE = {
    "eval": "eval('1')",
    "exec": "exec('x = 1')",
    "compile": "compile('1', 'x', 'eval')",
    "open": "open('x', 'w')",
    "print": "print(rows)",
    "input": "input()",
    "getattr": "getattr(rows, 'x')",
    "setattr": "setattr(rows, 'x', 1)",
    "globals": "globals()",
    "vars": "vars()",
    "a class that is made": "type('C', (), {})",
    "__import__": "__import__('os')",
    "a name from nowhere": "nowhere(rows)",
    "a name of another function": "return folded",
    "a name of a class's body": "return mood",
    "an import": "import math",
    "an import of a part": "from typing import Final",
    "a dunder": "return rows.__class__",
    "a dunder of a function": "return evaluate.__globals__",
    "a dunder of a module": "return math.__dict__",
    "a part of math that is not needed": "return math.factorial(9)",
    "math itself": "return math",
    "math under another name": "m = math\n    return m.log(1)",
    "a type at work": "return Mapping.get(rows, 1)",
    "a frame": "return (x for x in rows).gi_frame",
    "a traceback": "return rows.tb_frame",
    "format": "return '{}'.format(rows)",
    "encode": "return 'x'.encode()",
    "a method of bytes": "return b'x'.decode('rot13')",
    "math changed": "math.log = len",
    "a record changed": "Row.step = 1",
    "an error changed": "EvaluationError.kind = 1",
    "an item changed": "rows[0] = 1",
    "a global": "global KEYWORDS\n    KEYWORDS = ()",
    "a nonlocal": "nonlocal x",
    "a constant hidden": "KEYWORDS = ()",
    "a class hidden": "Row = 1",
    "a helper hidden": "_finite = len",
    "a builtin hidden": "len = 1",
    "the argument changed": "context = 1",
    "the rows changed": "rows = ()",
    "the rows added to": "rows += ()",
    "nothing added to": "nowhere += 1",
    "a while": "while True:\n        return 1",
    "a with": "with rows:\n        return 1",
    "a yield": "yield rows",
    "an await": "await rows",
    "a lambda": "return lambda: 1",
    "a walrus": "return (x := 1)",
    "a walrus called as a part": "return (part := 1)",
    "a part of another name": "return (x := 1, x)[-1]",
    "a part that is not the last": "return (part := 1, part_2 := part)[-1]",
    "a part of what is not the last": "return (part := 1, part)[0]",
    "a part in a condition": "if part := context:\n        return part",
    "a list comprehension": "return [x for x in rows]",
    "a dictionary comprehension": "return {x: 1 for x in rows}",
    "a set": "return {1, 2}",
    "a match": "match rows:\n        case _:\n            return 1",
    "a deletion": "del rows",
    "an assertion": "assert rows",
    "a break": "for x in rows:\n        break",
    "a star": "return max(*rows)",
    "two stars": "return dict(**rows)",
    "an unpacked rest": "a, *b = rows\n    return a",
    "a function": "def inner() -> int:\n        return 1\n    return inner()",
    "a class": "class Inner(NamedTuple):\n        x: int",
    "a call of a call": "return evaluate(rows, context)(1)",
    "a call of an item": "return rows[0]()",
    "a bare handler": "try:\n        return 1\n    except:\n        return 2",
    "a handler of everything": "try:\n        return 1\n    except Exception:\n        return 2",
    "a handler with a name": "try:\n        return 1\n    except OverflowError as error:\n        return 2",
    "a call in a text": "return f'{open(1)}'",
    "a call in a text's format": "return f'{rows:{open(1)}}'",
    "a dunder in a text": "return f'{rows.__class__}'",
    "super with arguments": "return super(Row, rows).__init__()",
    "__init__ of another": "return context.__init__()",
    "an annotation that is called": "x: len('x') = 1\n    return x",
    "a complex annotation": "x: (lambda: int) = 1\n    return x",
}
"""Statements in the body of a function with the arguments `rows` and `context`."""

WITH_MATH = HONEST.replace("import annotations\n", "import annotations\nimport math\n", 1)

BY_HAND = {
    **{f"{name}, outside": f"{HONEST}\n{text}\n" for name, text in AT_THE_END.items()},
    **{f"{name}, inside": f"{HONEST}\ndef _extra(rows, context):\n    {text}\n" for name, text in INSIDE.items()},
    "math changed where it is imported": f"{WITH_MATH}\ndef _extra(rows, context):\n    math.log = len\n",
    "math as a constant": f"{WITH_MATH}\nM: Final = math\n",
    "annotations that are evaluated": HONEST.replace("from __future__ import annotations\n", ""),
    "a text before the imports": HONEST.replace("import annotations\n", "import annotations\n'again'\n", 1),
}


@pytest.mark.parametrize("name", BY_HAND)
def test_what_no_emitter_writes_is_refused(name: str) -> None:
    """A module that is honest but for one thing is refused, and for being foreign, not for being no Python."""
    fault = verify_source(BY_HAND[name])
    assert fault is not None
    assert not fault.startswith("it is no Python"), fault
    assert fault.startswith("line "), fault


def test_the_same_modules_without_that_one_thing_pass() -> None:
    """The honest module, and honest statements where the foreign ones stood."""
    assert verify_source(HONEST) is None
    inside = "total = 0\n    for row in rows:\n        total += 1\n    return math.log(total) if total else _finite(0.5, 'X')"
    module = f"{WITH_MATH}\nONE: Final = {{'a': (1, -2.5)}}\ndef _extra(rows, context):\n    {inside}\n"
    assert verify_source(module) is None


OF_REQUESTS = ROOT / "generated" / "requests_module.py"
"""A module of another kind, with a policy of its own."""


@pytest.mark.parametrize(
    "path", sorted({*(ROOT / "generated").glob("*.py")} - {OF_REQUESTS}), ids=lambda path: path.stem
)
def test_committed_modules_pass(path: Path) -> None:
    """What was compiled and committed is as compiled."""
    assert verify_source(path.read_text(encoding="utf-8")) is None


def test_a_refused_module_is_not_imported(tmp_path: Path) -> None:
    """A file that would leave something behind when imported is refused before it is."""
    path = tmp_path / "module.py"
    path.write_text(f"{HONEST}\nopen({str(tmp_path / 'canary')!r}, 'w')\n", encoding="utf-8")
    with pytest.raises(SeedError) as refused:
        module_from_file(path)
    assert [d.code for d in refused.value.diagnostics] == ["FS701"]
    assert not (tmp_path / "canary").exists()


def changed_modules(source: str) -> Iterator[str]:
    """The module without a line, with one twice, with two that change places, and with a docstring that swallows others."""
    lines = source.split("\n")
    for at in range(len(lines) - 1):
        for instead in ([], [lines[at], lines[at]], [lines[at + 1], lines[at]], ['    """', lines[at]]):
            yield "\n".join([*lines[:at], *instead, *lines[at + (2 if len(instead) == 2 and at % 2 else 1) :]])
        if lines[at].startswith("def "):
            ends = [end for end in range(at, len(lines)) if not lines[end]]
            for end in ends[:6]:
                yield "\n".join([*lines[: at + 1], '    """', *lines[at + 1 : end], '    """', *lines[end:]])


@pytest.mark.parametrize("task", ["g1a_v2", "value_for_money"])
def test_parts_that_are_compared_are_the_whole(task: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The module passes, also where the bare one has other blank lines; changed anywhere, it is refused or the same program."""
    given: list[Any] = []
    with monkeypatch.context() as patch:
        patch.setattr(target, "verify", lambda *pair: given.append(pair))
        compile_seed(TASKS / task / "seed.json")
    [(source, bare, dialect)] = given
    expected = code_alone(bare)
    assert source != bare
    assert verify(source, bare, dialect) is None
    assert verify(source, bare.replace("\n\n\n", "\n\n\n\n"), dialect) is None
    unclear = 0
    for text in [*changed_modules(source)][:: 1 if IS_DEEP else 25]:
        found = insert_hash(text)
        if verify(found, bare, dialect) is None:
            assert code_alone(found) == expected
            unclear += 1
    assert unclear, "lines of comments and docstrings are changed, too"


@pytest.mark.parametrize("place", [1, 3, -2])
@pytest.mark.parametrize("text", ['"""', "x = (", "if True:", "@property", "x = 1 \\", '"""text"""', "0"], ids=repr)
def test_a_bare_module_is_whole_in_each_part(text: str, place: int) -> None:
    """Neither what begins in one part of it and goes on in the next nor a text of its own is overlooked, before or behind it."""
    parts = HONEST.split("\n\n\n")
    assert verify(HONEST, HONEST) is None
    for part in (f"{text}\n{parts[place]}", f"{parts[place]}\n{text}"):
        bare = "\n\n\n".join([*parts[:place], part, *parts[place:][1:]])
        assert verify(HONEST, bare) is not None, part


@pytest.mark.parametrize("encoding", ["utf-7", "rot13", "latin-1", "no-such-encoding"])
def test_the_encoding_is_that_of_a_file(encoding: str) -> None:
    """A first line that names another encoding makes another module of the file that is written."""
    line = f"# -*- coding: {encoding} -*-\n"
    assert verify(insert_hash(f"{line}{SPICY}"), SPICY) not in (None, UNSEALED)
    assert verify(insert_hash(f"# -*- coding: utf-8 -*-\n{SPICY}"), SPICY) is None


def test_a_module_states_its_own_hash() -> None:
    """A comment that was changed, a hash that was, or one that is gone: the tree is the same, the module is refused."""
    stated = next(line for line in HONEST.splitlines() if line.startswith("BODY_SHA256"))
    for other in (
        HONEST.replace("  # Points given", "  # Points taken"),
        HONEST.replace(stated, f'{stated[:-2]}x"'),
        HONEST.replace(f"{stated}\n", ""),
    ):
        assert other != HONEST
        assert verify(other, HONEST) == UNSEALED
        assert (verify(insert_hash(other), HONEST) is None) is ("BODY_SHA256" in other)


@pytest.mark.parametrize(
    "character", ["\u202e", "\u2066", "\u200b", "\u2028", "\x0c", "\x00", "\r", "\x1b", "\ufeff"], ids=ascii
)
def test_what_cannot_be_seen_is_refused(character: str) -> None:
    """A comment that shows another order than it has, or hides something, though the tree is the same."""
    assert verify(HONEST, HONEST) is None
    fault = verify(HONEST.replace("  # Points given", f"  # Points{character} given"), HONEST)
    assert fault is not None
    assert "cannot be seen" in fault


# --- a broken emitter


def refused(entry: Entry) -> str | None:
    """The message with which compiling the entry is refused as a bug of ours; None where it is compiled."""
    assert entry.seed is not None
    try:
        compile_seed(entry.seed, formatted=False)
    except SeedError as error:
        (found,) = error.diagnostics
        return found.message if found.code == "FS901" else pytest.fail(found.message)
    return None


def does_right(entry: Entry) -> bool:
    """Whether the entry's module, compiled as things are, gives the values that it should."""
    assert entry.seed is not None
    evaluator = Evaluator(module_from_source(compile_seed(entry.seed, formatted=False), "broken"))
    found = evaluator.trace(entry.rows, entry.context, entry.parameters)
    return all(repr(found[name]) == repr(value) for name, value in entry.values.items())


@pytest.fixture
def broken() -> Iterator[pytest.MonkeyPatch]:
    """A patch under which no template that was made before is used, nor any afterwards."""
    render._environment.cache_clear()
    with pytest.MonkeyPatch.context() as patch:
        yield patch
    render._environment.cache_clear()


def raw(text: str) -> Code:
    return Code(text)


def print_descriptions_raw(patch: pytest.MonkeyPatch) -> None:
    for module in (plan, statements):
        patch.setattr(module, "comment_text", raw)
    patch.setattr(plan, "docstring_text", raw)


DESCRIBED = [
    e for e in FINE if e.id.startswith(("description-", "version-")) or "-description-" in e.id or "every-" in e.id
]


def test_raw_descriptions_never_become_code(broken: pytest.MonkeyPatch) -> None:
    """Printed as they are, hostile descriptions are refused with FS901, or are nothing but comments that can be seen."""
    honest = {entry.id: code_alone(compile_seed(entry.seed or {}, formatted=False)) for entry in DESCRIBED}
    print_descriptions_raw(broken)
    reported = {entry.id: refused(entry) for entry in DESCRIBED}
    assert {
        entry.id for entry in DESCRIBED if entry.canary in ("comment", "docstring") and reported[entry.id] is None
    } == set()
    assert {"description-bidi", "description-nul", "description-form-feed",
            "value-description-unicode", "field-description-indent"} <= {
        name for name, message in reported.items() if message is not None
    }  # fmt: skip
    for entry in DESCRIBED:
        if reported[entry.id] is None:
            source = compile_seed(entry.seed or {}, formatted=False)
            assert code_alone(source) == honest[entry.id], entry.id
            assert all(line.isprintable() for line in source.split("\n"))


def test_a_template_that_prints_a_description_raw_is_stopped(broken: pytest.MonkeyPatch) -> None:
    """By the barrier, which takes Code alone; and where that is off as well, by the verifier."""
    broken.setattr(plan, "docstring_text", str)
    payloads = [entry for entry in FINE if entry.canary == "docstring"]
    assert len(payloads) >= 3
    for entry in payloads:
        message = refused(entry)
        assert message is not None
        assert "RawTextError" in message
    broken.setattr(render, "_require_code", lambda value: value)
    render._environment.cache_clear()
    for entry in payloads:
        message = refused(entry)
        assert message is not None
        assert "RawTextError" not in message


def careless(quote: str) -> Any:
    """A printer of literals that forgets that a text may hold quotes."""
    return lambda value: Code(f"{quote}{value}{quote}" if isinstance(value, str) else repr(value))


@pytest.mark.parametrize(("quote", "canary"), [("'", ("single", "key")), ('"', ("double",))])
def test_literals_printed_carelessly_are_refused(
    quote: str, canary: tuple[str, ...], broken: pytest.MonkeyPatch
) -> None:
    """Each value that would leave its quotes is refused; nothing is written, nothing imported."""
    payloads = [entry for entry in FINE if entry.canary in canary]
    assert payloads
    for module in (plan, statements, expressions):
        broken.setattr(module, "literal", careless(quote))
    assert {entry.id for entry in payloads if refused(entry) is None} == set()


NAMED = [entry for entry in FINE if entry.id.startswith("names-")]
MUST = {
    "names-keywords", "names-builtins-that-run-code", "names-builtins-that-modules-use", "names-builtins-of-classes",
    "names-dunders-of-modules", "names-dunders-of-classes", "names-helpers", "names-offered", "names-locals", "names-imports",
    "names-frames",
}  # fmt: skip


def test_names_let_through_are_refused_or_harmless(broken: pytest.MonkeyPatch) -> None:
    """Without mangling, names that hide or reach something are refused; a module that passes gives right values."""
    for maker in ("add_local", "add_constant", "add_type_alias", "add_field"):
        broken.setattr(names.Names, maker, lambda _, name: Code(name))
    reported = {entry.id: refused(entry) for entry in NAMED}
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
