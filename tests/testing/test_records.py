"""`entities` draws records that rules and formulas take, and the plugin compares modules of rules with it."""

from __future__ import annotations

from typing import Any

import formulaseed
import pytest
from formulaseed import pipeline
from formulaseed.documents import load_file
from formulaseed.runtime.loading import module_from_source
from formulaseed.testing import entities
from formulaseed.testing.naming import Failed
from formulaseed.testing.records import check_agreement
from helpers import ROOT
from hypothesis import find, given

REFERENCE = ROOT / "examples" / "formula_reference.json"
RULES = ROOT / "examples" / "rules.json"
SMALL: dict[str, Any] = {
    "root": "box",
    "entities": {
        "box": {
            "fields": {
                "kind": {"type": "enum", "values": ["a", "b"]},
                "size": {"type": "integer", "minimum": -3, "maximum": -1},
                "lid": {"type": "boolean", "nullable": True},
                "raw": "json",
            }
        },
        "lid": {"nullable": True, "fields": {"weight": {"type": "float", "minimum": 0.5}}},
    },
    "custom_fields": {"lid": [{"field_key": "colour", "field_type": "text", "required": False}]},
}
FORMULA = formulaseed.compile_formula(
    "size + int(kind == 'a') + (lid.weight or 0) + int(box.lid == true)", reference=SMALL
)


@given(entities(SMALL))
def test_records_fit_their_reference(record: dict[str, Any]) -> None:
    assert FORMULA.evaluate(record) >= -3
    assert -3 <= record["size"] <= -1
    assert "raw" not in record


@pytest.mark.parametrize(
    "condition",
    [
        lambda record: "lid" not in record, lambda record: record.get("lid", 0) is None,
        lambda record: record.get("lid") and record["lid"]["custom_fields"].get("colour"),
        lambda record: record["box"].get("lid", 0) is None, lambda record: record["box"].get("lid"),
    ],
)  # fmt: skip
@pytest.mark.thorough
def test_null_and_missing_are_drawn(condition: Any) -> None:
    """A nullable entity or field is absent, null or there; a field with an entity's name is inside the root's object."""
    find(entities(SMALL), condition)


@pytest.mark.thorough
def test_a_module_of_rules_is_compared() -> None:
    """The module of the example agrees; one with another number does not, and the failure shows the record."""
    rules = load_file(RULES)
    source = pipeline.compile(rules)
    check_agreement(rules.program, module_from_source(source, "same"))
    changed = source.replace("record.ram_gb * 2.5", "record.ram_gb * 2.6")
    with pytest.raises(Failed, match=r"disagree\n  record: .*\n  module: .*\n  reference: "):
        check_agreement(rules.program, module_from_source(changed, "changed"))
