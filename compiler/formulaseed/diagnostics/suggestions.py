"""Finds similar names for help lines: the known name that was probably intended, and whether that is certain."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import chain

from formulaseed import limits
from formulaseed.diagnostics.model import Help, Suggestion

MIN_RATIO = 0.66
MIN_PART = 3
"""The shortest part of a name that is worth a suggestion, in letters."""
_NEGATIONS = ("un", "in", "im", "il", "ir", "dis", "non", "not", "no", "without", "anti")
_OPPOSITES = (
    {"min", "max"}, {"minimum", "maximum"}, {"least", "most"}, {"lowest", "highest"}, {"low", "high"}, {"first", "last"},
    {"more", "less"}, {"before", "after"}, {"positive", "negative"}, {"good", "bad"}, {"true", "false"}, {"yes", "no"},
)  # fmt: skip

_JOIN = re.compile(r"(?<=[^\W_])[-_ ]+(?=[^\W_])")
"""What separates two words; at an end a sign is a part of the name, as in `-1` and `A-`."""

COMPARED_LETTERS = limits.Budget("compared letters")
"""How many letters of names are compared for a file: comparing is slow, and a file can have thousands of unknown names.

Once they are spent, no similar name is found.
"""


def close_matches(name: str, known: Iterable[str]) -> list[str]:
    """Return the known names that are similar: one, or a few that are equally likely, or none.

    Case and the difference between `_`, `-` and a space do not count. Otherwise a name is similar that begins with
    the given one, that differs in at most a third of its letters, or, if there is only one, that contains the given
    one as a word or the other way round. An opposite, or a name with another number, is not similar.
    """
    if not 0 < len(name) <= limits.NAME_CHARACTERS:
        return []
    folded = _normalize(name)
    spelled: dict[str, str] = {}
    for candidate in known:
        if not COMPARED_LETTERS.take(len(name) + len(candidate)):
            return []
        other = _normalize(candidate)
        if other == folded:
            return [candidate]
        if not _is_opposite(folded, other):
            spelled.setdefault(other, candidate)
    longer = [other for other in spelled if min(len(folded), len(other)) >= MIN_PART]
    extended = [spelled[other] for other in longer if other.startswith(folded)]
    if 1 < len(extended) <= 3:
        return extended
    best = _most_similar(folded, spelled)
    if best is not None:
        return [spelled[best]]
    parts = [spelled[other] for other in longer if _is_part(*sorted((folded, other), key=len))]
    return parts if len(parts) == 1 else []


def _is_part(part: str, name: str) -> bool:
    """Return True if a name begins with a part, or has it as a word."""
    return name.startswith(part) or part in name.split("_")


def _most_similar(name: str, candidates: Iterable[str]) -> str | None:
    """Return the first of the names that have most letters in common with `name`; None if none has two thirds."""
    from difflib import SequenceMatcher

    matcher = SequenceMatcher(b=name)
    best = None
    ratio = MIN_RATIO
    for candidate in candidates:
        matcher.set_seq1(candidate)
        if matcher.real_quick_ratio() > ratio and matcher.quick_ratio() > ratio and matcher.ratio() > ratio:
            best = candidate
            ratio = matcher.ratio()
    return best


def closest(name: str, known: Iterable[str]) -> str | None:
    """Return the most similar known name; None if none is similar."""
    return next(iter(close_matches(name, known)), None)


def did_you_mean(
    name: str, known: Iterable[str], *, what: str = "", prefix: str = "", limit: int = 8, others: Iterable[str] = ()
) -> Help:
    """Return a help line: the similar names, else the list of known ones.

    `others` are names of another kind: if the given one resembles one of them, the suggestion is not certain.
    """
    names = list(dict.fromkeys(known))
    close = close_matches(name, names)
    if close:
        is_certain = len(close) == 1 and is_typo(name, close[0], chain(names, others))
        return suggest_any([f"{prefix}{match}" for match in close], certain=is_certain)
    if not names:
        return f"there are no {what}" if what else "there is nothing to choose from"
    listed = ", ".join(f"`{prefix}{known_name}`" for known_name in names[:limit])
    more = f" and {len(names) - limit} more" if len(names) > limit else ""
    return f"{what or 'known'}: {listed}{more}"


def suggest(name: str, *, certain: bool = True, more: str = "") -> Help:
    """Return the help line that suggests a name; if that is certain, as a change that is safe to apply."""
    line = f"did you mean `{name}`?{more}"
    return Suggestion(line, name) if certain else line


def suggest_any(names: Sequence[str], *, certain: bool = False, more: str = "") -> Help:
    """Return the help line that suggests several names, or the only one as `suggest` does."""
    if len(names) == 1:
        return suggest(names[0], certain=certain, more=more)
    *first, last = [f"`{name}`" for name in names]
    return f"did you mean {', '.join(first)} or {last}?{more}"


def is_typo(name: str, suggested: str, known: Iterable[str]) -> bool:
    """Return True if a name is certainly the suggested one with a typo.

    A typo is other case or other separators; one letter too many, missing or changed inside a word; or two neighbours
    swapped. It is not certain if any other known name differs from the given one by a single character.
    """
    folded = _normalize(name)
    if not _is_name_typo(folded, _normalize(suggested)):
        return False
    matches: list[str] = []
    for other in known:
        if not COMPARED_LETTERS.take(len(name) + len(other)):
            return False
        spelled = _normalize(other)
        is_edit = _edit(folded, spelled) or _edit(name.casefold(), other.casefold())
        if other == suggested or is_edit or _is_name_typo(folded, spelled):
            matches.append(other)
    return matches == [suggested]


def _is_name_typo(name: str, other: str) -> bool:
    """Return True if two names differ in their separators only, or by a typo in one word."""
    if re.findall(r"[0-9]+", name) != re.findall(r"[0-9]+", other):  # `1_2` is not `12`
        return False
    if name.replace("_", "") == other.replace("_", ""):
        return True
    words = [name.split("_"), other.split("_")]
    differing = [pair for pair in zip(*words, strict=False) if pair[0] != pair[1]]
    return len(words[0]) == len(words[1]) and len(differing) == 1 and _is_word_typo(*differing[0])


def _is_word_typo(word: str, other: str) -> bool:
    """Return True if two words differ by a typo: a different first letter, a digit or a short word make another word."""
    edit = _edit(word, other)
    if edit is None or not (word + other).isalpha() or word[:1] != other[:1]:
        return False
    kind, at = edit
    longer = max(word, other, key=len)
    if kind == "insertion":
        return len(longer) > 4 or (len(longer) > MIN_PART and longer[at - 1] == longer[at])
    return kind == "transposition" or (len(word) >= 6 and at < len(word) - 1)


def _edit(name: str, other: str) -> tuple[str, int] | None:
    """Return the one edit that makes two names equal, and where it is; None if there is no such edit."""
    longer, shorter = (name, other) if len(name) > len(other) else (other, name)
    at = next((n for n, (a, b) in enumerate(zip(name, other, strict=False)) if a != b), len(shorter))
    if len(longer) > len(shorter):
        return ("insertion", at) if longer[at + 1 :] == shorter[at:] else None
    if name[at + 1 :] == other[at + 1 :]:
        return "substitution", at
    is_swapped = name[at : at + 2] == other[at : at + 2][::-1] and name[at + 2 :] == other[at + 2 :]
    return ("transposition", at) if is_swapped else None


def _is_opposite(name: str, other: str) -> bool:
    """Return True if a name that resembles another means something else: its opposite, or another number."""
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
    return _JOIN.sub("_", name.casefold().strip("{}_"))
