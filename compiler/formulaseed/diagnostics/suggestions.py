"""Close names, for help lines. Suggests only what is close enough to be meant."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import chain

from formulaseed import limits
from formulaseed.diagnostics.model import Help, Suggestion

_LEAST_RATIO = 0.66
_LEAST_PART = 3
"""So many letters make a part of a name that is worth a suggestion."""
_NEGATIONS = ("un", "in", "im", "il", "ir", "dis", "non", "not", "no", "without", "anti")
_OPPOSITES = (
    {"min", "max"}, {"minimum", "maximum"}, {"least", "most"}, {"lowest", "highest"}, {"low", "high"}, {"first", "last"},
    {"more", "less"}, {"before", "after"}, {"positive", "negative"}, {"good", "bad"}, {"true", "false"}, {"yes", "no"},
)  # fmt: skip

_JOIN = re.compile(r"(?<=[^\W_])[-_ ]+(?=[^\W_])")
"""What separates two words; at an end a sign is a part of the name, as in `-1` and `A-`."""

_left: ContextVar[list[int] | None] = ContextVar("_left", default=None)
"""How many letters may still be compared; None where there is no limit."""


@contextmanager
def comparison_budget(letters: int) -> Iterator[None]:
    """Inside, so many letters of names are compared in all, and no near name is found after that.

    Comparing takes long, and thousands of unknown names can stand beside thousands of known ones.
    """
    token = _left.set([letters])
    try:
        yield
    finally:
        _left.reset(token)


def is_exhausted() -> bool:
    """Whether no near name is looked for any more."""
    left = _left.get()
    return left is not None and left[0] < 0


def close_matches(name: str, known: Iterable[str]) -> list[str]:
    """The known names that may have been meant: one, or a few that are as near, or none.

    Case and the difference between `_`, `-` and a space count for nothing. Otherwise a name is near that
    begins with the given one, that differs in a third of its letters at most, or, if it is the only one, that the
    given one is a part of or the other way round.
    """
    if not name or len(name) > limits.NAME_CHARACTERS:
        return []
    from difflib import SequenceMatcher

    folded, left = _fold(name), _left.get()
    begun: list[str] = []
    parts: list[str] = []
    best, best_ratio = "", 0.0
    for candidate in known:
        if left is not None:
            left[0] -= len(name) + len(candidate)
            if left[0] < 0:
                return []
        other = _fold(candidate)
        if other == folded:
            return [candidate]
        if _says_other(folded, other):
            continue
        if min(len(folded), len(other)) >= _LEAST_PART:
            if other.startswith(folded):
                begun.append(candidate)
            if folded in other.split("_") or other in folded.split("_") or folded.startswith(other):
                parts.append(candidate)
        matcher = SequenceMatcher(None, folded, other)
        if matcher.real_quick_ratio() > best_ratio and matcher.quick_ratio() > best_ratio:
            ratio = matcher.ratio()
            if ratio > best_ratio:
                best, best_ratio = candidate, ratio
    if 1 < len(begun) <= 3:
        return begun
    if best_ratio >= _LEAST_RATIO:
        return [best]
    others = list(dict.fromkeys(begun + parts))
    return others if len(others) == 1 else []


def closest(name: str, known: Iterable[str]) -> str | None:
    """The known name that was most probably meant, or None."""
    return next(iter(close_matches(name, known)), None)


def did_you_mean(
    name: str, known: Iterable[str], *, what: str = "", prefix: str = "", limit: int = 8, others: Iterable[str] = ()
) -> Help:
    """Return a help line: the near names, else the list of what there is.

    `others` are names of another kind: where the given one is or resembles one of them, more than one reading is possible.
    """
    names = list(dict.fromkeys(known))
    close = close_matches(name, names)
    if len(close) == 1:
        return suggest(f"{prefix}{close[0]}", certain=is_typo(name, close[0], chain(names, others)))
    if close:
        return suggest_any([f"{prefix}{n}" for n in close])
    if not names:
        return f"there are no {what}" if what else "there is nothing to choose from"
    shown = ", ".join(f"`{prefix}{n}`" for n in names[:limit])
    more = f" and {len(names) - limit} more" if len(names) > limit else ""
    return f"{what or 'known'}: {shown}{more}"


def suggest(name: str, *, certain: bool = True, more: str = "") -> Help:
    """The help line that asks whether a name was meant, with the change that it asks for where that is certain."""
    line = f"did you mean `{name}`?{more}"
    return Suggestion(line, name) if certain else line


def suggest_any(names: Sequence[str], *, certain: bool = False, more: str = "") -> Help:
    """Return the help line that asks which of several names was meant; with the change where there is only one."""
    if len(names) == 1:
        return suggest(names[0], certain=certain, more=more)
    *first, last = [f"`{name}`" for name in names]
    return f"did you mean {', '.join(first)} or {last}?{more}"


def is_typo(name: str, meant: str, known: Iterable[str]) -> bool:
    """Whether one of the known names was surely meant: the other is that name with a slip of the hand, and no other name is.

    Other case or separators; one letter too many, missing, or changed inside a word; two neighbours that changed places.
    No other is as near: any single character that differs makes it one that may be meant.
    """
    folded, left = _words(name), _left.get()
    if not _slipped(folded, _words(meant)):
        return False
    slips: list[str] = []
    for other in known:
        if left is not None:
            left[0] -= len(name) + len(other)
            if left[0] < 0:
                return False
        spelled = _words(other)
        is_edit = _is_one_edit(folded, spelled) or _is_one_edit(name.casefold(), other.casefold())
        if other == meant or is_edit or _slipped(folded, spelled):
            slips.append(other)
    return slips == [meant]


def _slipped(name: str, meant: str) -> bool:
    if re.findall(r"[0-9]+", name) != re.findall(r"[0-9]+", meant):  # `1_2` is not `12`
        return False
    if name.replace("_", "") == meant.replace("_", ""):
        return True
    parts, others = name.split("_"), meant.split("_")
    differing = [pair for pair in zip(parts, others, strict=False) if pair[0] != pair[1]]
    return len(parts) == len(others) and len(differing) == 1 and _slipped_word(*differing[0])


def _slipped_word(word: str, meant: str) -> bool:
    """A first letter that is another one, a digit, and a short word make another word."""
    if not word or word[0] != meant[:1] or not (word + meant).isalpha() or abs(len(word) - len(meant)) > 1:
        return False
    start = next((n for n, (a, b) in enumerate(zip(word, meant, strict=False)) if a != b), min(len(word), len(meant)))
    if len(word) == len(meant):
        swapped = word[start] + word[start + 1 : start + 2] == meant[start : start + 2][::-1]
        if swapped and word[start + 2 :] == meant[start + 2 :]:
            return True
        return len(word) >= 6 and word[start + 1 :] == meant[start + 1 :] != ""
    longer, shorter = max(word, meant, key=len), min(word, meant, key=len)
    doubled = longer[start - 1] == longer[start] and len(shorter) >= _LEAST_PART
    return longer[start + 1 :] == shorter[start:] and (doubled or len(longer) >= 5)


def _is_one_edit(name: str, other: str) -> bool:
    """Whether at most one character is too many, missing or another, or two neighbours changed places."""
    if abs(len(name) - len(other)) > 1:
        return False
    start = next((n for n, (a, b) in enumerate(zip(name, other, strict=False)) if a != b), min(len(name), len(other)))
    if len(name) != len(other):
        longer, shorter = max(name, other, key=len), min(name, other, key=len)
        return longer[start + 1 :] == shorter[start:]
    is_swapped = name[start : start + 2] == other[start : start + 2][::-1]
    return name[start + 1 :] == other[start + 1 :] or (is_swapped and name[start + 2 :] == other[start + 2 :])


def _says_other(name: str, other: str) -> bool:
    """Whether a name that looks like another says something else: its opposite, or another number."""
    numbers = [[digits.lstrip("0") for digits in re.findall(r"\d+", each)] for each in (name, other)]
    if all(numbers) and numbers[0] != numbers[1]:
        return True
    words, others = set(name.split("_")), set(other.split("_"))
    left, right = words - others, others - words
    if any(pair & left and pair & right for pair in _OPPOSITES):
        return True
    if not left | right or len(left) > 1 or len(right) > 1:
        return bool(left ^ right) and not right and left <= set(_NEGATIONS)
    one, two = next(iter(left), ""), next(iter(right), "")
    return any(one == f"{prefix}{two}" or two == f"{prefix}{one}" for prefix in _NEGATIONS)


def _fold(name: str) -> str:
    return name.casefold().replace("-", "_").replace(" ", "_").strip("{}")  # a placeholder is named in its braces


def _words(name: str) -> str:
    """The name in small letters, its words joined by `_`."""
    return _JOIN.sub("_", name.casefold().strip("{}_"))
