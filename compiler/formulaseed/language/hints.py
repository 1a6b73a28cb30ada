"""Lists syntax of other languages and typing errors in formulas, each with the form to write.

Pure data. `syntax_errors` looks up the text at which the parser stops, `check.calls` the names of unknown functions.
Adding a hint is one row; the examples are tests.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal

from formulaseed.source.text import percent_to_fraction, value_node

_WRITE_CONDITIONAL = "write `a if condition else b`"
_DECLARE_YEAR = "declare the year in `parameters` and write `param.AS_OF_YEAR`, or write it as a number"
_OPERATION = "`{}` is an operation: a formula uses its result by name"
FormulaKind = Literal["formula", "condition", "continuation", "v1"]


@value_node
class Hint:
    """A row of the table: syntax that is not in the language, recognised around the place where the parser stops.

    In the texts, `{0}` is the match (of the group `at` if the pattern has one; this part is underlined), `{1}` its first group,
    and `{instead}` the replacement. If the row `is_safe`, `instead` is a fix: the parser goes on as if it had been applied. After
    any other hint nothing more is reported about the formula.
    """

    pattern: str
    message: str
    help: str
    example: str
    instead: str | Callable[[re.Match[str]], str] | None = None
    code: str = "FS103"
    used_in: FormulaKind | None = None
    """The only kind of formula that the hint is for; None for all."""
    is_security: bool = False
    """Whether the syntax is for things that formulas must not do, rather than another spelling of what they can do."""
    is_safe: bool = False
    """Whether the match can only mean `instead`, in any context, so that a fix can write it."""


_NO_OPERATOR = "`{0}` is not an operator"
_NO_SYNTAX = "`{0}` is not in the language"
_NO_STATEMENT = "`{0}` is not in the language: a formula is one expression"
_NO_NUMBER = "`{0}` is no number here"
_ASCII_FORMS = {
    **dict.fromkeys("−–—", "-"), **dict.fromkeys("×·", "*"), "÷": "/", "≥": ">=", "≤": "<=", "≠": "!=",
    **dict.fromkeys("‘’“”«»", "'"),
}  # fmt: skip
"""Characters that word processors put in place of ASCII ones, which are the values."""

HINTS = (
    # --- operators of other languages
    Hint(r"!==|<>", _NO_OPERATOR, "write `!=`", "1 if N !== 3 else 0", "!=", is_safe=True),
    Hint(r"~=", _NO_OPERATOR, "write `!=`", "1 if N ~= 3 else 0"),
    Hint(r"===", _NO_OPERATOR, "write `==` to compare", "1 if N === 3 else 0", "==", is_safe=True),
    Hint(r"={1,2}>=?|>==", _NO_OPERATOR, "write `>=`", "1 if N => 3 else 0"),
    Hint(r"={1,2}<=?|<==", _NO_OPERATOR, "write `<=`", "1 if N =< 3 else 0"),
    Hint(r"\?\?", _NO_OPERATOR, "write `coalesce(x, 0)`", "(context.tier ?? 0) * 2"),
    Hint(r"&&", _NO_OPERATOR, "write `and`", "1 if N > 1 && N < 5 else 0", " and ", is_safe=True),
    Hint(r"&", _NO_OPERATOR, "write `and`", "1 if N > 1 & N < 5 else 0"),
    Hint(r"\|\|", _NO_OPERATOR, "write `or`", "1 if N > 1 || M > 1 else 0", " or ", is_safe=True),
    Hint(r"\|", _NO_OPERATOR, "write `or`", "1 if N > 1 | M > 1 else 0"),
    Hint(r"\^", _NO_OPERATOR, "write `**` for a power", "N ^ 2"),
    Hint(r"!(?!=)(?!\s*=)", _NO_OPERATOR, "write `not`", "1 if !(N > 1) else 0"),
    Hint(r"(?P<at>([!=<>])\s+=)(?!=)", "the operator is split by a space", "write `{2}=`", "1 if N ! = 3 else 0", "{2}=",
         is_safe=True),
    Hint(r"(?i:\bmod\b)", _NO_OPERATOR, "write `%` for the remainder", "N mod 2"),
    Hint(r"(?i:\bis(?:\s+(not))?(?:\s+(none|null))?)\b", _NO_OPERATOR, "write `{instead}`", "1 if N is not None else 0",
          lambda match: ("!=" if match[1] else "==") + (" None" if match[2] else "")),
    Hint(r"\b(?!(?:and|or|not|in|if|else)\b)(?i:and|or|not|in|if|else)\b", "`{0}` is written in lower case",
          "write `{instead}`", "1 if N > 1 AND M > 1 else 0", lambda match: match[0].lower(), is_safe=True),
    # --- assignments
    Hint(r"^\s*(?P<at>=)(?!\s*[=<>])", "a formula does not begin with `=`", "remove it", "= N * 2"),
    Hint(r"[(,]\s*[A-Za-z_]\w*\s*(?P<at>=)(?!=)", "arguments have no names here",
          "give them by position, such as `round(x, 2)`", "round(value=N)"),
    Hint(r"(?<![<>!=])(?<![<>!=] )=(?!\s*[<>!=])", "`=` does not compare", "write `==`", "N = 5", "==", used_in="condition",
          is_safe=True),
    Hint(r"(?<![<>!=])=(?!=)", "`=` does not compare", "write `==`, `<=` or `>=`", "N = > 5",
          used_in="condition"),
    Hint(r"^\s*([A-Za-z_]\w*)\s*(?P<at>=)(?!=)|[-+*/]=|:=", "`{0}` assigns; a formula is one expression",
          "write the value alone; later formulas of the file can use it by its `name`; to compare write `==`",
          "SCORE = N + 1"),
    Hint(r"(?<![<>!=])=(?!=)", "`=` assigns; a formula is one expression", "write `==` to compare", "1 if N = 3 else 0"),
    # --- SQL, JavaScript, spreadsheets
    Hint(r"(?i:\bbetween)\b", _NO_SYNTAX, "write `1 <= x <= 2`", "1 if N BETWEEN 1 AND 2 else 0"),
    Hint(r"(?i:\b(?:i?like|contains)\b)", _NO_SYNTAX, "write `'part' in text`", "1 if context.name LIKE 'Thai' else 0"),
    Hint(r"(?i:\bselect\b)", _NO_STATEMENT, "counting and summing are operations: a formula uses their results by name",
          "SELECT COUNT(*) FROM reviews", is_security=True),
    Hint(r"(?P<at>\b(?i:count)\s*\(\s*\*\s*\))", "there is no function `count`",
          _OPERATION.format("count"), "count(*) + 1", code="FS207"),
    Hint(r"(?i)^\s*(?P<at>if)\b(?!\s*\()", "a formula does not begin with `if`",
          "the value comes first: `a if condition else b`", "if N > 1: 2", code="FS101"),
    Hint(r"\$?\{\{?\s*([A-Za-z_][\w.]*)\s*\}\}?", _NO_SYNTAX, "write `{1}`, without braces", "{N} * 2"),
    Hint(r"(?<![\w.])(?P<at>([0-9]{1,9}(?:\.[0-9]{1,9})?)\s*%)\s*(?=[-+*/),]|$|(?:if|else|and|or)\b)",
          "`%` is the remainder of a division, not per cent", "write {instead} for {2} %", "N * 10%",
          lambda match: percent_to_fraction(match[2])),
    # --- Python
    Hint(r"\bfor\b[^()]*(?:\([^()]*\)[^()]*)*(?P<at>\bfor\b)", "a second loop cannot be inside the first",
          "write one `for`, with conditions behind `if`", "sum(1 for e in extractions for f in extractions)", used_in="v1"),
    Hint(r"\bfor\b", "`for` begins a statement here, and a formula is one expression",
          "write `sum(… for e in extractions if …)`", "for e in extractions: n += 1", used_in="v1"),
    Hint(r"(?P<at>\.(?:lower|upper|casefold|strip|trim|toLowerCase|toUpperCase)\(\s*\))\s*\.",
          "values have no methods such as `{0}`", "remove it; case matters", "1 if context.name.lower().count('bar') else 0",
          is_security=True),
    Hint(r"(?<=[\])])(?P<at>\.\s*[A-Za-z_]\w*)", "values have no methods or attributes",
          "compare the value itself; a review's field is `e['field']`",
          "sum(1 for e in extractions if e['note'].lower() == 'x')", used_in="v1"),
    Hint(r"\[[^\]]*(?P<at>:)", "values cannot be cut into parts", "use the whole value",
          "sum(1 for e in extractions if e['note'][:3] == 'abc')", used_in="v1"),
    Hint(r"\b(?:datetime|date|time)\b[\w.]*\([^()]*\)\s*\.\s*\w+|\b(?i:now|today)\(\)\s*\.\s*\w+",
          "a formula does not know what day it is", _DECLARE_YEAR, "datetime.now().year - 5", is_security=True),
    Hint(r"\b(?:lambda|for|while|def|import|return|class|yield|await|with|del|try)\b", _NO_STATEMENT,
          "use the operators and functions of formulas", "sum(1 for r in reviews)", is_security=True),
    Hint(r"\b[fF](?:'_*'|\"_*\")", "formatted strings are not in the language", "compare strings as they are", "f'{N}'",
          code="FS101", is_security=True),
    Hint(r"\bin\s*(?P<at>\(([^()]*,[^()]*)\))", "a list is in square brackets", "write {instead}", "1 if N in (1, 2) else 0",
          "[{2}]", "FS101", is_safe=True),
    Hint(r"\bin\s*\([^()]*(?P<at>,)", "a list is in square brackets", "write it like `in [1, 2]`", "1 if N in (1, (2)) else 0",
          code="FS101"),
    # --- numbers
    Hint(r"(?<![\w.])(?P<at>[0-9]{1,3}(?:,[0-9]{3})+)(?![\w,])", _NO_NUMBER, "write {instead}", "1,000 * N",
          lambda match: match["at"].replace(",", ""), "FS101"),
    Hint(r"(?<![\w.])(?P<at>0(?:[xX][0-9a-fA-F]{1,15}|[oO][0-7]{1,20}|[bB][01]{1,60}))(?!\w)", _NO_NUMBER,
          "write {instead}", "0x1F * N", lambda match: str(int(match["at"], 0)), "FS101", is_safe=True),
    Hint(r"(?<![\w.])(?P<at>[0-9][0-9_.]*(?:__|_(?![0-9]))[0-9_.]*|0[0-9_]+)(?!\w)", _NO_NUMBER, "write {instead}",
          "1__000 * N", lambda match: re.sub("^0+(?=[0-9])", "", match["at"].replace("_", "")), "FS101"),
    Hint(r"(?<![\w.])(?P<at>[0-9]+,[0-9]+)(?![\w.]|\s*,)", _NO_NUMBER, "write {instead}", "N * 5,5",
          lambda match: match["at"].replace(",", "."), "FS101"),
    # --- strings and characters
    Hint(r"[‘“«]([^'\"\\‘’“”«»\n]{0,200})[’”»]", "`{0}` is in typographic quotes", "write `'{1}'`",
          "1 if context.name == “Thai” else 0", "'{1}'", is_safe=True),
    Hint(f"[{''.join(_ASCII_FORMS)}]", _NO_SYNTAX, "write `{instead}`", "2 × N", lambda match: f" {_ASCII_FORMS[match.group()]} ",
         is_safe=True),
    Hint(r"[^\S ](?<![\t\r\n])", "there is an unusual space", "write a plain space", "N\u00a0+ 2", " ", is_safe=True),
    Hint(r"\.?\s*(?P<at>[^\W\x00-\x7f]\w*)", _NO_SYNTAX, "names use the letters a to z, digits and `_`", "qualité + 3"),
    # --- signs without a place
    Hint(r"\[", "values cannot be indexed", "name the field with a dot, such as `extraction.severity`", "context['stars'] * 2",
          is_security=True),
    Hint(r"[{}]", _NO_SYNTAX, "a list is written ['a', 'b']", "{'a': 1}", is_security=True),
    Hint(r"\?|:|(?i:\b(?:case\s+when|then|elif|else\s+if)\b)", _NO_SYNTAX, _WRITE_CONDITIONAL, "N > 1 ? 2 : 3"),
    Hint(r"<<|>>", _NO_OPERATOR, "write `* 2 ** n` or `// 2 ** n`", "N << 1"),
    Hint(r"\.(?!\s*\w)", "a dot may only join a namespace and a field", "write `meta.stars`", "meta."),
    Hint(r"\$", "`$` is only used before the name of a filter", "write `$NAME`", "$ + 1"),
    Hint(r";", "a formula is one expression", "give every value a formula of its own", "N + 1; N + 2", is_security=True),
)  # fmt: skip
"""The hints in order: the first one that matches around the place is used."""

FOREIGN_CALLS = {
    "if(condition, a, b)": "a if condition else b", "iif(condition, a, b)": "a if condition else b",
    "ifelse(condition, a, b)": "a if condition else b", "where(condition, a, b)": "a if condition else b",
    "and(a, b)": "a and b", "or(a, b)": "a or b", "not(a)": "not a", "xor(a, b)": "a != b",
    "ifnull(x, y)": "coalesce(x, y)", "nvl(x, y)": "coalesce(x, y)", "isnull(x, y)": "coalesce(x, y)",
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
"""Calls of functions of other languages, in lower case, with the formulas to write. Methods begin with a dot, and the value
before it is their first argument. Formulas for two arguments joined by an operator also apply to more arguments."""
FORMS_OF_WORDS = {
    word: form for word in ("if", "and", "or") for call, form in FOREIGN_CALLS.items() if call.startswith(f"{word}(")
}
"""The formulas to write for words of the language that are called like functions."""

POSITION_METHODS = (".count", ".find", ".index", ".indexof")
"""Methods that return a number, for which the proposed formula only says whether the text contains the part."""

FORBIDDEN_FUNCTIONS = (
    "eval", "exec", "compile", "open", "input", "print", "import", "getattr", "setattr", "delattr", "hasattr", "globals",
    "locals", "vars", "dir", "type",
)  # fmt: skip
"""Functions of Python that access files, code or objects: calling one is reported as a security problem."""

CLOCK_FUNCTIONS = ("now", "today", "utcnow", "current_date", "getdate", "sysdate")
"""Functions of other languages that return the current date or time."""

FUNCTION_HELP: dict[str, str] = {
    **dict.fromkeys(("average", "mean", "avg"), "write `(a + b) / 2`, or for reviews a step with the operation `mean`"),
    **dict.fromkeys(("median", "std", "stdev", "stddev", "var", "variance", "mode", "percentile", "quantile"),
                    "there is none; use `max`, `min` or a mean"),
    **{name: _OPERATION.format(name) for name in ("count", "lookup", "case")},
    **dict.fromkeys(("countif", "countifs", "count_if"), _OPERATION.format("count` with `where")),
    **dict.fromkeys(("sumif", "sumifs", "sum_if"), _OPERATION.format("sum` with `where")),
    **dict.fromkeys(("vlookup", "xlookup"), _OPERATION.format("lookup")),
    **dict.fromkeys(("any", "exists", "some"), "write `a or b`, or compare a count: `N > 0`"),
    **dict.fromkeys(("all", "every"), "write `a and b`, or count what does not match: `N == 0`"),
    **dict.fromkeys(("bool", "boolean"), "write a comparison, such as `x != 0`"),
    **dict.fromkeys(("str", "text", "concat", "upper", "lower", "trim", "replace", "substring", "left", "right", "format"),
                    "strings cannot be made or changed; compare them as they are"),
    **dict.fromkeys(CLOCK_FUNCTIONS, _DECLARE_YEAR),
}  # fmt: skip
"""The help for functions of other languages that no formula replaces."""
