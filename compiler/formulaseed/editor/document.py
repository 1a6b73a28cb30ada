"""Answer an editor's queries about one seed: definitions, references, hover texts, completions, the formatted text.

In: the text as it is typed, and offsets in characters. Out: plain values, which `server` converts to those of the protocol.
While the text has errors, names are looked up in the parts that can be read.
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
from formulaseed.editor.occurrences import Occurrence, find_occurrences, occurrence_at
from formulaseed.editor.unfinished import find_field, find_keys, find_open_quote, find_operation
from formulaseed.ir import nodes
from formulaseed.ir.labels import describe_step, describe_words
from formulaseed.ir.text import step_text
from formulaseed.language.ast import is_name
from formulaseed.language.functions import FUNCTIONS
from formulaseed.seed.kind import KIND as SEED
from formulaseed.seed.operations import OPERATIONS, list_step_keys
from formulaseed.seed.read.sections import FIELD_KEYS, FIELD_TYPES, V1_KEYS, V1_STEP_KEYS, V2_KEYS
from formulaseed.seed.read.steps import ADVERSE, MATCH_MODES, RULE_KEYS
from formulaseed.seed.write.canonical import canonicalize, format_json
from formulaseed.source.json_reader import plain_value
from formulaseed.source.text import Source

_WORD_BEFORE = re.compile(r"[\w.$]+$")
_ESCAPE_REST = re.compile(r"u[0-9a-fA-F]{4}|.")
_WORD_AFTER = re.compile(r"\$?[\w.]+")
_TOKEN = re.compile(r"\$?[A-Za-z_][\w.]*")
_KEY_BEFORE = re.compile(r'"((?:[^"\\]|\\.)*)"\s*:\s*(?:\[(?:\s*"(?:[^"\\]|\\.)*"\s*,)*)?\s*$')
_FORMULAS = ("expr", "when", "formula", "source", "field")
_CHECKED_KINDS = ("field", "filter", "function", "parameter", "step")
"""The kinds of completions that are offered only if the checker accepts them."""
_Declaration = nodes.ExtractionField | nodes.InputField | nodes.Parameter


@dataclass(frozen=True, slots=True)
class Completion:
    """A text to insert, with its kind and a line of description; `suffix` is inserted after it."""

    text: str
    kind: str
    description: str = ""
    suffix: str = ""


@dataclass(frozen=True, slots=True)
class OutlineSymbol:
    """A step, filter or field of an outline; `start` and `end` are the offsets of its name."""

    name: str
    kind: str
    start: int
    end: int


_FIXED_VALUES = {
    "op": [Completion(name, "operation", operation.doc) for name, operation in OPERATIONS.items()],
    "match": [Completion(name, "value", description) for name, description in MATCH_MODES.items()],
    "type": [Completion(name, "type") for name in FIELD_TYPES],
    "adverse": [Completion(name, "value", description) for name, description in ADVERSE.items()],
}
"""The completions of keys that have the same values in every seed."""


class SeedDocument:
    """One version of a seed's text, which may have errors. Offsets in the text are in characters."""

    def __init__(self, name: str, text: str) -> None:
        self.source = Source(name, text)
        self.text = text

    @cached_property
    def analysis(self) -> SeedAnalysis:
        """The results of the compiler's phases up to the check."""
        return analyse_text(self.source)

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """All errors, warnings and notes, in the order of the text."""
        return self.analysis.diagnostics

    @cached_property
    def program(self) -> nodes.Program | None:
        """The checked program without the steps that have an error; None if the text cannot be read as a seed."""
        if self.analysis.program is not None or self.analysis.parsed is None:
            return self.analysis.program
        return SEED.check(self.analysis.document, self.analysis.parsed, Problems())

    @cached_property
    def occurrences(self) -> tuple[Occurrence, ...]:
        """Every occurrence of a name, in the order of the text."""
        return find_occurrences(self.analysis.parsed)

    @cached_property
    def _steps(self) -> dict[str, nodes.Step]:
        """The steps without errors by name; empty without a program."""
        if self.program is None:
            return {}
        return {step.name: step for step in self.program.steps}

    # --- names

    def definition(self, offset: int) -> Occurrence | None:
        """Return the definition of the name at an offset; None for a standard field and anything else."""
        return next((occurrence for occurrence in self.references(offset) if occurrence.is_definition), None)

    def references(self, offset: int) -> list[Occurrence]:
        """Return every occurrence of the name at an offset, with its definition; empty if there is no name."""
        name = occurrence_at(self.occurrences, offset)
        return [occurrence for occurrence in self.occurrences if name is not None and occurrence.key == name.key]

    def rename(self, offset: int, name: str) -> list[tuple[Occurrence, str]]:
        """Return the occurrences to replace, each with its new text, to rename the name at an offset to `name`.

        Raises `ValueError` if `name` is invalid or taken (also by this name), or if the seed does not define the name
        there.
        """
        if not is_name(name):
            raise ValueError(f"`{name}` is no name: letters, digits and `_`, not beginning with a digit")
        if self.definition(offset) is None:
            raise ValueError("there is no name here that the seed defines")
        references = self.references(offset)
        if any(occurrence.key == (references[0].space, name) for occurrence in self.occurrences):
            raise ValueError(f"`{name}` is taken")
        return [(reference, name) for reference in references]

    def outline(self) -> Iterator[OutlineSymbol]:
        """Yield the fields, parameters and steps that the text defines, in its order, each with its kind and type."""
        for occurrence in self.occurrences:
            if occurrence.is_definition:
                kind, _ = self._describe(occurrence)
                yield OutlineSymbol(occurrence.name, kind, occurrence.start, occurrence.end)

    # --- hover

    def hover(self, offset: int) -> tuple[str, int, int] | None:
        """Return a description of the name or function at an offset, in Markdown, with the start and end of its text.

        Returns None for anything else. A name wins over a function.
        """
        occurrence = occurrence_at(self.occurrences, offset)
        if occurrence is None:
            return self._hover_function(offset)
        return self._hover_name(occurrence)

    def _hover_name(self, name: Occurrence) -> tuple[str, int, int]:
        """Return the hover text of a name, as Markdown, and the offsets where the name starts and ends.

        The text has its kind, its description, and the first ten steps that use it.
        """
        kind, text = self._describe(name)
        uses = [o for o in self.occurrences if o.key == name.key and not o.is_definition]
        steps = list(dict.fromkeys(step for o in uses if (step := self._step_around(o.start))))
        if steps:
            text += f"\n\nused by {', '.join(f'`{step}`' for step in steps[:10])}"
        return f"**{name.name}** · {kind}\n\n{text}", name.start, name.end

    def _hover_function(self, offset: int) -> tuple[str, int, int] | None:
        """Return the hover text of the function at an offset, with its start and end; None if there is none."""
        for token in _TOKEN.finditer(self.text, *self._find_line(offset)):
            if token.start() <= offset <= token.end() and token[0] in FUNCTIONS:
                function = FUNCTIONS[token[0]]
                text = f"**{function.signature}**\n\n{function.description}: `{function.example}`"
                return text, token.start(), token.end()
        return None

    def _describe(self, name: Occurrence) -> tuple[str, str]:
        """Return the kind, with the type, of a name, and its description."""
        if name.space == "step":
            return self._describe_step(name.name)
        return self._describe_input(name)

    def _describe_step(self, name: str) -> tuple[str, str]:
        """Return the kind of a step, with its type and bounds, and its formula; a note if it has an error."""
        step = self._steps.get(name)
        if step is None:
            return "step", "It has an error."
        kind = "filter" if isinstance(step.operation, nodes.Filter) else str(step.ty)
        if step.range and step.ty.is_numeric:
            kind += f", {step.range.low:g} to {step.range.high:g}"
        return kind, _join_paragraphs(describe_words(step), f"`{step_text(step)}`")

    def _describe_input(self, name: Occurrence) -> tuple[str, str]:
        """Return the kind and type of a field or parameter, and its description with the values of an enum.

        Without a declaration, the namespace and an empty text are returned.
        """
        declaration = next((d for space, d in self._list_declarations() if (space, d.name) == name.key), None)
        if declaration is None:
            return name.space, ""
        kind = "parameter" if name.space == "param" else f"{name.space} field"
        description = declaration.description
        if isinstance(declaration, nodes.ExtractionField):
            description += "".join(f"\n- `{value.name}`: {value.description}" for value in declaration.values)
        return f"{kind}, {declaration.ty}", _join_paragraphs(describe_words(declaration), description)

    def _list_declarations(self) -> Iterator[tuple[str, _Declaration]]:
        """Yield each field and parameter with its namespace; nothing without a program."""
        if self.program is not None:
            yield from (("extraction", field) for field in self.program.fields)
            yield from (("meta", field) for field in self.program.meta)
            yield from (("context", field) for field in self.program.context)
            yield from (("param", parameter) for parameter in self.program.parameters)

    def _step_around(self, offset: int) -> str:
        """Return the step whose definition is the last before an offset; empty if there is none."""
        names = [o.name for o in self.occurrences if o.is_definition and o.space == "step" and o.start <= offset]
        return names[-1] if names else ""

    def _find_line(self, offset: int) -> tuple[int, int]:
        """Return the start and end of the line around an offset, without its line break."""
        end = self.text.find("\n", offset)
        return self.text.rfind("\n", 0, offset) + 1, end if end >= 0 else len(self.text)

    # --- completion

    def word_at(self, offset: int) -> tuple[int, int]:
        """Return the start and end of the word around an offset, with namespace and `$`; twice the offset if none."""
        line_start, line_end = self._find_line(offset)
        before = _WORD_BEFORE.search(self.text, line_start, offset)
        after = _WORD_AFTER.match(self.text, offset, line_end)
        start = before.start() if before is not None else offset
        # the first letters may belong to an escape, such as `\n` or `\u00e9`
        if self.text[start - 1 : start] == "\\" and start < offset:
            escape = _ESCAPE_REST.match(self.text, start, offset)
            start = escape.end() if escape is not None else start
        return start, after.end() if after is not None else offset

    def completions(self, offset: int) -> list[Completion]:
        """Return the texts that may replace the word at an offset inside a string; empty outside of strings.

        Names and functions are those that the checker accepts there.
        """
        line_start, _ = self._find_line(offset)
        before = self.text[line_start:offset]
        quote = find_open_quote(before)
        if quote is None:
            return []
        head = self.text[: line_start + quote]
        key = _KEY_BEFORE.search(head[-2000:])
        if key is None:
            return self._keep_accepted(offset, list(self._complete_object(head)))
        return self._keep_accepted(offset, list(self._complete_value(key[1], before[quote + 1 :], head)))

    def _keep_accepted(self, offset: int, completions: list[Completion]) -> list[Completion]:
        """Return the completions without the names and functions that the checker does not accept at an offset.

        All are returned if the offset is not in a string of a step that may hold names.
        """
        place = place_at(self.text, self.analysis.document.tree, self.word_at(offset))
        examples = {name: function.example for name, function in FUNCTIONS.items()}
        candidates = {c.text: examples.get(c.text, c.text) for c in completions if c.kind in _CHECKED_KINDS}
        if place is None or not candidates:
            return completions
        accepted = find_accepted(place, candidates)
        return [c for c in completions if c.text not in candidates or c.text in accepted]

    def _complete_value(self, key: str, written: str, head: str) -> Iterable[Completion]:
        """Return the values that a string at a key may have; `written` is its beginning, `head` the text before."""
        if key in _FIXED_VALUES:
            return _FIXED_VALUES[key]
        if key in ("output", "output_fields"):
            return self._complete_outputs(len(head) + 1)
        if key in _FORMULAS:
            end = len(head) + 1 + len(written)
            return [*self._list_names(), *self._complete_functions(end)]
        return self._complete_enum(key if "." in key else find_field(key, head))

    def _complete_outputs(self, offset: int) -> list[Completion]:
        """Return the steps that are not outputs yet; the output at the offset counts as none, since it is replaced."""
        outputs = self.analysis.parsed.output if self.analysis.parsed is not None else ()
        used = {name.text for name in outputs if not name.span.start <= offset <= name.span.end}
        return [name for name in self._list_names() if name.kind == "step" and name.text not in used]

    def _complete_functions(self, offset: int) -> list[Completion]:
        """Return the functions, each with an opening bracket unless there is one after the word at the offset."""
        _, end = self.word_at(offset)
        bracket = "" if self.text[end : end + 1] == "(" else "("
        return [Completion(name, "function", function.signature, bracket) for name, function in FUNCTIONS.items()]

    def _complete_enum(self, name: str) -> list[Completion]:
        """Return the values of the extracted field with this full name; empty if there is none."""
        for space, declaration in self._list_declarations():
            if name == f"{space}.{declaration.name}" and isinstance(declaration, nodes.ExtractionField):
                return [Completion(value.name, "value", value.description) for value in declaration.values]
        return []

    def _list_names(self) -> Iterator[Completion]:
        """Yield a completion for each field, parameter, step and filter of the seed, except steps with errors."""
        for space, declaration in self._list_declarations():
            kind = "parameter" if space == "param" else "field"
            yield Completion(f"{space}.{declaration.name}", kind, declaration.description)
        for step in self._steps.values():
            if isinstance(step.operation, nodes.Filter):
                yield Completion(f"${step.name}", "filter", describe_step(step))
            else:
                yield Completion(step.name, "step", describe_step(step))

    def _complete_object(self, head: str) -> Iterable[Completion]:
        """Return the keys that the object around the end of `head` may have; names in conditions; none if unknown."""
        around = find_keys(head)
        last = (around or [""])[-1]
        if last == "where":
            return [c for c in self._list_names() if c.kind in ("field", "filter") and not c.text.startswith("param.")]
        if last in ("extraction", "meta", "context") and "compute" in around:
            names = [name for name in self._list_names() if name.text.startswith(f"{last}.")]
            return [Completion(name.text.removeprefix(f"{last}."), name.kind, name.description) for name in names]
        if last == "compute":
            operation = OPERATIONS.get(find_operation(head, self.text[len(head) :]))
            return _complete_keys(list_step_keys(operation) if operation is not None else ("name", "op"))
        return _complete_keys(_SECTION_KEYS.get(last, ()))

    # --- formatting

    def format(self) -> str | None:
        """Return the text in canonical form; None if it is no valid JSON or over a limit."""
        problems = Problems()
        tree = read_text(self.source, None, problems).tree
        if tree is None or problems.has_errors:
            return None
        return format_json(canonicalize(plain_value(tree)))


_SECTION_KEYS: dict[str, Sequence[str]] = {
    "": [*dict.fromkeys((*V2_KEYS, *V1_KEYS))],
    "compute_dag": [*V1_STEP_KEYS],
    "fields": [*FIELD_KEYS],
    "extraction_fields": [*FIELD_KEYS],
    "rules": RULE_KEYS,
}
"""The keys of the objects in a section; those of the seed for an empty string."""


def _join_paragraphs(*paragraphs: str) -> str:
    """Return the paragraphs that are not empty as one text in Markdown."""
    return "\n\n".join(filter(None, paragraphs))


def _complete_keys(names: Iterable[str]) -> list[Completion]:
    """Return a completion for each name of a key."""
    return [Completion(name, "key") for name in names]
