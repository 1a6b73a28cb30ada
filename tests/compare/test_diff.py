"""The difference of two seeds: what changed in the policy is found, in the right category, and what it does is counted."""

from __future__ import annotations

import json
import re
from collections import Counter
from copy import deepcopy
from dataclasses import fields
from pathlib import Path
from typing import Any

import formulaseed as library
import pytest
from formulaseed.compare import changes
from formulaseed.compare.changes import find_changes
from formulaseed.compare.diff import Difference, diff
from formulaseed.documents import analyse
from formulaseed.ir import nodes
from formulaseed.pages.blocks import Details, Heading, InlineCode, Items, ListItem, Paragraph, Table
from formulaseed.pages.html import as_html
from formulaseed.pages.markdown import as_markdown
from formulaseed.pages.text import as_text
from formulaseed.seed.write.migrate import migrate
from formulaseed.testing import seeds
from helpers import (
    EXAMPLES,
    SEEDS,
    TASKS,
    Outcome,
    formulaseed,
    places,
    tiny_row,
    tiny_rows,
    tiny_seed,
    write_json,
    write_lines,
)
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from seed_v1_cases import v1_seeds

G1A = TASKS / "g1a_v2" / "seed.json"
ROWS = EXAMPLES / "rows-g1a_v2.jsonl"


OLD = library.load_seed(G1A)


def read_g1a() -> dict[str, Any]:
    seed: dict[str, Any] = json.loads(G1A.read_text(encoding="utf-8"))
    return seed


def find_step(seed: dict[str, Any], name: str) -> dict[str, Any]:
    return next(step for step in seed["compute"] if step["name"] == name)


def list_changes(old: Any, new: Any) -> list[tuple[str, str, str, str]]:
    """The changes: category, part, kind, name."""
    between = find_changes(library.load_seed(old), library.load_seed(new))
    return [(change.category, change.part, change.kind, change.name) for change in between.all]


# --- the seeds


@pytest.mark.parametrize("seed", SEEDS, ids=lambda path: path.parent.name)
def test_a_seed_is_like_itself(seed: Path) -> None:
    """Nothing differs between a file and its values, whatever the layout."""
    assert diff(seed, json.loads(seed.read_text(encoding="utf-8"))).is_empty


@settings(max_examples=20)
@given(st.one_of(seeds(), v1_seeds()))
def test_any_seed_is_like_itself(seed: dict[str, Any]) -> None:
    assume(not analyse(seed).has_errors)
    assert list_changes(seed, seed) == []


@pytest.mark.thorough
@settings(max_examples=40)
@given(st.data())
def test_a_changed_constant_is_found(data: st.DataObject) -> None:
    """Another number anywhere in a step changes that step, and it alone."""
    new = read_g1a()
    numbers = [
        (index, holder, key)
        for index, changed_step in enumerate(new["compute"])
        for holder, key in places(changed_step)
        if type(holder[key]) in (int, float)
    ]
    index, holder, key = data.draw(st.sampled_from(numbers))
    holder[key] += data.draw(st.sampled_from([1, 3, 0.5] if type(holder[key]) is float else [1, 3]))
    first, *others = list_changes(OLD, new)
    assert first == ("values", "step", "changed", new["compute"][index]["name"])
    assert {change[0] for change in others} <= {"outputs"}


def test_renamed_steps_are_recognised() -> None:
    """Each step with another name is renamed, not removed and added; those that use it are as they were."""
    text = G1A.read_text(encoding="utf-8")
    for name in (change["name"] for change in read_g1a()["compute"]):
        new = json.loads(re.sub(rf"\b{name}\b", f"{name}_2", text))
        outputs = [("outputs", "output", "renamed", f"{name}_2")] if name in read_g1a()["output"] else []
        what = "filter" if name == "IS_INCIDENT" else "step"
        changed = list_changes(OLD, new)
        assert [change for change in changed if change[2] == "renamed"] == [
            ("cosmetic", what, "renamed", f"{name}_2"),
            *outputs,
        ]
        assert {change[0] for change in changed} <= {"cosmetic", "outputs"}, name


def test_what_does_not_change_the_meaning_is_cosmetic() -> None:
    """Descriptions, versions, the order of steps and the spelling of a formula change no value."""
    new = read_g1a()
    new["description"] = "Allergies"
    new["allow"] = {"FS602": "on purpose"}
    new["filter"]["keywords"].reverse()
    find_step(new, "TRUST_SCORE")["expr"] = "max( 0.1,(min(1.0 , TRUST_RAW)))"
    find_step(new, "N_RECENT")["where"] = {"meta.year": {">=": 2023}, "$IS_INCIDENT": True}
    new["compute"].insert(0, new["compute"].pop(8))
    assert set(list_changes(OLD, new)) == {
        ("cosmetic", "description", "added", "description"),
        ("cosmetic", "allow", "added", "allow"),
        ("cosmetic", "keywords", "reordered", "keywords"),
        ("cosmetic", "step", "changed", "TRUST_SCORE"),
        ("cosmetic", "steps", "reordered", "steps"),
        ("values", "step", "changed", "N_RECENT"),  # another order of conditions may fail where the first did not
    }


def test_what_is_extracted() -> None:
    """Everything that makes stored answers those of another question is of one category, with the steps that use it."""
    new = read_g1a()
    mild = new["extract"]["fields"][0]
    mild["values"]["mild"] = "Minor"
    mild["default"] = "none"
    new["extract"]["fields"].append({"name": "note", "type": "string"})
    new["extract"]["passes"] = 3
    new["filter"]["keywords"].append("celery")
    new["review_handling"] = {"max_length": 900, "strategy": "truncate_head"}
    difference = diff(OLD, new)
    assert {(change.part, change.kind, change.name) for change in difference.changes.select("extraction")} == {
        ("field", "changed", "incident_severity"),
        ("field", "added", "note"),
        ("keywords", "changed", "keywords"),
        ("passes", "changed", "passes"),
        ("review_handling", "added", "review_handling"),
    }
    changed = difference.changes.select("extraction")[0]
    assert "VERDICT" in changed.affects
    assert "N_POSITIVE" not in changed.affects
    assert changed.after == ("value 'mild': Minor", "default 'none'")
    assert difference.has_changed("extraction")
    assert not difference.has_changed("outputs")


def test_inputs_and_outputs() -> None:
    """A parameter that steps use changes values, a verdict that did not exist changes an output."""
    old = tiny_seed()
    new = deepcopy(old)
    new["parameters"]["LEAST"]["default"] = 3
    new["parameters"]["LEAST"]["description"] = "How many"
    new["compute"][-1]["rules"][-1]["else"] = "awful"
    new["output"] = ["TOTAL", "SHARE", "VERDICT", "N"]
    assert list_changes(old, new) == [
        ("values", "parameter", "changed", "LEAST"),
        ("values", "step", "changed", "VERDICT"),
        ("outputs", "output", "removed", "N_GOOD"),
        ("outputs", "output", "changed", "VERDICT"),
        ("outputs", "output", "added", "N"),
    ]
    described = deepcopy(old)
    described["parameters"]["LEAST"]["description"] = "How many"
    assert list_changes(old, described) == [("cosmetic", "parameter", "changed", "LEAST")]


def build_v1(*formulas: str) -> dict[str, Any]:
    steps = [{"name": f"s_{number}", "formula": formula} for number, formula in enumerate(formulas)]
    fields = [{"name": "kind", "values": ["none", "mild"]}]
    return {"task_name": "T", "extraction_fields": fields, "compute_dag": steps, "output_fields": [steps[0]["name"]]}


MILD = "len([e for e in extractions if e['kind'] == 'mild'])"


def test_parts_of_formulas_are_what_they_say() -> None:
    """The compiler's names of them are no difference, also where another formula shares them; their content is one."""
    old = build_v1(f"{MILD} / (len(extractions) + 1)")
    assert list_changes(old, build_v1(old["compute_dag"][0]["formula"], f"{MILD} + 2")) == [
        ("values", "step", "added", "s_1")
    ]
    severe = build_v1(old["compute_dag"][0]["formula"].replace("'mild'", "'none'"))
    assert list_changes(old, severe) == [("values", "step", "changed", "s_0")]


def test_a_migrated_seed_says_the_same() -> None:
    """A seed v1 and what `migrate` writes of it differ in spelling alone, where no part has to become a step."""
    old = build_v1("s_1 * 2 if s_1 > 3 else 0", MILD)
    old["compute_dag"].reverse()
    assert {change[0] for change in list_changes(old, migrate(old, library.load_seed(old).program).seed)} == {
        "cosmetic"
    }


def test_every_part_of_a_program_is_compared() -> None:
    """Whoever adds a part to programs says in which category its changes are."""
    compared = {
        *("steps", "output", "fields", "meta", "context", "parameters"),
        *changes._EXTRACTION_ATTRIBUTES,
        *changes._COSMETIC_ATTRIBUTES,
        *changes._COSMETIC_KEYS,
    }
    assert {field.name for field in fields(nodes.Program)} - compared == {"record", "reference"}  # type: ignore[arg-type]


# --- the restaurants


def change_threshold() -> dict[str, Any]:
    new = read_g1a()
    find_step(new, "VERDICT")["rules"][0]["when"] = "< 5.0"
    find_step(new, "MODERATE_WEIGHT")["expr"] = "6 * (1.3 - 0.3 * TRUST_SCORE)"
    return new


def test_the_matrix_counts_every_restaurant() -> None:
    """What it says of each is what the two seeds say, evaluated one by one."""
    new = change_threshold()
    outcomes = diff(OLD, new, ROWS).outcomes
    lines = [json.loads(line) for line in ROWS.read_text(encoding="utf-8").splitlines()]
    before, after = (library.load_evaluator(seed) for seed in (G1A, new))
    pairs = [tuple(seed.evaluate(line["rows"], line["context"]) for seed in (before, after)) for line in lines]
    assert outcomes is not None
    assert outcomes.matrix == Counter((old["VERDICT"], new["VERDICT"]) for old, new in pairs)
    assert sum(outcomes.matrix.values()) == outcomes.restaurant_count == len(lines)
    assert {moved.business_id for moved in outcomes.changes} == {
        line["business_id"] for line, (old, new) in zip(lines, pairs, strict=True) if old != new
    }
    scores = [new["FINAL_RISK_SCORE"] - old["FINAL_RISK_SCORE"] for old, new in pairs]
    top = max(
        outcomes.changes, key=lambda moved: moved.outputs["FINAL_RISK_SCORE"][1] - moved.outputs["FINAL_RISK_SCORE"][0]
    )
    assert top.outputs["FINAL_RISK_SCORE"][1] - top.outputs["FINAL_RISK_SCORE"][0] == max(scores)  # type: ignore[operator]


def test_where_computations_part() -> None:
    """It is the first step that differs and that an output differs by: not a weight that counts for nothing there."""
    outcomes = diff(OLD, change_threshold(), ROWS).outcomes
    assert outcomes is not None
    assert outcomes.count_divergences() == {"MODERATE_WEIGHT": 6, "VERDICT": 1}
    assert next(iter(outcomes.rank_changes())).diverges_at == "VERDICT"


def build_rows(*counts: int) -> list[dict[str, Any]]:
    """Restaurants of the small seed, each with so many good reviews; without any it has no share."""
    return [tiny_rows(f"r{i}", *(tiny_row(f"{i}-{j}") for j in range(count))) for i, count in enumerate(counts)]


def test_two_settings_of_one_seed() -> None:
    difference = diff(tiny_seed(), tiny_seed(), build_rows(1, 2, 3), parameters_new={"LEAST": 3})
    assert difference.outcomes is not None
    assert difference.outcomes.matrix == {("few", "few"): 1, ("good", "few"): 1, ("good", "good"): 1}
    assert not difference.is_empty
    assert difference.has_changed("verdicts")
    assert difference.json["new"]["parameters"] == {"LEAST": 3}


def test_a_restaurant_that_fails_is_counted() -> None:
    """It is in the matrix as None, it is named, and to fail on one side only is a change."""
    new = tiny_seed()
    new["compute"][3]["expr"] = "N_GOOD / N if N > 0 else 0"
    outcomes = diff(tiny_seed(), new, build_rows(0, 2)).outcomes
    assert outcomes is not None
    assert outcomes.matrix == {(None, "few"): 1, ("good", "good"): 1}
    assert outcomes.flip_count == outcomes.count_failures(0) == 1
    assert [line.endswith("(with the old seed)") for line in outcomes.failures.lines] == [True]
    assert outcomes.changes[0].diverges_at == "SHARE"


def test_the_verdict_can_be_chosen() -> None:
    """A number is no verdict; an unknown output is refused."""
    outcomes = diff(tiny_seed(), tiny_seed(), build_rows(1), output="SHARE").outcomes
    assert outcomes is not None
    assert outcomes.to_json()["verdict"] is None
    with pytest.raises(library.DataError, match=r"there is no output `SHAR`; did you mean `SHARE`\?"):
        diff(tiny_seed(), tiny_seed(), build_rows(1), output="SHAR")


@pytest.mark.parametrize("parameters", [{"LEAST": 99}, {"MOST": 1}])
def test_a_wrong_parameter_is_refused(parameters: dict[str, Any]) -> None:
    """Once, not for every restaurant."""
    with pytest.raises(library.DataError):
        diff(tiny_seed(), tiny_seed(), build_rows(1), parameters_new=parameters)


# --- the renderings


HOSTILE = "`x` | <script>alert(1)</script> @team \x1b[31m\n# no"


def diff_hostile() -> Difference:
    old = tiny_seed(description="d")
    new = tiny_seed(description=HOSTILE)
    new["compute"][-1]["rules"][0]["then"] = HOSTILE
    lines = [{**line, "business_id": f"{HOSTILE}{line['business_id']}"} for line in build_rows(1, 2)]
    return diff(old, new, lines)


def test_a_hostile_seed_stays_text() -> None:
    """Markup of a seed is code in Markdown and HTML, and no line of a terminal's is its own."""
    difference = diff_hostile()
    assert "\x1b" not in difference.text + difference.markdown + difference._repr_html_()
    assert "\n# no" not in difference.text + difference.markdown
    assert "<script" not in difference._repr_html_()
    for line in difference.markdown.splitlines():
        outside = re.sub(r"(`+).*?\1", "", line)
        assert line.startswith(("- ", "+ ")) or not re.search("<script|@team", outside), line


def test_json_is_plain() -> None:
    """It is what `json.dumps` takes, with the keys that docs/analysis.md describes."""
    values = json.loads(json.dumps(diff_hostile().json))
    assert set(values) == {"old", "new", "changes", "data"}
    assert set(values["old"]) == {"file", "sha256", "task", "version", "parameters"}
    change = values["changes"][0]
    assert set(change) == {"category", "what", "kind", "name", "before", "after", "affects", "place"}
    assert set(values["data"]) == {
        "restaurants",
        "extracted_twice",
        "verdict",
        "matrix",
        "diverging",
        "differing",
        "failures",
    }
    assert sum(entry["restaurants"] for entry in values["data"]["matrix"]) == values["data"]["restaurants"] == 2
    assert set(values["data"]["differing"][0]) == {"business_id", "name", "verdict", "outputs", "diverges_at"}


def test_a_long_part_is_folded_in_markdown() -> None:
    """What a reviewer needs is before the fold: the counts, the names, the matrix."""
    short, _, long = diff(OLD, change_threshold(), ROWS).markdown.partition("<details>")
    assert "`VERDICT` changes for 1 of 14 restaurants." in short
    assert "May change values: `MODERATE_WEIGHT`, `VERDICT`." in short
    assert "+ 6 * (1.3 - 0.3 * TRUST_SCORE)" in long


# --- the command


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path, Path]:
    return (
        write_json(tmp_path / "old.json", tiny_seed()),
        write_json(tmp_path / "new.json", tiny_seed(description="new")),
        write_lines(tmp_path / "rows.jsonl", *build_rows(1, 2, 3)),
    )


def run(*arguments: object) -> Outcome:
    return formulaseed("diff", *arguments)


def test_the_command_in_continuous_integration(files: tuple[Path, Path, Path]) -> None:
    """Exit status 1 where what must not change does, else 0."""
    old, new, lines = files
    assert run(old, new, "--rows", lines, "--fail-on", "verdicts", "--fail-on", "extraction").status == 0
    changed = run(old, old, "--rows", lines, "--param-new", "LEAST=3", "--fail-on", "verdicts", "--format", "markdown")
    assert changed.status == 1
    assert "| `good` | 1 | 1 |" in changed.out
    as_json = run(old, new, "--format", "json")
    assert as_json.status == 0
    assert json.loads(as_json.out)["data"] is None
    assert "cosmetic" in run(old, new).out


def test_wrong_usage_of_the_command(files: tuple[Path, Path, Path], tmp_path: Path) -> None:
    """What cannot be compared is refused, and restaurants that fail end with 3."""
    old, new, lines = files
    refused = run(old, new, "--fail-on", "verdicts")
    assert refused.status == 2
    assert "needs restaurants: --rows FILE" in refused.err
    assert run(old, new, "--new-rows", lines).status == 2
    assert "cannot both be standard input" in run(old, new, "--rows", "-", "--new-rows", "-").err
    assert run(old, new, "--param-new", "LEAST=99").status == 2
    assert run(old, tmp_path / "missing.json").status == 2
    assert run(old, new, "--rows", lines, "--output", "SHAR").status == 1
    broken = write_json(tmp_path / "broken.json", tiny_seed(output=["NONE"]))
    assert run(old, broken).status == 1
    failing = run(old, new, "--rows", write_lines(tmp_path / "fail.jsonl", *build_rows(0, 1), b"no"))
    assert failing.status == 3
    assert failing.err.count("failed:") == 3
    assert "1 failed before, 1 after" in failing.out


CONTEXTS = EXAMPLES / "contexts.jsonl"
RECORDED = ("--extractor", "recorded", "--extractions", EXAMPLES / "extractions-g1a_v2.jsonl")


def test_seeds_that_ask_different_questions_have_rows_of_their_own(tmp_path: Path) -> None:
    """With the same rows for both the result is the same; what was extracted for each is compared, too."""
    new = write_json(tmp_path / "new.json", change_threshold())
    once = json.loads(run(G1A, new, "--rows", ROWS, "--format", "json").out)["data"]
    same = json.loads(run(G1A, new, "--rows", ROWS, "--new-rows", ROWS, "--format", "json").out)["data"]
    assert (once["extracted_twice"], same.pop("extracted_twice")) == (False, True)
    assert same == {name: value for name, value in once.items() if name != "extracted_twice"}
    other = change_threshold()
    other["filter"]["keywords"] = ["peanut"]
    new_rows = tmp_path / "new.jsonl"
    asked = formulaseed("extract", write_json(new, other), "--contexts", CONTEXTS, *RECORDED, "--out", new_rows)
    assert asked.status == 0
    twice = run(G1A, new, "--rows", ROWS, "--new-rows", new_rows)
    assert "Each seed has rows of its own" in twice.out
    assert "N_TOTAL_INCIDENTS" in twice.out
    assert "what the other question would give is not in them" in run(G1A, new, "--rows", ROWS).out
    assert library.diff(G1A, new, ROWS, new_rows=new_rows).text == twice.out
    with pytest.raises(library.DataError, match="`new_rows` goes with `rows`"):
        library.diff(G1A, new, new_rows=new_rows)


def test_a_restaurant_that_only_one_seed_can_extract(tmp_path: Path) -> None:
    """It fails on the other side, and is counted and named."""
    reviews = [{"review_id": f"r{n}", "text": f"I liked the soup{'!' * n}", "stars": 5} for n in (1, 40)]
    contexts = [
        {"business_id": f"b{n}", "name": "B", "is_open": 1, "reviews": [review]} for n, review in enumerate(reviews)
    ]
    path = write_lines(tmp_path / "c.jsonl", *contexts)
    handling = {"max_length": 30, "strategy": "reject"}
    seed = tiny_seed()
    seed["extract"]["fields"][0]["default"] = "good"
    paths: list[object] = []
    for name, variant, status in (("old", seed, 0), ("new", {**seed, "review_handling": handling}, 3)):
        rows = tmp_path / f"{name}.jsonl"
        paths.append(write_json(tmp_path / f"{name}.json", variant))
        assert formulaseed("extract", paths[-1], "--contexts", path, "--extractor", "lexical", "--out", rows).status == status
    options = ("--rows", tmp_path / "old.jsonl", "--new-rows", tmp_path / "new.jsonl", "--format", "json")
    done = run(*paths, *options)
    assert done.status == 3
    data = json.loads(done.out)["data"]
    assert data["matrix"] == [
        {"old": "few", "new": "few", "restaurants": 1},
        {"old": "few", "new": None, "restaurants": 1},
    ]
    assert data["diverging"] == {"(extraction)": 1}
    assert [line.partition(": ")[2] for line in data["failures"]] == ["b1: there are no rows for the new seed"]
    assert done.err.count("failed:") == 1


# --- blocks


def test_blocks_in_every_format() -> None:
    """A list, a marked row and a long part: what is between them is text, on one line change."""
    blocks = [
        Heading("A*", 1),
        Paragraph(("b ", InlineCode("`c`|"), " <d>\x1b")),
        Items([ListItem("e\nf"), ListItem("g", 1, (": ", InlineCode("h")))]),
        Table(("h", "i"), (("1", "j|"), ("-", "k")), 1),
        Details("more", (Paragraph("l"),)),
    ]
    text = as_text(blocks)
    assert text == "A*\n==\n\nb `c`| <d>\\x1b\n- e f\n  - g: h\n\n  h  i\n  1  j|\n> -  k\n\nl\n"
    markdown = as_markdown(blocks)
    assert "# A\\*\n\nb `` `c`| `` \\<d\\>\\\\x1b\n\n- e f\n  - g: `h`\n" in markdown
    assert "| h | i |\n| --: | --- |\n| 1 | j\\| |\n| **-** | **k** |" in markdown
    assert (
        as_html(blocks)
        .strip()
        .startswith(
            '<h1>A*</h1><p>b <code>`c`|</code> &lt;d&gt;\\x1b</p><ul class="items"><li><details open><summary>e\nf</summary>'
            '<ul><li>g<p class="detail"><code>h</code></p></li></ul></details></li></ul>'
        )
    )
