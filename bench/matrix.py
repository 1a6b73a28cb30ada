"""Requests evaluated for restaurants: the time of the whole matrix, and how it grows with the reviews."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

from formulaseed import load_requests, pipeline, validate_requests
from formulaseed.documents import RequestsFile
from formulaseed.requests.model import conditions
from formulaseed.runtime.loading import module_from_source
from measure import Call, children_cpu, shortest
from tables import Line, table

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
REQUESTS, RESTAURANTS, REVIEWS = 100, 50, 970
TIMES = (1, 2, 4, 8)
SOCIAL = json.loads((EXAMPLES / "social.json").read_text(encoding="utf-8"))
Record = dict[str, Any]


def report() -> str:
    """Measure the evaluation of requests for restaurants, and return the tables."""
    requests = requests_of(REQUESTS)
    places = {times: restaurants_of(RESTAURANTS, times * REVIEWS) for times in TIMES}
    loaded = load_requests(requests)
    validate = {times: partial(_validated, loaded, found) for times, found in places.items()}
    seconds = shortest(validate, rounds=3, sample=0.0)
    with tempfile.TemporaryDirectory() as folder:
        names = [_written(folder, "requests", requests), _written(folder, "restaurants", places[1])]
        calls: dict[str, Call] = {
            "in one process, from the files": partial(_from_files, *names),
            "requests loaded, restaurants in memory": validate[1],
            "the generated module": partial(_by_module, _module(loaded), places[1]),
        }
        whole = shortest(calls, rounds=5, sample=0.0)
        command = min(_command(*names) for _ in range(5))
    lines = [Line("formulaseed validate, the command", (_ms(command),), "2,000")]
    lines += [Line(name, (_ms(found),)) for name, found in whole.items()]
    each = [seconds[times] / times / seconds[1] for times in TIMES]
    grown = [
        Line("ms", tuple(_ms(seconds[times]) for times in TIMES)),
        Line("a review, the first is 1.00", tuple(f"{ratio:.2f}" for ratio in each), "no more than 1"),
    ]
    asked = {found.evidence for request in loaded.program.requests for found in conditions(request.structure)}
    note = f"{len(asked)} different conditions; patterns are matched in the texts"
    return "\n".join(
        [
            table(f"{REQUESTS} requests, {RESTAURANTS} restaurants, {REVIEWS} reviews", ["ms"], lines, [note]),
            table(
                "Requests loaded, restaurants in memory, with more reviews",
                [f"{times * REVIEWS:,} reviews" for times in TIMES],
                grown,
            ),
        ]
    )


# --- data


def requests_of(count: int, seed: int = 1) -> list[Record]:
    """R01 and so on, each a request of the examples of its group with other conditions of the same kinds in it."""
    chance = random.Random(f"requests/{seed}")
    known = _lines("requests.jsonl")
    pool: dict[str, list[Record]] = {}
    for request in known:
        for condition in _conditions(request["structure"]):
            pool.setdefault(condition["evidence"]["kind"], []).append(condition)
    words = sorted({word for text in _texts() for word in text.lower().split() if word.isalpha() and len(word) > 4})
    made = []
    for number in range(1, count + 1):
        group = f"G{(number - 1) // 10 + 1:02}"
        request = _copied(chance.choice([request for request in known if request["group"] == group]))
        for condition in _conditions(request["structure"]):
            if "social_filter" not in condition["evidence"]:
                condition.update(_copied(chance.choice(_alone(pool[condition["evidence"]["kind"]]))))
                if condition["evidence"]["kind"] == "review_text":
                    condition["evidence"]["pattern"] = rf"\b{chance.choice(words)}|{chance.choice(words)}\b"
        made.append({**request, "id": f"R{number:02}", "gold_restaurant": f"place-{chance.randrange(RESTAURANTS)}"})
    return made


def restaurants_of(count: int, reviews: int, seed: int = 1) -> list[Record]:
    """Restaurants of the examples with attributes and opening hours of others, and so many of all their reviews."""
    chance = random.Random(f"restaurants/{seed}")
    known = _lines("contexts.jsonl")
    pool = [review for line in known for review in line["reviews"]]
    made = []
    for index in range(count):
        business, other = (line["business"] for line in chance.sample(known, 2))
        taken = dict(chance.sample(sorted(other["attributes"].items()), len(other["attributes"]) // 2))
        place = {**business, "attributes": {**business["attributes"], **taken}, "hours": other["hours"]}
        number = reviews // count + (index < reviews % count)
        own = [{**review, "review_id": f"{index}-{n}"} for n, review in enumerate(chance.choices(pool, k=number))]
        made.append(
            {"business_id": f"place-{index}", "business": {**place, "business_id": f"place-{index}"}, "reviews": own}
        )
    return [_copied(line) for line in made]


def _lines(name: str) -> list[Record]:
    return [json.loads(line) for line in (EXAMPLES / name).read_text(encoding="utf-8").splitlines()]


def _texts() -> list[str]:
    return [review["text"] for line in _lines("contexts.jsonl") for review in line["reviews"]]


def _conditions(node: Record) -> list[Record]:
    return [found for arg in node["args"] for found in _conditions(arg)] if "op" in node else [node]


def _alone(conditions: list[Record]) -> list[Record]:
    """Those without a social filter."""
    return [condition for condition in conditions if "social_filter" not in condition["evidence"]]


def _copied(record: Record) -> Record:
    """The record through JSON text, so that its texts are no constants of this process."""
    copy: Record = json.loads(json.dumps(record))
    return copy


# --- what is measured


def _validated(requests: RequestsFile, places: list[Record]) -> object:
    return validate_requests(requests, restaurants=places, social=SOCIAL)


def _from_files(requests: str, restaurants: str) -> object:
    return validate_requests(requests, restaurants=restaurants, social=SOCIAL)


def _module(requests: RequestsFile) -> Any:
    return module_from_source(pipeline.compile(load_requests(requests), formatted=False), "matrix")


def _by_module(module: Any, places: list[Record]) -> object:
    known = module.parse_background(None, SOCIAL)
    return {place["business_id"]: module.evaluate(module.parse_restaurant(place), known) for place in places}


def _command(requests: str, restaurants: str) -> float:
    """CPU seconds of one run of the command, start-up and report included."""
    before = children_cpu()
    command = [sys.executable, "-m", "formulaseed", "validate", requests, "--restaurants", restaurants]
    done = subprocess.run(
        [*command, "--social", EXAMPLES / "social.json"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    assert done.returncode == 1, done.stderr  # requests made at random are not all well made
    return children_cpu() - before


def _written(folder: str, name: str, records: list[Record]) -> str:
    path = Path(folder) / f"{name}.jsonl"
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records), encoding="utf-8")
    return str(path)


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:,.0f}"
