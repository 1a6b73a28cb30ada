"""Warns of keywords of the filter that match unintended words or miss intended ones.

A review is relevant if its text contains a keyword anywhere, case ignored; so `nut` finds "minute", and
`allergy` does not find "allergies".
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Set
from functools import cache
from pathlib import Path

from formulaseed.diagnostics.catalogue import lint as catalogue
from formulaseed.diagnostics.model import Diagnostic, Problems
from formulaseed.seed.surface import Named
from formulaseed.source.text import one_line

MAX_SUSPECT_LENGTH = 8
"""A longer keyword is seldom a part of a word that means something else."""

MAX_SHORT = 3
"""The endings of longer keywords make another word of a keyword of at most this length: `bee` and `been`."""
MIN_LONG = 5
"""A word that begins with a keyword of at least this length is most often a form of it: not `waitress` of `wait`."""

MAX_LINTED_LENGTH = 60
"""A longer keyword is not compared with the others: it takes time."""

MAX_WORDS = 200
MAX_REVIEW_LENGTH = 5_000
"""Reviews are not longer than this."""

_PATTERN = re.compile(
    r"\\|\.[*+?]|\[[^\]]+\][*+?]?|\([^)]*\|[^)]*\)|\(\?|\)[?*]|^\^\w|\w\$$|^%.*%$|\w\|\w|\w\?\w|^\w+s\?$"
    r"|^[^*]*[^\W\d]{3}[*]$|^[*][^\W\d]{3}|[^\W\d]{3}[*][^\W\d]{3}"  # a word that ends in it: not `5*` or `sh*t`
)
_TYPOGRAPHIC = {"’": "'", "‘": "'", "“": '"', "”": '"', "–": "-", "—": "-", "…": "..."}
_PREFIXES = frozenset(
    ("a", "anti", "dis", "in", "mid", "mis", "multi", "non", "out", "over", "pre", "re", "semi", "sub", "super", "un", "under")
)  # fmt: skip
_ENDINGS = ("s", "es", "ed", "er", "ers", "ing", "ings", "y", "d", "ly", "ies", "ish", "less", "free", "ness")
_ENDINGS_OF_LONGER = (*_ENDINGS, "r", "rs", "st", "est", "n", "ty", "ess", "esses")
"""With a short word these make another one: `bee` and `been`."""


def lint_keywords(keywords: tuple[Named, ...], problems: Problems) -> None:
    """Warn of keywords that match nothing, repeat one another, are inside other words, or miss forms of a word.

    Case is ignored. A keyword that cannot match, repeats or contains another, or is long is not checked further.
    """
    folded = {keyword.text.casefold() for keyword in keywords}
    seen: dict[str, str] = {}
    for keyword in keywords:
        text = keyword.text.casefold()
        if text in seen:
            problems.report(catalogue.keyword_repeated(keyword.span, keyword.text, seen[text]))
            continue
        seen[text] = keyword.text
        if (never := _check_can_match(keyword)) is not None:
            problems.report(never)
        elif len(text) <= MAX_LINTED_LENGTH:
            if shorter := _find_keyword_in(text, folded - {text}):
                problems.report(catalogue.keyword_covered(keyword.span, keyword.text, shorter))
                continue
            bare = text.strip()
            if bare != text and not _find_words_around(bare, folded):  # there the space keeps the longer words out
                problems.report(catalogue.surrounding_space(keyword.span, keyword.text, "the keyword"))
            if words := _find_words_around(text, folded):
                problems.report(catalogue.keyword_inside_words(keyword.span, keyword.text, words))
            _lint_inflections(keyword, text, folded, problems)


def _check_can_match(keyword: Named) -> Diagnostic | None:
    """Return the warning that no review can contain the keyword, or None if a review may.

    The first reason wins: a pattern, control characters, separate accents, the length, curly quotes or dashes, double
    spaces.
    """
    text = keyword.text
    span = keyword.span
    if _PATTERN.search(text):
        return catalogue.keyword_pattern(span, text, _list_pattern_words(text))
    if any(unicodedata.category(character) in ("Cc", "Cf", "Co", "Cn", "Zl", "Zp") for character in text):
        return catalogue.keyword_characters(span, text, "a control or unassigned character", "")
    composed = unicodedata.normalize("NFC", text)
    if composed != text:
        return catalogue.keyword_characters(span, text, "separate accents", composed)
    if len(text) > MAX_REVIEW_LENGTH:
        return catalogue.keyword_too_long(span, len(text))
    curly = sorted(set(text) & set(_TYPOGRAPHIC))
    if curly:
        plain = "".join(_TYPOGRAPHIC.get(character, character) for character in text)
        return catalogue.keyword_characters(span, text, f"`{curly[0]}`", plain)
    if "  " in text:
        return catalogue.keyword_characters(span, text, "two spaces in a row", re.sub(" +", " ", text))
    return None


_CHOICE = re.compile(
    r"\((?:\?:)?(?P<group>[^()]*)\)(?P<may_lack>\?)?|\[(?P<class>[^\]^\\]+)\](?P<may_be_absent>[?*])?"
    r"|(?P<any>\.\?)|\\s(?P<spaces>[?*])|(?P<optional>\w)\?"
)
"""A part of a pattern that matches one of several texts."""
_OPEN = re.compile(r"\\[dDwW]|\{|\[[^\]]*\w-\w")
"""A part of a pattern that matches more texts than can be listed."""
MAX_CHOICES = 8
MIN_WORD_LENGTH = 2


def _list_pattern_words(pattern: str) -> list[str]:
    """Return the keywords that match what a simple regular expression matches; none if there may be too many.

    Also returns none if one would be shorter than `MIN_WORD_LENGTH`. A keyword that contains another is left out.
    """
    if _OPEN.search(pattern):
        return []
    texts = pattern.split("|") if "(" not in pattern else [pattern]
    while any(map(_CHOICE.search, texts)):
        texts = [choice for text in texts for choice in _expand_choice(text)]
        if len(texts) > MAX_CHOICES:
            return []
    words = dict.fromkeys(filter(None, map(_simplify_pattern, texts)))
    if min(map(len, words), default=MIN_WORD_LENGTH) < MIN_WORD_LENGTH:
        return []  # `[sic]`
    return [word for word in words if not _find_keyword_in(word, words.keys() - {word})]


def _simplify_pattern(pattern: str) -> str:
    """Return the text that a pattern without choices matches. Escaped spaces and wildcards become single spaces.

    Anchors and other special characters are dropped.
    """
    spaced = re.sub(r"\\s\+?|\.[*+]", " ", pattern)
    return one_line(re.sub(r"\\[bB]|\\|[^\w\s'.&-]", "", spaced))


def _expand_choice(text: str) -> list[str]:
    """Return one text for each option of the first choice in a pattern; only the text itself if it has none.

    A choice is a group, a character class, an optional character or `.?`, which may be nothing, a space or a hyphen.
    """
    match = _CHOICE.search(text)
    if match is None:
        return [text]
    if match["group"] is not None:
        choices = match["group"].split("|") + [""] * bool(match["may_lack"])
    elif match["class"] is not None:
        choices = [*match["class"], *[""] * bool(match["may_be_absent"])]
    elif match["any"] is not None:
        choices = ["", " ", "-"]
    else:
        choices = [match["optional"] or " ", ""]
    return [text[: match.start()] + choice + text[match.end() :] for choice in choices]


def _find_words_around(text: str, folded: set[str]) -> list[str]:
    """Return the common words that contain the keyword and are no form of it, those that begin with it last.

    Shorter words come first. Returns none for a keyword that is not ASCII letters or is longer than
    `MAX_SUSPECT_LENGTH`.
    """
    if len(text) > MAX_SUSPECT_LENGTH or not text.isalpha() or not text.isascii():
        return []
    words = [word for word in _find_words_containing(text) if not _is_form(word, text, folded)]
    return sorted(words, key=lambda word: (word.startswith(text), len(word)))  # short words are the common ones


def _is_form(word: str, text: str, folded: set[str]) -> bool:
    """Return True if a word that contains the keyword is a form of it, or contains another keyword of `folded`.

    A form has a usual ending, a prefix or a common word in front, or begins with a long keyword.
    """
    if _find_keyword_in(word, folded - {text}):
        return True
    start, _, rest = word.partition(text)
    endings = _ENDINGS if len(text) <= MAX_SHORT else _ENDINGS_OF_LONGER
    ends = not rest or rest in endings or (rest[0] == text[-1] and rest[1:] in endings)
    if not start:
        return ends or len(text) >= MIN_LONG
    return ends and (start in _PREFIXES or start in _read_common_words())


def _lint_inflections(keyword: Named, text: str, folded: set[str], problems: Problems) -> None:
    """Warn of other forms of the keyword's first word, a verb, and of its last one that the filter would miss.

    Names at most three. A keyword with anything but words of ASCII letters, or with a last word under three letters, is
    passed over.
    """
    words = text.split(" ")
    if not all(word.isalpha() and word.isascii() for word in words) or len(words[-1]) < 3:
        return
    missed = [" ".join([*words[:-1], form]) for form in _list_forms(words[-1])]
    missed += [" ".join([form, *words[1:]]) for form in _find_irregular_forms(words[0], "verbs")]
    missed = [form for form in missed if not _find_keyword_in(form, folded)]
    if missed:
        problems.report(catalogue.keyword_misses(keyword.span, keyword.text, missed[:3]))


def _list_forms(word: str) -> list[str]:
    """Return other forms of a noun or adjective that are in use and do not contain `word`, each once.

    Plurals in -ies, singulars, comparatives of adjectives in -y, and irregular nouns.
    """
    forms = _find_irregular_forms(word, "nouns")
    known = _read_common_words()
    if word in _read_words("adjectives"):
        forms += [f"{word[:-1]}ier", f"{word[:-1]}iest"]
    elif word.endswith("y") and len(word) > 3 and word[-2] not in "aeiou" and not word.endswith(("ary", "ory", "ly")):
        forms.append(f"{word[:-1]}ied" if f"{word[:-1]}ied" in known else f"{word[:-1]}ies")
    singulars = (f"{word[:-3]}y" if word.endswith("ies") else "", word[:-1], word[:-2] if word.endswith("es") else "")
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        forms += [form for form in singulars if form in known][:1]
    return [form for form in dict.fromkeys(forms) if word not in form]


def _find_keyword_in(text: str, keywords: Set[str]) -> str | None:
    """Return the longest of `keywords` that occurs in `text`, or None if none does."""
    for length in range(len(text), 0, -1):
        for start in range(len(text) - length + 1):
            if text[start : start + length] in keywords:
                return text[start : start + length]
    return None


def _find_words_containing(text: str) -> list[str]:
    """Return the common words that contain a text, in alphabetical order; at most the first `MAX_WORDS`."""
    listing = _read_word_list("words")
    words: list[str] = []
    at = listing.find(text)
    while at != -1 and len(words) < MAX_WORDS:
        end = listing.index("\n", at)
        words.append(listing[listing.rindex("\n", 0, at + 1) + 1 : end])
        at = listing.find(text, end)
    return words


def _find_irregular_forms(word: str, kind: str) -> list[str]:
    """Return the words that a word list pairs with `word`, in either order; `kind` is `nouns` or `verbs`."""
    pairs = [line.split() for line in _read_word_list(kind).split("\n") if line]
    return [form for pair in pairs for one, form in (pair, pair[::-1]) if word == one]


@cache
def _read_word_list(name: str) -> str:
    """Return the content of `<name>.txt` next to this module, each line between two line breaks. Results are cached.

    `words` are those that several of a thousand reviews of restaurants contain, `rare` are others, `adjectives` end in -y.
    `nouns` and `verbs` have irregular forms: two on each line.
    """
    return "\n" + (Path(__file__).parent / f"{name}.txt").read_text(encoding="ascii")


@cache
def _read_words(name: str) -> frozenset[str]:
    return frozenset(_read_word_list(name).split())


@cache
def _read_common_words() -> frozenset[str]:
    return _read_words("words") | _read_words("rare")
