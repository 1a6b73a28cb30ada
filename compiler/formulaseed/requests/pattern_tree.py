"""Parse a regular expression into a tree of `PatternNode`s.

In: a pattern that Python's `re` accepts. Out: its tree, or Lark's exception for syntax that `pattern.lark` does not have.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from string import ascii_lowercase, digits, punctuation
from typing import Literal

from lark import Lark, Token, Transformer_NonRecursive, v_args
from lark.tree import Meta

from formulaseed import limits
from formulaseed.resources import read_resource

Characters = frozenset[str]
NO_CHARACTERS: Characters = frozenset()
_SAMPLE_CHARACTERS = f"{ascii_lowercase}{digits} {punctuation}\n\t\réßſıµяж中ñ٣½’\xa0"
"""Characters that a `test` is tried with, in addition to those of the pattern."""


@dataclass(frozen=True, slots=True)
class PatternNode:
    """A part of a pattern, from `start` to `end`.

    `test` is one character of a set, of which `accepts` has those that are sampled. `place` is an assertion such as `^`.
    `all` is a sequence of parts, `any` has alternatives. `repeat` has one part, from `minimum` to `maximum` times; None is
    no maximum.
    """

    kind: Literal["test", "place", "all", "any", "repeat"]
    start: int
    end: int
    parts: tuple[PatternNode, ...] = ()
    accepts: Characters = NO_CHARACTERS
    minimum: int = 1
    maximum: int | None = 1

    @property
    def is_unbounded(self) -> bool:
        """True for a repeat without a bound, or so high a bound that it makes no difference."""
        return self.kind == "repeat" and (self.maximum is None or self.maximum > limits.PATTERN_FEW)

    def extract_text(self, text: str) -> str:
        """Return the part of `text`, the whole pattern, that this node was parsed from."""
        return text[self.start : self.end]


def parse_pattern_tree(text: str) -> PatternNode:
    """Return the tree of a pattern that `re` accepts. Raises `lark.UnexpectedInput` for syntax that is not supported."""
    return _PatternBuilder(text).transform(_lark().parse(text))


@cache
def _lark() -> Lark:
    grammar = read_resource("grammar", "pattern.lark")
    return Lark(grammar, parser="lalr", start="pattern", propagate_positions=True, maybe_placeholders=True)


@v_args(meta=True)
class _PatternBuilder(Transformer_NonRecursive[Token, PatternNode]):
    """A converter of Lark's tree to `PatternNode`s. Every method is named for a rule of `pattern.lark`."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text
        self.sample = dict.fromkeys([*_SAMPLE_CHARACTERS, *text.lower()])

    def pattern(self, meta: Meta, children: list[PatternNode]) -> PatternNode:
        """Return the whole pattern, without the flag that may be before it."""
        return children[-1]

    def alternation(self, meta: Meta, children: list[PatternNode]) -> PatternNode:
        """Return alternatives; a single one is returned as it is."""
        if len(children) == 1:
            return children[0]
        return PatternNode("any", *_span(meta), tuple(children))

    def concatenation(self, meta: Meta, children: list[PatternNode | Token]) -> PatternNode:
        """Return a sequence; a token in it is an assertion."""
        parts = [
            PatternNode("place", c.start_pos or 0, c.end_pos or 0) if isinstance(c, Token) else c for c in children
        ]
        return PatternNode("all", *_span(meta), tuple(parts))

    def group(self, meta: Meta, children: list[PatternNode]) -> PatternNode:
        """Return a group as a sequence of its one part, which gives it the span of its brackets."""
        return PatternNode("all", *_span(meta), tuple(children))

    def repetition(self, meta: Meta, children: list[PatternNode]) -> PatternNode:
        """Return a repeat of the item before a quantifier."""
        item, token = children
        assert isinstance(token, Token)
        minimum, maximum = _parse_bounds(token)
        return PatternNode("repeat", *_span(meta), (item,), minimum=minimum, maximum=maximum)

    def character(self, meta: Meta, children: list[Token]) -> PatternNode:
        """Return a test, with those of the sampled characters that `re` says it accepts."""
        start, end = _span(meta)
        expression = re.compile(self.text[start:end], re.IGNORECASE)
        accepts = frozenset(character for character in self.sample if expression.fullmatch(character))
        return PatternNode("test", start, end, accepts=accepts)

    category = set = character


def _span(meta: Meta) -> tuple[int, int]:
    return (0, 0) if meta.empty else (meta.start_pos, meta.end_pos)


def _parse_bounds(quantifier: str) -> tuple[int, int | None]:
    """Return the minimum and the maximum of a quantifier such as `*`, `+?` or `{2,5}`; None is no maximum."""
    if quantifier[0] != "{":
        return int(quantifier[0] == "+"), 1 if quantifier[0] == "?" else None
    minimum, comma, maximum = quantifier.rstrip("?")[1:-1].partition(",")
    if not comma:
        return int(minimum), int(minimum)
    return int(minimum), (int(maximum) if maximum else None)
