"""The prompts of each stage: a constant part from a template, and the policy as JSON in the user message.

The templates are filled from the compiler's own tables: inputs, operators and functions.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from formulaseed.draft import wire
from formulaseed.draft.task import Task
from formulaseed.language.functions import FUNCTIONS
from formulaseed.language.operators import COMPARISONS, OPERATORS
from formulaseed.language.types import Type
from formulaseed.llm.calls import render_prompt
from formulaseed.seed.operations import OPERATIONS
from formulaseed.seed.read.sections import FIELD_TYPES, STRATEGIES
from formulaseed.seed.standard_fields import CONTEXT, META, VALIDITY_FIELD, VALIDITY_VALUES

Json = Any

MAX_TOKENS = 32_000
"""Of one answer, thinking included."""
MOST_TOKENS = 64_000
"""Of one that was cut off before."""


@dataclass(frozen=True, slots=True)
class Stage:
    """One call of phase 1: its name in transcripts and of its template, its answer's schema, and what it does, in words."""

    name: str
    schema: Mapping[str, Json]
    does: str


CONDITIONS = Stage("conditions", wire.CONDITIONS, "takes the conditions out of the text")
GRAPH = Stage("graph", wire.GRAPH, "builds the computation graph")
SEED = Stage("seed", wire.SEED, "writes the seed")
REPAIR = Stage("repair", wire.REPAIR, "fixes what the compiler found")
STAGES = (CONDITIONS, GRAPH, SEED)


def system_prompt(stage: Stage) -> str:
    """Return the constant part of a stage's prompt."""
    return render_prompt(
        f"draft_{stage.name}",
        meta=_inputs(META),
        context=_inputs(CONTEXT),
        validity_field=VALIDITY_FIELD,
        validity_values=", ".join(f"`{value}`" for value, _ in VALIDITY_VALUES),
        strategies=", ".join(f"`{strategy}`" for strategy in STRATEGIES),
        field_types=", ".join(f"`{name}`" for name in FIELD_TYPES),
        operators=" ".join(f"`{symbol}`" for symbol in OPERATORS),
        comparisons=" ".join(f"`{symbol}`" for symbol in COMPARISONS),
        tests=", ".join(f"`{test}`" for test in wire.TESTS),
        operations=[
            {"name": one.name, "takes": ", ".join(f"`{key}`" for key in wire.step_keys(one)), "doc": one.doc}
            for one in OPERATIONS.values()
        ],
        functions=[{"signature": one.signature, "description": one.description} for one in FUNCTIONS.values()],
    )


def _inputs(types: Mapping[str, Type]) -> str:
    return ", ".join(f"`{name}` ({type_})" for name, type_ in types.items())


def sentences(task: Task, numbers: Collection[int] | None = None) -> dict[str, str]:
    """Return all sentences by number, or those with these numbers."""
    chosen = (one for one in task.sentences if numbers is None or one.number in numbers)
    return {str(one.number): f"# {one.text}" if one.is_frame else one.text for one in chosen}


def shown(values: Mapping[str, Json]) -> str:
    """Return values as a JSON object that people can read in a diff: one entry of an inner list or object a line."""
    parts = []
    for key, value in values.items():
        if isinstance(value, dict) and value:
            lines = (f"  {_json(name)}: {_json(item)}" for name, item in value.items())
            parts.append(f"{_json(key)}: {{\n" + ",\n".join(lines) + "\n}")
        elif isinstance(value, list) and value:
            parts.append(f"{_json(key)}: [\n" + ",\n".join(f"  {_json(item)}" for item in value) + "\n]")
        else:
            parts.append(f"{_json(key)}: {_json(value)}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _json(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False)
