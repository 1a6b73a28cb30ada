"""`formulaseed.testing` generates plausible input or, with `wild`, any that a seed accepts, and evaluates it."""

from __future__ import annotations

import datetime
import json
import os
import re
from collections.abc import Callable, Iterator
from contextlib import chdir
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from formulaseed import load_seed
from formulaseed.errors import DataError
from formulaseed.testing import Restaurant, loaded, reference_evaluate, restaurants, rows
from formulaseed.testing.comparing import bound_rounding, try_evaluate
from helpers import ROOT, SEEDS, tiny_row, tiny_seed, write_json
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st

Json = dict[str, Any]

PLAUSIBLE: dict[str, Callable[[Any], bool]] = {
    "stars": lambda v: v in (1, 2, 3, 4, 5),
    **dict.fromkeys(("useful", "funny", "cool", "user_fans", "text_length"), lambda v: 0 <= v <= 10**6),
    "year": lambda v: 2004 <= v <= 2030,
    "month": lambda v: 1 <= v <= 12,
    "date": lambda v: "2004-01-01" <= v <= "2030-12-31" and bool(datetime.date.fromisoformat(v)),
    "review_count": lambda v: 0 <= v <= 10_000,
    "is_open": lambda v: v in (0, 1),
    "average": lambda v: v * 2 in range(2, 11),
    "latitude": lambda v: -90 <= v <= 90,
    "longitude": lambda v: -180 <= v <= 180,
    "price_tier": lambda v: 0 <= v <= 10**6,
    "wait": lambda v: -(10**6) <= v <= 10**6,
    "bounded": lambda v: -2 <= v <= 3,
    "above": lambda v: v >= 10**7,
    "below": lambda v: v <= -(10**7),
}
"""The plausible values of each field; `average` is the restaurant's stars."""
META = ("stars", "useful", "funny", "cool", "year", "month", "date", "user_fans", "text_length")
CONTEXT = ("review_count", "is_open", "stars", "latitude", "longitude", "price_tier")
FIELDS = ("wait", "bounded", "above", "below")


def every_field() -> Json:
    """Return a seed that uses all kinds of numbers, and the date."""
    numbers = [f"meta.{name}" for name in META if name != "date"] + [f"extraction.{name}" for name in FIELDS]
    steps = [
        {"name": "TOTAL", "op": "sum", "expr": " + ".join(numbers)},
        {"name": "DATED", "op": "count", "where": {"meta.date": {"!=": "2020-01-01"}}},
        {"name": "PLACE", "op": "expr", "expr": " + ".join(f"context.{name}" for name in CONTEXT)},
    ]
    fields: list[Json] = [
        {"name": "wait", "type": "number"},
        {"name": "bounded", "type": "integer", "minimum": -2, "maximum": 3},
        {"name": "above", "type": "integer", "minimum": 10**7},
        {"name": "below", "type": "number", "maximum": -(10**7)},
    ]
    meta = [{"name": "user_fans", "type": "integer"}, {"name": "text_length", "type": "integer"}]
    return {
        "task_name": "Fields", "context": [{"name": "price_tier", "type": "integer"}],
        "parameters": {"LEAST": {"type": "number", "default": 1e99, "minimum": 1e99}},
        "extract": {"fields": fields, "meta": meta}, "compute": steps, "output": ["TOTAL", "DATED", "PLACE"],
    }  # fmt: skip


SEED = load_seed(every_field())
SUM = load_seed(
    tiny_seed(
        extract={"fields": [{"name": "x", "type": "number"}]}, parameters={}, output=["S"],
        compute=[{"name": "S", "op": "sum", "expr": "extraction.x * 0.1"}],
    )
)  # fmt: skip


def values(restaurant: Restaurant) -> Iterator[tuple[str, Any]]:
    for row in restaurant.rows:
        yield from {**row["meta"], **row["extraction"]}.items()
    for name, value in restaurant.context.items():
        yield "average" if name == "stars" else name, value


@given(restaurants(SEED))
def test_values_are_plausible(restaurant: Restaurant) -> None:
    """Votes and counts are not negative, stars are stars, dates are of Yelp's years, and other numbers are at most a million."""
    for name, value in values(restaurant):
        assert PLAUSIBLE[name](value), (name, value)
    assert json.loads(json.dumps(restaurant)) == list(restaurant)
    assert "error" not in try_evaluate(reference_evaluate, SEED, *restaurant)


@pytest.mark.parametrize("name", sorted(PLAUSIBLE.keys() - {"month", "is_open", "above", "below", "bounded"}))
@pytest.mark.thorough
def test_wild_values_are_any(name: str) -> None:
    """Every field that the seed does not bound has values beyond the plausible ones, which the seed accepts."""

    def is_implausible(restaurant: Restaurant) -> bool:
        return any(field == name and not PLAUSIBLE[name](value) for field, value in values(restaurant))

    fast = settings(database=None, phases=[Phase.generate], max_examples=2_000, derandomize=True)
    try_evaluate(reference_evaluate, SEED, *find(restaurants(SEED, wild=True), is_implausible, settings=fast))


def test_a_printed_restaurant_can_be_copied() -> None:
    """A restaurant is printed as the values that it holds, not as the calls that made it."""

    @settings(database=None, derandomize=True, deadline=None, phases=[Phase.generate])
    @given(restaurants(SEED))
    def fails(restaurant: Restaurant) -> None:
        assert len(restaurant.rows) < 2

    with pytest.raises(AssertionError) as caught:
        fails()
    (note,) = [note for note in caught.value.__notes__ if "restaurant=" in note]
    expression = note[note.index("Restaurant(") : note.rindex(")")].rstrip().rstrip(",")
    assert isinstance(eval(expression, {"Restaurant": Restaurant}), Restaurant)


@pytest.mark.parametrize("path", SEEDS, ids=lambda path: path.parent.name)
def test_restaurants_fit_the_seed(path: Path) -> None:
    """The reference evaluator accepts the restaurants of each task, and every step has a value."""

    @settings(max_examples=20)
    @given(restaurants(path))
    def fits(restaurant: Restaurant) -> None:
        assert "error" not in try_evaluate(reference_evaluate, path, *restaurant)

    fits()


def test_a_path_is_read_once(tmp_path: Path) -> None:
    """A seed is read and checked when its path is first used, and again only when the file has other content."""
    path = write_json(tmp_path / "seed.json", tiny_seed())
    row = tiny_row("r1")
    with mock.patch.object(loaded, "load_seed", side_effect=load_seed) as reading:
        rows(path)
        for same in (path, str(path), path):
            assert reference_evaluate(same, [row], {"is_open": 1})["TOTAL"] == 5.0
        assert reading.call_count == 1
        before = path.stat()
        path.write_text(path.read_text("utf-8").replace("score * meta.stars", "score + meta.stars"), encoding="utf-8")
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        assert reference_evaluate(path, [row], {"is_open": 1})["TOTAL"] == 6.0
        assert reading.call_count == 2
        (tmp_path / "other").mkdir()
        write_json(tmp_path / "other" / "seed.json", tiny_seed(task_name="Other"))
        for folder, name in ((tmp_path, "Tiny-1"), (tmp_path / "other", "Other")):
            with chdir(folder):
                assert loaded.load_cached_seed("seed.json").task_name == name
    path.unlink()
    with pytest.raises(DataError, match="cannot read"):
        reference_evaluate(path, [], {})


def test_fixed_steps_are_not_computed() -> None:
    """The steps that use them are computed from the fixed values; no other step changes."""
    arguments = (tiny_seed(), [tiny_row("r1"), tiny_row("r2", "bad")], {"is_open": 1})
    plain = reference_evaluate(*arguments)
    fixed = reference_evaluate(*arguments, fixed={"N": 4, "SHARE": 0.75})
    assert plain | {"N": 4, "SHARE": 0.75, "VERDICT": "good"} == fixed
    assert plain["VERDICT"] == "bad"


@given(st.lists(st.floats(-1e6, 1e6), max_size=8).flatmap(lambda terms: st.tuples(*[st.permutations(terms)] * 2)))
def test_two_orders_of_a_sum_differ_by_rounding_alone(orders: tuple[list[float], list[float]]) -> None:
    """Also where large terms cancel each other, and their sum is small."""
    first, second = (Restaurant([{"extraction": {"x": x}} for x in order], {}, {}) for order in orders)
    one, other = (reference_evaluate(SUM, *restaurant)["S"] for restaurant in (first, second))
    assert abs(one - other) <= bound_rounding(SUM, first, "S")  # type: ignore[operator]


@pytest.mark.thorough
def test_the_property_test_of_the_documentation_passes() -> None:
    """As printed, and under Hypothesis's default profile but for what depends on the machine: the deadline."""
    page = (ROOT / "docs" / "testing.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^```python\n(from formulaseed\.testing import.*?)^```$", page, re.MULTILINE | re.DOTALL)
    default = settings.get_profile("default")
    settings.register_profile("documented", default, deadline=None, derandomize=True, database=None)
    before = settings.get_current_profile_name()
    namespace: Json = {"__name__": "documented"}
    try:
        settings.load_profile("documented")
        with chdir(ROOT):
            exec(compile(block, "<docs/testing.md>", "exec", dont_inherit=True), namespace)
            tests = [value for name, value in namespace.items() if name.startswith("test_")]
            assert tests
            for test in tests:
                test()
    finally:
        settings.load_profile(before)
