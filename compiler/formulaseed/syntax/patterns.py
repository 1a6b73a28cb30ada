"""Text of a pattern to its tree: drives Lark, builds the tree, and refuses what would take too long.

In: a regular expression, inside a JSON string. Out: a `PatternTree`, or a diagnostic and None. What is accepted
means what Python's `re` takes it for. Limits are checked before Lark sees the text.
"""

from __future__ import annotations

import re
from functools import cache

from lark import Lark, Token, Transformer_NonRecursive, UnexpectedInput, v_args
from lark.tree import Meta

from formulaseed import limits
from formulaseed.diagnostics.model import Problems
from formulaseed.domain.ambiguity import Ambiguity, find_ambiguity
from formulaseed.domain.patterns import (
    Alternation,
    Assertion,
    CharacterTest,
    Concatenation,
    PatternNode,
    PatternTree,
    Repetition,
    literal,
    size,
)
from formulaseed.resources import read_resource
from formulaseed.source.json_reader import JsonString
from formulaseed.syntax.allotment import Allotment
from formulaseed.syntax.pattern_errors import explain_pattern
from formulaseed.syntax.syntax_errors import SyntaxFault

OF_FILE = Allotment("pattern parts")
"""The characters, or parts where these are more, of all patterns of a file."""

_BRACKETS = re.compile(r"\\.|\[\^?(?:\\.|[^\]\\])*\]|[()]", re.DOTALL)


def parse_pattern(text: JsonString, problems: Problems) -> PatternTree | None:
    """Parse a regular expression, such as `wi-?fi`, and check that no text can make it take long."""
    fault, tree = _over_limit(text.value), None
    if fault is None:
        try:
            parsed = _lark().parse(text.value)
        except UnexpectedInput as error:
            fault = explain_pattern(text.value, error)
        else:
            builder = _Builder()
            tree = PatternTree(text.value, builder.transform(parsed))
            fault = builder.fault or _takes_too_long(tree)
    if fault is not None:
        problems.add(fault.code, text.inside(fault.start, fault.end), fault.message, fault.help)
        return None
    return tree


def _over_limit(text: str) -> SyntaxFault | None:
    """What is too much, found in one pass, without recursion."""
    most = limits.PATTERN_CHARACTERS
    if len(text) > most:
        message = f"the pattern has {len(text)} characters, more than {most}"
        return SyntaxFault("FS804", most, len(text), message, "split it into several conditions joined with OR")
    depth = 0
    for match in _BRACKETS.finditer(text):
        depth += (match.group() == "(") - (match.group() == ")")
        if depth > limits.PATTERN_NESTING:
            message = f"groups stand inside one another more than {limits.PATTERN_NESTING} deep"
            return SyntaxFault("FS804", match.start(), match.end(), message, "leave out brackets that group nothing")
    return _over_limit_of_file(text, len(text))


def _over_limit_of_file(text: str, more: int) -> SyntaxFault | None:
    """Take so much of what all patterns of the file may have."""
    if OF_FILE.take(more):
        return None
    message = f"up to here the patterns of the file have more than {limits.FILE_PATTERN_SIZE:,} parts"
    return SyntaxFault("FS804", 0, len(text), message, "split the file, or repeat less")


def _takes_too_long(tree: PatternTree) -> SyntaxFault | None:
    written_out = size(tree.root)
    if written_out > limits.PATTERN_SIZE:
        message = f"with its repeats written out the pattern has {written_out} parts, more than {limits.PATTERN_SIZE}"
        return SyntaxFault("FS804", 0, len(tree.text), message, "repeat less, or without an end: `+` or `*`")
    too_many = _over_limit_of_file(tree.text, max(written_out - len(tree.text), 0))
    if too_many is not None:
        return too_many
    ambiguity = find_ambiguity(tree)
    return None if ambiguity is None else _attacked(ambiguity)


def _attacked(ambiguity: Ambiguity) -> SyntaxFault:
    start, end, pump = ambiguity.start, ambiguity.end, ambiguity.pump
    if not pump:
        message = "this repeat can go on in so many ways that it cannot be checked"
        return SyntaxFault("FS803", start, end, message, "make it shorter")
    ways = "2^n" if ambiguity.most is None else f"up to n^{ambiguity.most}"
    shown = pump if len(pump) <= 20 else f"{pump[:20]}…"
    message = f"to match n times `{shown}` this repeat tries {ways} ways"
    help = "let each text match in one way only: `a+` for `(a+)+`, `(a|b)*` for `(a*|b)*`"
    return SyntaxFault("FS803", start, end, message, help)


@cache
def _lark() -> Lark:
    grammar = read_resource("grammar", "pattern.lark")
    return Lark(grammar, parser="lalr", start="pattern", propagate_positions=True, maybe_placeholders=True)


_NAMED = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "v": "\v"}
_SPECIAL_IN_SET = r"\[]^-&~|"


@v_args(meta=True)
class _Builder(Transformer_NonRecursive[Token, PatternNode]):
    """Lark's tree to ours. Every method is named for a rule of the grammar; `fault` is the first thing amiss."""

    def __init__(self) -> None:
        super().__init__()
        self.fault: SyntaxFault | None = None

    def refuse(self, code: str, token: Token, message: str, help: str) -> None:
        if self.fault is None:
            start = token.start_pos or 0
            self.fault = SyntaxFault(code, start, start + len(token), message, help)

    def pattern(self, meta: Meta, children: list[PatternNode]) -> PatternNode:
        return children[-1]

    def alternation(self, meta: Meta, children: list[PatternNode]) -> PatternNode:
        return children[0] if len(children) == 1 else Alternation(tuple(children))

    def concatenation(self, meta: Meta, children: list[PatternNode | Token]) -> PatternNode:
        items = tuple(_assertion(child) if isinstance(child, Token) else child for child in children)
        return items[0] if len(items) == 1 else Concatenation(items)

    def group(self, meta: Meta, children: list[PatternNode]) -> PatternNode:
        return children[0]

    def repetition(self, meta: Meta, children: list[PatternNode]) -> PatternNode:
        item, quantifier = children
        assert isinstance(quantifier, Token)
        least, most = self.times(quantifier)
        return Repetition(meta.start_pos, meta.end_pos, item, least, most)

    def times(self, token: Token) -> tuple[int, int | None]:
        """What a quantifier says; that it is lazy makes no difference to whether there is a match."""
        if token[0] != "{":
            return {"*": (0, None), "+": (1, None), "?": (0, 1)}[token[0]]
        first, comma, last = token.rstrip("?")[1:-1].partition(",")
        if max(len(first.lstrip("0")), len(last.lstrip("0"))) > 9:
            first = last = "999999999"
        least = int(first)
        most = int(last) if last else None if comma else least
        if most is not None and most < least:
            self.refuse("FS801", token, f"`{token}` allows {most} at most and {least} at least", "swap the two")
        if max(least, most or 0) > limits.PATTERN_REPEAT:
            message = f"`{token[:40]}` repeats more than {limits.PATTERN_REPEAT} times"
            self.refuse("FS804", token, message, "repeat less, or without an end: `+` or `*`")
            return 0, None
        return least, most

    def character(self, meta: Meta, children: list[Token]) -> PatternNode:
        return CharacterTest(meta.start_pos, meta.end_pos, literal(_character(children[0])))

    def category(self, meta: Meta, children: list[Token]) -> PatternNode:
        return CharacterTest(meta.start_pos, meta.end_pos, str(children[0]))

    def range(self, meta: Meta, children: list[Token]) -> str:
        first, _, last = children
        if _character(first) > _character(last):
            self.refuse("FS801", first, f"the range `{first}-{last}` runs backwards", f"write `{last}-{first}`")
        return f"{_in_set(first)}-{_in_set(last)}"

    def set(self, meta: Meta, children: list[Token | str | None]) -> PatternNode:
        opening, *members = children
        inside = "".join(_in_set(member) if isinstance(member, Token) else member or "" for member in members)
        if not inside:
            assert isinstance(opening, Token)
            self.refuse("FS801", opening, "the set is empty", "write `\\]` for the bracket itself")
        return CharacterTest(meta.start_pos, meta.end_pos, f"{opening}{inside}]")


def _assertion(token: Token) -> Assertion:
    return Assertion(token.start_pos or 0, token.end_pos or 0, str(token))


def _character(token: Token) -> str:
    """The character that a literal or an escape stands for."""
    if token[0] != "\\" or len(token) < 2:
        return str(token)
    if len(token) > 2:
        return chr(int(token[2:], 16))
    return _NAMED.get(token[1], token[1])


def _in_set(token: Token) -> str:
    """A member of a set as it is written there."""
    return str(token) if token.type == "CATEGORY" else literal(_character(token), _SPECIAL_IN_SET)
