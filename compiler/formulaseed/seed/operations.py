"""Defines the operations of compute steps in one table, from which the reader, the schemas, the prompts and the docs derive.

An entry lists the keys of a step and the kinds of their values; its `lower` builds the surface operation from the values. A
new operation is an entry here, and nothing else as long as it can be lowered to existing operations.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from functools import cache

from formulaseed.diagnostics.catalogue import seed as catalogue
from formulaseed.diagnostics.model import Help
from formulaseed.language import ast
from formulaseed.language.aggregates import AGGREGATES, AggregateFunction
from formulaseed.seed import surface
from formulaseed.seed.read.steps import Arguments
from formulaseed.seed.surface import Broken, NoLiteral
from formulaseed.source.json_reader import Plain
from formulaseed.source.text import value_node

Step = dict[str, Plain]


@value_node
class Key:
    """A key of a step. `kind` selects the method that reads the value, from `read.steps.READERS`."""

    name: str
    kind: str
    doc: str
    required: bool = False
    examples: tuple[Plain, ...] = ()


@value_node
class OperationSpec:
    """An operation of compute steps: its keys in addition to `COMMON_STEP_KEYS`, its result, and how a step is lowered.

    A step has exactly one of the keys `one_of`, and at least one of `any_of`. `lower` builds the surface operation of a step
    whose keys could be read. `example` is a whole step. `also_called` are the names of the operation in other tools.
    """

    name: str
    doc: str
    result: str
    keys: tuple[Key, ...]
    lower: Callable[[Arguments], surface.Operation]
    example: Step
    one_of: tuple[str, ...] = ()
    any_of: tuple[str, ...] = ()
    also_called: str = ""


COMMON_STEP_KEYS = ("name", "op", "label", "unit", "adverse", "sources", "allow")


def list_step_keys(operation: OperationSpec) -> tuple[str, ...]:
    """Return the keys that a step with this operation can have, those of every step included."""
    return ("name", "op", *(key.name for key in operation.keys), *COMMON_STEP_KEYS[2:])


def list_all_step_keys() -> tuple[str, ...]:
    """Return the keys that a step of any operation can have, each once."""
    return tuple(dict.fromkeys(key for operation in OPERATIONS.values() for key in list_step_keys(operation)))


@cache
def list_foreign_operations() -> dict[str, Help]:
    """Map each name that other tools have for an operation to the help that shows the steps to write.

    A name of several operations gets the examples of all. The result is cached: callers must not change it.
    """
    steps: dict[str, list[str]] = {}
    for operation in OPERATIONS.values():
        example = json.dumps({key: value for key, value in operation.example.items() if key != "name"})
        for word in operation.also_called.split():
            steps.setdefault(word, []).append(example)
    return {word: catalogue.help_for_operation(examples) for word, examples in steps.items()}


# --- lowering


def _define_filter(step: Arguments) -> surface.Operation:
    """Return a filter with the conjunction of all conditions of a step; `Broken`, with a report, without any.

    The problem goes to `step.problems`.
    """
    condition = surface.join_conjuncts([part for whole in step.expressions.values() for part in ast.conjuncts(whole)])
    if condition is None:
        step.problems.report(catalogue.empty_filter(step.span))
        return Broken()
    return surface.Filter(condition)


# --- the table

_WHERE = Key(
    "where", "conditions", "Which reviews count: all these conditions must hold.", examples=({"meta.stars": {"<": 3}},)
)
_REVIEW_FORMULA = Key("expr", "review formula", "A formula over fields of the review", examples=("5 - meta.stars",))
_RULES: tuple[Plain, ...] = ([{"when": "N > 2", "then": "many"}, {"else": "few"}],)


_AGGREGATE_KEYS = {
    "where": _WHERE,
    "field": Key(
        "field", "name", "One field of the review; a formula goes into `expr`.", examples=("meta.year", "meta.stars")
    ),
    "expr": _REVIEW_FORMULA,
    "default": Key("default", "number", "The value over no reviews."),
}
_REVIEW_CONDITION = Key("expr", "review condition", "A condition on the review", examples=("meta.stars <= 2",))


def build_aggregate_operation(entry: AggregateFunction) -> OperationSpec:
    """Return the operation of compute steps that computes the aggregate `entry` of the formula language.

    If the aggregate takes one of `field` and `expr`, that key is required; if it takes both, a step has exactly one of
    them.
    """

    def lower(step: Arguments) -> surface.Operation:
        """Return the aggregate of a step whose keys were read; it has no operand if the aggregate takes none."""
        operand = None
        if entry.takes != "nothing":
            operand = step.expressions.get("field") or step.get_expression("expr" if "expr" in entry.keys else "field")
        return ast.Aggregate(step.span, entry.name, operand, step.where, step.literals.get("default"))

    operand_keys = [key for key in ("field", "expr") if key in entry.keys]
    keys = {name: _AGGREGATE_KEYS[name] for name in entry.keys}
    if entry.takes == "condition":
        keys["expr"] = _REVIEW_CONDITION
    if len(operand_keys) == 1:
        keys[operand_keys[0]] = replace(keys[operand_keys[0]], required=True)
    return OperationSpec(
        entry.name,
        entry.description,
        entry.result_doc,
        tuple(keys.values()),
        lower,
        {**entry.example},
        one_of=tuple(operand_keys) if len(operand_keys) > 1 else (),
        also_called=entry.also_called,
    )


_TABLE = (
    OperationSpec(
        "define_filter",
        'A condition on reviews with a name, used as `"$NAME": true`, or `false` for its opposite; all of its keys must hold.',
        "boolean, for each review",
        (
            Key("extraction", "bare conditions", "Extracted fields, by their bare names."),
            Key("meta", "bare conditions", "Metadata of the review, by bare names."),
            Key("context", "bare conditions", "Fields of the restaurant, by bare names."),
            _WHERE,
            Key(
                "expr",
                "condition formula",
                "A condition over `extraction.*`, `meta.*`, `context.*`, `param.*` and other filters, such as one with `or`.",
                examples=("extraction.severity == 'severe' or meta.stars <= 2", "$IS_INCIDENT and not $IS_OLD"),
            ),
        ),
        _define_filter,
        {"name": "IS_LOW", "op": "define_filter", "where": {"meta.stars": {"<": 3}}},
        any_of=("extraction", "meta", "context", "where", "expr"),
        also_called="filter where flag condition predicate select match",
    ),
    *(build_aggregate_operation(entry) for entry in AGGREGATES.values()),
    OperationSpec(
        "lookup",
        "The value of the key that equals the source (`exact`), of the first key, in table order, that it contains "
        "(`substring_first`), or the highest value among the keys that it contains (`substring_max`); "
        "else `default`. Case matters.",
        "that of the table's values",
        (
            Key("source", "name", "The string that is looked up.", required=True, examples=("context.categories",)),
            Key("table", "table", "Keys and their values. Case matters.", True, ({"Thai": 2.0, "Pizza": 0.5},)),
            Key("match", "match", "How keys are found in the source.", required=True, examples=("exact",)),
            Key("default", "literal", "The value if no key is found."),
        ),
        lambda step: surface.Lookup(
            step.get_expression("source"), step.table, step.match, step.literals.get("default")
        ),
        {"name": "FEE", "op": "lookup", "source": "context.city", "match": "exact", "table": {"Rome": 2}, "default": 1},
        also_called="map mapping table dict vlookup decode translate",
    ),
    OperationSpec(
        "expr",
        "A formula over earlier steps, `context.*` and `param.*`.",
        "that of the formula",
        (
            Key(
                "expr",
                "formula",
                "A formula over earlier steps",
                True,
                ("N_MILD + N_SEVERE", "max(0.0, min(20.0, RAW))"),
            ),
        ),
        lambda step: surface.Formula(step.get_expression("expr")),
        {"name": "MEAN", "op": "expr", "expr": "(2 * N_MILD + 5 * N_SEVERE) / N if N > 0 else 0"},
        also_called=(
            "weighted_sum weighted linear linear_combination score combine blend formula calc calculate "
            "calculation compute arithmetic math expression function evaluate ratio rate share divide division "
            "fraction proportion percent percentage density add addition plus subtract subtraction difference "
            "minus diff sub multiply multiplication product times scale clamp clip cap bound normalize normalise "
            "pow power round abs log sqrt floor ceil int float len length boolean bool "
            "compare comparison weighted_average weighted_avg median stdev percentile weighted_mean"
        ),
    ),
    OperationSpec(
        "const",
        "A literal.",
        "that of the literal",
        (Key("value", "literal", "A number, a string, true or false.", required=True, examples=(3,)),),
        lambda step: surface.Const(step.literals["value"]),
        {"name": "BASE_RISK", "op": "const", "value": 3},
        also_called="literal number value set parameter param constant",
    ),
    OperationSpec(
        "case",
        "`then` of the first rule whose `when` holds; the last rule is `else`. These are literals. With `source` each `when` "
        "begins with a comparison, such as `< 4.0`.",
        "that of the rules' literals",
        (
            Key("source", "name", "What each `when` begins with.", examples=("SCORE",)),
            Key("rules", "rules", "The rules in order; the last is `else`.", True, _RULES),
        ),
        lambda step: surface.Case(step.rules, step.otherwise or NoLiteral(step.span, None), step.else_because),
        {"name": "VERDICT", "op": "case", "rules": [{"when": "N > 3", "then": 1}, {"else": 0}]},
        also_called=(
            "if switch when rules conditional if_else ifelse if_then_else ternary cond choose classify "
            "classification bucket threshold tier verdict label decision rule"
        ),
    ),
)

OPERATIONS: dict[str, OperationSpec] = {operation.name: operation for operation in _TABLE}
