"""What the tests of drafting share: the hand-written answers, changed drafts, and the command against a stand-in."""

from __future__ import annotations

import copy
import io
import json
import os
import sys
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any
from unittest.mock import patch

from formulaseed.cli.main import main
from formulaseed.draft.task import read_task
from helpers import EXAMPLES, TASKS, Outcome
from loopback import Loopback
from loopback_script import Reply

TASK = TASKS / "g1a_v2" / "task.md"
G1A = read_task(TASK.read_bytes())
RECORDED = EXAMPLES / "draft-g1a_v2"
KEY = "sk-ant-never-to-be-seen"
NAMES = ("01-conditions", "02-graph", "03-seed", "04-repair")


def recorded(name: str) -> dict[str, Any]:
    """The answer of the hand-written transcript to a step."""
    answer: dict[str, Any] = json.loads((RECORDED / f"{name}.json").read_text(encoding="utf-8"))["answer"]
    return answer


CONDITIONS, GRAPH, BAD_SEED, REPAIR = map(recorded, NAMES)
FIXED = {change["step"]["name"]: change["step"] for change in REPAIR["steps"]}


def good_seed() -> dict[str, Any]:
    """Step 3's answer as it should have been: with the repair made."""
    seed = copy.deepcopy(BAD_SEED)
    steps = [FIXED.get(step["name"], step) for step in seed["steps"] if step["name"] != "RECENT_RATIO"]
    at = next(n for n, step in enumerate(steps) if step["name"] == "TRAJECTORY_MULTIPLIER")
    seed["steps"] = copy.deepcopy([*steps[:at], FIXED["RECENT_RATIO"], *steps[at:]])
    return seed


def on_the_wire(seed: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """A seed as steps 1 and 3 would answer it."""
    none: list[int] = []
    extract, handling = seed["extract"], seed.get("review_handling", {})

    def declared(of: str, fields: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [
            {
                "of": of,
                "nullable": False,
                "description": "",
                "path": [],
                **field,
                "values": values_of(field),
                "sources": none,
            }
            for field in fields
        ]

    def values_of(field: dict[str, Any]) -> list[dict[str, str]]:
        values = field.get("values", {})
        pairs = values.items() if isinstance(values, dict) else ((value, "") for value in values)
        return [{"value": value, "meaning": meaning} for value, meaning in pairs]

    def bounds(body: dict[str, Any]) -> dict[str, list[float]]:
        return {key: [body[key]] if key in body else [] for key in ("minimum", "maximum")}

    def where(step: dict[str, Any]) -> list[dict[str, Any]]:
        pairs = [
            (f"{key}.{name}", tested)
            for key in ("extraction", "meta", "context")
            for name, tested in step.get(key, {}).items()
        ]
        conditions = []
        for subject, tested in [*pairs, *step.get("where", {}).items()]:
            for test, value in tested.items() if isinstance(tested, dict) else [("is", tested)]:
                conditions.append({"subject": subject, "test": test, "values": value if test == "in" else [value]})
        return conditions

    def step_of_seed(step: dict[str, Any]) -> dict[str, Any]:
        kept = {key: value for key, value in step.items() if key in ("name", "op", "source", "match", "value")}
        made = {**kept, "sources": none}
        if step["op"] in ("define_filter", "count", "sum", "max", "min"):
            made["where"] = where(step)
        if step["op"] in ("max", "min", "lookup"):
            made["default"] = [step["default"]] if "default" in step else []
        if step["op"] in ("sum", "max", "min", "expr"):
            made["expr"] = step.get("expr") or step["field"]
        if step["op"] == "define_filter":
            made["expr"] = step.get("expr", "")
        if step["op"] == "lookup":
            made["table"] = [{"key": key, "value": value} for key, value in step["table"].items()]
        if step["op"] == "case":
            made |= {"source": step.get("source", ""), "rules": step["rules"][:-1], "else": step["rules"][-1]["else"]}
        return made

    conditions = {
        **CONDITIONS,
        "description": seed.get("description", ""),
        "keywords": {"words": seed.get("filter", {}).get("keywords", []), "sources": none},
        "reading": {"validity": extract.get("validity", False), "passes": extract.get("passes", 1), "sources": none,
                    "max_length": [handling["max_length"]] if handling else [], "strategy": handling.get("strategy", "reject")},
        "fields": [
            {"name": field["name"], "type": field["type"], "description": field.get("description", ""), "sources": none,
             "values": values_of(field), **bounds(field), "default": [field["default"]] if "default" in field else []}
            for field in extract["fields"]
        ],
        "inputs": [*declared("context", seed.get("context", [])), *declared("meta", extract.get("meta", []))],
        "parameters": [
            {"name": name, "type": body["type"], "default": body["default"], "sources": none,
             "description": body.get("description", ""), **bounds(body)}
            for name, body in seed.get("parameters", {}).items()
        ],
    }  # fmt: skip
    return conditions, {
        **good_seed(),
        "steps": [step_of_seed(step) for step in seed["compute"]],
        "output": seed["output"],
    }


def step_of(seed: dict[str, Any], name: str) -> dict[str, Any]:
    found: dict[str, Any] = next(step for step in seed["steps"] if step["name"] == name)
    return found


def changed_seed(name: str, **values: Any) -> dict[str, Any]:
    """A good answer to step 3 with one step changed."""
    seed = good_seed()
    step_of(seed, name).update(values)
    return seed


def repair(*steps: dict[str, Any], before: str = "") -> dict[str, Any]:
    """An answer that puts these steps in place of those with the same names."""
    empty: dict[str, Any] = {key: [] for key in REPAIR}
    return {**empty, "changes": ["fixed"], "steps": [{"before": before, "step": step} for step in steps]}


def reply(answer: object) -> Reply:
    return Reply(text=json.dumps(answer, ensure_ascii=False))


def replies(*answers: object) -> list[Reply | str]:
    """Scripted answers: objects as text, replies and names of faults as they are."""
    return [one if isinstance(one, Reply | str) else reply(one) for one in answers]


def draft(server: Loopback | None, *arguments: object, task: Path = TASK) -> Outcome:
    """The command with a task text, in this process, since importing the SDK takes a second; without a server it finds none."""
    url = server.url if server is not None else "http://127.0.0.1:9"
    argv = ["formulaseed", "draft", *map(str, (task, *arguments))]
    out, err = io.StringIO(), io.StringIO()
    with (
        patch.dict(os.environ, ANTHROPIC_BASE_URL=url, ANTHROPIC_API_KEY=KEY),
        patch.object(sys, "argv", argv),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        try:
            main()
            status = 0
        except SystemExit as ended:
            status = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    return Outcome(status, out.getvalue(), err.getvalue())


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def steps_of(text: str) -> Sequence[dict[str, Any]]:
    """The steps of a seed's text."""
    found: list[dict[str, Any]] = json.loads(text)["compute"]
    return found
