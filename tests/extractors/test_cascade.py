"""The cascade: how many calls it saves, and whether its predictions agree with the model as often as it says."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import blake2b
from pathlib import Path
from random import Random
from typing import Any

import formulaseed as package
import pytest
from asking import MODEL, Kitchen, killed
from formulaseed.data.results import NOT_ASKED, Extraction, FieldValue, ReviewInput
from formulaseed.extractors import Cascade
from formulaseed.extractors.base import AskedField, OpenExtractor
from formulaseed.extractors.cascade import CascadeExtractor, binomial_lower_bound, find_threshold
from helpers import needs
from loopback import Loopback, loopback
from loopback_script import MESSAGES, Script
from made_reviews import made_restaurants, staff_seed, truth

needs("sklearn", "train")
needs("anthropic", "llm")

FIELDS = [
    AskedField("staff", "enum", values=(("rude", ""), ("kind", ""), ("none", ""))),
    AskedField("angry", "boolean"),
]
Say = Callable[[str], dict[str, FieldValue]]
RESTAURANTS = made_restaurants(20, 40)
INPUTS = [
    [ReviewInput(place["business_id"], review["review_id"], review["text"]) for review in place["reviews"]]
    for place in RESTAURANTS
]
TOTAL = 800


def by_lot(text: str) -> dict[str, FieldValue]:
    """What no classifier can learn: a hash of the text."""
    number = blake2b(text.encode()).digest()[0]
    return {"staff": ("rude", "kind", "none")[number % 3], "angry": number % 2 == 0}


class FakeModel(OpenExtractor):
    """Stands in for what asks a model: answers at once, up to `most` reviews, and notes what it was asked."""

    prompt_sha256: str | None = "0" * 64
    stop_reason = ""
    can_resume = True

    def __init__(self, say: Say, asked: list[str], most: int = 10**9) -> None:
        self.name = "fake"
        self._say, self._asked, self._most = say, asked, most

    def extract_all(self, restaurants: Iterable[Sequence[ReviewInput]]) -> Iterator[list[Extraction]]:
        for reviews in restaurants:
            yield [self._extraction(review) for review in reviews]

    def _extraction(self, review: ReviewInput) -> Extraction:
        if len(self._asked) >= self._most:
            self.stop_reason = "enough"
            return Extraction(review.review_id, None, NOT_ASKED)
        self._asked.append(review.review_id)
        return Extraction(review.review_id, dict(self._say(review.text)))


def cascade(
    say: Say, fields: Sequence[AskedField] = FIELDS, most: int = 10**9, **options: Any
) -> tuple[CascadeExtractor, list[str]]:
    asked: list[str] = []
    given = Cascade(model="fake", **options)
    return CascadeExtractor(fields, lambda: FakeModel(say, asked, most), lambda: INPUTS, given), asked


def outcome(made: CascadeExtractor) -> list[tuple[ReviewInput, Extraction]]:
    found = list(made.extract_all(INPUTS))
    assert [[each.review_id for each in one] for one in found] == [[each.review_id for each in one] for one in INPUTS]
    return [pair for reviews, one in zip(INPUTS, found, strict=True) for pair in zip(reviews, one, strict=True)]


@pytest.mark.thorough
def test_what_can_be_learned_is_not_asked() -> None:
    """At most 60 % of the reviews are asked about, none twice, and the predicted ones are as the truth has them."""
    made, asked = cascade(truth)
    found = outcome(made)
    assert 300 <= len(asked) == len(set(asked)) <= 0.6 * TOTAL
    predicted = [(review, each) for review, each in found if each.source == "predicted"]
    assert len(predicted) == TOTAL - len(asked)
    for name in ("staff", "angry"):
        right = sum(
            each.fields is not None and each.fields[name] == truth(review.text)[name] for review, each in predicted
        )
        assert right >= 0.95 * len(predicted)
    assert made.summary()[0].endswith(f"{len(predicted)} predicted, which saves {len(predicted)} calls")
    assert "or more of each field (95% confidence" in made.summary()[1]
    assert outcome(cascade(truth)[0]) == found


@pytest.mark.thorough
@pytest.mark.parametrize("share", [0.3, 0.6])
def test_only_what_can_be_learned_is_predicted(share: float) -> None:
    """Where some reviews are answered by lot, the target is held for those that are predicted, by more calls."""

    def mixed(text: str) -> dict[str, FieldValue]:
        return by_lot(text) if "rude" in text and blake2b(text.encode()).digest()[1] < 256 * share else truth(text)

    made, asked = cascade(mixed, target_agreement=0.9)
    found = outcome(made)
    assert len(asked) == len(set(asked))
    predicted = [(each.fields or {}, mixed(review.text)) for review, each in found if each.source == "predicted"]
    for name in ("staff", "angry"):
        assert sum(given[name] == said[name] for given, said in predicted) >= 0.9 * len(predicted)


@pytest.mark.thorough
def test_a_target_that_cannot_be_reached_asks_for_all_and_says_so() -> None:
    """Answers by lot: every review is asked about once; a string field cannot be predicted either."""
    made, asked = cascade(by_lot, sample=100)
    outcome(made)
    assert len(asked) == len(set(asked)) == TOTAL
    assert made.summary()[1] == "cascade: an agreement of 95% cannot be shown: asked about every review"
    made, asked = cascade(truth, [*FIELDS, AskedField("who", "string")])
    outcome(made)
    assert len(asked) == TOTAL


@pytest.mark.parametrize("most", [150, 400])
@pytest.mark.thorough
def test_a_model_that_stops(most: int) -> None:
    """In the first sample or later: what was answered is there, no review is made up, and nothing more is asked."""
    made, asked = cascade(by_lot, most=most)
    found = outcome(made)
    assert made.stop_reason == "enough"
    assert len(asked) == most
    assert sum(each.fields is not None for _, each in found) == most
    assert {each.failure for _, each in found if each.fields is None} == {NOT_ASKED}


def test_the_bound_is_exact() -> None:
    """Values of Clopper and Pearson's intervals; all of n right has the closed form."""
    assert binomial_lower_bound(59, 59, 0.05) == pytest.approx(0.05 ** (1 / 59))
    assert binomial_lower_bound(8, 10, 0.025) == pytest.approx(0.4439045376923585)
    assert binomial_lower_bound(0, 10, 0.05) == 0.0


@pytest.mark.thorough
def test_thresholds_hold_as_often_as_they_say() -> None:
    """Of many samples whose confidence is worth nothing, just under the target, few have a threshold."""
    random, found = Random(1), 0
    for _ in range(300):
        sample = [({"a": random.random() < 0.949}, random.random()) for _ in range(200)]
        found += find_threshold(sample, 0.95, 0.05) is not None
    assert found <= 0.05 * 300 + 12  # three standard deviations more than the level
    assert find_threshold([({"a": True}, 0.9)] * 10, 0.95, 0.05) is None


@pytest.fixture
def kitchen(tmp_path: Path) -> Iterator[tuple[Kitchen, Loopback]]:
    with loopback(Script(answers=lambda text, schema: truth(text))) as server:
        yield Kitchen(tmp_path, server).prepare(RESTAURANTS, staff_seed()), server


@pytest.mark.thorough
def test_run(kitchen: tuple[Kitchen, Loopback]) -> None:
    """Against the API: calls as the server counts them, provenance and counts in results; a rerun asks nothing."""
    given, server = kitchen
    dry = given.run("--extractor", "cascade", "--dry-run")
    calls = [line for line in dry.out.splitlines() if line.startswith(("at least,", "at most,", "calls to make"))]
    assert calls == [
        "at least, for the first sample:",
        "calls to make: 300",
        "at most, for every review:",
        "calls to make: 800",
    ]
    assert "--batch" not in dry.out, "which a cascade does not take"
    done = given.run("--extractor", "cascade").expect(0)
    calls_made = server.seen(False)["paths"][MESSAGES]
    assert 300 <= calls_made <= 0.6 * TOTAL
    sources = [line["reviews"]["sources"] for line in done.results]
    assert sum(each.get("asked", 0) for each in sources) == calls_made
    assert sum(each.get("predicted", 0) for each in sources) == TOTAL - calls_made
    assert {line["run"]["extractor"] for line in done.results} == {f"cascade:{MODEL}"}
    assert f"which saves {TOTAL - calls_made} calls" in done.err
    again = given.run("--extractor", "cascade")
    assert again.out == done.out
    assert server.seen(False)["paths"][MESSAGES] == calls_made


@pytest.mark.thorough
def test_a_budget_stops_it_and_the_next_run_goes_on(kitchen: tuple[Kitchen, Loopback]) -> None:
    given, server = kitchen
    given.run("--extractor", "cascade", "--max-usd", "0.007", "--store", "other.sqlite", "--sample", 150).expect(0)
    server.reset(answers=lambda text, schema: truth(text))
    first = given.run("--extractor", "cascade", "--max-usd", "0.002")
    assert first.status == 3, first.err[-400:]
    assert "stopped: " in first.err
    before = server.seen(False)["paths"][MESSAGES]
    assert 0 < before < TOTAL / 2
    done = given.run("--extractor", "cascade").expect(0)
    assert server.seen(False)["paths"][MESSAGES] == sum(
        line["reviews"]["sources"].get("asked", 0) for line in done.results
    )


@pytest.mark.thorough
def test_from_python(kitchen: tuple[Kitchen, Loopback], monkeypatch: pytest.MonkeyPatch) -> None:
    """What the command writes; options that do not fit are refused by name."""
    given, server = kitchen
    for name, value in given.environment().items():
        monkeypatch.setenv(name, value)
    ran = package.run(staff_seed(), RESTAURANTS, extractor=Cascade(store=given.store, target_agreement=0.9))
    calls = server.seen(False)["paths"][MESSAGES]
    assert given.run("--extractor", "cascade", "--target-agreement", 0.9).results == list(ran)
    assert server.seen(False)["paths"][MESSAGES] == calls <= 0.6 * TOTAL
    with pytest.raises(package.FormulaSeedError, match=r"write `Cascade\(sample=100\)`"):
        package.run(staff_seed(), RESTAURANTS, extractor="cascade", sample=100)
    with pytest.raises(package.FormulaSeedError, match=r"write `extractor=formulaseed\.extractors\.Cascade\("):
        package.run(staff_seed(), RESTAURANTS, extractor="anthropic", target_agreement=0.9)  # type: ignore[call-arg]


@pytest.mark.thorough
def test_killed_and_resumed(kitchen: tuple[Kitchen, Loopback]) -> None:
    given, server = kitchen
    arguments = given.arguments("--extractor", "cascade", "--concurrency", 4, "--quiet")
    ends = [{"signal": "SIGKILL", "answers": count} for count in (100, 120)]
    found = killed(arguments, *ends, folder=given.folder, environment=given.environment())
    assert [one["status"] for one in found] == [-9, -9]
    done = given.run("--extractor", "cascade")
    assert done.status == 0, done.err
    asked = server.seen(False)["paths"][MESSAGES]
    assert asked <= len(given.answers()) + 2 * 4


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--extractor", "cascade", "--batch"), "--batch goes with --extractor anthropic"),
        (("--target-agreement", "0.9"), "--target-agreement goes with --extractor cascade"),
        (("--extractor", "cascade", "--extractions", "x"), "--extractions goes with --extractor recorded or trained"),
    ],
)
def test_wrong_usage(kitchen: tuple[Kitchen, Loopback], options: tuple[str, ...], message: str) -> None:
    done = kitchen[0].run(*options)
    assert (done.status, message in " ".join(done.err.split())) == (2, True), done.err
    assert kitchen[1].seen(False)["paths"].get(MESSAGES, 0) == 0
