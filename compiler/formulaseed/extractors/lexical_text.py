"""Splits a text into sentences of word stems, and finds the numbers and names that it gives for a field.

In: a review, or a phrase of a seed. Out: the words that `lexical` scores, with marks for denied and supposed ones. Reads the
first 20,000 characters, in linear time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from formulaseed.extractors.base import AskedField

MAX_CHARACTERS = 20_000
"""The part of a review that is read."""
MAX_SENTENCE_WORDS = 60
"""The most words of a sentence; a longer one is split."""
NEGATION_REACH = 6
"""The number of words after a negator that it denies, unless its clause ends before."""
PAUSE = ","
"""The stem of commas and colons. No cue extends across one."""


def parse_words(text: str) -> frozenset[str]:
    """Return the words of a text that are separated by white space, each once."""
    return frozenset(text.split())


FUNCTION_WORDS = parse_words(
    """i me the and or but so as at by for from in into of off on onto out over to too up down with about after again all any
    before if then there here when while until than be have do not no will would can could should just very really what per
    which who it each even few get got how more most much now only other own same some such where why also still yet might"""
)
NEGATORS = parse_words("no not never without nobody none nothing neither nor hardly rarely")
_CONTRASTS = parse_words("but although though however yet because then so until except")
_SUPPOSITION_WORDS = parse_words(
    "if would could might may should afraid scared worry worried fear nervous hope unless wish carry carries"
)
_REPORTING_VERBS = parse_words("tell hear say read report")
_REPORTERS = parse_words("friend sister brother cousin neighbor coworker someon somebody peopl review")
_SYNONYMS = {
    word: line.split()[0]
    for line in """i we he she they you|me us him her them|the a an my our your his their this that its one|tell told
    say said says|hear heard|swell swollen|throw threw thrown|feel felt|break broke broken|take took taken|give gave given
    eat ate|sit sat|pay paid|leave left|go went gone|come came|bring brought|keep kept|find found|swear swore
    good better best|mouse mice|fly flies|child children|be was were is are am been being|have has had having
    do did does|anaphylaxis anaphylactic""".replace("\n", "|").split("|")
    for word in line.split()
}
"""The first word of a group of words with the same meaning, by each word of the group."""
_ENDINGS = ("ing", "edly", "ed", "ies", "es", "s", "ively", "ive", "ly", "ic", "y", "e")
_TOKEN = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*|[0-9]+(?:[.,][0-9]+)*|[$.,;:!?()\n]")
_SENTENCE_ENDS = frozenset(".;!?()\n")


class Word(NamedTuple):
    """A word of a sentence. It is supposed if a word such as "if" or "would" precedes it in the sentence."""

    stem: str
    is_denied: bool
    is_supposed: bool


Sentence = tuple[list[Word], bool]
"""The words of a sentence, and whether it is hearsay, such as "my friend told me"."""


def stem(word: str) -> str:
    """Return the stem of a word in lower case: without its ending, and the same for some synonyms and irregular forms."""
    word = word.removesuffix("'s")
    word = _SYNONYMS.get(word, word)
    if word in FUNCTION_WORDS or word.endswith("ss"):
        return word
    word = word.removesuffix(next((end for end in _ENDINGS if word.endswith(end) and len(word) - len(end) >= 3), ""))
    is_doubled = len(word) > 3 and word[-1] == word[-2] and word[-1] not in "sl"
    if is_doubled or (len(word) > 3 and word[-1] == "e"):
        return word[:-1]
    return word


def stem_words(text: str) -> tuple[str, ...]:
    """Return the stems of the words, numbers and dollar signs of a phrase, without punctuation."""
    return tuple(stem(token) for token in _split_tokens(text) if token[0].isalnum() or token == "$")


def stem_content_words(text: str) -> tuple[str, ...]:
    """Return the stems of the words of a phrase; `_` separates words, too.

    Function words, such as articles and pronouns, and numbers are left out.
    """
    return tuple(word for word in stem_words(text.replace("_", " ")) if word not in FUNCTION_WORDS and word.isalpha())


def split_sentences(text: str) -> Iterator[Sentence]:
    """Yield the sentences of a review's first `MAX_CHARACTERS` characters, each with whether it is hearsay.

    A sentence of more than `MAX_SENTENCE_WORDS` words is split. A negator denies the next `NEGATION_REACH` words, at
    most to the end of its clause. After a word such as "if" the rest of the sentence is supposed.
    """
    words: list[Word] = []
    denied_count = 0  # the number of following words that the last negator denies
    is_supposed = False
    for token in _split_tokens(text[:MAX_CHARACTERS] + "\n"):
        if words and (token in _SENTENCE_ENDS or len(words) == MAX_SENTENCE_WORDS):
            sentence_stems = {word.stem for word in words}
            yield words, bool(sentence_stems & _REPORTING_VERBS) and bool(sentence_stems & _REPORTERS)
            words = []
            denied_count = 0
            is_supposed = False
        if token in _SENTENCE_ENDS:
            continue
        is_pause = token in ",:"
        ends_clause = is_pause or token in _CONTRASTS
        words.append(Word(PAUSE if is_pause else stem(token), denied_count > 0 and not ends_clause, is_supposed))
        denied_count = 0 if ends_clause else max(0, denied_count - 1)
        if token in NEGATORS:
            denied_count = NEGATION_REACH
        is_supposed = is_supposed or token in _SUPPOSITION_WORDS


def _split_tokens(text: str) -> list[str]:
    """Return the words, numbers and punctuation marks of a text in lower case, with "n't" and "cannot" as two words."""
    return _TOKEN.findall(text.lower().replace("’", "'").replace("n't", " not").replace("cannot", "can not"))


_TASK_TEXT = """true false yes mention describe review reviewer author state report say tell name number guest customer someone
something anything restaurant place visit actual"""
TASK_WORDS = frozenset(map(stem, parse_words(_TASK_TEXT)))
"""Stems of words that describe the task of extraction in a seed. They speak for no value."""
QUOTED = re.compile(r"(?<!\w)['\"‘“]([^'\"‘’“”]{1,80}(?:['’]\w[^'\"‘’“”]{0,80}){0,3})['\"’”](?!\w)")

_MAX_CUE_DISTANCE = 40
"""The number of characters before and after a number that are searched for words of its field."""
_Unit = tuple[str, float]
"""The dimension of a unit, and its size in the base unit of the dimension."""
_UNITS: dict[str, _Unit] = {
    "min": ("time", 1.0), "minut": ("time", 1.0), "hr": ("time", 60.0), "hour": ("time", 60.0),
    "day": ("days", 1.0), "week": ("days", 7.0), "month": ("days", 30.0), "year": ("days", 365.0),
    "$": ("money", 1.0), "dollar": ("money", 1.0), "buck": ("money", 1.0), "cent": ("money", 0.01),
}  # fmt: skip
_ONES = "one|two|three|four|five|six|seven|eight|nine"
_TEENS = "ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|nineteen"
_TENS = "twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety"
_NUMBER_WORDS = {"a": 1.0, "an": 1.0, "half": 0.5, "couple": 2.0} | {
    **{word: float(number) for number, word in enumerate(f"{_ONES}|{_TEENS}".split("|"), 1)},
    **{word: 10.0 * number for number, word in enumerate(_TENS.split("|"), 2)},
}
_QUANTITY = re.compile(
    rf"""(?<![\w.,])(?P<dollars>\$[ ]?)?
    (?:(?P<digits>[0-9]{{1,6}}(?:,[0-9]{{3}}){{0,2}}(?:\.[0-9]{{1,2}})?)(?!,?[0-9])
    |(?P<words>(?:{_TENS})[ -](?:{_ONES})|{_TENS}|{_TEENS}|{_ONES}|half|couple|an?)\b(?:[ ](?:an?|of)\b)?)
    (?P<half>[ ]and[ ]a[ ]half)?(?:[ -]?(?P<unit>min(?:ute)?|hr|hour|day|week|month|year|dollar|buck|cent)s?\b)?
    (?P<late_half>[ ]and[ ]a[ ]half)?""",
    re.IGNORECASE | re.VERBOSE,
)
_SUPERLATIVES = frozenset(stem_content_words("longest largest highest biggest"))
_NAME = r"[A-Z][\w&]*[a-z](?: [A-Z]\w*[a-z])?"
_PHRASE_WITH_NAME = re.compile(rf"(.+?)(?: {_NAME})+")
_SENTENCE_END = re.compile(r"[.!?\n]")


def find_number(field: AskedField, text: str) -> float | None:
    """Return the first allowed number that a review gives for a field, in the field's unit; None if it gives none.

    With a superlative such as "longest" in the field's name or description, returns the largest. A number counts if it
    has a unit of the field's dimension, and a word of the field near it and no negator before it. A unit in the field's
    name is such a word: "40 minutes" counts for `wait_minutes`. An integer is rounded.
    """
    words = stem_content_words(f"{field.name} {field.description}")
    unit = next((_UNITS[word] for word in words if word in _UNITS), None)
    is_unit_in_name = not _UNITS.keys().isdisjoint(stem_content_words(field.name))
    cues = {*words} - _UNITS.keys() - TASK_WORDS
    numbers: list[float] = []
    for number, before, after in _find_quantities(text, unit):
        is_near = (unit is not None and is_unit_in_name) or not cues.isdisjoint(before + after)
        if is_near and NEGATORS.isdisjoint(before[-3:]) and field.allows(number):
            numbers.append(number)
    if not numbers:
        return None
    number = numbers[0] if _SUPERLATIVES.isdisjoint(words) else max(numbers)
    return round(number) if field.type == "integer" else number


def _find_quantities(text: str, unit: _Unit | None) -> Iterator[tuple[float, tuple[str, ...], tuple[str, ...]]]:
    """Yield the numbers of a text with the stems shortly before and after each in its sentence.

    Yields numbers with a unit of the same dimension as `unit`, converted to `unit`; with None, numbers without a unit,
    but no articles.
    """
    for match in _QUANTITY.finditer(text[:MAX_CHARACTERS]):
        number = _read_number(match)
        number_unit = _UNITS.get("$" if match["dollars"] else stem((match["unit"] or "").lower()))
        if unit is not None and number_unit is not None and number_unit[0] == unit[0]:
            number *= number_unit[1] / unit[1]
        elif unit is not None or number_unit is not None or match[0].lower() in ("a", "an"):
            continue  # another dimension, or an article
        before = stem_words(_SENTENCE_END.split(text[max(0, match.start() - _MAX_CUE_DISTANCE) : match.start()])[-1])
        after = stem_words(_SENTENCE_END.split(text[match.end() : match.end() + _MAX_CUE_DISTANCE])[0])
        yield number, before, after


def _read_number(match: re.Match[str]) -> float:
    """Return the number of a match of `_QUANTITY`, written in digits or in words, plus 0.5 if it has "and a half"."""
    if match["digits"]:
        number = float(match["digits"].replace(",", ""))
    else:
        number = sum(_NUMBER_WORDS[word] for word in re.split("[ -]", match["words"].lower()))
    if match["half"] or match["late_half"]:
        number += 0.5
    return number


def find_name(field: AskedField, text: str) -> str | None:
    """Return the first name in a review after the words that precede a name in a quoted phrase of the field's description.

    With the phrase 'our server Tom', returns the name after "our server". Returns None if there is no such name or phrase.
    """
    phrases = map(_PHRASE_WITH_NAME.fullmatch, QUOTED.findall(field.description))
    leads = "|".join(re.escape(phrase[1]) for phrase in phrases if phrase)
    if not leads:
        return None
    match = re.search(rf"\b(?i:{leads})\s+({_NAME})", text[:MAX_CHARACTERS])
    return match[1] if match else None
