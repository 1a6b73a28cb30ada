"""Patterns: what is accepted means what `re` means, and what is refused is told at its place."""

from __future__ import annotations

import ast
import re
from types import ModuleType

import pytest
from formulaseed.backends.python import render
from formulaseed.backends.python.dialects import REQUESTS
from formulaseed.backends.python.verify import foreign
from formulaseed.domain import automaton, scanning
from formulaseed.domain.ambiguity import find_ambiguity
from formulaseed.domain.automaton import matcher
from formulaseed.domain.patterns import written
from helpers import accepted, parsed
from hypothesis import assume, given, settings
from hypothesis import strategies as st


def told(pattern: str) -> tuple[str, str]:
    """The code and the underlined characters of a pattern without backslashes."""
    _, (diagnostic,) = parsed(pattern)
    return diagnostic.code, diagnostic.span.source.text[diagnostic.span.start : diagnostic.span.end]


@pytest.mark.parametrize(
    ("pattern", "code", "place"),
    [
        ("(a", "FS801", "(a"),
        ("x(a|b", "FS801", "(a|b"),
        ("[a", "FS801", "[a"),
        ("a[^b-", "FS801", "[^b-"),
        ("a)", "FS801", ")"),
        ("a]", "FS801", "]"),
        ("a}", "FS801", "}"),
        ("a{", "FS801", "{"),
        ("a{,3}", "FS801", "{,3}"),
        ("a{x}", "FS801", "{"),
        ("a{3,1}", "FS801", "{3,1}"),
        ("*a", "FS801", "*"),
        ("a|+", "FS801", "+"),
        ("(?:+)", "FS801", "+"),
        ("a**", "FS801", "*"),
        ("a{1}{2}", "FS801", "{2}"),
        ("^*", "FS801", "*"),
        (r"\b+", "FS801", "+"),
        ("[z-a]", "FS801", "z"),
        ("[]", "FS801", "["),
        ("[^]", "FS801", "[^"),
        ("[a[b]", "FS801", "["),
        ("[a--b]", "FS801", "-"),
        (r"[\w-z]", "FS801", "-"),
        (r"[a-\d]", "FS801", r"\\d"),
        (r"a[\Z]", "FS801", r"\\Z"),
        ("a\\", "FS801", r"\\"),
        (r"\e", "FS801", r"\\e"),
        (r"\x4", "FS801", r"\\x"),
        (r"\u123", "FS801", r"\\u"),
        ("(?", "FS801", "(?"),
        ("(?~a)", "FS801", "(?"),
        ("(?=a)", "FS802", "(?="),
        ("(?!a)", "FS802", "(?!"),
        ("(?<=a)b", "FS802", "(?<="),
        ("(?<!a)b", "FS802", "(?<!"),
        ("(?P<n>a)", "FS802", "(?P<n>"),
        ("(?<n>a)", "FS802", "(?<n>"),
        ("(?P=n)", "FS802", "(?P=n)"),
        (r"(a)\1", "FS802", r"\\1"),
        (r"\012", "FS802", r"\\012"),
        (r"\p{L}+", "FS802", r"\\p{L}"),
        (r"[\b]", "FS802", r"\\b"),
        (r"\z", "FS802", r"\\z"),
        (r"\h", "FS802", r"\\h"),
        (r"\R", "FS802", r"\\R"),
        (r"\N{DASH}", "FS802", r"\\N"),
        ("a++", "FS802", "+"),
        ("a{2}+", "FS802", "+"),
        ("(?>a)", "FS802", "(?>"),
        ("(?(1)a|b)", "FS802", "(?("),
        ("(?#why)a", "FS802", "(?#why)"),
        ("(?s).", "FS802", "(?s)"),
        ("(?x)a", "FS802", "(?x)"),
        ("(?i:a)", "FS802", "(?i:"),
        ("a(?i)", "FS802", "(?i)"),
        ("[[:alpha:]]", "FS802", "[:alpha:]"),
        ("[a&&b]", "FS802", "&&"),
        ("a{301}", "FS804", "{301}"),
        ("a{0,99999999999999999999}", "FS804", "{0,99999999999999999999}"),
        ("(a{300}){300}", "FS804", "(a{300}){300}"),
        ("a" * 1001, "FS804", "a"),
        ("(" * 21 + "a" + ")" * 21, "FS804", "("),
    ],
)
def test_what_is_no_pattern_is_told_at_its_place(pattern: str, code: str, place: str) -> None:
    """One diagnostic with the characters at fault underlined, on the JSON's line, and a help that is not empty."""
    _, (diagnostic,) = parsed(pattern)
    assert told(pattern) == (code, place)
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
    """The matcher agrees with `re.search`; so does the automaton alone, of the pattern as it was written."""
    tree, diagnostics = parsed(pattern)
    assert {diagnostic.code for diagnostic in diagnostics} <= {"FS803"}
    expected = re.compile(pattern, re.IGNORECASE)
    assume(tree is not None)
    assert tree is not None
    found = matcher(tree)
    alone = scanning._Automaton(written(automaton._head(tree.root)[0]), automaton._program(tree.root))
    for text in examples:
        matches = expected.search(text) is not None
        assert found.search(text) == matches
        assert alone.search(text) == matches


@settings(max_examples=6 * settings.default.max_examples)
@given(st.text(st.sampled_from("ab|()[]{}*+?^$\\-,12&~:=!<>iPwdbBZnxu"), max_size=12))
def test_any_text_is_refused_or_read_as_re_reads_it(pattern: str) -> None:
    """No text crashes the parser; what it accepts, `re` accepts without a warning and reads in the same way."""
    tree, diagnostics = parsed(pattern)
    assert (tree is None) == bool(diagnostics)
    if tree is not None:
        expected = re.compile(pattern, re.IGNORECASE)
        for text in ("", "a", "ab1", "b\n", "a-b 2[]{}", "\\nx,&~:=!<>"):
            assert matcher(tree).search(text) == (expected.search(text) is not None)


def test_ends_that_change_nothing_are_cut() -> None:
    """A pattern is searched for, so repeats at its ends need not be matched to their ends."""
    for pattern, source in {
        r"\d+%": r"\d%", "a+": "a", ".*cheap.*": "cheap", "(a+b)+": "ab", "(a|b+)c*": "a|b", "a{2,}b": "a{2}b", "(a?){9}": "",
        "a*b*c": "c", "^a*b": "^a*b", r"\b\w+\b": r"\b\w+\b", "(|a)b": "b", "x(y*|z+)": "x", "(ab*){3}": "(?:ab*){2}a",
    }.items():  # fmt: skip
        assert matcher(accepted(pattern)).source == source


def test_sources_are_printable() -> None:
    """Nothing of a pattern can leave the line it is written on, or hide."""
    found = matcher(accepted("a\n\x00\u2028\u200b[\n\x7f]\U000e0001" + r"\ud800"))
    assert found.source == r"a\n\x00\u2028\u200b[\n\x7f]\U000e0001\ud800"
    assert found.search("a\n\x00\u2028\u200b\x7f\U000e0001\ud800")


def test_trees_and_matchers_are_values() -> None:
    """The same pattern at another place, or with groups written differently, is equal, so that it is matched once."""
    assert accepted("(a|b)c").root == accepted("(?:a|b)c").root
    assert matcher(accepted("x.*y")) == matcher(accepted("(?i)x.*?y"))
    assert len({matcher(accepted("x.*y")), matcher(accepted("x(.*)y"))}) == 1
    assert find_ambiguity(accepted("x.*y")) is None


def test_a_module_carries_the_automaton() -> None:
    """The class lands in modules that use it, with what it needs, passes the verifier, and works there."""
    table = matcher(accepted("great.*service")).table
    assert table is not None
    body = f"def found(text: str) -> bool:\n    return _Automaton({table[0]!r}, {table[1]!r}).search(text)\n"
    helpers, imports = render._needed(body, render._REQUESTS_ALWAYS, frozenset())
    source = "\n".join([*imports, "", "", body, "", helpers, ""])
    tree = ast.parse(source)
    assert "import re" in imports
    assert "found" in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    assert foreign(tree, REQUESTS) is None
    module = ModuleType("module")
    exec(compile(source, "module", "exec"), vars(module))
    assert module.found("a GREAT place, good Service")
    assert not module.found("good service, a great place")
    assert "re" not in " ".join(render._needed("def f(re: int) -> int:\n    return re\n")[1]).split()
