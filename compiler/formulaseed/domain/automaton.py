"""How a pattern is matched: by `re` where that is known to be fast, else by an automaton.

In: the tree of a pattern. Out: a `Matcher`, whose search means what `re.search` with `re.IGNORECASE` means and
takes time in proportion to the text.

`re` tries the ways in which a pattern may match one after the other, from each position of the text. From one
position on it takes at most as many steps as the tree of all those ways has nodes, whatever the text is
(`_steps`): a finite number where every repeat has an end. A search thus takes at most that number times the length
of the text, and a pattern with at most `PATTERN_STEPS` of them is left to `re` (`plain`). Every other pattern
becomes an automaton, which follows all ways at once and reads each character once (`scanning`).

Before that, repeats at the very beginning and end are cut to their least, since what is searched for may begin
and end anywhere: `\\d+%` occurs in a text exactly if `\\d%` does. Proof for the beginning, the end being its mirror
image: let a match of `X{m,n}Y` be k times X, then Y. The last m times X, then Y, are a match of `X{m}Y`, which is
found; assertions hold or fail at their places in the text, and those have not moved. The reverse is clear, `X{m}Y`
being among the ways of `X{m,n}Y`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

from formulaseed import limits
from formulaseed.domain import scanning
from formulaseed.domain.patterns import (
    EMPTY,
    Alternation,
    Assertion,
    CharacterTest,
    Concatenation,
    PatternNode,
    PatternTree,
    Repetition,
    written,
)

Program = tuple[str | tuple[int, ...], ...]

_HEAD_ITEMS = 20
_HEAD_STEPS = 100


@dataclass(frozen=True, slots=True)
class Matcher:
    """What a pattern is compiled to.

    A `plain` one is a search for `source` with `re.IGNORECASE`; an `automaton` has a `table`, which is what
    `scanning._Automaton` is made of, and its `source` says the same as a pattern.
    """

    kind: Literal["plain", "automaton"]
    source: str
    table: tuple[str, Program] | None

    def search(self, text: str) -> bool:
        """Whether the pattern matches somewhere in the text, case ignored."""
        if self.table is None:
            return re.search(self.source, text, re.IGNORECASE) is not None
        return _automaton(*self.table).search(text)


@lru_cache(maxsize=256)
def _automaton(head: str, program: Program) -> scanning._Automaton:
    return scanning._Automaton(head, program)


def matcher(tree: PatternTree) -> Matcher:
    """The matcher of a pattern that the parser has accepted, so that its size is known to be in bounds."""
    root = _shortened(_shortened(tree.root, last=False), last=True)
    if _steps(root, 0) <= limits.PATTERN_STEPS:
        return Matcher("plain", written(root), None)
    return Matcher("automaton", written(root), (written(_head(root)[0]), _program(root)))


def _shortened(node: PatternNode, *, last: bool) -> PatternNode:
    """A node that stands at one end of the pattern, with the repeats at that end cut to their least."""
    match node:
        case Concatenation(items):
            return _shortened_all(items, last)
        case Alternation(options):
            shorter = tuple(_shortened(option, last=last) for option in options)
            return EMPTY if EMPTY in shorter else Alternation(shorter)
        case Repetition(_, _, _, 0):
            return EMPTY
        case Repetition(_, _, item, least):
            outermost = _shortened(item, last=last)
            if least == 1:
                return outermost
            if outermost == item:
                return replace(node, most=least)
            more = replace(node, least=least - 1, most=least - 1)
            return _shortened_all((more, outermost) if last else (outermost, more), last)
        case _:
            return node


def _shortened_all(items: tuple[PatternNode, ...], last: bool) -> PatternNode:
    rest = list(items) if last else list(reversed(items))
    while rest:
        outermost = _shortened(rest.pop(), last=last)
        if outermost != EMPTY:
            rest.append(outermost)
            break
    if len(rest) == 1:
        return rest[0]
    return Concatenation(tuple(rest if last else reversed(rest)))


def _steps(node: PatternNode, after: int) -> int:
    """The nodes of the tree of all ways through a pattern whose rest has `after` of them; `_ENDLESS` at most."""
    match node:
        case CharacterTest() | Assertion():
            after += 1
        case Concatenation(items):
            for item in reversed(items):
                after = _steps(item, after)
        case Alternation(options):
            after = sum(1 + _steps(option, after) for option in options)
        case Repetition(_, _, _, _, None):
            return _ENDLESS
        case Repetition(_, _, item, least, most):
            ways = after
            for count in range(most or 0, 0, -1):
                ways = 1 + _steps(item, ways) + (after if count > least else 0)
            after = ways
    return min(after, _ENDLESS)


_ENDLESS = limits.PATTERN_STEPS + 1


def _head(node: PatternNode) -> tuple[PatternNode, bool]:
    """Something short that every match of the node begins with, and whether that is the node itself."""
    match node:
        case Concatenation(items):
            return _head_of_all(items)
        case Alternation(options):
            heads = [_head(option) for option in options]
            return Alternation(tuple(head for head, _ in heads)), all(whole for _, whole in heads)
        case Repetition(_, _, item, least, most):
            head, whole = _head(item)
            if whole and most is not None:
                return node, True
            return (head, False) if least > 0 else (EMPTY, False)
        case _:
            return node, True


def _head_of_all(items: tuple[PatternNode, ...]) -> tuple[PatternNode, bool]:
    heads: tuple[PatternNode, ...] = ()
    for item in items[:_HEAD_ITEMS]:
        head, whole = _head(item)
        if _steps(Concatenation((*heads, head)), 0) > _HEAD_STEPS:
            return Concatenation(heads), False
        heads = (*heads, head)
        if not whole:
            return Concatenation(heads), False
    return Concatenation(heads), len(items) <= _HEAD_ITEMS


def _program(root: PatternNode) -> Program:
    """Thompson's construction: one entry for each test, each assertion and each place where ways part or meet."""
    entries: list[str | tuple[int, ...]] = []
    _append(root, entries)
    return tuple(entries)


def _append(node: PatternNode, entries: list[str | tuple[int, ...]]) -> None:
    match node:
        case CharacterTest() | Assertion():
            entries.append(node.written)
        case Concatenation(items):
            for item in items:
                _append(item, entries)
        case Alternation(options):
            _append_options(options, entries)
        case Repetition(_, _, item, least, most):
            begin = len(entries)
            for _ in range(least):
                begin = len(entries)
                _append(item, entries)
            if most is None and least > 0:
                entries.append((begin, len(entries) + 1))
            elif most is None:
                entries.append(())
                _append(item, entries)
                entries.append((begin,))
                entries[begin] = (begin + 1, len(entries))
            else:
                _append_optional(item, most - least, entries)


def _append_options(options: tuple[PatternNode, ...], entries: list[str | tuple[int, ...]]) -> None:
    fork = len(entries)
    entries.append(())
    begins, ends = [], []
    for option in options:
        begins.append(len(entries))
        _append(option, entries)
        ends.append(len(entries))
        entries.append(())
    entries.pop()  # the last option leads on by itself
    entries[fork] = tuple(begins)
    for end in ends[:-1]:
        entries[end] = (len(entries),)


def _append_optional(item: PatternNode, times: int, entries: list[str | tuple[int, ...]]) -> None:
    forks = []
    for _ in range(times):
        forks.append(len(entries))
        entries.append(())
        _append(item, entries)
    for fork in forks:
        entries[fork] = (fork + 1, len(entries))
