"""What `check --fix` mends, what `--strict` refuses, what a seed allows, and where an error is said to be."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path

import pytest
from formulaseed import EvaluationError, load_evaluator
from formulaseed.diagnostics.suggest import is_slip, near
from formulaseed.pipeline import Analysis, analyse_text, fixed
from formulaseed.source.text import Source
from helpers import SEEDS, TASKS, formulaseed, tiny_row, tiny_rows, tiny_seed, write_json, write_lines

G1A = TASKS / "g1a_v2" / "seed.json"


def analysed(text: str) -> Analysis:
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
def test_misspelt_names_are_mended(written: str, misspelt: str) -> None:
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


@pytest.mark.parametrize("path", SEEDS, ids=lambda path: path.parent.name)
def test_steps_out_of_order_are_mended(path: Path) -> None:
    """Whatever the order of the steps, the mended seed has none of them too early, and each is as it was written."""
    seed = json.loads(path.read_text(encoding="utf-8"))
    for number in range(5):
        shuffled = {**seed, "compute": random.Random(number).sample(seed["compute"], len(seed["compute"]))}
        text = json.dumps(shuffled, indent=3)
        after = fixed(analysed(text))
        assert not after.has_errors
        mended = after.document.source.text
        assert sorted(mended.splitlines()) == sorted(text.splitlines()) or len(mended) == len(text)
        steps = json.loads(mended)["compute"]
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
]  # fmt: skip
SLIPS = [
    ("N_MODERATES", "N_MODERATE"), ("yaer", "year"), ("Substring-Max", "substring_max"), ("definefilter", "define_filter"),
    ("cuont", "count"), ("usefull", "useful"), ("betrayl", "betrayal"), ("mni", "min"), ("modarate", "moderate"),
    ("god", "good"),
]  # fmt: skip


@pytest.mark.parametrize(("written", "known"), OPPOSITES + OTHERS)
def test_what_may_be_another_word_is_left(written: str, known: str) -> None:
    assert not is_slip(written, known, [known, "elsewhere"])


@pytest.mark.parametrize(("written", "known"), OPPOSITES)
def test_no_opposite_is_proposed(written: str, known: str) -> None:
    assert near(written, [known]) == []


@pytest.mark.parametrize(("written", "known"), SLIPS)
def test_a_slip_is_certain_where_one_name_alone_can_be_meant(written: str, known: str) -> None:
    assert is_slip(written, known, ["elsewhere", known])
    assert not is_slip(written, known, [known, known.swapcase()])


def test_fix_writes_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    target, link = tmp_path / "there" / "seed.json", tmp_path / "seed.json"
    target.write_text(G1A.read_text(encoding="utf-8").replace("min(20.0, RAW_RISK)", "mni(20.0, RAW_RISK)"), "utf-8")
    link.symlink_to(target)
    assert "1 error fixed" in formulaseed("check", link, "--fix").err
    assert link.is_symlink()
    assert target.read_bytes() == G1A.read_bytes()


def test_texts_in_formulas_keep_their_quotes() -> None:
    """A value is mended inside the quotes that it stands in, escaped ones too."""
    for written, expected in (("'god'", "'good'"), ('\\"god\\"', '\\"good\\"'), ("goood", "'good'")):
        seed = tiny_seed()
        seed["compute"][2]["expr"] = "1 if extraction.mood == VALUE else 0"
        after = fixed(analysed(json.dumps(seed).replace("VALUE", written)))
        assert not after.has_errors
        assert f"extraction.mood == {expected} else" in after.document.source.text


def test_fix_rewrites_the_file(tmp_path: Path) -> None:
    """The command mends the file in place, says so, and tells what is left."""
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
    assert again.err == ""


def test_fix_leaves_a_sound_file_alone(tmp_path: Path) -> None:
    path = tmp_path / "seed.json"
    path.write_bytes(G1A.read_bytes())
    before = path.stat()
    assert formulaseed("check", path, "--fix").status == 0
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
    for given in ("seed.json", "out/tiny_1.py"):
        outcome = formulaseed("evaluate", given, "--rows", rows, cwd=tmp_path)
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
