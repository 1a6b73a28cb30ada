"""Find similar names for help lines: the known name that was probably intended, and whether that is certain."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import chain

from formulaseed import limits
from formulaseed.diagnostics.model import Help, Suggestion

MIN_SIMILARITY = 0.66
"""The share of letters in common, from 0 to 1, above which two names are similar."""
MIN_PART_LETTERS = 3
"""The shortest part of a name that is worth a suggestion."""
MAX_PREFIX_MATCHES = 3
"""If more names begin with the unknown name, the unknown name says too little."""
MIN_EXTENDED_WORD = 5
MIN_CHANGED_WORD = 6
"""The shortest words, in letters, in which a letter too many, or a changed one, is a typo: shorter ones are other words."""
_NEGATIONS = ("un", "in", "im", "il", "ir", "dis", "non", "not", "no", "without", "anti")
_OPPOSITES = (
    {"min", "max"}, {"minimum", "maximum"}, {"least", "most"}, {"lowest", "highest"}, {"low", "high"}, {"first", "last"},
    {"more", "less"}, {"before", "after"}, {"positive", "negative"}, {"good", "bad"}, {"true", "false"}, {"yes", "no"},
)  # fmt: skip

_WORD_SEPARATOR = re.compile(r"(?<=[^\W_])[-_ ]+(?=[^\W_])")
"""The signs between two words; at an end a sign is a part of the name, as in `-1` and `A-`."""

COMPARED_LETTERS = limits.Budget("compared letters")
"""The letters of names that may be compared for a file: comparing is slow, and a file can have thousands of unknown names.

Once they are spent, no similar name is found.
"""


def find_close_matches(name: str, known: Iterable[str]) -> list[str]:
    """Return the known names that are similar to `name`: one, or a few that are equally likely, or none.

    A name that differs only in case, or in `_`, `-` and spaces, wins. Otherwise the result is the two or three known
    names that begin with `name`; else the one with the most letters in common, at least two thirds; else the only one
    that contains `name` as a word, or is a word of it. An opposite, or a name with another number, is not similar.
    Returns no name if `name` is empty or too long, or the letters of `COMPARED_LETTERS`, which each comparison spends,
    run out.
    """
    if not 0 < len(name) <= limits.NAME_CHARACTERS:
        return []
    folded = _normalize(name)
    candidates: dict[str, str] = {}
    for candidate in known:
        if not COMPARED_LETTERS.take(len(name) + len(candidate)):
            return []
        other = _normalize(candidate)
        if other == folded:
            return [candidate]
        if not _is_opposite(folded, other):
            candidates.setdefault(other, candidate)
    longer = [other for other in candidates if min(len(folded), len(other)) >= MIN_PART_LETTERS]
    prefix_matches = [candidates[other] for other in longer if other.startswith(folded)]
    if 1 < len(prefix_matches) <= MAX_PREFIX_MATCHES:
        return prefix_matches
    best = _find_most_similar(folded, candidates)
    if best is not None:
        return [candidates[best]]
    part_matches = [candidates[other] for other in longer if _is_part(*sorted((folded, other), key=len))]
    return part_matches if len(part_matches) == 1 else []


def _is_part(part: str, name: str) -> bool:
    """Return True if `name` begins with `part`, or has it as a word."""
    return name.startswith(part) or part in name.split("_")


def _find_most_similar(name: str, candidates: Iterable[str]) -> str | None:
    """Return the first of the candidates with most letters in common with `name`; None if none has two thirds."""
    from difflib import SequenceMatcher

    matcher = SequenceMatcher(b=name)
    best = None
    ratio = MIN_SIMILARITY
    for candidate in candidates:
        matcher.set_seq1(candidate)
        # The first two are upper bounds of the ratio, and faster.
        if matcher.real_quick_ratio() > ratio and matcher.quick_ratio() > ratio and matcher.ratio() > ratio:
            best = candidate
            ratio = matcher.ratio()
    return best


def find_closest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that is most similar to `name`; None if none is similar."""
    return next(iter(find_close_matches(name, known)), None)


def did_you_mean(
    name: str, known: Iterable[str], *, noun: str = "", prefix: str = "", limit: int = 8, rivals: Iterable[str] = ()
) -> Help:
    """Return a help line: the known names that are similar to `name`, else at most `limit` of the known ones.

    A single similar name is a change that is safe to apply if `name` is certainly a typo of it. `rivals` are names of
    another kind: if `name` resembles one of them, it is not certain. `noun` is the plural of what is named, such as
    `fields`. `prefix` is written before each known name. If nothing is known, the line says so.
    """
    names = list(dict.fromkeys(known))
    close = find_close_matches(name, names)
    if close:
        is_certain = len(close) == 1 and is_typo(name, close[0], chain(names, rivals))
        return suggest_any([f"{prefix}{match}" for match in close], certain=is_certain)
    if not names:
        return f"there are no {noun}" if noun else "there is nothing to choose from"
    listed = ", ".join(f"`{prefix}{known_name}`" for known_name in names[:limit])
    more = f" and {len(names) - limit} more" if len(names) > limit else ""
    return f"{noun or 'known'}: {listed}{more}"


def suggest(name: str, *, certain: bool = True, more: str = "") -> Help:
    """Return the help line that suggests a name, followed by `more`.

    If `certain`, the help is a `Suggestion`: a change that is safe to apply. Otherwise it is a string.
    """
    line = f"did you mean `{name}`?{more}"
    return Suggestion(line, name) if certain else line


def suggest_any(names: Sequence[str], *, certain: bool = False, more: str = "") -> Help:
    """Return the help line that suggests several names, never as a change to apply; a single name as `suggest` does.

    `certain` matters for a single name only; `more` follows the line. Raises `ValueError` if `names` is empty.
    """
    if len(names) == 1:
        return suggest(names[0], certain=certain, more=more)
    *first, last = [f"`{name}`" for name in names]
    return f"did you mean {', '.join(first)} or {last}?{more}"


def is_typo(name: str, suggested: str, known: Iterable[str]) -> bool:
    """Return True if `name` is certainly `suggested` with a typo.

    A typo is other case or other separators; one letter too many, missing or changed inside a word; or two neighbours
    swapped. It is not certain if a name in `known` other than `suggested` is one edit from `name`, if `known` lacks
    `suggested` or repeats it, or if the letters of `COMPARED_LETTERS` are spent.
    """
    folded = _normalize(name)
    if not _is_name_typo(folded, _normalize(suggested)):
        return False
    matches: list[str] = []
    for other in known:
        if not COMPARED_LETTERS.take(len(name) + len(other)):
            return False
        normalized = _normalize(other)
        is_edit = _find_edit(folded, normalized) or _find_edit(name.casefold(), other.casefold())
        if other == suggested or is_edit or _is_name_typo(folded, normalized):
            matches.append(other)
    return matches == [suggested]


def _is_name_typo(name: str, other: str) -> bool:
    """Return True if two names differ in their separators only, or by a typo in one word. Numbers must be equal."""
    if re.findall(r"[0-9]+", name) != re.findall(r"[0-9]+", other):  # `1_2` is not `12`
        return False
    if name.replace("_", "") == other.replace("_", ""):
        return True
    words = [name.split("_"), other.split("_")]
    differing = [pair for pair in zip(*words, strict=False) if pair[0] != pair[1]]
    return len(words[0]) == len(words[1]) and len(differing) == 1 and _is_word_typo(*differing[0])


def _is_word_typo(word: str, other: str) -> bool:
    """Return True if two different words differ by a typo.

    A different first letter, a digit, or a change in a short word makes another word, and so does a changed last
    letter.
    """
    edit = _find_edit(word, other)
    if edit is None or not (word + other).isalpha() or word[:1] != other[:1]:
        return False
    kind, at = edit
    longer = max(word, other, key=len)
    if kind == "insertion":
        is_doubled = longer[at - 1] == longer[at]
        return len(longer) >= MIN_EXTENDED_WORD or (len(longer) > MIN_PART_LETTERS and is_doubled)
    # A changed last letter makes another word, such as a plural.
    return kind == "transposition" or (len(word) >= MIN_CHANGED_WORD and at < len(word) - 1)


def _find_edit(name: str, other: str) -> tuple[str, int] | None:
    """Return the kind and the position of the one edit that makes two names equal; None if there is no such edit.

    The kind is `insertion`, `substitution` or `transposition`, the position the first that differs. Equal names give a
    `substitution` at their end.
    """
    shorter, longer = sorted((name, other), key=len)
    at = next((n for n, (a, b) in enumerate(zip(name, other, strict=False)) if a != b), len(shorter))
    if len(longer) > len(shorter):
        return ("insertion", at) if longer[at + 1 :] == shorter[at:] else None
    if name[at + 1 :] == other[at + 1 :]:
        return "substitution", at
    if name[at : at + 2] == other[at : at + 2][::-1] and name[at + 2 :] == other[at + 2 :]:
        return "transposition", at
    return None


def _is_opposite(name: str, other: str) -> bool:
    """Return True if a name that resembles another means something else: the opposite, or another number.

    Opposites are pairs such as `min` and `max`, or one word with a prefix such as `un`. Leading zeros do not count.
    """
    numbers = [[digits.lstrip("0") for digits in re.findall(r"\d+", text)] for text in (name, other)]
    if all(numbers) and numbers[0] != numbers[1]:
        return True
    words = set(name.split("_"))
    other_words = set(other.split("_"))
    left = words - other_words
    right = other_words - words
    if any(pair & left and pair & right for pair in _OPPOSITES):
        return True
    if len(left) > 1 or len(right) > 1:
        return False
    one = "".join(left)
    two = "".join(right)
    return any(one == f"{prefix}{two}" or two == f"{prefix}{one}" for prefix in _NEGATIONS)


def _normalize(name: str) -> str:
    """Return the name in lower case, its words joined by `_`, without the braces of a placeholder."""
    return _WORD_SEPARATOR.sub("_", name.casefold().strip("{}_"))
