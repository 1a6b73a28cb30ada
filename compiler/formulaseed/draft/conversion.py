"""Converts a draft on the wire to a Formula Seed.

In: answers that match their schemas. Out: the seed as plain JSON. The compiler reports its errors; only what the JSON of
a seed cannot express is reported here, as faults.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from formulaseed import limits
from formulaseed.draft.task import Task
from formulaseed.seed.operations import OPERATIONS, Key
from formulaseed.seed.write.canonical import canonical, layout
from formulaseed.source.text import one_line

Json = Any
Part = dict[str, Json]

_DOTTED = re.compile(r"[A-Za-z_]\w*\.[A-Za-z_]\w*")


@dataclass(frozen=True, slots=True)
class ConversionFault:
    """Something in a part of a draft that the JSON of a seed cannot express."""

    part: str
    message: str
    help: str

    def to_json(self) -> dict[str, str]:
        return {"severity": "error", "message": self.message, "help": self.help, "part": self.part}


@dataclass(frozen=True, slots=True)
class Draft:
    """A seed in parts, as the model writes them: the answers of steps 1 and 3, with the repairs."""

    task_name: str
    description: str
    keywords: tuple[str, ...]
    keyword_sources: tuple[int, ...]
    reading: Part
    fields: tuple[Part, ...]
    inputs: tuple[Part, ...]
    parameters: tuple[Part, ...]
    steps: tuple[Part, ...]
    output: tuple[str, ...]
    output_sources: tuple[int, ...]

    @property
    def parts(self) -> tuple[tuple[str, Part], ...]:
        """Each named part with its kind, in the order of the seed."""
        kinds = (("parameter", self.parameters), ("input", self.inputs), ("field", self.fields), ("step", self.steps))
        return tuple((kind, part) for kind, parts in kinds for part in parts)


def drafted(conditions: Json, seed: Json) -> Draft:
    """Return the draft that the answers of steps 1 and 3 make."""
    return Draft(
        conditions["task_name"],
        conditions["description"],
        tuple(conditions["keywords"]["words"]),
        tuple(conditions["keywords"]["sources"]),
        conditions["reading"],
        tuple(conditions["fields"]),
        tuple(conditions["inputs"]),
        tuple(conditions["parameters"]),
        tuple(seed["steps"]),
        tuple(seed["output"]),
        tuple(conditions["outputs"]["sources"]),
    )


def repaired(draft: Draft, repair: Json) -> Draft:
    """Return the draft with the parts of a repair in place of those of the same names, or added."""
    removed = set(repair["removed"])
    return replace(
        draft,
        keywords=tuple(repair["keywords"]) or draft.keywords,
        reading=repair["reading"][0] if repair["reading"] else draft.reading,
        fields=_merged(draft.fields, repair["fields"], removed),
        inputs=_merged(draft.inputs, repair["inputs"], removed),
        parameters=_merged(draft.parameters, repair["parameters"], removed),
        steps=_placed(draft.steps, repair["steps"], removed),
        output=tuple(repair["output"]) or draft.output,
    )


def _merged(parts: Iterable[Part], new: list[Part], removed: set[str]) -> tuple[Part, ...]:
    replacing = {part["name"]: part for part in new}
    merged: dict[str, Part] = {part["name"]: replacing.get(part["name"], part) for part in parts} | replacing
    return tuple(part for name, part in merged.items() if name not in removed or name in replacing)


def _placed(steps: tuple[Part, ...], new: list[Json], removed: set[str]) -> tuple[Part, ...]:
    placed = list(_merged(steps, [change["step"] for change in new], removed))
    for change in new:
        before = next((step for step in placed if step["name"] == change["before"]), None)
        moved = next((step for step in placed if step["name"] == change["step"]["name"]), None)
        if before is not None and moved is not None and before is not moved:
            placed.remove(moved)
            placed.insert(placed.index(before), moved)
    return tuple(placed)


def seed_text(draft: Draft, task: Task) -> tuple[str, tuple[ConversionFault, ...]]:
    """Return the seed in its canonical layout, and what it cannot express."""
    conversion = _Conversion(task)
    return layout(canonical(conversion.seed(draft))), tuple(conversion.faults)


class _Conversion:
    def __init__(self, task: Task) -> None:
        self.task = task
        self.faults: list[ConversionFault] = []

    def seed(self, draft: Draft) -> Part:
        reading = draft.reading
        context = [self.declared(part) for part in draft.inputs if part["of"] == "context"]
        meta = [self.declared(part) for part in draft.inputs if part["of"] == "meta"]
        parameters = self.unique("parameters", ((part["name"], self.parameter(part)) for part in draft.parameters))
        extract = {
            "fields": [self.field(part) for part in draft.fields],
            **_present({"meta": meta}),
            **({"passes": reading["passes"]} if reading["passes"] > 1 else {}),
            **({"validity": True} if reading["validity"] else {}),
        }
        handling = [{"max_length": length, "strategy": reading["strategy"]} for length in reading["max_length"][:1]]
        return {
            "task_name": draft.task_name,
            **_present({"description": one_line(draft.description), "parameters": parameters, "context": context}),
            **({"filter": {"keywords": list(draft.keywords)}} if draft.keywords else {}),
            "extract": extract,
            **({"review_handling": handling[0]} if handling else {}),
            "compute": [self.step(part) for part in draft.steps],
            "output": list(draft.output),
        }

    def unique(self, part: str, pairs: Iterable[tuple[str, Json]]) -> Part:
        """Return the pairs as an object; a duplicate key is a fault."""
        found: Part = {}
        for key, value in pairs:
            if key in found:
                self.faults.append(ConversionFault(part, f"duplicate `{key}`", "leave one of them out"))
            found.setdefault(key, value)
        return found

    def sources(self, part: Part) -> Part:
        """Return the sentences that a part comes from; an unknown number is skipped, and the report lists it."""
        numbers = list(dict.fromkeys(part["sources"]))[: limits.SOURCES]
        texts = (self.task.text(number) for number in numbers)
        return _present({"sources": [text for text in texts if text is not None]})

    def declared(self, part: Part) -> Part:
        about = _present({"description": one_line(part["description"]), "path": part["path"]})
        declared = {"name": part["name"], "type": part["type"], **self.values(f"input {part['name']}", part), **about}
        return {**declared, **({"nullable": True} if part["nullable"] else {})}

    def values(self, name: str, part: Part) -> Part:
        """The values of an enum."""
        values = self.unique(name, ((one["value"], one_line(one["meaning"])) for one in part["values"]))
        return {"values": values} if values or part["type"] == "enum" else {}

    def parameter(self, part: Part) -> Part:
        about = _present({"description": one_line(part["description"])})
        return {"type": part["type"], "default": part["default"], **_bounds(part), **about}

    def field(self, part: Part) -> Part:
        about = _present({"description": one_line(part["description"])})
        kept = {**self.values(f"field {part['name']}", part), **_bounds(part)}
        default = {"default": part["default"][0]} if part["default"] else {}
        return {"name": part["name"], "type": part["type"], **about, **kept, **default, **self.sources(part)}

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
        """A key of a step with its value."""
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
                self.faults.append(ConversionFault(part, message, "give one value, or use `in`"))
            elif test in tests or (tests and "is" in (test, *tests)):
                message = f"`{subject}` is tested with `{test}` beside another test that excludes it"
                help = "use `in`, or define a filter for one of the two"
                self.faults.append(ConversionFault(part, message, help))
            else:
                tests[test] = list(values) if test == "in" else values[0]
        return {subject: tests.get("is", tests) for subject, tests in where.items() if tests}


def _bounds(part: Part) -> Part:
    return {key: part[key][0] for key in ("minimum", "maximum") if part[key]}


def _present(section: Part) -> Part:
    """The section without what is empty."""
    return {key: value for key, value in section.items() if value not in ("", [], {})}
