"""Finds the repeats of a pattern that can match one text in exponentially many ways.

In: the tree of a pattern. Out: the first such repeat and a text that shows it, or None. Python's `re` tries all
those ways before it says that there is no match, so these are the patterns with which a text can attack it.

The criterion is that of exponential ambiguity: some state of the automaton has two different ways back to itself
on the same word. Every test inside a repeat without an end lies on a way back to itself, so within one repeat it is
enough to find two ways that part at one test and meet again at another, or one step that can be made in two ways.
They are counted as `re` tries them: it follows empty repetitions too, so that in `(a*)*` it can go from an `a` to
the next inside or around.

Conservative: assertions count as though they held, and a repeat of `_MANY` times or more as one without an end,
since n to the tenth is no better than 2 to the n. Characters are told apart by a sample: a pattern whose ways meet
on no sampled character is let through, and then matched in linear time like every other.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable
from dataclasses import dataclass, field
from string import ascii_lowercase, digits, punctuation

from formulaseed import limits
from formulaseed.domain.patterns import (
    Alternation,
    Assertion,
    CharacterTest,
    Concatenation,
    PatternNode,
    PatternTree,
    Repetition,
)

_MANY = 10
_SAMPLE = f"{ascii_lowercase}{digits} {punctuation}\n\t\réßſıµяж中ñ٣½’\xa0"

Ways = dict[int, int]
"""Tests, and in how many ways each is come to; 2 stands for more too."""


@dataclass(frozen=True, slots=True)
class Ambiguity:
    """A repeat, by its place in the pattern and its end, and what to repeat in a text on which it has ever more ways.

    `pump` is empty where the repeat was too large to be sure that it is harmless.
    """

    start: int
    end: int
    most: int | None
    pump: str


class _TooLargeError(Exception):
    """The repeat has more ways than anyone will look at."""


@dataclass(slots=True)
class _Part:
    """A part of the pattern: in how many ways it matches nothing, and the tests it may begin and end with."""

    empty: int
    first: Ways
    last: Ways


def find_ambiguity(tree: PatternTree) -> Ambiguity | None:
    """The innermost repeat, from the left, that can match a text in exponentially many ways."""
    return _Search(tree.text).within(tree.root)


class _Search:
    def __init__(self, text: str) -> None:
        self.samples: list[str] = list(dict.fromkeys([*_SAMPLE, *text.lower()]))
        self.characters: dict[str, int] = {}
        self.work = 0

    def within(self, node: PatternNode) -> Ambiguity | None:
        match node:
            case Concatenation(parts) | Alternation(parts):
                return next(filter(None, map(self.within, parts)), None)
            case Repetition() if _is_loop(node):
                loop = _Loop(self)
                try:
                    loop.part(node)
                except _TooLargeError:
                    return Ambiguity(node.start, node.end, node.most, "")
                return loop.found
            case Repetition():
                return self.within(node.item)
            case _:
                return None

    def spend(self, work: int) -> None:
        self.work += work
        if self.work > limits.PATTERN_CHECKS:
            raise _TooLargeError

    def passing(self, test: str) -> int:
        """The sampled characters that pass a test, as bits."""
        if test not in self.characters:
            self.spend(len(self.samples) // 4)
            compiled = re.compile(test, re.IGNORECASE)
            passing = (1 << index for index, sample in enumerate(self.samples) if compiled.match(sample))
            self.characters[test] = sum(passing)
        return self.characters[test]

    def sample(self, passing: int) -> str:
        """The first of some sampled characters."""
        return self.samples[(passing & -passing).bit_length() - 1]


def _is_loop(node: Repetition) -> bool:
    """Whether it counts as a repeat without an end. A number of times the same length leaves no choice."""
    if node.most is None:
        return True
    return node.most >= _MANY and not (node.least == node.most and _has_one_length(node.item))


def _has_one_length(node: PatternNode) -> bool:
    match node:
        case Concatenation(items):
            return all(map(_has_one_length, items))
        case Alternation():
            return False
        case Repetition():
            return node.least == node.most and _has_one_length(node.item)
        case _:
            return True


@dataclass(slots=True)
class _Loop:
    """An outermost repeat, taken apart from the inside; `found` is the first ambiguous repeat in it."""

    search: _Search
    tests: list[int] = field(default_factory=list)
    follow: list[Ways] = field(default_factory=list)
    found: Ambiguity | None = None

    def part(self, node: PatternNode) -> _Part:
        match node:
            case CharacterTest():
                self.tests.append(self.search.passing(node.written))
                self.follow.append({})
                here = len(self.tests) - 1
                return _Part(0, {here: 1}, {here: 1})
            case Assertion():
                return _Part(1, {}, {})
            case Concatenation(items):
                return self.joined(map(self.part, items))
            case Alternation(options):
                parts = list(map(self.part, options))
                empty = min(sum(part.empty for part in parts), 2)
                return _Part(empty, _union(part.first for part in parts), _union(part.last for part in parts))
            case Repetition() if _is_loop(node):
                return self.joined([*(self.part(node.item) for _ in range(node.least - 1)), self.loop(node)])
            case Repetition(_, _, item, least, most):
                parts = [self.part(item) for _ in range(most or 0)]
                rest = _Part(1, {}, {})
                for index, part in reversed(list(enumerate(parts))):
                    rest = self.joined((part, rest))
                    if index >= least:
                        rest.empty = min(rest.empty + 1, 2)
                return rest

    def joined(self, parts: Iterable[_Part]) -> _Part:
        whole = _Part(1, {}, {})
        for part in parts:
            self.connect(whole.last, part.first)
            whole = _Part(
                min(whole.empty * part.empty, 2),
                _union((whole.first, _times(part.first, whole.empty))),
                _union((part.last, _times(whole.last, part.empty))),
            )
            self.search.spend(len(whole.first) + len(whole.last))
        return whole

    def loop(self, node: Repetition) -> _Part:
        """A repeat without an end, of which all times that must be are dealt with but one."""
        begin = len(self.tests)
        part = self.part(node.item)
        self.connect(part.last, part.first)
        if self.found is None:
            ambiguous = self.ambiguous(begin)
            if ambiguous is not None:
                before, read, after = ambiguous
                pump = self.way(part.first, (before,)) + read + self.way(self.follow[after], part.last, after)
                self.found = Ambiguity(node.start, node.end, node.most, pump)
        around = min(part.empty + 1, 2)  # a last empty repetition, after which `re` makes no other
        if node.least == 0:
            return _Part(around, part.first, _times(part.last, around))
        return _Part(min(part.empty * around, 2), _times(part.first, around), _times(part.last, around))

    def connect(self, last: Ways, first: Ways) -> None:
        self.search.spend(len(last) * len(first))
        for before, ways in last.items():
            follow = self.follow[before]
            for after, more in first.items():
                follow[after] = min(follow.get(after, 0) + ways * more, 2)

    def ambiguous(self, begin: int) -> tuple[int, str, int] | None:
        """A test from `begin` on, what is read behind it in two ways, and the test that both come to; or None."""
        places = range(begin, len(self.tests))
        for before in places:
            for after, ways in self.follow[before].items():
                if ways > 1 and self.tests[after]:
                    return before, self.search.sample(self.tests[after]), after
        pairs = [(place, place) for place in places]
        came: dict[tuple[int, int], tuple[int, int]] = {}
        for pair in pairs:  # which grows meanwhile
            a, b = pair
            self.search.spend(len(self.follow[a]) * len(self.follow[b]))
            for one in self.follow[a]:
                for other in self.follow[b]:
                    if not self.tests[one] & self.tests[other] or (a == b and one >= other):
                        continue
                    target = (min(one, other), max(one, other))
                    if target not in came:
                        came[target] = pair
                        pairs.append(target)
                    if one == other:
                        return self.trail(target, came)
        return None

    def trail(self, pair: tuple[int, int], came: dict[tuple[int, int], tuple[int, int]]) -> tuple[int, str, int]:
        """How two ways came to where they meet again: where they parted, what they read, where they meet."""
        met, read = pair[0], ""
        while True:
            read = self.search.sample(self.tests[pair[0]] & self.tests[pair[1]]) + read
            pair = came[pair]
            if pair[0] == pair[1]:
                return pair[0], read, met

    def way(self, starts: Iterable[int], ends: Container[int], here: int | None = None) -> str:
        """What is read on a shortest way that begins with one of some tests and ends with one of others.

        Nothing, where the test `here`, which is passed already, is one of these.
        """
        if here is not None and here in ends:
            return ""
        read = {start: self.search.sample(self.tests[start]) for start in starts if self.tests[start]}
        places = list(read)
        for place in places:  # which grows meanwhile
            if place in ends:
                return read[place]
            for after in self.follow[place]:
                if after not in read and self.tests[after]:
                    read[after] = read[place] + self.search.sample(self.tests[after])
                    places.append(after)
        return ""


def _union(several: Iterable[Ways]) -> Ways:
    """The ways of several parts together."""
    union: Ways = {}
    for ways in several:
        for test, number in ways.items():
            union[test] = min(union.get(test, 0) + number, 2)
    return union


def _times(ways: Ways, number: int) -> Ways:
    return {test: min(more * number, 2) for test, more in ways.items()} if number else {}
