"""Builds the prompts of each stage: a constant part from a template, and the policy as JSON in the user message.

The templates are filled from the compiler's own tables: inputs, operators and functions.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from formulaseed import limits
from formulaseed.draft import wire
from formulaseed.language.functions import FUNCTIONS
from formulaseed.language.operators import COMPARISONS, OPERATORS
from formulaseed.language.types import Type
from formulaseed.llm.calls import render_prompt
from formulaseed.seed.operations import OPERATIONS
from formulaseed.seed.read.sections import FIELD_TYPES, STRATEGIES
from formulaseed.seed.standard_fields import CONTEXT, META, VALIDITY_FIELD, VALIDITY_VALUES
from formulaseed.seed.task_text import Task

Json = Any

MAX_TOKENS = 32_000
"""The maximum length of an answer, thinking included."""
MAX_TOKENS_OF_RETRY = 64_000
"""The maximum length of an answer that was cut off before."""


@dataclass(frozen=True, slots=True)
class Stage:
    """One kind of call of phase 1: its name, which its template and transcripts have, and the schema of its answer.

    `does` completes a sentence for people that begins with the name.
    """

    name: str
    schema: Mapping[str, Json]
    does: str


CONDITIONS = Stage("conditions", wire.CONDITIONS, "takes the conditions out of the text")
GRAPH = Stage("graph", wire.GRAPH, "builds the computation graph")
SEED = Stage("seed", wire.SEED, "writes the seed")
REPAIR = Stage("repair", wire.REPAIR, "fixes what the compiler found")
STAGES = (CONDITIONS, GRAPH, SEED)


def system_prompt(stage: Stage) -> str:
    """Return the constant part of a stage's prompt, rendered from its template with the tables of the language."""
    return render_prompt(
        f"draft_{stage.name}",
        meta=_list_inputs(META),
        context=_list_inputs(CONTEXT),
        validity_field=VALIDITY_FIELD,
        validity_values=", ".join(f"`{value}`" for value, _ in VALIDITY_VALUES),
        strategies=", ".join(f"`{strategy}`" for strategy in STRATEGIES),
        field_types=", ".join(f"`{name}`" for name in FIELD_TYPES),
        operators=" ".join(f"`{symbol}`" for symbol in OPERATORS),
        comparisons=" ".join(f"`{symbol}`" for symbol in COMPARISONS),
        tests=", ".join(f"`{test}`" for test in wire.TESTS),
        label_characters=limits.LABEL_CHARACTERS,
        unit_characters=limits.UNIT_CHARACTERS,
        because_characters=limits.BECAUSE_CHARACTERS,
        operations=[
            {"name": spec.name, "takes": ", ".join(f"`{key}`" for key in wire.step_keys(spec)), "doc": spec.doc}
            for spec in OPERATIONS.values()
        ],
        functions=[{"signature": spec.signature, "description": spec.description} for spec in FUNCTIONS.values()],
    )


def _list_inputs(types: Mapping[str, Type]) -> str:
    """Return the inputs as one line for a prompt, each with its type in brackets."""
    return ", ".join(f"`{name}` ({type_})" for name, type_ in types.items())


def number_sentences(task: Task, numbers: Collection[int] | None = None) -> dict[str, str]:
    """Return the sentences of a task by their numbers, all or those in `numbers`; a heading has a `#` in front."""
    chosen = (sentence for sentence in task.sentences if numbers is None or sentence.number in numbers)
    return {str(sentence.number): f"# {sentence.text}" if sentence.is_frame else sentence.text for sentence in chosen}


def format_values(values: Mapping[str, Json]) -> str:
    """Return values as a JSON object in a layout for diffs: each entry of an inner list or object is on its own line."""
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
    """Return a value as JSON on one line, with characters beyond ASCII as they are."""
    return json.dumps(value, ensure_ascii=False)
