"""Test the fixes of `check --fix`, typos and similar names, `--strict`, and the places of errors of evaluation."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any

import pytest
from formulaseed import EvaluationError, load_evaluator
from formulaseed.diagnostics.suggestions import find_close_matches, is_typo
from formulaseed.documents import SeedAnalysis, analyse_text
from formulaseed.pipeline import fixed
from formulaseed.source.text import Source
from helpers import SEEDS_V2, TASKS, command, tiny_row, tiny_rows, tiny_seed, write_json, write_lines
from hypothesis import given, settings
from hypothesis import strategies as st

G1A = TASKS / "g1a_v2" / "seed.json"


def analyse_json(text: str) -> SeedAnalysis:
    return analyse_text(Source("seed.json", text))


def fix_json(text: str) -> str:
    """Return the fixed text of a document that has errors, or the same text if nothing is fixed."""
    before = analyse_json(text)
    assert before.has_errors
    return fixed(before).document.source.text


def change_seed(changes: dict[str, Any]) -> str:
    """Return the small seed with new values at JSON Pointers; a list grows by the value at `-`."""
    seed = tiny_seed()
    for pointer, value in changes.items():
        place: Any = seed
        *path, last = [int(key) if key.isdecimal() else key for key in pointer.split("/")]
        for key in path:
            place = place[key]
        if last == "-":
            place.append(value)
        else:
            place[last] = value
    return json.dumps(seed)


MISSPELT = [
    ('"expr": "N_MILD + N_MODERATE', '"expr": "N_MLID + N_MODERATE'), ("min(20.0, RAW_RISK)", "minn(20.0, RAW_RISKS)"),
    ('"source": "FINAL_RISK_SCORE"', '"source": "FINAL_RISK_SCOR"'), ('"keywords"', '"keyword"'),
    ('"extraction.safety_interaction": "betrayal"', '"extraction.safety_interactions": "betrayl"'),
    ('"op": "define_filter"', '"op": "definefilter"'), ('"match": "substring_max"', '"match": "substring-max"'),
    ('"where": {"$IS_INCIDENT": true}, "default"', '"where": {"$IS_INCIDENTS": true}, "default"'),
    ('"type": "enum"', '"type": "enums"'), ('{">=": 2023}', '{"gte": 2023}'), ("(5 - meta.stars)", "(5 - meta.star)"),
    ('"CUISINE_IMPACT", "INCIDENT_IMPACT"', '"CUISINE_IMPACTS", "INCIDENT_IMPACT"'),
]  # fmt: skip


@pytest.mark.parametrize(("written", "misspelt"), MISSPELT)
@pytest.mark.thorough
def test_misspelt_names_are_fixed(written: str, misspelt: str) -> None:
    text = G1A.read_text(encoding="utf-8")
    place = re.search(r"\s+".join(map(re.escape, written.split())), text)
    assert place, written
    after = fix_json(text[: place.start()] + misspelt + text[place.end() :])
    assert json.loads(after) == json.loads(text)


@pytest.mark.parametrize("path", SEEDS_V2, ids=lambda path: path.parent.name)
@pytest.mark.thorough
def test_steps_out_of_order_are_fixed(path: Path) -> None:
    """The fixed seed has the same steps, none of them too early, each as it was written."""
    seed = json.loads(path.read_text(encoding="utf-8"))
    for number in range(5):
        shuffled = {**seed, "compute": random.Random(number).sample(seed["compute"], len(seed["compute"]))}
        text = json.dumps(shuffled, indent=3)
        after = fixed(analyse_json(text))
        assert not after.has_errors
        repaired = after.document.source.text
        assert sorted(repaired.splitlines()) == sorted(text.splitlines()) or len(repaired) == len(text)
        assert sorted(json.loads(repaired)["compute"], key=json.dumps) == sorted(seed["compute"], key=json.dumps)


X = {"name": "X"}
UNCERTAIN: tuple[dict[str, Any], ...] = (
    # no similar name, a cycle, a change that would leave more errors
    {"compute/3/expr": "QUITE_ELSE / N"}, {"compute/0": {"name": "N", "op": "expr", "expr": "SHARE"}},
    {"compute/1/where": {"extraction.mood": "good", "extraction.moods": "bad"}},
    # a namespace, a filter or a field; the end of a range
    *({"compute/0/where": where} for where in (
        {"stars": 5}, {"business.stars": 5}, {"r.stars": 5}, {"extraction.meta.stars": 5}, {"$useful": 5}, {"moood": "good"},
        {"meta.stars": {"min": 3}}, {"meta.stars": {"max": 3}}, {"meta.stars": {"not": 3}}, {"context.useful": 3})),
    # an operation from elsewhere, a value under another key
    *({"compute/-": {**X, **step}} for step in (
        {"op": "const", "formula": "3"}, {"op": "ratio", "expr": "N"}, {"op": "if", "expr": "N"}, {"op": "filter", "expr": "N"},
        {"op": "sum", "field": "meta.stars"}, {"op": "average", "expr": "N"})),
    # a definition that is misspelt, and used more than once, or as an output; one of two equal names
    {"compute/1/name": "N_GOOOD"},
    {"compute/1/name": "N_GOOOD", "output": ["SHARE"], "compute/3/expr": "N_GOOD / N if N > 0 else N_GOOD",
     "compute/-": {"name": "MORE", "op": "expr", "expr": "N_GOOD"}},
    {"compute/-": {"name": "N_GOODS", "op": "count"}, "compute/1/name": "N_GOODS"},
    # a fixed comparison that would be constant
    {"compute/2/expr": "1 if extraction.mood == 'god' else 0"},
    # signs that other languages have, which may mean something else there
    *({"compute/3/expr": formula} for formula in (
        "1 if N > 1 & N < 5 else 0", "1 if !(N > 1) == 2 else 0", "N ^ 2", "N * '3,5'", "(context.stars ?? 0) * 2", "N = 3",
        "1 if '3' == N else 0")),
)  # fmt: skip


@pytest.mark.parametrize("changes", UNCERTAIN, ids=json.dumps)
def test_an_uncertain_fix_is_left_to_the_author(changes: dict[str, Any]) -> None:
    text = change_seed(changes)
    assert (fix_json(text), fix_json("{")) == (text, "{")


OPPOSITES = [
    ("unsafe", "safe"), ("N_UNSAFE", "N_SAFE"), ("not accommodated", "accommodated"), ("MAX_STARS", "MIN_STARS"),
    ("N_2023", "N_2022"), ("no_shows", "shows"), ("IS_NOT_LOUD", "IS_LOUD"), ("nonsmoking", "smoking"),
]  # fmt: skip
OTHER_WORDS = [
    ("$NOT_LOUD", "IS_LOUD"), ("$IS_LOUD", "N_LOUD"), ("GROUP_A", "GROUP_B"), ("slow", "low"), ("done", "one"), ("map", "max"),
    ("sin", "min"), ("employer", "employee"), ("atypical", "typical"), ("betrayed", "betrayal"), ("lowd", "loud"),
    ("A-", "A"), ("-1", "1"), ("W_1_5", "W_15"), ("N_2", "N_"),
]  # fmt: skip
TYPOS = [
    ("N_MODERATES", "N_MODERATE"), ("yaer", "year"), ("Substring-Max", "substring_max"), ("definefilter", "define_filter"),
    ("cuont", "count"), ("usefull", "useful"), ("betrayl", "betrayal"), ("mni", "min"), ("modarate", "moderate"),
    ("god", "good"), ("N_LOUD", "N_LOUDS"),
]  # fmt: skip


@pytest.mark.parametrize(("written", "known"), OPPOSITES + OTHER_WORDS)
def test_another_word_is_no_typo_and_no_opposite_is_proposed(written: str, known: str) -> None:
    assert not is_typo(written, known, [known, "elsewhere"])
    assert (written, known) not in OPPOSITES or find_close_matches(written, [known]) == []


@pytest.mark.parametrize(("written", "known"), TYPOS)
def test_a_typo_is_certain_if_one_name_alone_fits(written: str, known: str) -> None:
    assert is_typo(written, known, ["elsewhere", known])
    assert not is_typo(written, known, [known, known.swapcase()])
    for misspelt in ("N_LUD", "_LOUD"):  # then the definition may be misspelt: `N_LUD` for `N_LOUD`, beside `N_LOUDS`
        assert not is_typo("N_LOUD", "N_LOUDS", ["N_LOUDS", misspelt])


STARS = ["context.stars", "meta.stars"]
AMBIGUOUS: dict[str, list[str]] = {
    **dict.fromkeys(("business.stars - meta.stars", "restaurant.stars", "item.stars", "biz.stars", "shop.stars",
                     "place.stars"), STARS),
    **dict.fromkeys(("this.stars", "r.stars", "review.stars", "rating.stars", "stars", "extraction.stars", "param.stars",
                     "steps.stars"), STARS[::-1]),
    "metas.stars": ["meta.stars"], "Context.stars": ["context.stars"], "contxt.stars": ["context.stars"],
    "context.useful": ["meta.useful"], "e.score": ["extraction.score"], "fields.score": ["extraction.score"],
    "settings.LEAST": ["param.LEAST"], "meta.score": ["extraction.score"],
    "np.max(meta.stars, 0)": [], "math.sqrt(meta.stars)": [], "N.round(2)": [],
}  # fmt: skip
"""Formulas with a wrong namespace, and the candidates that the help names, the most likely first."""


@pytest.mark.parametrize("formula", AMBIGUOUS)
def test_no_fix_chooses_among_namespaces(formula: str) -> None:
    text = change_seed({"compute/2/expr": formula})
    assert fix_json(text) == text
    (error,) = [d for d in analyse_json(text).diagnostics if d.severity == "error"]
    assert re.findall(r"`(\w+\.\w+)`", error.help) == AMBIGUOUS[formula]


@pytest.mark.parametrize(
    ("wrong", "right"),
    [("useful", "meta.useful"), ("score", "extraction.score"), ("extractions.score", "extraction.score"),
     ("meta.usefull", "meta.useful"), ("self.N", "N"), ("parm.LEAST", "param.LEAST"), ("params.LEAST", "param.LEAST")],
)  # fmt: skip
def test_a_name_with_one_reading_is_fixed(wrong: str, right: str) -> None:
    """A namespace is left out, and one alone has the field; or it has a typo, and no other has the field."""
    text = change_seed({"compute/2/expr": wrong, "parameters/CUT": {"type": "integer", "default": 1}})
    assert json.loads(fix_json(text))["compute"][2]["expr"] == right


def test_the_fixes_are_counted() -> None:
    """Each error that a fix removes counts, also if others vanish with it, as those of a definition that is used once."""
    condition = {"extraction.mood": "good"}
    renamed = change_seed({"compute/1/name": "N_GOOOD", "output": ["SHARE"]})
    several = change_seed({
        "compute/1": {"name": "N_GOOD", "op": "count", "wheer": condition}, "compute/2/op": "smu",
        "compute/3/expr": "N_GOOOD / N + N_GOOOD"})  # fmt: skip
    for text, number in ((renamed, 1), (several, 4)):
        after = fixed(analyse_json(text))
        assert (after.has_errors, after.fixed_count) == (False, number)


_TOKEN = re.compile(r"\$?[A-Za-z_][A-Za-z_0-9]+(?:\.[A-Za-z_]\w*)*")
_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')
_NAMESPACES = ("extraction", "meta", "context", "param")
_ELSEWHERE = ("business", "restaurant", "item", "biz", "r", "review", "e", "extractions", "steps", "self", "Meta", "")


def plant_mistake(text: str, chosen: random.Random) -> tuple[str, str, str]:
    """Return a seed's text with one typo, wrong namespace or sign; the right token, and the wrong one."""
    tokens: list[re.Match[str]] = []
    while not tokens:
        string = chosen.choice([string for string in _STRING.finditer(text) if len(string[1]) < 300])
        tokens = list(_TOKEN.finditer(string[1]))
    token = chosen.choice(tokens)
    old, rest = token.group(), token.group().partition(".")[2]
    at = chosen.randrange(len(old))
    new = chosen.choice([
        old[:at] + old[at + 1 :], old[:at] + old[at] + old[at:], old[:at] + old[at : at + 2][::-1] + old[at + 2 :],
        old[:at] + chosen.choice("abcxyzN_") + old[at + 1 :], old.swapcase(), f"{old}s",
        old[1:] if old.startswith("$") else f"${old}",
        *(f"{space}.{rest}".removeprefix(".") for space in (*_NAMESPACES, *_ELSEWHERE) if rest),
    ])  # fmt: skip
    start = string.start(1) + token.start()
    return text[:start] + new + text[start + len(old) :], old, new


@settings(max_examples=40)
@given(st.sampled_from(SEEDS_V2), st.randoms(use_true_random=False))
@pytest.mark.thorough
def test_a_fix_gives_the_seed_that_was_there_or_leaves_it(path: Path, chosen: random.Random) -> None:
    """After one mistake, the fixed seed is the sound one, or still has the mistake.

    A misspelt definition that is used once may give its name to the use: the seed is the same under another name.
    """
    sound = json.dumps(json.loads(path.read_text(encoding="utf-8")), ensure_ascii=False)
    wrong, old, new = plant_mistake(sound, chosen)
    after = fixed(analyse_json(wrong)).document.source.text
    right, name = (token.rpartition(".")[2].lstrip("$") for token in (old, new))
    renamed = [re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", right, text) if name else text for text in (after, sound)]
    assert after in (wrong, sound) or renamed[0] == renamed[1]


QUOTED = [
    ('"default": 3, "minimum": -1, "maximum": 9', '"default": "3", "minimum": "-1", "maximum": "9"'),
    ('"field": "meta.year", "default": 2020', '"field": "meta.year", "default": "2020"'),
    ('{">=": 2023}', '{">=": "2023"}'),
    ('"meta.stars": 5, "meta.useful": {"in": [1, 2]}', '"meta.stars": "5", "meta.useful": {"in": ["1", "2"]}'),
    ('"then": 1.5}, {"else": 1.0}', '"then": "1.5"}, {"else": 1.0}'),
    ('"when": "N > 3"', '"when": "N > \'3\'"'),
    ('{"Thai": 2.0, "Bars": -1}', '{"Thai": "2.0", "Bars": -1}'),
    ('"type": "boolean", "default": true', '"type": "boolean", "default": "true"'),
    ('"passes": 3', '"passes": "3"'),
    ("context.city in ['Reno', \\\"it's\\\"]", "context.city in ('Reno', \\\"it's\\\")"),
    ("N not in [1, -2.5]", "N not in (1, -2.5)"),
    ('"default": 2020}', "“default”: 2020,}"),
    ('"when": "M == 3"', '"when": "M = 3"'),
    ('"when": "M == 3"', '"when": "M = = 3"'),
    ('"when": "N == 1 and M > 0"', '"when": "N = 1 and M > 0"'),
]
"""Parts of the sound seed, and the same with values in quotes, a tuple or signs of other languages."""
NO_VALUES = [
    ('"default": 3, "min', '"default": "3.5", "min'), ('"default": 3, "min', '"default": "03", "min'),
    ('"default": 3, "min', '"default": "three", "min'), ('"default": 2020', '"default": "1e3"'),
    ('"default": true', '"default": "yes"'), ("['Reno', \\\"it's\\\"]", "('Reno', ('Elko'))"), ("M == 3", "M = > 3"),
]  # fmt: skip
"""Parts of the sound seed, and values in quotes that are none of the field's, or a sign of two meanings."""
SOUND = """{
  "task_name": "Quoted",
  "parameters": {"LEAST": {"type": "integer", "default": 3, "minimum": -1, "maximum": 9}},
  "extract": {"fields": [{"name": "loud", "type": "boolean", "default": true},
    {"name": "mood", "type": "enum", "values": ["good", "bad"]}], "passes": 3},
  "compute": [
    {"name": "N", "op": "count", "where": {"extraction.loud": true, "meta.year": {">=": 2023}}},
    {"name": "M", "op": "count", "where": {"meta.stars": 5, "meta.useful": {"in": [1, 2]}}},
    {"name": "LAST", "op": "max", "field": "meta.year", "default": 2020},
    {"name": "KIND", "op": "lookup", "source": "context.categories", "table": {"Thai": 2.0, "Bars": -1},
     "match": "substring_max", "default": 0},
    {"name": "RATE", "op": "case", "rules": [{"when": "N > 3", "then": 2}, {"when": "M == 3", "then": 1.5}, {"else": 1.0}]},
    {"name": "ONE", "op": "case", "rules": [{"when": "N == 1 and M > 0", "then": 1}, {"else": 0}]},
    {"name": "HERE", "op": "expr", "expr": "1 if context.city in ['Reno', \\"it's\\"] and N not in [1, -2.5] else param.LEAST"}
  ],
  "output": ["N", "M", "LAST", "KIND", "RATE", "ONE", "HERE"]
}"""
FORMULAS = [
    ("1 if N > 1 && N < 5 else 0", "1 if N > 1 and N < 5 else 0"), ("1 if N>1&&N<5 else 0", "1 if N>1 and N<5 else 0"),
    ("1 if N > 1 || M > 1 else 0", "1 if N > 1 or M > 1 else 0"), ("1 if N <> 3 else 0", "1 if N != 3 else 0"),
    ("1 if N === 3 AND M !== 2 else 0", "1 if N == 3 and M != 2 else 0"), ("N × 2", "N * 2"),
    ("1 if context.city == ‘Tampa’ else 0", "1 if context.city == 'Tampa' else 0"),
    ("1 if context.city == “Tampa” else 0", "1 if context.city == 'Tampa' else 0"),
    ("1 if N > '3' else 0", "1 if N > 3 else 0"), ('N * \\"3\\"', "N * 3"),
    ("int(extraction.mood == 'god')", "int(extraction.mood == 'good')"),
    ("int(extraction.mood == goood)", "int(extraction.mood == 'good')"),
    ('int(extraction.mood == \\"god\\")', 'int(extraction.mood == \\"good\\")'),
]  # fmt: skip
"""Formulas with mistakes whose help states the fix exactly, and as they are fixed; strings keep their quotes."""


@pytest.mark.parametrize(("written", "right"), FORMULAS)
def test_an_exact_help_is_applied(written: str, right: str) -> None:
    start = SOUND.partition('"HERE"')[0] + (
        '"HERE", "op": "sum"' if "extraction" in written else '"HERE", "op": "expr"'
    )
    wrong, sound = (f'{start}, "expr": "{formula}"}}], "output": ["HERE"]}}' for formula in (written, right))
    assert fix_json(wrong) == sound
    assert not analyse_json(sound).has_errors


def test_values_in_quotes_and_tuples_are_fixed() -> None:
    """The seed is as it was before, to the byte; a text that is no value stays."""
    assert not analyse_json(SOUND).has_errors
    for sound, wrong in QUOTED + NO_VALUES:
        assert sound in SOUND
        text = SOUND.replace(sound, wrong)
        assert fix_json(text) == (SOUND if (sound, wrong) in QUOTED else text), wrong


GETS = [
    ("sum(1 for e in extractions if e.get('kind') == 'mild')", "sum(1 for e in extractions if e['kind'] == 'mild')"),
    ('sum(r.get("size") for r in extractions)', "sum(r['size'] for r in extractions)"),
    ("sum(e.get('stars', 0) for e in extractions)", "sum(e['stars'] for e in extractions)"),
    ("sum(1 for e in extractions if e.get('kind') in ('mild', \"none\"))",
     "sum(1 for e in extractions if e['kind'] in ['mild', \"none\"])"),
    ("sum(e.get('size', 0) for e in extractions)", ""), ("sum(e.get('weather') for e in extractions)", ""),
    ("sum(e.get() for e in extractions)", ""), ("sum(e.pop('size') for e in extractions)", ""),
]  # fmt: skip
"""Formulas of seeds v1, and what becomes of them."""


@pytest.mark.parametrize(("wrong", "right"), GETS)
def test_get_of_a_review_is_fixed(wrong: str, right: str) -> None:
    """A declared field always has a value; if the formula has a default for an absent one, the author decides."""
    fields = [{"name": "kind", "values": ["none", "mild"]}, {"name": "size", "type": "integer", "default": 1}]
    before, after = (
        json.dumps({"task_name": "T", "extraction_fields": fields, "compute_dag": [{"name": "n", "formula": formula}],
                    "output_fields": ["n"]}) for formula in (wrong, right or wrong)
    )  # fmt: skip
    assert fix_json(before) == after


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "seed.json"


def test_fix_rewrites_the_file(path: Path) -> None:
    """The command fixes the file in place, also through a link, says so, and reports what remains."""
    misspelt = G1A.read_text(encoding="utf-8").replace('"sum"', '"avg"')
    path.write_text(misspelt.replace("min(20.0, RAW_RISK)", "min(20.0, RAW_RSIK)"), encoding="utf-8")
    link = path.with_name("link.json")
    link.symlink_to(path)
    outcome = command("check", link, "--fix")
    assert (outcome.status, "FS504" in outcome.out) == (1, True)
    assert f"{link}: 1 error fixed" in outcome.err
    assert (link.is_symlink(), path.read_text(encoding="utf-8")) == (True, misspelt)
    again = command("check", path, "--fix")
    assert again.err == f"{path}: 0 errors fixed; no safe fix for FS504 at 322:13\n"


def test_fix_leaves_a_file_alone_in_which_nothing_can_be_fixed(path: Path) -> None:
    """Neither a sound file is written, nor one whose errors have no safe fix; the command names these errors."""
    sound = G1A.read_text("utf-8")
    left = "0 errors {}; no safe fix for FS204 at 323:21\n"
    for text, status, fix, diff in (
        (sound, 0, "", "there are no errors to fix\n"),
        (sound.replace("(5 - meta.s", "(5 - review.s"), 1, left.format("fixed"), left.format("can be fixed")),
    ):
        path.write_text(text, "utf-8")
        before = path.stat()
        outcome = command("check", path, "--fix")
        assert (outcome.status, outcome.err) == (status, fix and f"{path}: {fix}")
        changes = command("check", path, "--fix", "--diff")
        assert (changes.status, changes.out, changes.err) == (status, "", f"{path}: {diff}")
        assert (path.stat().st_mtime_ns, path.stat().st_ino) == (before.st_mtime_ns, before.st_ino)


def test_strict_takes_warnings_as_errors(path: Path) -> None:
    """Warnings then fail `check` and `compile`, except those that the seed suppresses."""
    step = {"name": "IDLE", "op": "expr", "expr": "N + 1"}
    seed = tiny_seed()
    write_json(path, {**seed, "compute": [*seed["compute"], step]})
    assert command("check", path).status == 0
    strict = command("check", path, "--strict", "--format", "json")
    assert (strict.status, {d["severity"] for d in json.loads(strict.out)}) == (1, {"error"})
    out = path.with_name("out")
    assert (command("compile", path, "--strict", "--out", out).status, out.exists()) == (1, False)
    allowed = {**step, "allow": {"FS602": "for the next version"}}
    reasons = {code["code"]: "known" for code in json.loads(strict.out) if code["code"] != "FS602"}
    write_json(path, {**seed, "compute": [*seed["compute"], allowed], "allow": reasons})
    assert command("check", path, "--strict").status == 0
    assert command("compile", path, "--strict", "--out", out).status == 0


def test_an_error_has_its_place_and_its_operands(path: Path) -> None:
    """`evaluate` reports the file, line and column of the operation that failed, for a seed and for its module."""
    folder = write_json(path, tiny_seed()).parent
    rows = write_lines(folder / "rows.jsonl", tiny_rows("empty"), tiny_rows("fine", tiny_row("r1")))
    (folder / "pyproject.toml").write_text("")
    before, _, _ = path.read_text(encoding="utf-8").partition("N_GOOD / N")
    place = f"{before.count(chr(10)) + 1}:{len(before) - before.rindex(chr(10))}"
    command("compile", path, "--out", folder / "out")
    for module in ("seed.json", "out/tiny_1.py"):
        outcome = command("evaluate", module, "--rows", rows, cwd=folder)
        assert outcome.status == 3
        assert f"empty: SHARE: division_by_zero: 0 / 0 (seed.json:{place})" in outcome.err
    write_json(path, tiny_seed(description="changed"))
    outcome = command("evaluate", "out/tiny_1.py", "--rows", rows, cwd=folder)
    assert "SHARE: division_by_zero: 0 / 0\n" in outcome.err, "the seed is not the one that was compiled"
    with pytest.raises(EvaluationError) as raised:
        load_evaluator(tiny_seed()).evaluate([], {"is_open": 1})
    error = raised.value
    assert (error.step, error.kind, error.operands) == ("SHARE", "division_by_zero", (0, 0))
    assert re.fullmatch(r"<seed>:\d+:\d+", error.place)


def test_mistakes_in_json_are_fixed_together() -> None:
    """Trailing commas, words of Python and types of other languages are."""
    seed = tiny_seed()
    seed["extract"]["fields"].append({"name": "late", "type": "boolean", "default": False})
    text = json.dumps(seed)
    typed = text.replace('"boolean"', '"bool"').replace("false", "False").replace("]}", "],}").replace('"}', '",}')
    before = analyse_json(typed)
    assert len(before.diagnostics) >= typed.count(",}") + 2 > 6
    assert fixed(before).document.source.text == text
