"""What a test of a nullable enum leaves open: module, reference evaluator and Python agree on null after any other test."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from formulaseed.testing import reference_evaluate
from three_ways import Json, Ways

NULL_TESTS = (
    "context.v == 'quiet'", "context.v != 'quiet'", "context.v in ['quiet', 'loud']", "context.v not in ['quiet']",
    "context.v == None", "context.v != None", "None == context.v", "context.v in ['loud', None]", "context.v == context.w",
)  # fmt: skip
NULL_FORMS = ("1 if {} else 2 if {} else 3", "{} and {}", "{} or {}", "not ({}) and {}", "1 if not ({}) and {} else 2")


@pytest.mark.thorough
def test_null_is_distinguished_after_any_other_test() -> None:
    """What a test leaves of an enum's values says nothing of null: every pair of tests, in every form, for every value."""
    pairs = [(first, second) for first in NULL_TESTS for second in NULL_TESTS]
    formulas = [form.format(*pair) for form in NULL_FORMS for pair in pairs]
    values = ["quiet", "average", "loud"]
    declared = {"type": "enum", "values": values}
    seed: Json = {
        "task_name": "Null-1",
        "filter": {"keywords": []},
        "extract": {"fields": []},
        "context": [{"name": "v", "nullable": True, **declared}, {"name": "w", **declared}],
        "compute": [{"name": f"S{n}", "op": "expr", "expr": text} for n, text in enumerate(formulas)],
    }
    seed["output"] = [step["name"] for step in seed["compute"]]
    ways = Ways.load(seed)
    for v in (None, *values):
        for w in values:
            bare = {"context": SimpleNamespace(v=v, w=w)}
            expected = {f"S{n}": eval(text, {"__builtins__": {}}, bare) for n, text in enumerate(formulas)}
            assert ways.module.trace([], {"v": v, "w": w}) == expected
            assert reference_evaluate(ways.loaded, [], {"v": v, "w": w}) == expected
