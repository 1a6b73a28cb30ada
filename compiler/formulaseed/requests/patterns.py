"""Regular expressions of requests: parsed, and refused where a review could make Python's `re` take long.

In: a pattern inside a JSON string. Out: a `Pattern`, which means what `re.search` with `re.IGNORECASE` means, or a
diagnostic and None.

`re` tries the ways in which a pattern can match one after the other, from each place of the text. Two rules bound
their number. What is repeated without an end can match in one way only: nothing in it is repeated without an end or
empty, and wherever it has a choice the next character decides. And the steps of the whole, counted for a text of
`PATTERN_TEXT` characters of the worst kind, stay within `PATTERN_STEPS`.

Of two unbounded `.`, the first is searched without going back: `a.*b.*c` runs as `a(?>.*?b).*c`. The nearest `b` will do,
as it has one length and keeps to the line: from any later one no `c` is found that is not found from there, too.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cache
from itertools import takewhile
from string import ascii_lowercase, digits, punctuation
from typing import Literal

from lark import Lark, Token, Transformer_NonRecursive, UnexpectedCharacters, UnexpectedInput, UnexpectedToken, v_args
from lark.tree import Meta

from formulaseed import limits
from formulaseed.diagnostics.model import Problems
from formulaseed.language.syntax_errors import SyntaxFault
from formulaseed.requests.allotment import Allotment
from formulaseed.resources import read_resource
from formulaseed.source.json_reader import JsonString

Characters = frozenset[str]
_NONE: Characters = frozenset()
_SAMPLE = f"{ascii_lowercase}{digits} {punctuation}\n\t\réßſıµяж中ñ٣½’\xa0"
"""Characters by which tests are told apart, besides those of the pattern itself."""
OF_FILE = Allotment("pattern parts")
"""The characters, or parts where these are more, of all patterns of a file."""

_BRACKETS = re.compile(r"\\.|\[\^?(?:\\.|[^\]\\])*\]|[()]", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Pattern:
    """An accepted pattern: `text` as it was written, `source` as `re` runs it, case ignored."""

    text: str
    source: str


@dataclass(frozen=True, slots=True)
class Node:
    """A part of a pattern, at `start` to `end`.

    A `test` accepts one character of a set, of which `accepts` holds the sampled ones; a `place` is an assertion such
    as `^`; `all` of some parts match one after the other, or `any` of them; a `repeat` has one part, from `least` to
    `most` times, without an end where `most` is None.
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
        """Whether it is repeated without an end, or so often that it makes no difference."""
        return self.kind == "repeat" and (self.most is None or self.most > limits.PATTERN_FEW)

    def written(self, text: str) -> str:
        return text[self.start : self.end]


def parse_pattern(text: JsonString, problems: Problems) -> Pattern | None:
    """Parse a regular expression such as `wi-?fi`; report what is wrong with it, or would take long."""
    fault, pattern = _over_limit(text.value), None
    if fault is None:
        try:
            parsed = _lark().parse(text.value)
        except UnexpectedInput as error:
            fault = _syntax_fault(text.value, error)
        else:
            builder = _Builder(text.value)
            tree = builder.transform(parsed)
            fault = builder.fault or _over_parts(tree, text.value) or _ambiguous(tree, text.value)
            pattern = _runnable(tree, text.value) if fault is None else None
            if fault is None and pattern is None:
                message = "a long review could make this pattern take very long: it can match in too many ways"
                help = "bound a repeat, such as `.{0,100}` for `.*`, or make several conditions of it"
                fault = SyntaxFault("FS803", 0, len(text.value), message, help)
    if fault is not None:
        problems.add(fault.code, text.inside(fault.start, fault.end), fault.message, fault.help)
    return pattern


def _over_limit(text: str) -> SyntaxFault | None:
    most, depth = limits.PATTERN_CHARACTERS, 0
    if len(text) > most:
        message = f"the pattern has {len(text)} characters, more than {most}"
        return SyntaxFault("FS804", most, len(text), message, "split it into several conditions joined with OR")
    for match in _BRACKETS.finditer(text):
        depth += (match.group() == "(") - (match.group() == ")")
        if depth > limits.PATTERN_NESTING:
            message = f"groups are nested more than {limits.PATTERN_NESTING} deep"
            return SyntaxFault("FS804", match.start(), match.end(), message, "leave out brackets that group nothing")
    return _over_limit_of_file(text, len(text))


def _over_limit_of_file(text: str, more: int) -> SyntaxFault | None:
    """Take so much of what all patterns of the file may have."""
    if OF_FILE.take(more):
        return None
    message = f"up to here the patterns of the file have more than {limits.FILE_PATTERN_PARTS:,} parts"
    return SyntaxFault("FS804", 0, len(text), message, "split the file")


def _over_parts(tree: Node, text: str) -> SyntaxFault | None:
    """Refuse repeats inside one another whose steps would take long to count."""
    parts = _parts(tree)
    if parts > limits.PATTERN_PARTS:
        message = f"with its repeats written out the pattern has {parts:,} parts, more than {limits.PATTERN_PARTS:,}"
        return SyntaxFault("FS804", 0, len(text), message, "put fewer repeats inside one another")
    return _over_limit_of_file(text, max(parts - len(text), 0))


def _parts(node: Node) -> int:
    """How many parts a node has where its repeats are written out, but for those that count as without an end."""
    parts = 1 + sum(map(_parts, node.parts))
    return parts * max(node.most or 1, 1) if node.kind == "repeat" and not node.is_unbounded else parts


# --- time


def _ambiguous(node: Node, text: str) -> SyntaxFault | None:
    """The first unbounded repeat that can match one text in several ways."""
    reason = _reason(node.parts[0], text) if node.is_unbounded else None
    if reason is not None:
        message = f"this repeat can match one text in many ways: {reason[0]}"
        return SyntaxFault("FS803", node.start, node.end, message, reason[1])
    return next((fault for part in node.parts if (fault := _ambiguous(part, text))), None)


def _reason(item: Node, text: str) -> tuple[str, str] | None:
    """Why what is repeated can match in several ways, and what to write instead; None where it cannot."""
    stack = [item]
    while stack:
        part = stack.pop()
        if part.is_unbounded:
            inner = part.written(text)
            return f"`{inner}` is repeated inside it", f"repeat once, such as `{inner}` for `({inner})+`"
        stack += part.parts
    begins, may_be_empty = _begin(item)
    if may_be_empty:
        return f"`{item.written(text)}` can be empty", "let what is repeated match at least one character"
    clash = _clash(item, begins)
    if clash is None:
        return None
    help = "let alternatives begin with different characters: `(a|b)*` for `(a|a)*`, `(ab?)*` for `(ab|a)*`"
    return f"`{item.written(text)}` can go on with `{clash}` in two ways", help


def _begin(node: Node) -> tuple[Characters, bool]:
    """The characters that a match can begin with, and whether it can be empty."""
    if node.kind in ("test", "place"):
        return node.accepts, node.kind == "place"
    parts = [_begin(part) for part in node.parts]
    if node.kind == "all":
        length = next((n for n, (_, empty) in enumerate(parts, 1) if not empty), len(parts))
        return _NONE.union(*(first for first, _ in parts[:length])), all(empty for _, empty in parts)
    return _NONE.union(*(first for first, _ in parts)), node.least == 0 or any(empty for _, empty in parts)


def _with(node: Node, follow: Characters) -> Characters:
    """The characters that can come at the place before a node."""
    first, empty = _begin(node)
    return first | follow if empty else first


def _clash(node: Node, follow: Characters) -> str | None:
    """A character with which a match can go on in two ways, where `follow` can come behind the node."""
    if node.kind == "all":
        for part in reversed(node.parts):
            if clash := _clash(part, follow):
                return clash
            follow = _with(part, follow)
    elif node.kind == "any":
        seen = _NONE
        for part in node.parts:
            begins = _with(part, follow)
            if clash := min(seen & begins, default=None) or _clash(part, follow):
                return clash
            seen |= begins
    elif node.kind == "repeat":
        begins = _begin(node.parts[0])[0]
        if node.least != node.most and begins & follow:
            return min(begins & follow)
        return _clash(node.parts[0], follow if node.most == 1 else begins | follow)
    return None


_GROUP, _BOUNDED = 5, 3
"""What one more turn of a repeated group, and of a repeat with an end, takes beside the steps in it."""


def _steps(node: Node, after: int, follow: Characters) -> int:
    """The most steps of `re` from one place of a text on, where the rest of the pattern takes `after`."""
    if node.kind == "all":
        for part in reversed(node.parts):
            after, follow = _steps(part, after, follow), _with(part, follow)
        return after - _spared(node)
    if node.kind == "any":
        return min(limits.PATTERN_STEPS, sum(1 + _steps(part, after, follow) for part in node.parts))
    if node.kind != "repeat":
        return after + 1
    item, begins = node.parts[0], _begin(node.parts[0])[0]
    leaving = after if begins & follow or not follow else 1  # else the next character decides against it
    if not after and not follow:  # at the end of the pattern: there is a match as soon as there are enough
        return node.least * _steps(item, 0, begins)
    entering = _GROUP if item.kind != "test" else 1 if node.is_unbounded and node.most is None else _BOUNDED
    if node.is_unbounded:  # in which nothing is ambiguous
        times = node.most or limits.PATTERN_TEXT
        return min(limits.PATTERN_STEPS, times * (entering + _steps(item, 0, begins | follow) + leaving) + after)
    for count in range(node.most or 0, 0, -1):
        ways = entering + _steps(item, after, begins | follow) + (leaving if count > node.least else 0)
        after = min(limits.PATTERN_STEPS, ways)
    return after


def _spared(node: Node) -> int:
    """The steps that a word such as `service` spares: at most places of any text, no more than its first letters match."""
    word = len(list(takewhile(lambda part: part.kind == "test", node.parts)))
    return max(0, word - 2 - word // 4)


def _is_fast(steps: int) -> bool:
    return limits.PATTERN_TEXT * steps <= limits.PATTERN_STEPS


def _runnable(tree: Node, text: str) -> Pattern | None:
    """The pattern as it is run; None where some text makes that take long."""
    if _is_fast(_steps(tree, 0, _NONE)):
        return Pattern(text, text)
    gaps = [n for n, part in enumerate(tree.parts) if part.kind == "repeat" and part.most is None]
    if tree.kind != "all" or len(gaps) != 2:
        return None
    first, second = gaps
    lazy, *others = (tree.parts[n].written(text).rstrip("?") for n in gaps)
    middle = tree.parts[first + 1 : second]
    steady = bool(middle) and all(_width(part) is not None and "\n" not in _accepted(part) for part in middle)
    after = _steps(replace(tree, parts=tree.parts[second:]), 0, _NONE)
    after += limits.PATTERN_TEXT * (1 + _steps(replace(tree, parts=middle), 0, _NONE))
    if (
        {lazy, *others} - {".*", ".+"}
        or not steady
        or not _is_fast(_steps(replace(tree, parts=tree.parts[:first]), after, _NONE))
    ):
        return None
    begin, end, next_gap = tree.parts[first].start, tree.parts[first].end, tree.parts[second].start
    return Pattern(text, f"{text[:begin]}(?>{lazy}?{text[end:next_gap]}){text[next_gap:]}")


def _accepted(node: Node) -> Characters:
    return node.accepts.union(*map(_accepted, node.parts))


def _width(node: Node) -> int | None:
    """How many characters every match has; None where that differs."""
    widths = [_width(part) for part in node.parts]
    known = [width for width in widths if width is not None]
    if len(known) < len(widths) or (node.kind == "any" and len(set(known)) > 1) or node.least != node.most:
        return None
    if node.kind in ("test", "place"):
        return int(node.kind == "test")
    return sum(known) if node.kind == "all" else known[0] * node.least


# --- syntax

_QUANTIFIER = r"(?:[*+?]|\{[0-9]+(?:,[0-9]*)?\})\??"
_HINTS = (
    (r"\(\?<?[=!]", "FS802", "a pattern does not look ahead or behind", "write what comes before it and behind it"),
    (r"\(\?i\)|\(\?i:", "FS802", "case is ignored anyway", "remove the flag"),
    (r"\(\?[a-zA-Z-]*s[a-zA-Z-]*[:)]", "FS802", "there are no flags", r"write `[\s\S]` for any character at all"),
    (r"\(\?[a-zA-Z-]+[:)]", "FS802", "there are no flags", "remove them"),
    (r"\(\?(?:P?<\w[^>]*>|>|\(|#[^)]*\)?|P=\w*\)?)", "FS802", "`{0}` is not in the language", "write a plain group: `(?:…)`"),
    (r"\(\?", "FS801", "`(?` begins no group", r"write `(?:`, or `\(\?` for the characters themselves"),
    (r"\\[1-9][0-9]*|\\[kg]<\w*>?", "FS802", "there are no references back to a group", "write the text out again"),
    (r"\\[pP](?:\{[^}]*\}?|.)?", "FS802", "`{0}` is not in the language", r"write `[^\W\d_]` for any letter"),
    (r"\\x|\\u", "FS801", "`{0}` needs hexadecimal digits behind it", r"write it like `\xe9` or `\u00e9`"),
    (r"\\[0bhzHNRU]\w*", "FS802", "`{0}` is not in the language", "write the character itself, or a set"),
    (r"\\[ABZ]", "FS801", "`{0}` is no character", "write it outside of the set"),
    (r"\\[dwsDWS]", "FS801", "a range ends with a character", r"write it like `a-z`, or `\-` for the hyphen"),
    (r"\\[a-zA-Z]?", "FS801", "`{0}` is no escape", r"write `\\` for a backslash"),
    (r"\[:\^?\w*:\]", "FS802", "`{0}` is not in the language", r"write `a-z`, `\d`, `\s` or `\w`"),
    (r"&&|~~|\|\|", "FS802", "sets cannot be combined", "name each character once"),
    (r"-", "FS801", "this hyphen makes no range", r"write it first or last, or `\-`"),
    (r"\{,[0-9]+\}", "FS801", "a repeat begins with its least number", "write it like `{0,5}`"),
    (r"(?<=[*+?}])\+", "FS802", "there are no possessive repeats", "remove this `+`"),
    (rf"(?<=[*+?}}]){_QUANTIFIER}", "FS801", "`{0}` repeats what is repeated already", "keep one of the two"),
    (_QUANTIFIER, "FS801", "there is nothing to repeat before `{0}`", "write what is repeated, or a backslash"),
    (r".", "FS801", "`{0}` needs a backslash here", r"write `\{0}` for the character itself"),
    (r"", "FS801", "the pattern ends inside a group or a set", r"close it, or write `\(` or `\[` for the character itself"),
)  # fmt: skip
"""What is found where the parser stops: how it looks, the code, the message, the help. The first that fits is taken."""


def _syntax_fault(text: str, error: UnexpectedInput) -> SyntaxFault:
    position = len(text)
    if isinstance(error, UnexpectedToken) and error.token.type != "$END":
        position = error.token.start_pos or 0
    elif isinstance(error, UnexpectedCharacters):
        position = error.pos_in_stream or 0
    if text.startswith("(?", position - 1) and position > 0:
        position -= 1
    if position == len(text) and text.endswith("\\"):
        position -= 1
    hint, code, message, help = next(row for row in _HINTS if re.compile(row[0], re.DOTALL).match(text, position))
    found = re.compile(hint, re.DOTALL).match(text, position)
    assert found is not None
    shown, start = found.group()[:40], position if position < len(text) else _opening(text)
    return SyntaxFault(code, start, max(found.end(), start), message.replace("{0}", shown), help.replace("{0}", shown))


def _opening(text: str) -> int:
    """Where the last bracket stands that is open at the end of the text."""
    opened = [0]
    for match in re.finditer(rf"{_BRACKETS.pattern}|\[", text, re.DOTALL):
        if match.group() in ("(", "["):
            opened.append(match.start())
        elif match.group() == ")" and len(opened) > 1:
            opened.pop()
    return opened[-1]


@cache
def _lark() -> Lark:
    grammar = read_resource("grammar", "pattern.lark")
    return Lark(grammar, parser="lalr", start="pattern", propagate_positions=True, maybe_placeholders=True)


@v_args(meta=True)
class _Builder(Transformer_NonRecursive[Token, Node]):
    """Lark's tree to ours. Every method is named for a rule of the grammar; `fault` is the first thing amiss."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text
        self.sample = dict.fromkeys([*_SAMPLE, *text.lower()])
        self.fault: SyntaxFault | None = None

    def refuse(self, code: str, token: Token, message: str, help: str) -> None:
        start = token.start_pos or 0
        self.fault = self.fault or SyntaxFault(code, start, start + len(token), message, help)

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
        first, comma, last = token.rstrip("?")[1:-1].partition(",")
        least = int(first[-9:]) if token[0] == "{" else int(token[0] == "+")
        most = int(last[-9:]) if last else None if comma else least
        if token[0] != "{":
            most = 1 if token[0] == "?" else None
        if most is not None and most < least:
            self.refuse("FS801", token, f"`{token}` allows {most} at most and {least} at least", "swap the two")
        if max(least, most or 0) > limits.PATTERN_REPEAT or max(len(first), len(last)) > 9:
            message = f"`{token[:40]}` repeats more than {limits.PATTERN_REPEAT} times"
            self.refuse("FS804", token, message, "repeat less, or without an end: `+` or `*`")
        return Node("repeat", *_span(meta), (item,), least=least, most=most)

    def character(self, meta: Meta, children: list[Token]) -> Node:
        start, end = _span(meta)
        found = re.compile(self.text[start:end], re.IGNORECASE) if self.fault is None else None
        accepts = frozenset(character for character in self.sample if found and found.fullmatch(character))
        return Node("test", start, end, accepts=accepts)

    category = character

    def range(self, meta: Meta, children: list[Token]) -> str:
        first, _, last = children
        try:
            re.compile(f"[{first}-{last}]")
        except re.error:
            self.refuse("FS801", first, f"the range `{first}-{last}` runs backwards", f"write `{last}-{first}`")
        return "range"

    def set(self, meta: Meta, children: list[Token]) -> Node:
        if not any(children[1:]):
            self.refuse("FS801", children[0], "the set is empty", "write `\\]` for the bracket itself")
        return self.character(meta, [])


def _span(meta: Meta) -> tuple[int, int]:
    return (0, 0) if meta.empty else (meta.start_pos, meta.end_pos)
