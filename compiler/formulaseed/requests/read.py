"""Read a file of requests as the lines of `model`: one JSON object a line, a list of them or one laid out after another.

In: the file's text. Out: every request, or an invalid one with its errors; every deviation from the format is a
diagnostic. A structure without the request around it is read, too. `evidence` lowers evidence, and `groups` has the patterns
of groups. Formatting a file keeps its layout. Source: the request structure reference.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from json import dumps
from typing import Literal, cast

from formulaseed import limits
from formulaseed.diagnostics.catalogue import reading
from formulaseed.diagnostics.catalogue import requests as catalogue
from formulaseed.diagnostics.model import Problems
from formulaseed.diagnostics.suggestions import COMPARED_LETTERS
from formulaseed.requests import model as ir
from formulaseed.requests import patterns, shorthand
from formulaseed.requests.agreement import check_aspect, find_disagreements, find_foreign_names
from formulaseed.requests.evidence import lower_evidence
from formulaseed.requests.groups import GROUPS, find_benchmark_group, has_group_pattern
from formulaseed.requests.shorthand import format_as_shorthand, parse_shorthand
from formulaseed.seed.read.shape import Shape
from formulaseed.seed.write.canonical import format_json
from formulaseed.source.json_reader import (
    JsonArray,
    JsonFault,
    JsonObject,
    JsonString,
    JsonValue,
    Plain,
    plain_value,
)
from formulaseed.source.json_streams import iter_json_lines, read_json_line, read_json_values
from formulaseed.source.text import Source, Span

_EXAMPLES = {
    "id": '"id": such as "R01"',
    "group": '"group": such as "G01"',
    "scenario": '"scenario": the name of a persona, such as "Busy Parent"',
    "text": '"text": what the person asks for, in natural language',
    "shorthand": '"shorthand": such as "AND(drive_thru, no_tv)"',
    "structure": '"structure": {"op": "AND", "args": […]}',
    "gold_restaurant": '"gold_restaurant": the business_id of the correct answer',
}
KEYS = tuple(_EXAMPLES)
_VALUE_START = re.compile(r"[^ \t\n\r]")
_NODE_KEYS = ("aspect", "evidence", "op", "args")


def lower_requests(source: Source, problems: Problems, *, benchmark: bool = False) -> tuple[ir.Line, ...]:
    """Lower every request of a file. Returns an empty tuple, with an error reported, if there are none or too many.

    Faults of the JSON are reported, too. With `benchmark` ids must be R01 to R100.
    """
    file_start = Span(source, 0, 0)
    entries: Iterable[tuple[Span, JsonValue | None, list[JsonFault]]]
    if is_json_lines(source):
        count = sum(bool(line.strip(" \t\r")) for line in source.text.split("\n"))
        entries = ((line, *read_json_line(source, line, limits.REQUEST_DEPTH)) for line in iter_json_lines(source))
    else:
        values, faults = read_json_values(source, limits.REQUEST_DEPTH, limits.REQUESTS)
        count = len(values)
        if count > limits.REQUESTS:
            problems.report(catalogue.too_many_requests(file_start))
            return ()
        entries = ((value.span, value, inner_faults) for value, inner_faults in values)
        for fault in faults:
            problems.report(reading.invalid_json(fault))
    if count == 0 and not problems.has_errors:
        problems.report(catalogue.no_requests(file_start))
    if count > limits.REQUESTS:
        Shape(problems).report_too_many(file_start, "the file", count, limits.REQUESTS)
        return ()
    first_lines: dict[str, int] = {}
    with (
        COMPARED_LETTERS.allow(limits.SUGGESTION_LETTERS),
        patterns.FILE_BUDGET.allow(limits.FILE_PATTERN_PARTS),
        shorthand.FILE_BUDGET.allow(limits.FILE_SHORTHAND_TERMS),
    ):
        return tuple(
            _lower_entry(_Entry(span, place, first_lines, benchmark), value, inner_faults, problems)
            for place, (span, value, inner_faults) in enumerate(entries, 1)
        )


def read_request_values(source: Source) -> list[Plain]:
    """Return the requests of a file as plain values. The file must have been read without errors."""
    if is_json_lines(source):
        return [json.loads(source.text[line.start : line.end]) for line in iter_json_lines(source)]
    return [plain_value(value) for value, _ in read_json_values(source, limits.REQUEST_DEPTH, limits.REQUESTS)[0]]


def is_json_lines(source: Source) -> bool:
    """Return True if the file has one value a line; False for a list, or for values over several lines.

    If the text is neither, because of an error, True means that the first line is a whole value, or all lines begin
    with `{`. An empty file counts as lines.
    """
    lines = list(islice(iter_json_lines(source), limits.REQUESTS + 1))
    texts = [source.text[line.start : line.end] for line in lines]
    if texts and texts[0].lstrip().startswith("["):
        return False
    if all(_count_values(text) == 1 for text in texts):
        return True
    is_stream = _count_values(source.text) > 0
    return not is_stream and (_count_values(texts[0]) == 1 or all(text.startswith("{") for text in texts))


def _count_values(text: str) -> int:
    """Return how many JSON values a text holds, one after another, up to the limit; 0 if it is no such sequence."""
    decoder = json.JSONDecoder()
    count = end = 0
    try:
        while count <= limits.REQUESTS and (match := _VALUE_START.search(text, end)):
            _, end = decoder.raw_decode(text, match.start())
            count += 1
    except (ValueError, RecursionError):
        return 0
    return count


def _lower_entry(entry: _Entry, value: JsonValue | None, faults: Iterable[JsonFault], problems: Problems) -> ir.Line:
    """Lower one request, and add its problems to `problems`. Returns an `InvalidRequest` if it has errors.

    The invalid request keeps the strings that could be read, but not an unknown group.
    """
    document = entry.read_object(value, faults)
    request = None
    if document is not None:
        request = entry.lower_request(document)
    problems.extend(entry.problems)
    if request is not None and not entry.problems.has_errors:
        return request
    keys = ("id", "group", "scenario", "gold_restaurant")
    id, group, scenario, gold = (_find_nonblank_string(document, key) for key in keys)
    errors = tuple(d.brief for d in entry.problems.sorted() if d.severity == "error")
    return ir.InvalidRequest(id, group if group in GROUPS else None, scenario, gold, errors, entry.line, entry.span)


def _find_nonblank_string(document: JsonObject | None, key: str) -> str | None:
    """Return the string at a key of an invalid request; None if there is none or it is blank, or `document` is None."""
    value = document.get(key) if document is not None else None
    if isinstance(value, JsonString) and value.value.strip():
        return value.value
    return None


class _Entry:
    """A request while it is lowered; `place` is its position in the file, from 1.

    `problems` collects its problems. `first_lines` maps the ids of the file so far to their lines; the entry adds its own id.
    """

    def __init__(self, span: Span, place: int, first_lines: dict[str, int], benchmark: bool) -> None:
        self.span = span
        self.place = place
        self.line, _ = span.source.position(span.start)
        self.problems = Problems()
        self.shape = Shape(self.problems)
        self.first_lines = first_lines
        self.benchmark = benchmark
        self.condition_count = 0

    def read_object(self, value: JsonValue | None, faults: Iterable[JsonFault]) -> JsonObject | None:
        """Report faults of a request's JSON, and return its object; None if it is absent or, reported, no object."""
        for fault in faults:
            self.problems.report(reading.invalid_json(fault))
        if value is None:
            return None
        return self.shape.read_object(value, "a request", 'an object such as {"id": "R01", …}')

    def lower_request(self, document: JsonObject) -> ir.Request | None:
        """Return the request, with all its problems reported; None if a part of it cannot be read.

        A structure without a request around it is accepted. That a shorthand disagrees with the structure is only a
        warning.
        """
        keys = {key.value for key in document.names()}
        if not keys & {*KEYS} and keys & {*_NODE_KEYS}:
            return self.lower_bare_structure(document)
        self.shape.report_unknown_keys(document, KEYS, "a request")
        strings = {key: self.read_string(document, key) for key in KEYS if key != "structure"}
        group = self.check_group(strings["id"], strings["group"])
        value = self.shape.require(document, "structure", "a request", _EXAMPLES["structure"])
        structure = self.lower_node(value, "`structure`")
        text = strings["shorthand"]
        shorthand = parse_shorthand(text, self.problems) if text is not None else None
        if structure is None:
            return None
        if shorthand is not None:  # its disagreements are warnings, as the structure decides
            for problem in find_disagreements(structure, shorthand) or find_foreign_names(structure, shorthand):
                self.problems.report(problem)
        if group is not None:
            self.check_group_pattern(group, structure)
        values = {key: string.value for key, string in strings.items() if string is not None}
        if len(values) < len(strings):
            return None
        return ir.Request(structure=structure, line=self.line, span=self.span, **values)

    def check_group(self, id: JsonString | None, group: JsonString | None) -> str | None:
        """Report an invalid id, an unknown group, and if they disagree. Returns the group; None if it is not one of `GROUPS`."""
        is_valid = id is not None and self.check_id(id)
        if group is None or self.shape.read_choice(group, "group", GROUPS) is None:
            return None
        if id is not None and is_valid:
            expected = find_benchmark_group(id.value)
            if expected not in (None, group.value):
                self.problems.report(catalogue.id_and_group_disagree(group.span, id.value, expected, group.value))
        return group.value

    def check_group_pattern(self, name: str, structure: ir.Node) -> None:
        """Report a structure that does not have the pattern of its group."""
        if not has_group_pattern(name, structure):
            group = GROUPS[name]
            self.problems.report(
                catalogue.group_pattern(structure.span, name, group.name, group.pattern, group.meaning)
            )

    def lower_bare_structure(self, document: JsonObject) -> ir.Request | None:
        """Return a request for a structure without the request around it, which is reported; None if it has errors.

        Its id is `structure` with its place in the file, and it has no group and no gold restaurant.
        """
        structure = self.lower_node(document, "the structure")
        if structure is None:
            return None
        self.problems.report(catalogue.bare_structure(document.span))
        id = f"structure {self.place}"
        self.register_id(id, document.span)
        return ir.Request(id, None, "", "", format_as_shorthand(structure), structure, None, self.line, self.span)

    def read_string(self, document: JsonObject, key: str) -> JsonString | None:
        """Return the string at a key; None, reported, if there is none or it is blank."""
        string = self.shape.require_text(document, key, "a request", _EXAMPLES[key])
        if string is not None and not string.value.strip():
            self.problems.report(catalogue.empty_string(string.span, key, _EXAMPLES[key].split(": ", 1)[1]))
            return None
        return string

    def check_id(self, id: JsonString) -> bool:
        """Register a valid id, and return True; return False, with an error reported, if it is invalid.

        An id that an earlier line has is reported, and counts as valid.
        """
        if self.benchmark and find_benchmark_group(id.value) is None:
            self.problems.report(catalogue.foreign_id(id.span, id.value, _suggest_id(id.value)))
            return False
        is_visible = id.value.isprintable() and id.value == id.value.strip()
        if not is_visible or len(id.value) > limits.REQUEST_ID_CHARACTERS or set("<>") & set(id.value):
            self.problems.report(catalogue.invalid_id(id.span, id.value))
            return False
        self.register_id(id.value, id.span)
        return True

    def register_id(self, id: str, span: Span) -> None:
        """Report an id that an earlier line has; otherwise add it to `first_lines`."""
        if id in self.first_lines:
            self.problems.report(catalogue.duplicate_id(span, id, self.first_lines[id]))
        self.first_lines.setdefault(id, self.line)

    # --- the structure, whose conditions are counted

    def lower_node(self, value: JsonValue | None, subject: str) -> ir.Node | None:
        """Lower a condition or, if it has `op` or `args`, a junction; None if it is absent or, reported, invalid."""
        example = 'an object such as {"op": "AND", "args": […]} or {"aspect": "…", "evidence": {…}}'
        section = self.shape.read_object(value, subject, example)
        if section is None:
            return None
        names = {key.value for key in section.names()}
        if not names & {*_NODE_KEYS}:
            forms = example.removeprefix("an object such as ")
            self.problems.report(catalogue.neither_condition_nor_junction(section.span, subject, forms))
            return None
        if names & {"aspect", "evidence"} and not names & {"op", "args"}:
            return self.lower_condition(section)
        return self.lower_junction(section)

    def lower_condition(self, section: JsonObject) -> ir.Condition | None:
        """Lower a condition; None, with an error reported, if it has no aspect or no valid evidence.

        Counts it in `condition_count`. A blank aspect and too many conditions are reported, but the condition is
        returned.
        """
        self.shape.report_unknown_keys(section, ("aspect", "evidence"), "a condition")
        aspect = self.shape.require_text(section, "aspect", "a condition", '"aspect": such as "drive_thru"')
        if aspect is not None and not aspect.value.strip():
            self.problems.report(catalogue.empty_string(aspect.span, "aspect", "a name, such as `drive_thru`"))
        example = '"evidence": {"kind": "item_meta", …}'
        evidence = lower_evidence(self.shape.require(section, "evidence", "a condition", example), self.shape)
        self.condition_count += 1
        if self.condition_count == limits.REQUEST_CONDITIONS + 1:
            self.problems.report(catalogue.too_many_conditions(section.span, limits.REQUEST_CONDITIONS))
        if evidence is None or aspect is None:
            return None
        condition = ir.Condition(aspect.value, evidence, section.span)
        note = check_aspect(aspect.span, condition)
        if note is not None:
            self.problems.report(note)
        return condition

    def lower_junction(self, section: JsonObject) -> ir.Junction | None:
        """Lower an `AND` or `OR`; None, reported, if it has no arguments, or it or one of them has errors."""
        self.shape.report_unknown_keys(section, ("op", "args"), "an `AND` or `OR`")
        op = self.shape.require_text(section, "op", "this object", '"op": "AND", or "OR"')
        value = self.shape.require(section, "args", "this object", '"args": the conditions that it joins')
        items = self.shape.read_list(value, "`args`", limits.CONDITIONS)
        if isinstance(value, JsonArray) and not value.items:
            self.problems.report(catalogue.no_arguments(value.span))
        nodes = tuple(node for item in items if (node := self.lower_node(item, "an item of `args`")) is not None)
        if op is not None and op.value not in ("AND", "OR"):
            self.problems.report(catalogue.unknown_junction(op.span, op.value))
        elif op is not None and items and len(nodes) == len(items):
            return ir.Junction(cast(Literal["AND", "OR"], op.value), nodes, section.span)
        return None


def _suggest_id(id: str) -> str:
    """Return the id of the benchmark that was probably intended, such as `R01` for `r1`; empty if there is none."""
    digits = re.fullmatch(r"\s*[Rr]?[-_ ]?0*([1-9][0-9]{0,2})\s*", id)
    if digits is None:
        return ""
    candidate = f"R{int(digits[1]):02d}"
    return candidate if find_benchmark_group(candidate) else ""


# --- layout


def format_requests(source: Source, problems: Problems) -> str:
    """Return the text of the file with the keys of each request in the order of `KEYS`.

    A file with one request a line stays one, without empty lines. Any other file is laid out like a seed. Faults of the
    JSON are reported to `problems`; a request that cannot be read is left out.
    """
    are_lines = is_json_lines(source)
    faults: list[JsonFault] = []
    pairs: Sequence[tuple[JsonValue | None, list[JsonFault]]]
    if are_lines:
        pairs = [read_json_line(source, line, limits.REQUEST_DEPTH) for line in iter_json_lines(source)]
    else:
        pairs, faults = read_json_values(source, limits.REQUEST_DEPTH, limits.REQUESTS)
    for fault in [*faults, *(fault for _, inner_faults in pairs for fault in inner_faults)]:
        problems.report(reading.invalid_json(fault))
    requests = [_order_keys(plain_value(value)) for value, _ in pairs if value is not None]
    if are_lines:
        return "".join(f"{dumps(request, ensure_ascii=False)}\n" for request in requests)
    if source.text.lstrip().startswith("["):
        return format_json(requests)
    return "".join(map(format_json, requests))


def _order_keys(request: Plain) -> Plain:
    """Return a copy of a request with known keys first, in the order of `KEYS`; a value that is no object as it is."""
    if not isinstance(request, Mapping):
        return request
    return {key: request[key] for key in (*(key for key in KEYS if key in request), *request)}
