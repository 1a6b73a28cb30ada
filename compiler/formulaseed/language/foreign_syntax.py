"""What people and models type in formulas from other languages, with how it is written here.

`syntax_errors` looks here where the parser cannot go on. Adding an operator is one row.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

STEP = "give the value a step of its own"


@dataclass(frozen=True, slots=True)
class Foreign:
    """Something that is not in the language. In the texts and in `instead`, `{0}` is what was found, `{1}` a group.

    `instead` is read in its place, so that the rest of the formula is looked at, too; None where nothing can be.
    `is_certain`: that is what was meant, so that the mended formula can be checked.
    """

    pattern: re.Pattern[str]
    message: str
    help: str
    instead: str | None = None
    is_certain: bool = True

    def told(self, text: str, match: re.Match[str]) -> str:
        return text.format(match.group().strip(), *match.groups())


def _foreign(pattern: str, message: str, help: str, instead: str | None = None, *, certain: bool = True) -> Foreign:
    return Foreign(re.compile(pattern), message, help, instead, certain)


_NOT_HERE = "`{0}` is not an operator here"
_NO_OPERATOR = "`{0}` is not an operator"
_NOT_IN = "`{0}` is not in the language"
_SMALL = "`{0}` is written in small letters"
_NO_SHIFT = "`{0}` is not an operator: there is no shift"
_TERNARY = "write `a if condition else b`"
_THE_SEEDS = "use the operations and functions of the seed"
_A_COUNT = 'count or sum the reviews in a step of its own, such as {{"op": "count"}}'

SIGNS = (
    _foreign(r"!==", _NO_OPERATOR, "write `!=`", "!="),
    _foreign(r"===", _NO_OPERATOR, "write `==` to compare", "=="),
    _foreign(r"={1,2}>=?|>==", _NO_OPERATOR, "write `>=`", ">="),
    _foreign(r"={1,2}<=?|<==", _NO_OPERATOR, "write `<=`", "<="),
    _foreign(r"<=>", _NO_OPERATOR, "write `==`", "=="),
    _foreign(r"<>|~=", _NO_OPERATOR, "write `!=`", "!="),
    _foreign(r"\?\?", _NOT_HERE, "write `(x or 0)`", " or "),
    _foreign(r"<<(?=\s*([\w.]+))", _NO_SHIFT, "write `* 2 ** {1}`", "* 2 **", certain=False),
    _foreign(r">>(?=\s*([\w.]+))", _NO_SHIFT, "write `// 2 ** {1}`", "// 2 **", certain=False),
    _foreign(r"<<", _NO_SHIFT, "write `* 2 ** n`", "* 2 **", certain=False),
    _foreign(r">>", _NO_SHIFT, "write `// 2 ** n`", "// 2 **", certain=False),
    _foreign(r"&&", _NOT_HERE, "write `and`", " and "),
    _foreign(r"&", _NOT_HERE, "write `and`", " and ", certain=False),
    _foreign(r"\|\|", _NOT_HERE, "write `or`", " or "),
    _foreign(r"\|", _NOT_HERE, "write `or`", " or ", certain=False),
    _foreign(r"#.*", "a formula has no comments", "remove it", ""),
)
"""Signs that mean nothing wherever they stand outside a text. The parser may have read a part of one already."""

AT_A_PLACE = (
    _foreign(r"[-+*/]=|:=", "`{0}` assigns; a formula is one expression", STEP),
    _foreign(r"=(?!=)", "`=` assigns; a formula is one expression", f"write `==` to compare, or {STEP}", "=="),
    _foreign(r"!(?!=)", "`!` is not an operator here", "write `not`", " not "),
    _foreign(r"(?i:between)\b", _NOT_IN, "write `1 <= x <= 2`"),
    _foreign(r"(?i:i?like|contains)\b", _NOT_IN, "write `'Thai' in context.categories`"),
    _foreign(r"(?i:xor)\b", _NOT_HERE, "write `(a) != (b)` of two conditions"),
    _foreign(r"(?i:mod)\b", _NOT_HERE, "write `%` for the remainder", "%"),
    _foreign(r"(?i:div)\b", _NOT_HERE, "write `//` for the quotient rounded down", "//"),
    _foreign(r"\^", "`^` is not an operator here", "write `**` for a power", "**"),
    _foreign(r"\?", "`?` is not an operator here", _TERNARY),
    _foreign(r"(?i:is\s+not\s+(?:none|null))\b", "there is no `is not`", "write `!= None`", "!= None"),
    _foreign(r"(?i:is\s+(?:none|null))\b", "there is no `is`", "write `== None`", "== None"),
    _foreign(r"(?i:is\s+not)\b", "there is no `is not`", "write `!=`", "!="),
    _foreign(r"(?i:is)\b", "there is no `is`", "write `==`", "=="),
    _foreign(r"lambda\b|for\b|while\b|def\b|import\b|return\b|class\b|yield\b|await\b|async\b|with\b|del\b|exec\b|try\b",
             "`{0}` is not in the language: a formula is one expression", _THE_SEEDS),
    _foreign(r"(?i:select)\b", "`{0}` is not in the language: a formula is one expression", _A_COUNT),
    _foreign(r"(?i:then)\b", _NOT_IN, _TERNARY),
    _foreign(r"(?i:elif|elseif|elsif)\b", _NOT_IN, "write `a if c1 else b if c2 else d`"),
    *(_foreign(rf"(?!{word}\b)(?i:{word})\b", _SMALL, f"write `{word}`", word)
      for word in ("and", "or", "not", "in", "if", "else")),
    _foreign(r"\[", "values cannot be indexed", "name the field with a dot, such as `extraction.severity`"),
    _foreign(r"\$?\{\{?\s*([A-Za-z_][\w.]*)\s*\}\}?", _NOT_IN, "write `{1}`, without braces", "{1}"),
    _foreign(r"\{|\}", _NOT_IN, "a list is written ['a', 'b']"),
    _foreign(r"\.", "a dot may only join a namespace and a field", "write `meta.stars`"),
    _foreign(r":", _NOT_IN, _TERNARY),
    _foreign(r";", "a formula is one expression", "give every value a step of its own"),
    _foreign(r"\$", "`$` stands before the name of a filter", "write `$NAME`"),
    _foreign(r"\)", "this `)` closes nothing", "remove it"),
    _foreign(r"\]", "this `]` closes nothing", "remove it"),
    _foreign(r"[@~`\\]", _NOT_IN, "remove it"),
)  # fmt: skip
"""What stands where the parser cannot go on; in another place it may be a name, or a part of the language."""

OLDER = (
    _foreign(r"for\b", "a second loop cannot stand in the first", "write one `for`, with conditions behind `if`"),
    _foreign(r"where\b", "`where` is not in the language", "write `if`", "if"),
    _foreign(r"\.\s*[A-Za-z_]\w*", "values have no methods or attributes",
             "compare the value itself; a review's field is `e['field']`"),
    _foreign(r":", "values cannot be cut into parts", "use the whole value"),
)  # fmt: skip
"""What formulas of the older shape have besides: more of Python than there is."""

TYPEWRITER = {
    **dict.fromkeys("‘’“”„‚«»", "'"), **dict.fromkeys("−–—", "-"), **dict.fromkeys("×·∙⋅", "*"), **dict.fromkeys("÷∕", "/"),
    "≥": ">=", "≤": "<=", "≠": "!=", "∧": "and", "∨": "or", "¬": "not", "²": "** 2", "³": "** 3",
    "∈": "in", "∉": "not in", "½": "0.5", "¼": "0.25", "¾": "0.75", "π": "3.141592653589793",
}  # fmt: skip
"""What a word processor makes of the keyboard's characters, and mathematics' own."""

QUOTED = re.compile(r"[‘‚“„«]([^'\"\\‘’‚“”„«»\n]{0,200})[’‘”“»]")
"""A text in the quotes of a word processor."""

ALONE = (
    (STEP, "write the value itself where it is used"),
    (_THE_SEEDS, "use the operators and functions of formulas"),
    (_A_COUNT.format(), "formulas read the fields of one item, such as `cpu.cores`"),
    ("write `'Thai' in context.categories`", "write `'Pro' in title`"),
    ("name the field with a dot, such as `extraction.severity`", "name the field with a dot, such as `cpu.cores`"),
    ("a dot may only join a namespace and a field", "a dot may only join an entity and a field"),
    ("write `meta.stars`", "write `cpu.cores`"),
    ("give every value a step of its own", "write one formula for each value"),
    (": the step's name stands in `name`; to compare write `==`", ", and write the value itself where it is used"),
    ("write an expression such as `N_MILD + 1`", "write an expression such as `ram_gb * 2.5`"),
    ("`count` is an operation: give it a step of its own", "formulas read the fields of one item, such as `cpu.cores`"),
    ("use the operation `case`, or write", "write"),
    ("declare the year in `parameters` and write `param.AS_OF_YEAR`", "write the year as a number"),
    ("`len(context.name)`", "`len(title)`"),
)
"""What a formula that stands alone is told, in place of what is said of a seed's."""
