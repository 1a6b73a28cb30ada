"""Every expression of up to five tokens over a small alphabet, exhaustively.

Each is either refused, and then for a reason that is found without the checker, or computed three ways with the same
result for every input of a grid. None is refused that has a value for some input. The normal run takes a wide alphabet up
to three tokens, of four every fourth expression, and of a narrow one every eighth of five; the deep run takes both up to five.
"""

from __future__ import annotations

import ast
from ast import unparse as text
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import groupby, islice, product
from typing import Any

import pytest
import third_evaluator
from expression_trees import KINDS, NARROW, WIDE, Alphabet, Refused, kinds
from formulaseed.documents import analyse
from formulaseed.ir import nodes
from formulaseed.ir.text import step_text
from generated_trees import assigned, has_known_result, plain, without_floats
from helpers import IS_DEEP, without_errors
from three_ways import Arguments, Json, Outcome, Ways, describe_outcome, exact

BATCH = 500
GRID: dict[str, tuple[Any, ...]] = {
    "x": (0, -1, 3), "y": (0.0, -1.5, 2.5), "b": (True, False), "n": (None, 0.0, -1.5, 2.0),
}  # fmt: skip
NAMED = [{"name": name, "op": "expr", "expr": f"{'context' if name == 'n' else 'param'}.{name}"} for name in GRID]


def seed_of(formulas: Sequence[str]) -> Json:
    """A seed with a step for each formula; bare names are steps that read the inputs."""
    steps = [{"name": f"F{place}", "op": "expr", "expr": formula} for place, formula in enumerate(formulas)]
    types = {"x": "integer", "y": "number", "b": "boolean"}
    return {
        "task_name": "T", "parameters": {name: {"type": types[name], "default": GRID[name][0]} for name in types},
        "context": [{"name": "n", "type": "number", "nullable": True}], "extract": {"fields": []},
        "compute": [*NAMED, *steps], "output": ["x"],
    }  # fmt: skip


def names_in(tree: ast.expr) -> tuple[str, ...]:
    return tuple(sorted({node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} & KINDS.keys()))


def grid(names: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Every combination of values; the other names have their first."""
    for values in product(*(GRID[name] for name in names)):
        yield {**{name: found[0] for name, found in GRID.items()}, **dict(zip(names, values, strict=True))}


def arguments(values: dict[str, Any]) -> Arguments:
    return [], {"n": values["n"]}, {name: values[name] for name in ("x", "y", "b")}


def batches(trees: Iterable[ast.expr]) -> Iterator[list[ast.expr]]:
    rest = iter(trees)
    while batch := list(islice(rest, BATCH)):
        yield batch


def refused(formulas: Sequence[str]) -> set[int]:
    """Which formulas the checker refuses."""
    errors = [d for d in analyse(seed_of(formulas)).diagnostics if d.severity == "error"]
    return {int(error.pointer.split("/")[2]) - len(NAMED) for error in errors}


# --- reasons to refuse


def is_well_typed(tree: ast.expr) -> bool:
    """Whether the type rules allow the tree as a formula; nothing is always null."""
    try:
        return kinds(tree) != {"null"}
    except Refused:
        return False


def operands(tree: ast.expr) -> Iterator[ast.expr]:
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, ast.List):
            yield from child.elts
        elif isinstance(child, ast.expr) and not (isinstance(tree, ast.Call) and child is tree.func):
            yield child


@lru_cache(maxsize=100_000)
def always_fails(tree: ast.expr) -> bool:
    """Whether the tree has no value for any input of the grid."""
    formula = third_evaluator.tree(text(tree))
    for values in grid(names_in(tree)):
        try:
            third_evaluator.value(formula, values)
        except third_evaluator.Fault:
            continue
        return False
    return True


# --- the proof

THOROUGH = pytest.mark.thorough
CASES = [
    *[pytest.param(WIDE, size, 0, 1, id=f"wide-{size}") for size in (1, 2, 3)],
    *[pytest.param(WIDE, 4, part, 4, id=f"wide-4-{part}", marks=THOROUGH) for part in range(4 if IS_DEEP else 1)],
    *[pytest.param(NARROW, 5, part, 8, id=f"narrow-5-{part}", marks=THOROUGH) for part in range(8 if IS_DEEP else 1)],
    *[pytest.param(WIDE, 5, part, 6, id=f"wide-5-{part}") for part in range(6) if IS_DEEP],
]


@pytest.mark.parametrize(("alphabet", "size", "part", "parts"), CASES)
@pytest.mark.thorough
def test_every_expression(alphabet: Alphabet, size: int, part: int, parts: int) -> None:
    """Refused for a reason, or three times the same."""
    counted: Counter[str] = Counter()
    ill_typed, doubtful, accepted = [], [], []
    for tree in alphabet.trees(size)[part::parts]:
        assert ast.dump(ast.parse(text(tree), mode="eval").body) == ast.dump(tree), "the text says what the tree says"
        group = ill_typed if not is_well_typed(tree) else doubtful if always_fails(tree) else accepted
        group.append(tree)
    if size == 5 and not IS_DEEP:  # that a formula with an ill-typed part is refused is shown for the smaller ones
        ill_typed = [tree for tree in ill_typed if all(map(is_well_typed, operands(tree)))]
    for batch in batches(ill_typed):
        wrong = set(range(len(batch))) - refused([text(tree) for tree in batch])
        assert not wrong, ("is ill typed and not refused", [text(batch[place]) for place in wrong])
    for batch in batches(doubtful):
        found = refused([text(tree) for tree in batch])
        counted["fails"] += len(found)
        constants = [text(tree) for place, tree in enumerate(batch) if not names_in(tree) and place not in found]
        assert not constants, ("can only fail and is not refused", constants)
        accepted += [tree for place, tree in enumerate(batch) if place not in found]
    for _, alike in groupby(sorted(accepted, key=names_in), key=names_in):  # which have the same grid
        for batch in batches(alike):
            counted.update(compared(batch))
    assert counted["value"] > counted["error"] > 0 or size == 1


def compared(trees: Sequence[ast.expr]) -> Counter[str]:
    """Compute the formulas three ways for every input of the grid."""
    ways = checked([text(tree) for tree in trees])
    steps = ways.loaded.program.steps[len(NAMED) :]
    assert_printed(trees, steps)
    generated = assigned(ways.source)
    for step in steps:
        printed = step_text(step)
        found = generated[step.name.lower()]
        written = plain(third_evaluator.python(printed))
        assert has_known_result(found) or ast.dump(without_floats(written)) == ast.dump(without_floats(found)), printed
    counted: Counter[str] = Counter()
    for values in grid(sorted({name for tree in trees for name in names_in(tree)})):
        counted.update(outcome[0] for outcome in ways.assert_agree(arguments(values), whole=False).values())
    return counted


def checked(formulas: Sequence[str]) -> Ways:
    """A seed of these formulas, none of which may be refused."""
    seed = seed_of(formulas)
    return Ways(seed, without_errors(analyse(seed)))


def assert_printed(trees: Sequence[ast.expr], steps: Sequence[nodes.Step]) -> None:
    """Printing a checked tree and reading it again are inverse, to the compiler and to Python.

    To Python a tree has the structure of the formula that was written, unless the checker put something else of the
    same value in place of a part.
    """
    printed = [step_text(step) for step in steps]
    again = [place for place, (tree, formula) in enumerate(zip(trees, printed, strict=True)) if text(tree) != formula]
    read = checked([printed[place] for place in again]).loaded.program.steps[len(NAMED) :]
    for place, same in zip(again, read, strict=True):
        step, tree = steps[place], trees[place]
        assert exact(step.operation) == exact(same.operation), printed[place]
        written, found = third_evaluator.tree(text(tree)), third_evaluator.tree(printed[place])
        if ast.dump(written) != ast.dump(found):
            for values in grid(names_in(tree)):
                assert tried(written, values) == tried(found, values), (text(tree), printed[place], values)


def tried(formula: ast.expr, values: dict[str, Any]) -> Outcome:
    try:
        return describe_outcome(third_evaluator.value(formula, values))
    except third_evaluator.Fault as fault:
        return describe_outcome(fault)
