"""A review as sentences of words, each with its stem, and whether its clause denies it or only supposes it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

CHARACTERS = 20_000
"""What is read of a review."""
SENTENCE, DENIED = 60, 6
"""Words of a sentence, of which a longer one is read in parts; words that a negator reaches, at most to its clause's end."""
PAUSE = ","
"""The stem of commas and colons, which no cue reaches across."""


def word_set(text: str) -> frozenset[str]:
    return frozenset(text.split())


FUNCTION_WORDS = word_set(
    """i me the and or but so as at by for from in into of off on onto out over to too up down with about after again all any
    before if then there here when while until than be have do not no will would can could should just very really what per
    which who it each even few get got how more most much now only other own same some such where why also still yet might"""
)
NEGATORS = word_set("no not never without nobody none nothing neither nor hardly rarely")
_CONTRASTS = word_set("but although though however yet because then so until except")
_SUPPOSING = word_set(
    "if would could might may should afraid scared worry worried fear nervous hope unless wish carry carries"
)
_TELLING = word_set("tell hear say read report")
_TELLERS = word_set("friend sister brother cousin neighbor coworker someon somebody peopl review")
_SAME = {
    word: line.split()[0]
    for line in """i we he she they you|me us him her them|the a an my our your his their this that its one|tell told
    say said says|hear heard|swell swollen|throw threw thrown|feel felt|break broke broken|take took taken|give gave given
    eat ate|sit sat|pay paid|leave left|go went gone|come came|bring brought|keep kept|find found|swear swore
    good better best|mouse mice|fly flies|child children|be was were is are am been being|have has had having
    do did does|anaphylaxis anaphylactic""".replace("\n", "|").split("|")
    for word in line.split()
}
"""Words that take each other's place, by the first of their line."""
_ENDINGS = ("ing", "edly", "ed", "ies", "es", "s", "ively", "ive", "ly", "ic", "y", "e")
_TOKEN = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*|[0-9]+(?:[.,][0-9]+)*|[$.,;:!?()\n]")
_ENDS = frozenset(".;!?()\n")


class Word(NamedTuple):
    stem: str
    is_denied: bool
    is_supposed: bool


Sentence = tuple[list[Word], bool]
"""Its words, and whether somebody else tells it: "my friend told me"."""


def stem(word: str) -> str:
    """The word in lower case, without its ending."""
    word = word.removesuffix("'s")
    word = _SAME.get(word, word)
    if word in FUNCTION_WORDS or word.endswith("ss"):
        return word
    word = word.removesuffix(next((end for end in _ENDINGS if word.endswith(end) and len(word) - len(end) >= 3), ""))
    is_doubled = len(word) > 3 and word[-1] == word[-2] and word[-1] not in "sl"
    return word[:-1] if is_doubled or (len(word) > 3 and word[-1] == "e") else word


def stems(text: str) -> tuple[str, ...]:
    """The stems of a phrase, without its marks."""
    return tuple(stem(token) for token in _tokens(text) if token[0].isalnum() or token == "$")


def content(text: str) -> tuple[str, ...]:
    """The stems of a phrase that mean something."""
    return tuple(each for each in stems(text.replace("_", " ")) if each not in FUNCTION_WORDS and each.isalpha())


def sentences(text: str) -> Iterator[Sentence]:
    """The sentences of a review, as far as it is read."""
    words: list[Word] = []
    denied, is_supposed = 0, False
    for token in _tokens(text[:CHARACTERS] + "\n"):
        if words and (token in _ENDS or len(words) == SENTENCE):
            said = {word.stem for word in words}
            yield words, not (said.isdisjoint(_TELLING) or said.isdisjoint(_TELLERS))
            words, denied, is_supposed = [], 0, False
        if token in _ENDS:
            continue
        is_break = token in ",:" or token in _CONTRASTS
        words.append(Word(PAUSE if token in ",:" else stem(token), denied > 0 and not is_break, is_supposed))
        denied = DENIED if token in NEGATORS else 0 if is_break else max(0, denied - 1)
        is_supposed = is_supposed or token in _SUPPOSING


def _tokens(text: str) -> list[str]:
    return _TOKEN.findall(text.lower().replace("’", "'").replace("n't", " not").replace("cannot", "can not"))
