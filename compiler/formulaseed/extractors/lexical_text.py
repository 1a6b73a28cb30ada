"""Reads the words of a text: sentences of stems, which of them are denied or supposed, numbers with their units, names.

In: a review, or a phrase of a seed. Out: what `lexical` scores. It reads the first 20,000 characters, in linear time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from formulaseed.extractors.base import AskedField

MAX_CHARACTERS = 20_000
"""The rest of a longer review is not read."""
MAX_SENTENCE = 60
"""Words of a sentence; a longer one is read in parts."""
DENIED_WORDS = 6
"""Words that a negator denies, at most to its clause's end."""
PAUSE = ","
"""The stem of commas and colons, which no cue reaches across."""


def word_set(text: str) -> frozenset[str]:
    """Return the words of a text."""
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
    """A word of a sentence; `is_supposed` says that the sentence only supposes what it says."""

    stem: str
    is_denied: bool
    is_supposed: bool


Sentence = tuple[list[Word], bool]
"""The words of a sentence, and whether it reports what somebody else says: "my friend told me"."""


def stem(word: str) -> str:
    """Return a word in lower case without its ending."""
    word = word.removesuffix("'s")
    word = _SAME.get(word, word)
    if word in FUNCTION_WORDS or word.endswith("ss"):
        return word
    word = word.removesuffix(next((end for end in _ENDINGS if word.endswith(end) and len(word) - len(end) >= 3), ""))
    is_doubled = len(word) > 3 and word[-1] == word[-2] and word[-1] not in "sl"
    return word[:-1] if is_doubled or (len(word) > 3 and word[-1] == "e") else word


def stems(text: str) -> tuple[str, ...]:
    """Return the stems of a phrase, without its marks."""
    return tuple(stem(token) for token in _tokens(text) if token[0].isalnum() or token == "$")


def content(text: str) -> tuple[str, ...]:
    """Return the stems of a phrase that are words, but no function words."""
    return tuple(word for word in stems(text.replace("_", " ")) if word not in FUNCTION_WORDS and word.isalpha())


def sentences(text: str) -> Iterator[Sentence]:
    """Yield the sentences of a review, as far as it is read."""
    words: list[Word] = []
    denied, is_supposed = 0, False
    for token in _tokens(text[:MAX_CHARACTERS] + "\n"):
        if words and (token in _ENDS or len(words) == MAX_SENTENCE):
            said = {word.stem for word in words}
            yield words, bool(said & _TELLING) and bool(said & _TELLERS)
            words, denied, is_supposed = [], 0, False
        if token in _ENDS:
            continue
        is_break = token in ",:" or token in _CONTRASTS
        words.append(Word(PAUSE if token in ",:" else stem(token), denied > 0 and not is_break, is_supposed))
        denied = 0 if is_break else max(0, denied - 1)
        if token in NEGATORS:
            denied = DENIED_WORDS
        is_supposed = is_supposed or token in _SUPPOSING


def _tokens(text: str) -> list[str]:
    return _TOKEN.findall(text.lower().replace("’", "'").replace("n't", " not").replace("cannot", "can not"))


_TASK = """true false yes mention describe review reviewer author state report say tell name number guest customer someone
something anything restaurant place visit actual"""
TASK_WORDS = frozenset(map(stem, word_set(_TASK)))
"""Words of the seed's author about the task, which speak for no value."""
QUOTED = re.compile(r"(?<!\w)['\"‘“]([^'\"‘’“”]{1,80}(?:['’]\w[^'\"‘’“”]{0,80}){0,3})['\"’”](?!\w)")

_MAX_DISTANCE = 40
"""The most characters between a number and a word of its field."""
_UNITS = {
    "min": ("time", 1.0), "minut": ("time", 1.0), "hr": ("time", 60.0), "hour": ("time", 60.0),
    "day": ("days", 1.0), "week": ("days", 7.0), "month": ("days", 30.0), "year": ("days", 365.0),
    "$": ("money", 1.0), "dollar": ("money", 1.0), "buck": ("money", 1.0), "cent": ("money", 0.01),
}  # fmt: skip
_ONES = "one|two|three|four|five|six|seven|eight|nine"
_TEENS = "ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|nineteen"
_TENS = "twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety"
_WORDS = {"a": 1.0, "an": 1.0, "half": 0.5, "couple": 2.0} | {
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
_MOST = frozenset(content("longest largest highest biggest"))
_NAME = r"[A-Z][\w&]*[a-z](?: [A-Z]\w*[a-z])?"
_LED = re.compile(rf"(.+?)(?: {_NAME})+")
_END = re.compile(r"[.!?\n]")


def find_number(field: AskedField, text: str) -> float | None:
    """Return the first number that a review gives for a field, or the longest and the like if the field asks for it.

    None if it gives none. A unit in the field's name is one of its words: "40 minutes" speaks for `wait_minutes`.
    """
    words = content(f"{field.name} {field.description}")
    unit = next((_UNITS[word] for word in words if word in _UNITS), None)
    is_named = not _UNITS.keys().isdisjoint(content(field.name))
    cues = {*words} - _UNITS.keys() - TASK_WORDS
    numbers: list[float] = []
    for match in _QUANTITY.finditer(text[:MAX_CHARACTERS]):
        written = _UNITS.get("$" if match["dollars"] else stem((match["unit"] or "").lower()))
        if (written and written[0]) != (unit and unit[0]) or (not written and match[0].lower() in ("a", "an")):
            continue
        before = stems(_END.split(text[max(0, match.start() - _MAX_DISTANCE) : match.start()])[-1])
        after = stems(_END.split(text[match.end() : match.end() + _MAX_DISTANCE])[0])
        is_near = (written and is_named) or not cues.isdisjoint(before + after)
        number = _read_number(match)
        if written and unit:
            number *= written[1] / unit[1]
        if is_near and NEGATORS.isdisjoint(before[-3:]) and field.allows(number):
            numbers.append(number)
    if not numbers:
        return None
    number = numbers[0] if _MOST.isdisjoint(words) else max(numbers)
    return round(number) if field.type == "integer" else number


def _read_number(match: re.Match[str]) -> float:
    """Return the number that a quantity begins with, in digits or in words, with a half if it has one."""
    digits, words = match["digits"], (match["words"] or "").lower()
    number = float(digits.replace(",", "")) if digits else sum(_WORDS[word] for word in re.split("[ -]", words))
    return number + 0.5 if match["half"] or match["late_half"] else number


def find_name(field: AskedField, text: str) -> str | None:
    """Return the name that a review has where a quoted phrase of the field has one, as in `our server Tom`; None without."""
    phrases = map(_LED.fullmatch, QUOTED.findall(field.description))
    leads = "|".join(re.escape(phrase[1]) for phrase in phrases if phrase)
    match = re.search(rf"\b(?i:{leads})\s+({_NAME})", text[:MAX_CHARACTERS]) if leads else None
    return match[1] if match else None
