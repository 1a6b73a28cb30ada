"""Close names, for help lines. Suggests only what is close enough to be meant."""

from __future__ import annotations

from collections.abc import Iterable


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that is closest to `name`, or None where none is close.

    Case and the difference between `_`, `-` and a space count for nothing; otherwise at most a third of
    the letters may differ, or it is the only one that the name begins or ends.
    """
    if len(name) > 200:
        return None
    from difflib import SequenceMatcher

    folded = _fold(name)
    best, best_ratio = None, 0.0
    part_of: list[str] = []
    for candidate in known:
        if _fold(candidate) == folded:
            return candidate
        if len(folded) >= 3 and (_fold(candidate).startswith(folded) or _fold(candidate).endswith(folded)):
            part_of.append(candidate)
        matcher = SequenceMatcher(None, folded, _fold(candidate))
        if matcher.real_quick_ratio() > best_ratio and matcher.quick_ratio() > best_ratio:
            ratio = matcher.ratio()
            if ratio > best_ratio:
                best, best_ratio = candidate, ratio
    if best_ratio >= 0.66:
        return best
    return part_of[0] if len(part_of) == 1 else None


def did_you_mean(name: str, known: Iterable[str], *, what: str = "", prefix: str = "", limit: int = 8) -> str:
    """A help line: the nearest known name, else the list of what there is."""
    names = list(dict.fromkeys(known))
    close = nearest(name, names)
    if close is not None:
        return f"did you mean `{prefix}{close}`?"
    if not names:
        return f"there are no {what}" if what else "there is nothing to choose from"
    shown = ", ".join(f"`{prefix}{n}`" for n in names[:limit])
    more = f" and {len(names) - limit} more" if len(names) > limit else ""
    return f"{what or 'known'}: {shown}{more}"


def _fold(name: str) -> str:
    return name.casefold().replace("-", "_").replace(" ", "_")
