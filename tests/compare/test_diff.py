"""The difference of two seeds: what changed in the policy is found, in the right category, and what it does is counted."""

from __future__ import annotations

import json
import re
from collections import Counter
from copy import deepcopy
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any

import formulaseed as library
import pytest
from asking import restaurant
from explaining import LINES, ROWS
from formulaseed.compare import changes
from formulaseed.compare.changes import find_changes
from formulaseed.compare.diff import Difference, diff
from formulaseed.compare.outcomes import Outcomes
from formulaseed.documents import analyse
from formulaseed.ir import nodes
from formulaseed.pages.blocks import Details, Heading, InlineCode, Items, ListItem, Paragraph, Table
from formulaseed.pages.html import as_html
from formulaseed.pages.markdown import as_markdown
from formulaseed.pages.text import as_text
from formulaseed.seed.write.migrate import migrate
from formulaseed.testing import seeds
from helpers import EXAMPLES, SEEDS, TASKS, command, places, tiny_row, tiny_rows, tiny_seed, write_json, write_lines
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from seed_v1_cases import v1_seeds

G1A = TASKS / "g1a_v2" / "seed.json"
OLD = library.load_seed(G1A)


def read_g1a() -> Any:
    return json.loads(G1A.read_text(encoding="utf-8"))


def find_step(seed: dict[str, Any], name: str) -> dict[str, Any]:
    return next(step for step in seed["compute"] if step["name"] == name)


def list_changes(old: Any, new: Any) -> list[tuple[str, str, str, str]]:
    """The changes: category, part, kind, name."""
    between = find_changes(library.load_seed(old), library.load_seed(new))
    return [(change.category, change.part, change.kind, change.name) for change in between.all]


def compare_rows(old: Any, new: Any, rows: Any, **options: Any) -> Outcomes:
    """What the seeds give for restaurants."""
    outcomes = diff(old, new, rows, **options).outcomes
    assert outcomes is not None
    return outcomes


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
    numbers = [(step["name"], *place) for step in new["compute"] for place in places(step)]
    name, holder, key = data.draw(st.sampled_from([n for n in numbers if type(n[1][n[2]]) in (int, float)]))
    holder[key] += data.draw(st.sampled_from([1, 3, 0.5] if type(holder[key]) is float else [1, 3]))
    first, *others = list_changes(OLD, new)
    assert first == ("values", "step", "changed", name)
    assert {change[0] for change in others} <= {"outputs"}


@pytest.mark.thorough
def test_renamed_steps_are_recognised() -> None:
    """Each step with another name is renamed, not removed and added; those that use it are as they were."""
    text = G1A.read_text(encoding="utf-8")
    for name in (change["name"] for change in read_g1a()["compute"]):
        new = json.loads(re.sub(rf"\b{name}\b", f"{name}_2", text))
        outputs = [("outputs", "output", "renamed", f"{name}_2")] if name in read_g1a()["output"] else []
        part = "filter" if name == "IS_INCIDENT" else "step"
        changed = list_changes(OLD, new)
        renamed = [change for change in changed if change[2] == "renamed"]
        assert renamed == [("cosmetic", part, "renamed", f"{name}_2"), *outputs]
        assert {change[0] for change in changed} <= {"cosmetic", "outputs"}, name


def test_what_does_not_change_the_meaning_is_cosmetic() -> None:
    """Descriptions, versions, the order of steps and the spelling of a formula change no value."""
    new = read_g1a() | {"description": "Allergies", "allow": {"FS602": "on purpose"}}
    new["filter"]["keywords"].reverse()
    find_step(new, "TRUST_SCORE")["expr"] = "max( 0.1,(min(1.0 , TRUST_RAW)))"
    find_step(new, "N_RECENT")["where"] = {"meta.year": {">=": 2023}, "$IS_INCIDENT": True}
    new["compute"].insert(0, new["compute"].pop(8))
    assert set(list_changes(OLD, new)) == {
        ("cosmetic", "description", "changed", "description"),
        ("cosmetic", "allow", "changed", "allow"),
        ("cosmetic", "keywords", "reordered", "keywords"),
        ("cosmetic", "step", "changed", "TRUST_SCORE"),
        ("cosmetic", "steps", "reordered", "steps"),
        ("values", "step", "changed", "N_RECENT"),  # another order of conditions may fail where the first did not
    }


def test_words_for_people_are_cosmetic() -> None:
    """Labels, units, reasons of rules and `adverse` change no value and no question to a model."""
    new = read_g1a()
    new["extract"]["fields"][0]["label"] = "reaction"
    find_step(new, "N_MILD")["unit"] = "reviews"
    find_step(new, "FINAL_RISK_SCORE")["adverse"] = "lower"
    find_step(new, "VERDICT")["rules"][0]["because"] = "it is low"
    assert set(list_changes(OLD, new)) == {
        ("cosmetic", "field", "changed", "incident_severity"),
        *(("cosmetic", "step", "changed", name) for name in ("N_MILD", "FINAL_RISK_SCORE", "VERDICT")),
    }


def test_what_is_extracted() -> None:
    """Everything that makes stored answers those of another question is of one category, with the steps that use it."""
    new = read_g1a()
    mild, *_ = fields = new["extract"]["fields"]
    mild["values"]["mild"] = "Minor"
    mild["default"] = "none"
    new["extract"] |= {"fields": [*fields, {"name": "note", "type": "string"}], "passes": 3}
    new["filter"]["keywords"].append("celery")
    new["review_handling"] = {"max_length": 900, "strategy": "truncate_head"}
    difference = diff(OLD, new)
    assert {(change.part, change.kind, change.name) for change in difference.changes.select("extraction")} == {
        ("field", "changed", "incident_severity"), ("field", "added", "note"), ("keywords", "changed", "keywords"),
        ("passes", "changed", "passes"), ("review_handling", "added", "review_handling"),
    }  # fmt: skip
    changed = difference.changes.select("extraction")[0]
    assert [name for name in ("VERDICT", "N_POSITIVE") if name in changed.affects] == ["VERDICT"]
    assert changed.after == ("value 'mild': Minor", "default 'none'")
    assert [name for name in ("extraction", "outputs") if difference.has_changed(name)] == ["extraction"]


def test_inputs_and_outputs() -> None:
    """A parameter that steps use changes values, a verdict that did not exist changes an output."""
    new = tiny_seed(output=["TOTAL", "SHARE", "VERDICT", "N"])
    new["parameters"]["LEAST"]["description"] = "How many"
    described = tiny_seed(parameters=deepcopy(new["parameters"]))
    assert list_changes(tiny_seed(), described) == [("cosmetic", "parameter", "changed", "LEAST")]
    new["parameters"]["LEAST"]["default"] = 3
    new["compute"][-1]["rules"][-1]["else"] = "awful"
    assert list_changes(tiny_seed(), new) == [
        ("values", "parameter", "changed", "LEAST"), ("values", "step", "changed", "VERDICT"),
        ("outputs", "output", "removed", "N_GOOD"), ("outputs", "output", "changed", "VERDICT"),
        ("outputs", "output", "added", "N"),
    ]  # fmt: skip


def build_v1(*formulas: str) -> dict[str, Any]:
    steps = [{"name": f"s_{number}", "formula": formula} for number, formula in enumerate(formulas)]
    fields = [{"name": "kind", "values": ["none", "mild"]}]
    return {"task_name": "T", "extraction_fields": fields, "compute_dag": steps, "output_fields": [steps[0]["name"]]}


MILD = "len([e for e in extractions if e['kind'] == 'mild'])"


def test_parts_of_formulas_are_what_they_say() -> None:
    """The compiler's names of them are no difference, also where another formula shares them; their content is one."""
    share = f"{MILD} / (len(extractions) + 1)"
    assert list_changes(build_v1(share), build_v1(share, f"{MILD} + 2")) == [("values", "step", "added", "s_1")]
    severe = build_v1(share.replace("'mild'", "'none'"))
    assert list_changes(build_v1(share), severe) == [("values", "step", "changed", "s_0")]


def test_a_migrated_seed_says_the_same() -> None:
    """A seed v1 and what `migrate` writes of it differ in spelling alone, where no part has to become a step."""
    old = build_v1("s_1 * 2 if s_1 > 3 else 0", MILD)
    old["compute_dag"].reverse()
    migrated = migrate(old, library.load_seed(old).program).seed
    assert {change[0] for change in list_changes(old, migrated)} == {"cosmetic"}


def test_every_part_of_a_program_is_compared() -> None:
    """Whoever adds a part to programs says in which category its changes are."""
    compared = {
        *("steps", "output", "fields", "meta", "context", "parameters"), *changes._EXTRACTION_ATTRIBUTES,
        *changes._COSMETIC_ATTRIBUTES, *changes._COSMETIC_KEYS,
    }  # fmt: skip
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
    outcomes, lines = compare_rows(OLD, new, ROWS), [*LINES.values()]
    before, after = (library.load_evaluator(seed) for seed in (G1A, new))
    pairs = [tuple(seed.evaluate(line["rows"], line["context"]) for seed in (before, after)) for line in lines]
    assert outcomes.matrix == Counter((old["VERDICT"], new["VERDICT"]) for old, new in pairs)
    assert sum(outcomes.matrix.values()) == outcomes.restaurant_count == len(lines)
    assert {moved.business_id for moved in outcomes.changes} == {
        line["business_id"] for line, (old, new) in zip(lines, pairs, strict=True) if old != new
    }
    scores = [(old["FINAL_RISK_SCORE"], new["FINAL_RISK_SCORE"]) for old, new in pairs if old != new]
    assert sorted(moved.outputs["FINAL_RISK_SCORE"] for moved in outcomes.changes) == sorted(scores)


def test_where_computations_part() -> None:
    """It is the first step that differs and that an output differs by: not a weight that counts for nothing there."""
    outcomes = compare_rows(OLD, change_threshold(), ROWS)
    assert outcomes.count_divergences() == {"MODERATE_WEIGHT": 6, "VERDICT": 1}
    assert next(iter(outcomes.rank_changes())).diverges_at == "VERDICT"


def build_rows(*counts: int) -> list[dict[str, Any]]:
    """Restaurants of the small seed, each with so many good reviews; without any it has no share."""
    return [tiny_rows(f"r{i}", *(tiny_row(f"{i}-{j}") for j in range(count))) for i, count in enumerate(counts)]


def test_two_settings_of_one_seed() -> None:
    difference = diff(tiny_seed(), tiny_seed(), build_rows(1, 2, 3), parameters_new={"LEAST": 3})
    assert difference.outcomes is not None
    assert difference.outcomes.matrix == {("few", "few"): 1, ("good", "few"): 1, ("good", "good"): 1}
    assert (difference.is_empty, difference.has_changed("verdicts")) == (False, True)
    assert difference.json["new"]["parameters"] == {"LEAST": 3}


@pytest.mark.parametrize("options", [{}, {"prove": True}], ids=["seeds", "proof"])
def test_a_wrong_parameter_is_refused_without_rows(options: dict[str, Any]) -> None:
    with pytest.raises(library.DataError, match="LEST"):
        diff(tiny_seed(), tiny_seed(), parameters_new={"LEST": 3}, **options)


def test_a_restaurant_that_fails_is_counted() -> None:
    """It is in the matrix as None, it is named, and to fail on one side only is a change."""
    new = tiny_seed()
    new["compute"][3]["expr"] = "N_GOOD / N if N > 0 else 0"
    outcomes = compare_rows(tiny_seed(), new, build_rows(0, 2))
    assert outcomes.matrix == {(None, "few"): 1, ("good", "good"): 1}
    assert outcomes.flip_count == outcomes.count_failures(0) == 1
    assert [line.endswith("(with the old seed)") for line in outcomes.failures.lines] == [True]
    assert outcomes.changes[0].diverges_at == "SHARE"


def test_the_verdict_can_be_chosen() -> None:
    """A number is no verdict; an unknown output is refused."""
    assert compare_rows(tiny_seed(), tiny_seed(), build_rows(1), output="SHARE").to_json()["verdict"] is None
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
    return diff(old, new, [{**line, "business_id": f"{HOSTILE}{line['business_id']}"} for line in build_rows(1, 2)])


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
    for part, keys in (
        (values, "old new changes data"), (values["old"], "file sha256 task version parameters"),
        (values["changes"][0], "category what kind name before after affects place"),
        (values["data"], "restaurants extracted_twice verdict matrix broken diverging differing gone new failures"),
        (values["data"]["differing"][0], "business_id name verdict outputs diverges_at causes"),
    ):  # fmt: skip
        assert {*part} == {*keys.split()}
    assert sum(entry["restaurants"] for entry in values["data"]["matrix"]) == values["data"]["restaurants"] == 2


def test_a_long_part_is_folded_in_markdown() -> None:
    """What a reviewer needs is before the fold: the counts, the names, the matrix."""
    short, _, long = diff(OLD, change_threshold(), ROWS).markdown.partition("<details>")
    assert "verdict changes for 1 of 14 restaurants." in short
    assert "May change values: `MODERATE_WEIGHT`, `VERDICT`." in short
    assert "+ 6 * (1.3 - 0.3 * TRUST_SCORE)" in long


# --- the command


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path, Path]:
    old, new = (write_json(tmp_path / f"{name}.json", tiny_seed(description=name)) for name in ("old", "new"))
    return old, new, write_lines(tmp_path / "rows.jsonl", *build_rows(1, 2, 3))


run = partial(command, "diff")


def run_json(*arguments: object, status: int = 0) -> Any:
    """What the command says of the restaurants, as JSON."""
    done = run(*arguments, "--format", "json")
    assert done.status == status
    return json.loads(done.out)["data"]


def test_the_command_in_continuous_integration(files: tuple[Path, Path, Path]) -> None:
    """Exit status 1 where what must not change does, else 0."""
    old, new, lines = files
    assert run(old, new, "--rows", lines, "--fail-on", "verdicts", "--fail-on", "extraction").status == 0
    changed = run(old, old, "--rows", lines, "--param-new", "LEAST=3", "--fail-on", "verdicts", "--format", "markdown")
    assert (changed.status, "| `good` | 1 | 1 |" in changed.out) == (1, True)
    assert run_json(old, new) is None
    assert "cosmetic" in run(old, new).out


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # of rows opened, and never read
def test_wrong_usage_of_the_command(files: tuple[Path, Path, Path], tmp_path: Path) -> None:
    """What cannot be compared is refused, and restaurants that fail end with 3."""
    old, new, lines = files
    broken = write_json(tmp_path / "broken.json", tiny_seed(output=["NONE"]))
    for arguments, status, message in (
        ((new, "--fail-on", "verdicts"), 2, "needs restaurants: --rows FILE"),
        ((new, "--new-rows", lines), 2, "--rows"), ((new, "--param-new", "LEAST=99"), 2, "LEAST"),
        ((new, "--rows", "-", "--new-rows", "-"), 2, "cannot both be standard input"), ((broken,), 1, "FS201"),
        ((tmp_path / "missing.json",), 2, "missing.json"), ((new, "--rows", lines, "--output", "SHAR"), 1, "SHARE"),
    ):  # fmt: skip
        done = run(old, *arguments)
        assert (done.status, message in done.err) == (status, True), (arguments, done.err)
    failing = run(old, new, "--rows", write_lines(tmp_path / "fail.jsonl", *build_rows(0, 1), b"no"))
    assert (failing.status, failing.err.count("failed:"), "1 failed before, 1 after" in failing.out) == (3, 3, True)


CONTEXTS = EXAMPLES / "contexts.jsonl"
RECORDED = ("--extractor", "recorded", "--extractions", EXAMPLES / "extractions-g1a_v2.jsonl")


@pytest.mark.thorough
def test_seeds_that_ask_different_questions_have_rows_of_their_own(tmp_path: Path) -> None:
    """With the same rows for both the result is the same; what was extracted for each is compared, too."""
    new = write_json(tmp_path / "new.json", change_threshold())
    once, twice = (run_json(G1A, new, "--rows", ROWS, *options) for options in ((), ("--new-rows", ROWS)))
    [moved] = [
        entry.pop("causes") for entry in twice["differing"] if entry["verdict"]["old"] != entry["verdict"]["new"]
    ]
    assert [(cause["part"], cause["moves"]) for cause in moved] == [("seed", True)]
    for entry in (*once["differing"], *twice["differing"]):
        assert entry.pop("causes", []) == []
    assert (once.pop("extracted_twice"), twice.pop("extracted_twice"), once) == (False, True, twice)
    other = change_threshold()
    other["filter"]["keywords"] = ["peanut"]
    new_rows = tmp_path / "new.jsonl"
    source = ("--contexts", CONTEXTS, *RECORDED)
    assert command("extract", write_json(new, other), *source, "--out", new_rows).status == 0
    text = run(G1A, new, "--rows", ROWS, "--new-rows", new_rows).out
    assert ("Each run has rows of its own" in text, "reactions" in text) == (True, True)
    assert "what the other question would give is not in them" in run(G1A, new, "--rows", ROWS).out
    assert library.diff(G1A, new, ROWS, new_rows=new_rows).text == text
    with pytest.raises(library.DataError, match="`new_rows` goes with `rows`"):
        library.diff(G1A, new, new_rows=new_rows)


def test_a_restaurant_that_only_one_seed_can_extract(tmp_path: Path) -> None:
    """It is gone from the new run: it is listed with its verdict, and no failure."""
    texts = ("I liked the soup!", f"I liked the soup{'!' * 40}")
    contexts = write_lines(
        tmp_path / "c.jsonl", *(restaurant(f"b{n}", text, is_open=1) for n, text in enumerate(texts))
    )
    old = tiny_seed()
    old["extract"]["fields"][0]["default"] = "good"
    paths, rows = ([tmp_path / f"{name}.{suffix}" for name in ("old", "new")] for suffix in ("json", "jsonl"))
    rejecting = {**old, "review_handling": {"max_length": 30, "strategy": "reject"}}
    for path, out, seed, status in zip(paths, rows, (old, rejecting), (0, 3), strict=True):
        lexical = ("--extractor", "lexical", "--out", out)
        assert command("extract", write_json(path, seed), "--contexts", contexts, *lexical).status == status
    arguments = (*paths, "--rows", rows[0], "--new-rows", rows[1])
    data = run_json(*arguments)
    assert data["matrix"] == [{"old": "few", "new": "few", "restaurants": 1}]
    assert (data["gone"], data["new"]) == ([{"business_id": "b1", "name": "The b1", "verdict": "few"}], [])
    assert "1 restaurant only in the old run, 0 only in the new." in run(*arguments).out
    assert run_json(*paths[::-1], "--rows", rows[1], "--new-rows", rows[0])["new"] == data["gone"]


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
    html = (
        '<h1>A*</h1><p>b <code>`c`|</code> &lt;d&gt;\\x1b</p><ul class="items"><li><details open><summary>e\nf</summary>'
        '<ul><li>g<p class="detail"><code>h</code></p></li></ul></details></li></ul>'
    )
    assert as_html(blocks).strip().startswith(html)
