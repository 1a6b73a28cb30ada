"""Find the differences of two seeds, compared as checked programs: another spelling is only a cosmetic change.

Each change has one category: it may change values, it changes what is extracted (stored answers then belong to another
question), it changes the outputs, or it is cosmetic. A step with another name and an equal definition is renamed.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from difflib import SequenceMatcher
from typing import Any, Literal

from formulaseed.compare.definitions import DefinitionKeys, format_definition
from formulaseed.documents import FormulaSeed
from formulaseed.ir import nodes
from formulaseed.ir.dependencies import find_dependents, step_symbol, unique_names
from formulaseed.language.printer import literal_text
from formulaseed.language.typed import Symbol, SymbolKind
from formulaseed.language.types import Type
from formulaseed.pages.blocks import Block, ChangedLines, Heading, InlineCode, Paragraph, join_names, sentence
from formulaseed.source.json_reader import find_value, plain_value

Category = Literal["values", "extraction", "outputs", "cosmetic"]
Kind = Literal["added", "removed", "changed", "renamed", "reordered"]
_Declared = nodes.ExtractionField | nodes.InputField | nodes.Parameter
_TextLines = tuple[str, ...]
"""A part of a seed as lines that are compared one by one, or several names."""
_EXTRACTION_ATTRIBUTES = ("keywords", "review_handling", "passes", "extraction_prompt", "examples")
"""Attributes of a program that decide what is extracted, in addition to its fields."""
_TITLES: dict[Category, str] = {
    "values": "May change values",
    "extraction": "Changes what is extracted",
    "outputs": "Changes outputs",
    "cosmetic": "Cosmetic",
}
_DECLARATION_NAMES = {SymbolKind.PARAMETER: "parameter", SymbolKind.EXTRACTION: "field"}
"""The part that a change of such a declaration names; of other kinds it is the kind and `field`."""
_MAX_CHANGED_LINES = 40  # of one change on a page, before and after each
_COSMETIC_ATTRIBUTES = ("task_name", "version", "description")
_DESCRIPTION_PREFIX = "description "  # of the line of `_format_declaration` with the description
_WORD_PREFIXES = ("label ", "unit ")  # of its lines with words for people, which no model reads
_COSMETIC_KEYS = ("allow", "properties", "$schema")
"""Keys of a seed file that change neither values nor answers."""


@dataclass(frozen=True, slots=True)
class SeedChange:
    """One change of a part of a seed.

    `part` is the kind of part, such as `step`, `filter`, `parameter`, `field`, `output` or `keywords`; `name` names it.
    `before` and `after` are the lines that differ, or all names in their order if the part is reordered. `affects`
    names the steps that use the part, directly or not. `place` is the position of a step or filter as
    `file:line:column`, in the new file, or in the old file if it was removed; empty for other parts.
    """

    category: Category
    part: str
    kind: Kind
    name: str
    before: _TextLines = ()
    after: _TextLines = ()
    affects: _TextLines = ()
    place: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the change as a JSON object of `--format json`, as docs/analysis.md describes it."""
        return {"what" if name == "part" else name: value for name, value in asdict(self).items()}

    def sentence(self) -> Paragraph:
        """Return the change as a sentence for a page, with its place and affected steps, without changed lines."""
        is_only_one = self.part in (self.name, f"{self.name}s")  # a seed has one prompt, which needs no name
        parts = [f"{self.kind}: ", self.part.replace("_", " ")]
        if not is_only_one and self.kind != "reordered":
            parts += [" ", InlineCode(self.name)]
        if self.place:
            parts += [" (", InlineCode(self.place), ")"]
        if self.affects:
            parts += [", which affects ", *join_names(self.affects)]
        return sentence(*parts)


@dataclass(frozen=True, slots=True)
class SeedChanges:
    """All changes from one seed to another. `new_names` maps the old names of steps that both have to the new ones."""

    all: tuple[SeedChange, ...]
    new_names: Mapping[str, str]

    @property
    def changed_steps(self) -> frozenset[str]:
        """The names of the steps whose values may change, in either seed: those with a change, and those that use them."""
        changes = (*self.select("values"), *self.select("extraction"))
        return frozenset(name for change in changes for name in (change.name, *change.affects))

    def select(self, category: Category) -> tuple[SeedChange, ...]:
        """Return the changes of one category."""
        return tuple(change for change in self.all if change.category == category)

    def build_blocks(self) -> Iterator[Block]:
        """Yield every change with the lines that differ, under a heading for each category that has changes.

        At most `_MAX_CHANGED_LINES` lines of each side are included. The lines of reordered parts are left out.
        """
        for category, title in _TITLES.items():
            changes = self.select(category)
            if changes:
                yield Heading(title, 3)
            for change in changes:
                yield change.sentence()
                if change.kind != "reordered" and (change.before or change.after):
                    yield ChangedLines(_cut_lines(change.before), _cut_lines(change.after))

    def summarize_categories(self) -> Iterator[Block]:
        """Yield one sentence for each category that has changes, with the names of the changed parts."""
        for category, title in _TITLES.items():
            names = dict.fromkeys(change.name for change in self.select(category))
            if names:
                yield sentence(f"{title}: ", *join_names(names), ".")


def _cut_lines(lines: _TextLines) -> _TextLines:
    """Return at most the first `_MAX_CHANGED_LINES` lines, and a line with the number of the rest if there are more."""
    more = len(lines) - _MAX_CHANGED_LINES
    return lines if more <= 0 else (*lines[:_MAX_CHANGED_LINES], f"… {more:,} more")


def find_changes(old: FormulaSeed, new: FormulaSeed) -> SeedChanges:
    """Return every change from one checked seed to another."""
    new_names = _match_steps(old.program, new.program)
    return SeedChanges(tuple(_SeedComparison(old, new, new_names).compare()), new_names)


def _match_steps(old: nodes.Program, new: nodes.Program) -> dict[str, str]:
    """Map old step names to new ones: a step keeps its name if the new program has it, else equal definitions match.

    Old steps without a counterpart are not in the result.
    """
    names_in_new = {step.name for step in new.steps}
    new_names = {step.name: step.name for step in old.steps if step.name in names_in_new}
    before = DefinitionKeys(old, new_names)  # sees the matches that are added below
    after = DefinitionKeys(new, {name: name for name in names_in_new})
    unmatched: dict[Hashable, list[str]] = {}
    for step in new.steps:
        if step.name not in new_names:
            unmatched.setdefault(after.build_key(step), []).append(step.name)
    for step in old.steps:  # the steps that this one uses precede it, so they are matched already
        if step.name not in new_names:
            candidates = unmatched.get(before.build_key(step))
            if candidates:
                new_names[step.name] = candidates.pop(0)
    return new_names


class _SeedComparison:
    """A comparison of two checked seeds part by part, given the new names of the old seed's steps."""

    def __init__(self, old: FormulaSeed, new: FormulaSeed, new_names: Mapping[str, str]) -> None:
        self.old = old
        self.new = new
        self.new_names = new_names
        self.before = DefinitionKeys(old.program, new_names)
        self.after = DefinitionKeys(new.program, {name: name for name in new_names.values()})

    def compare(self) -> Iterator[SeedChange]:
        """Yield all changes: declared inputs and steps first, then extraction, outputs and cosmetic ones."""
        old, new = self.old.program, self.new.program
        yield from self._compare_declarations(SymbolKind.PARAMETER, old.parameters, new.parameters)
        yield from self._compare_declarations(SymbolKind.META, old.meta, new.meta)
        yield from self._compare_declarations(SymbolKind.CONTEXT, old.context, new.context)
        yield from self._compare_steps()
        yield from self._compare_declarations(SymbolKind.EXTRACTION, old.fields, new.fields)
        yield from self._compare_extraction()
        yield from self._compare_outputs()
        yield from self._compare_cosmetics()

    # --- steps

    def _compare_steps(self) -> Iterator[SeedChange]:
        """Yield the removed, added, changed and renamed steps, and those that spell the same definition differently.

        Removed steps come first, in the old order; then the others, in the new order. A step has at most one change.
        """
        old_steps = {step.name: step for step in self.old.program.steps}
        old_names = {new: old for old, new in self.new_names.items()}
        for name, step in old_steps.items():
            if name not in self.new_names:
                users = _find_users(self.old, step)
                yield _build_step_change("values", "removed", step, format_definition(step), (), users)
        for step in self.new.program.steps:
            if step.name not in old_names:
                users = _find_users(self.new, step)
                yield _build_step_change("values", "added", step, (), format_definition(step), users)
                continue
            old_step = old_steps[old_names[step.name]]
            if self.before.build_key(old_step) != self.after.build_key(step):
                lines = _diff_lines(format_definition(old_step), format_definition(step))
                yield _build_step_change("values", "changed", step, *lines, _find_users(self.new, step))
            elif old_step.name != step.name:
                yield _build_step_change("cosmetic", "renamed", step, (old_step.name,), (step.name,))
            else:
                lines = _diff_lines(_format_step_json(self.old, old_step), _format_step_json(self.new, step))
                if any(lines):
                    yield _build_step_change("cosmetic", "changed", step, *lines)

    # --- declared fields and parameters

    def _compare_declarations(
        self, kind: SymbolKind, old: Sequence[_Declared], new: Sequence[_Declared]
    ) -> Iterator[SeedChange]:
        """Yield the changes of the parameters, or of the declared fields of one kind, matched by name.

        The order matters only for extraction fields, since the model is asked about them in this order. A removed
        declaration affects steps of the old seed, any other those of the new one.
        """
        before = {declared.name: _format_declaration(declared) for declared in old}
        after = {declared.name: _format_declaration(declared) for declared in new}
        for name in dict.fromkeys((*before, *after)):
            old_lines = before.get(name, ())
            new_lines = after.get(name, ())
            if old_lines != new_lines:
                seed = self.new if name in after else self.old
                affects = unique_names(find_dependents(seed.program, [Symbol(kind, name)]))
                removed, added = _diff_lines(old_lines, new_lines)
                category = _choose_declaration_category(kind, affects, (*removed, *added))
                part = _DECLARATION_NAMES.get(kind, f"{kind.value} field")
                yield SeedChange(category, part, _choose_kind(old_lines, new_lines), name, removed, added, affects)
        is_reordered = [name for name in before if name in after] != [name for name in after if name in before]
        if kind is SymbolKind.EXTRACTION and is_reordered:
            yield SeedChange("extraction", "fields", "reordered", "fields", tuple(before), tuple(after))

    def _compare_extraction(self) -> Iterator[SeedChange]:
        """Yield the changes of `_EXTRACTION_ATTRIBUTES`; another order or case of keywords is cosmetic."""
        for part, before, after in self._find_changed_attributes(_EXTRACTION_ATTRIBUTES):
            if part == "keywords" and sorted(map(str.casefold, before)) == sorted(map(str.casefold, after)):
                yield SeedChange("cosmetic", part, "reordered", part, before, after)
            else:
                yield SeedChange("extraction", part, _choose_kind(before, after), part, *_diff_lines(before, after))

    # --- outputs and cosmetic changes

    def _compare_outputs(self) -> Iterator[SeedChange]:
        """Yield the outputs that were removed, renamed, added or reordered, or that have another type.

        Another order is a change only if both seeds have outputs with the same names.
        """
        old, new = self.old.program.output, self.new.program.output
        renamed = {self.new_names[name]: name for name in old if name in self.new_names and name not in new}
        for name in old:
            if name not in new and self.new_names.get(name) not in new:
                yield SeedChange("outputs", "output", "removed", name, before=(name,))
        for name in new:
            if name in renamed:
                yield SeedChange("outputs", "output", "renamed", name, (renamed[name],), (name,))
            elif name not in old:
                yield SeedChange("outputs", "output", "added", name, after=(name,))
            else:
                lines = _diff_lines(*(_format_type(keys.steps[name].ty) for keys in (self.before, self.after)))
                if any(lines):
                    yield SeedChange("outputs", "output", "changed", name, *lines)
        if old != new and set(old) == set(new):
            yield SeedChange("outputs", "outputs", "reordered", "output", old, new)

    def _compare_cosmetics(self) -> Iterator[SeedChange]:
        """Yield the changes of name, version, description and keys without effect, and another order of the steps.

        Only the steps that both seeds have are compared for their order, renamed ones by their new names.
        """
        for part, before, after in self._find_changed_attributes(_COSMETIC_ATTRIBUTES):
            yield SeedChange("cosmetic", part, _choose_kind(before, after), part, *_diff_lines(before, after))
        for key in _COSMETIC_KEYS:
            before = _format_document_key(self.old, key)
            after = _format_document_key(self.new, key)
            if before != after:
                yield SeedChange("cosmetic", key, _choose_kind(before, after), key, *_diff_lines(before, after))
        old_order = [self.new_names[step.name] for step in self.old.program.steps if step.name in self.new_names]
        in_both = set(old_order)
        new_order = [step.name for step in self.new.program.steps if step.name in in_both]
        if old_order != new_order:
            yield SeedChange("cosmetic", "steps", "reordered", "steps", tuple(old_order), tuple(new_order))

    def _find_changed_attributes(self, names: Iterable[str]) -> Iterator[tuple[str, _TextLines, _TextLines]]:
        """Yield those of the named program attributes that differ, each with its lines before and after."""
        for name in names:
            before = _format_attribute(getattr(self.old.program, name))
            after = _format_attribute(getattr(self.new.program, name))
            if before != after:
                yield name, before, after


def _build_step_change(
    category: Category, kind: Kind, step: nodes.Step, before: _TextLines, after: _TextLines, affects: _TextLines = ()
) -> SeedChange:
    """Return a change of `step`, which is a step of the new program or, if it was removed, of the old one."""
    part = "filter" if isinstance(step.operation, nodes.Filter) else "step"
    return SeedChange(category, part, kind, step.name, before, after, affects, step.span.place)


def _find_users(seed: FormulaSeed, step: nodes.Step) -> _TextLines:
    """Return the names of the other steps that use `step`, directly or through other steps."""
    users = unique_names(find_dependents(seed.program, [step_symbol(step)]))
    return tuple(name for name in users if name != step.name)


def _choose_declaration_category(kind: SymbolKind, affects: _TextLines, lines: _TextLines) -> Category:
    """Return the category of a changed declaration, given the steps that it affects and the lines that differ.

    A change of an extraction field changes what is extracted, unless only words for people differ. Otherwise a change
    is cosmetic if no step uses the declaration or only the words and the description differ.
    """
    if kind is SymbolKind.EXTRACTION and not all(line.startswith(_WORD_PREFIXES) for line in lines):
        return "extraction"
    is_prose = all(line.startswith((_DESCRIPTION_PREFIX, *_WORD_PREFIXES)) for line in lines)
    return "values" if affects and not is_prose else "cosmetic"


def _choose_kind(before: _TextLines, after: _TextLines) -> Kind:
    """Return whether a part was `changed`, `added` (no lines before) or `removed` (no lines after)."""
    if before and after:
        return "changed"
    return "added" if after else "removed"


def _diff_lines(before: Sequence[str], after: Sequence[str]) -> tuple[_TextLines, _TextLines]:
    """Return the lines of `before` that were removed and the lines of `after` that were added."""
    removed: list[str] = []
    added: list[str] = []
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    for tag, old_start, old_end, new_start, new_end in matcher.get_opcodes():
        if tag != "equal":
            removed += before[old_start:old_end]
            added += after[new_start:new_end]
    return tuple(removed), tuple(added)


# --- parts of a seed as lines


def _format_step_json(seed: FormulaSeed, step: nodes.Step) -> _TextLines:
    """Return one line for each key of the step's JSON object, sorted by key; none if the file has no such object."""
    node = find_value(seed.document.tree, step.span.pointer.rpartition("/")[0])
    values = plain_value(node) if node is not None else None
    if not isinstance(values, dict):
        return ()
    return tuple(f"{key}: {_format_json(value)}" for key, value in sorted(values.items()))


def _format_document_key(seed: FormulaSeed, key: str) -> _TextLines:
    """Return the value of a top-level key, one line for each entry or element; none if the key is missing or null."""
    value = seed.data.get(key) if isinstance(seed.data, dict) else None
    if value is None:
        return ()
    if isinstance(value, dict):
        return tuple(f"{name}: {_format_json(part)}" for name, part in value.items())
    return tuple(map(_format_json, value if isinstance(value, list) else [value]))


def _format_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _format_declaration(declared: _Declared) -> _TextLines:
    """Return the attributes of a field or parameter except its name, one line each; unset ones have no line."""
    lines = [f"type {_format_type(declared.ty)[0]}"]
    for attribute in fields(declared):
        name = attribute.name
        value = getattr(declared, name)
        is_unset = value is None or value == () or (value is False and name != "default")  # a default may be false
        if name in ("name", "ty") or is_unset:
            continue
        if name == "values":
            lines += [f"value {literal_text(option.name)}: {option.description}" for option in value]
        elif name != "description":
            lines.append(f"{name} {literal_text(value)}")
        elif value:
            lines.append(f"{_DESCRIPTION_PREFIX}{value}")
    return tuple(lines)


def _format_type(ty: Type) -> _TextLines:
    """Return the name of a type as a line, then one line for each value of an enum."""
    name = "enum" if ty.values is not None else str(ty.non_null())
    if ty.nullable:
        name += " or null"
    return name, *(f"value {literal_text(value)}" for value in sorted(ty.values or ()))


def _format_attribute(value: object) -> _TextLines:
    """Return a program's attribute as lines, one for each element, field or line; none if it is None or empty."""
    if value is None or value == "":
        return ()
    if isinstance(value, tuple):
        return tuple(line for element in value for line in _format_attribute(element))
    attributes: Iterable[str] = getattr(value, "__dataclass_fields__", ())
    if attributes:
        return tuple(f"{name} {getattr(value, name)}" for name in attributes)
    return tuple(str(value).splitlines())
