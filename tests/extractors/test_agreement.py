"""Agreement between recorded and predicted fields: counts, kappa, baseline, confusions, as JSON and text."""

from __future__ import annotations

import json
from dataclasses import asdict

import pytest
from formulaseed.extractors.agreement import measure_agreement, render_agreement
from formulaseed.extractors.base import AskedField
from hypothesis import given
from hypothesis import strategies as st

MOOD = AskedField("mood", "enum", values=(("none", ""), ("good", ""), ("bad", "")))
LOUD = AskedField("loud", "boolean")
MINUTES = AskedField("minutes", "integer")


def test_kappa_is_cohens() -> None:
    """The textbook table of 50 proposals, 35 of them agreed on: kappa 0.4 where chance gives 0.5."""
    given_pairs = [*[(True, True)] * 20, *[(True, False)] * 5, *[(False, True)] * 10, *[(False, False)] * 15]
    (found,) = measure_agreement((LOUD,), [({"loud": a}, {"loud": b}) for a, b in given_pairs])
    assert (found.n, found.equal, found.accuracy, found.baseline) == (50, 35, 0.7, 0.5)
    assert found.kappa == pytest.approx(0.4)


def test_always_answering_the_commonest_value_is_chance() -> None:
    recorded = ["none"] * 9 + ["good"]
    (found,) = measure_agreement((MOOD,), [({"mood": value}, {"mood": "none"}) for value in recorded])
    assert found.accuracy == found.baseline == 0.9
    assert found.kappa == 0.0


def test_kappa_is_undefined_where_both_sides_give_one_value() -> None:
    (found,) = measure_agreement((MOOD,), [({"mood": "none"}, {"mood": "none"})] * 3)
    assert (found.accuracy, found.kappa) == (1.0, None)


def test_without_reviews_nothing_is_claimed() -> None:
    (found,) = measure_agreement((MOOD,), [])
    assert (found.field, found.n, found.equal) == ("mood", 0, 0)
    assert (found.accuracy, found.kappa, found.baseline, found.confusion) == (None, None, None, {})


def test_a_review_without_the_field_is_left_out_of_it() -> None:
    found = measure_agreement((MOOD, LOUD), [({"mood": "good", "loud": True}, {"mood": "good"})])
    assert [one.n for one in found] == [1, 0]


def test_the_confusions_stand_in_the_order_of_the_values() -> None:
    """Recorded first, then predicted; values that the seed does not list come last; numbers have no table."""
    pairs = [
        ({"mood": a}, {"mood": b}) for a, b in (("bad", "good"), ("none", "bad"), ("none", "none"), ("odd", "none"))
    ]
    (found,) = measure_agreement((MOOD,), pairs)
    assert found.confusion is not None
    assert [(recorded, *found.confusion[recorded].items()) for recorded in found.confusion] == [
        ("none", ("none", 1), ("bad", 1)),
        ("bad", ("good", 1)),
        ("odd", ("none", 1)),
    ]
    assert measure_agreement((MINUTES,), [({"minutes": 5}, {"minutes": 5})])[0].confusion is None


def test_true_is_not_one_and_a_whole_float_is_its_integer() -> None:
    field = AskedField("x", "number")
    (found,) = measure_agreement((field,), [({"x": 1}, {"x": 1.0}), ({"x": 1}, {"x": True}), ({"x": 1.5}, {"x": 1.5})])
    assert found.equal == 2


def test_json_holds_the_same_numbers() -> None:
    found = measure_agreement((MOOD,), [({"mood": "good"}, {"mood": "good"}), ({"mood": "good"}, {"mood": "bad"})])
    assert json.loads(json.dumps([asdict(one) for one in found])) == [
        {
            "field": "mood",
            "n": 2,
            "equal": 1,
            "accuracy": 0.5,
            "kappa": 0.0,
            "baseline": 1.0,
            "confusion": {"good": {"good": 1, "bad": 1}},
        }
    ]


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
