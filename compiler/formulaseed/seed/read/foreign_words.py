"""The operations and types that people and models know from elsewhere, with what to write instead.

A row is a word in small letters and a help. A help with a replacement is also how the word is read on; none is applied
by `--fix`, but for the types that are the same under another name.
"""

from __future__ import annotations

from collections.abc import Iterator

from formulaseed.diagnostics.model import Help, Suggestion
from formulaseed.language.functions import FUNCTIONS
from formulaseed.language.hints import FUNCTION_HELP
from formulaseed.language.types import Base

FOREIGN_TYPES: dict[str, Help] = {
    **dict.fromkeys(("float", "double", "decimal", "real"), Suggestion("did you mean `number`?", "number")),
    **dict.fromkeys(("str", "text"), Suggestion("did you mean `string`?", "string")),
    **dict.fromkeys(("list", "choice", "category"), Suggestion("did you mean `enum`?", "enum", "unsafe")),
}

_EXPR = {
    "2 * N_MILD + 5 * N_SEVERE": (
        "weighted_sum", "weighted", "linear", "linear_combination", "score", "combine", "blend", "formula", "calc",
        "calculate", "calculation", "compute", "arithmetic", "math", "expression", "function", "evaluate",
    ),
    "N_MILD / N if N > 0 else 0": (
        "ratio", "rate", "share", "divide", "division", "fraction", "proportion", "percent", "percentage", "density",
    ),
    "N_MILD + N_SEVERE": ("add", "addition", "plus"),
    "N - N_MILD": ("subtract", "subtraction", "difference", "minus", "diff", "sub"),
    "N_MILD * 2": ("multiply", "multiplication", "product", "times", "scale"),
    "clamp(SCORE, 0, 10)": ("clamp", "clip", "cap", "bound", "normalize", "normalise"),
    "pow(SCORE, 2)": ("pow", "power"),
    "len(context.name)": ("len", "length"),
    **{f"{each.name}(SCORE)": (each.name,) for each in FUNCTIONS.values() if each.least == 1 and Base.NUMBER in each.takes},
    "int(N_MILD > 0)": ("any", "exists", "some", "boolean", "bool", "compare", "comparison"),
    "int(N_MILD == N)": ("all", "every"),
}  # fmt: skip
_MEAN = (
    "average", "avg", "mean", "weighted_average", "weighted_avg", "weighted_mean", "average_if", "averageif", "mean_of",
)  # fmt: skip
_STEPS = {
    '{"op": "count", "where": {"meta.stars": {"<": 3}}}': ("count_if", "countif", "count_where", "tally", "number_of"),
    '{"op": "sum", "expr": "meta.useful", "where": {"meta.stars": {"<": 3}}}': ("sum_if", "sumif", "sum_where"),
    '{"op": "sum", "expr": "5 - meta.stars"}, or {"op": "count", "where": {"meta.stars": {"<": 3}}}': (
        "aggregate", "aggregation", "agg", "total", "accumulate", "reduce", "sum_of",
    ),
    '{"op": "case", "rules": [{"when": "N > 3", "then": 1}, {"else": 0}]}': (
        "if", "switch", "when", "rules", "conditional", "if_else", "ifelse", "if_then_else", "ternary", "cond", "choose",
        "classify", "classification", "bucket", "threshold", "tier", "verdict", "label", "decision", "rule",
    ),
    '{"op": "define_filter", "where": {"meta.stars": {"<": 3}}}, '
    'or {"op": "define_filter", "expr": "meta.stars < 3 or meta.useful > 5"}': (
        "filter", "where", "flag", "condition", "predicate", "select", "match",
    ),
    '{"op": "lookup", "source": "context.city", "match": "exact", "table": {"Rome": 2.0}, "default": 1.0}': (
        "map", "mapping", "table", "dict", "vlookup", "decode", "translate",
    ),
    '{"op": "const", "value": 3}': ("literal", "number", "value", "set", "parameter", "param"),
}  # fmt: skip
_NONE = {
    **{
        name: FUNCTION_HELP[name][0]
        for name in ("median", "std", "stdev", "stddev", "variance", "percentile", "quantile")
    },
    **dict.fromkeys(
        ("group_by", "groupby", "distinct", "unique", "sort", "order_by", "rank", "top"),
        'reviews cannot be grouped or sorted; count each kind: {"op": "count", "where": {"meta.stars": {"<": 3}}}',
    ),
}
_READ_AS = {
    **dict.fromkeys(("formula", "calc", "calculate", "expression", "compute", "ratio"), "expr"),
    **dict.fromkeys(("if", "switch", "when", "rules"), "case"),
    **dict.fromkeys(("filter", "where"), "define_filter"),
    **dict.fromkeys(("count_if", "countif", "count_where"), "count"),
    **dict.fromkeys(("sum_if", "sumif", "sum_where"), "sum"),
}
"""Those that take the keys of one operation."""


def _operations() -> Iterator[tuple[str, str]]:
    for formula, words in _EXPR.items():
        yield from ((word, f'write {{"op": "expr", "expr": "{formula}"}}') for word in words)
    mean = 'divide a `sum` step by a `count` step: {"op": "expr", "expr": "TOTAL / N if N > 0 else 0"}'
    yield from ((word, mean) for word in _MEAN)
    for step, words in _STEPS.items():
        yield from ((word, f"write {step}") for word in words)
    yield from _NONE.items()


FOREIGN_OPERATIONS: dict[str, Help] = {
    word: Suggestion(help, _READ_AS[word], "unsafe") if word in _READ_AS else help for word, help in _operations()
}
