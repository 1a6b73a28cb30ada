"""Writes the canonical form of a seed: the specification's order of keys, in one layout; hashes it; sorts its steps.

Two seeds with one canonical form mean the same. The order of tables, values and conditions is kept, since it
can matter and is the author's. `fmt` writes this form; its hash is in the generated module. `$schema` is for
editors and not part of the policy: `fmt` keeps it, the hash leaves it out.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from heapq import heappop, heappush

from formulaseed.diagnostics.catalogue import seed as catalogue
from formulaseed.diagnostics.model import Problems
from formulaseed.seed import surface
from formulaseed.seed.read import sections
from formulaseed.seed.read.properties import PROPERTY_KEYS
from formulaseed.seed.read.steps import RULE_KEYS
from formulaseed.source.json_reader import Plain

WIDTH = 120
_FIELD = (
    "name", "label", "unit", "type", "nullable", "description", "values", "path", "default", "evidence", "reason", "hint",
    "minimum", "maximum", "sources", "allow",
)  # fmt: skip
_STEP = (
    "name", "label", "unit", "op", "extraction", "meta", "context", "source", "field", "expr", "value", "table", "match",
    "where", "rules", "default", "adverse", "sources", "allow",
)  # fmt: skip
_COMMON = {"/context": _FIELD, "/parameters/*": _FIELD, "/properties": PROPERTY_KEYS}
_V1 = {"": sections.V1_KEYS, **_COMMON, "/extraction_fields": _FIELD, "/compute_dag": sections.V1_STEP_KEYS}
_V2 = {
    "": sections.V2_KEYS,
    "/filter": sections.FILTER_KEYS,
    **_COMMON,
    "/extract": sections.EXTRACT_KEYS,
    "/extract/fields": _FIELD,
    "/extract/meta": _FIELD,
    "/extract/examples": sections.EXAMPLE_KEYS,
    "/compute": _STEP,
    "/compute/rules": RULE_KEYS,
}
"""The order of the keys by place, without positions in lists."""


def canonicalize(seed: Plain) -> Plain:
    """Return a copy of the seed with its keys in the order of its version; unknown keys come last, in their order.

    A value that is no object is returned unchanged.
    """
    if not isinstance(seed, dict):
        return seed
    return _order_keys(seed, "", _V1 if sections.is_v1(seed) else _V2)


def _order_keys(value: Plain, place: str, orders: Mapping[str, Sequence[str]]) -> Plain:
    """Return a copy of a value at `place` with the keys of its objects in the order that `orders` has for each place.

    Keys that are not in that order come last. Lists keep their order.
    """
    if isinstance(value, list):
        return [_order_keys(item, place, orders) for item in value]
    if not isinstance(value, dict):
        return value
    first = [key for key in orders.get(place, ()) if key in value]
    places = {key: f"{place}/{'*' if place == '/parameters' else key}" for key in (*first, *value)}
    return {key: _order_keys(value[key], inside, orders) for key, inside in places.items()}


def hash_seed(seed: Plain) -> str:
    """Return the SHA-256, in hex, of the canonical form in UTF-8, without `$schema` and without white space."""
    import hashlib

    policy = {key: value for key, value in seed.items() if key != "$schema"} if isinstance(seed, dict) else seed
    text = json.dumps(canonicalize(policy), ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


# --- layout


def format_json(value: Plain) -> str:
    """Return a value as readable JSON with a line break at the end: parts that fit on a line are on one.

    The outermost object or list, and a list of objects with names, are always broken up.
    """
    return _format_value(value, 0, 0) + "\n"


def _format_value(value: Plain, indent: int, used: int) -> str:
    """Return a value as JSON, on one line if it fits or is empty, else with one entry on each line.

    `indent` is the indentation of the line, `used` the columns in front of the value. The outermost value and lists of
    objects with names are always broken up.
    """
    flat = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, dict | list) or not value:
        return flat
    # a list of objects with names is always broken up, so that one step or field is on one line
    is_section = isinstance(value, list) and any(isinstance(item, dict) and "name" in item for item in value)
    if indent > 0 and used + len(flat) <= WIDTH and not is_section:
        return flat
    inner = " " * (indent + 2)
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    entries = [("", item) for item in value]
    if isinstance(value, dict):
        entries = [(f"{json.dumps(key, ensure_ascii=False)}: ", item) for key, item in value.items()]
    items = [f"{inner}{head}{_format_value(item, indent + 2, len(inner) + len(head) + 1)}" for head, item in entries]
    return f"{opening}\n" + ",\n".join(items) + f"\n{' ' * indent}{closing}"


# --- the order of steps


def find_dependency_order(program: surface.Program) -> tuple[list[int], list[surface.Step]]:
    """Return the indices of the steps, each after those that it uses, and an empty list; or no indices and a cycle.

    Otherwise steps keep the author's order. In the cycle each step uses the next one, and the last the first.
    """
    steps = program.steps
    places = {step.name.text: index for index, step in enumerate(steps)}
    uses = {
        index: {places[name] for name in step.find_mentioned_names() if name in places}
        for index, step in enumerate(steps)
    }
    sorter = TopologicalSorter(uses)
    try:
        sorter.prepare()
    except CycleError as error:
        return [], [steps[index] for index in reversed(error.args[1][1:])]
    order: list[int] = []
    ready: list[int] = []
    while sorter.is_active():
        for index in sorter.get_ready():
            heappush(ready, index)
        order.append(heappop(ready))
        sorter.done(order[-1])
    return order, []


def sorted_steps(seed: Plain, program: surface.Program, problems: Problems) -> Plain:
    """Return a copy of the seed with its steps sorted; the seed itself, with a report, if steps form a cycle.

    Raises `AssertionError` if `seed` is no object or its steps are no list, `KeyError` if it has no steps.
    """
    assert isinstance(seed, dict)
    compute = seed[program.steps_key]
    assert isinstance(compute, list)
    order, cycle = find_dependency_order(program)
    if cycle:
        names = [step.name.text for step in cycle]
        problems.report(catalogue.cycle(cycle[0].name.span, names))
        return seed
    return {**seed, program.steps_key: [compute[index] for index in order]}
