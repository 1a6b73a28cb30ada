"""Parse the regular expressions of requests; refuse those with which Python's `re` may take long on some review.

In: a pattern inside a JSON string. Out: the pattern as `re.search` runs it, with `re.IGNORECASE`, or a diagnostic and
None.

`re` tries the ways in which a pattern can match one after the other, from each position of the text. Two rules bound
their number. An unbounded repeat can match in one way only: it holds no unbounded repeat and cannot match the empty
string, and wherever it has a choice the next character decides. And the steps of the whole pattern, counted for the
worst text of `PATTERN_TEXT` characters, stay within `PATTERN_STEPS`.

Of two unbounded `.`, the first is searched without backtracking: `a.*b.*c` runs as `a(?>.*?b).*c`. The nearest `b` is
enough, as it has one length and keeps to the line: from a later `b` no `c` is found that is not found from the nearest.
"""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass, replace
from functools import cache
from itertools import takewhile
from string import ascii_lowercase, digits, punctuation
from typing import Literal

from lark import Lark, Token, Transformer_NonRecursive, UnexpectedInput, v_args
from lark.tree import Meta

from formulaseed import limits
from formulaseed.diagnostics.catalogue import requests as catalogue
from formulaseed.diagnostics.model import Problems
from formulaseed.resources import read_resource
from formulaseed.source.json_reader import JsonString
from formulaseed.source.text import Span

Characters = frozenset[str]
_NONE: Characters = frozenset()
_SAMPLE = f"{ascii_lowercase}{digits} {punctuation}\n\t\réßſıµяж中ñ٣½’\xa0"
"""Characters that a `test` is tried with, in addition to those of the pattern."""
_TOKENS = re.compile(r"\\.|\[\^?(?:\\.|[^\]\\])*\]|[()]|\{([0-9]*),?([0-9]*)\}", re.DOTALL)

_UNSUPPORTED = re.compile(
    r"\\(?:p\{\w*\}?|.\w*|$)|\(\?(?:<?[=!]|P?[<=]\w*[>)]?|[\w-]*[:)]|[>(]|#[^)]*\)?)?|[*+?]|\{[^}]*\}|\[:\^?\w*:\]|&&|~~|\|\||.",
    re.DOTALL,
)
"""The text that is underlined at an error of the pattern."""

FILE_BUDGET = limits.Budget("pattern parts")
"""Limits the characters, or the parts if there are more, of all patterns of a file."""


@dataclass(frozen=True, slots=True)
class Node:
    """A part of a pattern, from `start` to `end`.

    A `test` accepts one character of a set, of which `accepts` holds the sampled ones; a `place` is an assertion such
    as `^`; `all` of some parts match one after the other, or `any` of them; a `repeat` has one part, from `least` to
    `most` times, unbounded if `most` is None.
    """

    kind: Literal["test", "place", "all", "any", "repeat"]
    start: int
    end: int
    parts: tuple[Node, ...] = ()
    accepts: Characters = _NONE
    least: int = 1
    most: int | None = 1

    @property
    def is_unbounded(self) -> bool:
        """True for a repeat without a bound, or so high a bound that it makes no difference."""
        return self.kind == "repeat" and (self.most is None or self.most > limits.PATTERN_FEW)

    def written(self, text: str) -> str:
        return text[self.start : self.end]


class _Refused(Exception):
    """Raised with the diagnostic that says why a pattern is refused."""


def parse_pattern(text: JsonString, problems: Problems) -> str | None:
    """Return a regular expression such as `wi-?fi` as it is run; None, reported, if it is invalid or may take long."""
    try:
        _refuse_large(text)
        _refuse_malformed(text)
        tree = _parse(text)
        _refuse_many_parts(tree, text)
        _refuse_ambiguous(tree, text)
        return _plan_source(tree, text)
    except _Refused as refused:
        problems.report(refused.args[0])
        return None


def _refuse_large(text: JsonString) -> None:
    """Raise `_Refused` for a pattern over a limit of characters, nesting or repeats."""
    pattern = text.value
    maximum = limits.PATTERN_CHARACTERS
    depth = 0
    if len(pattern) > maximum:
        span = text.subspan(maximum, len(pattern))
        raise _Refused(catalogue.pattern_over_limit(span, len(pattern), "characters", maximum))
    for match in _TOKENS.finditer(pattern):
        span = text.subspan(match.start(), match.end())
        depth += (match.group() == "(") - (match.group() == ")")
        times = max((int(number[-9:]) + len(number[:-9]) * 10**9 for number in match.groups() if number), default=0)
        if depth > limits.PATTERN_NESTING:
            raise _Refused(catalogue.pattern_over_limit(span, depth, "levels of groups", limits.PATTERN_NESTING))
        if times > limits.PATTERN_REPEAT:
            raise _Refused(catalogue.pattern_over_limit(span, times, "repeats", limits.PATTERN_REPEAT))
    _charge(text, len(pattern))


def _charge(text: JsonString, parts: int) -> None:
    """Charge the budget of the file with a number of parts. Raises `_Refused` if it is exhausted."""
    if not FILE_BUDGET.take(parts):
        raise _Refused(catalogue.patterns_over_limit(text.subspan(0, len(text.value)), limits.FILE_PATTERN_PARTS))


def _refuse_malformed(text: JsonString) -> None:
    """Raise `_Refused` for a pattern that `re` does not accept, with its message."""
    try:
        with warnings.catch_warnings(action="ignore"):
            re.compile(text.value)
    except re.error as error:
        span, written = _locate(text, error.pos or 0)
        raise _Refused(catalogue.invalid_pattern(span, error.msg, written)) from None


def _locate(text: JsonString, position: int) -> tuple[Span, str]:
    """Return the span to underline at a position, and its characters; `(?` is one sign."""
    position -= text.value.startswith("(?", position - 1) if position else 0
    match = _UNSUPPORTED.match(text.value, position)
    written = match.group() if match else ""
    return text.subspan(position, position + len(written)), written


# --- time


def _count_parts(node: Node) -> int:
    """Count the parts of a node with its repeats written out, except those that count as unbounded."""
    parts = 1 + sum(map(_count_parts, node.parts))
    return parts * max(node.most or 1, 1) if node.kind == "repeat" and not node.is_unbounded else parts


def _refuse_many_parts(tree: Node, text: JsonString) -> None:
    """Raise `_Refused` for nested repeats whose steps would take long to count."""
    parts = _count_parts(tree)
    if parts > limits.PATTERN_PARTS:
        unit = "parts, with its repeats written out"
        raise _Refused(
            catalogue.pattern_over_limit(text.subspan(0, len(text.value)), parts, unit, limits.PATTERN_PARTS)
        )
    _charge(text, max(parts - len(text.value), 0))


def _refuse_ambiguous(node: Node, text: JsonString) -> None:
    """Raise `_Refused` for an unbounded repeat that can match one text in several ways."""
    if node.is_unbounded:
        item = node.parts[0]
        span = text.subspan(node.start, node.end)
        if inner := _find_unbounded(item):
            raise _Refused(catalogue.nested_repeat(span, inner.written(text.value)))
        if _can_be_empty(item):
            raise _Refused(catalogue.empty_repeat(span, item.written(text.value)))
        if clash := _find_clash(item, _first_characters(item)):
            raise _Refused(catalogue.ambiguous_repeat(span, item.written(text.value), clash))
    for part in node.parts:
        _refuse_ambiguous(part, text)


def _find_unbounded(node: Node) -> Node | None:
    """Return the first unbounded repeat, or None."""
    if node.is_unbounded:
        return node
    return next((inner for part in node.parts if (inner := _find_unbounded(part))), None)


def _can_be_empty(node: Node) -> bool:
    """Return True if the node can match the empty string."""
    if node.kind in ("test", "place"):
        return node.kind == "place"
    if node.kind == "all":
        return all(map(_can_be_empty, node.parts))
    return node.least == 0 or any(map(_can_be_empty, node.parts))


def _first_characters(node: Node) -> Characters:
    """Return the characters that a match can begin with."""
    first = node.accepts
    for part in node.parts:
        first |= _first_characters(part)
        if node.kind == "all" and not _can_be_empty(part):
            break
    return first


def _next_characters(node: Node, follow: Characters) -> Characters:
    """Return the characters that can come before a node which `follow` can come after."""
    return _first_characters(node) | follow if _can_be_empty(node) else _first_characters(node)


def _find_clash(node: Node, follow: Characters) -> str | None:
    """Return a character with which a match can continue in two ways if `follow` can come after the node, or None."""
    if node.kind == "all":
        for part in reversed(node.parts):
            if clash := _find_clash(part, follow):
                return clash
            follow = _next_characters(part, follow)
    elif node.kind == "any":
        seen = _NONE
        for part in node.parts:
            first = _next_characters(part, follow)
            if clash := min(seen & first, default=None) or _find_clash(part, follow):
                return clash
            seen |= first
    elif node.kind == "repeat":
        first = _first_characters(node.parts[0])
        if node.least != node.most and first & follow:
            return min(first & follow)
        return _find_clash(node.parts[0], follow if node.most == 1 else first | follow)
    return None


_GROUP_STEPS = 32
_CHOICE_STEPS = 10
_BOUNDED_STEPS = 3
"""The cost of one more turn of a repeat: of a group, in addition if it has a choice, and of one character with a bound."""


def _steps(node: Node, after: int, follow: Characters) -> int:
    """Return the maximum of steps of `re` from one position of a text, if the rest of the pattern takes `after`."""
    if node.kind == "all":
        for part in reversed(node.parts):
            after = _steps(part, after, follow)
            follow = _next_characters(part, follow)
        return after - _saved_steps(node)
    if node.kind == "any":
        return min(limits.PATTERN_STEPS, sum(1 + _steps(part, after, follow) for part in node.parts))
    return _repeat_steps(node, after, follow) if node.kind == "repeat" else after + 1


def _repeat_steps(node: Node, after: int, follow: Characters) -> int:
    item = node.parts[0]
    first = _first_characters(item)
    # At the end of the pattern there is a match as soon as there are enough turns.
    if not after and not follow:
        return node.least * _steps(item, 0, first)
    # If no character can both continue and follow the repeat, the next one decides.
    leaving = after if first & follow or not follow else 1
    entering = _GROUP_STEPS + _CHOICE_STEPS * _has_choice(item)
    if item.kind == "test":
        entering = 1 if node.most is None else _BOUNDED_STEPS
    # Nothing in an unbounded repeat is ambiguous, so that its turns add up.
    if node.is_unbounded:
        times = node.most or limits.PATTERN_TEXT // (_width(item) or 1)
        return min(limits.PATTERN_STEPS, times * (entering + _steps(item, 0, first | follow) + leaving) + after)
    for count in range(node.most or 0, 0, -1):
        ways = entering + _steps(item, after, first | follow) + (leaving if count > node.least else 0)
        after = min(limits.PATTERN_STEPS, ways)
    return after


def _has_choice(node: Node) -> bool:
    """Return True if `re` remembers places in the node to go back to; it treats one-character alternatives as a set."""
    is_set = all(len(option.parts) == 1 and option.parts[0].kind == "test" for option in node.parts)
    return node.kind == "repeat" or (node.kind == "any" and not is_set) or any(map(_has_choice, node.parts))


def _saved_steps(node: Node) -> int:
    """Return the steps that a word such as `service` saves: at most positions, only its first letters can match."""
    length = len(list(takewhile(lambda part: part.kind == "test", node.parts)))
    return max(0, length - 2 - length // 4)


def _is_fast(steps: int) -> bool:
    return limits.PATTERN_TEXT * steps <= limits.PATTERN_STEPS


def _plan_source(tree: Node, text: JsonString) -> str:
    """Return the pattern as it is run. Raises `_Refused` if it takes long on some text."""
    source = text.value if _is_fast(_steps(tree, 0, _NONE)) else _without_backtracking(tree, text.value)
    if source is None:
        raise _Refused(catalogue.slow_pattern(text.subspan(0, len(text.value))))
    return source


def _without_backtracking(tree: Node, text: str) -> str | None:
    """Return the pattern with the first of its two `.*` searched without backtracking; None if it is still not fast."""
    gaps = [n for n, part in enumerate(tree.parts) if part.kind == "repeat" and part.most is None]
    if tree.kind != "all" or len(gaps) != 2:
        return None
    first, second = gaps
    lazy, greedy = (tree.parts[n].written(text).rstrip("?") for n in gaps)
    middle = tree.parts[first + 1 : second]
    is_steady = bool(middle) and all(_width(part) is not None and "\n" not in _all_characters(part) for part in middle)
    after = _steps(replace(tree, parts=tree.parts[second:]), 0, _NONE)
    after += limits.PATTERN_TEXT * (1 + _steps(replace(tree, parts=middle), 0, _NONE))
    steps = _steps(replace(tree, parts=tree.parts[:first]), after, _NONE)
    if {lazy, greedy} - {".*", ".+"} or not is_steady or not _is_fast(steps):
        return None
    gap, next_gap = tree.parts[first], tree.parts[second].start
    return f"{text[: gap.start]}(?>{lazy}?{text[gap.end : next_gap]}){text[next_gap:]}"


def _all_characters(node: Node) -> Characters:
    return node.accepts.union(*map(_all_characters, node.parts))


def _width(node: Node) -> int | None:
    """Return the number of characters of every match; None if it differs."""
    if node.kind in ("test", "place"):
        return int(node.kind == "test")
    if node.least != node.most:
        return None
    widths = [width for part in node.parts if (width := _width(part)) is not None]
    if len(widths) < len(node.parts) or (node.kind == "any" and len(set(widths)) > 1):
        return None
    return sum(widths) if node.kind == "all" else widths[0] * node.least


# --- syntax


def _parse(text: JsonString) -> Node:
    """Return the tree of a pattern that `re` accepts. Raises `_Refused` for syntax that is not supported."""
    try:
        return _Builder(text.value).transform(_lark().parse(text.value))
    except UnexpectedInput as error:
        raise _Refused(catalogue.pattern_not_supported(*_locate(text, error.pos_in_stream or 0))) from None


@cache
def _lark() -> Lark:
    grammar = read_resource("grammar", "pattern.lark")
    return Lark(grammar, parser="lalr", start="pattern", propagate_positions=True, maybe_placeholders=True)


@v_args(meta=True)
class _Builder(Transformer_NonRecursive[Token, Node]):
    """Converts Lark's tree to ours. Every method is named for a rule of the grammar."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text
        self.sample = dict.fromkeys([*_SAMPLE, *text.lower()])

    def pattern(self, meta: Meta, children: list[Node]) -> Node:
        return children[-1]

    def alternation(self, meta: Meta, children: list[Node]) -> Node:
        return children[0] if len(children) == 1 else Node("any", *_span(meta), tuple(children))

    def concatenation(self, meta: Meta, children: list[Node | Token]) -> Node:
        parts = [Node("place", c.start_pos or 0, c.end_pos or 0) if isinstance(c, Token) else c for c in children]
        return Node("all", *_span(meta), tuple(parts))

    def group(self, meta: Meta, children: list[Node]) -> Node:
        return Node("all", *_span(meta), tuple(children))

    def repetition(self, meta: Meta, children: list[Node]) -> Node:
        item, token = children
        assert isinstance(token, Token)
        least, most = _bounds(token)
        return Node("repeat", *_span(meta), (item,), least=least, most=most)

    def character(self, meta: Meta, children: list[Token]) -> Node:
        start, end = _span(meta)
        expression = re.compile(self.text[start:end], re.IGNORECASE)
        accepts = frozenset(character for character in self.sample if expression.fullmatch(character))
        return Node("test", start, end, accepts=accepts)

    category = set = character


def _span(meta: Meta) -> tuple[int, int]:
    return (0, 0) if meta.empty else (meta.start_pos, meta.end_pos)


def _bounds(quantifier: str) -> tuple[int, int | None]:
    """Return the minimum and the maximum of a quantifier such as `*`, `+?` or `{2,5}`; None is no maximum."""
    if quantifier[0] != "{":
        return int(quantifier[0] == "+"), 1 if quantifier[0] == "?" else None
    minimum, comma, maximum = quantifier.rstrip("?")[1:-1].partition(",")
    if not comma:
        return int(minimum), int(minimum)
    return int(minimum), int(maximum) if maximum else None
