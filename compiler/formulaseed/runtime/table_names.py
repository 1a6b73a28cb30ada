"""Names what engines and the partition function share: columns, counts, functions. Executors have it; it imports nothing else."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

DEFAULT_KEY = "business_id"
"""The column of a user's table that names restaurants, unless an option says otherwise."""

KEY = "key"
"""The column of a batch with the key of the restaurant."""
ORDER = "order_key"
"""The column of a batch with the value that orders the rows of a restaurant."""
REVIEW = "review_key"
"""The column of a batch with the ids of reviews, if the rows have another order."""
DATE = "date"
"""The column of a batch with the date of a review."""
IS_CONTEXT = "is_context"
"""The column of a batch that is true for contexts, false for rows; only if a batch holds lines of both tables."""
UNKNOWN_SUFFIX = "_other"
"""The suffix of a column with an enum's unknown values, which the engine has replaced by null in the enum's column."""

ERROR_COLUMNS = ("error_step", "error_kind", "error_message")
"""The columns of results with the error of a restaurant that failed."""
REASONS = "reasons"
"""The column of results with the reasons of the verdict, if they were asked for."""
FindReasons = Callable[[Sequence[Mapping[str, Any]], Mapping[str, Any]], list[dict[str, Any]]]
"""Maps a restaurant's rows and context, both JSON, to the reasons of its verdict."""
FINGERPRINT = "fingerprint"
"""The column of results with a hash of everything that the line depends on, if it was asked for."""
OVERFLOW_MESSAGE = "its value has more than the 64 bits of a column"

RESTAURANTS = "restaurants"
"""The count of results; beside it, counts have the kinds of errors, and the names below."""
ORPHAN_ROWS = "orphans"
"""The count of rows that belong to no restaurant."""
KEYLESS_CONTEXTS = "nameless"
"""The count of contexts without a key."""
DUPLICATE_ROWS = "duplicates"
"""The count of rows dropped because an earlier row of the restaurant has their review's id."""
UNCHANGED = "unchanged"
"""The count of restaurants whose lines are those of earlier results."""
HANDED_BACK = "handed back"
"""The count of restaurants that a query handed back to the module."""
