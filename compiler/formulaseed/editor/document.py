"""One seed in an editor, and what can be said about a place in it.

In: the text as it is typed, and offsets in characters. Out: plain values; `server` puts them into the protocol's words. While
the text has errors, names are looked up in what could be read of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from formulaseed.data.documents import read_text
from formulaseed.diagnostics.model import Diagnostic, Problems
from formulaseed.documents import SeedAnalysis, analyse_text
from formulaseed.editor.fitting import fitting, place_at
from formulaseed.editor.occurrences import Occurrence, at, occurrences
from formulaseed.ir import nodes
from formulaseed.ir.text import step_text
from formulaseed.language.ast import is_name
from formulaseed.language.functions import FUNCTIONS
from formulaseed.seed.kind import KIND as SEED
from formulaseed.seed.operations import OPERATIONS, step_keys
from formulaseed.seed.read.sections import FIELD_KEYS, FIELD_TYPES, V1_KEYS, V1_STEP_KEYS, V2_KEYS
from formulaseed.seed.read.steps import MATCH_MODES
from formulaseed.seed.write.canonical import canonical, layout
from formulaseed.source.json_reader import plain
from formulaseed.source.text import Source

_WORD_BEFORE = re.compile(r"[\w.$]+$")
_WORD_BEHIND = re.compile(r"\$?[\w.]+")
_TOKEN = re.compile(r"\$?[A-Za-z_][\w.]*")
_KEY_BEFORE = re.compile(r'"((?:[^"\\]|\\.)*)"\s*:\s*(?:\[(?:\s*"(?:[^"\\]|\\.)*"\s*,)*)?\s*$')
_FORMULAS = ("expr", "when", "formula", "source", "field")
_CONDITIONS = ("where", "extraction", "meta", "context")
_NAMES = ("field", "filter", "function", "parameter", "step")
"""The kinds of completions that the checker decides about."""
_Declared = nodes.ExtractionField | nodes.InputField | nodes.Parameter


@dataclass(frozen=True, slots=True)
class Completion:
    """A proposal: what is inserted, what it is, one line about it, and what is inserted behind it."""

    text: str
    kind: str
    about: str = ""
    behind: str = ""


@dataclass(frozen=True, slots=True)
class Symbol:
    """A step, filter or field for an outline; `start` and `end` are its name's place."""

    name: str
    kind: str
    about: str
    start: int
    end: int


class SeedDocument:
    """A version of a seed's text."""

    def __init__(self, name: str, text: str) -> None:
        self.source = Source(name, text)
        self.text = text

    @cached_property
    def analysis(self) -> SeedAnalysis:
        return analyse_text(self.source)

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        return self.analysis.diagnostics

    @cached_property
    def program(self) -> nodes.Program | None:
        """The checked program, without the steps that have an error; None if the text is no seed."""
        if self.analysis.program is not None or self.analysis.parsed is None:
            return self.analysis.program
        return SEED.check(self.analysis.document, self.analysis.parsed, Problems())

    @cached_property
    def occurrences(self) -> tuple[Occurrence, ...]:
        parsed = self.analysis.parsed
        return occurrences(parsed) if parsed is not None else ()

    @cached_property
    def _steps(self) -> dict[str, nodes.Step]:
        return {step.name: step for step in self.program.steps} if self.program is not None else {}

    # --- names

    def definition(self, offset: int) -> Occurrence | None:
        """Return where the name at a place is defined; None for a standard field and anything else."""
        here = at(self.occurrences, offset)
        return next((o for o in self.occurrences if here and o.is_definition and o.key == here.key), None)

    def references(self, offset: int) -> list[Occurrence]:
        """Return every occurrence of the name at a place, its definition included."""
        here = at(self.occurrences, offset)
        return [other for other in self.occurrences if other.key == here.key] if here is not None else []

    def renamed(self, offset: int, name: str) -> list[tuple[Occurrence, str]]:
        """Return the edits that give the name at a place another name. Raises `ValueError` where that cannot be done."""
        if not is_name(name):
            raise ValueError(f"`{name}` is no name: letters, digits and `_`, not beginning with a digit")
        if self.definition(offset) is None:
            raise ValueError("there is no name here that the seed defines")
        found = self.references(offset)
        if any(other.key == (found[0].space, name) for other in self.occurrences):
            raise ValueError(f"`{name}` is taken")
        return [(each, name) for each in found]

    def outline(self) -> Iterator[Symbol]:
        """Yield the fields, parameters and steps in the order of the text."""
        for each in self.occurrences:
            if each.is_definition:
                kind, about = self._about(each)
                yield Symbol(each.name, kind, about, each.start, each.end)

    # --- hover

    def hover(self, offset: int) -> tuple[str, int, int] | None:
        """Return what is known of the name or function at a place, as Markdown, with its place; None for anything else."""
        here = at(self.occurrences, offset)
        if here is not None:
            kind, about = self._about(here)
            users = [o for o in self.occurrences if o.key == here.key and not o.is_definition]
            names = list(dict.fromkeys(name for o in users if (name := self._step_around(o.start))))
            used = f"\n\nused by {', '.join(f'`{name}`' for name in names[:10])}" if names else ""
            return f"**{here.name}** · {kind}\n\n{about}{used}", here.start, here.end
        match = next(
            (m for m in _TOKEN.finditer(self.text, *self._line(offset)) if m.start() <= offset <= m.end()), None
        )
        function = FUNCTIONS.get(match[0]) if match is not None else None
        if match is None or function is None:
            return None
        return f"**{function.signature}**\n\n{function.description}: `{function.example}`", match.start(), match.end()

    def _about(self, here: Occurrence) -> tuple[str, str]:
        """What a name is, and more about it."""
        program = self.program
        if here.space == "step":
            step = self._steps.get(here.name)
            if step is None:
                return "step", "It has an error."
            kind = "filter" if isinstance(step.operation, nodes.Filter) else str(step.ty)
            bounds = f", {step.range.low:g} to {step.range.high:g}" if step.range and step.ty.is_numeric else ""
            return f"{kind}{bounds}", f"`{step_text(step)}`"
        found: _Declared | None = None
        spaces: list[tuple[str, Sequence[_Declared]]] = []
        if program is not None:
            spaces = [("extraction", program.fields), ("meta", program.meta), ("context", program.context)]
            spaces.append(("param", program.parameters))
        for space, fields in spaces:
            found = next((each for each in fields if (space, each.name) == here.key), found)
        if found is None:
            return here.space, ""
        what = "parameter" if here.space == "param" else f"{here.space} field"
        values = found.values if isinstance(found, nodes.ExtractionField) else ()
        listed = "".join(f"\n- `{value.name}`: {value.description}" for value in values)
        return f"{what}, {found.ty}", found.description + listed

    def _step_around(self, offset: int) -> str:
        """The step whose definition comes last before a place."""
        before = [o.name for o in self.occurrences if o.is_definition and o.space == "step" and o.start <= offset]
        return before[-1] if before else ""

    def _line(self, offset: int) -> tuple[int, int]:
        end = self.text.find("\n", offset)
        return self.text.rfind("\n", 0, offset) + 1, len(self.text) if end < 0 else end

    # --- completion

    def word_at(self, offset: int) -> tuple[int, int]:
        """Return where the word around a place starts and ends, its namespace and sign included."""
        start, end = self._line(offset)
        before, behind = _WORD_BEFORE.search(self.text, start, offset), _WORD_BEHIND.match(self.text, offset, end)
        start = before.start() if before is not None else offset
        if self.text[start - 1 : start] == "\\" and start < offset:  # the letter of an escape, such as `\n`
            start += 1
        return start, behind.end() if behind is not None else offset

    def completions(self, offset: int) -> list[Completion]:
        """Return what may be written in place of the word at a place inside a string; nothing anywhere else.

        Names and functions are those that the checker accepts there.
        """
        start, _ = self._line(offset)
        before = self.text[start:offset]
        opened = _open_string(before)
        if opened is None:
            return []
        written, head = before[opened + 1 :], self.text[: start + opened]
        key = _KEY_BEFORE.search(head[-2000:])
        found = self._values(key[1], written, head) if key is not None else self._keys(head)
        return self._fitting(offset, list(found))

    def _fitting(self, offset: int, found: list[Completion]) -> list[Completion]:
        """Leave out the names and functions that the checker would refuse at a place."""
        place = place_at(self.text, self.analysis.document.tree, self.word_at(offset))
        calls = {name: function.example for name, function in FUNCTIONS.items()}
        tried = {each.text: calls.get(each.text, each.text) for each in found if each.kind in _NAMES}
        if place is None or not tried:
            return found
        accepted = fitting(place, tried)
        return [each for each in found if each.text not in tried or each.text in accepted]

    def _values(self, key: str, written: str, head: str) -> Iterator[Completion]:
        if key == "op":
            yield from (Completion(name, "operation", each.doc) for name, each in OPERATIONS.items())
        elif key == "match":
            yield from (Completion(name, "value", about) for name, about in MATCH_MODES.items())
        elif key == "type":
            yield from (Completion(name, "type") for name in FIELD_TYPES)
        elif key in ("output", "output_fields"):
            here = len(head) + 1
            outputs = self.analysis.parsed.output if self.analysis.parsed is not None else ()
            listed = {name.text for name in outputs if not name.span.start <= here <= name.span.end}
            yield from (each for each in self._names() if each.kind == "step" and each.text not in listed)
        elif key in _FORMULAS:
            yield from self._names()
            bracket = "(" if self.text[self.word_at(len(head) + 1 + len(written))[1] :][:1] != "(" else ""
            yield from (Completion(name, "function", f.signature, bracket) for name, f in FUNCTIONS.items())
        else:
            field = key if "." in key else _field_around(key, head)
            for each in self.program.fields if self.program is not None else ():
                if field == f"extraction.{each.name}":
                    yield from (Completion(value.name, "value", value.description) for value in each.values)

    def _names(self) -> Iterator[Completion]:
        program = self.program
        if program is None:
            return
        yield from (Completion(f"extraction.{f.name}", "field", f.description) for f in program.fields)
        for space, fields in (("meta", program.meta), ("context", program.context)):
            yield from (Completion(f"{space}.{f.name}", "field", f.description) for f in fields)
        yield from (Completion(f"param.{p.name}", "parameter", p.description) for p in program.parameters)
        for step in program.steps:
            is_filter = isinstance(step.operation, nodes.Filter)
            sign = "$" if is_filter else ""
            yield Completion(f"{sign}{step.name}", "filter" if is_filter else "step", step_text(step))

    def _keys(self, head: str) -> Iterator[Completion]:
        """The keys of the object that a place is in."""
        inside = _keys_around(head)
        last = inside[-1] if inside else ""
        if not inside:
            yield from (Completion(name, "key") for name in dict.fromkeys((*V2_KEYS, *V1_KEYS)))
        elif last == "where":
            yield from (c for c in self._names() if c.kind in ("field", "filter") and not c.text.startswith("param."))
        elif last in ("extraction", "meta", "context") and "compute" in inside:
            prefix = f"{last}."
            named = [each for each in self._names() if each.text.startswith(prefix)]
            yield from (Completion(each.text.removeprefix(prefix), each.kind, each.about) for each in named)
        elif last in ("compute", "compute_dag"):
            operation = _operation_around(head, self.text[len(head) :])
            keys = step_keys(OPERATIONS[operation]) if operation in OPERATIONS else ("name", "op")
            yield from (Completion(name, "key") for name in (keys if last == "compute" else V1_STEP_KEYS))
        elif last in ("fields", "extraction_fields"):
            yield from (Completion(name, "key") for name in FIELD_KEYS)

    # --- the whole

    def formatted(self) -> str | None:
        """Return the text in canonical form; None if it cannot be read."""
        problems = Problems()
        tree = read_text(self.source, None, problems).tree
        return None if tree is None or problems.has_errors else layout(canonical(plain(tree)))


def _open_string(line: str) -> int | None:
    """Where the string begins that is still open at the end of a line's beginning; None if there is none."""
    opened: int | None = None
    escaped = False
    for place, character in enumerate(line):
        if opened is not None and character == "\\" and not escaped:
            escaped = True
            continue
        if character == '"' and not escaped:
            opened = None if opened is not None else place
        escaped = False
    return opened


_LEXEME = re.compile(r'"(?:[^"\\\n]|\\.)*"|[{}\[\],:]')


def _keys_around(head: str) -> list[str]:
    """The keys of the objects and lists that are still open, from the outermost."""
    keys: list[str] = []
    last, pending = "", ""
    for match in _LEXEME.finditer(head):
        token = match[0]
        if token[0] == '"':
            last = token[1:-1]
        elif token == ":":
            pending = last
        elif token in "{[":
            keys.append(pending)
            pending = ""
        elif token in "}]":
            keys[-1:] = []
            pending = ""
        else:
            pending = ""
    return [key for key in keys if key]


def _operation_around(head: str, tail: str) -> str:
    """The operation that the step at a place names; empty if it names none."""
    end = tail.find("}")
    found = re.findall(r'"op"\s*:\s*"(\w+)"', head[head.rfind("{") :] + tail[: end if end >= 0 else 0])
    return found[-1] if found else ""


def _field_around(key: str, head: str) -> str:
    """The field whose condition a value is part of: with its namespace, that of the object around it if it has none."""
    around = _keys_around(head)
    for name in reversed([*around, key]):
        if "." in name:
            return name
    space = next((name for name in reversed(around) if name in _CONDITIONS and name != "where"), "")
    field = key if key not in ("in", "!=") else around[-1] if around else ""
    return f"{space}.{field}" if space else field
