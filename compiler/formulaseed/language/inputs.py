"""Check keys for typos, and read ISO dates.

The code is copied unchanged into generated modules, in which each name is private; standard library only.
"""

import datetime
import re
from collections.abc import Iterable


def _fold_name(name: str) -> str:
    """Return the name in lower case, without `_`, `-` and spaces."""
    return name.casefold().replace("_", "").replace("-", "").replace(" ", "")


def _is_similar(name: str, key: str) -> bool:
    """Return True if the two differ in case, `_`, `-` and spaces only, or besides in one letter of four or more.

    The letter is missing, added, replaced, or swapped with its neighbour. Names with different digits are not similar.
    """
    if len(key) > 2 * len(name) + 1:
        return False
    a, b = _fold_name(name), _fold_name(key)
    if len(a) < 4 or abs(len(a) - len(b)) > 1 or (a[0] != b[0] and a[-1] != b[-1]):
        return a == b
    if "".join(c for c in a if c.isdecimal()) != "".join(c for c in b if c.isdecimal()):
        return False
    return any(
        a[:i] == b[:i]
        and (b[i + 1 :] in (a[i:], a[i + 1 :]) or b[i:] in (a[i + 1 :], a[i + 1 : i + 2] + a[i : i + 1] + a[i + 2 :]))
        for i in range(len(a) + 1)
    )


def _find_typo(name: str, keys: Iterable[str], known: Iterable[str] = ()) -> str | None:
    """Return the first key that reads like `name`; None if there is none. The names in `known` are never typos."""
    for key in keys:
        if key not in known and _is_similar(name, key):
            return key
    return None


_ISO_DATE = r"[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,9})?)?(Z|[+-][0-9]{2}:[0-9]{2})?)?"


def _parse_iso_date(text: str) -> tuple[int, int] | None:
    """Return the year and month of an ISO date or date-time that begins with YYYY-MM-DD; None for any other string."""
    is_day = len(text) == 10 and text[4] == text[7] == "-" and text.isascii()  # the usual form; the pattern is slower
    if not is_day and not re.fullmatch(_ISO_DATE, text):
        return None
    try:
        date = datetime.datetime.fromisoformat(text)
    except ValueError:
        return None
    return (date.year, date.month)
