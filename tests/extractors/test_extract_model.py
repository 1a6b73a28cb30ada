"""Extraction by a model without evaluation: `formulaseed extract --extractor anthropic`, and both functions from Python."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import formulaseed
import pytest
from asking import FIELDS, MODEL, Kitchen, restaurant, restaurants, seed
from formulaseed import DataError
from formulaseed.errors import ArgumentError
from formulaseed.extractors import Anthropic
from formulaseed.llm.connecting import NotReady
from helpers import Outcome, command, needs, read_lines
from loopback import Loopback
from loopback_script import MESSAGES

needs("anthropic", "llm")


@pytest.fixture
def kitchen(server: Loopback, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Kitchen:
    kitchen = Kitchen(tmp_path, server)
    for name, value in kitchen.environment().items():
        monkeypatch.setenv(name, value)
    return kitchen


def extract(kitchen: Kitchen, *options: object, verb: str = "extract") -> Outcome:
    """The command in place of `run`."""
    return command(verb, *kitchen.arguments(*options)[1:], cwd=kitchen.folder, env=kitchen.environment())


def test_rows_with_quotes_evaluate_to_what_run_writes_with_a_trace(kitchen: Kitchen, server: Loopback) -> None:
    """To the byte, with the model, the hash of its prompt and the quotes; asked once for all of them."""
    text = "We came late.\nThe soup  was\tsplendid, 9 dollars."
    quotes = {"mood_quote": "The soup was splendid", "price_quote": "a bargain", "mood": "good", "price": 9.0}
    server.reset(answers=lambda text, schema: quotes)
    kitchen.prepare([restaurant("a", text), restaurant("b")], seed(extract={"fields": FIELDS}))
    done = extract(kitchen, "--with-text", "--out", "rows.jsonl")
    assert (done.status, f"1 of 1 review relevant, 1 extracted (anthropic, {MODEL})" in done.err) == (0, True)
    [row] = read_lines(kitchen.folder / "rows.jsonl")[0]["rows"]
    quote = row["quotes"]["mood"]
    assert (row["text"], row["text"][quote["start"] : quote["end"]]) == (text, "The soup  was\tsplendid")
    assert row["quotes"]["price"] == {"text": "a bargain", "verified": False, "start": None, "end": None}
    ran = kitchen.run("--trace", "--rows-out", "beside.jsonl", "--with-text")
    again = command("evaluate", "seed.json", "--rows", "rows.jsonl", "--trace", cwd=kitchen.folder)
    assert (again.out, again.results[0]["run"]["extractor"]) == (ran.out, f"anthropic:{MODEL}")
    assert [*again.results[0]["quotes"]["a-0"]] == ["mood", "price"]
    assert (kitchen.folder / "beside.jsonl").read_bytes() == (kitchen.folder / "rows.jsonl").read_bytes()
    assert server.seen(False)["paths"][MESSAGES] == 1


def test_a_dry_run_of_extract_is_that_of_run(kitchen: Kitchen, server: Loopback) -> None:
    kitchen.prepare(restaurants(2, 3))
    assert extract(kitchen, "--dry-run").out == kitchen.run("--dry-run").out != ""
    assert "/v1/messages" not in server.seen(False)["paths"]


@pytest.mark.parametrize("batch", [False, True])
def test_from_python(batch: bool, kitchen: Kitchen, server: Loopback) -> None:
    """Rows and results are what the commands write; another thread than the main one will do; a rerun asks nothing."""
    kitchen.prepare(given := restaurants(2, 2))
    asker = Anthropic(store=kitchen.store, batch=batch, poll=0.01)
    said: list[str] = []
    rows = formulaseed.extract(seed(), iter(given), extractor=asker, notify=said.append)
    results = asyncio.run(asyncio.to_thread(formulaseed.run, kitchen.folder / "seed.json", given, extractor=asker))
    assert rows.failures == results.failures == ()
    assert (rows.usd, results.usd) == (pytest.approx(kitchen.billed()), 0.0)
    assert said[-1].startswith("paid $0.0000")
    assert said[-1].endswith("; the store saved 0 calls, $0.0000")
    assert any(line.startswith("sent 4 calls as ") for line in said) == batch
    asked = len(server.messages) if not batch else None
    assert [json.dumps(line) for line in rows] == extract(kitchen).out.splitlines()
    assert [json.dumps(line) for line in results] == kitchen.run().out.splitlines()
    assert asked in (4, None)
    assert len(server.messages) == (asked or 0)


def test_what_a_model_does_not_answer_is_listed(kitchen: Kitchen, server: Loopback) -> None:
    """Why the run stopped, and the reviews that are left; the same call goes on from there."""
    kitchen.prepare(given := restaurants(3, 2))
    found = formulaseed.extract(seed(), given, extractor=Anthropic(store=kitchen.store, max_usd=0.000001))
    assert (list(found), found.failures[-1]) == ([], "stopped: it could cost more than the limit of $1e-06")
    assert "<contexts>:1: r0: 2 reviews" in found.failures[0]
    assert len(formulaseed.extract(seed(), given, extractor=Anthropic(store=kitchen.store))) == 3


def test_only_what_is_stored_needs_no_credentials(kitchen: Kitchen, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where an answer is missing, that is said before anything is done."""
    asker = Anthropic(store=kitchen.store)
    given = restaurants(1, 2)
    first = formulaseed.run(seed(), given, extractor=asker)
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "")
    assert formulaseed.run(seed(), given, extractor=asker) == first
    for more in (restaurants(2, 2), [restaurant("new", "Never asked about")]):
        with pytest.raises(NotReady, match="finds no credentials"):
            formulaseed.run(seed(), more, extractor=asker)
    with pytest.raises(ArgumentError, match="`batch` reads its input several times: pass files"):
        formulaseed.run(seed(), "-", extractor=Anthropic(store=kitchen.store, batch=True))
    with pytest.raises(DataError):
        formulaseed.run(seed(), given, extractor=Anthropic(store=kitchen.folder / "seed.json" / "x"))
