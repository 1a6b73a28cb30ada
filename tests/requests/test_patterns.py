"""Patterns: what is accepted means what `re` means, and what is refused is reported at its place."""

from __future__ import annotations

import re

import pytest
from helpers import parsed
from hypothesis import assume, given, settings
from hypothesis import strategies as st


def report_place(pattern: str) -> tuple[str, str]:
    """The code and the underlined characters of a pattern without backslashes."""
    _, (diagnostic,) = parsed(pattern)
    return diagnostic.code, diagnostic.span.source.text[diagnostic.span.start : diagnostic.span.end]


@pytest.mark.parametrize(
    ("pattern", "code", "place"),
    [
        ("(a", "FS801", "("), ("x(a|b", "FS801", "("), ("[a", "FS801", "["), ("a[^b-", "FS801", "["),
        ("a)", "FS801", ")"), ("a]", "FS802", "]"), ("a}", "FS802", "}"), ("a{", "FS802", "{"),
        ("a{,3}", "FS802", "{,3}"), ("a{x}", "FS802", "{x}"), ("a{3,1}", "FS801", "3"), ("*a", "FS801", "*"),
        ("a|+", "FS801", "+"), ("(?:+)", "FS801", "+"), ("a**", "FS801", "*"), ("a{1}{2}", "FS801", "{2}"),
        ("^*", "FS801", "*"), (r"\b+", "FS801", "+"), ("[z-a]", "FS801", "z"), ("[]", "FS801", "["),
        ("[^]", "FS801", "["), ("[a[b]", "FS802", "["), ("[a--b]", "FS801", "a"), (r"[\w-z]", "FS801", r"\\w"),
        (r"[a-\d]", "FS801", "a"), (r"a[\Z]", "FS801", r"\\Z"), ("a\\", "FS801", r"\\"), (r"\e", "FS801", r"\\e"),
        (r"\x4", "FS801", r"\\x4"), (r"\u123", "FS801", r"\\u123"), ("(?", "FS801", ""), ("(?~a)", "FS801", "(?"),
        ("(?=a)", "FS802", "(?="), ("(?!a)", "FS802", "(?!"), ("(?<=a)b", "FS802", "(?<="),
        ("(?<!a)b", "FS802", "(?<!"), ("(?P<n>a)", "FS802", "(?P<n>"), ("(?<n>a)", "FS801", "(?<n>"),
        ("(?P=n)", "FS801", "n"), (r"(a)\1", "FS802", r"\\1"), (r"\012", "FS802", r"\\012"),
        (r"\p{L}+", "FS801", r"\\p{L}"), (r"[\b]", "FS802", r"\\b"), (r"\z", "FS801", r"\\z"), (r"\h", "FS801", r"\\h"),
        (r"\R", "FS801", r"\\R"), (r"\N{DASH}", "FS801", r"\\N"), ("a++", "FS802", "+"), ("a{2}+", "FS802", "+"),
        ("(?>a)", "FS802", "(?>"), ("(?(1)a|b)", "FS801", "1"), ("(?#why)a", "FS802", "(?#why)"),
        ("(?s).", "FS802", "(?s)"), ("(?x)a", "FS802", "(?x)"), ("(?i:a)", "FS802", "(?i:"), ("a(?i)", "FS801", "(?i)"),
        ("[[:alpha:]]", "FS802", "[:alpha:]"), ("[a&&b]", "FS802", "&&"), ("a{301}", "FS804", "{301}"),
        ("a{0,99999999999999999999}", "FS804", "{0,99999999999999999999}"), ("(a{300}){300}", "FS803", "(a{300}){300}"),
        ("a" * 1001, "FS804", "a"), ("(" * 21 + "a" + ")" * 21, "FS804", "("),
    ],
)  # fmt: skip
def test_what_is_no_pattern_is_reported_at_its_place(pattern: str, code: str, place: str) -> None:
    """One diagnostic with the characters at fault underlined, on the JSON's line, and a help that is not empty."""
    _, (diagnostic,) = parsed(pattern)
    assert report_place(pattern) == (code, place)
    assert diagnostic.help
    assert diagnostic.message[-1] not in ".!"


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
