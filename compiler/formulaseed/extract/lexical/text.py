"""A review as sentences of words: what each word's stem is, and whether it is denied, supposed or hearsay.

Plain English, written by hand, nothing of any one task. Everything is one pass over the words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

CHARACTERS = 20_000
"""What is read of a review."""
SENTENCE = 60
"""Words of a sentence; a longer one is read in parts."""

_TOKEN = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*|[0-9]+(?:[.,][0-9]+)*|[$.,;:!?()\n]|-(?=-)")
_ENDS = frozenset(".!?;\n()")
_SHORT = {"won't": ("will", "not"), "can't": ("can", "not"), "cannot": ("can", "not"), "cant": ("can", "not")}
_CLASSES = {
    word: words.split()[0]
    for words in ("i we he she they you", "me us him her them", "the a an my our your his their this that its one")
    for word in words.split()
}
"""Words that take each other's place in a phrase."""
_IRREGULAR = dict(
    pair.split(":")
    for pair in """told:tell said:say says:say heard:hear swollen:swell threw:throw thrown:throw felt:feel broke:break
    broken:break took:take taken:take gave:give given:give ate:eat sat:sit paid:pay left:leave went:go gone:go came:come
    brought:bring kept:keep found:find swore:swear better:good best:good mice:mouse flies:fly children:child was:be were:be
    is:be are:be am:be been:be being:be has:have had:have having:have did:do does:do anaphylactic:anaphylaxis""".split()
)
FUNCTION_WORDS = frozenset(
    """i me the and or but so as at by for from in into of off on onto out over to too up down with about after again all any
    before if then there here when while until than be have do not no will would can could should just very really what
    which who it each even few get got how more most much now only other own same some such where why also still yet
    might may e g etc""".split()
)
NEGATORS = frozenset("no not never without nobody none nothing neither nor hardly".split())
_CONTRASTS = frozenset("but although though however yet because then so until except".split())
_SUPPOSING = frozenset(
    "if would could might may should afraid scared worry worried worrying fear nervous concerned hope unless wish imagine".split()
)
_HEARSAY = frozenset("friend sister brother cousin neighbor coworker colleague someone somebody people review".split())
_TELLING = frozenset("tell hear say read report".split())
_DENIED_WORDS = 6
"""How far a negator reaches, at most to the end of its clause."""


class Word(NamedTuple):
    text: str
    stem: str
    denied: bool = False
    supposed: bool = False


class Sentence(NamedTuple):
    words: list[Word]
    is_hearsay: bool


def stem(word: str) -> str:
    """The word without its ending, a number as `#`; words of one class are one."""
    word = word.lower().replace("’", "'").removesuffix("'s")
    if word[:1].isdigit():
        return "#"
    word = _CLASSES.get(word, word)
    word = _IRREGULAR.get(word, word)
    if word in FUNCTION_WORDS:
        return word
    for ending in ("ing", "edly", "ed", "ies", "es", "s", "ly", "ively", "ive", "ic", "y", "e"):
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
            word = word.removesuffix(ending)
            break
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "sl":
        word = word[:-1]
    return word.removesuffix("e") if len(word) > 3 else word


def tokens(text: str) -> Iterator[str]:
    """The words and marks of a text, `n't` as `not`."""
    for match in _TOKEN.finditer(text[:CHARACTERS]):
        token = match[0]
        short = token.lower().replace("’", "'")
        if short in _SHORT:
            yield from _SHORT[short]
        elif short.endswith("n't"):
            yield from (token[:-3], "not")
        else:
            yield token


def sentences(text: str) -> Iterator[Sentence]:
    """The sentences of a review, each word marked with what its clause says of it."""
    words: list[Word] = []
    denied, supposed = 0, False
    for token in tokens(text):
        low = token.lower()
        if token in _ENDS or len(words) == SENTENCE:
            if words:
                yield Sentence(words, _is_hearsay(words))
            words, denied, supposed = [], 0, False
            if token in _ENDS:
                continue
        if not token[0].isalnum() and token != "$" or low in _CONTRASTS:
            denied = 0
        if token[0].isalnum() or token == "$":
            words.append(Word(token, stem(token), denied > 0, supposed))
            denied = _DENIED_WORDS if low in NEGATORS else max(0, denied - 1)
            supposed = supposed or low in _SUPPOSING
    if words:
        yield Sentence(words, _is_hearsay(words))


def _is_hearsay(words: list[Word]) -> bool:
    stems = {word.stem for word in words}
    return bool(stems & _TELLING and stems & _HEARSAY)
