"""Tries completions: which names and functions the checker accepts at a place of a step.

In: the text of a seed, its JSON and a place inside a string of a step. For each candidate there is a small step of the same kind,
in which the candidate is at that place; all of them are checked at once, behind the steps that come before.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from formulaseed.data.documents import read_text
from formulaseed.diagnostics.model import Problems
from formulaseed.seed.kind import KIND as SEED
from formulaseed.seed.operations import OPERATIONS
from formulaseed.source.json_reader import JsonArray, JsonObject, JsonString, JsonValue, Plain
from formulaseed.source.text import Source

_MISPLACED = ("FS2", "FS401")
"""The beginnings of the codes of a name that has no meaning at a place."""
_MISTYPED = "FS301"
_MALFORMED = ("FS1", "FS5")
"""The beginnings of the codes of a string that cannot be read, or is not what its key needs."""
_QUOTED_OR_BRACKET = re.compile(r"""'(?:[^'\\]|\\.)*'?|"(?:[^"\\]|\\.)*"?|[()\[\]]""")
_OPERAND_OF_LOGIC = re.compile(r"\b(?:and|or|not)[\s(]*$")
_CLOSING = {"(": ")", "[": "]"}
_TABLE: dict[str, Plain] = {"match": "exact", "table": {"key": 1}, "default": 0}

Step = dict[str, Plain]
StepOf = Callable[[str], Step]


@dataclass(frozen=True, slots=True)
class Place:
    """A word in a string of a step, which a completion replaces.

    `head` and `tail` are the seed's text before the step and after the last one, `before` and `behind` are the rest of the
    string, and `step_of` makes a step of the same kind with another string there.
    """

    head: str
    tail: str
    before: str
    behind: str
    step_of: StepOf
    is_formula: bool = False
    is_key: bool = False


def place_at(text: str, tree: JsonValue | None, word: tuple[int, int]) -> Place | None:
    """Return the place of a word, from its start to its end; None if it is in no string of a step that may hold a name."""
    for steps in (tree.get("compute"), tree.get("compute_dag")) if isinstance(tree, JsonObject) else ():
        if not isinstance(steps, JsonArray):
            continue
        for step in steps.items:
            if isinstance(step, JsonObject) and _covers(step, word):
                for member in step.members:
                    for string in _strings(member.value):
                        if _covers(string, word):
                            ends = text[: step.span.start], text[steps.span.end - 1 :]
                            return _place_in(text, ends, step, member.key.value, string, word)
    return None


def _place_in(
    text: str, ends: tuple[str, str], step: JsonObject, key: str, string: JsonString, word: tuple[int, int]
) -> Place | None:
    parts = text[string.span.start + 1 : word[0]], text[word[1] : string.span.end - 1]
    before, behind = (json.loads(f'"{part}"', strict=False) for part in parts)
    operation, source = _text(step.get("op")), _text(step.get("source"))
    keys = OPERATIONS[operation].keys if operation in OPERATIONS else ()
    kinds = {"formula": "v1"} | {each.name: each.kind for each in keys}
    formulas: dict[str, StepOf] = {
        "v1": lambda text: {"formula": text},
        "formula": lambda text: {"op": "expr", "expr": text},
        "review formula": lambda text: {"op": "sum", "expr": text},
        "review condition": lambda text: {"op": "any", "expr": text},
        "condition formula": lambda text: {"op": "define_filter", "expr": text},
        "rules": lambda text: {"op": "expr", "expr": f"{source} {text}"},
    }
    others: dict[str, StepOf] = {
        "name": lambda text: {"op": "lookup", "source": text, **_TABLE} if operation == "lookup"
        else {"op": operation, "field": text} if key == "field" else {"op": "expr", "expr": text},
        "conditions": lambda text: {"op": operation if operation == "define_filter" else "count", "where": {text: True}},
        "bare conditions": lambda text: {"op": "define_filter", key: {text: True}},
    }  # fmt: skip
    kind = kinds.get(key, "")
    if kind in formulas:
        return Place(*ends, before, behind, formulas[kind], is_formula=True)
    return Place(*ends, before, behind, others[kind], is_key=kind != "name") if kind in others else None


def fitting(place: Place, candidates: Mapping[str, str]) -> set[str]:
    """Return the candidates that the checker accepts at a place.

    `candidates` maps each to what is tried in its place: a name to itself, a function to a call. A candidate must have a
    meaning in the step, and the type that its neighbours need. What follows the word may not be typed yet: if the string cannot
    be read with it, the word ends the formula, or is the condition of an `if`.
    """
    if not place.is_formula:
        codes = _codes(place, candidates, ["{}"])
        return {
            name for name, own in codes.items() if not _is_misplaced(own) and (place.is_key or _MISTYPED not in own)
        }
    # compared with itself a name has the right type, so that the errors are those of its place
    compared = _codes(place, candidates, ["{0} == {0}", "== {0}"])
    known = {name: candidates[name] for name, own in compared.items() if not _is_misplaced(own)}
    closing = _closing(place.before)
    ends = (place.behind, closing, f" else None{closing}")
    rest = [f"{_literal(place.before)}{{}}{_literal(end)}" for end in ends]
    codes = _codes(place, known, rest)
    meaningful = {name for name, own in codes.items() if not _is_misplaced(own)}
    well_typed = {name for name in meaningful if _MISTYPED not in codes[name]}
    # behind `and` a comparison may begin; and if nothing has the right type, what is wrong is another part of the formula
    return meaningful if not well_typed or _OPERAND_OF_LOGIC.search(place.before) else well_typed


def _is_misplaced(codes: Iterable[str]) -> bool:
    return any(code.startswith(_MISPLACED) for code in codes)


def _literal(text: str) -> str:
    """Return the text as a part of a format."""
    return text.replace("{", "{{").replace("}", "}}")


def _codes(place: Place, candidates: Mapping[str, str], forms: Iterable[str]) -> dict[str, set[str]]:
    """Return the codes of each candidate's errors in the first form of the string that can be read with it.

    A form is a format of the candidate. A candidate with which no form can be read is left out.
    """
    found: dict[str, set[str]] = {}
    for form in dict.fromkeys(forms):
        names = [name for name in candidates if name not in found]
        codes = _codes_of_steps(place, [place.step_of(form.format(candidates[name])) for name in names])
        for name, own in zip(names, codes, strict=True):
            if not any(code.startswith(_MALFORMED) for code in own):
                found[name] = own
    return found


def _codes_of_steps(place: Place, steps: Sequence[Step]) -> list[set[str]]:
    """Check steps in place of the one that the place is in and of those after it; return the codes of the errors in each."""
    written = [json.dumps({"name": f"completion_{number}"} | step) for number, step in enumerate(steps)]
    starts = [*accumulate((len(step) + 1 for step in written), initial=len(place.head))]
    problems = Problems()
    document = read_text(Source("seed.json", f"{place.head}{','.join(written)}{place.tail}"), None, problems)
    program = SEED.parse(document, problems)
    if program is not None:
        SEED.check(document, program, problems)
    codes: list[set[str]] = [set() for _ in steps]
    for found in problems.sorted():
        number = bisect_right(starts, found.span.start) - 1
        if found.severity == "error" and 0 <= number < len(steps):
            codes[number].add(found.code)
    return codes


def _closing(formula: str) -> str:
    """Return the brackets that close those which are open at the end of the beginning of a formula."""
    still_open: list[str] = []
    for match in _QUOTED_OR_BRACKET.finditer(formula):
        if match[0] in _CLOSING:
            still_open.append(_CLOSING[match[0]])
        elif match[0] in _CLOSING.values():
            still_open[-1:] = []
    return "".join(reversed(still_open))


def _strings(value: JsonValue) -> Iterator[JsonString]:
    """Yield every string in a value, keys included."""
    if isinstance(value, JsonString):
        yield value
    elif isinstance(value, JsonArray):
        for item in value.items:
            yield from _strings(item)
    elif isinstance(value, JsonObject):
        for member in value.members:
            yield member.key
            yield from _strings(member.value)


def _text(value: JsonValue | None) -> str:
    """Return the string that a JSON value is; empty if it is none."""
    return value.value if isinstance(value, JsonString) else ""


def _covers(value: JsonValue, word: tuple[int, int]) -> bool:
    return value.span.start < word[0] and word[1] < value.span.end
