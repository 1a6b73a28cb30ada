"""A review as sentences of words, each with its stem, and whether its clause denies it or only supposes it.

Plain English, written by hand, nothing of any one task; one pass over the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

CHARACTERS = 20_000
"""What is read of a review."""
SENTENCE = 60
"""Words of a sentence; a longer one is read in parts."""
DENIED = 6
"""So many words a negator reaches, at most to the end of its clause."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


FUNCTION_WORDS = _words(
    """i me the and or but so as at by for from in into of off on onto out over to too up down with about after again all any
    before if then there here when while until than be have do not no will would can could should just very really what
    which who it each even few get got how more most much now only other own same some such where why also still yet
    might may per e g etc"""
)
NEGATORS = _words("no not never without nobody none nothing neither nor hardly rarely")
_CONTRASTS = _words("but although though however yet because then so until except")
_SUPPOSING = _words(
    """if would could might may should afraid scared worry worried fear nervous concerned hope hoping unless wish imagine
    carry carries"""
)
_TELLING = _words("tell hear say read report")
_TELLERS = _words("friend sister brother cousin neighbor coworker colleague someone somebody people review")
_SHORT = {"won't": ("will", "not"), "can't": ("can", "not"), "cannot": ("can", "not")}
_CLASSES = ("i we he she they you", "me us him her them", "the a an my our your his their this that its one")
"""Words that take each other's place in a phrase."""
_IRREGULAR = dict(
    pair.split(":")
    for pair in """told:tell said:say says:say heard:hear swollen:swell threw:throw thrown:throw felt:feel broke:break
    broken:break took:take taken:take gave:give given:give ate:eat sat:sit paid:pay left:leave went:go gone:go came:come
    brought:bring kept:keep found:find swore:swear better:good best:good mice:mouse flies:fly children:child was:be were:be
    is:be are:be am:be been:be being:be has:have had:have having:have did:do does:do anaphylactic:anaphylaxis""".split()
) | {word: group.split()[0] for group in _CLASSES for word in group.split()}
_ENDINGS = ("ing", "edly", "ed", "ies", "es", "s", "ively", "ive", "ly", "ic", "y", "e")
_TOKEN = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*|[0-9]+(?:[.,][0-9]+)*|[$.,;:!?()\n]")
_ENDS = frozenset(".!?;\n()")
PAUSE = ","


class Word(NamedTuple):
    """A word, a number or `$`, as written and by its stem; a comma or colon is a word of its own, `PAUSE`."""

    text: str
    stem: str
    is_denied: bool = False
    is_supposed: bool = False


class Sentence(NamedTuple):
    words: list[Word]
    is_hearsay: bool
    """Whether somebody else tells it: "my friend told me"."""


def stem(word: str) -> str:
    """The word without its ending."""
    word = word.lower().replace("’", "'").removesuffix("'s")
    word = _IRREGULAR.get(word, word)
    if word in FUNCTION_WORDS:
        return word
    ending = next((each for each in _ENDINGS if word.endswith(each) and len(word) - len(each) >= 3), "")
    if ending and not word.endswith("ss"):
        word = word.removesuffix(ending)
        if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "sl":
            word = word[:-1]
    return word.removesuffix("e") if len(word) > 3 else word


def stems(text: str) -> tuple[str, ...]:
    """The stems of a phrase, without its marks."""
    return tuple(stem(token) for token in _tokens(text) if token[0].isalnum() or token == "$")


def content(text: str) -> tuple[str, ...]:
    """The stems of a phrase that mean something."""
    return tuple(each for each in stems(text) if each not in FUNCTION_WORDS and not each[0].isdigit())


def sentences(text: str) -> Iterator[Sentence]:
    """The sentences of a review, as far as it is read."""
    words: list[Word] = []
    denied, is_supposed = 0, False
    for token in [*_tokens(text[:CHARACTERS]), "."]:
        low = token.lower()
        if words and (token in _ENDS or len(words) == SENTENCE):
            yield Sentence(words, _is_hearsay(words))
            words, denied, is_supposed = [], 0, False
        if token in _ENDS:
            continue
        if token in ",:":
            words.append(Word(token, PAUSE))
        else:
            words.append(Word(token, stem(token), denied > 0 and low not in _CONTRASTS, is_supposed))
        denied = DENIED if low in NEGATORS else 0 if token in ",:" or low in _CONTRASTS else max(0, denied - 1)
        is_supposed = is_supposed or low in _SUPPOSING


def _tokens(text: str) -> Iterator[str]:
    for match in _TOKEN.finditer(text):
        token = match[0]
        short = token.lower().replace("’", "'")
        if short.endswith("n't") and short not in _SHORT:
            yield from (token[:-3], "not") if len(token) > 3 else ("not",)
        else:
            yield from _SHORT.get(short, (token,))


def _is_hearsay(words: list[Word]) -> bool:
    said = {word.stem for word in words}
    return not (said.isdisjoint(_TELLING) or said.isdisjoint(_TELLERS))
