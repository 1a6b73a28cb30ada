"""Whether a repair may take the place of a draft: what it changes, and what disappears by it.

In: a draft and its repair, both checked. Out: the reasons to refuse it. A model that is asked for fewer errors can have them
by leaving out what is wrong; so whatever the draft has must still be there, in the part that it was in, unless the repair names
it with the reason, and no part may change that no problem is about. Parts are compared as they are written, formulas by their
tokens, since a draft with errors has no types; whether a value varies is read off the typed steps that both have.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import cached_property
from typing import Any, NamedTuple

from formulaseed.diagnostics.model import Diagnostic, Problems
from formulaseed.draft.checking import CheckedDraft
from formulaseed.draft.conversion import Part, parts_of
from formulaseed.draft.numbers import LOGIC, values
from formulaseed.draft.task import Task
from formulaseed.language.aggregates import AGGREGATES
from formulaseed.language.ast import RESERVED_WORDS
from formulaseed.seed.check.program import check_program
from formulaseed.seed.lint.program import outcomes
from formulaseed.seed.standard_fields import DESCRIPTIONS, VALIDITY_FIELD
from formulaseed.source.text import one_line

Json = Any

_TOKEN = re.compile(
    r"""(?P<string>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")
    |(?P<number>(?<![\w.])(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)
    |\$?(?P<name>[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)(?P<call>\s*\()?
    |\S""",
    re.VERBOSE,
)
_FORMULAS = ("expr", "when", "source", "subject")
_WORDS = ("name", "op", "match", "test", "type", "of", "strategy", "path")
_PROSE = ("description", "meaning")
_PARAMETER = re.compile(r"param\.[A-Za-z_]\w*")
_KEYWORDS, _READING = "the keywords", "the reading"
_CONSTANT = ("FS603", "FS607", "FS610")
"""Warnings of conditions that are always the same: a sign of a value that only looks as if it varied."""


class Leaf(NamedTuple):
    """The smallest part of what a draft says: a token of a formula, or a value. `kind` is name, number, string, or other."""

    kind: str
    value: object

    def __str__(self) -> str:
        if isinstance(self.value, float) and self.value.is_integer() and self.value < 1e15:
            return str(int(self.value))
        return f"'{self.value}'" if self.kind == "string" else str(self.value)


class Element:
    """Parts of one name, of which there is one, or a duplicate: what they say, and the names and constants in it."""

    def __init__(self) -> None:
        self.parts: list[Part] = []

    @cached_property
    def leaves(self) -> list[tuple[str, Leaf]]:
        """Everything that is said, with its place; the keys of an object in one order, whatever order an answer has."""
        return [leaf for index, part in enumerate(self.parts) for leaf in _said(part, str(index))]

    @cached_property
    def names(self) -> frozenset[str]:
        return frozenset(str(leaf.value) for _, leaf in self.leaves if leaf.kind == "name")

    @cached_property
    def constants(self) -> frozenset[Leaf]:
        """The numbers, without those of guards and counts, and the strings."""
        found = (leaf for _, leaf in self.leaves if leaf.kind in ("number", "string"))
        return frozenset(leaf for leaf in found if leaf.value not in LOGIC and leaf.value != "")

    @property
    def may_vary(self) -> bool:
        """Whether a step with an error was meant to vary: it names something, if only with a typo, or looks at the reviews."""
        return bool(self.names) or any(part.get("op") in AGGREGATES for part in self.parts)

    @property
    def sources(self) -> set[int]:
        return {number for part in self.parts for number in part["sources"]}


Elements = dict[str, Element]
"""The parts of a draft by the names that formulas know them by."""


def refusals(before: CheckedDraft, after: CheckedDraft, repair: Json, task: Task) -> tuple[str, ...]:
    """Return why the repair of a draft cannot be accepted, whatever it fixes; none where nothing is lost."""
    return tuple(dict.fromkeys(_Comparison(before, after, repair, task).refusals()))


class _Comparison:
    def __init__(self, before: CheckedDraft, after: CheckedDraft, repair: Json, task: Task) -> None:
        self.before, self.after, self.repair, self.task = before, after, repair, task
        self.old, self.new = _elements(before.draft), _elements(after.draft)
        self.removed = {each["name"] for each in repair["removed"] if each["why"].strip()}
        self.excused = {each["name"].strip() for each in repair["losses"] if each["why"].strip()}
        self.excused_numbers = values([*self.excused])
        self.gone = [name for name in self.old if name not in self.new]
        both = [name for name in self.old if name in self.new]
        self.changed = [name for name in both if self.old[name].leaves != self.new[name].leaves]
        self.added = [name for name in self.new if name not in self.old]
        self.faulty, self.outputs, self.pointed = _faulty(before, self.old)
        self.unread = {_name_of(before, d) for d in before.problems if d.code.startswith("FS1")}
        self.unread |= {_name(kind, part) for kind, part in before.faulty_parts}
        """The parts with a formula that is no formula, or with what a seed cannot say."""
        self.used, self.uses = ({name: _mentions(of, name) for name in of} for of in (self.old, self.new))
        users = {name for name in self.old if self.faulty & self.used[name]}
        self.near = users.union(*(self.used[name] for name in self.faulty)) - self.faulty
        concerned = self.faulty | self.near
        self.allowed = [name for name in self.changed if name in concerned]
        """The changed parts that may change; what others lose need not be listed."""

    def refusals(self) -> Iterator[str]:
        yield from self.parts()
        yield from self.constants()
        yield from self.arrangement()
        yield from self.dependencies()
        yield from self.returned()
        yield from self.sentences()
        yield from self.invented()
        yield from self.constant_values()

    def parts(self) -> Iterator[str]:
        """Parts that are gone, and parts that are another although no problem is about them."""
        is_no_gain = self.after.defects[:2] >= self.before.defects[:2]
        for name in self.gone:
            if is_no_gain:
                yield f"it takes out {name}, and that fixes nothing"
            elif name not in self.faulty:
                yield f"it takes out {name}, which no problem is about"
            elif _bare(name) not in self.removed:
                yield f"it takes out {name} without the reason"
        for name in self.changed:
            if name in self.near and not self.is_adapted(name):
                yield f"it changes {name} by more than the problems beside it need"
            elif name not in self.near and name not in self.faulty:
                yield f"it changes {name}, which no problem is about"

    def is_adapted(self, name: str) -> bool:
        """Whether a part beside one with a problem only follows: another name for one that is gone, a default, one more value."""
        old, new = self.old[name], self.new[name]
        if name == _READING:  # where a problem mentions its field, validity may be wanted
            return _without(old, "validity") == _without(new, "validity")
        if "." in name:  # a field, an input or a parameter
            kept, now = (Counter((place.rpartition("/")[2], leaf) for place, leaf in of.leaves) for of in (old, new))
            return all(place in ("type", "nullable") for place, _ in kept - now)
        given = any(part.get("default") for part in old.parts)
        pairs = [of.leaves if given else _without(of, "default") for of in (old, new)]
        return len(pairs[0]) == len(pairs[1]) and all(map(self.is_alike, *pairs))

    def is_alike(self, old: tuple[str, Leaf], new: tuple[str, Leaf]) -> bool:
        is_wrong = old[1].value in self.gone or old[1] in self.pointed
        return old == new or (is_wrong and (old[0], old[1].kind) == (new[0], new[1].kind))

    def constants(self) -> Iterator[str]:
        """Numbers and strings that a part had, and that have not moved into another."""
        for name in (*self.gone, *self.allowed):
            for leaf in sorted(self.lost(name), key=str):
                is_covered = name in self.gone and leaf.kind == "string"  # by the reason for the whole part
                if not is_covered and not self.is_excused(leaf):
                    yield f"{leaf} of {name} is gone without the reason"

    def lost(self, name: str) -> frozenset[Leaf]:
        """The numbers and strings of a part that neither it has nor what it uses; of one that is gone, what outputs use."""
        now = self.new[name].constants if name in self.new else frozenset()
        users = [name] if name in self.new else self.after.draft["output"]
        moved = (self.gained(used) for user in users for used in (user, *self.reached(user)))
        return self.old[name].constants - now.union(*moved) - self.pointed

    def gained(self, name: str) -> frozenset[Leaf]:
        """The numbers and strings that a part has and had not."""
        if name not in self.new:
            return frozenset()
        return self.new[name].constants - (self.old[name].constants if name in self.old else frozenset())

    def is_excused(self, leaf: Leaf) -> bool:
        return bool(self.excused & {str(leaf), str(leaf.value)}) or leaf.value in self.excused_numbers

    def arrangement(self) -> Iterator[str]:
        """Weights of other names, exchanged results, other signs and comparisons, in a part that may change.

        Where it gives something up, or could not be read, its operators may be others as well.
        """
        for name in self.allowed:
            if name in self.near:
                continue
            old, new = _arranged(self.old[name]), _arranged(self.new[name])
            is_whole = name not in self.unread and not self.lost(name) and self.required(name) <= self.reached(name)
            kept = [leaf for leaf in old if (is_whole if leaf.kind == "sign" else leaf in new)]
            kept = kept if name not in self.unread else [*dict.fromkeys(kept)]  # what is there twice may be wrong
            rest = iter(new)
            for leaf in kept:
                if leaf not in self.pointed and not self.is_excused(leaf) and leaf not in rest:
                    yield f"from {leaf} on {name} has another order or other operators, without the reason"
                    break

    def dependencies(self) -> Iterator[str]:
        """Names that a part used, itself or through others, and does not any more."""
        for name in self.allowed:
            for used in sorted(self.required(name) - self.reached(name)):
                if not self.excused & {used, _bare(used)}:
                    yield f"{name} does not depend on {used} any more, without the reason"

    def required(self, name: str) -> set[str]:
        """What a part used; in place of a part that is gone, what that used."""
        found, stack, seen = set[str](), [name], {name}
        while stack:
            for used in self.used[stack.pop()]:
                if used not in self.gone:
                    found.add(used)
                elif used not in seen:
                    seen.add(used)
                    stack.append(used)
        return found

    def reached(self, name: str) -> set[str]:
        """What a part of the repair uses, itself or through others."""
        found, stack = set[str](), [name]
        while stack:
            new = self.uses.get(stack.pop(), set()) - found
            found |= new
            stack += new
        return found

    def returned(self) -> Iterator[str]:
        """Outputs that are none any more; that of a part that may go goes with it."""
        for name in dict.fromkeys(self.before.draft["output"]):
            if name in self.after.draft["output"] or (name in self.gone and name in self.faulty & self.removed):
                continue
            if name not in self.outputs:
                yield f"it does not return {name} any more, and no problem is about that"
            elif name not in self.excused:
                yield f"it does not return {name} any more, without the reason"

    def sentences(self) -> Iterator[str]:
        """Sentences that no part cites any more; those of a part that may go go with it."""
        explained = {name for name in self.gone if _bare(name) in self.removed}
        before = set[int]().union(*(each.sources for name, each in self.old.items() if name not in explained))
        for number in sorted(before.difference(*(each.sources for each in self.new.values()))):
            if self.task.text(number) is not None and f"sentence {number}" not in self.excused:
                yield f"no part cites sentence {number} any more, without the reason"

    def invented(self) -> Iterator[str]:
        """Numbers that neither the draft nor the text has, nor an assumption."""
        stated = [note["text"] for note in self.repair["assumptions"]]
        known: set[object] = {*values([sentence.text for sentence in self.task.sentences]), *values(stated)}
        known.update(leaf.value for each in self.old.values() for leaf in each.constants)
        for name in (*self.added, *self.changed):
            for leaf in sorted(self.new[name].constants, key=str):
                if leaf.kind == "number" and leaf.value not in known:
                    yield f"{leaf} in {name} is neither in the text nor in the draft, and no assumption states it"

    def constant_values(self) -> Iterator[str]:
        """Steps whose value varied with the data, and conditions that hold for all of it now, or for none."""
        before = _varying(self.before)
        for name, varies in _varying(self.after).items():
            if not varies and before.get(name, name in self.old and self.old[name].may_vary):
                yield f"{name} would be the same for every restaurant"
        known = {(d.code, _name_of(self.before, d)) for d in self.before.analysis.diagnostics}
        touched = {*self.changed, *self.added}
        for d in self.after.analysis.diagnostics:
            name = _name_of(self.after, d)
            if d.code in _CONSTANT and name in touched and (d.code, name) not in known:
                yield f"in {name}, {d.message}"


def _elements(draft: Part) -> Elements:
    found = {_KEYWORDS: Element(), _READING: Element()}
    found[_KEYWORDS].parts.append(draft["keywords"])
    found[_READING].parts.append(draft["reading"])
    for kind, part in parts_of(draft):
        found.setdefault(_name(kind, part), Element()).parts.append(part)
    return found


def _name(kind: str, part: Part) -> str:
    space = {"parameter": "param.", "field": "extraction.", "input": f"{part.get('of')}."}.get(kind, "")
    return f"{space}{part['name']}"


def _bare(name: str) -> str:
    return name.rpartition(".")[2]


def _name_of(checked: CheckedDraft, diagnostic: Diagnostic) -> str:
    part = checked.part(diagnostic)
    return _name(*part) if part else ""


def _mentions(elements: Elements, name: str) -> set[str]:
    """The parts and the inputs of every seed that a part names."""
    names = elements[name].names
    found = {used for used in names if used in elements or used in DESCRIPTIONS}
    return found | ({_READING} if f"extraction.{VALIDITY_FIELD}" in names else set())


def _faulty(checked: CheckedDraft, elements: Elements) -> tuple[set[str], set[str], set[Leaf]]:
    """The parts and the outputs that problems are about, and the numbers and strings that are themselves wrong."""
    faulty = {_name(kind, part) for kind, part in checked.faulty_parts}
    outputs, pointed = set[str](), set[Leaf]()
    for problem in checked.problems:
        match problem.pointer.split("/")[1:]:
            case ["output", index]:
                outputs.add(checked.draft["output"][int(index)])
            case ["filter", *_]:
                faulty.add(_KEYWORDS)
            case ["review_handling", *_] | ["extract", "passes" | "validity", *_]:
                faulty.add(_READING)
            case ["compute"] | ["extract", "fields" | "meta"] | ["context"] | ["parameters"]:  # all of a section
                faulty.update(elements)
            case _ if name := _name_of(checked, problem):
                faulty.add(name)
        tokens = [*_tokens(problem.span.source.text[problem.span.start : problem.span.end])]
        pointed.update(token for token in tokens if len(tokens) == 1 and token.kind in ("number", "string"))
    return faulty, outputs, pointed


def _varying(checked: CheckedDraft) -> dict[str, bool]:
    """Whether the value of each step without an error varies."""
    parsed = checked.analysis.parsed
    if parsed is None:
        return {}
    return {step.name: depends and only is None for step, depends, only in outcomes(check_program(parsed, Problems()))}


# --- what a part says


def _arranged(element: Element) -> list[Leaf]:
    """What parts say in its order, but for brackets; tests and modes of matching are signs."""
    found = []
    for place, leaf in element.leaves:
        if leaf.kind == "word" and place.rpartition("/")[2] in ("test", "match"):
            found.append(Leaf("sign", leaf.value))
        elif leaf.kind in ("number", "string", "name") or (leaf.kind == "sign" and leaf.value not in ("(", ")", ",")):
            found.append(leaf)
    return found


def _without(element: Element, key: str) -> list[tuple[str, Leaf]]:
    return [(place, leaf) for place, leaf in element.leaves if place.partition("/")[2].partition("[")[0] != key]


def _said(value: Json, place: str) -> Iterator[tuple[str, Leaf]]:
    key = place.rpartition("/")[2].partition("[")[0]
    if isinstance(value, dict):
        for name in sorted(value, key=lambda name: (name == "else", name)):
            if name != "sources":
                yield from _said(value[name], f"{place}/{name}")
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _said(item, f"{place}[{index}]")
    elif isinstance(value, str) and (key in _FORMULAS or _PARAMETER.fullmatch(value)):
        yield from ((f"{place}[{index}]", leaf) for index, leaf in enumerate(_tokens(value)))
    elif isinstance(value, str):
        kind = "word" if key in _WORDS else "prose" if key in _PROSE else "string"
        yield place, Leaf(kind, one_line(value) if kind == "prose" else value)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        if value < 0:
            yield f"{place}-", Leaf("sign", "-")
        yield place, Leaf("number", abs(value))
    else:
        yield place, Leaf("word", value)


def _tokens(formula: str) -> Iterator[Leaf]:
    """The tokens of a formula; names of functions are none of its names."""
    for found in _TOKEN.finditer(formula):
        if found["string"] is not None:
            yield Leaf("string", found["string"][1:-1])
        elif found["number"] is not None:
            yield Leaf("number", float(found["number"]))
        elif found["name"] is not None:
            is_name = found["call"] is None and found["name"] not in RESERVED_WORDS
            yield Leaf("name" if is_name else "sign", found["name"])
        else:
            yield Leaf("sign", found[0])
