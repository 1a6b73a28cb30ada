"""Agreement between recorded and predicted fields: counts, kappa, baseline, confusions, as JSON and text."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import pytest
from formulaseed.extractors.agreement import measure_agreement, render_agreement
from formulaseed.extractors.base import AskedField
from hypothesis import given
from hypothesis import strategies as st

MOOD = AskedField("mood", "enum", values=(("none", ""), ("good", ""), ("bad", "")))
LOUD = AskedField("loud", "boolean")
MINUTES = AskedField("minutes", "integer")


TEXTBOOK = [*[(True, True)] * 20, *[(True, False)] * 5, *[(False, True)] * 10, *[(False, False)] * 15]
MEASURES = {
    "the textbook's 50 proposals": (LOUD, TEXTBOOK, (50, 35, 0.7, pytest.approx(0.4), 0.5)),
    "always the commonest value": (MOOD, [*[("none", "none")] * 9, ("good", "none")], (10, 9, 0.9, 0.0, 0.9)),
    "one value on both sides": (MOOD, [("none", "none")] * 3, (3, 3, 1.0, None, 1.0)),
    "no reviews": (MOOD, [], (0, 0, None, None, None)),
    "1 is 1.0, and no true": (AskedField("x", "number"), [(1, 1.0), (1, True), (1.5, 1.5)], (3, 2, 2 / 3, 0.5, 2 / 3)),
}


@pytest.mark.parametrize(("field", "pairs", "expected"), MEASURES.values(), ids=MEASURES)
def test_kappa_is_cohens(field: AskedField, pairs: list[tuple[Any, Any]], expected: tuple[object, ...]) -> None:
    (one,) = measure_agreement((field,), [({field.name: a}, {field.name: b}) for a, b in pairs])
    assert (one.field, one.n, one.equal, one.accuracy, one.kappa, one.baseline) == (field.name, *expected)
    assert pairs or one.confusion == {}


def test_a_review_without_the_field_is_left_out_of_it() -> None:
    found = measure_agreement((MOOD, LOUD), [({"mood": "good", "loud": True}, {"mood": "good"})])
    assert [one.n for one in found] == [1, 0]


def test_the_confusions_stand_in_the_order_of_the_values() -> None:
    """Recorded first, then predicted; values that the seed does not list come last; numbers have no table."""
    pairs = (("bad", "good"), ("none", "bad"), ("none", "none"), ("odd", "none"))
    (one,) = measure_agreement((MOOD,), [({"mood": a}, {"mood": b}) for a, b in pairs])
    expected = {"none": {"none": 1, "bad": 1}, "bad": {"good": 1}, "odd": {"none": 1}}
    assert json.dumps(one.confusion) == json.dumps(expected)
    assert measure_agreement((MINUTES,), [({"minutes": 5}, {"minutes": 5})])[0].confusion is None


def test_json_holds_the_same_numbers() -> None:
    (one,) = measure_agreement((MOOD,), [({"mood": "good"}, {"mood": "good"}), ({"mood": "good"}, {"mood": "bad"})])
    confusion = {"good": {"good": 1, "bad": 1}}
    expected = {"field": "mood", "n": 2, "equal": 1, "accuracy": 0.5, "kappa": 0.0, "baseline": 1.0}
    assert json.loads(json.dumps(asdict(one))) == {**expected, "confusion": confusion}


def test_the_text_is_a_table_and_a_square_for_each_enum() -> None:
    found = measure_agreement((MOOD, MINUTES), [({"mood": "good", "minutes": 5}, {"mood": "bad", "minutes": 5})])
    assert render_agreement(found) == (
        "field    n  equal  accuracy  kappa  baseline\n"
        "mood     1      0     0.000  0.000     1.000\n"
        "minutes  1      1     1.000      -     1.000\n"
        "\n"
        "mood\n"
        "recorded \\ predicted  good  bad\n"
        "good                     0    1\n"
        "bad                      0    0\n"
    )


@given(st.lists(st.tuples(*[st.sampled_from(("none", "good", "bad"))] * 2), max_size=30))
def test_kappa_is_symmetric_and_bounded(given_pairs: list[tuple[str, str]]) -> None:
    """Either side may be taken as the record; kappa is 1 exactly where all agree, never beyond 1."""
    (one,) = measure_agreement((MOOD,), [({"mood": a}, {"mood": b}) for a, b in given_pairs])
    (other,) = measure_agreement((MOOD,), [({"mood": b}, {"mood": a}) for a, b in given_pairs])
    assert one.kappa == other.kappa
    if one.kappa is not None:
        assert -1.0 <= one.kappa <= 1.0
        assert (one.kappa == 1.0) == (one.equal == one.n)
    assert one.confusion is not None
    assert sum(sum(counts.values()) for counts in one.confusion.values()) == one.n == len(given_pairs)
