"""Helps tests of drafting: hand-written answers, changed drafts, and the command with a stand-in for the API."""

from __future__ import annotations

import copy
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from formulaseed.seed.task_text import read_task
from helpers import EXAMPLES, TASKS, Outcome, command
from loopback import Loopback
from loopback_script import Reply

TASK = TASKS / "g1a_v2" / "task.md"
G1A = read_task(TASK.read_bytes())
RECORDED = EXAMPLES / "draft-g1a_v2"
KEY = "sk-ant-never-to-be-seen"
NAMES = ("01-conditions", "02-graph", "03-seed", "04-repair")


def _recorded_answer(name: str) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads((RECORDED / f"{name}.json").read_text(encoding="utf-8"))["answer"]
    return answer


CONDITIONS, GRAPH, BAD_SEED, REPAIR = map(_recorded_answer, NAMES)
FIXED = {change["step"]["name"]: change["step"] for change in REPAIR["steps"]}


def good_seed() -> dict[str, Any]:
    """Return the answer of step 3 with the repair applied."""
    seed = copy.deepcopy(BAD_SEED)
    steps = [FIXED.get(step["name"], step) for step in seed["steps"] if step["name"] != "RECENT_RATIO"]
    position = next(n for n, step in enumerate(steps) if step["name"] == "TRAJECTORY_MULTIPLIER")
    seed["steps"] = copy.deepcopy([*steps[:position], FIXED["RECENT_RATIO"], *steps[position:]])
    return seed


GOOD = (CONDITIONS, GRAPH, good_seed())
"""Answers of which a seed without errors becomes."""


def answers_of(seed: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the answers of steps 1 and 3 that become this seed."""
    none: list[int] = []
    extract = seed["extract"]
    handling = seed.get("review_handling", {})

    def inputs(space: str, fields: list[dict[str, Any]]) -> list[dict[str, Any]]:
        defaults = {"of": space, "nullable": False, "description": "", "path": []}
        return [{**defaults, **field, "values": values_of(field), "sources": none} for field in fields]

    def values_of(field: dict[str, Any]) -> list[dict[str, str]]:
        values = field.get("values", {})
        pairs = values.items() if isinstance(values, dict) else ((value, "") for value in values)
        return [{"value": value, "meaning": meaning} for value, meaning in pairs]

    def bounds(body: dict[str, Any]) -> dict[str, list[float]]:
        return {key: [body[key]] if key in body else [] for key in ("minimum", "maximum")}

    def where(step: dict[str, Any]) -> list[dict[str, Any]]:
        spaces = ("extraction", "meta", "context")
        pairs = [(f"{space}.{name}", tests) for space in spaces for name, tests in step.get(space, {}).items()]
        conditions = []
        for subject, tests in [*pairs, *step.get("where", {}).items()]:
            for test, value in tests.items() if isinstance(tests, dict) else [("is", tests)]:
                conditions.append({"subject": subject, "test": test, "values": value if test == "in" else [value]})
        return conditions

    def step_of_answer(step: dict[str, Any]) -> dict[str, Any]:
        same = {key: value for key, value in step.items() if key in ("name", "op", "source", "match", "value")}
        answer = {**same, "sources": none}
        if step["op"] in ("define_filter", "count", "sum", "max", "min"):
            answer["where"] = where(step)
        if step["op"] in ("max", "min", "lookup"):
            answer["default"] = [step["default"]] if "default" in step else []
        if step["op"] in ("sum", "max", "min", "expr"):
            answer["expr"] = step.get("expr") or step["field"]
        if step["op"] == "define_filter":
            answer["expr"] = step.get("expr", "")
        if step["op"] == "lookup":
            answer["table"] = [{"key": key, "value": value} for key, value in step["table"].items()]
        if step["op"] == "case":
            answer |= {"source": step.get("source", ""), "rules": step["rules"][:-1], "else": step["rules"][-1]["else"]}
        return answer

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
        "inputs": [*inputs("context", seed.get("context", [])), *inputs("meta", extract.get("meta", []))],
        "parameters": [
            {"name": name, "type": body["type"], "default": body["default"], "sources": none,
             "description": body.get("description", ""), **bounds(body)}
            for name, body in seed.get("parameters", {}).items()
        ],
    }  # fmt: skip
    return conditions, {**GOOD[2], "steps": [*map(step_of_answer, seed["compute"])], "output": seed["output"]}


def step_of(seed: dict[str, Any], name: str) -> dict[str, Any]:
    step: dict[str, Any] = next(step for step in seed["steps"] if step["name"] == name)
    return step


def change_seed(name: str, /, **values: Any) -> dict[str, Any]:
    """Return the good answer of step 3 with one step changed."""
    seed = good_seed()
    step_of(seed, name).update(values)
    return seed


def repair(*steps: dict[str, Any], before: str = "") -> dict[str, Any]:
    """Return a repair that replaces the steps of these names, and puts them in front of `before` if that is given."""
    empty: dict[str, Any] = {key: [] for key in REPAIR}
    return {**empty, "changes": ["fixed"], "steps": [{"before": before, "step": step} for step in steps]}


def replies(*answers: object) -> list[Reply | str]:
    """Return scripted answers: an object becomes JSON, a reply or the name of a fault is taken as it is."""
    return [
        answer if isinstance(answer, Reply | str) else Reply(text=json.dumps(answer, ensure_ascii=False))
        for answer in answers
    ]


def draft(server: Loopback | None, *arguments: object, task: Path = TASK) -> Outcome:
    """Run `formulaseed draft` in this process, since importing the SDK takes a second. No server is reached if it is None."""
    url = server.url if server is not None else ""
    return command("draft", task, *arguments, env={"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": KEY}, cwd=Path.cwd())


def read_files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


@dataclass(frozen=True)
class Drafting:
    """Runs of the command that write the same seed and transcript in one folder."""

    server: Loopback
    folder: Path

    @property
    def seed(self) -> Path:
        return self.folder / "seed.json"

    @property
    def transcript(self) -> Path:
        return self.folder / "t"

    @property
    def report(self) -> str:
        return (self.transcript / "report.md").read_text(encoding="utf-8")

    def run(self, *answers: object, options: Sequence[object] = (), task: Path = TASK) -> Outcome:
        """Draft with these scripted answers; the server forgets earlier requests."""
        self.server.reset(queue=replies(*answers))
        return draft(self.server, "--out", self.seed, "--transcript", self.transcript, *options, task=task)

    def resume(self, *answers: object, options: Sequence[object] = (), task: Path = TASK) -> Outcome:
        return self.run(*answers, options=("--resume", *options), task=task)

    def replay(self, *options: object) -> Outcome:
        """Replay the transcript without a server, and print the seed."""
        return draft(None, "--replay", self.transcript, "--out", "-", *options)

    def asked(self, number: int) -> dict[str, Any]:
        """Return the values in the prompt of a request, counted from 0."""
        values: dict[str, Any] = json.loads(self.server.messages[number].text)
        return values

    def change_task(self, old: str, new: str) -> Path:
        """Write a changed copy of the task text, and return its path."""
        path = self.folder / "task.md"
        path.write_text(TASK.read_text().replace(old, new))
        return path
