"""The saved tables of the formula grammar, and the loop that reads formulas by them, do what Lark does with the grammar."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
from formulaseed.language import tables
from formulaseed.language.tables import Parser, SyntaxFault, load_parser
from lark import Lark, Token, Tree, UnexpectedCharacters, UnexpectedToken

STARTS = {"formula": "formula", "continuation": "formula", "v1": "v1"}
WORDS = [
    "and", "or", "not", "in", "if", "else", "for", "True", "none", "N", "meta.stars", "index", "orb", "truely", "x", "$F",
    "1", "2.5", ".5", "1e5", "007", "1_000", "'a'", '"b\\""', "'c", "max(", "sum(", "extractions", "e['kind']",
    "(", ")", "[", "]", ",", "+", "-", "*", "**", "/", "//", "%", "<", "<=", "==", "!=", ">", ">=", "=", "?", "&&", ";",
]  # fmt: skip
RIGHT_AND_WRONG = (
    "", "  ", "1 +", "max(1, 2,)", "a not in ['x', 'y'] or -b ** 2 // 3", "(1 if x else 2) < y <= 3", "< 4 and > 1",
    "sum(1 for e in extractions if e['kind'] == 'a' and e['x'] if y) / 2",
)  # fmt: skip


def texts() -> Iterator[str]:
    """Formulas, right and wrong ones, the same in every run."""
    chosen = random.Random(7)
    yield from RIGHT_AND_WRONG
    for _ in range(1_000):
        yield (" " if chosen.random() < 0.8 else "").join(chosen.choices(WORDS, k=chosen.randint(1, 8)))


@cache
def lark(name: str) -> Lark:
    grammar, starts = tables._read_grammar(name), [*tables._STARTS[name]]
    return Lark(grammar, parser="lalr", start=starts, propagate_positions=True, maybe_placeholders=True)


def by_lark(text: str, start: str) -> Any:
    """The tree with the places of its rules, or where the text cannot go on and what could be there."""
    try:
        return plain(lark(STARTS[start]).parse(text, start=start))
    except UnexpectedToken as error:
        place = len(text) if error.token.type == "$END" else error.token.start_pos
        return place, set(error.accepts or error.expected)
    except UnexpectedCharacters as error:
        return error.pos_in_stream, set(error.allowed or ())


def plain(tree: Any) -> Any:
    if isinstance(tree, Tree):
        return str(tree.data), tree.meta.start_pos, tree.meta.end_pos, [plain(child) for child in tree.children]
    return str(tree) if isinstance(tree, Token) else tree


def by_tables(text: str, start: str) -> Any:
    try:
        return load_parser(STARTS[start]).read(text, start, lambda *built: built)[0]
    except SyntaxFault as fault:
        return fault.position, fault.expected


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.thorough
def test_formulas_are_read_as_lark_reads_them(start: str) -> None:
    """The same trees and places of a thousand texts; of wrong ones the same place, and the same that could be there."""
    assert [text for text in texts() if by_tables(text, start) != by_lark(text, start)] == []


def test_the_saved_tables_are_current() -> None:
    """`make generate` saves them, and they do not depend on the order of sets."""
    assert tables.save_tables(is_check=True) == 0


def test_tables_of_another_grammar_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the saved ones are of another grammar, broken or absent, those of this grammar are made in memory."""
    read_resource = tables.read_resource
    for saved in (json.dumps({**tables.build_tables("formula"), "grammar": "other", "states": []}), "{", None):

        def read(folder: str, name: str, saved: str | None = saved) -> str:
            if saved is None and not name.endswith(".lark"):
                raise FileNotFoundError(name)
            return saved if saved and not name.endswith(".lark") else read_resource(folder, name)

        monkeypatch.setattr(tables, "read_resource", read)
        parser: Parser = tables.load_parser.__wrapped__("formula")
        assert parser.read("1 + N", "formula", lambda rule, start, end, parts: (rule, *parts))[0][0] == "formula"
