"""Test the readable cases: a seed and the compiler's output for it, side by side in one file.

Each file of cases/ begins with a title and a sentence, followed by a seed; in bad/ it may be a file of requests, or one of
rules with the formula reference that they are over. In bad/ the diagnostics follow, with the summary. In good/ follow, if the
file has such blocks: the warnings, the types, the computation of the generated module, and runs, each with every step's value
or the error. `--update-cases` rewrites these blocks; people review that diff and never type it.
"""

from __future__ import annotations

import ast
import contextlib
import difflib
import json
import re
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from case_files import BESIDE, BLOCKS, CASES, FENCE, FILES, OPENING, Block, blocks_of
from formulaseed.diagnostics.codes import CODES, POLICY_CODES
from formulaseed.diagnostics.render import render_text, summarize
from formulaseed.documents import SeedAnalysis, analyse, analyse_file, compile_seed, load_seed
from formulaseed.errors import EvaluationError
from formulaseed.ir import nodes
from formulaseed.ir.interpret import interpret
from formulaseed.ir.text import dump_program
from formulaseed.runtime.evaluator import Evaluator
from formulaseed.runtime.loading import module_from_source

COMMAND = "pytest tests/cases --update-cases"
NOT_IN_A_CASE = {
    "FS002",
    "FS003",
    "FS701",
    "FS702",
    "FS703",
    "FS704",
    "FS705",
    "FS706",
    "FS801",
    "FS802",
    "FS803",
    "FS804",
    "FS823",
    "FS901",
    *POLICY_CODES,
}
"""The codes that no seed's text gives, that are for patterns, modules and policies, or whose example is too large."""


@pytest.mark.parametrize("path", sorted(CASES.glob("*/*.md")), ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_case(path: Path, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """The compiler's output for the seed is that in the file."""
    text = path.read_text(encoding="utf-8")
    blocks = blocks_of(path)
    assert OPENING.match(text), "a case begins with a title, a sentence with a full stop, and the seed"
    assert [block.kind in FILES for block in blocks].count(True) == 1
    assert {block.kind for block in blocks} <= set(BLOCKS[path.parent.name])
    head = text[: text.index(f"```{blocks[0].kind}\n")]
    assert not FENCE.sub("", text.removeprefix(head)).strip(), "only blocks follow the sentence"
    seed = tmp_path / FILES[blocks[0].kind]
    seed.write_text(blocks[0].body, encoding="utf-8")
    for block in blocks:
        if block.kind in BESIDE:
            (tmp_path / BESIDE[block.kind]).write_text(block.body, encoding="utf-8")
    with contextlib.chdir(tmp_path):
        current = _update_good(blocks) if path.parent.name == "good" else _update_bad(blocks)
    current_text = head + "\n\n".join(map(str, current)) + "\n"
    if request.config.getoption("--update-cases"):
        if current_text != text:
            path.write_text(current_text, encoding="utf-8")
    elif current_text != text:
        name = path.relative_to(CASES.parent.parent).as_posix()
        pair = text.splitlines(), current_text.splitlines()
        diff = "\n".join(difflib.unified_diff(*pair, f"{name} as written", f"{name} as it is", lineterm="", n=4))
        pytest.fail(f"{diff}\n\nIf that is right: {COMMAND}", pytrace=False)


def test_every_code_has_a_bad_case() -> None:
    texts = [path.read_text("utf-8") for path in CASES.glob("*/*.md")]
    codes = {code for text in texts for code in re.findall(r"^\w+\[(FS\d+)\]", text, re.M)}
    assert codes == set(CODES) - NOT_IN_A_CASE


def _update_bad(blocks: list[Block]) -> list[Block]:
    analysis = analyse_file(FILES[blocks[0].kind])
    if not analysis.diagnostics:
        pytest.fail("a bad case has diagnostics, and this one has none", pytrace=False)
    beside = [block for block in blocks if block.kind in BESIDE]
    return [blocks[0], *beside, Block("text errors", _render(analysis))]


def _render(analysis: SeedAnalysis) -> str:
    return f"{render_text(analysis.diagnostics)}\n{summarize(analysis.diagnostics)}\n"


def _update_good(blocks: list[Block]) -> list[Block]:
    analysis = analyse("seed.json")
    if analysis.has_errors:
        pytest.fail(f"a good case has no errors:\n{_render(analysis)}", pytrace=False)
    loaded = load_seed("seed.json")
    source = compile_seed(loaded)
    evaluator = Evaluator(module_from_source(source, "case"))

    assert len(blocks) > 1, "a good case shows a part of the output"
    updated = [blocks[0]]
    if analysis.diagnostics:
        updated.append(Block("text warnings", _render(analysis)))
    for block in blocks[1:]:
        if block.kind == "text types":
            updated.append(Block(block.kind, dump_program(loaded.program)))
        elif block.kind == "python module":
            updated.append(Block(block.kind, _cut_compute(source)))
        elif block.kind == "json run":
            updated += [block, _run(evaluator, loaded.program, json.loads(block.body))]
    return updated


def _cut_compute(source: str) -> str:
    """Return the source of the function that computes the steps."""
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef) and node.name == "_compute":
            return "\n".join(source.split("\n")[node.lineno - 1 : node.end_lineno]) + "\n"
    raise AssertionError("the module has no `_compute`")


def _run(evaluator: Evaluator, program: nodes.Program, inputs: dict[str, Any]) -> Block:
    """Return the outcome for the inputs, after comparing that of the module with the reference interpreter's."""
    assert set(inputs) <= {"rows", "context", "parameters"}
    arguments = inputs.get("rows", []), inputs.get("context", {}), inputs.get("parameters")
    result, reference = _outcome(evaluator.trace, arguments), _outcome(partial(interpret, program), arguments)
    if result != reference:
        pytest.fail(f"The module gives\n{result}\nand the reference interpreter\n{reference}", pytrace=False)
    if result.kind == "json steps":
        steps = json.loads(result.body)
        assert evaluator.evaluate(*arguments) == {name: steps[name] for name in program.output}
    return result


def _outcome(evaluate: Callable[..., Mapping[str, Any]], arguments: tuple[Any, ...]) -> Block:
    """Return every step's value, or the step that has none."""
    try:
        values = evaluate(*arguments)
    except EvaluationError as error:
        return Block("json error", json.dumps({"step": error.step, "kind": error.kind}) + "\n")
    lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(value)}" for name, value in values.items())
    return Block("json steps", f"{{\n{lines}\n}}\n")
