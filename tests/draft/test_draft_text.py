"""Task texts become sentences, prompts and transcripts are as reviewed, and sentences are traced to parts."""

from __future__ import annotations

import difflib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from drafts import CONDITIONS, G1A, GRAPH, RECORDED, change_seed, read_files, step_of
from formulaseed.data.files import replace_file
from formulaseed.draft.checking import check_draft
from formulaseed.draft.conversion import assemble_draft
from formulaseed.draft.prompts import REPAIR as REPAIR_STAGE
from formulaseed.draft.prompts import STAGES, Stage, format_values, number_sentences, system_prompt
from formulaseed.draft.report import SourceTrace, trace_sources, write_report
from formulaseed.draft.session import DraftResult, DraftSession
from formulaseed.draft.transcript import Exchange, Transcript, parse_exchange, record_answers
from formulaseed.errors import DataError
from formulaseed.extractors.model.store import Store
from formulaseed.llm.calls import ModelCall
from formulaseed.llm.prices import read_prices
from formulaseed.seed.task_text import Task, read_task
from helpers import SEEDS

GOLDENS = Path(__file__).parent / "prompts"


def split(text: str) -> Task:
    return read_task(text.encode())


def check_golden(path: Path, text: str, request: pytest.FixtureRequest) -> None:
    """Fail with a diff unless the file contains the text; --update-cases writes it."""
    if request.config.getoption("--update-cases"):
        path.write_text(text, encoding="utf-8")
    golden = path.read_text(encoding="utf-8") if path.exists() else ""
    if text != golden:
        diff = "\n".join(difflib.unified_diff(golden.splitlines(), text.splitlines(), lineterm="", n=2))
        pytest.fail(f"{path.name}:\n{diff}\n\nIf that is right: pytest {__file__} --update-cases", pytrace=False)


# --- prompts


@pytest.mark.parametrize("stage", [*STAGES, REPAIR_STAGE], ids=lambda stage: stage.name)
def test_the_prompts_are_as_reviewed(stage: Stage, request: pytest.FixtureRequest) -> None:
    check_golden(GOLDENS / f"draft_{stage.name}.md", system_prompt(stage), request)


def test_the_recorded_transcript_is_up_to_date(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """The hand-written answers, with the prompts, schemas, diagnostics and the report of this version."""
    recorded = Transcript(RECORDED)

    def ask(name: str, call: ModelCall) -> Exchange:
        exchange = recorded.exchange(name)
        assert exchange is not None
        return Exchange(call, exchange.answer)

    copy = Transcript(tmp_path)
    settings = recorded.settings()
    session = DraftSession(G1A, record_answers(ask, copy, settings, print), settings, lambda _: None, copy.keep)
    replace_file(tmp_path / "report.md", write_report(session.run(), session.calls, read_prices()))
    files = read_files(tmp_path)
    assert [*files] == [name for name in read_files(RECORDED) if name != "README.md"]
    for name, data in files.items():
        check_golden(RECORDED / name, data.decode(), request)


def test_user_messages_are_json_with_an_entry_a_line() -> None:
    """They can be read in a diff, and nothing of a text can end the JSON that contains it."""
    nasty = split('He said: "}]}". \\ {{ 1 }} \u2028 end.')
    text = format_values({"sentences": number_sentences(nasty), "empty": {}, "list": [{"a": 1}, "b"]})
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
    sentences = split(text).sentences
    assert [(s.text, s.line, s.is_frame) for s in sentences] == [
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
    assert [s.number for s in sentences] == list(range(1, 16))


@pytest.mark.parametrize("path", [seed.with_name("task.md") for seed in SEEDS], ids=lambda path: path.parent.name)
def test_no_word_of_a_task_is_lost(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    split_words = " ".join(sentence.text for sentence in split(text).sentences).split()
    words = [word for word in text.split() if word.strip("#|-:") and not word.rstrip(".").isdecimal()]
    assert [word for word in words if word not in split_words and word.strip("|") not in split_words] == []


@pytest.mark.parametrize("piece", ["- ", "| -", "e.g. A", "#", "a.   ", "* ", "x. ", "1. ", "``` ", "`(*", "|", "**"])
@pytest.mark.thorough
def test_long_texts_take_no_time(piece: str) -> None:
    assert split((piece * 200_000)[:400_000] + " x y z").sentences


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
    """Up to a colon, if a module can have that name; a heading of a section is no title."""
    assert read_task(text.encode(), "other").name == name


# --- traceability


def trace(conditions: dict[str, Any], seed: dict[str, Any]) -> SourceTrace:
    checked = check_draft(assemble_draft(conditions, seed), G1A)
    return trace_sources(DraftResult(G1A, GRAPH, checked, (), (), ()))


def test_what_is_lost_or_added_is_reported() -> None:
    """A sentence without a part, a part without one, a planned step, a number on one side only, an unknown sentence."""
    rules = [{"when": "< 4.0", "then": "Low Risk"}, {"when": "< 9.0", "then": "High Risk"}]
    seed = change_seed("VERDICT", rules=rules)
    seed["steps"] = [step for step in seed["steps"] if step["name"] != "N_OLD"]
    step_of(seed, "TRUST_IMPACT")["sources"] = []
    step_of(seed, "BASE_RISK")["sources"] = [55, 777]
    seed["output"] = seed["output"][1:]
    traced = trace({**CONDITIONS, "background": [3, 4]}, seed)
    assert [s.number for s in traced.unmapped] == [5, 53]
    assert [s.number for s in traced.background] == [3, 4]
    assert (traced.unsourced, traced.unknown) == (("step TRUST_IMPACT",), (("step BASE_RISK", 777),))
    assert traced.missing == ("step N_OLD of the graph", "N_TOTAL_INCIDENTS, which the text asks to report")
    assert [(s.number, number) for s, number in traced.lost_numbers] == [(59, "8.0"), (59, "8.0")]
    assert ("step VERDICT", "9.0") in traced.added_values
    assert traced.parts[38] == ["step ADJUSTED_INCIDENT_SCORE"]


# --- transcripts


@pytest.mark.parametrize(
    "key", ["step", "model", "max_tokens", "effort", "system", "user", "schema", "stop_reason", "usage"]
)
def test_a_damaged_record_is_reported(key: str) -> None:
    record = json.loads((RECORDED / "02-graph.json").read_text())
    for value in (3.5, [3], {"input": "x"}):
        if key != "schema" or not isinstance(value, dict):
            with pytest.raises(DataError, match="not a call of a draft"):
                parse_exchange({**record, key: value})
    with pytest.raises(DataError, match="not a call of a draft"):
        parse_exchange({name: value for name, value in record.items() if name != key})


@pytest.mark.parametrize("tokens", [-1, -999_999_999_999, 10**9 + 1, 10**30, 1.5, 1e999, True, "5", None])
@pytest.mark.parametrize("name", ["input", "cache_write", "cache_read", "output"])
@pytest.mark.thorough
def test_a_usage_that_no_answer_has_is_refused_wherever_it_is_read(name: str, tokens: object, tmp_path: Path) -> None:
    """In a transcript, of an answer and of a discarded one, and in an exported answer of a store."""
    record = json.loads((RECORDED / "02-graph.json").read_text())
    usage = {**record["usage"], name: tokens}
    for wrong in ({"usage": usage}, {"discarded": [None, usage]}):
        with pytest.raises(DataError, match=f"not a call of a draft: its usage is wrong: `{name}` "):
            parse_exchange({**record, **wrong})
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


def test_an_answer_that_is_no_json_is_recorded_to_the_letter() -> None:
    record = Transcript(RECORDED).exchange("02-graph")
    assert record is not None
    for text in ("Sorry,\nI cannot.\n", '{"a": 1, "a": 2}', ""):
        again = parse_exchange(Exchange(record.call, replace(record.answer, text=text)).to_json())
        assert again.answer.text == text
