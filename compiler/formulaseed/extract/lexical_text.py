"""Review text to sentences of words, each word marked with whether the writer asserts it, and of whom.

One pass, left to right, in time linear in the text. What is read here is surface only: negators deny
the words after them up to the end of the clause, "if" and "afraid" make them unreal, "my friend told me"
makes them somebody else's. Quotation, irony and tense are not seen.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from formulaseed.extract import lexical_words as words
from formulaseed.extract.lexical_words import Stance

TEXT_LIMIT = 20_000
"""Characters of a review that are read; a real review is a quarter of that at most."""

NEGATION_REACH = 7  # words that one negator can deny
BACKGROUND_REACH = 7
SENTENCE_LIMIT = 80  # words; text without full stops is cut, so that no scope runs on for pages
WORD_LIMIT = 40  # characters of a word that are looked at

# Number, word (with inner apostrophes), sentence end, clause end. No part can match in two ways.
_TOKEN = re.compile(
    r"[$€£]?[0-9]+(?:[.,][0-9]+)*|[^\W\d_]+(?:['’][^\W\d_]+)*|[.!?…\n]+|--+|(?<=\s)-(?=\s)|[,;:()—–]"
)
_CLAUSE_ENDS = frozenset(";:()—–-")
_SENTENCE_ENDS = frozenset(".!?…\n")
_SUBJECTS = frozenset("i we they he she it you there i'm i'd we're they're it's the my our then and so".split())
_THINKING = frozenset("think thought believe feel say felt that sure".split())
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


def tokens_of(text: str) -> list[str]:
    """The words and numbers of a description, as written."""
    return [token for token in _TOKEN.findall(text) if token[0].isalnum() or token[0] in "$€£"]


@lru_cache(maxsize=16_384)
def stem(word: str) -> str:
    """A lower-case word without its usual endings: enough that "refusing" meets "refused"."""
    word = word[:WORD_LIMIT].replace("’", "'").removesuffix("'s")
    word = words.IRREGULAR.get(word, word)
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
    scope = _Scope(question)
    found: list[Word] = []
    for index, lower in enumerate(lowers):
        before, after = lowers[max(0, index - 3) : index], lowers[index + 1 : index + 3]
        if lower == "," or lower[0] in _CLAUSE_ENDS:
            scope.clause(lower, after)
            continue
        scope.close(lower, before)
        by_writer = (scope.by_writer or not found) and not words.PASSIVES.intersection(before[-1:])
        found.append(Word(tokens[index], lower, stem(lower), scope.negation > 0, scope.stance, by_writer))
        scope.open(lower, before, after)
    return tuple(found)


@dataclass(slots=True)
class _Scope:
    """What the sentence so far says of the next word."""

    question: bool
    negation: int = 0  # words that it still reaches
    background: int = 0
    unreal: bool = False
    asked: bool = False
    other: bool = False
    first: bool = False
    by_writer: bool = False

    @property
    def stance(self) -> Stance:
        if self.question or self.asked:
            return "asked"
        if self.unreal:
            return "unreal"
        if self.background > 0:
            return "background"
        if self.other:
            return "other"
        return "first" if self.first else "plain"

    def clause(self, mark: str, after: Sequence[str]) -> None:
        """A comma before a new subject ends what was denied or supposed; in a list it carries on."""
        self.background = 0
        if mark != "," or (after and after[0] in _SUBJECTS):
            self.negation = 0
            self.unreal = self.asked = False
        elif self.negation:
            self.negation = NEGATION_REACH

    def close(self, lower: str, before: Sequence[str]) -> None:
        """Ends the scopes that this word is no longer in."""
        self.negation = max(0, self.negation - 1)
        self.background = max(0, self.background - 1)
        if lower in words.CONTRASTS and not (before and before[-1] in words.NEGATORS):
            self.negation = self.background = 0
            self.unreal = self.asked = False
        elif lower in _SUBJECTS and 0 < self.negation < NEGATION_REACH - 2 and not _THINKING.intersection(before[-2:]):
            self.negation = 0
        if lower in ("or", "nor") and self.negation:
            self.negation = NEGATION_REACH
        if lower in words.FIRST_SUBJECTS:
            self.other = False

    def open(self, lower: str, before: Sequence[str], after: Sequence[str]) -> None:
        """Starts the scopes that this word brings."""
        following = after[0] if after else ""
        if _negates(lower, following):
            self.negation = NEGATION_REACH + 1
        if lower in ("if", "whether") and not words.ASKING.isdisjoint(before):
            self.asked = True
        elif _supposes(lower, following):
            self.unreal = True
        if _reports(lower, before, following):
            self.other = True
        if lower in words.FIRST_PERSON:
            self.first = True
        if lower in words.FIRST_SUBJECTS or lower in words.RELATIVES:
            self.by_writer = True
        elif lower in words.THIRD_SUBJECTS or lower in words.STAFF:
            self.by_writer = False
        if _describes_condition(lower, before, following):
            self.background = BACKGROUND_REACH + 1


def _negates(lower: str, following: str) -> bool:
    if lower in words.DENYING_VERBS:
        return following == "to"
    return lower in words.NEGATORS and (lower, following) not in words.EMPTY_NEGATIONS


def _supposes(lower: str, following: str) -> bool:
    if lower == "would":
        return following not in ("not", "never")  # "would not help" is a refusal that took place
    if lower == "could":
        return following in words.CHANCES_AFTER_COULD
    if lower.endswith("'d"):
        return following in ("be", "hate", "avoid", "think", "worry")
    if lower in words.GENERIC_PERSONS:
        return following in ("with", "who")
    return lower in words.UNREAL_MARKERS


def _reports(lower: str, before: Sequence[str], following: str) -> bool:
    """Hearsay begins: a report verb of somebody who is not staff, "I heard", or a stranger as subject."""
    if lower in words.REPORT_VERBS:
        return not words.PERSONS.isdisjoint(before)
    if lower == "read":
        return following in words.READ_AFTER
    if lower in words.STRANGERS:
        return words.COMPANY.isdisjoint(before)
    return lower in words.HEARSAY


def _describes_condition(lower: str, before: Sequence[str], following: str) -> bool:
    if following.endswith("ed") or following in ("been", "had", "never", "ever", "not"):
        return False  # "have been treated", "has refused": something happened
    if lower in ("carry", "carries"):
        return True
    if lower in words.CONDITION_VERBS:
        return bool(before) and (before[-1] in ("i", "we", "who", "she", "he") or before[-1] in words.PERSONS)
    if lower in words.STATE_SUBJECTS or (lower == "with" and before and before[-1] in words.PERSONS):
        return True
    if lower in words.STATE_VERBS:
        return bool(before) and (before[-1] in ("i", "we") or before[-1] in words.RELATIVES)
    owned = lower in ("my", "his", "her", "our", "their") or lower.endswith("'s")
    return owned and words.GRADES.get(following, 0) > 0
