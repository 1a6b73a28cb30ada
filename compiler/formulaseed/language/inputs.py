"""What inputs are checked with: keys that read like the name of a field, ISO dates. Copied, as it is, into generated modules.

Typed and tested like everything else; standard library only. Each name is private to the module it lands in.
"""

import datetime
import re
from collections.abc import Iterable


def _folded(name: str) -> str:
    return name.casefold().replace("_", "").replace("-", "").replace(" ", "")


def _similar(name: str, key: str) -> bool:
    """Whether a key is a name but for case, `_`, `-` and spaces, or but for one letter of four or more.

    The letter is left out, added, another one, or swapped with its neighbour. Other digits make another name.
    """
    if len(key) > 2 * len(name) + 1:
        return False
    a, b = _folded(name), _folded(key)
    if len(a) < 4 or abs(len(a) - len(b)) > 1 or (a[0] != b[0] and a[-1] != b[-1]):
        return a == b
    if "".join(c for c in a if c.isdecimal()) != "".join(c for c in b if c.isdecimal()):
        return False
    return any(
        a[:i] == b[:i]
        and (b[i + 1 :] in (a[i:], a[i + 1 :]) or b[i:] in (a[i + 1 :], a[i + 1 : i + 2] + a[i : i + 1] + a[i + 2 :]))
        for i in range(len(a) + 1)
    )


def _typo_of(name: str, keys: Iterable[str], known: Iterable[str] = ()) -> str | None:
    """The key that reads like a name which is not among them; the known names are no typos of one another."""
    for key in keys:
        if key not in known and _similar(name, key):
            return key
    return None


_ISO_DATE = r"[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,9})?)?(Z|[+-][0-9]{2}:[0-9]{2})?)?"


def _iso_date(text: str) -> tuple[int, int] | None:
    """Return year and month of an ISO date or date-time, YYYY-MM-DD only; None for any other string."""
    is_day = len(text) == 10 and text[4] == text[7] == "-" and text.isascii()  # as most are; the pattern is slower
    if not is_day and not re.fullmatch(_ISO_DATE, text):
        return None
    try:
        found = datetime.datetime.fromisoformat(text)
    except ValueError:
        return None
    return (found.year, found.month)
