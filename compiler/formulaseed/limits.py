"""Define the limits that input is checked against, most of them before it is parsed.

They are generous to real seeds, and small enough that anything over them is refused at once. docs/limits.md
documents them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

TASK_BYTES = 512 * 1024
"""A longer task does not fit into the prompt of a model."""
ANSWER_CHARACTERS = 2_000_000
"""A longer answer of a model is not read."""
SEED_BYTES = 2 * 1024 * 1024
MODULE_BYTES = 16 * 1024 * 1024
"""A larger file is not a generated module."""
FILE_BYTES = 64 * 1024 * 1024
"""The size of any other file that is read as a whole: a social graph, prices, a part of a transcript."""
LINE_BYTES = 64 * 1024 * 1024
"""A line of JSON Lines, uncompressed; a restaurant with 50,000 reviews is smaller."""
JSON_DEPTH = 64
NUMBER_CHARACTERS = 40
TASK_NAME_CHARACTERS = 255
NAME_CHARACTERS = 255
LABEL_CHARACTERS = 80
UNIT_CHARACTERS = 20
BECAUSE_CHARACTERS = 200
"""Characters of the reason that a rule of a `case` gives."""
KEYWORDS = 5_000
POLICY_NOTES = 10_000
"""Items of each list in the notes on a policy."""
SOURCES = 100
"""Sentences that a part of a seed cites as its sources."""
FIELDS = 500
ENUM_VALUES = 1_000
PARAMETERS = 500
PASSES = 9
REVIEW_EXAMPLES = 20
"""Reviewed answers in the prompt of a model; every call pays for all of them."""
REVIEW_EXAMPLE_CHARACTERS = 5_000
"""Characters of a reviewed answer's text; Yelp's reviews are no longer."""
REVIEW_CHARACTERS = 10_000_000
"""The largest `max_length` of a review."""
STEPS = 2_000
CASE_RULES = 1_000
TABLE_ENTRIES = 10_000
CONDITIONS = 256
LIST_ITEMS = 1_000
FILTER_SIZE = 5_000
"""Terms of a filter with the filters that it uses expanded: each use of one counts in full."""
FILTER_NESTING = 100
"""Levels of filters that use filters."""
SUGGESTIONS = 30
"""Unknown names of a file for which similar names are searched."""
SUGGESTION_LETTERS = 400_000
"""Letters of unknown and known names that are compared in all, because comparing is slow."""
DIAGNOSTICS = 5_000
"""Problems of a file that are reported; the others are only counted."""
MERGED_SUBJECTS = 12
"""Keywords, values or inputs that one diagnostic names; the others are only counted."""
MESSAGE_CHARACTERS = 1_000
"""The quotations of a longer message are cut short."""
OUTPUTS = 2_000
PROPERTIES = 500
"""Claims that tests check."""
FILE_TERMS = 110_000
"""Terms of all formulas, conditions, tables and rules of a file: each section may be large, but not all of them."""
FILE_SYMBOLS = 400_000
"""Terms, operators and brackets of all formulas, conditions, tables and rules of a file."""

REQUESTS = 1_000
REQUEST_ID_CHARACTERS = 100
REQUEST_DEPTH = 96
"""Levels of nested objects and lists in a request: enough for 45 levels of `AND` and `OR`."""
REQUEST_CONDITIONS = 1_000
"""Conditions of a request."""
PATH_KEYS = 16
MATCHES = 1_000_000
"""The largest number of reviews that a condition may require."""
ATTRIBUTE_CHARACTERS = 2_000
"""A longer string is not parsed as a Python literal, the form in which Yelp writes attributes."""

FORMULA_CHARACTERS = 16_384
FORMULA_TERMS = 600
FORMULA_TOKENS = 2_048
FORMULA_NESTING = 60
SYNTAX_FAULTS = 8
"""Syntax errors of a formula that are reported at once."""
TREE_DEPTH = 280

ENTITIES = 500
REFERENCE_FIELDS = 20_000
"""Fields of a formula reference in all, custom fields included."""
EXAMPLES = 2_000
RULES = 1_000

PATTERN_CHARACTERS = 1_000
PATTERN_NESTING = 20
PATTERN_REPEAT = 300
PATTERN_FEW = 10
"""A repeat with a higher count is treated as unbounded."""
PATTERN_PARTS = 10_000
"""Parts of a pattern with its other repeats written out."""
PATTERN_TEXT = 10_000
PATTERN_STEPS = 4_000_000_000
"""An upper bound of the steps that a pattern may take on the worst text of `PATTERN_TEXT` characters, which `re` does in
under two seconds."""
REVIEW_TEXT_CHARACTERS = 100_000
"""A longer review is refused if patterns search it."""

FILE_PATTERN_PARTS = 200_000
"""Characters of all patterns of a file of requests, or parts with repeats written out, if these are more."""

SHORTHAND_CHARACTERS = 32_768
SHORTHAND_TERMS = 1_000
SHORTHAND_NESTING = 60

FILE_SHORTHAND_TERMS = 100_000
"""Names and strings of all shorthands of a file of requests."""

INTEGER_MAX = 2**63 - 1
"""The largest integer of a literal, a row or a context: that of a database column."""

INPUT_MAX = 1e100
"""The largest number of a row, a context or a parameter. It is far beyond real data, and small enough that
arithmetic on inputs cannot overflow, so that generated modules need few checks."""

NUMBER_MAX = 1.7976931348623157e308
"""The largest number: a computed value beyond it, integers too, is an overflow."""


class Budget:
    """A quantity that all texts of one file share: inside a block of `allow`, each text takes its part with `take`."""

    def __init__(self, name: str) -> None:
        self._left: ContextVar[list[int] | None] = ContextVar(name, default=None)

    @contextmanager
    def allow(self, size: int) -> Iterator[None]:
        """Give the block `size` units to take in all; afterwards the rest of an outer block is in force again."""
        token = self._left.set([size])
        try:
            yield
        finally:
            self._left.reset(token)

    def take(self, number: int) -> bool:
        """Take `number` units and return True if as many were left; outside of a block of `allow` always True.

        If too few were left, every later call in the block returns False, too.
        """
        left = self._left.get()
        if left is None:
            return True
        left[0] -= number
        return left[0] >= 0
