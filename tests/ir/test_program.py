"""What the checked program carries of a seed, beside the types and values that cases show."""

from __future__ import annotations

from typing import Any

import pytest
from formulaseed import limits
from formulaseed.documents import analyse, load_seed
from formulaseed.language.intervals import Range
from formulaseed.language.types import INTEGER, NUMBER, STRING, Base

Json = dict[str, Any]

SEED: Json = {
    "task_name": "T", "version": "3", "description": "What it is for", "filter": {"keywords": ["nut", "allergy"]},
    "review_handling": {"max_length": 900, "strategy": "truncate_head"},
    "parameters": {
        "LEAST": {"type": "integer", "default": 2, "minimum": 1, "maximum": 9, "description": "how many"},
        "SHARE": {"type": "number", "default": 1, "maximum": 2.5},
        "ANY": {"type": "integer", "default": 1}, "ABOVE": {"type": "number", "default": 1, "minimum": -1},
    },
    "context": [{"name": "tier", "type": "integer", "nullable": True, "description": "the price"}],
    "extract": {
        "passes": 3,
        "fields": [
            {"name": "mood", "type": "enum", "values": {"calm": "at ease", "angry": "not"}, "description": "how",
             "default": "calm", "evidence": True},
            {"name": "note", "type": "string"},
        ],
        "meta": [{"name": "age", "type": "number", "description": "in years"}],
        "examples": [{"text": "So calm.", "fields": {"note": "x"}, "quotes": {"mood": "calm"}}],
    },
    "compute": [
        {"name": "N", "op": "count"},
        *({"name": f"P_{name}", "op": "expr", "expr": f"param.{name}"} for name in ("LEAST", "SHARE", "ANY", "ABOVE")),
    ],
    "output": ["N", "P_LEAST", "P_SHARE", "P_ANY", "P_ABOVE"],
}  # fmt: skip


def parts(node: Any) -> tuple[Any, ...]:
    return tuple(getattr(node, name) for name in node.__dataclass_fields__)


def test_a_program_carries_what_the_seed_says() -> None:
    program = load_seed(SEED).program
    assert (program.task_name, program.version, program.description) == ("T", "3", "What it is for")
    assert (program.keywords, program.passes) == (("nut", "allergy"), 3)
    assert program.output == ("N", "P_LEAST", "P_SHARE", "P_ANY", "P_ABOVE")
    assert parts(program.review_handling) == (900, "truncate_head")
    assert load_seed({key: SEED[key] for key in SEED if key != "review_handling"}).program.review_handling is None
    mood, note = program.fields
    assert (mood.name, mood.description, mood.default, mood.evidence) == ("mood", "how", "calm", True)
    assert (mood.ty.base, mood.ty.values) == (Base.STRING, ("calm", "angry"))
    assert [parts(value) for value in mood.values] == [("calm", "at ease"), ("angry", "not")]
    assert parts(note) == ("note", STRING, "", (), None, False, None, None, None, False, None, None)
    [example] = program.examples
    assert (example.text, example.fields) == ("So calm.", {"mood": "calm", "note": "x"})
    assert (example.quotes, example.reasons) == ({"mood": "calm"}, {})
    assert parts(program.parameters[0]) == ("LEAST", INTEGER, 2, 1, 9, "how many", None, None)
    assert parts(program.parameters[1]) == ("SHARE", NUMBER, 1, None, 2.5, "", None, None)


def test_declared_inputs_stand_behind_those_of_yelp() -> None:
    program = load_seed(SEED).program
    assert parts(program.meta[-1]) == ("age", NUMBER, "in years", (), (), None, None)
    assert parts(program.context[-1]) == ("tier", INTEGER.or_null(), "the price", (), (), None, None)
    assert {(field.name, field.description) for field in program.meta} > {("stars", ""), ("date", "")}
    assert {(field.name, field.description) for field in program.context} > {("stars", ""), ("is_open", "")}


def test_parameters_lie_in_their_bounds() -> None:
    assert {step.name: step.range for step in load_seed(SEED).program.steps[1:]} == {
        "P_LEAST": Range(1.0, 9.0),
        "P_SHARE": Range(-limits.INPUT_MAX, 2.5),
        "P_ANY": Range(-float(limits.INTEGER_MAX), float(limits.INTEGER_MAX)),
        "P_ABOVE": Range(-1.0, limits.INPUT_MAX),
    }


@pytest.mark.parametrize(("number", "values", "more", "terms"), [(10, 496, 3, None), (50, 97, 0, 5001)])
def test_filters_have_as_many_terms_as_the_limit(number: int, values: int, more: int, terms: int | None) -> None:
    """Those of a filter that others use are counted wherever they use it: 10 times 499, or 50 times 100."""
    assert limits.FILTER_SIZE == 5000
    filters = {"F0": {"meta.year": {"in": list(range(values))}}, **{f"F{i}": {"$F0": True} for i in range(1, number)}}
    tests = dict.fromkeys(["meta.useful", "meta.funny", "meta.cool"][:more], 1)
    filters["ALL"] = {f"${name}": True for name in filters} | tests
    steps: list[Json] = [{"name": name, "op": "define_filter", "where": where} for name, where in filters.items()]
    steps.append({"name": "N", "op": "count", "where": {"$ALL": True}})
    diagnostics = analyse({"task_name": "T", "extract": {"fields": []}, "compute": steps, "output": ["N"]}).diagnostics
    message = f"with the filters that it uses, `ALL` has {terms} terms, more than 5000"
    expected = [(message, "use fewer filters inside one another")] if terms else []
    assert [(d.message, d.help) for d in diagnostics if d.code == "FS510"] == expected
