"""Answer an editor's questions about one seed: definitions, references, hover texts, completions, the formatted text.

In: the text as it is typed, and offsets in characters. Out: plain values, which `server` converts to the protocol's. While
the text has errors, names are looked up in the parts that can be read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from formulaseed.data.documents import read_text
from formulaseed.diagnostics.model import Diagnostic, Problems
from formulaseed.documents import SeedAnalysis, analyse_text
from formulaseed.editor.fitting import find_accepted, place_at
from formulaseed.editor.occurrences import Occurrence, occurrence_at, occurrences
from formulaseed.ir import nodes
from formulaseed.ir.text import step_text
from formulaseed.language.ast import is_name
from formulaseed.language.functions import FUNCTIONS
from formulaseed.seed.kind import KIND as SEED
from formulaseed.seed.operations import OPERATIONS, list_step_keys
from formulaseed.seed.read.sections import FIELD_KEYS, FIELD_TYPES, V1_KEYS, V1_STEP_KEYS, V2_KEYS
from formulaseed.seed.read.steps import MATCH_MODES
from formulaseed.seed.write.canonical import canonical, layout
from formulaseed.source.json_reader import plain
from formulaseed.source.text import Source

_WORD_BEFORE = re.compile(r"[\w.$]+$")
_WORD_AFTER = re.compile(r"\$?[\w.]+")
_TOKEN = re.compile(r"\$?[A-Za-z_][\w.]*")
_KEY_BEFORE = re.compile(r'"((?:[^"\\]|\\.)*)"\s*:\s*(?:\[(?:\s*"(?:[^"\\]|\\.)*"\s*,)*)?\s*$')
_FORMULAS = ("expr", "when", "formula", "source", "field")
_CONDITION_SPACES = ("extraction", "meta", "context")
_CHECKED_KINDS = ("field", "filter", "function", "parameter", "step")
"""The kinds of completions that are offered only if the checker accepts them."""
_Declared = nodes.ExtractionField | nodes.InputField | nodes.Parameter


@dataclass(frozen=True, slots=True)
class Completion:
    """A text to insert, with its kind and a line of description; `suffix` is inserted after it."""

    text: str
    kind: str
    description: str = ""
    suffix: str = ""


@dataclass(frozen=True, slots=True)
class Symbol:
    """A step, filter or field of an outline; `start` and `end` are the offsets of its name."""

    name: str
    kind: str
    start: int
    end: int


_FIXED_VALUES = {
    "op": [Completion(name, "operation", operation.doc) for name, operation in OPERATIONS.items()],
    "match": [Completion(name, "value", description) for name, description in MATCH_MODES.items()],
    "type": [Completion(name, "type") for name in FIELD_TYPES],
}
"""The completions of keys that have the same values in every seed."""


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
        """Return the definition of the name at an offset; None for a standard field and anything else."""
        return next((occurrence for occurrence in self.references(offset) if occurrence.is_definition), None)

    def references(self, offset: int) -> list[Occurrence]:
        """Return every occurrence of the name at an offset, with its definition; empty if there is no name."""
        name = occurrence_at(self.occurrences, offset)
        return [] if name is None else [other for other in self.occurrences if other.key == name.key]

    def rename(self, offset: int, name: str) -> list[tuple[Occurrence, str]]:
        """Return the edits that rename the name at an offset. Raises `ValueError` for an invalid or a taken name."""
        if not is_name(name):
            raise ValueError(f"`{name}` is no name: letters, digits and `_`, not beginning with a digit")
        if self.definition(offset) is None:
            raise ValueError("there is no name here that the seed defines")
        references = self.references(offset)
        if any(other.key == (references[0].space, name) for other in self.occurrences):
            raise ValueError(f"`{name}` is taken")
        return [(reference, name) for reference in references]

    def outline(self) -> Iterator[Symbol]:
        """Yield the fields, parameters and steps in the order of the text."""
        for occurrence in self.occurrences:
            if occurrence.is_definition:
                kind, _ = self._describe(occurrence)
                yield Symbol(occurrence.name, kind, occurrence.start, occurrence.end)

    # --- hover

    def hover(self, offset: int) -> tuple[str, int, int] | None:
        """Describe the name or function at an offset in Markdown, with its start and end; None for anything else."""
        occurrence = occurrence_at(self.occurrences, offset)
        return self._hover_function(offset) if occurrence is None else self._hover_name(occurrence)

    def _hover_name(self, name: Occurrence) -> tuple[str, int, int]:
        kind, description = self._describe(name)
        uses = [o for o in self.occurrences if o.key == name.key and not o.is_definition]
        steps = list(dict.fromkeys(step for o in uses if (step := self._step_around(o.start))))
        used_by = f"\n\nused by {', '.join(f'`{step}`' for step in steps[:10])}" if steps else ""
        return f"**{name.name}** · {kind}\n\n{description}{used_by}", name.start, name.end

    def _hover_function(self, offset: int) -> tuple[str, int, int] | None:
        tokens = _TOKEN.finditer(self.text, *self._line(offset))
        token = next((token for token in tokens if token.start() <= offset <= token.end()), None)
        function = FUNCTIONS.get(token[0]) if token is not None else None
        if token is None or function is None:
            return None
        return f"**{function.signature}**\n\n{function.description}: `{function.example}`", token.start(), token.end()

    def _describe(self, name: Occurrence) -> tuple[str, str]:
        """Return the kind and type of a name, and a description."""
        return self._describe_step(name.name) if name.space == "step" else self._describe_input(name)

    def _describe_step(self, name: str) -> tuple[str, str]:
        step = self._steps.get(name)
        if step is None:
            return "step", "It has an error."
        kind = "filter" if isinstance(step.operation, nodes.Filter) else str(step.ty)
        bounds = f", {step.range.low:g} to {step.range.high:g}" if step.range and step.ty.is_numeric else ""
        return f"{kind}{bounds}", f"`{step_text(step)}`"

    def _describe_input(self, name: Occurrence) -> tuple[str, str]:
        declaration = next((d for space, d in self._declarations() if (space, d.name) == name.key), None)
        if declaration is None:
            return name.space, ""
        kind = "parameter" if name.space == "param" else f"{name.space} field"
        values = declaration.values if isinstance(declaration, nodes.ExtractionField) else ()
        value_list = "".join(f"\n- `{value.name}`: {value.description}" for value in values)
        return f"{kind}, {declaration.ty}", declaration.description + value_list

    def _declarations(self) -> Iterator[tuple[str, _Declared]]:
        """Yield the fields and parameters, each after its namespace; none without a program."""
        if self.program is not None:
            yield from (("extraction", field) for field in self.program.fields)
            yield from (("meta", field) for field in self.program.meta)
            yield from (("context", field) for field in self.program.context)
            yield from (("param", parameter) for parameter in self.program.parameters)

    def _step_around(self, offset: int) -> str:
        """Return the step whose definition is the last before an offset; empty if there is none."""
        before = [o.name for o in self.occurrences if o.is_definition and o.space == "step" and o.start <= offset]
        return before[-1] if before else ""

    def _line(self, offset: int) -> tuple[int, int]:
        end = self.text.find("\n", offset)
        return self.text.rfind("\n", 0, offset) + 1, len(self.text) if end < 0 else end

    # --- completion

    def word_at(self, offset: int) -> tuple[int, int]:
        """Return the start and the end of the word around an offset, with its namespace and sign."""
        line_start, line_end = self._line(offset)
        before = _WORD_BEFORE.search(self.text, line_start, offset)
        after = _WORD_AFTER.match(self.text, offset, line_end)
        start = before.start() if before is not None else offset
        # The first letter may belong to an escape, such as `\n`.
        if self.text[start - 1 : start] == "\\" and start < offset:
            start += 1
        return start, after.end() if after is not None else offset

    def completions(self, offset: int) -> list[Completion]:
        """Return the texts that may replace the word at an offset inside a string; empty outside of strings.

        Names and functions are those that the checker accepts there.
        """
        line_start, _ = self._line(offset)
        before = self.text[line_start:offset]
        quote = _find_open_quote(before)
        if quote is None:
            return []
        head = self.text[: line_start + quote]
        key = _KEY_BEFORE.search(head[-2000:])
        if key is None:
            return self._drop_refused(offset, list(self._keys(head)))
        return self._drop_refused(offset, list(self._values(key[1], before[quote + 1 :], head)))

    def _drop_refused(self, offset: int, completions: list[Completion]) -> list[Completion]:
        """Return the completions without the names and functions that the checker would refuse at an offset."""
        place = place_at(self.text, self.analysis.document.tree, self.word_at(offset))
        calls = {name: function.example for name, function in FUNCTIONS.items()}
        candidates = {c.text: calls.get(c.text, c.text) for c in completions if c.kind in _CHECKED_KINDS}
        if place is None or not candidates:
            return completions
        accepted = find_accepted(place, candidates)
        return [c for c in completions if c.text not in candidates or c.text in accepted]

    def _values(self, key: str, written: str, head: str) -> Iterable[Completion]:
        """Return the values that a string at a key may have; `written` is its beginning, `head` the text before it."""
        if key in _FIXED_VALUES:
            return _FIXED_VALUES[key]
        if key in ("output", "output_fields"):
            return self._unlisted_steps(len(head) + 1)
        if key in _FORMULAS:
            end = len(head) + 1 + len(written)
            return [*self._names(), *self._functions(end)]
        return self._enum_values(key if "." in key else _field_around(key, head))

    def _unlisted_steps(self, offset: int) -> list[Completion]:
        """Return the steps that are not outputs yet; that at the offset is not counted."""
        outputs = self.analysis.parsed.output if self.analysis.parsed is not None else ()
        listed = {name.text for name in outputs if not name.span.start <= offset <= name.span.end}
        return [name for name in self._names() if name.kind == "step" and name.text not in listed]

    def _functions(self, offset: int) -> list[Completion]:
        """Return the functions, with a bracket unless there is one after the word at the offset."""
        _, end = self.word_at(offset)
        bracket = "" if self.text[end : end + 1] == "(" else "("
        return [Completion(name, "function", function.signature, bracket) for name, function in FUNCTIONS.items()]

    def _enum_values(self, name: str) -> list[Completion]:
        """Return the values of an extracted field."""
        fields = self.program.fields if self.program is not None else ()
        values = [value for field in fields if name == f"extraction.{field.name}" for value in field.values]
        return [Completion(value.name, "value", value.description) for value in values]

    def _names(self) -> Iterator[Completion]:
        """Yield the fields, parameters, steps and filters of the seed."""
        for space, declaration in self._declarations():
            kind = "parameter" if space == "param" else "field"
            yield Completion(f"{space}.{declaration.name}", kind, declaration.description)
        for step in self.program.steps if self.program is not None else ():
            is_filter = isinstance(step.operation, nodes.Filter)
            name = f"${step.name}" if is_filter else step.name
            yield Completion(name, "filter" if is_filter else "step", step_text(step))

    def _keys(self, head: str) -> Iterable[Completion]:
        """Return the keys that the object around the end of `head` may have."""
        around = _keys_around(head)
        last = around[-1] if around else ""
        if last == "where":
            return [c for c in self._names() if c.kind in ("field", "filter") and not c.text.startswith("param.")]
        if last in ("extraction", "meta", "context") and "compute" in around:
            names = [name for name in self._names() if name.text.startswith(f"{last}.")]
            return [Completion(name.text.removeprefix(f"{last}."), name.kind, name.description) for name in names]
        if last == "compute":
            operation = OPERATIONS.get(_operation_around(head, self.text[len(head) :]))
            return _complete_keys(list_step_keys(operation) if operation is not None else ("name", "op"))
        return _complete_keys(_SECTION_KEYS.get(last, ()))

    # --- the whole

    def format(self) -> str | None:
        """Return the text in canonical form; None if it cannot be read."""
        problems = Problems()
        tree = read_text(self.source, None, problems).tree
        return None if tree is None or problems.has_errors else layout(canonical(plain(tree)))


_SECTION_KEYS: dict[str, Sequence[str]] = {
    "": [*dict.fromkeys((*V2_KEYS, *V1_KEYS))],
    "compute_dag": [*V1_STEP_KEYS],
    "fields": [*FIELD_KEYS],
    "extraction_fields": [*FIELD_KEYS],
}
"""The keys of the objects in a section; those of the seed for an empty string."""


def _complete_keys(names: Iterable[str]) -> list[Completion]:
    return [Completion(name, "key") for name in names]


def _find_open_quote(beginning: str) -> int | None:
    """Return the offset of the string that is still open after the beginning of a line; None if there is none."""
    quote: int | None = None
    is_escaped = False
    for offset, character in enumerate(beginning):
        if quote is not None and character == "\\" and not is_escaped:
            is_escaped = True
            continue
        if character == '"' and not is_escaped:
            quote = None if quote is not None else offset
        is_escaped = False
    return quote


_LEXEME = re.compile(r'"(?:[^"\\\n]|\\.)*"|[{}\[\],:]')


def _keys_around(head: str) -> list[str]:
    """Return the keys of the objects and lists that are still open, from the outermost."""
    keys: list[str] = []
    last = pending = ""
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
    """Return the operation of the step between `head` and `tail`; empty if it has none."""
    step = head[head.rfind("{") :] + tail[: max(tail.find("}"), 0)]
    operations = re.findall(r'"op"\s*:\s*"(\w+)"', step)
    return operations[-1] if operations else ""


def _field_around(key: str, head: str) -> str:
    """Return the field that a value is compared with, with its namespace or else that of the object around it."""
    around = _keys_around(head)
    for name in reversed([*around, key]):
        if "." in name:
            return name
    space = next((name for name in reversed(around) if name in _CONDITION_SPACES), "")
    field = key
    if key in ("in", "!="):
        field = around[-1] if around else ""
    return f"{space}.{field}" if space else field
