"""What the model is given and what is kept: sentences, prompts against goldens, transcripts, traceability."""

from __future__ import annotations

import difflib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from drafts import CONDITIONS, GRAPH, RECORDED, TASK, changed_seed, files, good_seed, step_of
from formulaseed.data.files import replace_file
from formulaseed.draft.checking import check
from formulaseed.draft.conversion import drafted
from formulaseed.draft.prompts import REPAIR as REPAIR_STAGE
from formulaseed.draft.prompts import STAGES, sentences, shown, system_prompt
from formulaseed.draft.report import report, trace
from formulaseed.draft.session import DraftResult, Session
from formulaseed.draft.task import Task, read_task
from formulaseed.draft.transcript import Exchange, Transcript, exchange_of, recording
from formulaseed.errors import DataError
from formulaseed.extractors.model.store import Store
from formulaseed.llm.calls import Call
from formulaseed.llm.prices import read_prices
from helpers import SEEDS

GOLDENS = Path(__file__).parent / "prompts"
G1A = read_task(TASK.read_bytes())


def task_of(text: str) -> Task:
    return read_task(text.encode())


def held(written: Path, text: str, request: pytest.FixtureRequest) -> None:
    """The file says what is made now; --update-cases rewrites it."""
    if request.config.getoption("--update-cases"):
        written.write_text(text, encoding="utf-8")
    before = written.read_text(encoding="utf-8") if written.exists() else ""
    if text != before:
        diff = "\n".join(difflib.unified_diff(before.splitlines(), text.splitlines(), lineterm="", n=2))
        pytest.fail(f"{written.name}:\n{diff}\n\nIf that is right: pytest {__file__} --update-cases", pytrace=False)


# --- prompts


@pytest.mark.parametrize("step", [*STAGES, REPAIR_STAGE], ids=lambda step: step.name)
def test_the_prompts_are_as_reviewed(step: Any, request: pytest.FixtureRequest) -> None:
    """What the model is given, to the letter; a change of the tables or of a template shows here."""
    held(GOLDENS / f"draft_{step.name}.md", system_prompt(step), request)


def test_the_recorded_transcript_is_as_this_version_would_write_it(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """The hand-written answers, with the prompts, schemas, diagnostics and the report that are made now."""
    recorded = Transcript(RECORDED)

    def again(name: str, call: Call) -> Exchange:
        found = recorded.exchange(name)
        assert found is not None
        return Exchange(call, found.answer)

    made = Transcript(tmp_path)
    settings = recorded.settings()
    session = Session(G1A, recording(again, made, settings, print), settings, lambda _: None, made.keep)
    replace_file(tmp_path / "report.md", report(session.run(), session.calls, read_prices()))
    assert [*files(tmp_path)] == [name for name in files(RECORDED) if name != "README.md"]
    for name, data in files(tmp_path).items():
        held(RECORDED / name, data.decode(), request)


def test_user_messages_are_json_with_an_entry_a_line() -> None:
    """They can be read in a diff, and nothing of a text can end the JSON that it stands in."""
    nasty = task_of('He said: "}]}". \\ {{ 1 }} \u2028 end.')
    text = shown({"sentences": sentences(nasty), "empty": {}, "list": [{"a": 1}, "b"]})
    assert list(json.loads(text)) == ["sentences", "empty", "list"]
    assert " ".join(json.loads(text)["sentences"].values()) == 'He said: "}]}". \\ {{ 1 }} end.'
    assert text.splitlines()[:2] == ["{", '"sentences": {']


# --- sentences


def test_markdown_is_cut_into_sentences() -> None:
    """Headings and heads of tables are frames; wrapped lines are joined; items, rows and sentences stand alone."""
    text = """\
# Title #

Two wrapped
lines, e.g. Thai food. Then "another one." `X` is 1.5. No. 5 too.

Setext
------
1. **First.** It counts
   twice.
2. Second
- third

**A heading**

| value | meaning |
|---|:-:|
| a | one. Two |
***
```
code = 1
```
> quoted
| lone | row |
"""
    found = [(s.text, s.line, s.is_frame) for s in task_of(text).sentences]
    assert found == [
        ("Title", 1, True),
        ("Two wrapped lines, e.g. Thai food.", 3, False),
        ('Then "another one."', 4, False),
        ("`X` is 1.5.", 4, False),
        ("No. 5 too.", 4, False),
        ("Setext", 6, True),
        ("**First.** It counts twice.", 8, False),
        ("Second", 10, False),
        ("third", 11, False),
        ("**A heading**", 13, True),
        ("value | meaning", 15, True),
        ("a | one. Two", 17, False),
        ("code = 1", 20, False),
        ("quoted", 22, False),
        ("lone | row", 23, False),
    ]
    assert [s.number for s in task_of(text).sentences] == list(range(1, 16))


@pytest.mark.parametrize("path", [seed.with_name("task.md") for seed in SEEDS], ids=lambda path: path.parent.name)
def test_no_word_of_a_task_is_lost(path: Path) -> None:
    """Every word of every task text of the project stands in a sentence."""
    text = path.read_text(encoding="utf-8")
    kept = " ".join(sentence.text for sentence in task_of(text).sentences).split()
    words = [word for word in text.split() if word.strip("#|-:") and not word.rstrip(".").isdecimal()]
    missing = [word for word in words if word not in kept and word.strip("|") not in kept]
    assert missing == []


@pytest.mark.parametrize("piece", ["- ", "| -", "e.g. A", "#", "a.   ", "* ", "x. ", "1. ", "``` ", "`(*", "|", "**"])
def test_long_texts_take_no_time(piece: str) -> None:
    """Cutting grows with the text alone, whatever it repeats."""
    assert task_of((piece * 200_000)[:400_000] + " x y z").sentences


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("# G1a-v2: peanuts\n\nCount.", "G1a-v2"),
        ("\n \n# Late night #\nCount.", "Late night"),
        ("Late night: after dark\n======\n\nCount.", "Late night"),
        ("## Purpose\n\nCount.", "other"),
        ("Count.\n\n# Late\n", "other"),
        ("Count: this.", "other"),
        ("# ../../x\n\nCount.", "other"),
        ("# ---\n\nCount.", "other"),
        (f"# {'Long ' * 13}\n\nCount.", "other"),
        ("Purpose\n-------\n\nCount.", "other"),
    ],
)
def test_a_task_is_named_by_its_title(text: str, name: str) -> None:
    """Up to a colon, if a module can be named so; a heading of a section is no title."""
    assert read_task(text.encode(), "other").name == name


# --- traceability


def done(conditions: dict[str, Any], seed: dict[str, Any]) -> DraftResult:
    return DraftResult(G1A, GRAPH, check(drafted(conditions, seed), G1A), (), (), ())


def test_what_is_lost_or_added_is_reported() -> None:
    """A sentence without a part, a part without one, a planned step, a number on one side only, a sentence that there is not."""
    seed = changed_seed(
        "VERDICT", rules=[{"when": "< 4.0", "then": "Low Risk"}, {"when": "< 9.0", "then": "High Risk"}]
    )
    seed["steps"] = [step for step in seed["steps"] if step["name"] != "N_OLD"]
    step_of(seed, "TRUST_IMPACT")["sources"] = []
    step_of(seed, "BASE_RISK")["sources"] = [55, 777]
    seed["output"] = seed["output"][1:]
    found = trace(done({**CONDITIONS, "background": [3, 4]}, seed))
    assert [s.number for s in found.unmapped] == [5, 53]
    assert [s.number for s in found.background] == [3, 4]
    assert found.unsourced == ("step TRUST_IMPACT",)
    assert found.unknown == (("step BASE_RISK", 777),)
    assert found.not_made == ("step N_OLD of the graph", "N_TOTAL_INCIDENTS, which the text asks to report")
    assert [(s.number, number) for s, number in found.lost_numbers] == [(59, "8.0"), (59, "8.0")]
    assert ("step VERDICT", "9.0") in found.added_numbers
    assert found.parts[38] == ["step ADJUSTED_INCIDENT_SCORE"]


def test_a_good_draft_loses_nothing() -> None:
    """Of the hand-written draft only the two halves are numbers that no sentence has."""
    found = trace(done(CONDITIONS, good_seed()))
    assert (found.unmapped, found.unsourced, found.unknown, found.not_made, found.lost_numbers) == ((), (), (), (), ())
    assert found.added_numbers == (("step SILENCE_PENALTY", "0.5"), ("step CUISINE_IMPACT", "0.5"))


# --- transcripts


@pytest.mark.parametrize(
    "key", ["step", "model", "max_tokens", "effort", "system", "user", "schema", "stop_reason", "usage"]
)
def test_a_damaged_record_is_reported(key: str) -> None:
    """A file that is no record of a call is refused, whatever is wrong with it."""
    record = json.loads((RECORDED / "02-graph.json").read_text())
    for value in (3.5, [3], {"input": "x"}):
        if key != "schema" or not isinstance(value, dict):
            with pytest.raises(DataError, match="not a call of a draft"):
                exchange_of({**record, key: value})
    with pytest.raises(DataError, match="not a call of a draft"):
        exchange_of({name: value for name, value in record.items() if name != key})


@pytest.mark.parametrize("tokens", [-1, -999_999_999_999, 10**9 + 1, 10**30, 1.5, 1e999, True, "5", None])
@pytest.mark.parametrize("name", ["input", "cache_write", "cache_read", "output"])
def test_a_usage_that_no_answer_has_is_refused_wherever_it_is_read(name: str, tokens: object, tmp_path: Path) -> None:
    """In a transcript, of its answer and of a discarded one, and in an exported answer of a store."""
    record = json.loads((RECORDED / "02-graph.json").read_text())
    usage = {**record["usage"], name: tokens}
    for wrong in ({"usage": usage}, {"discarded": [None, usage]}):
        with pytest.raises(DataError, match=f"not a call of a draft: its usage is wrong: `{name}` "):
            exchange_of({**record, **wrong})
    line = {
        "key": "k",
        "model": "m",
        "content": None,
        "reason": "r",
        "batch": 0,
        "at": 1.0,
        "tries": 1,
        **record["usage"],
    }
    with Store(tmp_path / "s.sqlite") as store:
        with pytest.raises(DataError, match=f"`{name}` "):
            store.import_answer({**line, name: tokens})
        assert store.import_answer(line)


def test_an_answer_that_is_no_json_is_kept_as_it_came() -> None:
    """Its lines are written down, and read back to the letter."""
    record = Transcript(RECORDED).exchange("02-graph")
    assert record is not None
    for text in ("Sorry,\nI cannot.\n", '{"a": 1, "a": 2}', ""):
        again = exchange_of(Exchange(record.call, replace(record.answer, text=text)).to_json())
        assert again.answer.text == text
