"""Parse texts by the LALR tables of the formula grammar, and build the tables.

In: a text. Out: its value, built by a callback, or a `SyntaxFault`. Lark builds the tables of the grammar once; they
are saved beside it (`python -m formulaseed.language.tables`), and built again in memory if the grammar has
changed since.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from functools import cache
from typing import Any, NoReturn

from formulaseed.resources import read_resource, resource_folder

_TABLES_FILE = "{}.tables.json"
_STARTS = {"formula": ("formula", "continuation"), "v1": ("v1",)}
"""The parsers: one for seeds v2, one for seeds v1, with their start rules."""
_OVERLAPPING_TERMINALS = ("NAME", "CONSTANT")
"""Terminals that match the same words as each other or an operator: a scanner has only those that its states accept."""
BuildNode = Callable[[str, int, int, list[Any]], Any]
"""Return the value of a rule from its name, the offsets of its start and end, and its parts.

A part is the text of a terminal, the value of a rule, or None for an optional part that is absent.
"""


class SyntaxFault(Exception):
    """Raised when a text does not follow the grammar at `position`, where one of the terminals `expected` could be."""

    def __init__(self, position: int, expected: set[str]) -> None:
        self.position = position
        self.expected = expected


@cache
def load_parser(name: str) -> Parser:
    """Return the parser `formula` or `v1`, built when first needed. Builds its tables if the saved ones are old."""
    grammar = _read_grammar(name)
    try:
        saved = json.loads(read_resource("grammar", _TABLES_FILE.format(name)))
    except (OSError, ValueError):
        saved = {}
    if saved.get("grammar") != grammar:
        saved = build_tables(name)
    return Parser(saved)


class Parser:
    """An LALR parser that runs the tables of a grammar, as `build_tables` returns them.

    States that accept the same overlapping terminals share a scanner.
    """

    def __init__(self, saved: dict[str, Any]) -> None:
        self._starts: dict[str, int] = saved["starts"]
        self._ends: dict[str, int] = saved["ends"]
        self._rows: list[dict[str, int]] = saved["states"]
        self._rules = saved["rules"]
        self._ignored = re.compile(f"(?:{saved['ignored']})*+")
        overlaps = [tuple(name in row for name in _OVERLAPPING_TERMINALS) for row in self._rows]
        scanners: dict[tuple[bool, ...], re.Pattern[str]] = {}
        for overlap in set(overlaps):
            names = {name for row, own in zip(self._rows, overlaps, strict=True) if own == overlap for name in row}
            terminals = [f"(?P<{name}>{pattern})" for name, pattern in saved["terminals"].items() if name in names]
            scanners[overlap] = re.compile(rf"{self._ignored.pattern}(?:{'|'.join(terminals)}|\Z)")
        self._scanners = [scanners[overlap] for overlap in overlaps]

    def read(self, text: str, start: str, build: BuildNode) -> tuple[Any, int]:
        """Parse a text by the rule `start`. Raises `SyntaxFault` if the text does not follow the grammar.

        `build` is called for each rule that is complete, the inner ones first. Returns the value of the outermost rule,
        and how deep the calls of `build` are nested: 1 if only one was made.
        """
        rows = self._rows
        rules = self._rules
        last = self._ends[start]
        position = 0
        states = [self._starts[start]]
        values: list[Any] = []
        starts: list[int] = []
        ends: list[int] = []
        depths: list[int] = []
        while True:
            match = self._scanners[states[-1]].match(text, position)
            if match is None:
                self._refuse(text, position, states, None)
            terminal = match.lastgroup or "$END"
            while (action := rows[states[-1]].get(terminal)) is not None and action < 0:
                origin, size, name, parts = rules[action]  # no rule is empty, so that `size` is 1 or more
                if name:
                    inside = values[-size:]
                    children: list[Any] = []
                    for place in parts:
                        if place is None:
                            children.append(None)
                        elif place < 0:  # a repetition: its parts are parts of the rule
                            children += inside[place]
                        else:
                            children.append(inside[place])
                    depth = max(depths[-size:])
                    if name == "*":
                        value: Any = children
                    else:
                        value = build(name, starts[-size], ends[-1], children)
                        depth += 1
                    ends[-size:] = ends[-1:]
                    values[-size:] = (value,)
                    depths[-size:] = (depth,)
                    del starts[len(starts) - size + 1 :], states[-size:]
                else:  # the rule has the value of its only part, which stays in place
                    states.pop()
                state = rows[states[-1]][origin]
                states.append(state)
                if state == last and terminal == "$END":
                    return values[0], depths[0]
            if action is None:
                self._refuse(text, position, states, terminal)
            position = match.end()
            states.append(action)
            group = match.lastindex or 0
            values.append(match[group])
            starts.append(match.start(group))
            ends.append(position)
            depths.append(0)

    def _refuse(self, text: str, position: int, states: list[int], terminal: str | None) -> NoReturn:
        """Raise `SyntaxFault` after the spaces at `position`, with the terminals that could be there.

        `terminal` is the one that is there, or None if the scanner of the last state finds none.
        """
        if ignored := self._ignored.match(text, position):
            position = ignored.end()
        row = self._rows[states[-1]]
        if terminal is None and not any(scanner.match(text, position) for scanner in set(self._scanners)):
            raise SyntaxFault(position, {name for name in row if name.isupper() and name != "$END"})
        raise SyntaxFault(position, {name for name in row if name.isupper() and self._accepts(list(states), name)})

    def _accepts(self, states: list[int], terminal: str) -> bool:
        """Return True if the terminal can be next, once the rules before it are complete. Changes `states`."""
        while (action := self._rows[states[-1]].get(terminal)) is not None and action < 0:
            origin, size, _, _ = self._rules[action]
            del states[-size:]
            states.append(self._rows[states[-1]][origin])
            if terminal == "$END" and states[-1] in self._ends.values():
                return True
        return action is not None


def _read_grammar(name: str) -> str:
    """Return the grammar of a parser; only that of `v1` has the rules of loops."""
    grammar = read_resource("grammar", "formula.lark")
    if name != "v1":
        grammar, _, _ = grammar.partition("// --- loops")
    return grammar


def build_tables(name: str) -> dict[str, Any]:
    """Build the tables of a parser with Lark, as JSON values.

    An action of 0 or more is the next state; a negative one is the index of a rule, from the end. For a rule as JSON,
    see `_encode_rule`.
    """
    from lark import Lark  # not needed where saved tables are read

    grammar = _read_grammar(name)
    lark: Any = Lark(grammar, parser="lalr", start=list(_STARTS[name]), maybe_placeholders=True)
    table = lark.parser.parser._parse_table
    lexer = lark.parser.lexer.root_lexer
    rows = {state: sorted(row.items(), key=lambda item: item[0]) for state, row in table.states.items()}
    states = _number_states(rows, [table.start_states[start] for start in _STARTS[name]])
    rules = {rule: number - len(lark.rules) for number, rule in enumerate(lark.rules)}
    patterns = {terminal.name: terminal.pattern.to_regexp() for terminal in lexer.terminals}
    return {
        "grammar": grammar,
        "starts": {start: states[state] for start, state in sorted(table.start_states.items())},
        "ends": {start: states[state] for start, state in sorted(table.end_states.items())},
        "terminals": {name: pattern for name, pattern in patterns.items() if name not in lexer.ignore_types},
        "ignored": "|".join(pattern for name, pattern in patterns.items() if name in lexer.ignore_types),
        "rules": [_encode_rule(rule) for rule in lark.rules],
        "states": [
            {
                symbol: (rules if action.name == "Reduce" else states)[argument]
                for symbol, (action, argument) in rows[state]
            }
            for state in states
        ],
    }


def _number_states(rows: dict[Any, list[Any]], starts: list[Any]) -> dict[Any, int]:
    """Number the states in the order in which they are reached, since Lark's own order depends on the order of sets."""
    order = dict.fromkeys(starts)
    queue = list(starts)
    for state in queue:
        reached = dict.fromkeys(argument for _, (action, argument) in rows[state] if action.name == "Shift")
        queue += [following for following in reached if following not in order]
        order |= reached
    return {state: number for number, state in enumerate(order)}


def _encode_rule(rule: Any) -> list[Any]:
    """Return a rule as JSON: its symbol, how many symbols it consists of, the name for `BuildNode`, its parts.

    The name is None if the value is that of the only part, and `*` for a repetition, whose value is the list of its
    parts. The parts are those of `_find_parts`.
    """
    parts = _find_parts(rule)
    name = rule.alias or rule.options.template_source or rule.origin.name
    if rule.origin.name.startswith("_"):
        name = "*"
    if rule.options.expand1 and not rule.alias and parts == [0] and len(rule.expansion) == 1:
        name = None
    return [rule.origin.name, len(rule.expansion), name, parts]


def _find_parts(rule: Any) -> list[int | None]:
    """Return the indices of the rule's symbols that are parts of its value.

    None stands for an optional part that is absent, and a negative index for a repetition, whose own parts are taken.
    """
    size = len(rule.expansion)
    parts: list[int | None] = []
    symbols = iter(enumerate(rule.expansion))
    for is_empty in rule.options.empty_indices or [False] * size:
        if is_empty:
            parts.append(None)
            continue
        place, symbol = next(symbols)
        if not symbol.is_term and symbol.name.startswith("_"):
            parts.append(place - size)
        elif rule.options.keep_all_tokens or not (symbol.is_term and symbol.filter_out):
            parts.append(place)
    return parts


def save_tables(*, is_check: bool) -> int:
    """Save the tables beside the grammar and return 0; with `is_check` only compare them, and return 1 if outdated."""
    outdated = 0
    for name in _STARTS:
        path = resource_folder("grammar") / _TABLES_FILE.format(name)
        text = json.dumps(build_tables(name), separators=(",", ":")) + "\n"
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            outdated = 1
            if not is_check:
                path.write_text(text, encoding="utf-8")
    return outdated if is_check else 0


if __name__ == "__main__":
    sys.exit(save_tables(is_check="--check" in sys.argv))
