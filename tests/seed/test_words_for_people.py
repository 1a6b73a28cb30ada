"""Labels, units, reasons of rules and `adverse` are carried in the checked program, and checked."""

from __future__ import annotations

import ast
import json
import re
from typing import Any

import pytest
from formulaseed import limits
from formulaseed.documents import analyse, compile_seed, load_seed
from formulaseed.seed.write.canonical import canonicalize
from formulaseed.seed.write.migrate import migrate
from helpers import tiny_seed
from hypothesis import given
from hypothesis import strategies as st

Json = dict[str, Any]


def seed_with_words(**words: Any) -> Json:
    """Return a small seed whose count has these words."""
    return tiny_seed(compute=[{"name": "N", "op": "count", **words}], output=["N"])


def list_codes(seed: Json) -> list[str]:
    return [d.code for d in analyse(seed).diagnostics if d.severity == "error"]


def test_program_carries_the_words() -> None:
    """Every place that takes words has them in the program; places without words have None."""
    rules = [{"when": "N > 3", "then": "bad", "because": "many"}, {"when": "N > 2", "then": "fair"}, {"else": "good"}]
    fields = [{"name": "mood", "label": "mood of the guest", "type": "string"}, {"name": "late", "type": "boolean"}]
    seed = tiny_seed(
        parameters={"CUT": {"type": "integer", "default": 2, "label": "limit", "unit": "cases"}},
        context=[{"name": "tier", "type": "integer", "label": "prices", "unit": "$"}],
        extract={"fields": fields, "meta": [{"name": "age", "type": "integer", "unit": "years"}]},
        compute=[
            {"name": "F", "op": "define_filter", "label": "complaint", "where": {"meta.stars": {"<": 3}}},
            {"name": "N", "op": "count", "where": {"$F": True}, "unit": "reviews", "adverse": "higher"},
            {"name": "VERDICT", "op": "case", "rules": rules},
        ],
        output=["VERDICT"],
    )
    program = load_seed(seed).program
    assert [(s.label, s.unit, s.adverse) for s in program.steps] == [
        ("complaint", None, None),
        (None, "reviews", "higher"),
        (None, None, None),
    ]
    assert [step.reasons() for step in program.steps] == [(), (), ("many", None, None)]
    assert [(f.label, f.unit) for f in program.fields] == [("mood of the guest", None), (None, None)]
    assert {(f.label, f.unit) for f in program.meta} == {(None, None), (None, "years")}
    assert [(f.label, f.unit) for f in program.context if f.name == "tier"] == [("prices", "$")]
    assert [(p.label, p.unit) for p in program.parameters] == [("limit", "cases")]


@pytest.mark.parametrize(("key", "most"), [("label", limits.LABEL_CHARACTERS), ("unit", limits.UNIT_CHARACTERS)])
def test_length_is_limited(key: str, most: int) -> None:
    """A string of the longest length is accepted, one more character is not."""
    assert not list_codes(seed_with_words(**{key: "x" * most}))
    assert list_codes(seed_with_words(**{key: "x" * (most + 1)})) == ["FS510"]


@pytest.mark.parametrize("character", ["\n", "\x07", "\x85", "\u202e", "\u2066", "\u200f", "\u2028", "\ufeff"])
def test_invisible_characters_are_refused(character: str) -> None:
    """Control characters, and those that turn the direction of writing, are errors in each kind of words."""
    rules = [{"else": 1, "because": f"a{character}b"}]
    step = {"name": "V", "op": "case", "label": f"a{character}b", "unit": f"a{character}b", "rules": rules}
    assert list_codes(tiny_seed(compute=[step], output=["V"])) == ["FS509"] * 3


@given(st.text(max_size=12))
def test_accepted_words_are_printable(label: str) -> None:
    """Whatever label a seed has, a program carries only a printable one without spaces around it."""
    analysis = analyse(seed_with_words(label=label))
    accepted = not [d for d in analysis.diagnostics if d.severity == "error"]
    assert accepted == (label.isprintable() and bool(label) and label == label.strip())


def test_labels_are_unique_within_steps_and_within_fields() -> None:
    """Two steps, or two fields, cannot have the same label, but a step and a field can."""
    steps = [{"name": "N", "op": "count", "label": "guests"}, {"name": "M", "op": "count", "label": "Guests"}]
    fields = [{"name": "mood", "type": "string", "label": "mood"}]
    extract = {"fields": fields, "meta": [{"name": "age", "type": "integer", "label": "mood"}]}
    assert list_codes(tiny_seed(compute=steps, output=["N", "M"])) == ["FS203"]
    assert list_codes(tiny_seed(compute=steps[:1], output=["N"], extract=extract)) == ["FS203"]
    extract["meta"] = [{"name": "age", "type": "integer", "label": "guests"}]
    assert not list_codes(tiny_seed(compute=steps[:1], output=["N"], extract=extract))


def test_adverse_belongs_to_a_number() -> None:
    """`adverse` is accepted on a number, and an error on a filter, a string and with another word."""
    assert not list_codes(seed_with_words(adverse="lower"))
    assert list_codes(seed_with_words(adverse="up")) == ["FS509"]
    a_filter = {"name": "F", "op": "define_filter", "where": {"meta.stars": 1}, "adverse": "lower"}
    a_string = {"name": "S", "op": "const", "value": "x", "adverse": "lower"}
    assert list_codes(tiny_seed(compute=[a_filter, a_string], output=["S"])) == ["FS301"] * 2


def test_canonical_form_has_the_label_after_the_name() -> None:
    """`fmt` writes label and unit after the name, `adverse` after the operation's keys, `because` after the value."""
    step = {
        "op": "case",
        "adverse": "lower",
        "unit": "u",
        "rules": [{"because": "b", "else": 1}],
        "label": "l",
        "name": "V",
    }
    written = canonicalize(tiny_seed(compute=[step], output=["V"]))
    assert isinstance(written, dict)
    assert json.dumps(written["compute"]) == (
        '[{"name": "V", "label": "l", "unit": "u", "op": "case", "rules": [{"else": 1, "because": "b"}], "adverse": "lower"}]'
    )


@pytest.mark.parametrize(
    "label",
    [
        "type: ignore",
        "noqa",
        "fmt: off",
        "mypy: ignore-errors",
        'a """ b',
        "\\N{DASH} \\",
        "x # y",
        "pragma: no cover",
        "äöü 🍜",
        "x" * 80,
    ],
)
def test_labels_are_only_comments_of_the_module(label: str) -> None:
    """Whatever a label or a unit says, the module's code is that of the seed without it, but for the hashes."""
    words = {"label": label, "unit": label[:20].strip()}
    field = {"name": "mood", "type": "enum", "values": ["good", "bad"]}
    step = {"name": "N", "op": "count", "where": {"extraction.mood": "bad"}}
    trees = []
    for extra in ({}, words):
        extract = {"fields": [{**field, **extra}]}
        parameters = {"CUT": {"type": "integer", "default": 2, **extra}}
        total = {"name": "M", "op": "expr", "expr": "N * param.CUT"}
        seed = tiny_seed(parameters=parameters, extract=extract, compute=[{**step, **extra}, total], output=["M"])
        code = compile_seed(seed)
        trees.append(ast.dump(ast.parse(re.sub(r'"[0-9a-f]{64}"', '""', code))))
        assert (label in code) == (extra is words)
    assert trees[0] == trees[1]


@pytest.mark.thorough
def test_words_count_as_no_terms() -> None:
    """A large seed whose steps have labels and reasons is within the limit of terms that holds for its formulas."""
    reason = " ".join(["many"] * 40)
    rules = [{"when": f"N > {number}", "then": number, "because": reason} for number in range(900, 0, -1)]
    cases = [
        {"name": f"V{index}", "op": "case", "rules": [*rules, {"else": 0, "because": reason}]} for index in range(4)
    ]
    seed = tiny_seed(compute=[{"name": "N", "op": "count"}, *cases], output=[case["name"] for case in cases])
    assert not list_codes(seed)


def test_migrate_keeps_the_words_of_a_seed_v1() -> None:
    """Fields and parameters of a seed v1 have labels and units, and the seed v2 that it becomes has them too."""
    seed = {
        "task_name": "T",
        "parameters": {"CUT": {"type": "integer", "default": 2, "label": "limit", "unit": "cases"}},
        "extraction_fields": [{"name": "mood", "label": "mood of the guest", "values": ["good", "bad"]}],
        "compute_dag": [{"name": "n", "formula": "sum(1 for e in extractions if e['mood'] == 'bad') - param.CUT"}],
        "output_fields": ["n"],
    }
    migrated = migrate(seed, load_seed(seed).program).seed
    program = load_seed(migrated).program
    assert [(field.label, field.unit) for field in program.fields] == [("mood of the guest", None)]
    assert [(parameter.label, parameter.unit) for parameter in program.parameters] == [("limit", "cases")]
