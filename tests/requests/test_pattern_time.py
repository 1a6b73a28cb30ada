"""Patterns take little time on any review, or are refused: the steps of `re` are counted, and asked of `re` itself."""

from __future__ import annotations

import re

import pytest
from formulaseed import limits
from formulaseed.requests import patterns
from formulaseed.requests.pattern_tree import PatternNode, parse_pattern_tree
from helpers import accepted

HONEST = (
    "coffee", "wine bar", "live music", "dog friendly", "romantic|date", "cozy", r"wi-?fi", r"\bnut\b", r"\$\$", r"^best",
    "(gluten|dairy)[- ]free", "gluten.{0,20}free", r"\d+%", r"\d+ ?(min|minutes|hours?)", r"wait(ed|ing)? (for )?\d+",
    "(?i)Latte", "kid'?s? menu", "[a-z'-]+ patio", r"\b(quiet|calm)\b.{0,10}\bcorner\b", "cr[eè]me br[uû]l[eé]e", "naïve",
    r"(?:no|never) (?:wait|line)s?", "", "a*", "worth (it|every penny)[.!]?$", r"\A\s{0,9}great", "12[:.]?30",
    "(good|great) (food|service)", r"\w+ing", ".*cheap", "İstanbul", "straße", "x{200}", "(|a)b", "a{0}b",
    "great.*service", r"a\w+b", r"wait(ed|ing)? (for )?\d+ min", r"\bno\b.*\bwait\b", "slow[^.]*rude", r"open\s+late",
    "(good|great|excellent|amazing|lovely).{0,40}(food|service|staff|place)", r"\$\d+(\.\d+)?\s*(per|a) person",
    "never.*excellent service", r"\$\d.*(good|great|ok) value", "dirty.*(fork|plate|table)s?$", r"x[\s\S]*y", "q(ab|ba)*c",
    r"fish.*\n.*chips", "a+b+c+d+", r"(\s\S)*x", r"x(\w{1,15} ){1,3}y", "(ab?){0,100}c", r"coffee|latte|\bchai\b",
)  # fmt: skip
ATOMIC = {
    "a.*b.*c": "a(?>.*?b).*c",
    "great.*service.*again": "great(?>.*?service).*again",
    "slow.*(rude|nice).+staff": "slow(?>.*?(rude|nice)).+staff",
    r"5 ?stars?.*\bif\b.*\bcould\b": r"5 ?stars?(?>.*?\bif\b).*\bcould\b",
}


def test_honest_patterns_run_as_they_are_written() -> None:
    """Patterns as people write them are accepted unchanged, and are valid for `re`."""
    assert [accepted(pattern) for pattern in HONEST] == [*HONEST]
    assert all(re.compile(pattern, re.IGNORECASE) for pattern in HONEST)


@pytest.mark.parametrize("pattern", ATOMIC)
def test_of_two_gaps_the_first_is_searched_without_going_back(pattern: str) -> None:
    """The source says so, and matches the same lines."""
    source = accepted(pattern)
    assert source == ATOMIC[pattern]
    parts = re.split(r"[^a-z5 ]+", pattern)
    lines = [" ".join(parts), " ".join(reversed(parts)), "".join(parts * 2), "\n".join(parts), " ".join(parts[:-1])]
    for text in [*lines, "abac", "abbc", "ac", "ab\nc", "great great service again", "5 stars if I could"]:
        slow, fast = (re.search(item, text, re.IGNORECASE) for item in (pattern, source))
        assert (slow is None) == (fast is None)


def backtracks(source: str, text: str) -> int:
    """The steps that a matcher which tries one way after the other takes, counted on a small text with `re`'s own tree."""
    node = parse_pattern_tree(source)
    steps = 0

    def ways(part: PatternNode, at: int) -> list[int]:
        nonlocal steps
        steps += 1
        if part.kind == "test":
            is_there = at < len(text) and re.compile(part.extract_text(source), re.IGNORECASE).match(text, at)
            return [at + 1] if is_there else []
        if part.kind == "place":
            return [at] if re.compile(part.extract_text(source)).match(text, at) else []
        if part.kind == "any":
            return [end for option in part.parts for end in ways(option, at)]
        if part.kind == "all":
            ends = [at]
            for item in part.parts:
                ends = [end for start in ends for end in ways(item, start)]
            return ends
        results, ends = [at] if part.minimum == 0 else [], [at]
        for count in range(1, (len(text) + 1 if part.maximum is None else part.maximum) + 1):
            ends = [end for start in ends for end in ways(part.parts[0], start) if end > start]
            results += ends if count >= part.minimum else []
            if not ends:
                break
        return results

    for start in range(len(text) + 1):
        ways(node, start)
    return steps


@pytest.mark.parametrize("pattern", [p for p in HONEST if p and "\\n" not in p])
@pytest.mark.thorough
def test_steps_grow_with_the_square_of_the_text_at_most(pattern: str) -> None:
    """On hostile texts made of the pattern's own words, twice the text takes four times the steps, and hardly more."""
    words = [word for word in re.split(r"[^A-Za-z0-9 ]+", pattern) if word] or ["a"]
    for piece in {*words, words[0] + words[-1][:-1], "a", "ab", " a", "a1", *(word[0] for word in words)}:
        short, long = (backtracks(pattern, (piece * 60)[:length]) for length in (30, 60))
        assert long <= 5 * short + 200


def test_the_count_of_steps_is_bounded() -> None:
    """Every accepted pattern stays within the documented number of steps, whatever is repeated in it."""
    for pattern in HONEST:
        tree = parse_pattern_tree(pattern)
        assert limits.PATTERN_TEXT * patterns._count_steps(tree, 0, frozenset()) <= limits.PATTERN_STEPS
