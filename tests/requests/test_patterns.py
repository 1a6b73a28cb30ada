"""Patterns: what is accepted means what `re` means, and what is refused is reported at its place."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from golden_lines import check_lines
from helpers import parsed
from hypothesis import assume, given, settings
from hypothesis import strategies as st


def test_refused_patterns(pytestconfig: pytest.Config) -> None:
    """What is no pattern, is ambiguous or takes too many steps is one diagnostic with the characters at fault underlined."""

    def describe(pattern: str) -> dict[str, str]:
        source, (fault,) = parsed(pattern)
        assert source is None
        place = fault.span.source.text[fault.span.start : fault.span.end]
        message = fault.message.split(": ")[0] if fault.code == "FS801" else fault.message  # without the words of `re`
        return {"code": fault.code, "place": place, "message": message, "help": fault.help}

    check_lines(Path(__file__).parent / "refused_patterns.jsonl", ("pattern",), describe, pytestconfig)


# Random patterns ------------------------------------------------------------------------------------------------------

LETTERS = "abkKsSiI1 _-\n.ſ\u212aİıßẞµμéÉ"
characters = st.sampled_from(
    ["a", "b", "A", "k", "s", "i", "1", " ", "-", "_", "\n", *"ſ\u212aİıßẞµμé", r"\.", r"\n", r"\-", r"\x61", r"\u212a"]
)
categories = st.sampled_from([".", r"\w", r"\s", r"\d", r"\W", r"\S", r"\D"])
members = st.sampled_from(
    ["a", "b", "k", "s-t", "a-c", "1", *"ſ\u212aµßé", "i", r"\d", r"\w", r"\s", r"\W", r"\n", "à-ÿ"]
)
sets = st.builds(
    lambda caret, inside, hyphen: f"[{caret}{''.join(inside)}{hyphen}]",
    st.sampled_from(["", "^"]),
    st.lists(members, min_size=1, max_size=3),
    st.sampled_from(["", "-"]),
)
singles = st.one_of(characters, characters, categories, sets)
assertions = st.sampled_from(["^", "$", r"\A", r"\Z", r"\b", r"\B"])
quantifiers = st.builds(
    "{}{}".format, st.sampled_from(["*", "+", "?", "{2}", "{1,3}", "{2,}", "{0,2}", "{0}"]), st.sampled_from(["", "?"])
)


def larger(smaller: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    groups = st.builds("({}{})".format, st.sampled_from(["", "?:"]), smaller)
    return st.one_of(
        st.builds("".join, st.lists(smaller, max_size=4)),
        st.builds("|".join, st.lists(smaller, min_size=2, max_size=3)),
        groups,
        st.builds("{}{}".format, st.one_of(singles, groups), quantifiers),
    )


patterns = st.recursive(st.one_of(singles, singles, assertions), larger, max_leaves=10)
texts = st.text(st.sampled_from(LETTERS), max_size=12)


@settings(max_examples=6 * settings.default.max_examples)
@given(patterns, st.lists(texts, min_size=1, max_size=10))
def test_matching_means_what_re_means(pattern: str, examples: list[str]) -> None:
    """An accepted pattern matches if and only if `re.search` with the pattern as it was written does."""
    source, diagnostics = parsed(pattern)
    assert {diagnostic.code for diagnostic in diagnostics} <= {"FS803"}
    expected = re.compile(pattern, re.IGNORECASE)
    assume(source is not None)
    assert source is not None
    run = re.compile(source, re.IGNORECASE)
    for text in examples:
        assert (run.search(text) is None) == (expected.search(text) is None)


gaps = st.sampled_from([".*", ".+", ".*?", ".+?"])
middles = st.sampled_from(
    ["a", "b", "ab", "[ab]", "(a|b)", r"\ba", "a$", "(ab|ba)", r"a{2}", r"\Bb", "a?", r"\s", "(a|bb)"]
)
lines = st.text(st.sampled_from("abc \n"), max_size=14)


@settings(max_examples=6 * settings.default.max_examples)
@given(middles, gaps, middles, gaps, middles, st.lists(lines, min_size=1, max_size=10))
def test_two_gaps_mean_what_re_means(a: str, first: str, b: str, second: str, c: str, examples: list[str]) -> None:
    """A gap that is searched without going back finds what going back finds; or the pattern is refused."""
    pattern = f"{a}{first}{b}{second}{c}"
    source, _ = parsed(pattern)
    for text in examples if source is not None else ():
        slow, fast = (re.search(expression, text, re.IGNORECASE) for expression in (pattern, source))
        assert (slow is None) == (fast is None), (source, text)


@settings(max_examples=6 * settings.default.max_examples)
@given(st.text(st.sampled_from("ab|()[]{}*+?^$\\-,12&~:=!<>iPwdbBZnxu"), max_size=12))
def test_any_text_is_refused_or_read_as_re_reads_it(pattern: str) -> None:
    """No text crashes the parser; what it accepts, `re` accepts without a warning and reads in the same way."""
    source, diagnostics = parsed(pattern)
    assert (source is None) == bool(diagnostics)
    if source is not None:
        expected, run = (re.compile(expression, re.IGNORECASE) for expression in (pattern, source))
        for text in ("", "a", "ab1", "b\n", "a-b 2[]{}", "\\nx,&~:=!<>"):
            assert (run.search(text) is None) == (expected.search(text) is None)
