"""Defines the table of aggregates: one value of all matching reviews. Adding an aggregate is one entry.

An entry states each fact once: what the aggregate takes, its type and range, its value over no reviews, how it is computed row by
row, how a backend writes that, and its words. The readers, the checker, the reference evaluator, the backends, the
explanations, the JSON Schema, the docs and the prompts read the entry; no other module names an aggregate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from formulaseed.language import intervals
from formulaseed.language.definitions import Definition, count_rows, define_distinct, negative
from formulaseed.language.exactness import Exactness, exact_if_exact, least_exact, rounded_if_exact
from formulaseed.language.intervals import Range
from formulaseed.language.operators import check_finite
from formulaseed.language.types import BOOLEAN, INTEGER, NUMBER, Base, Type, Value

Takes = Literal["nothing", "number", "condition", "value"]
"""What an aggregate takes of each review: a count nothing, a sum a number, `any` a condition, `count_distinct` any value."""
Purpose = Literal["count", "total", "selection", "other"]
"""What the value says: how many reviews match, what they add up to, which of their values is the extreme, or something else."""

_MEAN_ERROR = 1e-6
"""The relative rounding error of a mean is smaller for fewer than 2**32 rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Accumulator:
    """A variable that each matching row updates.

    `start` and `type` are templates: `{type}` is the type of the operand, `{zero}` its zero. `suffix` names the accumulator
    in the other templates of a `Spelling`; the accumulator `state` has the name of the step.
    """

    start: str
    type: str = ""
    suffix: str = "state"


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopSpelling:
    """The code of an aggregate in a backend: its accumulators, their update for a matching row, and the value after the loop.

    In the templates the accumulators have the names of their suffixes, and `{value}` is the operand for the row.
    """

    accumulators: tuple[Accumulator, ...]
    update: str
    """The statement for a row."""
    test: str = ""
    """The condition under which a row changes anything; empty if each row does."""
    names_value: bool = False
    """Whether `{value}` must be a name, since the templates mention it twice."""
    updates_if: bool | None = None
    """For an operand that is a condition: the truth that it must have for the row to change anything."""
    result: str = ""
    """The value after the loop; empty if it is `{state}`."""
    is_empty: str = ""
    """A condition that is true after the loop if no row matched."""
    shortcut: str = ""
    """An expression for the value over all rows that needs no loop; empty if there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AggregateFunction:
    """An entry of the table: an aggregate of the language.

    `start`, `step` and `finish` compute its value. `start` takes the type of the operand, and returns the first state.
    `step` takes a state and one more operand, and returns the next state; it may change the old one. `finish` returns the value.
    """

    name: str
    description: str
    keys: tuple[str, ...]
    """The keys of a step with this operation. If `field` and `expr` are listed, a step has exactly one of them."""
    takes: Takes
    result: Callable[[Type], Type]
    """Return the type of the value from the type of the operand, which is INTEGER if the aggregate takes nothing."""
    range: Callable[[Range], Range]
    """Return the range of a numeric value over one or more reviews from the range of the operand."""
    start: Callable[[Type], Any]
    step: Callable[[Any, Any], Any]
    finish: Callable[[Any], Value] = lambda state: state
    purpose: Purpose = "other"
    intermediate: Callable[[Range], Range] | None = None
    """Return the range of the numbers on the way to the value; None if these are never larger than an operand or a count."""
    exactness: Callable[[Sequence[Exactness]], Exactness] = least_exact
    """Return the exactness of a value that is not an integer from the exactness of the operand."""
    depends_on_order: bool = False
    """Whether a different order of the rows may round differently, if the operands are floats."""
    keeps_integers: bool = True
    """Whether the value over integers is an integer."""
    ignores_null: bool = False
    """Whether a review whose operand is null is left out; otherwise the aggregate fails for it."""
    phrase: str = "{}"
    """A description of the value for explanations, such as `the sum of {}`; `{}` is the operand."""
    preposition: Literal["over", "of"] = "over"
    """The word between the `phrase` and the reviews."""
    others_have: str = ""
    """For a selection: `more` or `less`, by how the operands of the other matching reviews compare with the value."""
    result_doc: str
    """The type of the value, in words."""
    example: Mapping[str, Any]
    """A whole step of a seed."""
    examples: tuple[tuple[tuple[Value, ...], Value], ...]
    """Operands of reviews with the value over them; they run as tests in every evaluator."""
    also_called: str = ""
    """The names of the aggregate in other tools, separated by spaces."""
    spellings: Mapping[str, LoopSpelling] = field(default_factory=dict)
    """The code by backend."""
    definition: Definition | None = None
    """Return the value over one or more reviews by simpler aggregates, for proofs; None if these know nothing of it."""
    query: str = ""
    """The SQL of the aggregate of `{value}`, or from `{count}`, the number of rows; empty if it depends on the order of the
    rows, and each dialect writes it."""

    @property
    def empty_value(self) -> Value:
        """The value over no reviews; None if a step must state it as `default`."""
        return self.finish(self.start(INTEGER))

    @property
    def counts(self) -> bool:
        """True if the value is the number of matching reviews."""
        return self.purpose == "count"

    @property
    def selects(self) -> bool:
        """True if the value is that of one of the matching reviews."""
        return self.purpose == "selection"

    def compute(self, operands: Iterable[Any], ty: Type) -> Any:
        """Compute the value over `operands`, one for each matching review, of the type `ty`.

        Returns None over no reviews if the aggregate then has no value. Raises `Fault` if the value is too large.
        """
        state = self.start(ty)
        for operand in operands:
            state = self.step(state, operand)
        return self.finish(state)


def _same_type(operand: Type) -> Type:
    return operand.non_null()


def _zero(operand: Type) -> int | float:
    return 0 if operand.base is Base.INTEGER else 0.0


def _sum_range(term: Range) -> Range:
    total = intervals.multiply(term, intervals.COUNT)  # contains 0, since a count can be 0
    return Range(total.low, total.high)


def _mean_range(term: Range) -> Range:
    """Return the range of a mean: that of the operand, widened by the sum's rounding, which keeps the sign."""
    error = _MEAN_ERROR * max(abs(term.low), abs(term.high))
    low = term.low - error
    if term.low >= 0:
        low = max(low, term.low * (1 - _MEAN_ERROR))
    high = term.high + error
    if term.high <= 0:
        high = min(high, term.high * (1 - _MEAN_ERROR))
    return Range(low, high)


def _keep_larger(state: Any, operand: Any) -> Any:
    return operand if state is None or operand > state else state


def _keep_smaller(state: Any, operand: Any) -> Any:
    return operand if state is None or operand < state else state


def _finish_mean(state: tuple[Any, int]) -> Value:
    """Return the mean from the total and the number of operands; None if there are none. Raises `Fault` if it is too large."""
    total, number = state
    return None if number == 0 else float(check_finite(total) / number)


def _add_distinct(state: set[Any], operand: Any) -> set[Any]:
    """Add an operand to the set `state`, unless it is null, and return the set."""
    if operand is not None:
        state.add(operand)
    return state


def _selection_spellings(sign: str) -> Mapping[str, LoopSpelling]:
    """Return the code, by language, that keeps the extreme operand.

    `sign`, `>` or `<`, compares an operand with the extreme so far.
    """
    python = LoopSpelling(
        accumulators=(Accumulator(start="None", type="{type} | None"),),
        test=f"{{state}} is None or {{value}} {sign} {{state}}",
        update="{state} = {value}",
        names_value=True,
        is_empty="{state} is None",
    )
    return {"python": python}


def _flag_spellings(start: bool) -> Mapping[str, LoopSpelling]:
    """Return the code of a flag that is `start` until an operand is the opposite."""
    update = f"{{state}} = {not start}"
    return {"python": LoopSpelling(accumulators=(Accumulator(start=str(start)),), update=update, updates_if=not start)}


AGGREGATES: dict[str, AggregateFunction] = {
    entry.name: entry
    for entry in (
        AggregateFunction(
            name="count", query="{count}", keys=("where",), takes="nothing", purpose="count",
            description="How many reviews match `where`; all of them without it.", result_doc="integer",
            result=lambda _: INTEGER, range=lambda _: intervals.COUNT, start=lambda _: 0, step=lambda state, _: state + 1,
            definition=lambda terms, where, _: count_rows(terms, where),
            example={"name": "N_LOW", "op": "count", "where": {"meta.stars": {"<": 3}}},
            examples=(((None, None, None), 3), ((), 0)),
            also_called="count_if countif count_where tally number_of group_by groupby",
            spellings={
                "python": LoopSpelling(accumulators=(Accumulator(start="0"),), update="{state} += 1", shortcut="len(rows)")
            },
        ),
        AggregateFunction(
            name="sum", keys=("expr", "where"), takes="number", purpose="total", depends_on_order=True,
            description="The sum of a formula over the matching reviews; 0 over none.",
            result_doc="integer or number, as the formula", phrase="the sum of {}",
            result=_same_type, range=_sum_range, intermediate=_sum_range, exactness=exact_if_exact,
            start=_zero, step=lambda state, operand: state + operand, finish=check_finite,
            definition=lambda terms, where, operand: terms.total(where, operand),
            example={"name": "USEFUL", "op": "sum", "expr": "meta.useful", "where": {"meta.stars": {"<": 3}}},
            examples=(((2, 3, 4), 9), ((0.5, 0.25), 0.75), ((), 0)),
            also_called="sum_if sumif sum_where sum_of aggregate aggregation agg total accumulate reduce weighted_sum weighted",
            spellings={"python": LoopSpelling(accumulators=(Accumulator(start="{zero}"),), update="{state} += {value}")},
        ),
        AggregateFunction(
            name="max", query="MAX({value})", keys=("field", "expr", "where", "default"), takes="number", purpose="selection",
            description="The largest value over the matching reviews; over none `default`, which is needed unless every use is "
            "guarded by a count of the same reviews.", result_doc="integer or number, as the field or formula",
            phrase="the highest {}", preposition="of", others_have="less",
            result=_same_type, range=lambda term: term, start=lambda _: None, step=_keep_larger,
            definition=lambda terms, where, operand: terms.highest(where, operand),
            example={"name": "LATEST", "op": "max", "field": "meta.year", "default": 2020},
            examples=(((2, 7, 3), 7), ((-0.5, -2.5), -0.5)),
            also_called="maximum largest highest latest", spellings=_selection_spellings(">"),
        ),
        AggregateFunction(
            name="min", query="MIN({value})", keys=("field", "expr", "where", "default"), takes="number", purpose="selection",
            description="The smallest value over the matching reviews; over none `default`, which is needed unless every use is "
            "guarded by a count of the same reviews.", result_doc="integer or number, as the field or formula",
            phrase="the lowest {}", preposition="of", others_have="more",
            result=_same_type, range=lambda term: term, start=lambda _: None, step=_keep_smaller,
            definition=lambda terms, where, operand: negative(terms, terms.highest(where, negative(terms, operand))),
            example={"name": "WORST", "op": "min", "expr": "meta.stars - 1", "default": 0},
            examples=(((2, 7, 3), 2), ((-0.5, -2.5), -2.5)),
            also_called="minimum smallest lowest earliest", spellings=_selection_spellings("<"),
        ),
        AggregateFunction(
            name="mean", keys=("field", "expr", "where", "default"), takes="number", depends_on_order=True, keeps_integers=False,
            description="The sum of a field or formula over the matching reviews, in the order of the rows, divided by their "
            "number; over none `default`, which is needed unless every use is guarded by a count of the same reviews.",
            result_doc="number", phrase="the mean of {}",
            result=lambda _: NUMBER, range=_mean_range, intermediate=_sum_range, exactness=rounded_if_exact,
            start=lambda ty: (_zero(ty), 0), step=lambda state, operand: (state[0] + operand, state[1] + 1), finish=_finish_mean,
            definition=lambda terms, where, operand: terms.compute("/", terms.total(where, operand), count_rows(terms, where)),
            example={"name": "MEAN_STARS", "op": "mean", "field": "meta.stars", "default": 3.0},
            examples=(((1, 2, 4, 5), 3.0), ((0.5, 1.0), 0.75)), also_called="average avg averageif arithmetic_mean",
            spellings={
                "python": LoopSpelling(
                    accumulators=(Accumulator(start="{zero}", suffix="total"), Accumulator(start="0", suffix="number")),
                    update="{total} += {value}\n{number} += 1", result="{total} / {number}", is_empty="{number} == 0",
                )
            },
        ),
        AggregateFunction(
            name="any", query="BOOL_OR({value})", keys=("expr", "where"), takes="condition",
            description="Whether a condition holds for one of the matching reviews or more; false over none.",
            result_doc="boolean", phrase="whether {} for any",
            result=lambda _: BOOLEAN, range=lambda term: term, start=lambda _: False,
            step=lambda state, operand: state or bool(operand), preposition="of",
            definition=lambda terms, where, operand: terms.compare(
                ">=", count_rows(terms, terms.conjoin(where, operand)), terms.number(1)
            ),
            example={"name": "HAS_ONE_STAR", "op": "any", "expr": "meta.stars == 1"},
            examples=(((False, True, False), True), ((False,), False), ((), False)),
            also_called="exists some has", spellings=_flag_spellings(False),
        ),
        AggregateFunction(
            name="all", query="BOOL_AND({value})", keys=("expr", "where"), takes="condition",
            description="Whether a condition holds for each of the matching reviews; true over none.",
            result_doc="boolean", phrase="whether {} for all",
            result=lambda _: BOOLEAN, range=lambda term: term, start=lambda _: True,
            step=lambda state, operand: state and bool(operand), preposition="of",
            definition=lambda terms, where, operand: terms.compare(
                "<=", count_rows(terms, terms.conjoin(where, terms.negate(operand))), terms.number(0)
            ),
            example={"name": "ALL_GOOD", "op": "all", "expr": "meta.stars >= 3"},
            examples=(((True, True), True), ((True, False), False), ((), True)),
            also_called="every", spellings=_flag_spellings(True),
        ),
        AggregateFunction(
            name="count_distinct", query="COUNT(DISTINCT {value})", keys=("field", "where"), takes="value", ignores_null=True,
            description="How many different values a field has over the matching reviews; null is no value.",
            result_doc="integer", phrase="the number of different values of {}",
            result=lambda _: INTEGER, range=lambda _: intervals.COUNT, start=lambda _: set(), step=_add_distinct, finish=len,
            definition=define_distinct,
            example={"name": "N_YEARS", "op": "count_distinct", "field": "meta.year"},
            examples=(((3, 1, 3), 2), (("a", "b", "a"), 2), ((), 0)),
            also_called="distinct unique nunique countdistinct distinct_count",
            spellings={
                "python": LoopSpelling(
                    accumulators=(Accumulator(start="set()", type="set[{type}]", suffix="values"),),
                    update="{values}.add({value})", result="len({values})",
                )
            },
        ),
    )
}  # fmt: skip
COUNT = AGGREGATES["count"]
"""The aggregate that seeds v1 write as the sum of a condition."""
