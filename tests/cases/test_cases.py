"""Readable cases: a seed and what the compiler makes of it, side by side in one file.

Each file of cases/ begins with a title and a sentence, then gives a seed; in bad/ it may be a file of requests, or one
of rules with the formula reference that they are over. There the diagnostics follow, with the summary. In good/ follow, as
far as the file has such blocks: the warnings, the types, the computation of the generated module, and runs, each with every
step's value or the error. `--update-cases` rewrites what follows; people review that diff and never type it.
"""

from __future__ import annotations

import ast
import contextlib
import difflib
import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from case_files import BESIDE, BLOCKS, CASES, FENCE, FILES, OPENING, Block, blocks_of
from formulaseed.diagnostics.codes import CODES
from formulaseed.diagnostics.render import render_text, summarize
from formulaseed.documents import SeedAnalysis, analyse, analyse_file, compile_seed, load_seed
from formulaseed.errors import EvaluationError
from formulaseed.ir import nodes
from formulaseed.ir.interpret import interpret
from formulaseed.ir.text import dump_program
from formulaseed.runtime.evaluator import Evaluator
from formulaseed.runtime.loading import module_from_source

COMMAND = "pytest tests/cases --update-cases"
NOT_IN_A_TEXT = {
    "FS002": "a case is a text, and this is about bytes that are none",
    "FS003": "a seed of two megabytes is not worth reading",
    "FS701": "about modules",
    "FS702": "about targets, and the one that cases are compiled to supports everything",
    "FS801": "about patterns, which seeds have none of",
    "FS802": "about patterns, which seeds have none of",
    "FS803": "about patterns, which seeds have none of",
    "FS804": "about patterns, which seeds have none of",
    "FS823": "a shorthand that is too large is too large for a page",
    "FS901": "a bug of ours",
}


@pytest.mark.parametrize("path", sorted(CASES.glob("*/*.md")), ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_case(path: Path, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """The compiler says of the seed what the file says."""
    written = path.read_text(encoding="utf-8")
    blocks = blocks_of(path)
    assert OPENING.match(written), "a case begins with a title, a sentence with a full stop, and the seed"
    assert [block.kind in FILES for block in blocks].count(True) == 1
    assert {block.kind for block in blocks} <= set(BLOCKS[path.parent.name])
    head = written[: written.index(f"```{blocks[0].kind}\n")]
    assert not FENCE.sub("", written.removeprefix(head)).strip(), "after the sentence there are blocks alone"
    seed = tmp_path / FILES[blocks[0].kind]
    seed.write_text(blocks[0].body, encoding="utf-8")
    for block in blocks:
        if block.kind in BESIDE:
            (tmp_path / BESIDE[block.kind]).write_text(block.body, encoding="utf-8")
    with contextlib.chdir(tmp_path):
        rewritten = _good(blocks) if path.parent.name == "good" else _bad(blocks)
    text = head + "\n\n".join(str(block) for block in rewritten) + "\n"
    if request.config.getoption("--update-cases"):
        if text != written:
            path.write_text(text, encoding="utf-8")
    elif text != written:
        name = path.relative_to(CASES.parent.parent).as_posix()
        pair = written.splitlines(), text.splitlines()
        diff = "\n".join(difflib.unified_diff(*pair, f"{name} as written", f"{name} as it is", lineterm="", n=4))
        pytest.fail(f"{diff}\n\nIf that is right: {COMMAND}", pytrace=False)


def test_every_code_has_a_bad_case() -> None:
    """A diagnostic that a seed's text can cause is shown by a case."""
    shown = {
        code for path in CASES.glob("*/*.md") for code in re.findall(r"^\w+\[(FS\d+)\]", path.read_text("utf-8"), re.M)
    }
    assert shown == set(CODES) - set(NOT_IN_A_TEXT)


def _bad(blocks: list[Block]) -> list[Block]:
    analysis = analyse_file(FILES[blocks[0].kind])
    if not analysis.diagnostics:
        pytest.fail("a bad case has diagnostics, and this one has none", pytrace=False)
    beside = [block for block in blocks if block.kind in BESIDE]
    return [blocks[0], *beside, Block("text errors", _reported(analysis))]


def _reported(analysis: SeedAnalysis) -> str:
    return f"{render_text(analysis.diagnostics)}\n{summarize(analysis.diagnostics)}\n"


def _good(blocks: list[Block]) -> list[Block]:
    analysis = analyse("seed.json")
    if analysis.has_errors:
        pytest.fail(f"a good case has no errors:\n{_reported(analysis)}", pytrace=False)
    loaded = load_seed("seed.json")
    source = compile_seed(loaded)
    evaluator = Evaluator(module_from_source(source, "case"))

    def rewritten() -> Iterator[Block]:
        assert len(blocks) > 1, "a good case shows something of what is made of the seed"
        yield blocks[0]
        if analysis.diagnostics:
            yield Block("text warnings", _reported(analysis))
        for block in blocks[1:]:
            if block.kind == "text types":
                yield Block(block.kind, dump_program(loaded.program))
            elif block.kind == "python module":
                yield Block(block.kind, _compute(source))
            elif block.kind == "json run":
                yield block
                yield _run(evaluator, loaded.program, json.loads(block.body))

    return list(rewritten())


def _compute(source: str) -> str:
    """The function of the module that holds the steps."""
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef) and node.name == "_compute":
            return "\n".join(source.split("\n")[node.lineno - 1 : node.end_lineno]) + "\n"
    raise AssertionError("the module has no `_compute`")


def _run(evaluator: Evaluator, program: nodes.Program, given: dict[str, Any]) -> Block:
    """What the rows give; the module and the reference interpreter must be of one mind."""
    assert set(given) <= {"rows", "context", "parameters"}
    arguments = given.get("rows", []), given.get("context", {}), given.get("parameters")
    made, reference = _outcome(evaluator.trace, arguments), _outcome(partial(interpret, program), arguments)
    if made != reference:
        pytest.fail(f"The module gives\n{made}\nand the reference interpreter\n{reference}", pytrace=False)
    if made.kind == "json steps":
        steps = json.loads(made.body)
        assert evaluator.evaluate(*arguments) == {name: steps[name] for name in program.output}
    return made


def _outcome(evaluate: Callable[..., Mapping[str, Any]], arguments: tuple[Any, ...]) -> Block:
    """Every step's value, or the step that has none."""
    try:
        values = evaluate(*arguments)
    except EvaluationError as error:
        return Block("json error", json.dumps({"step": error.step, "kind": error.kind}) + "\n")
    lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(value)}" for name, value in values.items())
    return Block("json steps", f"{{\n{lines}\n}}\n")
