"""Reads a file of requests, one JSON object a line, a list of them or one laid out after another, as the lines of `model`.

In: the file's text. Out: every request, or an invalid one with its errors; every deviation from the format is a
diagnostic. A structure alone, without the request around it, is read too. Evidence is lowered in `evidence`, the groups'
patterns are in `groups`. Source: the request structure reference.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from itertools import islice
from typing import Literal, cast

from formulaseed import limits
from formulaseed.diagnostics.catalogue import reading
from formulaseed.diagnostics.catalogue import requests as catalogue
from formulaseed.diagnostics.model import Problems
from formulaseed.diagnostics.suggestions import COMPARED_LETTERS
from formulaseed.requests import model as ir
from formulaseed.requests import patterns, shorthand
from formulaseed.requests.evidence import lower_evidence
from formulaseed.requests.groups import GROUPS, fits, group_of
from formulaseed.requests.shorthand import disagreements, parse_shorthand, shorthand_of
from formulaseed.seed.read.shape import Shape
from formulaseed.source.json_reader import (
    JsonArray,
    JsonFault,
    JsonObject,
    JsonString,
    JsonValue,
    Plain,
    json_lines,
    plain,
    read_json_line,
    read_json_values,
)
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
_NODE_KEYS = ("aspect", "evidence", "op", "args")


def lower_requests(source: Source, problems: Problems, *, benchmark: bool = False) -> tuple[ir.Line, ...]:
    """Lower every request; nothing if the file is not JSON. With `benchmark` ids are R01 to R100."""
    whole = Span(source, 0, 0)
    entries: Iterable[tuple[Span, JsonValue | None, list[JsonFault]]]
    if is_json_lines(source):
        number = sum(bool(line.strip(" \t\r")) for line in source.text.split("\n"))
        entries = ((line, *read_json_line(source, line, limits.REQUEST_DEPTH)) for line in json_lines(source))
    else:
        values, faults = read_json_values(source, limits.REQUEST_DEPTH)
        number = len(values)
        entries = ((value.span, value, inside) for value, inside in values)
        for fault in faults:
            problems.report(reading.invalid_json(fault))
    if number == 0 and not problems.has_errors:
        problems.report(catalogue.no_requests(whole))
    if number > limits.REQUESTS:
        Shape(problems).too_many(whole, "the file", number, limits.REQUESTS)
        return ()
    first_lines: dict[str, int] = {}
    with (
        COMPARED_LETTERS.of(limits.SUGGESTION_LETTERS),
        patterns.OF_FILE.of(limits.FILE_PATTERN_PARTS),
        shorthand.OF_FILE.of(limits.FILE_SHORTHAND_TERMS),
    ):
        return tuple(
            _lower_entry(_Entry(span, at, first_lines, benchmark), value, inside, problems)
            for at, (span, value, inside) in enumerate(entries, 1)
        )


def request_values(source: Source) -> list[Plain]:
    """Return the requests of a file without errors as plain values."""
    if is_json_lines(source):
        return [json.loads(source.text[line.start : line.end]) for line in json_lines(source)]
    return [plain(value) for value, _ in read_json_values(source, limits.REQUEST_DEPTH)[0]]


def is_json_lines(source: Source) -> bool:
    """Return whether each line is to be read alone, rather than a list, or values that are laid out over several lines.

    Where both fail, a first line that is a whole value decides, else how the lines begin.
    """
    lines = list(islice(json_lines(source), limits.REQUESTS + 1))
    texts = [source.text[line.start : line.end] for line in lines]
    if texts and texts[0].lstrip().startswith("["):
        return False
    if all(map(_is_json, texts)):
        return True
    values, faults = read_json_values(source, limits.REQUEST_DEPTH)
    return not (values and not faults) and (_is_json(texts[0]) or all(text.startswith("{") for text in texts))


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _lower_entry(reader: _Entry, value: JsonValue | None, faults: Iterable[JsonFault], problems: Problems) -> ir.Line:
    """Lower one request. With errors it is invalid as a whole, whatever else could be read of it."""
    document = reader.read(value, faults)
    request = reader.request(document) if document is not None else None
    problems.extend(reader.problems)
    if request is not None and not reader.problems.has_errors:
        return request
    id, group, scenario, gold = (_string_of(document, key) for key in ("id", "group", "scenario", "gold_restaurant"))
    errors = tuple(d.brief for d in reader.problems.sorted() if d.severity == "error")
    return ir.InvalidRequest(id, group if group in GROUPS else None, scenario, gold, errors, reader.number, reader.span)


def _string_of(document: JsonObject | None, key: str) -> str | None:
    """What an invalid request says under a key, if that is a string that says something."""
    value = document.get(key) if document is not None else None
    return value.value if isinstance(value, JsonString) and value.value.strip() else None


class _Entry:
    """Lowers the request at a place of the file, counted from 1. Its id is added to `first_lines`, with its line."""

    def __init__(self, span: Span, place: int, first_lines: dict[str, int], benchmark: bool) -> None:
        self.span = span
        self.place = place
        self.number, _ = span.source.position(span.start)
        self.problems = Problems()
        self.shape = Shape(self.problems)
        self.first_lines = first_lines
        self.benchmark = benchmark
        self.conditions = 0

    def read(self, value: JsonValue | None, faults: Iterable[JsonFault]) -> JsonObject | None:
        """Report the faults of the request's JSON, and return its object; None if it is not one."""
        for fault in faults:
            self.problems.report(reading.invalid_json(fault))
        return self.shape.object(value, "a request", 'an object such as {"id": "R01", …}') if value else None

    def request(self, document: JsonObject) -> ir.Request | None:
        """Return the request, or None if too little of it could be read; with errors it is not used."""
        keys = {key.value for key in document.names()}
        if not keys & {*KEYS} and keys & {*_NODE_KEYS}:
            return self.bare_structure(document)
        self.shape.keys(document, KEYS, "a request")
        given = {key: self.text(document, key) for key in KEYS if key != "structure"}
        id, group, text = given["id"], given["group"], given["shorthand"]
        is_id = id is not None and self.is_id(id)
        is_group = group is not None and self.shape.choice(group, "group", GROUPS) is not None
        expected = group_of(id.value) if id is not None and is_id else None
        if id is not None and group is not None and is_group and expected not in (None, group.value):
            self.problems.report(catalogue.id_and_group_disagree(group.span, id.value, expected, group.value))
        value = self.shape.need(document, "structure", "a request", _EXAMPLES["structure"])
        structure = self.node(value, "`structure`")
        shorthand = parse_shorthand(text, self.problems) if text is not None else None
        if structure is None:
            return None
        for found in disagreements(structure, shorthand) if shorthand is not None else ():
            self.problems.report(found)  # a warning: the structure decides
        if group is not None and is_group and not fits(group.value, structure):
            known = GROUPS[group.value]
            found = catalogue.group_pattern(structure.span, group.value, known.name, known.pattern, known.meaning)
            self.problems.report(found)
        if None in given.values():
            return None
        texts = {key: value.value for key, value in given.items() if value is not None}
        return ir.Request(structure=structure, line=self.number, span=self.span, **texts)

    def bare_structure(self, document: JsonObject) -> ir.Request | None:
        """Read a structure without the request around it: it has no gold restaurant, and its place in the file as its id."""
        structure = self.node(document, "the structure")
        if structure is None:
            return None
        self.problems.report(catalogue.bare_structure(document.span))
        id = f"structure {self.place}"
        if id in self.first_lines:
            self.problems.report(catalogue.duplicate_id(document.span, id, self.first_lines[id]))
        self.first_lines.setdefault(id, self.number)
        return ir.Request(id, None, "", "", shorthand_of(structure), structure, None, self.number, self.span)

    def text(self, document: JsonObject, key: str) -> JsonString | None:
        found = self.shape.text(self.shape.need(document, key, "a request", _EXAMPLES[key]), f"`{key}`")
        if found is not None and not found.value.strip():
            self.problems.report(catalogue.empty_string(found.span, key, _EXAMPLES[key].split(": ", 1)[1]))
            return None
        return found

    def is_id(self, id: JsonString) -> bool:
        if self.benchmark and group_of(id.value) is None:
            self.problems.report(catalogue.foreign_id(id.span, id.value, _suggested_id(id.value)))
            return False
        is_seen = id.value.isprintable() and id.value == id.value.strip()
        if not is_seen or len(id.value) > limits.REQUEST_ID_CHARACTERS or set("<>") & set(id.value):
            self.problems.report(catalogue.invalid_id(id.span, id.value))
            return False
        if id.value in self.first_lines:
            self.problems.report(catalogue.duplicate_id(id.span, id.value, self.first_lines[id.value]))
        self.first_lines.setdefault(id.value, self.number)
        return True

    # --- the structure, whose conditions are counted

    def node(self, value: JsonValue | None, what: str) -> ir.Node | None:
        example = 'an object such as {"op": "AND", "args": […]} or {"aspect": "…", "evidence": {…}}'
        section = self.shape.object(value, what, example)
        if section is None:
            return None
        names = {key.value for key in section.names()}
        if not names & {*_NODE_KEYS}:
            shown = example.removeprefix("an object such as ")
            self.problems.report(catalogue.neither_condition_nor_junction(section.span, what, shown))
            return None
        condition = names & {"aspect", "evidence"} and not names & {"op", "args"}
        return self.condition(section) if condition else self.junction(section)

    def condition(self, section: JsonObject) -> ir.Condition | None:
        self.shape.keys(section, ("aspect", "evidence"), "a condition")
        value = self.shape.need(section, "aspect", "a condition", '"aspect": such as "drive_thru"')
        aspect = self.shape.text(value, "`aspect`")
        if aspect is not None and not aspect.value.strip():
            self.problems.report(catalogue.empty_string(aspect.span, "aspect", "a name, such as `drive_thru`"))
        example = '"evidence": {"kind": "item_meta", …}'
        evidence = lower_evidence(self.shape.need(section, "evidence", "a condition", example), self.shape)
        self.conditions += 1
        if self.conditions == limits.REQUEST_CONDITIONS + 1:
            self.problems.report(catalogue.too_many_conditions(section.span, limits.REQUEST_CONDITIONS))
        if evidence is None or aspect is None:
            return None
        return ir.Condition(aspect.value, evidence, section.span)

    def junction(self, section: JsonObject) -> ir.Junction | None:
        self.shape.keys(section, ("op", "args"), "an `AND` or `OR`")
        op = self.shape.text(self.shape.need(section, "op", "this object", '"op": "AND", or "OR"'), "`op`")
        value = self.shape.need(section, "args", "this object", '"args": the conditions that it joins')
        items = self.shape.list(value, "`args`", limits.CONDITIONS)
        if isinstance(value, JsonArray) and not value.items:
            self.problems.report(catalogue.no_arguments(value.span))
        nodes = tuple(node for item in items if (node := self.node(item, "an item of `args`")) is not None)
        if op is not None and op.value not in ("AND", "OR"):
            self.problems.report(catalogue.unknown_junction(op.span, op.value))
        elif op is not None and items and len(nodes) == len(items):
            return ir.Junction(cast(Literal["AND", "OR"], op.value), nodes, section.span)
        return None


def _suggested_id(id: str) -> str:
    """The id that was probably intended, or an empty string."""
    digits = re.fullmatch(r"\s*[Rr]?[-_ ]?0*([1-9][0-9]{0,2})\s*", id)
    wanted = f"R{int(digits[1]):02d}" if digits else ""
    return wanted if group_of(wanted) else ""
