"""The limits that a seed is held against before it is parsed.

They are generous to honest seeds and small enough that what is over them is refused at once. Each is
documented in docs/limits.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

TASK_BYTES = 512 * 1024
"""A longer task text would not fit into a model's prompt."""
ANSWER_CHARACTERS = 2_000_000
"""A longer answer of a model is not looked at."""
SEED_BYTES = 2 * 1024 * 1024
MODULE_BYTES = 16 * 1024 * 1024
"""A larger file is no generated module."""
FILE_BYTES = 64 * 1024 * 1024
"""What is read of any other file that is read as a whole: a social graph, prices, a transcript's part."""
LINE_BYTES = 64 * 1024 * 1024
"""A line of JSON Lines, unpacked; a restaurant with 50,000 reviews has less."""
JSON_DEPTH = 64
NUMBER_CHARACTERS = 40
TASK_NAME_CHARACTERS = 255
NAME_CHARACTERS = 255
KEYWORDS = 5_000
SOURCES = 100
"""Sentences that one field or step names as where it comes from."""
FIELDS = 500
ENUM_VALUES = 1_000
PARAMETERS = 500
PASSES = 9
REVIEW_CHARACTERS = 10_000_000
"""The largest `max_length` of a review."""
STEPS = 2_000
CASE_RULES = 1_000
TABLE_ENTRIES = 10_000
CONDITIONS = 256
WORDED_CONDITIONS = 4_000
"""Characters of conditions that are written as formulas, up to which what they say is read."""
LIST_ITEMS = 1_000
FILTER_SIZE = 5_000
"""Terms of a filter with the filters that it uses written out: each mention of one counts in full."""
FILTER_NESTING = 100
"""So many filters use one another in a row."""
SUGGESTIONS = 30
"""After so many unknown names no more near names are looked for: it takes time, and nobody reads them."""
SUGGESTION_LETTERS = 400_000
"""So many letters of unknown and known names are compared in all."""
DIAGNOSTICS = 5_000
"""Problems of one file that are told; of the others only their number."""
MESSAGE_CHARACTERS = 1_000
"""What a longer message quotes is cut short."""
OUTPUTS = 2_000
FILE_TERMS = 110_000
"""Terms of all formulas, conditions, tables and rules of one file: each section may be large, but not all of them."""
FILE_SYMBOLS = 400_000
"""The same with operators and brackets."""

REQUESTS = 1_000
REQUEST_DEPTH = 96
"""Objects and lists inside one another in a request: enough for 45 `AND`s and `OR`s."""
REQUEST_CONDITIONS = 1_000
"""Conditions of one request."""
PATH_KEYS = 16
MATCHES = 1_000_000
"""The largest number of reviews that a condition may ask for."""
ATTRIBUTE_CHARACTERS = 2_000
"""A longer text of a restaurant is not looked at for a Python literal, as Yelp writes attributes."""

FORMULA_CHARACTERS = 16_384
FORMULA_TERMS = 600
FORMULA_TOKENS = 2_048
FORMULA_NESTING = 60
SYNTAX_FAULTS = 8
"""So many faults of one formula's syntax are told at once."""
TREE_DEPTH = 280

ENTITIES = 500
REFERENCE_FIELDS = 20_000
"""Fields of a formula reference in all, custom ones too."""
EXAMPLES = 2_000
RULES = 1_000

PATTERN_CHARACTERS = 1_000
PATTERN_NESTING = 20
PATTERN_REPEAT = 300
PATTERN_FEW = 10
"""More repeats than these count as repeats without an end."""
PATTERN_PARTS = 10_000
"""Parts of a pattern with its other repeats written out: so many have their steps counted at once."""
PATTERN_TEXT = 10_000
PATTERN_STEPS = 4_000_000_000
"""The steps that a pattern may take on the worst text of `PATTERN_TEXT` characters, by a count that is too high rather than
too low: `re` does some of them together, and takes under two seconds for all."""
REVIEW_TEXT_CHARACTERS = 100_000
"""A longer text of a review is refused where patterns search it."""

FILE_PATTERN_PARTS = 200_000
"""Characters of all patterns of a file of requests, or parts with repeats written out, where these are more."""

SHORTHAND_CHARACTERS = 32_768
SHORTHAND_TERMS = 1_000
SHORTHAND_NESTING = 60

FILE_SHORTHAND_TERMS = 100_000
"""Names and texts of all shorthands of a file of requests."""

INTEGER_MAX = 2**63 - 1
"""The largest integer that a literal, a row or a context may hold: what any database column takes."""

INPUT_MAX = 1e100
"""The largest number that a row, a context or a parameter may hold. Far beyond any data, and small enough that
arithmetic on inputs is known not to overflow, so that generated modules need few checks."""

NUMBER_MAX = 1.7976931348623157e308
"""The largest number: a computed value beyond it, integers too, is an overflow."""


class Budget:
    """What all texts of one file may have together: inside `of` each takes its part, until nothing is left."""

    def __init__(self, name: str) -> None:
        self._left: ContextVar[list[int] | None] = ContextVar(name, default=None)

    @contextmanager
    def of(self, most: int) -> Iterator[None]:
        token = self._left.set([most])
        try:
            yield
        finally:
            self._left.reset(token)

    def take(self, number: int) -> bool:
        """Take this many, and return whether as many were left. A text that belongs to no file takes freely."""
        left = self._left.get()
        if left is None:
            return True
        left[0] -= number
        return left[0] >= 0
