"""Patterns take time in proportion to the text, or are refused: steps are counted, and the clock is asked in the end."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from typing import Any

import pytest
from formulaseed import limits
from formulaseed.domain import automaton, scanning
from formulaseed.domain.ambiguity import find_ambiguity
from formulaseed.domain.automaton import Matcher, matcher
from formulaseed.domain.patterns import (
    Alternation,
    Assertion,
    CharacterTest,
    Concatenation,
    PatternNode,
    PatternTree,
    Repetition,
)
from helpers import accepted, parsed
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

PLAIN = (
    "coffee", "wine bar", "live music", "dog friendly", "romantic|date", "cozy", r"wi-?fi", r"\bnut\b", r"\$\$", r"^best",
    "(gluten|dairy)[- ]free", "gluten.{0,20}free", r"\d+%", r"\d+ ?(min|minutes|hours?)", r"wait(ed|ing)? (for )?\d+",
    "(?i)Latte", "kid'?s? menu", "[a-z'-]+ patio", r"\b(quiet|calm)\b.{0,10}\bcorner\b", "cr[eè]me br[uû]l[eé]e", "naïve",
    r"(?:no|never) (?:wait|line)s?", "", "a*", "worth (it|every penny)[.!]?$", r"\A\s{0,9}great", "12[:.]?30", r"caf(e|\u00e9)",
    "(good|great) (food|service)", r"\w+ing", ".*cheap.*", "İstanbul", "straße", "(a?){30}a{30}", "x{200}", "(|a)b", "a{0}b",
)  # fmt: skip
AUTOMATA = (
    "great.*service", r"a\w+b", r"wait(ed|ing)? (for )?\d+ min", r"\bno\b.*\bwait\b", "slow[^.]*rude", r"open\s+late",
    "(good|great|excellent|amazing|lovely).{0,40}(food|service|staff|place)", r"\$\d+(\.\d+)?\s*(per|a) person",
    "a.*b.*c.*d.*e", "x(a|b)*a(a|b){100}y", r"cold (\w+\W+){0,9}soup", r"x\w*1\w*2\w*3\d", "(a|b|c).{0,300}(x|y).*z",
    r"k(\s+\S+)*\s+K", "a(.{0,9}b){0,9}c", r"q(\b|a)*\B-", "x(.?){290}y", "dirty.*(fork|plate|table)s?$", r"^.+\bbut\b.+x$",
    "a+b+c+d+", r"x[\s\S]*y", "q(ab|ba)*c", r"fish.*\n.*chips", "ſ.*K", "[^a]b*[^a]b*c", r"5 ?stars?.*\bif\b.*\bcould\b",
    "(?:aa?){9}b?(?:aa?){9}c", r"x(\w{1,15} ){1,10}y", "x(a?b?c?d?){9}e", "x{300}",
    r"worth (it|every penny)[.!]*$", r"(?:\d{1,3}[.]){3}\d{1,3}x*y", "x(a{0,9}b?){0,9}y",
)  # fmt: skip
EXPONENTIAL = {
    "(a+)+$": "(a+)+",
    "(a|a)*b": "(a|a)*",
    "(a|aa)+$": "(a|aa)+",
    "(.*a){12}": "(.*a){12}",
    r"(\w+\s?)*$": r"(\w+\s?)*",
    "^(([a-z])+.)+[A-Z]([a-z])+$": "(([a-z])+.)+",
    "(x+x+)+y": "(x+x+)+",
    "(a*)*b": "(a*)*",
    "((a*)?b)*c": "((a*)?b)*",
    "x((a|b*)*c)*d": "(a|b*)*",
    r"^(\d+|\w+)*x": r"(\d+|\w+)*",
    r"(.|\s)*x": r"(.|\s)*",
    r"([a-zA-Z0-9._-]+)*@": "([a-zA-Z0-9._-]+)*",
    "(k|\u212a)+x": "(k|\u212a)+",
    "(ß|ß)*x": "(ß|ß)*",
    "(x{0,20}){0,20}y": "(x{0,20}){0,20}",
    "(a?a?)*b": "(a?a?)*",
    "(((a?)?)*)+b": "(((a?)?)*)+",
    "(ab|a|b)*c": "(ab|a|b)*",
    r"(\w+,?)+\.": r"(\w+,?)+",
    "z(?:(?:ab)+)*?y": "(?:(?:ab)+)*?",
}


@pytest.mark.parametrize("pattern", EXPONENTIAL)
def test_patterns_of_exponential_time_are_refused(pattern: str) -> None:
    """The repeat at fault is underlined, and the message names a text on which it has ever more ways."""
    tree, (diagnostic,) = parsed(pattern)
    assert tree is None
    assert diagnostic.code == "FS803"
    shown = diagnostic.span.source.text[diagnostic.span.start : diagnostic.span.end]
    assert shown.replace("\\\\", "\\") == EXPONENTIAL[pattern]
    assert re.fullmatch(
        r"to match n times `.+` this repeat tries (2\^n|up to n\^\d+) ways", diagnostic.message, re.DOTALL
    )


@pytest.mark.parametrize("pattern", PLAIN + AUTOMATA)
def test_honest_and_merely_slow_patterns_are_accepted(pattern: str) -> None:
    """Slow for `re` alone is no reason to refuse a pattern: the automaton takes it."""
    found = matcher(accepted(pattern))
    assert found.kind == ("plain" if pattern in PLAIN else "automaton")
    assert re.compile(found.source, re.IGNORECASE)


def backtracking(node: PatternNode, text: str, most: int) -> int:
    """The steps that a matcher that tries one way after the other takes to find that nothing matches; `most` at most.

    Written after `re`: a repetition that was empty is the last, once there are enough of them.
    """
    steps = 0

    def ways(node: PatternNode, at: int) -> Iterator[int]:
        nonlocal steps
        steps += 1
        if steps > most:
            raise OverflowError
        match node:
            case CharacterTest(_, _, test):
                if at < len(text) and re.match(test, text[at], re.IGNORECASE):
                    yield at + 1
            case Assertion(_, _, assertion):
                if re.compile(assertion).match(text, at):
                    yield at
            case Concatenation(items):
                yield from ways_of_all(items, at)
            case Alternation(options):
                for option in options:
                    yield from ways(option, at)
            case Repetition():
                yield from times(node, 0, at)

    def ways_of_all(items: tuple[PatternNode, ...], at: int) -> Iterator[int]:
        if not items:
            yield at
        else:
            for after in ways(items[0], at):
                yield from ways_of_all(items[1:], after)

    def times(node: Repetition, count: int, at: int) -> Iterator[int]:
        if node.most is None or count < node.most:
            for after in ways(node.item, at):
                if after > at or count < node.least:
                    yield from times(node, count + 1, after)
                else:
                    yield after
        if count >= node.least:
            yield at

    try:
        for _ in ways(node, 0):
            steps += 1
    except OverflowError:
        return most
    return steps


small = st.recursive(
    st.sampled_from(["a", "b", "[ab]", "."]),
    lambda inner: st.one_of(
        st.builds("".join, st.lists(inner, min_size=1, max_size=3)),
        st.builds("({})".format, st.builds("|".join, st.lists(inner, min_size=2, max_size=3))),
        st.builds("({}){}".format, inner, st.sampled_from(["*", "+", "?", "*?", "{2}", "{2,}", "{0,2}"])),
    ),
    max_leaves=6,
)


@given(small, st.text(st.sampled_from("ab"), min_size=1, max_size=3))
@example("((a|b*)*b)*", "ab")
@example("(a{0,2}b?)*", "ab")
def test_what_is_accepted_is_not_exponential(pattern: str, piece: str) -> None:
    """A matcher that tries one way after the other takes polynomial time, counted, for whatever piece is repeated."""
    tree, _ = parsed(f"({pattern})*")
    assume(tree is not None)
    assert tree is not None
    few, many = (backtracking(tree.root, piece * times + "\n", 50_000) for times in (6, 12))
    assert many < 50_000
    assert many <= few * 2**6


@given(small)
@example("(a|b*)*b")
@example("a?b?")
def test_what_is_refused_is_exponential(pattern: str) -> None:
    """Nothing harmless is refused as ambiguous: on the text that the message names, the ways really double."""
    tree, diagnostics = parsed(f"({pattern})*")
    assume(tree is None)
    (diagnostic,) = diagnostics
    refused = unchecked(diagnostic.span.source.text[diagnostic.span.start : diagnostic.span.end])
    ambiguity = find_ambiguity(refused)
    assert ambiguity
    assert f"to match n times `{ambiguity.pump[:20]}" in diagnostic.message
    few, many = (backtracking(refused.root, ambiguity.pump * times + "\n", 5_000) for times in (7, 8))
    assert many >= min(few * 1.7, 5_000)


def unchecked(pattern: str) -> PatternTree:
    """The tree of a pattern that is refused for its time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("formulaseed.syntax.patterns.find_ambiguity", lambda _: None)
        return accepted(pattern)


def attacks(pattern: str, length: int) -> Iterator[str]:
    """Texts made to keep a matcher of this pattern busy: its own characters, and all but all of what it matches."""
    own = "".join(dict.fromkeys(re.sub(r"\\[a-zA-Z]", "a1 ", pattern)))
    plain = re.sub(r"\\.|\{[^}]*\}|[^\w\s]", "", pattern)
    for piece in (own, plain, plain[:-1], plain[: len(plain) // 2], own[0:1], "a", "ab", "ab aab 1", " ", "\n", "é1-"):
        if piece:
            yield (piece * length)[:length]
    yield (plain[: len(plain) // 2] + "x" * length)[:length]
    yield "".join("ab"[(index * index * 7 + index // 3) % 5 % 2] for index in range(length))


class Counted(str):
    """A text that counts how often one of its characters is read."""

    reads = 0

    def __getitem__(self, place: Any) -> str:
        self.reads += 1
        return super().__getitem__(place)


@pytest.mark.parametrize("pattern", AUTOMATA)
def test_an_automaton_reads_each_character_once(pattern: str) -> None:
    """Steps are counted: of a text of any length each character is read at most twice, to be tested and to look it up."""
    found = matcher(accepted(pattern))
    assert found.table is not None
    machine = scanning._Automaton(*found.table)
    for length in (100, 200, 400, 800):
        for attack in attacks(pattern, length):
            text = Counted(attack)
            machine.search(text)
            assert text.reads <= 2 * length


@pytest.mark.parametrize("pattern", [p for p in PLAIN if "$" not in p or p == r"\$\$"])
def test_a_plain_pattern_takes_few_steps_anywhere(pattern: str) -> None:
    """From any place of any text, the ways that `re` tries are no more than the bound that was computed."""
    tree = accepted(pattern)
    root = automaton._shortened(automaton._shortened(tree.root, last=False), last=True)
    bound = automaton._steps(root, 0)
    assert bound <= limits.PATTERN_STEPS
    for attack in attacks(pattern, 60):
        for place in range(0, 60, 7):
            assert backtracking(root, attack[place:], 10_000) <= 4 * bound + 4


@settings(max_examples=3 * settings.default.max_examples)
@given(small, st.text(st.sampled_from("ab"), max_size=12))
def test_the_bound_of_steps_holds(pattern: str, text: str) -> None:
    """The same for random patterns: a step of the matcher is a node of the tree of ways that is counted, or stands at one."""
    tree, _ = parsed(pattern)
    assume(tree is not None)
    assert tree is not None
    bound = automaton._steps(tree.root, 0)
    assume(bound <= limits.PATTERN_STEPS)
    assert backtracking(tree.root, text, 100_000) <= (4 + nodes(tree.root)) * (bound + 1)


def nodes(node: PatternNode) -> int:
    match node:
        case Concatenation(parts) | Alternation(parts):
            return 1 + sum(map(nodes, parts))
        case Repetition():
            return 1 + nodes(node.item)
        case _:
            return 1


@pytest.mark.parametrize("pattern", PLAIN + AUTOMATA)
def test_time_grows_with_the_text_alone(pattern: str) -> None:
    """Eight times the text takes at most some twenty-four times as long, whatever it was made for."""
    found = matcher(accepted(pattern))
    for one, other in zip(attacks(pattern, 1_000), attacks(pattern, 8_000), strict=True):
        assert seconds(found, other) <= 24 * seconds(found, one) + 0.25


def seconds(found: Matcher, text: str) -> float:
    before = time.process_time()
    found.search(text)
    return time.process_time() - before


@pytest.mark.parametrize("pattern", ["great.*service", "gluten.{0,20}free", "a.*b.*c.*d.*e", r"x\w*1\w*2\w*3\d"])
def test_a_megabyte_takes_seconds_at_most(pattern: str) -> None:
    """What would take `re` hours to days takes time for one pass."""
    found = matcher(accepted(pattern))
    for attack in list(attacks(pattern, 1_000_000))[::4]:
        assert seconds(found, attack) < 20


def test_memory_is_bounded() -> None:
    """A text that leads the automaton into ever new states does not fill the memory, and finds what it should."""
    found = matcher(accepted("x(a|b)*a(a|b){100}y"))
    assert found.table is not None
    machine = scanning._Automaton(*found.table)
    text = "x" + "".join("ab"[(index * index * 7 + index // 3) % 11 % 2] for index in range(9_000)) + "a" * 101 + "y"
    assert machine.search(text)
    assert not machine.search(text[:-1])
    assert not machine.search("x" + "".join(map(chr, range(0x4E00, 0x4E00 + 5_000))))
    for remembered in (machine.closures, machine.parts, machine.passes):
        assert 0 < len(remembered) <= scanning._REMEMBERED


LARGE = {
    "optional letters": f"({'a?b?c?d?e?f?g?h?i?j?k?l?m?' * 38})*x",
    "optional anything": f"({'.?' * 495})*x",
    "nested": f"{'(' * 19}{'a?b?c?d?e?f?g?h?i?j?' * 30}{')*' * 19}x",
    "overlapping sets": f"({'[a-f]?x?' * 120})*x",
    "many loops": r"(\w+\s)*" * 120,
    "alternatives of growing length": f"x({'|'.join(f'[ab]{{{i}}}c' for i in range(1, 30))})*y",
    "many alternatives": f"q({'|'.join(a + b + c for a in 'abcdef' for b in 'abcdef' for c in 'abcde')})*x",
    "single letters": "a|" * 500,
    "sets": "[a-z]" * 200,
    "many scripts": "".join(chr(0x4E00 + 37 * index) for index in range(600)),
    "brackets": "(" * 1000,
    "backslashes": "\\" * 999,
    "open sets": "[" * 1000,
    "quantifiers": "*" * 1000,
    "wide repeats": "x" + ".{0,9}a" * 60 + "y",
}


@pytest.mark.parametrize("name", LARGE)
def test_no_pattern_takes_long_to_check(name: str) -> None:
    """A pattern of a thousand characters is refused, or compiled, in seconds at most."""
    assert len(LARGE[name]) <= limits.PATTERN_CHARACTERS
    parsed("a")  # which makes the parser
    before = time.process_time()
    tree, _ = parsed(LARGE[name])
    if tree is not None:
        matcher(tree)
    assert time.process_time() - before < 5


def test_a_repeat_too_large_to_be_cleared_is_refused() -> None:
    """What cannot be shown to be harmless in bounded time is not let through."""
    _, (diagnostic,) = parsed(LARGE["optional letters"])
    assert (diagnostic.code, diagnostic.help) == ("FS803", "make it shorter")
