"""The formulas of the solver have a model for every restaurant: the heart of what makes a proof a proof."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from exact import exact, exact_values
from formulaseed.documents import FormulaSeed, load_seed
from formulaseed.ir import nodes
from formulaseed.language import typed
from formulaseed.language.typed import Symbol, SymbolKind
from formulaseed.language.types import Base
from formulaseed.proofs.lowering import Lowering, may_fail
from formulaseed.proofs.nodes import Interval, Node
from formulaseed.proofs.pool import Pool
from formulaseed.proofs.prover import Prover
from formulaseed.proofs.world import read_domain
from formulaseed.testing import restaurants, seeds
from formulaseed.testing.inputs import Restaurant
from helpers import IS_DEEP, SEEDS, needs, tiny_seed
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

needs("z3", "prove")

TASK_PATHS = [
    pytest.param(path, id=path.parent.name, marks=() if path.parent.name == "g1a_v2" else pytest.mark.thorough)
    for path in SEEDS
]
_TOLERANCE = Fraction(1, 10**6)
_SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much, HealthCheck.large_base_example]


def prepare(seed: FormulaSeed, *, is_wide: bool) -> tuple[Prover, Lowering]:
    """The nodes of a seed, and what asks the solver about them."""
    domain = read_domain(seed.program, is_wide=is_wide, any_parameters=True)
    lowering = Lowering(Pool(domain), seed.program, domain)
    lowering.lower_all()
    prover = Prover(lowering.pool)
    prover.relate_aggregates()
    return prover, lowering


def is_rounded(program: nodes.Program) -> set[str]:
    """The steps with a logarithm, a root or a power in them, or in a step that they use: fractions do not hold these."""
    rounded: set[str] = set()
    uses = program.uses()
    for step in program.steps:
        parts = [part for expression in step.expressions() for part in typed.walk(expression)]
        if uses[step.name] & rounded or any(
            (isinstance(part, typed.Call) and part.function in ("log", "sqrt", "pow"))
            or (isinstance(part, typed.Binary) and part.operator == "**")
            for part in parts
        ):
            rounded.add(step.name)
    return rounded


def assert_admitted(prover: Prover, lowering: Lowering, restaurant: Restaurant, world: str) -> None:
    """The values of a restaurant, added as equalities, leave the formulas satisfiable."""
    program = lowering.program
    values, failure = exact_values(program, *restaurant)
    rounded = is_rounded(program)
    encoder = prover.encoder(world)
    z3 = encoder.z3
    solver = z3.SimpleSolver(ctx=encoder.context)
    solver.set("rlimit", 2_000_000)
    solver.set("arith.nl.nra", False)  # it may take hours between two checks of the effort
    solver.add(*encoder.domain_axioms, encoder.total == len(restaurant.rows))
    roots: list[Node] = []
    for name, value in values.items():
        node = lowering.steps[name]
        if node.is_constant:
            assert exact(value) == node.value, (name, value)
            continue
        if node.base.is_numeric and value is not None:
            interval = prover.pool.bounds.bound(node)
            low, high = interval[:2]
            slack = _TOLERANCE * max(1, abs(value)) if name in rounded else 0
            assert low - slack <= value <= high + slack, (name, value, low, high)
            assert name in rounded or interval.meet_or_none(Interval(value, value))
        if name not in rounded:
            roots.append(node)
            solver.add(encoder.null(node) == (value is None))
            if value is not None:
                solver.add(encoder.term(node) == encoder.constant(value))
    if failure is not None and failure[1] != "overflow" and failure[0] not in rounded:
        step = next(step for step in program.steps if step.name == failure[0])
        node = lowering.steps[step.name]
        roots.append(node)
        solver.add(encoder.fails(node))
    for symbol, value in read_shared(prover, restaurant).items():
        node = prover.pool.field(symbol)
        solver.add(encoder.null(node) == (value is None))
        if value is not None:
            solver.add(encoder.term(node) == encoder.constant(value))
    prover.add_definitions(solver, encoder, roots, None, roots[-1] if failure is not None and roots else None)
    solver.add(*encoder.list_string_axioms())
    assert solver.check() != z3.unsat, (world, restaurant, values, failure)


def read_shared(prover: Prover, restaurant: Restaurant) -> dict[Symbol, Any]:
    """The values of the context and the parameters that the formulas read."""
    values: dict[Symbol, Any] = {}
    for known in prover.pool.domain.shared():
        section: dict[str, Any] = (
            restaurant.parameters if known.symbol.kind is SymbolKind.PARAMETER else restaurant.context
        )
        if known.symbol.name in section:
            value = section[known.symbol.name]
            is_rounded_when_read = known.base is Base.NUMBER and isinstance(value, int)
            values[known.symbol] = exact(float(value) if is_rounded_when_read else value)
    return values


@pytest.mark.thorough
@settings(max_examples=5_000 if IS_DEEP else 300, deadline=None, suppress_health_check=_SLOW)
@given(st.data())
def test_random_seeds_admit_random_restaurants(data: st.DataObject) -> None:
    """No value of a random restaurant contradicts the formulas of a random seed, in either world that proofs use."""
    seed = load_seed(data.draw(seeds(max_steps=6)))
    is_wide = data.draw(st.booleans())
    prover, lowering = prepare(seed, is_wide=is_wide)
    for _ in range(2):
        restaurant = data.draw(restaurants(seed, wild=is_wide))
        for world in ("relaxed", "whole"):
            assert_admitted(prover, lowering, restaurant, world)


def test_null_is_not_false() -> None:
    """A choice between null and false is no condition: a restaurant for which it is false is admitted."""
    rules = [{"when": "N == 0", "then": None}, {"else": False}]
    steps = [{"name": "N", "op": "count"}, {"name": "FLAG", "op": "case", "rules": rules}]
    seed = load_seed(tiny_seed(compute=steps, output=["FLAG"], parameters={}))
    row = {"review_id": "r1", "extraction": {"mood": "good"}, "meta": {}}
    for rows in ([], [row]):
        prover, lowering = prepare(seed, is_wide=False)
        assert_admitted(prover, lowering, Restaurant(rows, {}, {}), "relaxed")


def test_a_kind_of_review_that_fails_may_be_absent() -> None:
    """A condition without a value for some reviews fails only if there are such reviews, not if there are others."""
    where = {"extraction.mood": "good", "meta.useful": {">": 1}}
    meta = [{"name": "useful", "type": "integer", "nullable": True}]
    fields = tiny_seed()["extract"]["fields"]
    steps = [{"name": "N", "op": "count", "where": where}]
    seed = load_seed(tiny_seed(extract={"fields": fields, "meta": meta}, compute=steps, output=["N"], parameters={}))
    prover, lowering = prepare(seed, is_wide=False)
    row = {"review_id": "r1", "extraction": {"mood": "good"}, "meta": {"useful": 8}}
    assert_admitted(prover, lowering, Restaurant([row], {}, {}), "relaxed")


def test_equal_values_of_a_choice_that_may_fail() -> None:
    """A lookup of a key that may be null is false for each other key, if its values and its default are."""
    step = {
        "name": "A",
        "op": "lookup",
        "source": "context.city",
        "table": {"x": False},
        "match": "exact",
        "default": False,
    }
    context = [{"name": "city", "type": "enum", "values": ["x", "y"], "nullable": True}]
    seed = load_seed(tiny_seed(context=context, compute=[step], output=["A"], parameters={}))
    prover, lowering = prepare(seed, is_wide=False)
    for city in ("x", "y", None):
        assert_admitted(prover, lowering, Restaurant([], {"city": city}, {}), "relaxed")


def test_values_of_a_lookup_are_exact() -> None:
    """Of two values that are one float, the larger one is the highest."""
    table = {"Thai, Bars": 2**53, "Thai": 2**53 + 1}
    step = {
        "name": "A",
        "op": "lookup",
        "source": "context.categories",
        "table": table,
        "match": "substring_max",
        "default": 0,
    }
    seed = load_seed(tiny_seed(compute=[step], output=["A"], parameters={}))
    prover, lowering = prepare(seed, is_wide=False)
    assert_admitted(prover, lowering, Restaurant([], {"categories": "Thai, Bars"}, {}), "relaxed")


def test_a_largest_value_of_1_is_no_count() -> None:
    """The largest of ones is 1, if there is a review or not; only numbers of reviews are compared with each other."""
    step = {"name": "B", "op": "max", "where": {"extraction.mood": "good"}, "expr": "1", "default": 0}
    prover, lowering = prepare(load_seed(tiny_seed(compute=[step], output=["B"], parameters={})), is_wide=False)
    assert_admitted(prover, lowering, Restaurant([], {}, {}), "relaxed")


def test_a_power_of_a_negative_number_need_not_fail() -> None:
    """Such a power has a value if its exponent is whole, so that a model in which it always fails proves too much."""
    step = {"name": "X", "op": "expr", "expr": "(-1 - context.review_count) ** 9"}
    prover, lowering = prepare(load_seed(tiny_seed(compute=[step], output=["X"], parameters={})), is_wide=False)
    is_low = prover.pool.order(lowering.steps["X"], prover.pool.number(-10), is_strict=True)
    assert not prover.is_false(is_low)


def test_bounds_say_nothing_about_null() -> None:
    """A number that is null if it is not below 2 is bounded by 2 only where it is not null."""
    steps = [{"name": "LOW", "op": "expr", "expr": "context.stars if context.stars < 2 else None"}]
    seed = load_seed(tiny_seed(compute=steps, output=["LOW"], parameters={}))
    prover, lowering = prepare(seed, is_wide=False)
    for stars in (1.5, 2.5):
        assert_admitted(prover, lowering, Restaurant([], {"stars": stars}, {}), "relaxed")


@pytest.mark.parametrize(
    "steps",
    [
        [{"name": "BAD", "op": "expr", "expr": "context.stars in [1, 1 / context.review_count]"}],
        [{"name": "BAD", "op": "expr", "expr": "8 // context.review_count in [0.5]"}],
        [
            {"name": "F", "op": "define_filter", "expr": "meta.useful // context.review_count < 3"},
            {"name": "BAD", "op": "count", "where": {"$F": False, "meta.funny": 1e99}},
        ],
        [{"name": "BAD", "op": "expr", "expr": "(1 / context.review_count) ** 0"}],
        [
            {"name": "F", "op": "define_filter", "expr": "meta.useful // context.review_count < 3"},
            {"name": "BAD", "op": "sum", "expr": "0", "where": {"$F": True}},
        ],
    ],
)
def test_each_failure_is_admitted(steps: list[dict[str, Any]]) -> None:
    """All values of a list are evaluated, and an operand that fails does so also if the result does not depend on it."""
    seed = load_seed(tiny_seed(compute=steps, output=["BAD"], parameters={}))
    prover, lowering = prepare(seed, is_wide=False)
    row = {"review_id": "r1", "extraction": {"mood": "good"}, "meta": {"useful": 8, "funny": 1}}
    place = Restaurant([row], {"stars": 1, "review_count": 0}, {})
    assert exact_values(seed.program, *place)[1] == ("BAD", "division_by_zero")
    assert may_fail(lowering.pool, lowering.steps["BAD"])
    for world in ("relaxed", "whole"):
        assert_admitted(prover, lowering, place, world)


@pytest.mark.parametrize("path", TASK_PATHS)
def test_the_tasks_admit_random_restaurants(path: Any) -> None:
    """No value of a random restaurant contradicts the formulas of a task."""
    seed = load_seed(path)
    prover, lowering = prepare(seed, is_wide=False)

    @settings(max_examples=5, deadline=None, suppress_health_check=_SLOW)
    @given(restaurants(seed))
    def run(restaurant: Restaurant) -> None:
        for world in ("relaxed", "whole"):
            assert_admitted(prover, lowering, restaurant, world)

    run()
