"""Find the names and functions that the checker accepts at a place of a step.

In: the text of a seed, its JSON and a place inside a string of a step. Each candidate is put at that place into a small step of
the same kind; all these steps are checked at once, after the steps that precede the place.
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
from formulaseed.language.sizes import blank_comments
from formulaseed.seed.kind import KIND as SEED
from formulaseed.seed.operations import OPERATIONS
from formulaseed.source.json_reader import JsonArray, JsonObject, JsonString, JsonValue, Plain
from formulaseed.source.text import Source

# beginnings of codes: a name without a meaning at its place, a wrong type, a string that cannot be read or has no use at its key
_MISPLACED = ("FS2", "FS401")
_MISTYPED = "FS301"
_MALFORMED = ("FS1", "FS5")
_QUOTED_OR_BRACKET = re.compile(r"""'(?:[^'\\]|\\.)*'?|"(?:[^"\\]|\\.)*"?|[()\[\]]""")
_OPERAND_OF_LOGIC = re.compile(r"\b(?:and|or|not)[\s(]*$")
_CLOSING = {"(": ")", "[": "]"}
_MINIMAL_LOOKUP: dict[str, Plain] = {"match": "exact", "table": {"key": 1}, "default": 0}

Step = dict[str, Plain]
StepMaker = Callable[[str], Step]


@dataclass(frozen=True, slots=True)
class Place:
    """A word in a string of a step, which a completion replaces.

    `head` and `tail` are the seed's text before the step and after the last one, `before` and `after` are the rest of the
    string, and `make_step` returns a step of the same kind with another string there.
    """

    head: str
    tail: str
    before: str
    after: str
    make_step: StepMaker
    is_formula: bool = False
    is_key: bool = False


def place_at(text: str, tree: JsonValue | None, word: tuple[int, int]) -> Place | None:
    """Return the place of `word` in a string of a step; None if it is elsewhere, or the string holds no names.

    `word` is its start and end in `text`, `tree` the JSON of the text. Steps are the objects in its list `compute` or,
    if the word is not there, `compute_dag`.
    """
    if not isinstance(tree, JsonObject):
        return None
    for steps in (tree.get("compute"), tree.get("compute_dag")):
        if isinstance(steps, JsonArray):
            step = next((step for step in steps.items if _covers(step, word)), None)
            if isinstance(step, JsonObject):
                ends = (text[: step.span.start], text[steps.span.end - 1 :])
                for member in step.members:
                    for string in _iterate_strings(member.value):
                        if _covers(string, word):
                            return _place_in(text, ends, step, member.key.value, string, word)
                return None
    return None


def _place_in(
    text: str, ends: tuple[str, str], step: JsonObject, key: str, string: JsonString, word: tuple[int, int]
) -> Place | None:
    """Return the place of a word in a string at a key of a step; None if the key holds no names.

    `ends` are the seed's text before the step and after the last step. Returns None, too, if the word splits an escape of
    the string, in which nothing can be completed.
    """
    parts = text[string.span.start + 1 : word[0]], text[word[1] : string.span.end - 1]
    try:
        before, after = (json.loads(f'"{part}"', strict=False) for part in parts)
    except ValueError:
        return None
    operation = _string_value(step.get("op"))
    source = _string_value(step.get("source"))
    keys = OPERATIONS[operation].keys if operation in OPERATIONS else ()
    kinds = {"formula": "v1"} | {entry.name: entry.kind for entry in keys}
    formulas: dict[str, StepMaker] = {
        "v1": lambda text: {"formula": text},
        "formula": lambda text: {"op": "expr", "expr": text},
        "review formula": lambda text: {"op": "sum", "expr": text},
        "review condition": lambda text: {"op": "any", "expr": text},
        "condition formula": lambda text: {"op": "define_filter", "expr": text},
        "rules": lambda text: {"op": "expr", "expr": f"{source} {text}"},
    }

    def make_named(text: str) -> Step:
        """Return the step that shows whether a name fits at `key`: a lookup, a step with `field`, or a formula."""
        if operation == "lookup":
            return {"op": "lookup", "source": text, **_MINIMAL_LOOKUP}
        if key == "field":
            return {"op": operation, "field": text}
        return {"op": "expr", "expr": text}

    names: dict[str, StepMaker] = {
        "name": make_named,
        "conditions": lambda text: {"op": operation if operation == "define_filter" else "count", "where": {text: True}},
        "bare conditions": lambda text: {"op": "define_filter", key: {text: True}},
    }  # fmt: skip
    kind = kinds.get(key, "")
    if kind in formulas:
        return Place(*ends, before, after, formulas[kind], is_formula=True)
    if kind in names:
        return Place(*ends, before, after, names[kind], is_key=kind != "name")
    return None


def find_accepted(place: Place, candidates: Mapping[str, str]) -> set[str]:
    """Return the candidates, of the keys of `candidates`, that the checker accepts at a place.

    `candidates` maps each to the text to check: a name to itself, a function to a call. A candidate must have a meaning
    in the step, and the type that its neighbours need, unless no candidate has it, or the place follows `and`, `or` or
    `not`. The text after the word may not be complete: if the string cannot be read with it, the word ends the formula,
    or is the condition of an `if`.
    """
    if not place.is_formula:
        return _find_accepted_names(place, candidates)
    if not blank_comments(f"{place.before}x").endswith("x"):
        return set()  # the word is in a comment
    # a name that is compared with itself has the right type: every error is one of its place
    compared = _find_codes(place, candidates, ["{0} == {0}", "== {0}"])
    placed = {name: candidates[name] for name, own in compared.items() if not _is_misplaced(own)}
    closing = _find_closing_brackets(place.before)
    ends = (place.after, closing, f" else None{closing}")
    codes = _find_codes(place, placed, [f"{_escape(place.before)}{{}}{_escape(end)}" for end in ends])
    meaningful = {name for name, own in codes.items() if not _is_misplaced(own)}
    well_typed = {name for name in meaningful if _MISTYPED not in codes[name]}
    # after `and` a comparison may begin; and if no name has the right type, another part of the formula is wrong
    if not well_typed or _OPERAND_OF_LOGIC.search(place.before):
        return meaningful
    return well_typed


def _find_accepted_names(place: Place, candidates: Mapping[str, str]) -> set[str]:
    """Return the candidates that the checker accepts as the whole name or key at a place."""
    codes = _find_codes(place, candidates, ["{}"])
    return {name for name, own in codes.items() if not _is_misplaced(own) and (place.is_key or _MISTYPED not in own)}


def _is_misplaced(codes: Iterable[str]) -> bool:
    """Return True if one of the codes says that the name has no meaning at its place."""
    return any(code.startswith(_MISPLACED) for code in codes)


def _escape(text: str) -> str:
    """Return the text with doubled braces, for use in a format string."""
    return text.replace("{", "{{").replace("}", "}}")


def _find_codes(place: Place, candidates: Mapping[str, str], forms: Iterable[str]) -> dict[str, set[str]]:
    """Return the codes of each candidate's errors in the first of `forms` that can be read with the candidate in it.

    A form is a format string for the text of the candidate. The set is empty for a candidate without errors; a
    candidate that no form can be read with is left out.
    """
    codes: dict[str, set[str]] = {}
    for form in dict.fromkeys(forms):
        names = [name for name in candidates if name not in codes]
        step_codes = _check_steps(place, [place.make_step(form.format(candidates[name])) for name in names])
        for name, own in zip(names, step_codes, strict=True):
            if not any(code.startswith(_MALFORMED) for code in own):
                codes[name] = own
    return codes


def _check_steps(place: Place, steps: Sequence[Step]) -> list[set[str]]:
    """Check `steps` in place of the step of `place` and all steps after it; return the codes of each step's errors.

    The sets are in the order of `steps`, and empty for steps without errors; warnings do not count.
    """
    texts = [json.dumps({"name": f"completion_{number}"} | step) for number, step in enumerate(steps)]
    starts = [*accumulate((len(step) + 1 for step in texts), initial=len(place.head))]
    problems = Problems()
    document = read_text(Source("seed.json", f"{place.head}{','.join(texts)}{place.tail}"), None, problems)
    program = SEED.parse(document, problems)
    if program is not None:
        SEED.check(document, program, problems)
    codes: list[set[str]] = [set() for _ in steps]
    for diagnostic in problems.sorted():
        number = bisect_right(starts, diagnostic.span.start) - 1
        if diagnostic.severity == "error" and 0 <= number < len(steps):
            codes[number].add(diagnostic.code)
    return codes


def _find_closing_brackets(beginning: str) -> str:
    """Return the closing brackets that are missing at the end of `beginning`, in the order in which to write them.

    Brackets in strings and comments do not count.
    """
    closing: list[str] = []
    for match in _QUOTED_OR_BRACKET.finditer(blank_comments(beginning)):
        if match[0] in _CLOSING:
            closing.append(_CLOSING[match[0]])
        elif match[0] in _CLOSING.values():
            closing[-1:] = []
    return "".join(reversed(closing))


def _iterate_strings(value: JsonValue) -> Iterator[JsonString]:
    """Yield every string in a value, at any depth, keys included; a key comes before its value."""
    if isinstance(value, JsonString):
        yield value
    elif isinstance(value, JsonArray):
        for item in value.items:
            yield from _iterate_strings(item)
    elif isinstance(value, JsonObject):
        for member in value.members:
            yield member.key
            yield from _iterate_strings(member.value)


def _string_value(value: JsonValue | None) -> str:
    """Return the value of a JSON string; an empty string for anything else."""
    return value.value if isinstance(value, JsonString) else ""


def _covers(value: JsonValue, word: tuple[int, int]) -> bool:
    """Return True if the word is inside the value."""
    return value.span.start < word[0] and word[1] < value.span.end
