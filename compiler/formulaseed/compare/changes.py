"""Finds what differs between two seeds, compared as checked programs: how they are written does not matter.

Each change has one category: it may change values, it changes what is extracted (so that stored answers are of another
question), it changes the outputs, or it is cosmetic. A step with another name and an equal definition is renamed.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from difflib import SequenceMatcher
from typing import Any, Literal

from formulaseed.compare.definitions import Definitions, definition_lines
from formulaseed.documents import FormulaSeed
from formulaseed.ir import nodes
from formulaseed.ir.dependencies import downstream, names_of, symbol_of
from formulaseed.language.printer import literal_text
from formulaseed.language.typed import Symbol, SymbolKind
from formulaseed.language.types import Type
from formulaseed.pages.blocks import Block, ChangedLines, Heading, InlineCode, Paragraph, join_names, sentence
from formulaseed.source.json_reader import plain, value_at

Category = Literal["values", "extraction", "outputs", "cosmetic"]
Kind = Literal["added", "removed", "changed", "renamed", "reordered"]
_Declared = nodes.ExtractionField | nodes.InputField | nodes.Parameter
_Text = tuple[str, ...]
"""A part of a seed in lines that are compared one by one."""
_QUESTION = ("keywords", "review_handling", "passes", "extraction_prompt", "examples")
"""What of a program decides what is extracted, beside the fields."""
_TITLES: dict[Category, str] = {
    "values": "May change values",
    "extraction": "Changes what is extracted",
    "outputs": "Changes outputs",
    "cosmetic": "Cosmetic",
}
_PART_NAMES = {SymbolKind.PARAMETER: "parameter", SymbolKind.EXTRACTION: "field"}
_MAX_LINES = 40
_ABOUT = ("task_name", "version", "description")
_DESCRIPTION = "description "
_WITHOUT_EFFECT = ("allow", "properties", "$schema")
"""Keys of the document that change no value."""


@dataclass(frozen=True, slots=True)
class Change:
    """One change. `before` and `after` are the lines that differ; `affects` are the steps that use what changed.

    `what` is the part of the seed: `step`, `filter`, `parameter`, `field`, `output`, `keywords`. `place` is in the new file,
    of a removed part in the old one, as `file:line:column`; empty if there is none.
    """

    category: Category
    what: str
    kind: Kind
    name: str
    before: _Text = ()
    after: _Text = ()
    affects: _Text = ()
    place: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return it as `--format json` has it."""
        return asdict(self)

    def sentence(self) -> Paragraph:
        """Return the change in words."""
        is_only_one = self.what in (self.name, f"{self.name}s")  # such as the prompt
        parts = [f"{self.kind}: ", self.what.replace("_", " ")]
        if not is_only_one and self.kind != "reordered":
            parts += [" ", InlineCode(self.name)]
        if self.place:
            parts += [" (", InlineCode(self.place), ")"]
        if self.affects:
            parts += [", which affects ", *join_names(self.affects)]
        return sentence(*parts)


@dataclass(frozen=True, slots=True)
class Changes:
    """All changes, and `names`: for each step of the old program its name in the new one."""

    all: tuple[Change, ...]
    names: Mapping[str, str]

    def of(self, category: Category) -> tuple[Change, ...]:
        """Return the changes of one category."""
        return tuple(change for change in self.all if change.category == category)

    def blocks(self) -> Iterator[Block]:
        """Yield every change, with the lines that differ, by category."""
        for category, title in _TITLES.items():
            changes = self.of(category)
            if changes:
                yield Heading(title, 3)
            for change in changes:
                yield change.sentence()
                if change.kind != "reordered" and (change.before or change.after):
                    yield ChangedLines(_cut(change.before), _cut(change.after))

    def names_by_category(self) -> Iterator[Block]:
        """Yield a sentence for each category with the names of what changed."""
        for category, title in _TITLES.items():
            names = dict.fromkeys(change.name for change in self.of(category))
            if names:
                yield sentence(f"{title}: ", *join_names(names), ".")


def _cut(lines: _Text) -> _Text:
    more = len(lines) - _MAX_LINES
    return lines if more <= 0 else (*lines[:_MAX_LINES], f"… {more:,} more")


def changes_between(old: FormulaSeed, new: FormulaSeed) -> Changes:
    """Compare two seeds."""
    names = _match_steps(old.program, new.program)
    return Changes(tuple(_Comparison(old, new, names).changes()), names)


def _match_steps(old: nodes.Program, new: nodes.Program) -> dict[str, str]:
    """Return for each old step its name in the new program: its own, else that of a new step with the same definition."""
    new_names = {step.name for step in new.steps}
    names = {step.name: step.name for step in old.steps if step.name in new_names}
    before = Definitions(old, names)
    after = Definitions(new, {name: name for name in new_names})
    unmatched: dict[Hashable, list[str]] = {}
    for step in new.steps:
        if step.name not in names:
            unmatched.setdefault((type(step.operation) is nodes.Filter, after.of(step)), []).append(step.name)
    for step in old.steps:  # those that it uses have their new names already
        if step.name not in names:
            same = unmatched.get((type(step.operation) is nodes.Filter, before.of(step)))
            if same:
                names[step.name] = same.pop(0)
    return names


class _Comparison:
    """Compares two seeds part by part."""

    def __init__(self, old: FormulaSeed, new: FormulaSeed, names: Mapping[str, str]) -> None:
        self.old = old
        self.new = new
        self.names = names
        self.before = Definitions(old.program, names)
        self.after = Definitions(new.program, {name: name for name in names.values()})

    def changes(self) -> Iterator[Change]:
        """Yield all changes."""
        old, new = self.old.program, self.new.program
        yield from self._declarations(SymbolKind.PARAMETER, old.parameters, new.parameters)
        yield from self._declarations(SymbolKind.META, old.meta, new.meta)
        yield from self._declarations(SymbolKind.CONTEXT, old.context, new.context)
        yield from self._steps()
        yield from self._declarations(SymbolKind.EXTRACTION, old.fields, new.fields)
        yield from self._question()
        yield from self._outputs()
        yield from self._cosmetics()

    # --- steps

    def _steps(self) -> Iterator[Change]:
        old_steps = {step.name: step for step in self.old.program.steps}
        old_names = {new: old for old, new in self.names.items()}
        for name, step in old_steps.items():
            if name not in self.names:
                yield _step_change("values", "removed", step, definition_lines(step), (), _users(self.old, step))
        for step in self.new.program.steps:
            if step.name not in old_names:
                yield _step_change("values", "added", step, (), definition_lines(step), _users(self.new, step))
                continue
            old_step = old_steps[old_names[step.name]]
            if self.before.of(old_step) != self.after.of(step):
                lines = _different_lines(definition_lines(old_step), definition_lines(step))
                yield _step_change("values", "changed", step, *lines, _users(self.new, step))
            elif old_step.name != step.name:
                yield _step_change("cosmetic", "renamed", step, (old_step.name,), (step.name,))
            else:
                lines = _different_lines(_json_lines(self.old, old_step), _json_lines(self.new, step))
                if any(lines):
                    yield _step_change("cosmetic", "changed", step, *lines)

    # --- declared fields and parameters

    def _declarations(self, kind: SymbolKind, old: Sequence[_Declared], new: Sequence[_Declared]) -> Iterator[Change]:
        """Compare the declared fields of a namespace, or the parameters."""
        before = {declared.name: declared for declared in old}
        after = {declared.name: declared for declared in new}
        for name in dict.fromkeys((*before, *after)):
            old_lines = _declaration_lines(before[name]) if name in before else ()
            new_lines = _declaration_lines(after[name]) if name in after else ()
            if old_lines != new_lines:
                seed = self.new if name in after else self.old
                affects = names_of(downstream(seed.program, [Symbol(kind, name)]))
                removed, added = _different_lines(old_lines, new_lines)
                category = _category_of(kind, affects, (*removed, *added))
                part = _PART_NAMES.get(kind, f"{kind.value} field")
                yield Change(category, part, _kind_of(old_lines, new_lines), name, removed, added, affects)
        is_reordered = [name for name in before if name in after] != [name for name in after if name in before]
        if kind is SymbolKind.EXTRACTION and is_reordered:
            yield Change("extraction", "fields", "reordered", "fields", tuple(before), tuple(after))

    def _question(self) -> Iterator[Change]:
        for part, before, after in self._different_parts(_QUESTION):
            if part == "keywords" and sorted(map(str.casefold, before)) == sorted(map(str.casefold, after)):
                yield Change("cosmetic", part, "reordered", part, before, after)
            else:
                yield Change("extraction", part, _kind_of(before, after), part, *_different_lines(before, after))

    # --- outputs, and what changes nothing

    def _outputs(self) -> Iterator[Change]:
        old, new = self.old.program.output, self.new.program.output
        renamed = {self.names[name]: name for name in old if name in self.names and name not in new}
        for name in old:
            if name not in new and self.names.get(name) not in new:
                yield Change("outputs", "output", "removed", name, before=(name,))
        for name in new:
            if name in renamed:
                yield Change("outputs", "output", "renamed", name, (renamed[name],), (name,))
            elif name not in old:
                yield Change("outputs", "output", "added", name, after=(name,))
            else:
                lines = _different_lines(
                    _type_lines(self.before.steps[name].ty), _type_lines(self.after.steps[name].ty)
                )
                if any(lines):
                    yield Change("outputs", "output", "changed", name, *lines)
        if old != new and set(old) == set(new):
            yield Change("outputs", "outputs", "reordered", "output", old, new)

    def _cosmetics(self) -> Iterator[Change]:
        for part, before, after in self._different_parts(_ABOUT):
            yield Change("cosmetic", part, _kind_of(before, after), part, *_different_lines(before, after))
        for key in _WITHOUT_EFFECT:
            before, after = _key_lines(self.old, key), _key_lines(self.new, key)
            if before != after:
                yield Change("cosmetic", key, _kind_of(before, after), key, *_different_lines(before, after))
        old_order = [self.names[step.name] for step in self.old.program.steps if step.name in self.names]
        in_both = set(old_order)
        new_order = [step.name for step in self.new.program.steps if step.name in in_both]
        if old_order != new_order:
            yield Change("cosmetic", "steps", "reordered", "steps", tuple(old_order), tuple(new_order))

    def _different_parts(self, names: Iterable[str]) -> Iterator[tuple[str, _Text, _Text]]:
        """Yield the attributes of the programs that differ, with their lines before and after."""
        for name in names:
            before = _part_lines(getattr(self.old.program, name))
            after = _part_lines(getattr(self.new.program, name))
            if before != after:
                yield name, before, after


def _step_change(
    category: Category, kind: Kind, step: nodes.Step, before: _Text, after: _Text, affects: _Text = ()
) -> Change:
    part = "filter" if isinstance(step.operation, nodes.Filter) else "step"
    line, column = step.span.source.position(step.span.start)
    place = f"{step.span.source.name}:{line}:{column}"
    return Change(category, part, kind, step.name, before, after, affects, place)


def _users(seed: FormulaSeed, step: nodes.Step) -> _Text:
    """Return the other steps that use a step, directly or not."""
    users = names_of(downstream(seed.program, [symbol_of(step)]))
    return tuple(name for name in users if name != step.name)


def _category_of(kind: SymbolKind, affects: _Text, lines: _Text) -> Category:
    """Return the category of a changed declaration: a description, or what no step uses, is cosmetic."""
    if kind is SymbolKind.EXTRACTION:
        return "extraction"
    is_description = all(line.startswith(_DESCRIPTION) for line in lines)
    return "values" if affects and not is_description else "cosmetic"


def _kind_of(before: _Text, after: _Text) -> Kind:
    if before and after:
        return "changed"
    return "added" if after else "removed"


def _different_lines(before: Sequence[str], after: Sequence[str]) -> tuple[_Text, _Text]:
    """Return the lines that were removed, and those that were added."""
    removed: list[str] = []
    added: list[str] = []
    for tag, a, b, c, d in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag != "equal":
            removed += before[a:b]
            added += after[c:d]
    return tuple(removed), tuple(added)


# --- parts of a seed in lines


def _json_lines(seed: FormulaSeed, step: nodes.Step) -> _Text:
    """Return the keys of the step's JSON object with their values."""
    tree = seed.document.tree
    node = value_at(tree, step.span.pointer.rpartition("/")[0]) if tree is not None else None
    values = plain(node) if node is not None else None
    if not isinstance(values, dict):
        return ()
    return tuple(f"{key}: {_json_text(value)}" for key, value in sorted(values.items()))


def _key_lines(seed: FormulaSeed, key: str) -> _Text:
    """Return the value of a key of the document, in a line for each part."""
    value = seed.data.get(key) if isinstance(seed.data, dict) else None
    if value is None:
        return ()
    if isinstance(value, dict):
        return tuple(f"{name}: {_json_text(part)}" for name, part in value.items())
    return tuple(map(_json_text, value if isinstance(value, list) else [value]))


def _json_text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _declaration_lines(declared: _Declared) -> _Text:
    """Return a field or parameter in lines, without its name."""
    lines = [f"type {_type_lines(declared.ty)[0]}"]
    for attribute in fields(declared):
        name, value = attribute.name, getattr(declared, attribute.name)
        if name == "values":
            lines += [f"value {literal_text(option.name)}: {option.description}" for option in value]
        elif name == "description":
            lines += [f"{_DESCRIPTION}{value}"] if value else []
        elif name == "default":
            lines += [f"default {literal_text(value)}"] if value is not None else []
        elif name not in ("name", "ty") and value is not None and value is not False and value != ():
            lines.append(f"{name} {literal_text(value)}")
    return tuple(lines)


def _type_lines(ty: Type) -> _Text:
    """Return a type, an enum with a line for each value."""
    name = "enum" if ty.values is not None else str(ty.present())
    if ty.nullable:
        name += " or null"
    return name, *(f"value {literal_text(value)}" for value in sorted(ty.values or ()))


def _part_lines(part: object) -> _Text:
    """Return a part of a program in lines."""
    if part is None or part == "":
        return ()
    if isinstance(part, tuple):
        return tuple(line for element in part for line in _part_lines(element))
    attributes: Iterable[str] = getattr(part, "__dataclass_fields__", ())
    if attributes:
        return tuple(f"{name} {getattr(part, name)}" for name in attributes)
    return tuple(str(part).splitlines())
