"""`formulaseed extract`, `run --rows-out`, and both from Python: rows are extracted once and evaluated as often as need be."""

from __future__ import annotations

import asyncio
import gzip
import json
from pathlib import Path
from typing import Any

import click
import formulaseed
import pytest
from formulaseed import DataError, FormulaSeed, FormulaSeedError, SeedError, load_evaluator, load_seed
from formulaseed.cli.extract import extract as command
from formulaseed.data.jsonl import open_lines
from formulaseed.data.results import Failures
from formulaseed.errors import ArgumentError
from formulaseed.extractors import Anthropic, Recorded
from formulaseed.extractors.registry import EXTRACTORS, import_options
from formulaseed.runtime import extracting
from formulaseed.runtime.running import evaluate_lines
from formulaseed.testing import contexts, parameters, rows, seeds
from helpers import EXAMPLES, TASKS, Outcome, read_lines, tiny_row, tiny_rows, tiny_seed, write_json, write_lines
from helpers import formulaseed as shell
from hypothesis import given, settings
from hypothesis import strategies as st

G1A = TASKS / "g1a_v2" / "seed.json"
CONTEXTS = EXAMPLES / "contexts.jsonl"
RECORDED = EXAMPLES / "extractions-g1a_v2.jsonl"
AS_RECORDED = ("--extractor", "recorded", "--extractions", RECORDED)


def review(review_id: str, text: str = "Good soup", **more: object) -> dict[str, Any]:
    return {"review_id": review_id, "text": text, "stars": 4, "date": "2020-02-29 12:00:00", **more}


def place(business_id: str, *reviews: object, **more: object) -> dict[str, Any]:
    return {"business_id": business_id, "name": f"The {business_id}", "is_open": 1, **more, "reviews": list(reviews)}


def known(business_id: str, *review_ids: str) -> list[dict[str, Any]]:
    fields = {"mood": "good", "score": 3}
    return [{"business_id": business_id, "review_id": review_id, "fields": fields} for review_id in review_ids]


class Soups:
    """A folder with the small seed, restaurants and recorded extractions."""

    def __init__(self, folder: Path, lines: list[Any], extractions: list[Any], **seed: object) -> None:
        self.seed = write_json(folder / "seed.json", tiny_seed(**seed))
        self.contexts = write_lines(folder / "contexts.jsonl", *lines)
        self.recorded = write_lines(folder / "recorded.jsonl", *extractions)

    def __call__(self, verb: str, *options: object, seed: Path | None = None) -> Outcome:
        inputs = ("--contexts", self.contexts, "--extractor", "recorded", "--extractions", self.recorded)
        return shell(verb, seed or self.seed, *inputs, *options)


# --- the file


@pytest.mark.parametrize(
    "options",
    [pytest.param(AS_RECORDED, marks=pytest.mark.thorough), ("--extractor", "lexical"), (*AS_RECORDED, "--sample", 20)],
    ids=["recorded", "lexical", "a sample"],
)
def test_rows_evaluate_to_what_run_writes_to_the_byte(options: tuple[Any, ...], tmp_path: Path) -> None:
    """With counts and provenance; `run --rows-out` writes the same file, compressed too; so does standard output."""
    extracted, beside, results = (tmp_path / name for name in ("a.jsonl", "b.jsonl.gz", "results.jsonl"))
    inputs = (G1A, "--contexts", CONTEXTS, *options)
    sampled = ["sample"] if "--sample" in options else []
    counts = f"114 of 215 reviews relevant, {20 if sampled else 114} extracted ("
    first = shell("extract", *inputs, "--out", extracted).expect(0, counts, out="")
    ran = shell("run", *inputs, "--rows-out", beside, "--out", results).expect(0, out="")
    assert first.err.splitlines() == [line for line in ran.err.splitlines() if not line.startswith("VERDICT: ")]
    assert extracted.read_bytes() == gzip.decompress(beside.read_bytes()) == shell("extract", *inputs).out.encode()
    shell("evaluate", G1A, "--rows", extracted).expect(0, out=results.read_text("utf-8"))
    line = read_lines(extracted)[0]
    assert list(line) == ["business_id", "context", "rows", "reviews", "run"]
    assert all(list(row) == ["review_id", "extraction", "meta"] for row in line["rows"])
    words = ["spoke_for"] if "lexical" in options else []
    assert list(line["run"]) == ["seed_sha256", "seed_version", "extractor", "prompt_sha256", *sampled, *words]


def test_two_files_are_joined_as_run_joins_them(tmp_path: Path) -> None:
    """With `--limit`, and with a module in place of the seed."""
    seed = write_json(tmp_path / "seed.json", tiny_seed())
    shell("compile", seed, "--out", tmp_path).expect(0)
    places = write_lines(tmp_path / "places.jsonl", *[{"business_id": b, "is_open": 1} for b in "abc"])
    reviews = write_lines(tmp_path / "reviews.jsonl", *[{**review(b), "business_id": b} for b in "cba"])
    recorded = write_lines(tmp_path / "recorded.jsonl", *(line for b in "abc" for line in known(b, b)))
    inputs = ("--restaurants", places, "--reviews", reviews, "--extractor", "recorded", "--extractions", recorded)
    for program in (seed, tmp_path / "tiny_1.py"):
        done = shell("extract", program, *inputs, "--limit", 2, "--quiet").expect(0)
        ids = [(line["business_id"], [row["review_id"] for row in line["rows"]]) for line in done.results]
        assert ids == [("a", ["a"]), ("b", ["b"])]


def test_texts_are_written_if_asked_for(tmp_path: Path) -> None:
    """The part that was extracted from; the date is among the metadata. Rows without texts are as short as can be."""
    handling = {"max_length": 9, "strategy": "truncate_tail"}
    lines = [place("a", review("r", "Yesterday: good soup"))]
    soups = Soups(tmp_path, lines, known("a", "r"), review_handling=handling)
    [line] = soups("extract", "--with-text").results
    [row] = line["rows"]
    assert (row["text"], row["meta"]["date"], "quotes" in row) == ("good soup", "2020-02-29", False)
    soups("run", "--with-text", "--rows-out", tmp_path / "rows.jsonl").expect(0)
    assert read_lines(tmp_path / "rows.jsonl") == [line]
    del row["text"]
    assert soups("extract").results == [line]


def test_what_failed_has_no_line(tmp_path: Path) -> None:
    """A restaurant with a review that could not be extracted, and each that `evaluate` would refuse; `run` says the same."""
    lines = [
        place("good", review("g")), place("half", review("h"), review("unknown")), b"{",
        place("nowhere", review("n"), is_open=None), place("starless", review("s", stars=None)), {"business_id": "none"},
        place("empty"),
    ]  # fmt: skip
    recorded = [line for b in ("good", "half", "nowhere", "starless") for line in known(b, b[0])]
    soups, rows_file = Soups(tmp_path, lines, recorded), tmp_path / "rows.jsonl"
    counts = "5 of 5 reviews relevant, 4 extracted, 1 failed (recorded)"
    done = soups("extract").expect(3, f"6 restaurants, 4 failed; 1 line unreadable; {counts}")
    assert [(r["business_id"], r["reviews"]["extracted"]) for r in done.results] == [("good", 1), ("empty", 0)]
    ran = soups("run", "--rows-out", rows_file)
    assert read_lines(rows_file) == done.results
    assert ran.by_id().keys() == {"good", "half", "nowhere", "starless", "none", "empty"}
    failed, of_run = ([li for li in one.err.splitlines() if li.startswith("failed: ")] for one in (done, ran))
    assert [line.split(":")[2] for line in failed] == ["2", "3", "4", "5", "6"]
    assert {*of_run} > {*failed}, "and a step without value"


def test_reviews_that_are_left_out_are_counted_in_the_line_and_in_results(tmp_path: Path) -> None:
    lines = [place("a", review("r"), review("lost"), review("other", "Tea")), place("b", review("lost"))]
    soups = Soups(tmp_path, lines, known("a", "r"))
    done = soups("extract", "--on-error", "skip").expect(3)
    assert [line["reviews"] for line in done.results] == [counted(3, 2, 1, 1), counted(1, 1, 0, 1)]
    rows_file = write_lines(tmp_path / "rows.jsonl", *done.results)
    evaluated = shell("evaluate", soups.seed, "--rows", rows_file)
    assert evaluated.out == soups("run", "--on-error", "skip").out
    assert [line["reviews"]["failed"] for line in evaluated.results] == [1, 1]


def test_a_line_that_could_not_be_read_back_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What no JSON has, and what is longer than a line may be: both come out of lines that can be read."""
    infinite = json.dumps(place("a", review("r"), other=1)).replace('"other": 1', '"other": 1e400').encode()
    soups = Soups(tmp_path, [infinite, place("b", review("r"))], [*known("a", "r"), *known("b", "r")])
    done = soups("extract").expect(3, "contexts.jsonl:1: a: `Infinity` is not a JSON number")
    assert [line["business_id"] for line in done.results] == ["b"]
    assert soups("run").by_id()["a"].keys() >= {"output"}, "the seed does not use it"
    monkeypatch.setattr(extracting, "LINE_BYTES", 100)
    extracted = formulaseed.extract(soups.seed, soups.contexts, extractor=Recorded(soups.recorded))
    assert (list(extracted), "<" in extracted.failures[0]) == ([], False)
    assert extracted.failures[1].endswith(": b: its rows are longer than 100 bytes, the most that a line may have")


# --- what evaluate carries over


def counted(total: int, relevant: int, extracted: int, failed: int) -> dict[str, int]:
    return {"total": total, "relevant": relevant, "extracted": extracted, "failed": failed}


ROWS_COUNT = "`extracted` must be the number of rows, 2"


@pytest.mark.parametrize(
    ("reviews", "reason"),
    [
        (counted(9, 3, 2, 1), ""),
        (counted(9, 3, 3, 0), f"{ROWS_COUNT}, and `relevant` that of `extracted` and `failed`"),
        (counted(9, 2, 2, 1), ROWS_COUNT),
        (counted(2, 3, 2, 1), "`relevant` must not be over `total`"),
        ({**counted(9, 4, 2, 1), "sampled": 3}, ""),
        ({**counted(9, 4, 2, 1), "sampled": 4}, "`sampled` that of `extracted` and `failed`"),
        ({**counted(9, 2, 2, 1), "sampled": 3}, "nor `sampled` over `relevant`"),
        (counted(2, 1, 2, -1), "`reviews.failed` must be 0 or more"),
        ({"total": 2}, "`reviews.relevant` is missing; `reviews.extracted` is missing"),
        ({**counted(2, 2, 2, 0), "total": True}, "`reviews.total` must be an integer"),
        ({**counted(2, 2, 2, 0), "total": 10**30}, "`reviews.total` "),
        ([review("r")], "`reviews` must be an object"),
    ],
)
@pytest.mark.thorough
def test_counts_of_reviews_agree_with_the_rows(reviews: Any, reason: str, tmp_path: Path) -> None:
    """A line whose counts are wrong, as after a row was deleted by hand, is refused with what is right."""
    seed = write_json(tmp_path / "seed.json", tiny_seed())
    line = {**tiny_rows("a", tiny_row("r1"), tiny_row("r2")), "reviews": reviews}
    done = shell("evaluate", seed, "--rows", write_lines(tmp_path / "rows.jsonl", line)).expect(3 if reason else 0)
    [result] = done.results
    assert reason in result["error"]["message"] if reason else result["reviews"] == reviews


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        ({"extractor": "anthropic:m", "prompt_sha256": "ab"}, ("anthropic:m", "ab", False)),
        ({"extractor": "by hand", "edited": True, "seed_sha256": "of another seed"}, ("by hand", None, True)),
        ({}, (None, None, False)),
        ({"extractor": 5}, "`run.extractor` must be a string"),
        ({"edited": "yes"}, "`run.edited` must be true or false"),
        ({"sample": {"reviews": 2, "of": 3.5}}, "`run.sample.of` "),
        ({"extracter": "x"}, "`extractor` is missing, but there is `extracter`: rename it"),
        ("lexical", "`run` must be an object"),
    ],
)
@pytest.mark.thorough
def test_provenance_of_rows_is_that_of_results(run: Any, expected: Any, tmp_path: Path) -> None:
    """Extractor, prompt, and whether an edited module filtered; the seed and its parameters are those of the evaluation."""
    seed = write_json(tmp_path / "seed.json", tiny_seed())
    lines = [{**tiny_rows("a", tiny_row("r")), "run": run}, tiny_rows("b", tiny_row("r"))]
    done = shell("evaluate", seed, "--rows", write_lines(tmp_path / "rows.jsonl", *lines))
    first, second = done.results
    if isinstance(expected, str):
        assert (done.status, expected in first["error"]["message"]) == (3, True), first
        return
    facts = first["run"]
    assert (facts["extractor"], facts["prompt_sha256"], facts.get("edited", False)) == expected
    assert (facts["seed_sha256"], facts["parameters"]) == (load_seed(tiny_seed()).sha256, {"LEAST": 2})
    assert second["run"]["extractor"] is None


def test_an_edited_module_marks_its_rows(tmp_path: Path) -> None:
    """It decides which reviews are relevant, so what is made of its rows says so for good."""
    soups = Soups(tmp_path, [place("a", review("r"))], known("a", "r"))
    shell("compile", soups.seed, "--out", tmp_path).expect(0)
    module = tmp_path / "tiny_1.py"
    module.write_text(module.read_text("utf-8").replace('"soup"', '"tea"'), "utf-8")
    soups("extract", seed=module).expect(2)
    [line] = soups("extract", "--allow-edited", seed=module).expect(0).results
    assert (line["run"]["edited"], line["rows"]) == (True, [])
    [result] = shell("evaluate", soups.seed, "--rows", write_lines(tmp_path / "rows.jsonl", line)).results
    assert result["run"]["edited"] is True


@st.composite
def extracted_restaurants(draw: st.DrawFn) -> tuple[FormulaSeed, list[Any], list[Any], dict[str, Any]]:
    """A seed, restaurants whose reviews have recorded extractions, most of them, and parameters."""
    seed = load_seed(draw(seeds()))
    word = next(iter(load_evaluator(seed).module.KEYWORDS), "")
    lines, recorded = [], []
    for number in range(draw(st.integers(1, 3))):
        name, reviews = f"b{number}", []
        for row in draw(rows(seed, max_size=4)):
            text = draw(st.sampled_from([word, word, word, "@"]))
            reviews.append({**row["meta"], "review_id": row["review_id"], "text": text})
            if draw(st.integers(0, 9)):
                recorded.append({"business_id": name, "review_id": row["review_id"], "fields": row["extraction"]})
        lines.append({"business_id": name, "business": draw(contexts(seed)), "reviews": reviews})
    return seed, lines, recorded, draw(parameters(seed))


@settings(max_examples=settings.default.max_examples // 4)  # type: ignore[union-attr]  # three modules for each
@given(extracted_restaurants(), st.sampled_from(["fail", "skip"]), st.booleans())
@pytest.mark.thorough
def test_evaluating_rows_is_running(given: Any, on_error: Any, trace: bool) -> None:
    """For every seed: `evaluate` of what `extract` writes gives what `run` gives, but for restaurants without rows."""
    seed, lines, extractions, values = given
    options: Any = {"extractor": Recorded(extractions), "on_error": on_error}
    ran = formulaseed.run(seed, lines, parameters=values, trace=trace, **options)
    assert len(ran) == len(lines)
    rows_, failures = open_lines(formulaseed.extract(seed, lines, with_text=trace, **options), "rows"), Failures()
    again = evaluate_lines(load_evaluator(seed), rows_, failures, trace=trace, parameters=values or None)
    has_rows = [line for line in ran if "error" not in line or line["error"]["step"] is not None]
    assert [json.dumps(result.to_json()) for result in again] == [json.dumps(line) for line in has_rows]
    assert len(failures.lines) == sum("error" in line for line in has_rows)


# --- from Python


@pytest.mark.thorough
def test_files_and_values_are_the_same(tmp_path: Path) -> None:
    """Paths, lists and iterables; a loaded seed, a path or a dictionary; the commands write what the functions return."""
    soups = Soups(tmp_path, [place("a", review("r"), review("s")), place("b")], known("a", "r", "s"))
    lines, recorded, seed = read_lines(soups.contexts), read_lines(soups.recorded), tiny_seed()
    expected = soups("run").results
    places = [{**line, "reviews": None} for line in lines]
    reviews = ({**one, "business_id": line["business_id"]} for line in lines for one in line["reviews"])
    for seed_, contexts_, extractions, reviews_ in (
        (str(soups.seed), soups.contexts, soups.recorded, None),
        (seed, lines, recorded, None),
        (load_seed(seed), iter(lines), iter(recorded), None),
        (seed, places, recorded, reviews),
    ):
        ran = formulaseed.run(seed_, contexts_, reviews=reviews_, extractor=Recorded(extractions))  # type: ignore[arg-type]
        assert [json.dumps(line) for line in ran] == [json.dumps(line) for line in expected]
        assert ":2: b: SHARE: division_by_zero: 0 / 0 (" in ran.failures[0]
    extracted = formulaseed.extract(seed, lines, extractor=Recorded(recorded), with_text=True)
    assert (list(extracted), extracted.failures) == (soups("extract", "--with-text").results, ())
    [traced, _] = formulaseed.run(seed, lines, trace=True, parameters={"LEAST": 1}, extractor=Recorded(recorded))
    assert (traced["steps"]["N"], traced["evidence"]["N"], traced["run"]["parameters"]) == (2, ["r", "s"], {"LEAST": 1})


def test_a_sample_is_that_of_the_command(tmp_path: Path) -> None:
    places = [place(f"p{n}", *(review(f"p{n}-{i}") for i in range(3))) for n in range(4)]
    recorded = [line for n in range(4) for line in known(f"p{n}", *(f"p{n}-{i}" for i in range(3)))]
    soups = Soups(tmp_path, places, recorded)
    options: Any = {"extractor": Recorded(recorded)}
    found = formulaseed.extract(soups.seed, iter(places), sample=3, sample_seed=5, **options)
    assert found == soups("extract", "--sample", 3, "--sample-seed", 5).results
    assert [line["reviews"]["sampled"] for line in found] == [1, 1, 1]
    assert formulaseed.run(soups.seed, places, sample=3, **options) == soups("run", "--sample", 3).results


def test_failures_are_listed_with_their_places() -> None:
    """Lines without a restaurant, reviews without an extraction, values that no line of JSON has."""
    lines: list[Any] = [
        place("a", review("r")), {"reviews": []}, 5, place("b", review("r", useful=float("nan"))),
        place("c", review("r", extra={1, 2})), place("d", review("r", note="\ud800")), {**place("e"), 1: 2, "1": 3},
    ]  # fmt: skip
    ran = formulaseed.run(tiny_seed(), lines, extractor=Recorded([{"business_id": "a"}]))
    assert [line["business_id"] for line in ran] == ["a"]
    places = ["<extractions>:1", *(f"<contexts>:{number}" for number in range(1, 8))]
    assert [line.split(": ", 1)[0] for line in ran.failures] == places
    reasons = ("`review_id` is missing", "no extraction is recorded", "`business_id` is missing", "must be an object, not int",
               "`NaN` is not a JSON number", "it is not JSON", "unpaired surrogate", "duplicate key `1`")  # fmt: skip
    for line, reason in zip(ran.failures, reasons, strict=True):
        assert reason in line, line


@pytest.mark.parametrize(
    ("options", "kind", "reason"),
    [
        ({"extractor": "x"}, ArgumentError, "must be 'lexical', 'recorded', 'trained', 'anthropic' or 'cascade', or a value of"),
        ({"extractor": ["lexical"]}, FormulaSeedError, "`extractor` must be 'lexical',"),
        ({"on_error": "stop"}, ArgumentError, "`on_error` must be 'fail' or 'skip', not 'stop'"),
        ({"limit": -1}, FormulaSeedError, "`limit` must be greater than or equal to 0, not -1"),
        ({"limit": True}, FormulaSeedError, "`limit` must be"),
        ({"sample": 0}, FormulaSeedError, "`sample` must be greater than or equal to 1, not 0"),
        ({"sample_seed": "x"}, FormulaSeedError, "`sample_seed` must be a valid integer, not 'x'"),
        ({"extractor": "recorded"}, ArgumentError, "needs options: write `formulaseed.extractors.Recorded(extractions=…)`"),
        ({"extractor": Recorded([]), "sample": 1, "contexts": "-"}, ArgumentError, "`sample` reads its input several times"),
        ({"extractions": []}, FormulaSeedError, "write `extractor=formulaseed.extractors.Recorded(extractions=…)`"),
        ({"model": "m"}, FormulaSeedError, "write `extractor=formulaseed.extractors.Anthropic(model=…)`"),
        ({"extractor": Anthropic(max_usd=1, model="new")}, ArgumentError, "`max_usd` needs a price, and there is none for new"),
        ({"notify": "print"}, ArgumentError, "`notify` must be callable, not 'print'"),
        ({"parameters": {"NONE": 1}}, DataError, "`NONE`"),
        ({"parameters": [1]}, FormulaSeedError, "`parameters` must be a valid dictionary"),
        ({"contexts": 5}, DataError, "contexts must be a path, a list of objects or a data frame, not int"),
        ({"contexts": b"x"}, DataError, "contexts must be a path, a list of objects or a data frame, not bytes"),
        ({"contexts": {}}, DataError, "contexts must be a path, a list of objects or a data frame, not dict"),
        ({"contexts": "nowhere.jsonl"}, DataError, "cannot read nowhere.jsonl"),
        ({"reviews": 5}, DataError, "reviews must be a path, a list of objects or a data frame, not int"),
        ({"seed": {}}, SeedError, "FS502"),
        ({"seed": "nowhere.json"}, DataError, "cannot read nowhere.json"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_our_error(
    options: dict[str, Any], kind: type[Exception], reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before anything is extracted; the same for both functions."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "test-key")
    options = {"seed": tiny_seed(), "contexts": [place("a")], **options}
    seed, contexts_ = options.pop("seed"), options.pop("contexts")
    for function in (formulaseed.run, formulaseed.extract)[: 1 if "parameters" in options else 2]:
        with pytest.raises(kind) as error:
            function(seed, contexts_, **options)
        assert reason in str(error.value)


@pytest.mark.parametrize(
    ("extractor", "arguments", "options", "reason"),
    [
        ("anthropic", (), {"modle": "m"}, "`Anthropic` has no option `modle`; did you mean `model`?"),
        ("anthropic", (), {"model": None}, "`model` must be a valid string, not None"),
        ("anthropic", (), {"effort": []}, "`effort` must be 'low', 'medium',"),
        ("anthropic", (), {"concurrency": 0}, "`concurrency` must be greater than or equal to 1, not 0"),
        ("anthropic", (), {"retries": True}, "`retries` must be a valid integer, not True"),
        ("anthropic", (), {"batch": 1}, "`batch` must be a valid boolean, not 1"),
        ("anthropic", (), {"poll": 0}, "`poll` must be greater than 0, not 0"),
        ("anthropic", (), {"store": 5}, "`store` must be a path, not 5"),
        ("anthropic", (), {"timeout": float("nan")}, "`timeout` must be a finite number, not nan"),
        ("anthropic", (), {"examples": 5}, "`examples` must be a path, a list of objects or a data frame, not 5"),
        ("anthropic", ("claude",), {}, "`Anthropic` takes its options by name: model, effort,"),
        ("cascade", (), {"batch": True}, "`Cascade` has no option `batch`"),
        ("lexical", (5,), {}, "`Lexical` takes its options by name: it has none"),
        ("recorded", (), {}, "`extractions` of `Recorded` is missing: Recorded extractions, JSON Lines."),
        ("recorded", (5,), {}, "`extractions` must be a path, a list of objects or a data frame, not 5"),
        ("recorded", ([],), {"extractions": []}, "`Recorded` takes its options by name: extractions, strict"),
        ("trained", ([],), {"min_confidence": 2}, "`min_confidence` must be less than or equal to 1, not 2"),
    ],
)  # fmt: skip
def test_a_wrong_option_is_named(extractor: str, arguments: Any, options: Any, reason: str) -> None:
    with pytest.raises(FormulaSeedError) as error:
        import_options(extractor)(*arguments, **options)
    assert str(error.value).startswith(reason)


def test_options_of_extractors_are_those_of_the_command() -> None:
    """Each is an option of the command, with its default and its bounds; `--sample` has its default in the model alone."""
    options = {option.name: option for option in command.params if isinstance(option, click.Option)}
    defaults = command.make_context("extract", ["seed.json"]).params
    for extractor in EXTRACTORS:
        for name, field in import_options(extractor).model_fields.items():
            default = None if field.is_required() or name == "sample" else field.default
            assert defaults[name] == default, name
            assert options[name].help, name
    assert (options["retries"].type.min, options["retries"].type.max) == (0, 20)  # type: ignore[attr-defined]


def test_a_model_is_not_asked_inside_of_an_event_loop() -> None:

    async def work(**options: Any) -> Any:
        return formulaseed.run(tiny_seed(), [place("a")], **options)

    assert len(asyncio.run(work())) == 1
    with pytest.raises(FormulaSeedError, match=r"await asyncio\.to_thread\(formulaseed\.run, …\)"):
        asyncio.run(work(extractor="anthropic"))
