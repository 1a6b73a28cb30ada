"""What the tests of extraction by a model share: seeds, restaurants, and `formulaseed run` against the stand-in for the API."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import forking
from formulaseed.documents import analyse
from formulaseed.extractors.base import fields_of
from formulaseed.extractors.model.prompting import PromptSpec
from formulaseed.llm.calls import Usage
from formulaseed.llm.limiter import read_prices
from helpers import Outcome, command, write_json, write_lines
from loopback import Loopback

MODEL = "claude-haiku-5-5"
MOODS = {"good": "Liked the soup", "bad": "Hated the soup", "none": "Says nothing of it"}
FIELDS: list[dict[str, Any]] = [
    {"name": "mood", "type": "enum", "description": "What the writer felt", "values": MOODS, "evidence": True},
    {"name": "spicy", "type": "boolean", "description": "The soup was called spicy"},
    {"name": "guests", "type": "integer", "description": "How many ate.\nCount the writer"},
    {"name": "price", "type": "number", "description": "Price of the soup in dollars", "evidence": True},
    {"name": "dish", "type": "string", "description": "Name of the soup"},
    {"name": "cuisine", "type": "enum", "values": ["thai", "other"]},
]
"""One field of each type, two of them with quotes, one enum without descriptions."""


def seed(**changes: Any) -> dict[str, Any]:
    """A seed with one enum, which counts moods."""
    mood = {"name": "mood", "type": "enum", "values": {"good": "Liked it", "bad": "Hated it"}}
    return {
        "task_name": "Soups-1",
        "extract": {"fields": [mood], **changes.pop("extract", {})},
        "compute": [{"name": "N_GOOD", "op": "count", "where": {"extraction.mood": "good"}}, {"name": "N", "op": "count"}],
        "output": ["N_GOOD", "N"],
        **changes,
    }  # fmt: skip


def questionnaire(of: dict[str, Any] | None = None, **options: Any) -> PromptSpec:
    """What a seed asks; by default one of a field of each type."""
    program = analyse(of or seed(extract={"fields": FIELDS})).program
    assert program is not None
    of_program = {"passes": program.passes, "own_prompt": program.extraction_prompt, "examples": program.examples}
    return PromptSpec(fields_of(program), **{"model": MODEL, **of_program, **options})


def restaurant(name: str, *texts: str, **more: Any) -> dict[str, Any]:
    """A line of contexts; the reviews are called by the restaurant's name and their number."""
    reviews = [
        {"review_id": f"{name}-{index}", "text": text, "stars": 4.0, "useful": 2, "date": "2024-05-06 07:08:09"}
        for index, text in enumerate(texts)
    ]
    return {"business_id": name, "business": {"name": f"The {name}", **more}, "reviews": reviews}


def restaurants(count: int, reviews: int) -> list[dict[str, Any]]:
    """So many restaurants with so many different reviews each."""
    return [restaurant(f"r{n}", *(f"Review {i} of {n}: the soup." for i in range(reviews))) for n in range(count)]


def killed(
    arguments: Sequence[str], *ends: dict[str, Any], folder: Path, environment: Mapping[str, str]
) -> list[dict[str, Any]]:
    """How each of as many runs ended, by a signal at a moment: see `killed.py`."""
    given = json.dumps({"arguments": arguments, "ends": ends}).encode()
    variables = {**os.environ, **environment}
    done = forking.run([], program="killed", stdin=given, folder=folder, environment=variables, seconds=100)
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout)  # type: ignore[no-any-return]


@dataclass
class Kitchen:
    """A folder with a seed, restaurants and a store, and a server to ask."""

    folder: Path
    server: Loopback | None = None

    @property
    def store(self) -> Path:
        return self.folder / "answers.sqlite"

    def prepare(self, contexts: Sequence[object], given: dict[str, Any] | None = None) -> Kitchen:
        write_json(self.folder / "seed.json", given if given is not None else seed())
        write_lines(self.folder / "contexts.jsonl", *contexts)
        return self

    def arguments(self, *options: object) -> list[str]:
        command = "run seed.json --contexts contexts.jsonl --extractor anthropic --store answers.sqlite"
        return [*command.split(), *map(str, options)]

    def environment(self, **more: str) -> dict[str, str]:
        url = {"ANTHROPIC_BASE_URL": self.server.url} if self.server is not None else {}
        return {"ANTHROPIC_API_KEY": "test-key", **url, **more}

    def run(self, *options: object, **environment: str) -> Outcome:
        """`formulaseed run`, in this process."""
        return command(*self.arguments(*options), cwd=self.folder, env=self.environment(**environment))

    def run_piped(self, *options: object, **environment: str) -> Outcome:
        """`formulaseed run` with contexts that come through a pipe."""
        os.mkfifo(self.folder / "pipe")
        lines = (self.folder / "contexts.jsonl").read_bytes()
        writer = threading.Thread(target=(self.folder / "pipe").write_bytes, args=[lines])
        writer.start()
        arguments = ["run", "seed.json", "--contexts", "pipe", *self.arguments(*options)[4:]]
        done = command(*arguments, cwd=self.folder, env=self.environment(**environment))
        writer.join(30)
        assert not writer.is_alive()
        return done

    def answers(self) -> dict[str, tuple[str | None, int]]:
        """What is stored by key: content and how often it was asked."""
        return {row[0]: (row[1], row[2]) for row in self.sql("SELECT key, content, tries FROM answers")}

    def info(self) -> dict[str, Any]:
        """What `store info` says, as JSON."""
        done = command("store", "info", "--store", "answers.sqlite", "--format", "json", cwd=self.folder, env={})
        found: dict[str, Any] = json.loads(done.out)
        return found

    def billed(self) -> float:
        """What the server has charged, in dollars."""
        assert self.server is not None
        seen, cost = self.server.seen(False)["billed"], 0.0
        names = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")
        for kind in ("", "batch_"):
            usage = Usage(*(seen.get(kind + name, 0) for name in names))
            cost += read_prices().cost(MODEL, usage, is_batch=bool(kind), calls=10**6) or 0.0
        return cost

    def sql(self, statement: str, *values: object) -> list[Any]:
        with contextlib.closing(sqlite3.connect(self.store, isolation_level=None)) as db:
            return db.execute(statement, values).fetchall()


def sent(body: Any) -> str:
    """The review in a request's user message."""
    review = json.loads(body["messages"][0]["content"])["review"]
    assert isinstance(review, str)
    return review
