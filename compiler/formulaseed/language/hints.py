"""What people and models write in formulas from other languages, and typing errors, each with the form to write.

Pure data. `syntax_errors` looks up what stops the parser, `check.unknown_calls` what is called and is no function. Adding a hint
is one row; the examples are tests.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

_STEP = "give the value a step of its own"
_CHOICE = "write `a if condition else b`"
_YEAR = "declare the year in `parameters` and write `param.AS_OF_YEAR`"


@dataclass(frozen=True, slots=True)
class Hint:
    """Syntax that is not in the language, recognised around the place where the parser stops.

    In the texts `{0}` is what the pattern matches (its group `at` if it has one, which is also what is underlined), `{1}` its
    first group. `instead` is read in its place, so that the rest is checked; without one nothing more is reported of the formula.
    """

    pattern: re.Pattern[str]
    message: str
    help: str
    example: str
    instead: str | Callable[[re.Match[str]], str] | None = None
    alone: str = ""
    """The help for a formula that is no part of a seed."""
    code: str = "FS103"
    used_in: Literal["all", "conditions", "v1"] = "all"


def _hint(
    pattern: str,
    message: str,
    help: str,
    example: str,
    instead: str | Callable[[re.Match[str]], str] | None = None,
    **more: str,
) -> Hint:
    return Hint(re.compile(pattern), message, help, example, instead, **more)  # type: ignore[arg-type]


_NO_OPERATOR = "`{0}` is not an operator"
_NO_SYNTAX = "`{0}` is not in the language"
_TORN = "the operator is split by a space"
_LOWER_CASE = "`{0}` is written in lower case"
_NO_STATEMENT = "`{0}` is not in the language: a formula is one expression"
_TYPED = {
    **dict.fromkeys("−–—", "-"), **dict.fromkeys("×·", "*"), "÷": "/", "≥": ">=", "≤": "<=", "≠": "!=",
    **dict.fromkeys("‘’“”«»", "'"),
}  # fmt: skip
"""What a word processor makes of the keyboard's characters."""


def _plain_number(match: re.Match[str]) -> str:
    return re.sub("[,_]", "", match["at"])


HINTS = (
    # --- operators of other languages
    _hint(r"!==", _NO_OPERATOR, "write `!=`", "1 if N !== 3 else 0", "!="),
    _hint(r"===", _NO_OPERATOR, "write `==` to compare", "1 if N === 3 else 0", "=="),
    _hint(r"={1,2}>=?|>==", _NO_OPERATOR, "write `>=`", "1 if N => 3 else 0", ">="),
    _hint(r"={1,2}<=?|<==", _NO_OPERATOR, "write `<=`", "1 if N =< 3 else 0", "<="),
    _hint(r"<>|~=", _NO_OPERATOR, "write `!=`", "1 if N <> 3 else 0", "!="),
    _hint(r"\?\?", _NO_OPERATOR, "write `(x or 0)`", "(context.tier ?? 0) * 2", " or "),
    _hint(r"<<|>>", "`{0}` is not an operator: there is no shift", "write `* 2 ** n` or `// 2 ** n`", "N << 1"),
    _hint(r"&&", _NO_OPERATOR, "write `and`", "1 if N > 1 && N < 5 else 0", " and "),
    _hint(r"\|\|", _NO_OPERATOR, "write `or`", "1 if N > 1 || M > 1 else 0", " or "),
    _hint(r"&", _NO_OPERATOR, "write `and`", "1 if (N > 1) & (M > 1) else 0"),
    _hint(r"\|", _NO_OPERATOR, "write `or`", "1 if (N > 1) | (M > 1) else 0"),
    _hint(r"\^", _NO_OPERATOR, "write `**` for a power", "N ^ 2", "**"),
    _hint(r"!(?!=)(?!\s*=)", _NO_OPERATOR, "write `not`", "1 if !(N > 1) else 0", " not "),
    _hint(r"(?P<at>([!=<>])\s+=)(?!=)", _TORN, "write `{2}=`", "1 if N ! = 3 else 0", "{2}="),
    _hint(r"(?i:\bmod\b)", _NO_OPERATOR, "write `%` for the remainder", "N mod 2", "%"),
    _hint(r"(?i:\bis\s+not\s+(?:none|null))\b", "there is no `is not`", "write `!= None`",
          "1 if context.tier IS NOT NULL else 0", "!= None"),
    _hint(r"(?i:\bis\s+(?:none|null))\b", "there is no `is`", "write `== None`", "1 if context.tier is None else 0", "== None"),
    _hint(r"(?i:\bis\s+not)\b", "there is no `is not`", "write `!=`", "1 if N is not 3 else 0", "!="),
    _hint(r"(?i:\bis)\b", "there is no `is`", "write `==`", "1 if N is 3 else 0", "=="),
    *(_hint(rf"\b(?!{word}\b)(?i:{word})\b", _LOWER_CASE, f"write `{word}`", example, word)
      for word, example in (("and", "1 if N > 1 AND M > 1 else 0"), ("or", "1 if N > 1 Or M > 1 else 0"),
                            ("not", "1 if NOT N > 1 else 0"), ("in", "1 if N IN [1, 2] else 0"),
                            ("if", "1 IF N > 1 else 0"), ("else", "1 if N > 1 ELSE 0"))),
    # --- assignments
    _hint(r"^\s*(?P<at>=)(?!\s*[=<>])", "a formula does not begin with `=`", "remove it", "= N * 2", ""),
    _hint(r"[(,]\s*[A-Za-z_]\w*\s*(?P<at>=)(?!=)", "arguments have no names here",
          "give them by position, such as `round(x, 2)`", "round(value=N)"),
    _hint(r"(?<![<>!=])=(?!=)", "`=` does not compare", "write `==`", "N = 5", "==", used_in="conditions"),
    _hint(r"^\s*([A-Za-z_]\w*)\s*(?P<at>=)(?!=)", "`=` assigns; a formula is one expression",
          "remove `{1} =`: the step's name is in `name`; to compare write `==`", "SCORE = N + 1",
          alone="remove `{1} =`, and write the value itself where it is used"),
    _hint(r"[-+*/]=|:=", "`{0}` assigns; a formula is one expression", _STEP, "x := N + 1",
          alone="write the value itself where it is used"),
    _hint(r"(?<![<>!=])=(?!=)", "`=` assigns; a formula is one expression", f"write `==` to compare, or {_STEP}",
          "1 if N = 3 else 0", "==", alone="write `==` to compare"),
    # --- SQL, JavaScript, spreadsheets
    _hint(r"(?i:\bbetween)\b", _NO_SYNTAX, "write `1 <= x <= 2`", "1 if N BETWEEN 1 AND 2 else 0"),
    _hint(r"(?i:\b(?:i?like|contains)\b)", _NO_SYNTAX, "write `'Thai' in context.categories`",
          "1 if context.name LIKE 'Thai' else 0", alone="write `'Pro' in title`"),
    _hint(r"(?i)^\s*(?P<at>case)\s+when\b", "`CASE WHEN` is not in the language", f"use the operation `case`, or {_CHOICE}",
          "CASE WHEN N > 1 THEN 2 ELSE 3 END", alone=_CHOICE),
    _hint(r"(?i:\bthen\b)", _NO_SYNTAX, _CHOICE, "N > 1 then 2"),
    _hint(r"(?i:\bselect\b)", _NO_STATEMENT, 'count or sum the reviews in a step of its own, such as {{"op": "count"}}',
          "SELECT COUNT(*) FROM reviews", alone="formulas read the fields of one item, such as `cpu.cores`"),
    _hint(r"(?P<at>\b(?i:count)\s*\(\s*\*\s*\))", "there is no function `count`",
          "`count` is an operation: give it a step of its own",
          "count(*) + 1", code="FS207", alone="formulas read the fields of one item, such as `cpu.cores`"),
    _hint(r"(?i)^\s*(?P<at>if)\b(?!\s*\()", "a formula does not begin with `if`",
          "the value comes first: `a if condition else b`", "if N > 1: 2", code="FS101"),
    _hint(r"\?", _NO_OPERATOR, _CHOICE, "N > 1 ? 2 : 3"),
    _hint(r"\$?\{\{?\s*([A-Za-z_][\w.]*)\s*\}\}?", _NO_SYNTAX, "write `{1}`, without braces", "{N} * 2", "{1}"),
    _hint(r"[0-9]\s*(?P<at>%)\s*(?=[-+*/),]|$|(?:if|else|and|or)\b)", "`%` is the remainder of a division, not per cent",
          "write 0.1 for 10 %", "N * 10%"),
    # --- Python
    _hint(r"\bfor\b", "a second loop cannot be inside the first", "write one `for`, with conditions behind `if`",
          "sum(1 for e in extractions for f in extractions)", used_in="v1"),
    _hint(r"\bwhere\b", _NO_SYNTAX, "write `if`", "sum(1 for e in extractions where e['n'] > 1)", "if", used_in="v1"),
    _hint(r"(?P<at>\.(?:lower|upper|casefold|strip|trim|toLowerCase|toUpperCase)\(\s*\))\s*\.",
          "values have no methods such as `{0}`", "remove it; case matters", "1 if context.name.lower().count('bar') else 0", ""),
    _hint(r"(?<=[\])])(?P<at>\.\s*[A-Za-z_]\w*)", "values have no methods or attributes",
          "compare the value itself; a review's field is `e['field']`",
          "sum(1 for e in extractions if e['note'].lower() == 'x')", used_in="v1"),
    _hint(r"\[[^\]]*(?P<at>:)", "values cannot be cut into parts", "use the whole value",
          "sum(1 for e in extractions if e['note'][:3] == 'abc')", used_in="v1"),
    _hint(r"\b(?:datetime|date|time)\b[\w.]*\([^()]*\)\s*\.\s*\w+|\b(?i:now|today)\(\)\s*\.\s*\w+",
          "a formula does not know what day it is", _YEAR, "datetime.now().year - 5", alone="write the year as a number"),
    _hint(r"\b(?:lambda|for|while|def|import|return|class|yield|await|with|del|try)\b", _NO_STATEMENT,
          "use the operations and functions of the seed", "sum(1 for r in reviews)",
          alone="use the operators and functions of formulas"),
    _hint(r"(?i:\b(?:elif|else\s*if))\b", _NO_SYNTAX, "write `a if c1 else b if c2 else d`", "1 if N > 2 elif N > 1 else 3"),
    _hint(r"(?<!\w)[A-Za-z]{1,2}(?P<at>'[^'\n]*'|\"[^\"\n]*\")", "a string takes no prefix", "write the string alone",
          "f'{N} reviews'", code="FS101"),
    _hint(r"\bin\s*\([^()]*(?P<at>,)", "a list is in square brackets", "write it like `in [1, 2]`", "1 if N in (1, 2) else 0",
          code="FS101"),
    _hint(r"#.*", "a formula has no comments", "remove it", "N # all of them", ""),
    # --- numbers
    _hint(r"(?<![\w.])(?P<at>[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+(?:_[0-9]+)+)(?![\w,])", "`{0}` is no number here",
          "write {instead}", "1,000 * N", _plain_number, code="FS101"),
    _hint(r"(?<![\w.])(?P<at>[0-9]+,[0-9]+)(?![\w.]|\s*,)", "`{0}` is no number here", "write {instead}", "N * 5,5",
          lambda match: match["at"].replace(",", "."), code="FS101"),
    _hint(r"(?<![\w.])(?:0[xXbBoO]\w+|0[0-9]+|[0-9]+\.[0-9]+\.[0-9.]+)", "`{0}` is no number here", "write it like 12 or 0.5",
          "N + 0x1F", code="FS101"),
    # --- strings and characters
    _hint(r"[‘“«]([^'\"\\‘’“”«»\n]{0,200})[’”»]", "`{0}` is in typographic quotes", "write `'{1}'`",
          "1 if context.name == “Thai” else 0", "'{1}'"),
    _hint(f"[{''.join(_TYPED)}]", "`{0}` is not in the language", "write `{instead}`", "2 × N",
          lambda match: f" {_TYPED[match.group()]} "),
    _hint(r"[^\S ](?<![\t\r\n])", "there is an unusual space", "write a plain space", "N\u00a0+ 2", " "),
    _hint(r"\.?\s*(?P<at>[^\W\x00-\x7f]\w*)", _NO_SYNTAX, "names use the letters a to z, digits and `_`", "qualité + 3"),
    # --- signs without a place
    _hint(r"\[", "values cannot be indexed", "name the field with a dot, such as `extraction.severity`", "context['stars'] * 2",
          alone="name the field with a dot, such as `cpu.cores`"),
    _hint(r"[{}]", _NO_SYNTAX, "a list is written ['a', 'b']", "{'a': 1}"),
    _hint(r"\.(?!\s*\w)", "a dot may only join a namespace and a field", "write `meta.stars`", "meta.",
          alone="write `cpu.cores`"),
    _hint(r":", _NO_SYNTAX, _CHOICE, "N : 2"),
    _hint(r";", "a formula is one expression", "give every value a step of its own", "N + 1; N + 2",
          alone="write one formula for each value"),
    _hint(r"\$", "`$` is only used before the name of a filter", "write `$NAME`", "$ + 1"),
)  # fmt: skip
"""The first row that matches around the place is used."""

CALLS = {
    "if(condition, a, b)": "a if condition else b", "iif(condition, a, b)": "a if condition else b",
    "ifelse(condition, a, b)": "a if condition else b", "where(condition, a, b)": "a if condition else b",
    "and(a, b)": "a and b", "or(a, b)": "a or b", "not(a)": "not a", "xor(a, b)": "a != b",
    "coalesce(x, y)": "x or y", "ifnull(x, y)": "x or y", "nvl(x, y)": "x or y", "isnull(x, y)": "x or y",
    "isnull(x)": "x == None", "isna(x)": "x == None", "is_null(x)": "x == None", "isblank(x)": "x == None",
    "notnull(x)": "x != None", "notna(x)": "x != None", "is_not_null(x)": "x != None", "nullif(x, y)": "None if x == y else x",
    "contains(text, part)": "part in text", "between(x, low, high)": "low <= x <= high", "equals(x, y)": "x == y",
    "sign(x)": "1 if x > 0 else -1 if x < 0 else 0", "ln(x)": "log(x)", "log10(x)": "log(x) / log(10)",
    "log2(x)": "log(x) / log(2)", "log1p(x)": "log(1 + x)", "exp(x)": "2.718281828459045 ** x", "square(x)": "x ** 2",
    "sqr(x)": "x ** 2", "lg(x)": "log(x) / log(10)",
    "power(x, y)": "x ** y", "mod(x, y)": "x % y", "div(x, y)": "x // y", "divide(x, y)": "x / y", "add(x, y)": "x + y",
    "subtract(x, y)": "x - y", "multiply(x, y)": "x * y", "maximum(x, y)": "max(x, y)", "greatest(x, y)": "max(x, y)",
    "minimum(x, y)": "min(x, y)", "least(x, y)": "min(x, y)", "trunc(x)": "int(x)", "truncate(x)": "int(x)",
    "integer(x)": "int(x)", "number(x)": "float(x)", "double(x)": "float(x)", "absolute(x)": "abs(x)", "fabs(x)": "abs(x)",
    "ceiling(x)": "ceil(x)", "roundup(x)": "ceil(x)", "rounddown(x)": "floor(x)", "clip(x, low, high)": "clamp(x, low, high)",
    "length(text)": "len(text)", "strlen(text)": "len(text)",
    **{f".{name}(text, part)": "part in text" for name in (
        "count", "contains", "includes", "startswith", "endswith", "find", "index", "indexof", "search", "match",
    )},
    **{f".{name}(text)": "text" for name in (
        "lower", "upper", "casefold", "title", "capitalize", "tolowercase", "touppercase", "strip", "lstrip", "rstrip", "trim",
    )},
    ".length(text)": "len(text)", ".size(text)": "len(text)", ".equals(text, other)": "text == other",
}  # fmt: skip
"""Functions of other languages, in lower case, and what a call of them is here; methods begin with a dot, and the value before
it is their first argument. More arguments than two are joined alike."""
PLACES = (".count", ".find", ".index", ".indexof")
"""Methods that give a number, where a formula only says whether there is one."""

_OPERATION = "`{0}` is an operation: give it a step of its own"
_NO_STRINGS = "strings cannot be made or changed; compare them as they are"
CLOCK = ("now", "today", "utcnow", "current_date", "getdate", "sysdate")

FUNCTION_HELP: dict[str, tuple[str, str]] = {
    **dict.fromkeys(("average", "mean", "avg"),
                    ("write `(a + b) / 2`, or divide a `sum` step by a `count` step", "write `(a + b) / 2`")),
    **dict.fromkeys(("median", "std", "stdev", "stddev", "var", "variance", "mode", "percentile", "quantile"),
                    ("there is none; use `max`, `min` or a mean",) * 2),
    **dict.fromkeys(("count", "lookup", "case"), (_OPERATION, "")),
    **dict.fromkeys(("countif", "countifs", "count_if"), ("`count` with `where` is an operation: give it a step of its own", "")),
    **dict.fromkeys(("sumif", "sumifs", "sum_if"), ("`sum` with `where` is an operation: give it a step of its own", "")),
    **dict.fromkeys(("vlookup", "xlookup"), ("`lookup` is an operation: give it a step of its own", "")),
    **dict.fromkeys(("any", "exists", "some"), ("write `a or b`, or count in a step and write `N > 0`", "write `a or b`")),
    **dict.fromkeys(("all", "every"),
                    ("write `a and b`, or count in a step what does not match and write `N == 0`", "write `a and b`")),
    **dict.fromkeys(("bool", "boolean"), ("write a comparison, such as `x != 0`",) * 2),
    **dict.fromkeys(("str", "text", "concat", "upper", "lower", "trim", "replace", "substring", "left", "right", "format"),
                    (_NO_STRINGS,) * 2),
    **dict.fromkeys(CLOCK, (_YEAR, "write the year as a number")),
}  # fmt: skip
"""The help for functions that no call of ours is like: in a seed, and in a formula that is no part of one."""
