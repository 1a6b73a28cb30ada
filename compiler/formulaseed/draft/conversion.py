"""Converts a draft, which consists of a model's answers, to a Formula Seed.

In: answers that match their schemas. Out: the seed as plain JSON. A draft is the answers of steps 1 and 3 as one object, with
the repairs applied. The compiler reports the errors of a draft. Only what the JSON of a seed cannot express is reported here,
as faults.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from formulaseed import limits
from formulaseed.seed.operations import OPERATIONS, Key
from formulaseed.seed.task_text import Task
from formulaseed.seed.write.canonical import canonicalize, format_json
from formulaseed.source.text import one_line

Json = Any
Part = dict[str, Json]

_DOTTED = re.compile(r"[A-Za-z_]\w*\.[A-Za-z_]\w*")


def list_parts(draft: Part) -> list[tuple[str, Part]]:
    """Return the parameters, inputs, fields and steps of a draft, each after its kind, in the order of the seed."""
    return [(key.removesuffix("s"), part) for key in ("parameters", "inputs", "fields", "steps") for part in draft[key]]


def assemble_draft(conditions: Json, seed: Json) -> Part:
    """Return the draft that consists of the answers of steps 1 and 3."""
    return {**conditions, "steps": seed["steps"], "output": seed["output"]}


def apply_repair(draft: Part, repair: Json) -> Part:
    """Return a copy of `draft` with the model's repair applied: named parts removed, replaced or appended.

    An empty `keywords`, `reading` or `output` of the repair keeps that of the draft.
    """
    removed = {loss["name"] for loss in repair["removed"]}
    return {
        **draft,
        **{key: _merge_parts(draft[key], repair[key], removed) for key in ("fields", "inputs", "parameters")},
        "keywords": {**draft["keywords"], "words": repair["keywords"] or draft["keywords"]["words"]},
        "reading": repair["reading"][0] if repair["reading"] else draft["reading"],
        "steps": _merge_steps(draft["steps"], repair["steps"], removed),
        "output": repair["output"] or draft["output"],
    }


def _merge_parts(parts: Iterable[Part], new_parts: list[Part], removed: set[str]) -> list[Part]:
    """Return the parts with the new ones in the places of those with the same name, or appended; `removed` ones are left out.

    A part that is both removed and new is new.
    """
    new_by_name = {part["name"]: part for part in new_parts}
    merged: dict[str, Part] = {part["name"]: new_by_name.get(part["name"], part) for part in parts} | new_by_name
    return [part for name, part in merged.items() if name not in removed or name in new_by_name]


def _merge_steps(steps: list[Part], changes: list[Json], removed: set[str]) -> list[Part]:
    """Return the steps as `_merge_parts` does, and with each changed step in front of the one that its `before` names."""
    merged = _merge_parts(steps, [change["step"] for change in changes], removed)
    for change in changes:
        successor = next((step for step in merged if step["name"] == change["before"]), None)
        step = next((step for step in merged if step["name"] == change["step"]["name"]), None)
        if successor is not None and step is not None and successor is not step:
            merged.remove(step)
            merged.insert(merged.index(successor), step)
    return merged


def convert_draft(draft: Part, task: Task) -> tuple[str, list[Part]]:
    """Return the text of the seed in its canonical layout, and the faults: what the draft says and a seed cannot express."""
    conversion = _Conversion(task)
    return format_json(canonicalize(conversion.seed(draft))), conversion.faults


class _Conversion:
    """The conversion of one draft. Its methods append to `faults`: JSON objects that name their part, as a model reads them."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.faults: list[Part] = []

    def report(self, part: str, message: str, help: str) -> None:
        """Append a fault of the part with this kind and name."""
        self.faults.append({"severity": "error", "message": message, "help": help, "part": part})

    def seed(self, draft: Part) -> Part:
        """Return the draft as the JSON object of a seed, without empty optional keys.

        Reports to `faults` what a seed cannot express. Only the first `max_length` is taken.
        """
        reading, keywords = draft["reading"], draft["keywords"]["words"]
        inputs = {"context": list[Part](), "meta": list[Part]()}
        for part in draft["inputs"]:
            inputs[part["of"]].append(self.declaration("input", part))
        parameters = ((part["name"], self.declaration("parameter", part)) for part in draft["parameters"])
        optional: Part = {
            "description": one_line(draft["description"]),
            "parameters": self.unique("parameters", parameters),
            "context": inputs["context"],
            "filter": keywords and {"keywords": keywords, **self.sources(draft["keywords"])},
        }
        for length in reading["max_length"][:1]:
            optional["review_handling"] = {"max_length": length, "strategy": reading["strategy"]}
        passes = reading["passes"] if reading["passes"] > 1 else None
        extract = {"meta": inputs["meta"], "validity": reading["validity"], "passes": passes}
        return {
            **_drop_empty(optional),
            "task_name": self.task.name,
            "extract": {
                "fields": [self.declaration("field", part) for part in draft["fields"]],
                **_drop_empty(extract),
            },
            "compute": [self.step(part) for part in draft["steps"]],
            "output": draft["output"],
            **self.sources({"sources": [*draft["outputs"]["sources"], *reading["sources"]]}),
        }

    def unique(self, part: str, pairs: Iterable[tuple[str, Json]]) -> Part:
        """Return the pairs as an object. Reports a duplicate key, whose first value is taken."""
        values: Part = {}
        for key, value in pairs:
            if key in values:
                self.report(part, f"duplicate `{key}`", "leave one of them out")
            values.setdefault(key, value)
        return values

    def sources(self, part: Part) -> Part:
        """Return the key `sources` with the sentences that a part cites; unknown numbers, which the report lists, are skipped."""
        numbers = list(dict.fromkeys(part["sources"]))[: limits.SOURCES]
        texts = (self.task.text(number) for number in numbers)
        return _drop_empty({"sources": [text for text in texts if text is not None]})

    def declaration(self, kind: str, part: Part) -> Part:
        """Return the JSON of a field, an input or a parameter; a parameter has no name, since it is the value of a key."""
        declaration = {**_read_words(part, "label", "unit"), "type": part["type"]}
        declaration |= _drop_empty({key: part.get(key) for key in ("path", "nullable")})
        declaration |= _drop_empty({"description": one_line(part["description"])})
        declaration |= {key: part[key][0] for key in ("minimum", "maximum") if part.get(key)} | self.sources(part)
        if kind == "parameter":
            return {**declaration, "default": part["default"]}
        pairs = ((value["value"], one_line(value["meaning"])) for value in part["values"])
        meanings = self.unique(f"{kind} {part['name']}", pairs)
        if meanings or part["type"] == "enum":
            declaration["values"] = meanings
        if kind == "field":
            declaration |= {"default": part["default"][0]} if part["default"] else {}
        return {"name": part["name"], **declaration}

    def step(self, part: Part) -> Part:
        """Return the JSON of a step, without the keys that are empty and not required."""
        operation = OPERATIONS[part["op"]]
        step: Part = {"name": part["name"], **_read_words(part, "label", "unit"), "op": part["op"]}
        for key in operation.keys:
            # an answer writes a field as a formula; `field` is preferred if the operation has both keys
            if key.name == "field" and _DOTTED.fullmatch(part["expr"]):
                step["field"] = part["expr"]
            elif key.name in part and not (key.name == "expr" and "field" in step):
                is_needed = key.required or (key.name == "where" and bool(operation.any_of) and not part["expr"])
                if part[key.name] or is_needed:
                    step |= self.value(f"step {part['name']}", key, part)
        if part.get("adverse", "none") != "none":
            step["adverse"] = part["adverse"]
        return {**step, **self.sources(part)}

    def value(self, step: str, key: Key, part: Part) -> Part:
        """Return a key of a step with its value as a seed writes it.

        Reports what the seed cannot express as faults of `step`, the title of the step. `part` is the step in the
        draft.
        """
        value = part[key.name]
        match key.kind:
            case "conditions":
                return {key.name: self.where(step, value)}
            case "literal" | "number" if not key.required:
                return {key.name: value[0]}
            case "table":
                return {key.name: self.unique(step, ((entry["key"], entry["value"]) for entry in value))}
            case "rules":
                rules = [{"when": rule["when"], "then": rule["then"], **_read_words(rule, "because")} for rule in value]
                return {key.name: [*rules, {"else": part["else"], **_read_words(part, "because")}]}
            case _:
                return {key.name: value}

    def where(self, part: str, conditions: list[Part]) -> Part:
        """Return conditions as a `where` of a seed, which has one object of tests for each subject.

        Reports a test with no value or too many, and one that another test of the subject excludes, as faults of
        `part`, and leaves it out. A test `is` becomes its value alone.
        """
        where: dict[str, Part] = {}
        for condition in conditions:
            subject, test, values = (condition[key] for key in ("subject", "test", "values"))
            tests = where.setdefault(subject, {})
            if not values or (len(values) > 1 and test != "in"):
                message = f"`{test}` of `{subject}` takes one value, and there are {len(values)}"
                self.report(part, message, "give one value, or use `in`")
            elif test in tests or (tests and "is" in (test, *tests)):
                message = f"`{subject}` is tested with `{test}` beside another test that excludes it"
                self.report(part, message, "use `in`, or define a filter for one of the two")
            else:
                tests[test] = list(values) if test == "in" else values[0]
        return {subject: tests.get("is", tests) for subject, tests in where.items() if tests}


def _read_words(part: Part, *keys: str) -> Part:
    """Return the words for people under `keys` as entries of a seed, each on one line; those that are empty are left out."""
    return _drop_empty({key: one_line(part.get(key, "")) for key in keys})


def _drop_empty(section: Part) -> Part:
    """Return a copy of an object without the keys whose values are empty, false or null."""
    return {key: value for key, value in section.items() if value}
