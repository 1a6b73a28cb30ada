"""A file of requests, one JSON object a line, as the lines of `model`.

In: the file's text. Out: every line as a request, or as an invalid one with its errors; every deviation from the format
is a diagnostic. Evidence is lowered in `evidence`, the groups' patterns are in `groups`. Source: the request structure
reference.
"""

from __future__ import annotations

import re
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
from formulaseed.requests.shorthand import disagreements, parse_shorthand
from formulaseed.seed.read.shape import Shape
from formulaseed.source.json_reader import JsonArray, JsonObject, JsonString, JsonValue, json_lines, read_json_line
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


def lower_requests(source: Source, problems: Problems, *, benchmark: bool = False) -> tuple[ir.Line, ...]:
    """Lower a file line by line; nothing where it cannot be read as lines. With `benchmark` ids are R01 to R100."""
    lines = list(islice(json_lines(source), limits.REQUESTS + 1))
    whole = Span(source, 0, 0)
    if not lines:
        problems.report(catalogue.no_requests(whole))
    if len(lines) > limits.REQUESTS:
        number = sum(bool(line.strip(" \t\r")) for line in source.text.split("\n"))
        Shape(problems).too_many(whole, "the file", number, limits.REQUESTS)
        return ()
    if len(lines) > 1 and source.text[lines[0].start : lines[0].end].strip() in ("{", "["):
        problems.report(catalogue.request_over_lines(whole))
        return ()
    first_lines: dict[str, int] = {}
    with (
        COMPARED_LETTERS.of(limits.SUGGESTION_LETTERS),
        patterns.OF_FILE.of(limits.FILE_PATTERN_PARTS),
        shorthand.OF_FILE.of(limits.FILE_SHORTHAND_TERMS),
    ):
        return tuple(_lower_line(line, first_lines, problems, benchmark) for line in lines)


def _lower_line(line: Span, first_lines: dict[str, int], problems: Problems, benchmark: bool) -> ir.Line:
    """Lower one line. A line with errors is invalid as a whole, whatever else could be read of it."""
    found = Problems()
    reader = _Line(line, first_lines, found, benchmark)
    document = reader.read()
    request = reader.request(document) if document is not None else None
    problems.extend(found)
    if request is not None and not found.has_errors:
        return request
    id, group, scenario, gold = (_string_of(document, key) for key in ("id", "group", "scenario", "gold_restaurant"))
    errors = tuple(d.brief for d in found.sorted() if d.severity == "error")
    return ir.InvalidRequest(id, group if group in GROUPS else None, scenario, gold, errors, reader.number, line)


def _string_of(document: JsonObject | None, key: str) -> str | None:
    """What an invalid request says under a key, if that is a string that says something."""
    value = document.get(key) if document is not None else None
    return value.value if isinstance(value, JsonString) and value.value.strip() else None


class _Line:
    """Lowers one line. `first_lines` are the lines on which the ids before it first occur, and get this one's."""

    def __init__(self, line: Span, first_lines: dict[str, int], problems: Problems, benchmark: bool) -> None:
        self.span = line
        self.number, _ = line.source.position(line.start)
        self.problems = problems
        self.shape = Shape(problems)
        self.first_lines = first_lines
        self.benchmark = benchmark
        self.conditions = 0

    def read(self) -> JsonObject | None:
        """The line as JSON; None where it is no object."""
        value, faults = read_json_line(self.span.source, self.span, limits.REQUEST_DEPTH)
        for fault in faults:
            self.problems.report(reading.invalid_json(fault))
        return self.shape.object(value, "a request", 'an object such as {"id": "R01", …}') if value else None

    def request(self, document: JsonObject) -> ir.Request | None:
        """The request, as far as it can be read: with errors it is not used."""
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
        if not names & {"aspect", "evidence", "op", "args"}:
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
