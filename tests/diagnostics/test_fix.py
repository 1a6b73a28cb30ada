"""What `check --fix` fixes, what `--strict` refuses, what a seed allows, and where an error is said to be."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any

import pytest
from formulaseed import EvaluationError, load_evaluator
from formulaseed.diagnostics.suggestions import close_matches, is_typo
from formulaseed.documents import SeedAnalysis, analyse_text
from formulaseed.pipeline import fixed
from formulaseed.source.text import Source
from helpers import SEEDS, TASKS, formulaseed, tiny_row, tiny_rows, tiny_seed, write_json, write_lines
from hypothesis import given, settings
from hypothesis import strategies as st

G1A = TASKS / "g1a_v2" / "seed.json"


def analysed(text: str) -> SeedAnalysis:
    return analyse_text(Source("seed.json", text))


@pytest.mark.parametrize(
    ("written", "misspelt"),
    [
        ('"expr": "N_MILD + N_MODERATE', '"expr": "N_MLID + N_MODERATE'),
        ("min(20.0, RAW_RISK)", "minn(20.0, RAW_RISKS)"),
        ('"source": "FINAL_RISK_SCORE"', '"source": "FINAL_RISK_SCOR"'),
        ('"extraction.safety_interaction": "betrayal"', '"extraction.safety_interactions": "betrayl"'),
        ('"op": "define_filter"', '"op": "definefilter"'),
        ('"keywords"', '"keyword"'),
        ('"match": "substring_max"', '"match": "substring-max"'),
        ('"where": {"$IS_INCIDENT": true}, "default"', '"where": {"$IS_INCIDENTS": true}, "default"'),
        ('"type": "enum"', '"type": "enums"'),
        ('{">=": 2023}', '{"gte": 2023}'),
        ("(5 - meta.stars)", "(5 - meta.star)"),
        ('"CUISINE_IMPACT", "INCIDENT_IMPACT"', '"CUISINE_IMPACTS", "INCIDENT_IMPACT"'),
    ],
)
def test_misspelt_names_are_fixed(written: str, misspelt: str) -> None:
    """The file is as it was before the mistake, to the byte."""
    text = G1A.read_text(encoding="utf-8")
    words = [re.escape(word) for word in written.split()]
    found = re.search(r"\s+".join(words), text)
    assert found, written
    wrong = text[: found.start()] + misspelt + text[found.end() :]
    before = analysed(wrong)
    assert before.has_errors
    after = fixed(before)
    assert not after.has_errors
    assert json.loads(after.document.source.text) == json.loads(text)


@pytest.mark.parametrize(
    ("when", "then"), [("N = 3", "N == 3"), ("N=3", "N==3"), ("N > 1 and N = 3", "N > 1 and N == 3"), ("N = > 3", "")]
)
def test_a_single_equals_sign_in_a_condition_is_fixed(when: str, then: str) -> None:
    """It can only compare there; beside another operator it may be a part of that."""
    seed = tiny_seed()
    rules = [{"when": when, "then": "a"}, {"else": "b"}]
    seed["compute"].append({"name": "V", "op": "case", "rules": rules})
    seed["output"].append("V")
    before = analysed(json.dumps(seed))
    after = fixed(before)
    assert before.has_errors
    assert after is before if not then else not after.has_errors
    assert (then or when) in after.document.source.text


@pytest.mark.parametrize("path", SEEDS, ids=lambda path: path.parent.name)
def test_steps_out_of_order_are_fixed(path: Path) -> None:
    """Whatever the order of the steps, the fixed seed has none of them too early, and each is as it was written."""
    seed = json.loads(path.read_text(encoding="utf-8"))
    for number in range(5):
        shuffled = {**seed, "compute": random.Random(number).sample(seed["compute"], len(seed["compute"]))}
        text = json.dumps(shuffled, indent=3)
        after = fixed(analysed(text))
        assert not after.has_errors
        repaired = after.document.source.text
        assert sorted(repaired.splitlines()) == sorted(text.splitlines()) or len(repaired) == len(text)
        steps = json.loads(repaired)["compute"]
        assert sorted(steps, key=json.dumps) == sorted(seed["compute"], key=json.dumps)


def test_what_is_not_certain_is_left() -> None:
    """A name with no near one, a circle, and a change that would leave more errors."""
    seed = tiny_seed()
    seed["compute"][3]["expr"] = "QUITE_ELSE / N"
    assert fixed(before := analysed(json.dumps(seed))) is before
    seed = tiny_seed()
    seed["compute"][0] = {"name": "N", "op": "expr", "expr": "SHARE"}
    assert fixed(before := analysed(json.dumps(seed))) is before
    seed = tiny_seed()
    seed["compute"][1]["where"] = {"extraction.mood": "good", "extraction.moods": "bad"}
    assert fixed(before := analysed(json.dumps(seed))) is before
    assert fixed(before := analysed("{")) is before


OPPOSITES = [
    ("unsafe", "safe"), ("N_UNSAFE", "N_SAFE"), ("not accommodated", "accommodated"), ("MAX_STARS", "MIN_STARS"),
    ("N_2023", "N_2022"), ("no_shows", "shows"), ("IS_NOT_LOUD", "IS_LOUD"), ("nonsmoking", "smoking"),
]  # fmt: skip
OTHERS = [
    ("$NOT_LOUD", "IS_LOUD"), ("$IS_LOUD", "N_LOUD"), ("GROUP_A", "GROUP_B"), ("slow", "low"), ("done", "one"), ("map", "max"),
    ("sin", "min"), ("employer", "employee"), ("atypical", "typical"), ("betrayed", "betrayal"), ("lowd", "loud"),
    ("A-", "A"), ("-1", "1"), ("W_1_5", "W_15"), ("N_2", "N_"),
]  # fmt: skip
SLIPS = [
    ("N_MODERATES", "N_MODERATE"), ("yaer", "year"), ("Substring-Max", "substring_max"), ("definefilter", "define_filter"),
    ("cuont", "count"), ("usefull", "useful"), ("betrayl", "betrayal"), ("mni", "min"), ("modarate", "moderate"),
    ("god", "good"),
]  # fmt: skip


@pytest.mark.parametrize(("written", "known"), OPPOSITES + OTHERS)
def test_what_may_be_another_word_is_left(written: str, known: str) -> None:
    assert not is_typo(written, known, [known, "elsewhere"])


@pytest.mark.parametrize(("written", "known"), OPPOSITES)
def test_no_opposite_is_proposed(written: str, known: str) -> None:
    assert close_matches(written, [known]) == []


@pytest.mark.parametrize(("written", "known"), SLIPS)
def test_a_typo_is_certain_where_one_name_alone_fits(written: str, known: str) -> None:
    assert is_typo(written, known, ["elsewhere", known])
    assert not is_typo(written, known, [known, known.swapcase()])


def test_another_name_within_one_character_leaves_it_open() -> None:
    """A definition may be what is misspelt: `N_LUD` for `N_LOUD`, beside `N_LOUDS`."""
    assert is_typo("N_LOUD", "N_LOUDS", ["N_LOUDS", "elsewhere"])
    assert not is_typo("N_LOUD", "N_LOUDS", ["N_LOUDS", "N_LUD"])
    assert not is_typo("N_LOUD", "N_LOUDS", ["N_LOUDS", "_LOUD"])


AMBIGUOUS = {
    "business.stars - meta.stars": ["context.stars", "meta.stars"],
    "restaurant.stars": ["context.stars", "meta.stars"],
    "item.stars": ["context.stars", "meta.stars"],
    "biz.stars": ["context.stars", "meta.stars"],
    "shop.stars": ["context.stars", "meta.stars"],
    "place.stars": ["context.stars", "meta.stars"],
    "this.stars": ["meta.stars", "context.stars"],
    "r.stars": ["meta.stars", "context.stars"],
    "review.stars": ["meta.stars", "context.stars"],
    "rating.stars": ["meta.stars", "context.stars"],
    "metas.stars": ["meta.stars"],
    "Context.stars": ["context.stars"],
    "contxt.stars": ["context.stars"],
    "stars": ["meta.stars", "context.stars"],
    "extraction.stars": ["meta.stars", "context.stars"],
    "param.stars": ["meta.stars", "context.stars"],
    "context.useful": ["meta.useful"],
    "e.score": ["extraction.score"],
    "fields.score": ["extraction.score"],
    "settings.LEAST": ["param.LEAST"],
    "steps.stars": ["meta.stars", "context.stars"],
    "meta.score": ["extraction.score"],
    "np.max(meta.stars, 0)": [],
    "math.sqrt(meta.stars)": [],
    "N.round(2)": [],
}
"""Formulas for which another one may be meant, and the candidates that the help names, in their order."""


@pytest.mark.parametrize("formula", AMBIGUOUS)
def test_no_fix_chooses_among_namespaces(formula: str) -> None:
    """The help names every candidate, the likeliest first, and the seed stays as it is."""
    seed = tiny_seed()
    seed["compute"][2]["expr"] = formula
    before = analysed(json.dumps(seed))
    (error,) = [d for d in before.diagnostics if d.severity == "error"]
    assert fixed(before) is before
    assert re.findall(r"`(\w+\.\w+)`", error.help) == AMBIGUOUS[formula]


@pytest.mark.parametrize(
    ("wrong", "right"),
    [("useful", "meta.useful"), ("score", "extraction.score"), ("extractions.score", "extraction.score"),
     ("meta.usefull", "meta.useful"), ("self.N", "N"), ("parm.LEAST", "param.LEAST"), ("params.LEAST", "param.LEAST")],
)  # fmt: skip
def test_a_name_with_one_reading_is_fixed(wrong: str, right: str) -> None:
    """A namespace that is left out, where one alone has the field; one typo in a namespace, where no other has it."""
    seed = tiny_seed()
    seed["compute"][2]["expr"] = wrong
    seed["parameters"]["CUT"] = {"type": "integer", "default": 1}
    after = json.loads(fixed(analysed(json.dumps(seed))).document.source.text)
    assert after["compute"][2]["expr"] == right


@pytest.mark.parametrize(
    "where",
    [{"stars": 5}, {"business.stars": 5}, {"r.stars": 5}, {"extraction.meta.stars": 5}, {"$useful": 5}, {"moood": "good"},
     {"meta.stars": {"min": 3}}, {"meta.stars": {"max": 3}}, {"meta.stars": {"not": 3}}, {"context.useful": 3}],
)  # fmt: skip
def test_no_fix_chooses_in_conditions(where: dict[str, Any]) -> None:
    """Neither a namespace, nor a filter or field, nor whether a bound belongs to the range."""
    seed = tiny_seed()
    seed["compute"][0]["where"] = where
    before = analysed(json.dumps(seed))
    assert before.has_errors
    assert fixed(before) is before


@pytest.mark.parametrize(
    "step",
    [{"op": "const", "formula": "3"}, {"op": "ratio", "expr": "N"}, {"op": "if", "expr": "N"}, {"op": "filter", "expr": "N"},
     {"op": "sum", "field": "meta.stars"}, {"op": "average", "expr": "N"}],
)  # fmt: skip
def test_no_fix_chooses_an_operation_or_a_key(step: dict[str, Any]) -> None:
    """Of what is known from elsewhere the help says what to write; what was under another key may be something else."""
    seed = tiny_seed()
    seed["compute"].insert(1, {"name": "X", **step})
    before = analysed(json.dumps(seed))
    assert before.has_errors
    assert fixed(before) is before


def test_a_misspelt_definition_is_not_spread() -> None:
    """A name that is defined in one way and used in another, several times or as an output, is for the author to settle."""
    seed = tiny_seed()
    seed["compute"][1]["name"] = "N_GOOOD"
    assert fixed(before := analysed(json.dumps(seed))) is before
    seed["output"].remove("N_GOOD")
    after = fixed(analysed(json.dumps(seed)))
    assert (after.has_errors, after.fixed_count) == (False, 1)
    seed["compute"][3]["expr"] = "N_GOOD / N if N > 0 else N_GOOD"
    seed["compute"].append({"name": "MORE", "op": "expr", "expr": "N_GOOD"})
    assert fixed(before := analysed(json.dumps(seed))) is before


def test_a_name_that_is_defined_twice_is_not_fixed() -> None:
    """One of the two may be the one that is missing."""
    seed = tiny_seed()
    seed["compute"].insert(1, {"name": "N_GOODS", "op": "count"})
    seed["compute"][2]["name"] = "N_GOODS"
    assert fixed(before := analysed(json.dumps(seed))) is before


def test_no_fix_makes_anything_constant() -> None:
    """A value that would always be so is one that the author did not mean."""
    seed = tiny_seed()
    seed["compute"][2]["expr"] = "1 if extraction.mood == 'god' else 0"
    assert fixed(before := analysed(json.dumps(seed))) is before


def test_the_fixes_are_counted() -> None:
    """Each error that a fix removes counts, whatever the number of errors that vanish with it."""
    seed = tiny_seed()
    seed["compute"][2]["op"] = "smu"
    seed["compute"][3]["expr"] = "N_GOOOD / N + N_GOOOD"
    seed["compute"][1]["wheer"] = seed["compute"][1].pop("where")
    after = fixed(analysed(json.dumps(seed)))
    assert not after.has_errors
    assert after.fixed_count == 4


_TOKEN = re.compile(r"\$?[A-Za-z_][A-Za-z_0-9]+(?:\.[A-Za-z_]\w*)*")
_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')
_NAMESPACES = ("extraction", "meta", "context", "param")
_ELSEWHERE = ("business", "restaurant", "item", "biz", "r", "review", "e", "extractions", "steps", "self", "Meta", "")


def planted(text: str, chosen: random.Random) -> tuple[str, str, str]:
    """A seed's text with one typo, namespace or sign more; the token that was there, and the one that is."""
    tokens: list[re.Match[str]] = []
    while not tokens:
        string = chosen.choice([found for found in _STRING.finditer(text) if len(found[1]) < 300])
        tokens = list(_TOKEN.finditer(string[1]))
    token = chosen.choice(tokens)
    old, rest = token.group(), token.group().partition(".")[2]
    at = chosen.randrange(len(old))
    new = chosen.choice(
        [
            old[:at] + old[at + 1 :],
            old[:at] + old[at] + old[at:],
            old[:at] + old[at : at + 2][::-1] + old[at + 2 :],
            old[:at] + chosen.choice("abcxyzN_") + old[at + 1 :],
            old.swapcase(),
            f"{old}s",
            old[1:] if old.startswith("$") else f"${old}",
            *(f"{space}.{rest}".removeprefix(".") for space in (*_NAMESPACES, *_ELSEWHERE) if rest),
        ]
    )
    start = string.start(1) + token.start()
    return text[:start] + new + text[start + len(old) :], old, new


@settings(max_examples=40)
@given(st.sampled_from(SEEDS), st.randoms(use_true_random=False))
def test_a_fix_gives_the_seed_that_was_there_or_leaves_it(path: Path, chosen: random.Random) -> None:
    """Whatever one mistake is made in a sound seed, the fixed one is the sound one, or the place is as it was typed.

    Where a definition is misspelt that is used once, the use may follow it: the seed is the same under another name.
    """
    sound = json.dumps(json.loads(path.read_text(encoding="utf-8")), ensure_ascii=False)
    wrong, old, new = planted(sound, chosen)
    after = fixed(analysed(wrong)).document.source.text
    bare = [token.rpartition(".")[2].lstrip("$") for token in (old, new)]
    renamed = re.sub(rf"(?<!\w){re.escape(bare[1])}(?!\w)", bare[0], after) if bare[1] else after
    assert after in (wrong, sound) or renamed == sound


def test_fix_writes_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    target, link = tmp_path / "there" / "seed.json", tmp_path / "seed.json"
    target.write_text(G1A.read_text(encoding="utf-8").replace("min(20.0, RAW_RISK)", "mni(20.0, RAW_RISK)"), "utf-8")
    link.symlink_to(target)
    assert "1 error fixed" in formulaseed("check", link, "--fix").err
    assert link.is_symlink()
    assert target.read_bytes() == G1A.read_bytes()


def test_texts_in_formulas_keep_their_quotes() -> None:
    """A value is fixed inside the quotes that it stands in, escaped ones too."""
    for written, expected in (("'god'", "'good'"), ('\\"god\\"', '\\"good\\"'), ("goood", "'good'")):
        seed = tiny_seed()
        del seed["compute"][2]["where"]
        seed["compute"][2]["expr"] = "1 if extraction.mood == VALUE else 0"
        after = fixed(analysed(json.dumps(seed).replace("VALUE", written)))
        assert not after.has_errors
        assert f"extraction.mood == {expected} else" in after.document.source.text


QUOTED = {
    "a parameter's default and bounds": (
        '"parameters": {"LEAST": {"type": "integer", "default": 3, "minimum": -1, "maximum": 9}}',
        '"parameters": {"LEAST": {"type": "integer", "default": "3", "minimum": "-1", "maximum": "9"}}',
    ),
    "a step's default": ('"field": "meta.year", "default": 2020', '"field": "meta.year", "default": "2020"'),
    "an operator's operand": ('{">=": 2023}', '{">=": "2023"}'),
    "a value, and a list": (
        '"meta.stars": 5, "meta.useful": {"in": [1, 2]}',
        '"meta.stars": "5", "meta.useful": {"in": ["1", "2"]}',
    ),
    "a result of a case": ('"then": 1.5}, {"else": 1.0}', '"then": "1.5"}, {"else": 1.0}'),
    "a formula": ('"when": "N > 3"', '"when": "N > \'3\'"'),
    "a table": ('{"Thai": 2.0, "Bars": -1}', '{"Thai": "2.0", "Bars": -1}'),
    "a boolean field": ('"type": "boolean", "default": true', '"type": "boolean", "default": "true"'),
    "a setting": ('"passes": 3', '"passes": "3"'),
    "a tuple": ("context.city in ['Reno', \\\"it's\\\"]", "context.city in ('Reno', \\\"it's\\\")"),
    "a tuple of numbers": ("N not in [1, -2.5]", "N not in (1, -2.5)"),
}
"""What a sound seed has, and what is written in its place."""
SOUND = """{
  "task_name": "Quoted",
  "parameters": {"LEAST": {"type": "integer", "default": 3, "minimum": -1, "maximum": 9}},
  "extract": {"fields": [{"name": "loud", "type": "boolean", "default": true}], "passes": 3},
  "compute": [
    {"name": "N", "op": "count", "where": {"extraction.loud": true, "meta.year": {">=": 2023}}},
    {"name": "M", "op": "count", "where": {"meta.stars": 5, "meta.useful": {"in": [1, 2]}}},
    {"name": "LAST", "op": "max", "field": "meta.year", "default": 2020},
    {"name": "KIND", "op": "lookup", "source": "context.categories", "table": {"Thai": 2.0, "Bars": -1},
     "match": "substring_max", "default": 0},
    {"name": "RATE", "op": "case", "rules": [{"when": "N > 3", "then": 2}, {"when": "M > 3", "then": 1.5}, {"else": 1.0}]},
    {"name": "HERE", "op": "expr", "expr": "1 if context.city in ['Reno', \\"it's\\"] and N not in [1, -2.5] else param.LEAST"}
  ],
  "output": ["N", "M", "LAST", "KIND", "RATE", "HERE"]
}"""


def test_the_sound_seed_is_sound() -> None:
    assert not analysed(SOUND).has_errors


@pytest.mark.parametrize("name", QUOTED)
def test_values_in_quotes_and_tuples_are_fixed(name: str) -> None:
    """The seed is as it was before, to the byte."""
    sound, wrong = QUOTED[name]
    assert sound in SOUND
    before = analysed(SOUND.replace(sound, wrong))
    assert before.has_errors
    assert fixed(before).document.source.text == SOUND


@pytest.mark.parametrize(
    ("sound", "wrong"),
    [
        ('"default": 3, "min', '"default": "3.5", "min'), ('"default": 3, "min', '"default": "03", "min'),
        ('"default": 3, "min', '"default": "three", "min'), ('"default": 2020', '"default": "1e3"'),
        ('"default": true', '"default": "yes"'), ("['Reno', \\\"it's\\\"]", "('Reno', ('Elko'))"),
    ],
)  # fmt: skip
def test_what_is_no_value_in_quotes_is_left(sound: str, wrong: str) -> None:
    assert sound in SOUND
    before = analysed(SOUND.replace(sound, wrong))
    assert before.has_errors
    assert fixed(before) is before


def v1(formula: str) -> str:
    fields = [{"name": "kind", "values": ["none", "mild"]}, {"name": "size", "type": "integer", "default": 1}]
    return json.dumps(
        {
            "task_name": "T",
            "extraction_fields": fields,
            "compute_dag": [{"name": "n", "formula": formula}],
            "output_fields": ["n"],
        }
    )


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("sum(1 for e in extractions if e.get('kind') == 'mild')", "sum(1 for e in extractions if e['kind'] == 'mild')"),
        ('sum(r.get("size") for r in extractions)', "sum(r['size'] for r in extractions)"),
        ("sum(e.get('stars', 0) for e in extractions)", "sum(e['stars'] for e in extractions)"),
        ("sum(1 for e in extractions if e.get('kind') in ('mild', \"none\"))",
         "sum(1 for e in extractions if e['kind'] in ['mild', \"none\"])"),
        ("sum(e.get('size', 0) for e in extractions)", ""), ("sum(e.get('weather') for e in extractions)", ""),
        ("sum(e.get() for e in extractions)", ""), ("sum(e.pop('size') for e in extractions)", ""),
    ],
)  # fmt: skip
def test_get_of_a_review_is_fixed(wrong: str, right: str) -> None:
    """A declared field always has a value; where the formula says what an absent one is, the author decides."""
    before = analysed(v1(wrong))
    assert before.has_errors
    assert fixed(before).document.source.text == v1(right or wrong)


def test_fix_rewrites_the_file(tmp_path: Path) -> None:
    """The command fixes the file in place, says so, and reports what is left."""
    text = (
        G1A.read_text(encoding="utf-8").replace("min(20.0, RAW_RISK)", "min(20.0, RAW_RSIK)").replace('"sum"', '"avg"')
    )
    path = tmp_path / "seed.json"
    path.write_text(text, encoding="utf-8")
    outcome = formulaseed("check", path, "--fix")
    assert outcome.status == 1
    assert f"{path}: 1 error fixed" in outcome.err
    assert path.read_text(encoding="utf-8") == G1A.read_text(encoding="utf-8").replace('"sum"', '"avg"')
    assert "FS504" in outcome.out
    again = formulaseed("check", path, "--fix")
    assert again.err == f"{path}: 0 errors fixed; no safe fix for FS504 at 113:13\n"


def test_fix_leaves_a_file_alone_in_which_nothing_can_be_fixed(tmp_path: Path) -> None:
    """A sound one, and one whose errors have no safe fix: neither is written, and of the second the errors are named."""
    path = tmp_path / "seed.json"
    unfixed = "0 errors {}; no safe fix for FS204 at 114:21\n"
    for text, status, said, shown in (
        (G1A.read_text("utf-8"), 0, "", "there are no errors to fix\n"),
        (
            G1A.read_text("utf-8").replace("(5 - meta.s", "(5 - review.s"),
            1,
            unfixed.format("fixed"),
            unfixed.format("can be fixed"),
        ),
    ):
        path.write_text(text, "utf-8")
        before = path.stat()
        outcome = formulaseed("check", path, "--fix")
        assert (outcome.status, outcome.err) == (status, said and f"{path}: {said}")
        changes = formulaseed("check", path, "--fix", "--diff")
        assert (changes.status, changes.out, changes.err) == (status, "", f"{path}: {shown}")
        assert (path.stat().st_mtime_ns, path.stat().st_ino) == (before.st_mtime_ns, before.st_ino)


def test_strict_takes_warnings_as_errors(tmp_path: Path) -> None:
    """Warnings fail `check` and `compile` then; what the seed allows does not."""
    step = {"name": "IDLE", "op": "expr", "expr": "N + 1"}
    seed = tiny_seed()
    path = write_json(tmp_path / "seed.json", {**seed, "compute": [*seed["compute"], step]})
    assert formulaseed("check", path).status == 0
    strict = formulaseed("check", path, "--strict", "--format", "json")
    assert strict.status == 1
    assert {found["severity"] for found in json.loads(strict.out)} == {"error"}
    refused = formulaseed("compile", path, "--strict", "--out", tmp_path / "out")
    assert refused.status == 1
    assert not (tmp_path / "out").exists()
    allowed = {**step, "allow": {"FS602": "for the next version"}}
    reasons = {code["code"]: "known" for code in json.loads(strict.out) if code["code"] != "FS602"}
    write_json(path, {**seed, "compute": [*seed["compute"], allowed], "allow": reasons})
    assert formulaseed("check", path, "--strict").status == 0
    assert formulaseed("compile", path, "--strict", "--out", tmp_path / "out").status == 0


def test_compile_counts_warnings(tmp_path: Path) -> None:
    """It names the command that shows them, and compiles."""
    outcome = formulaseed("compile", G1A, "--out", tmp_path)
    assert outcome.status == 0
    assert re.fullmatch(r"(\S+): \d+ warnings; see `formulaseed check \1`\n", outcome.err)


def test_an_error_has_its_place(tmp_path: Path) -> None:
    """`evaluate` tells file, line and column of the operation that failed, for a seed and for its module."""
    seed = write_json(tmp_path / "seed.json", tiny_seed())
    rows = write_lines(tmp_path / "rows.jsonl", tiny_rows("empty"), tiny_rows("fine", tiny_row("r1")))
    (tmp_path / "pyproject.toml").write_text("")
    lines = seed.read_text(encoding="utf-8").splitlines()
    line = next(number for number, text in enumerate(lines, 1) if "N_GOOD / N" in text)
    place = f"seed.json:{line}:{lines[line - 1].index('N_GOOD / N') + 1}"
    formulaseed("compile", seed, "--out", tmp_path / "out")
    for module in ("seed.json", "out/tiny_1.py"):
        outcome = formulaseed("evaluate", module, "--rows", rows, cwd=tmp_path)
        assert outcome.status == 3
        assert f"empty: SHARE: division_by_zero: 0 / 0 ({place})" in outcome.err
    write_json(seed, tiny_seed(description="changed"))
    outcome = formulaseed("evaluate", "out/tiny_1.py", "--rows", rows, cwd=tmp_path)
    assert "SHARE: division_by_zero: 0 / 0\n" in outcome.err, "the seed is not the one that was compiled"


def test_an_error_has_its_operands() -> None:
    """The Python interface gives the values at fault, and the place."""
    with pytest.raises(EvaluationError) as raised:
        load_evaluator(tiny_seed()).evaluate([], {"is_open": 1})
    error = raised.value
    assert (error.step, error.kind, error.operands) == ("SHARE", "division_by_zero", (0, 0))
    assert re.fullmatch(r"<seed>:\d+:\d+", error.place)


EXACT = [
    ('"expr": "1 if N > 1 && N < 5 else 0"', '"expr": "1 if N > 1 and N < 5 else 0"'),
    ('"expr": "1 if N>1&&N<5 else 0"', '"expr": "1 if N>1 and N<5 else 0"'),
    ('"expr": "1 if N > 1 || N_GOOD > 1 else 0"', '"expr": "1 if N > 1 or N_GOOD > 1 else 0"'),
    ('"expr": "1 if N <> 3 else 0"', '"expr": "1 if N != 3 else 0"'),
    ('"expr": "1 if N === 3 AND N_GOOD !== 2 else 0"', '"expr": "1 if N == 3 and N_GOOD != 2 else 0"'),
    ('"expr": "1 if context.city == ‘Tampa’ else 0"', '"expr": "1 if context.city == \'Tampa\' else 0"'),
    ('"expr": "1 if context.city == “Tampa” else 0"', '"expr": "1 if context.city == \'Tampa\' else 0"'),
    ('"expr": "N × 2"', '"expr": "N * 2"'),
    ('"expr": "1 if N > \'3\' else 0"', '"expr": "1 if N > 3 else 0"'),
    ('"expr": "N * \\"3\\""', '"expr": "N * 3"'),
    ('“expr”: “N”,', '"expr": "N"'),
]  # fmt: skip
"""What a help states exactly, as it is written and as it is fixed."""
OPEN = [
    '"expr": "1 if N > 1 & N < 5 else 0"', '"expr": "1 if !(N > 1) == 2 else 0"', '"expr": "N ^ 2"', '"expr": "N * \'3,5\'"',
    '"expr": "(context.stars ?? 0) * 2"', '"expr": "N = 3"', '"expr": "1 if \'3\' == N else 0"',
]  # fmt: skip
"""What may mean something else, also by what binds more closely where it comes from."""


@pytest.mark.parametrize(("written", "right"), EXACT)
def test_what_a_help_states_exactly_is_fixed(written: str, right: str) -> None:
    """Where nothing else can be meant, and to the letter."""
    seed = tiny_seed()
    seed["compute"][3] = {"name": "SHARE", "op": "expr", "HERE": 0}
    text = json.dumps(seed, ensure_ascii=False)
    before = analysed(text.replace('"HERE": 0', written))
    after = fixed(before)
    assert before.has_errors
    assert not after.has_errors, after.diagnostics
    assert after.document.source.text == text.replace('"HERE": 0', right)


@pytest.mark.parametrize("written", OPEN)
def test_what_may_mean_something_else_is_not_fixed(written: str) -> None:
    """The help says what to write, and the author decides."""
    seed = tiny_seed()
    seed["compute"][3] = {"name": "SHARE", "op": "expr", "HERE": 0}
    before = analysed(json.dumps(seed).replace('"HERE": 0', written))
    assert before.has_errors
    assert fixed(before) is before


def test_what_json_does_not_allow_is_fixed() -> None:
    """Commas behind the last of a list or object, words of Python, types of other languages: all in one go."""
    seed = tiny_seed()
    seed["extract"]["fields"].append({"name": "late", "type": "boolean", "default": False})
    text = json.dumps(seed)
    typed = text.replace('"boolean"', '"bool"').replace("false", "False").replace("]}", "],}").replace('"}', '",}')
    assert typed.count(",}") > 4
    before = analysed(typed)
    assert len(before.diagnostics) >= typed.count(",}") + 2
    assert fixed(before).document.source.text == text
