"""Define the mistakes in the words for people of a seed: labels, units, reasons of rules, and `adverse`."""

from __future__ import annotations

from formulaseed.diagnostics.catalogue import define_1, define_2, define_3

long_words = define_3("FS510", "`{0}` has {1} characters, more than {2}", "write it shorter")
unprintable_words = define_1(
    "FS509", "`{0}` must be printable, on one line, without spaces around it", "write it in words, or remove `{0}`"
)
adverse_of_no_number = define_2("FS301", "`adverse` belongs to a number, and `{0}` is {1}", "remove it")
