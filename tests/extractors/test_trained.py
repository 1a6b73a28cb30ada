"""The trained extractor: what it learns, how far its probabilities can be trusted, and what it says where it learns nothing."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import formulaseed as package
import pytest
from formulaseed.extractors import Trained
from formulaseed.extractors.base import AskedField
from formulaseed.extractors.trained.classifying import Classifiers, RecordedAnswer
from formulaseed.extractors.trained.measuring import FieldMeasure, cross_validate, measure_fields
from helpers import IS_DEEP, ROOT, command, formulaseed, needs, write_json, write_lines
from made_reviews import FIELDS, answers, made_restaurants, staff_seed, truth

needs("sklearn", "train")

STAFF = AskedField("staff", "enum", values=(("rude", ""), ("kind", ""), ("none", "")))
ANGRY = AskedField("angry", "boolean")
REAL = ROOT.parent / "shared" / "data"
RESTAURANTS = made_restaurants(20, 20)


def recorded(restaurants: list[dict[str, Any]], of: Any = truth) -> list[RecordedAnswer]:
    return [
        RecordedAnswer(place["business_id"], review["review_id"], review["text"], of(review["text"]))
        for place in restaurants
        for review in place["reviews"]
    ]


ANSWERS = recorded(RESTAURANTS)


def measured(fields: list[AskedField], given: list[RecordedAnswer]) -> list[FieldMeasure]:
    return measure_fields(fields, given, cross_validate(fields, given))


@pytest.mark.thorough
def test_a_rule_is_learned_and_restaurants_differ() -> None:
    """Of restaurants that it has not seen, with words and shares of their own, nearly every value is right, and it says so."""
    staff, angry = measured([STAFF, ANGRY], ANSWERS)
    for one in (staff, angry):
        assert one.macro_f1.value > 0.95 > 0.6 > one.baseline_macro_f1
        assert one.accuracy.interval[0] <= one.accuracy.value <= one.accuracy.interval[1]
        assert one.calibration_error.value < 0.05
        assert (one.n, one.restaurants) == (400, 20)


@pytest.mark.thorough
def test_the_order_of_the_answers_changes_nothing() -> None:
    texts = [answer.text for answer in recorded(made_restaurants(2, 5, seed=9))]
    given = ANSWERS[:200]
    first = Classifiers([STAFF], given).predict(texts)
    assert Classifiers([STAFF], Random(1).sample(given, len(given))).predict(texts) == first


@pytest.mark.thorough
def test_noise_cannot_be_learned_and_confidence_says_so() -> None:
    """Contradicting answers: the same texts with values drawn by lot are predicted no better than chance, nor thought to be."""
    random = Random(3)
    given = recorded(RESTAURANTS, lambda _: {"angry": random.random() < 0.5})
    [one] = measured([ANGRY], given)
    assert abs(one.kappa.value) < 0.2
    confident = [found["angry"].confidence for found in Classifiers([ANGRY], given).held_out]
    assert max(confident) < 0.7


@pytest.mark.thorough
def test_too_little_to_learn_from() -> None:
    """Two answers, one value only, an unknown string: each is reported, and nothing fails."""
    name = AskedField("who", "string")
    two = Classifiers([STAFF, ANGRY, name], ANSWERS[:2])
    assert [note.split(":")[0] for note in two.notes()] == ["`staff`", "`angry`", "`who`"]
    assert "2 recorded answers, fewer than 30" in two.notes()[0]
    assert two.predict(["anything at all"])[0]["staff"].value in {each.fields["staff"] for each in ANSWERS[:2]}
    same = Classifiers([STAFF], recorded(RESTAURANTS, lambda _: {"staff": "kind"}))
    assert same.notes() == ["`staff`: all recorded answers are the same: it is always kind"]
    [found] = same.predict(["rude"])
    assert found["staff"].value == "kind"
    assert 0.9 < found["staff"].confidence < 1


def test_a_missing_class_and_empty_texts() -> None:
    """A value that was never recorded is never predicted; texts without a word have some value, with little confidence."""
    known = [answer for answer in ANSWERS if answer.fields["staff"] != "none"]
    trained = Classifiers([STAFF], known)
    found = trained.predict([answer.text for answer in ANSWERS] + ["", "!!!"])
    assert {each["staff"].value for each in found} == {"rude", "kind"}
    assert found[-1] == found[-2]
    assert found[-1]["staff"].confidence < 0.7
    wordless = Classifiers(
        [STAFF], [RecordedAnswer("b", str(n), "", truth("rude to us the waiter was rude to us")) for n in range(40)]
    )
    assert len(wordless.predict(["", "words"])) == 2


@pytest.mark.thorough
def test_numbers() -> None:
    """One that words say is predicted; one that they do not say is its median, which is reported."""
    random = Random(5)
    said = {"rude": 60, "kind": 5, "none": 20}
    wait, luck = AskedField("wait", "integer"), AskedField("luck", "number")
    given = recorded(RESTAURANTS, lambda text: {"wait": said[truth(text)["staff"]], "luck": random.random()})
    trained = Classifiers([wait, luck], given)
    assert trained.notes()[0].startswith("`luck`: its median is as close as what words predict: it is always 0.")
    right = Counter(
        found["wait"].value == answer.fields["wait"]
        for found, answer in zip(trained.held_out, trained.answers, strict=True)
    )
    assert right[True] > 0.95 * len(given)
    many = recorded(RESTAURANTS, lambda text: {"wait": said[truth(text)["staff"]] + random.randrange(9)})
    values = {found["wait"].value for found in Classifiers([wait], many).held_out}
    assert 2 <= len(values) <= 40
    assert values <= {answer.fields["wait"] for answer in many}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_json(tmp_path / "seed.json", staff_seed())
    write_lines(tmp_path / "contexts.jsonl", *RESTAURANTS)
    write_lines(tmp_path / "answers.jsonl", *answers(RESTAURANTS, 200))
    return tmp_path


ARGUMENTS = ("seed.json", "--contexts", "contexts.jsonl", "--extractions", "answers.jsonl", "--extractor", "trained")


@pytest.mark.thorough
def test_run(folder: Path) -> None:
    """Recorded reviews are as recorded, the others predicted, and lines, rows and the closing lines count both."""
    done = command("run", *ARGUMENTS, "--rows-out", "rows.jsonl", cwd=folder).expect(
        0, "trained: on 200 recorded answers of 10 restaurants", "trained: 200 reviews recorded, 200 predicted"
    )
    sources = [line["reviews"]["sources"] for line in done.results]
    assert sources == [{"recorded": 20}] * 10 + [{"predicted": 20}] * 10
    assert {line["run"]["extractor"] for line in done.results} == {"trained"}
    right = [sum(truth(review["text"])["angry"] for review in place["reviews"]) for place in RESTAURANTS]
    given = [line["output"]["N_RUDE"] for line in done.results]
    assert given[:10] == right[:10]
    assert sum(abs(a - b) for a, b in zip(given, right, strict=True)) <= 10
    again = command("evaluate", "seed.json", "--rows", "rows.jsonl", cwd=folder)
    assert again.out == done.out
    from_python = package.run(folder / "seed.json", RESTAURANTS, extractor=Trained(answers(RESTAURANTS, 200)))
    assert list(from_python) == done.results


@pytest.mark.thorough
def test_answers_of_other_restaurants_teach_by_their_text(folder: Path) -> None:
    """Lines with a `text` are learned from though the contexts do not have their restaurants; without one nothing can be."""
    elsewhere = made_restaurants(10, 20, seed=4)
    for place in elsewhere:
        place["business_id"] = f"far-{place['business_id']}"
    lines = answers(elsewhere, 200)
    write_lines(folder / "answers.jsonl", *lines)
    command("run", *ARGUMENTS, cwd=folder).expect(1, "no recorded extraction has a review to learn from", out="")
    texts = [review["text"] for place in elsewhere for review in place["reviews"]]
    write_lines(folder / "answers.jsonl", *({**line, "text": text} for line, text in zip(lines, texts, strict=True)))
    command("run", *ARGUMENTS, cwd=folder).expect(0, "trained: 0 reviews recorded, 400 predicted")


@pytest.mark.thorough
def test_less_confidence_is_left_out(folder: Path) -> None:
    """A review under --min-confidence fails by name, or is left out and counted; nothing else changes."""
    blank = {
        "business_id": "blank",
        "business": {},
        "reviews": [dict(RESTAURANTS[0]["reviews"][0], text="…", review_id="x")],
    }
    write_lines(folder / "contexts.jsonl", *RESTAURANTS, blank)
    every = command("extract", *ARGUMENTS, cwd=folder)
    some = command("extract", *ARGUMENTS, "--min-confidence", 0.97, "--on-error", "skip", cwd=folder).expect(3)
    left = sum(line["reviews"]["sources"].get("left_out", 0) for line in some.results)
    assert some.results[-1]["reviews"]["sources"] == {"left_out": 1}
    assert 0 < left == some.err.count("is predicted with a confidence of 0.") < 200
    rows = {row["review_id"]: row for line in every.results for row in line["rows"]}
    kept = [row for line in some.results for row in line["rows"]]
    assert len(kept) == 401 - left
    assert all(row == rows[row["review_id"]] for row in kept)
    failed = command("extract", *ARGUMENTS, "--min-confidence", 0.97, cwd=folder)
    assert [line["business_id"] for line in failed.results] == [line["business_id"] for line in every.results][:-1]


@pytest.mark.thorough
def test_agreement_is_measured_on_restaurants_that_were_not_learned_from(folder: Path) -> None:
    """With intervals, baselines and calibration, as JSON and as a table; twice the same."""
    arguments = ("agreement", *ARGUMENTS)
    done = command(*arguments, "--format", "json", "--verdicts", cwd=folder).expect(0)
    found = json.loads(done.out)
    assert [one["field"] for one in found["trained"]] == ["staff", "angry"]
    for one, plain in zip(found["trained"], found["fields"], strict=True):
        assert one["n"] == plain["n"] == 200
        assert one["accuracy"]["value"] == pytest.approx(plain["accuracy"])
        assert one["kappa"]["value"] == pytest.approx(plain["kappa"])
        assert one["macro_f1"]["value"] > 0.9
    text = command(*arguments, cwd=folder)
    assert text.out == command(*arguments, cwd=folder).out
    assert "calibration error" in text.out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("run", *ARGUMENTS[:3], "--extractor", "trained"), "--extractor trained needs --extractions FILE"),
        (("run", *ARGUMENTS[:3], "--min-confidence", "0.5"), "--min-confidence goes with --extractor trained"),
        (
            ("run", *ARGUMENTS[:3], "--extractions", "answers.jsonl"),
            "--extractions goes with --extractor recorded or trained",
        ),
        (("agreement", *ARGUMENTS, "--predictions", "answers.jsonl"), "pass --predictions or --extractor trained"),
    ],
)
def test_wrong_usage(folder: Path, options: tuple[str, ...], message: str) -> None:
    done = command(*options, cwd=folder)
    assert (done.status, message in " ".join(done.err.split())) == (2, True), done.err


@pytest.mark.thorough
def test_without_the_extra(folder: Path) -> None:
    hidden = folder / "hidden"
    hidden.mkdir()
    (hidden / "sitecustomize.py").write_text("import sys\nsys.modules['sklearn'] = None\n")
    import os
    import subprocess
    import sys

    path = os.pathsep.join([str(hidden), str(ROOT / "compiler"), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-m", "formulaseed", "run", *ARGUMENTS],
        cwd=folder, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert "pip install 'formulaseed[train]'" in done.stderr


@pytest.mark.thorough
def test_many_reviews_in_bounded_memory(tmp_path: Path) -> None:
    """Many reviews are predicted in 3 GiB of address space, of which the libraries map most."""
    copies = 20 if IS_DEEP else 5
    write_json(tmp_path / "seed.json", staff_seed(FIELDS))
    few = made_restaurants(50, 20)
    write_lines(tmp_path / "answers.jsonl", *answers(few, 100))
    with (tmp_path / "contexts.jsonl").open("w") as file:
        for copy in range(copies):
            for place in few:
                business_id = place["business_id"] if copy == 0 else f"{place['business_id']}-{copy}"
                file.write(json.dumps({**place, "business_id": business_id}) + "\n")
    done = formulaseed("run", *ARGUMENTS, "--quiet", "--out", "out.jsonl", cwd=tmp_path, memory=3 << 30)
    assert done.status == 0, done.err[-500:]
    assert f"100 reviews recorded, {1000 * copies - 100:,} predicted" in done.err


@pytest.mark.thorough
def test_stars_that_people_gave_are_learned_from_other_restaurants() -> None:
    """On real reviews, 500 answers of other restaurants are 0.20 of macro-F1 above the commonest value, on average."""
    if not (REAL / "philly" / "reviews.jsonl").is_file():
        pytest.skip("the real data is not here")
    lines = [json.loads(line) for line in (REAL / "philly" / "reviews.jsonl").read_text(encoding="utf-8").splitlines()]
    given = [
        RecordedAnswer(
            line["business_id"],
            line["review_id"],
            line["text"],
            {"stars": str(int(line["stars"])), "happy": line["stars"] >= 4},
        )
        for line in lines
    ]
    places = sorted({answer.business_id for answer in given})
    held_out = set(Random(0).sample(places, len(places) // 3))
    taught = Random(0).sample([answer for answer in given if answer.business_id not in held_out], 500)
    asked = [answer for answer in given if answer.business_id in held_out]
    fields = [AskedField("stars", "enum"), AskedField("happy", "boolean")]
    predicted = Classifiers(fields, taught).predict([answer.text for answer in asked])
    found = {(answer.business_id, answer.review_id): each for answer, each in zip(asked, predicted, strict=True)}
    gains = [one.macro_f1.value - one.baseline_macro_f1 for one in measure_fields(fields, asked, found)]
    assert sum(gains) / len(gains) > 0.20
