"""Review text to sentences of words, each word marked with whether the writer asserts it, and of whom.

One pass, left to right, in time linear in the text. What is read here is surface only: negators deny
the words after them up to the end of the clause, "if" and "afraid" make them unreal, "my friend told me"
makes them somebody else's. Quotation, irony and tense are not seen.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from formulaseed.extract import lexical_speech as speech
from formulaseed.extract import lexical_words as words
from formulaseed.extract.lexical_scope import Scope
from formulaseed.extract.lexical_speech import Stance

TEXT_LIMIT = 20_000
"""Characters of a review that are read; a real review is a quarter of that at most."""

SENTENCE_LIMIT = 80  # words; text without full stops is cut, so that no scope runs on for pages
WORD_LIMIT = 40  # characters of a word that are looked at

# Number, word (with inner apostrophes), sentence end, clause end. No part can match in two ways.
_TOKEN = re.compile(r"[$€£]?[0-9]+(?:[.,][0-9]+)*|[^\W\d_]+(?:['’][^\W\d_]+)*|[.!?…\n]+|--+|(?<=\s)-(?=\s)|[,;:()—–]")
_CLAUSE_ENDS = frozenset(";:()—–-")
_SENTENCE_ENDS = frozenset(".!?…\n")
_VOWELS = frozenset("aeiouy")


class Word(NamedTuple):
    """One word of a sentence, and how the writer stands to it."""

    text: str
    lower: str
    stem: str
    negated: bool
    stance: Stance
    by_writer: bool  # the writer, or one of the party, is the subject so far: "I asked", not "they asked"

    @property
    def real(self) -> bool:
        """The writer says that this is so."""
        return not self.negated and self.stance in ("plain", "first", "other")


Sentence = tuple[Word, ...]


def sentences(text: str) -> tuple[Sentence, ...]:
    """The text's first 20,000 characters as sentences; none of them is empty."""
    return tuple(_read(tokens, question) for tokens, question in _split(text[:TEXT_LIMIT]))


@lru_cache(maxsize=16_384)
def stem(word: str) -> str:
    """A lower-case word without its usual endings: enough that "refusing" meets "refused"."""
    word = word[:WORD_LIMIT].replace("’", "'").removesuffix("'s")
    regular = words.IRREGULAR.get(word)
    if regular is not None:
        return word if regular == word else stem(regular)
    if word.endswith("lactic"):
        word = word[:-6] + "laxis"
    word = _without_plural(word)
    word = _without_verb_ending(word)
    for ending, keep in (("ly", 3), ("ness", 4), ("ful", 4), ("ion", 5), ("ive", 5)):
        if word.endswith(ending) and len(word) - len(ending) >= keep:
            word = word.removesuffix(ending)
    return word[:-1] if word.endswith("e") and len(word) > 4 else word


def _without_plural(word: str) -> str:
    if len(word) < 4 or not word.endswith("s") or word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "xes", "ches", "shes", "zzes")):
        return word[:-2]
    return word[:-1]


def _without_verb_ending(word: str) -> str:
    for ending in ("ing", "ied", "ed"):
        root = word.removesuffix(ending)
        if root == word or len(root) < 3 or word.endswith("eed") or _VOWELS.isdisjoint(root):
            continue
        if ending == "ied":
            return root + "y"
        return root[:-1] if root[-1] == root[-2] and root[-1] not in "lsz" else root
    return word


def _split(text: str) -> Iterator[tuple[list[str], bool]]:
    """Each sentence's tokens, clause marks among them, and whether it is a question."""
    tokens: list[str] = []
    for match in _TOKEN.finditer(text):
        token = match.group()
        ended = token[0] in _SENTENCE_ENDS
        if not ended:
            tokens += _without_contraction(token)
        if tokens and (ended or len(tokens) >= SENTENCE_LIMIT):
            yield tokens, ended and "?" in token
            tokens = []
    if tokens:
        yield tokens, False


def _without_contraction(token: str) -> list[str]:
    """ "couldn't" as "could" and "not"."""
    lower = token[-4:].lower().replace("’", "'")
    if not lower.endswith("n't"):
        return [token]
    verb = {"ca": "can", "wo": "will", "sha": "shall"}.get(token[:-3].lower(), token[:-3])
    return [verb, "not"] if verb else [token]


def _read(tokens: Sequence[str], question: bool) -> Sentence:
    lowers = [token[:WORD_LIMIT].lower().replace("’", "'") for token in tokens]
    scope = Scope(question)
    found: list[Word] = []
    for index, lower in enumerate(lowers):
        before, after = lowers[max(0, index - 3) : index], lowers[index + 1 : index + 3]
        if lower == "," or lower[0] in _CLAUSE_ENDS:
            scope.clause(lower, after)
            continue
        scope.close(lower, before)
        by_writer = (scope.by_writer or not found) and not speech.PASSIVES.intersection(before[-1:])
        found.append(Word(tokens[index], lower, stem(lower), scope.negation > 0, scope.stance, by_writer))
        scope.open(lower, before, after)
    return tuple(found)
