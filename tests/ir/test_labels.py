"""What steps, fields and parameters are called for people: by their labels, else by words from their names."""

from __future__ import annotations

from typing import Any

import pytest
from formulaseed.documents import load_seed
from formulaseed.ir import nodes
from formulaseed.ir.labels import label_of
from helpers import tiny_seed


def step_called(name: str, **keys: Any) -> nodes.Step:
    """Return the checked step of a seed with this one step; it is a count unless `keys` have another `op`."""
    step = {"name": name, "op": "count", **keys}
    return load_seed(tiny_seed(compute=[step], output=[name])).program.steps[0]


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("N_SEVERE", "severe"),
        ("n_severe", "severe"),
        ("NUM_STAFF_COMPLAINTS", "staff complaints"),
        ("COUNT_LATE", "late"),
        ("nSevere", "severe"),
        ("HTTPErrors2019", "http errors 2019"),
        ("N", "n"),
        ("__", "__"),
    ],
)
def test_count_loses_the_word_for_counting(name: str, label: str) -> None:
    """A count's name is read without a word in front that says only that it counts, if anything is left."""
    assert label_of(step_called(name)) == label


@pytest.mark.parametrize(
    ("name", "label"),
    [("FINAL_RISK_SCORE", "final risk score"), ("most_recent_year", "most recent year"), ("N_A", "n a")],
)
def test_name_of_any_other_step_is_read_as_words(name: str, label: str) -> None:
    """A step that is no count keeps all words of its name."""
    assert label_of(step_called(name, op="expr", expr="1 + 1")) == label


def test_label_takes_the_place_of_the_name() -> None:
    """Steps, fields and parameters with a label are called by it, whatever their names are."""
    assert label_of(step_called("N_SEVERE", label="severe reactions")) == "severe reactions"
    program = load_seed(
        tiny_seed(
            parameters={
                "LEAST": {"type": "integer", "default": 2, "label": "reviews needed"},
                "ASK_FOR": {"type": "string", "default": "x"},
            },
            context=[{"name": "price_tier", "type": "integer", "label": "prices"}],
        )
    ).program
    assert [label_of(parameter) for parameter in program.parameters] == ["reviews needed", "ask for"]
    by_name = {field.name: label_of(field) for field in program.context}
    assert (by_name["price_tier"], by_name["postal_code"]) == ("prices", "postal code")
    assert [label_of(field) for field in program.fields] == ["mood", "score"]
