"""Converts a draft on the wire to a Formula Seed.

In: answers that match their schemas. Out: the seed as plain JSON. A draft is the answers of steps 1 and 3 as one object, with
the repairs. The compiler reports its errors; only what the JSON of a seed cannot express is reported here, as faults.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from formulaseed import limits
from formulaseed.draft.task import Task
from formulaseed.seed.operations import OPERATIONS, Key
from formulaseed.seed.write.canonical import canonical, layout
from formulaseed.source.text import one_line

Json = Any
Part = dict[str, Json]

_DOTTED = re.compile(r"[A-Za-z_]\w*\.[A-Za-z_]\w*")


def parts_of(draft: Part) -> list[tuple[str, Part]]:
    """Return each named part with its kind, in the order of the seed."""
    return [(key.removesuffix("s"), part) for key in ("parameters", "inputs", "fields", "steps") for part in draft[key]]


def drafted(conditions: Json, seed: Json) -> Part:
    """Return the draft that the answers of steps 1 and 3 make."""
    return {**conditions, "steps": seed["steps"], "output": seed["output"]}


def repaired(draft: Part, repair: Json) -> Part:
    """Return the draft with the parts of a repair in place of those of the same names, or added."""
    removed = {each["name"] for each in repair["removed"]}
    return {
        **draft,
        **{key: _merged(draft[key], repair[key], removed) for key in ("fields", "inputs", "parameters")},
        "keywords": {**draft["keywords"], "words": repair["keywords"] or draft["keywords"]["words"]},
        "reading": repair["reading"][0] if repair["reading"] else draft["reading"],
        "steps": _placed(draft["steps"], repair["steps"], removed),
        "output": repair["output"] or draft["output"],
    }


def _merged(parts: Iterable[Part], new: list[Part], removed: set[str]) -> list[Part]:
    replacing = {part["name"]: part for part in new}
    merged: dict[str, Part] = {part["name"]: replacing.get(part["name"], part) for part in parts} | replacing
    return [part for name, part in merged.items() if name not in removed or name in replacing]


def _placed(steps: list[Part], new: list[Json], removed: set[str]) -> list[Part]:
    placed = _merged(steps, [change["step"] for change in new], removed)
    for change in new:
        before = next((step for step in placed if step["name"] == change["before"]), None)
        moved = next((step for step in placed if step["name"] == change["step"]["name"]), None)
        if before is not None and moved is not None and before is not moved:
            placed.remove(moved)
            placed.insert(placed.index(before), moved)
    return placed


def seed_text(draft: Part, task: Task) -> tuple[str, list[Part]]:
    """Return the seed in its canonical layout, and what it cannot express."""
    conversion = _Conversion(task)
    return layout(canonical(conversion.seed(draft))), conversion.faults


class _Conversion:
    """Converts one draft; `faults` grows, each with the part that it is in, as the model gets it."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.faults: list[Part] = []

    def fault(self, part: str, message: str, help: str) -> None:
        self.faults.append({"severity": "error", "message": message, "help": help, "part": part})

    def seed(self, draft: Part) -> Part:
        reading, keywords = draft["reading"], draft["keywords"]["words"]
        inputs = {"context": list[Part](), "meta": list[Part]()}
        for part in draft["inputs"]:
            inputs[part["of"]].append(self.declared("input", part))
        handling = [{"max_length": length, "strategy": reading["strategy"]} for length in reading["max_length"][:1]]
        parameters = ((part["name"], self.declared("parameter", part)) for part in draft["parameters"])
        optional = {
            "description": one_line(draft["description"]),
            "parameters": self.unique("parameters", parameters),
            "context": inputs["context"],
            "filter": keywords and {"keywords": keywords},
            "review_handling": handling[0] if handling else {},
        }
        passes = reading["passes"] if reading["passes"] > 1 else None
        extract = {"meta": inputs["meta"], "validity": reading["validity"], "passes": passes}
        return {
            **_present(optional),
            "task_name": self.task.name,
            "extract": {"fields": [self.declared("field", part) for part in draft["fields"]], **_present(extract)},
            "compute": [self.step(part) for part in draft["steps"]],
            "output": draft["output"],
        }

    def unique(self, part: str, pairs: Iterable[tuple[str, Json]]) -> Part:
        """Return the pairs as an object; a duplicate key is a fault."""
        found: Part = {}
        for key, value in pairs:
            if key in found:
                self.fault(part, f"duplicate `{key}`", "leave one of them out")
            found.setdefault(key, value)
        return found

    def sources(self, part: Part) -> Part:
        """Return the sentences that a part comes from; an unknown number is skipped, and the report lists it."""
        numbers = list(dict.fromkeys(part["sources"]))[: limits.SOURCES]
        texts = (self.task.text(number) for number in numbers)
        return _present({"sources": [text for text in texts if text is not None]})

    def declared(self, kind: str, part: Part) -> Part:
        """A field, an input or a parameter; a parameter's name is its key."""
        found = {"type": part["type"], **_present({key: part.get(key) for key in ("path", "nullable")})}
        found |= _present({"description": one_line(part["description"])})
        found |= {key: part[key][0] for key in ("minimum", "maximum") if part.get(key)}
        if kind == "parameter":
            return {**found, "default": part["default"]}
        values = ((one["value"], one_line(one["meaning"])) for one in part["values"])
        named = self.unique(f"{kind} {part['name']}", values)
        found |= {"values": named} if named or part["type"] == "enum" else {}
        if kind == "field":
            found |= {**({"default": part["default"][0]} if part["default"] else {}), **self.sources(part)}
        return {"name": part["name"], **found}

    def step(self, part: Part) -> Part:
        operation = OPERATIONS[part["op"]]
        step: Part = {"name": part["name"], "op": part["op"]}
        for key in operation.keys:
            if key.name == "field" and _DOTTED.fullmatch(part["expr"]):
                step["field"] = part["expr"]
            elif key.name in part and not (key.name == "expr" and "field" in step):
                needed = key.required or (key.name == "where" and bool(operation.any_of) and not part["expr"])
                step |= self.value(f"step {part['name']}", key, part) if part[key.name] or needed else {}
        return {**step, **self.sources(part)}

    def value(self, step: str, key: Key, part: Part) -> Part:
        value = part[key.name]
        match key.kind:
            case "conditions":
                return {key.name: self.where(step, value)}
            case "literal" | "number" if not key.required:
                return {key.name: value[0]}
            case "table":
                return {key.name: self.unique(step, ((entry["key"], entry["value"]) for entry in value))}
            case "rules":
                rules = [{"when": rule["when"], "then": rule["then"]} for rule in value]
                return {key.name: [*rules, {"else": part["else"]}]}
            case _:
                return {key.name: value}

    def where(self, part: str, conditions: list[Part]) -> Part:
        where: dict[str, Part] = {}
        for condition in conditions:
            subject, test, values = condition["subject"], condition["test"], condition["values"]
            tests = where.setdefault(subject, {})
            if not values or (len(values) > 1 and test != "in"):
                message = f"`{test}` of `{subject}` takes one value, and there are {len(values)}"
                self.fault(part, message, "give one value, or use `in`")
            elif test in tests or (tests and "is" in (test, *tests)):
                message = f"`{subject}` is tested with `{test}` beside another test that excludes it"
                self.fault(part, message, "use `in`, or define a filter for one of the two")
            else:
                tests[test] = list(values) if test == "in" else values[0]
        return {subject: tests.get("is", tests) for subject, tests in where.items() if tests}


def _present(section: Part) -> Part:
    return {key: value for key, value in section.items() if value}
