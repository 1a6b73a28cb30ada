"""Close names, for help lines. Suggests only what is close enough to be meant."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from formulaseed.diagnostics.model import Help

_LEAST_RATIO = 0.66
_LEAST_PART = 3
"""So many letters make a part of a name that is worth a suggestion."""

_left: ContextVar[list[int] | None] = ContextVar("_left", default=None)
"""How many letters may still be compared; None where there is no limit."""


@contextmanager
def at_most(letters: int) -> Iterator[None]:
    """Inside, so many letters of names are compared in all, and no near name is found after that.

    Comparing takes long, and thousands of unknown names can stand beside thousands of known ones.
    """
    token = _left.set([letters])
    try:
        yield
    finally:
        _left.reset(token)


def near(name: str, known: Iterable[str]) -> list[str]:
    """The known names that may have been meant: one, or a few that are as near, or none.

    Case and the difference between `_`, `-` and a space count for nothing. Otherwise a name is near that
    begins with the given one, that differs in a third of its letters at most, or, if it is the only one, that the
    given one is a part of or the other way round.
    """
    if not name or len(name) > 200:
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


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that was most probably meant, or None."""
    return next(iter(near(name, known)), None)


def did_you_mean(name: str, known: Iterable[str], *, what: str = "", prefix: str = "", limit: int = 8) -> str:
    """A help line: the near names, else the list of what there is."""
    names = list(dict.fromkeys(known))
    close = near(name, names)
    if len(close) == 1:
        return meant(f"{prefix}{close[0]}", certain=_ratio(name, close[0]) >= _LEAST_RATIO)
    if close:
        *first, last = [f"`{prefix}{n}`" for n in close]
        return f"did you mean {', '.join(first)}{' or ' if first else ''}{last}?"
    if not names:
        return f"there are no {what}" if what else "there is nothing to choose from"
    shown = ", ".join(f"`{prefix}{n}`" for n in names[:limit])
    more = f" and {len(names) - limit} more" if len(names) > limit else ""
    return f"{what or 'known'}: {shown}{more}"


def meant(name: str, *, certain: bool = True, more: str = "") -> str:
    """The help line that asks whether a name was meant, with the change that it asks for where that is certain."""
    line = f"did you mean `{name}`?{more}"
    return Help(line, name) if certain else line


def _ratio(name: str, other: str) -> float:
    from difflib import SequenceMatcher

    return SequenceMatcher(None, _fold(name), _fold(other)).ratio()


def _fold(name: str) -> str:
    return name.casefold().replace("-", "_").replace(" ", "_")
