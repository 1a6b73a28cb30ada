"""The functions of Python, SQL, spreadsheets and mathematics that formulas have not, with what to write instead.

Adding one is one entry. A name that stands nowhere here is taken for a misspelt one of ours.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from formulaseed.language.functions import FUNCTIONS
from formulaseed.language.operators import ADDITIVE, AND, ATOM, CONDITIONAL, NOT, OR

Written = Callable[[int], str]
"""An argument's text where what stands beside it binds so strongly: in brackets if it must be."""

_FORMS: dict[int, dict[str, str]] = {
    OR: {"if(condition, a, b)": "a if condition else b", "iif(condition, a, b)": "a if condition else b",
         "ifelse(condition, a, b)": "a if condition else b", "where(condition, a, b)": "a if condition else b",
         "sign(x)": "1 if x > 0 else -1 if x < 0 else 0", "sgn(x)": "1 if x > 0 else -1 if x < 0 else 0"},
    NOT: {"and(a, b)": "a and b", "not(a)": "not a"},
    AND: {"or(a, b)": "a or b", "coalesce(x, y)": "(x or y)", "ifnull(x, y)": "(x or y)", "nvl(x, y)": "(x or y)",
          "isnull(x, y)": "(x or y)", "fillna(x, y)": "(x or y)"},
    ADDITIVE: {
        "xor(a, b)": "a != b", "isnull(x)": "x == None", "isna(x)": "x == None", "is_null(x)": "x == None",
        "isblank(x)": "x == None", "isnan(x)": "x == None", "notnull(x)": "x != None", "notna(x)": "x != None",
        "isnotnull(x)": "x != None", "is_not_null(x)": "x != None", "contains(text, part)": "part in text",
        "between(x, low, high)": "low <= x <= high", "nullif(x, y)": "None if x == y else x",
        "equals(x, y)": "x == y", "eq(x, y)": "x == y",
    },
    ATOM: {
        "ln(x)": "log(x)", "loge(x)": "log(x)", "log10(x)": "log(x) / log(10)", "lg(x)": "log(x) / log(10)",
        "log2(x)": "log(x) / log(2)", "lb(x)": "log(x) / log(2)", "log1p(x)": "log(1 + x)",
        "exp(x)": "2.718281828459045 ** x", "expm1(x)": "2.718281828459045 ** x - 1",
        "exp2(x)": "2 ** x", "sqr(x)": "x ** 2", "square(x)": "x ** 2",
        "root(x)": "sqrt(x)", "cbrt(x)": "x ** (1 / 3)", "hypot(x, y)": "sqrt(x ** 2 + y ** 2)",
        "power(x, y)": "pow(x, y)", "exponent(x, y)": "pow(x, y)",
        "mod(x, y)": "x % y", "fmod(x, y)": "x % y", "remainder(x, y)": "x % y", "div(x, y)": "x // y",
        "quotient(x, y)": "x // y", "divide(x, y)": "x / y", "add(x, y)": "x + y", "subtract(x, y)": "x - y",
        "minus(x, y)": "x - y", "neg(x)": "-x", "pos(x)": "x", "multiply(x, y)": "x * y",
        "mix(x, y, t)": "x * (1 - t) + y * t", "lerp(x, y, t)": "x * (1 - t) + y * t",
        "maximum(x, y)": "max(x, y)", "greatest(x, y)": "max(x, y)", "fmax(x, y)": "max(x, y)",
        "minimum(x, y)": "min(x, y)", "least(x, y)": "min(x, y)", "fmin(x, y)": "min(x, y)",
        "trunc(x)": "int(x)", "truncate(x)": "int(x)", "fix(x)": "int(x)", "integer(x)": "int(x)", "toint(x)": "int(x)",
        "cint(x)": "int(x)", "double(x)": "float(x)", "number(x)": "float(x)", "absolute(x)": "abs(x)", "fabs(x)": "abs(x)",
        "ceiling(x)": "ceil(x)", "roundup(x)": "ceil(x)", "rounddown(x)": "floor(x)", "rint(x)": "round(x)",
        "clip(x, low, high)": "clamp(x, low, high)", "constrain(x, low, high)": "clamp(x, low, high)",
        "length(text)": "len(text)", "strlen(text)": "len(text)", "char_length(text)": "len(text)",
    },
}  # fmt: skip
"""How each is called, and what it is here, by the least precedence that an argument has there without brackets."""

_METHODS: dict[int, dict[str, str]] = {
    ADDITIVE: {
        **{f"{name}(text, part)": "part in text"
           for name in ("count", "contains", "includes", "has", "startswith", "starts_with", "endswith", "ends_with", "find",
                        "rfind", "index", "indexof", "search", "match", "matches", "like", "ilike", "__contains__")},
        **{f"{name}(text, other)": "text == other" for name in ("equals", "eq", "equalsignorecase", "is")},
    },
    ATOM: {
        **{f"{name}(text)": "text"
           for name in ("lower", "upper", "casefold", "title", "capitalize", "swapcase", "tolowercase", "touppercase",
                        "lowercase", "uppercase", "strip", "lstrip", "rstrip", "trim", "tostring", "str")},
        **{f"{name}(text)": "len(text)" for name in ("length", "size", "len")},
    },
}  # fmt: skip
"""The same for the methods of strings, whose first parameter is what the method is called of."""
_PLACES = ("count", "find", "rfind", "index", "indexof")
"""Methods that give a number, where only whether there is one is known here."""

_JOINED = ("and", "or", "maximum", "greatest", "minimum", "least", "coalesce")
"""Those that take more arguments in the same way."""

_MEAN = "write `(a + b) / 2`, or divide a `sum` step by a `count` step"
_NO_TEXTS = "texts cannot be made or changed; compare them as they are"
_NO_ANGLES = "there are no functions of angles"
_NO_CLOCK = "declare the year in `parameters` and write `param.AS_OF_YEAR`"
_A_STEP = "give it a step of its own"
_NO_SPREAD = "there is none; use `max`, `min` or a mean"

CLOCK = dict.fromkeys(("now", "today", "utcnow", "current_date", "getdate", "sysdate", "curdate"), _NO_CLOCK)

_PROSE: dict[str, str] = {
    "average": _MEAN, "mean": _MEAN, "avg": _MEAN, "median": "there is no median; use `max`, `min` or a mean",
    **{name: f"`{name}` is an operation: {_A_STEP}" for name in ("count", "lookup", "case")},
    **dict.fromkeys(("countif", "countifs", "count_if", "counta"), f"`count` with `where` is an operation: {_A_STEP}"),
    **dict.fromkeys(("sumif", "sumifs", "sum_if"), f"`sum` with `where` is an operation: {_A_STEP}"),
    **dict.fromkeys(("vlookup", "hlookup", "xlookup", "decode"), f"`lookup` is an operation: {_A_STEP}"),
    **dict.fromkeys(("any", "exists", "some"), "write `a or b`, or count in a step and write `N > 0`"),
    **dict.fromkeys(("all", "every"), "write `a and b`, or count in a step what does not match and write `N == 0`"),
    **dict.fromkeys(("bool", "boolean"), "write a comparison, such as `x != 0`"),
    **dict.fromkeys(("std", "stdev", "stddev", "var", "variance", "mode", "percentile", "quantile"), _NO_SPREAD),
    **dict.fromkeys(("sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh",
                     "sec", "csc", "cot", "degrees", "radians", "pi"), _NO_ANGLES),
    **dict.fromkeys(("str", "text", "concat", "upper", "lower", "ucase", "lcase", "trim", "strip", "lstrip", "rstrip",
                     "replace", "substring", "substr", "left", "right", "mid", "format", "repr", "ascii", "chr", "char"),
                    _NO_TEXTS),
    **CLOCK,
}  # fmt: skip

_NAMES = """
map filter reduce list set dict tuple range zip sorted reversed enumerate iter next slice bin oct hex ord hash id type
dir vars globals locals getattr setattr hasattr delattr isinstance issubclass callable eval exec compile open input
print help object super property memoryview bytes bytearray complex frozenset divmod aiter anext breakpoint rand random
randint randrange uniform choice shuffle fact factorial comb perm gcd lcm isqrt fsum prod product isfinite isinf isclose
copysign frexp ldexp modf gamma lgamma erf erfc nextafter ulp dist sumprod e tau inf nan fma distinct first last nth
rank row_number lag lead ntile cast convert find search index match offset indirect year month day hour minute second
date datetime time datediff dateadd strftime lin log_b top pct abv sim norm argmax argmin cumsum diff sort unique
flatten
"""
_NOTHING_LIKE_IT = frozenset(_NAMES.split())
"""Those that a formula can do nothing like; none of ours is meant."""


@dataclass(frozen=True, slots=True)
class Form:
    """What stands for a call: `text`, in which the `parameters` are to be replaced by the arguments."""

    parameters: tuple[str, ...]
    text: str
    least: int

    def of(self, arguments: Sequence[Written]) -> str:
        """The text with the arguments; those beyond the last parameter are joined to it as it is to the one before."""
        between = re.findall(rf"\b{self.parameters[0]}\b(.+?)\b{self.parameters[-1]}\b", self.text)

        def argument(match: re.Match[str]) -> str:
            before, after = self.text[: match.start()], self.text[match.end() :]
            is_enclosed = before.endswith(("(", ", ")) and after.startswith((")", ","))
            least = CONDITIONAL if is_enclosed else self.least
            place = self.parameters.index(match.group())
            following = arguments[place:] if place == len(self.parameters) - 1 else arguments[place : place + 1]
            return "".join([following[0](least), *(f"{between[0]}{more(least)}" for more in following[1:])])

        return re.sub("|".join(rf"\b{name}\b" for name in self.parameters), argument, self.text)


def _forms(table: dict[int, dict[str, str]]) -> dict[tuple[str, int], Form]:
    forms = {}
    for least, calls in table.items():
        for call, text in calls.items():
            name, _, rest = call.rstrip(")").partition("(")
            parameters = tuple(rest.split(", "))
            forms[name, len(parameters)] = Form(parameters, text, least)
    return forms


_BY_CALL = _forms(_FORMS)
_BY_METHOD = _forms(_METHODS)

FOREIGN_FUNCTIONS: dict[str, str] = {
    **{name: f"write `{form.text}`" for (name, _), form in reversed(_BY_CALL.items())},
    **_PROSE,
    **dict.fromkeys(_NOTHING_LIKE_IT, ""),
}
"""Names from elsewhere, in small letters, with the help for a call of them; empty where there is nothing like it."""


def form_of(name: str, arguments: int) -> Form | None:
    """How a call with so many arguments is written here."""
    form = _BY_CALL.get((name, arguments))
    return _BY_CALL.get((name, 2)) if form is None and arguments > 2 and name in _JOINED else form


def help_for_method(value: str, name: str, arguments: Sequence[str]) -> str:
    """Return what to write for a method called of a value, such as `context.name.lower()`; empty where nothing is like it.

    `value` and `arguments` are formulas that need no brackets anywhere.
    """
    texts = [value, *arguments]
    form = _BY_METHOD.get((name.lower(), len(texts)))
    if form is not None:
        text = form.of([partial(_always, each) for each in texts])
        number = f", or `int({text})` for 1 or 0" if name.lower() in _PLACES else ""
        case = "" if text.startswith("len(") else "; case matters"
        return f"write `{text}`{number}{case}"
    if name in FUNCTIONS:
        return f"write `{name}({', '.join(texts)})`"
    form = form_of(name.lower(), len(texts))
    return f"write `{form.of([partial(_always, each) for each in texts])}`" if form is not None else ""


def _always(text: str, least: int) -> str:
    return text
