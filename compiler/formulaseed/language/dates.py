"""ISO dates. Copied, as it is, into each generated module that needs it.

Typed and tested like everything else; standard library only. Each name is private to the module it lands in.
"""

import datetime
import re

_ISO_DATE = r"[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,9})?)?(Z|[+-][0-9]{2}:[0-9]{2})?)?"


def _iso_date(text: str) -> tuple[int, int] | None:
    """Return year and month of an ISO date or date-time, YYYY-MM-DD only; None for any other string."""
    is_day = len(text) == 10 and text[4] == text[7] == "-" and text.isascii()  # as many are; the pattern is slower
    if not is_day and not re.fullmatch(_ISO_DATE, text):
        return None
    try:
        found = datetime.datetime.fromisoformat(text)
    except ValueError:
        return None
    return (found.year, found.month)
