"""What differs between two seeds, compared as checked programs: how it is written does not matter, what it says does.

Each change has one category: it may change values, it changes what is extracted (so that stored answers are of another
question), it changes the outputs, or it is cosmetic. A step with another name and an equal definition is renamed.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from difflib import SequenceMatcher
from typing import Any, Literal

from formulaseed.compare.definitions import Definitions, shown_lines
from formulaseed.ir import nodes
from formulaseed.ir.dependencies import downstream, names_of, symbol_of
from formulaseed.language.printer import literal_text
from formulaseed.language.typed import Symbol, SymbolKind
from formulaseed.language.types import Type
from formulaseed.loading import FormulaSeed
from formulaseed.pages.blocks import Block, Code, Heading, Lines, Paragraph, join_names, sentence
from formulaseed.source.json_reader import Plain, plain, value_at
from formulaseed.source.text import Span

Category = Literal["values", "extraction", "outputs", "cosmetic"]
Kind = Literal["added", "removed", "changed", "renamed", "reordered"]
_Declared = nodes.ExtractionField | nodes.InputField | nodes.Parameter
_ASKED = ("keywords", "review_handling", "passes", "extraction_prompt", "examples")
"""What of a program decides what is extracted, beside the fields."""
_TITLES: dict[Category, str] = {
    "values": "May change values",
    "extraction": "Changes what is extracted",
    "outputs": "Changes outputs",
    "cosmetic": "Cosmetic",
}
_SHOWN = 40
_ABOUT = ("task_name", "version", "description")
_DESCRIPTION = "description "
_UNCHECKED = ("allow", "properties", "$schema")
"""Keys of the document by which no value changes."""


@dataclass(frozen=True, slots=True)
class Change:
    """One change. `before` and `after` are the lines that differ; `affects` are the steps that use what changed.

    `what` is the part of the seed: `step`, `filter`, `parameter`, `field`, `output`, `keywords`. `place` is in the new file,
    for what was removed in the old one, as `file:line:column`; empty if there is none.
    """

    category: Category
    what: str
    kind: Kind
    name: str
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    affects: tuple[str, ...] = ()
    place: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return it as `--format json` has it."""
        return asdict(self)

    def sentence(self) -> Paragraph:
        """Return the change in words."""
        is_one = self.what in (self.name, f"{self.name}s")  # there is one of it, such as the prompt
        what = self.what.replace("_", " ")
        named: list[str] = [what] if is_one or self.kind == "reordered" else [f"{what} ", Code(self.name)]
        place: list[str] = [" (", Code(self.place), ")"] if self.place else []
        users: list[str] = [", which affects ", *join_names(self.affects)] if self.affects else []
        return sentence(f"{self.kind}: ", *named, *place, *users)


@dataclass(frozen=True, slots=True)
class Changes:
    """All changes, and `names`: for each step of the old program what it is called in the new one."""

    found: tuple[Change, ...]
    names: Mapping[str, str]

    def of(self, category: Category) -> tuple[Change, ...]:
        """Return the changes of one category."""
        return tuple(change for change in self.found if change.category == category)

    def blocks(self) -> Iterator[Block]:
        """Yield every change, with the lines that differ, by category."""
        for category, title in _TITLES.items():
            found = self.of(category)
            if found:
                yield Heading(title, 3)
            for change in found:
                yield change.sentence()
                if change.kind != "reordered" and (change.before or change.after):
                    yield Lines(_short(change.before), _short(change.after))

    def names_by_category(self) -> Iterator[Block]:
        """Yield a sentence for each category: what changed."""
        for category, title in _TITLES.items():
            names = dict.fromkeys(change.name for change in self.of(category))
            if names:
                yield sentence(f"{title}: ", *join_names(names), ".")


def changes_between(old: FormulaSeed, new: FormulaSeed) -> Changes:
    """Compare two seeds."""
    comparison = _Comparison(old, new)
    return Changes(tuple(comparison.changes()), comparison.names)


class _Comparison:
    def __init__(self, old: FormulaSeed, new: FormulaSeed) -> None:
        self.old = old
        self.new = new
        self.names = _matched(old.program, new.program)
        self.before = Definitions(old.program, self.names)
        self.after = Definitions(new.program, {name: name for name in self.names.values()})

    def changes(self) -> Iterator[Change]:
        yield from self.inputs(SymbolKind.PARAMETER, self.old.program.parameters, self.new.program.parameters)
        yield from self.inputs(SymbolKind.META, self.old.program.meta, self.new.program.meta)
        yield from self.inputs(SymbolKind.CONTEXT, self.old.program.context, self.new.program.context)
        yield from self.steps()
        yield from self.inputs(SymbolKind.EXTRACTION, self.old.program.fields, self.new.program.fields)
        yield from self.asked()
        yield from self.outputs()
        yield from self.cosmetic()

    # --- steps

    def steps(self) -> Iterator[Change]:
        old_steps = {step.name: step for step in self.old.program.steps}
        new_names = {new: old for old, new in self.names.items()}
        for name, step in old_steps.items():
            if name not in self.names:
                yield self.step("values", "removed", step, before=shown_lines(step), affects=self.users(self.old, step))
        for step in self.new.program.steps:
            if step.name not in new_names:
                yield self.step("values", "added", step, after=shown_lines(step), affects=self.users(self.new, step))
                continue
            was = old_steps[new_names[step.name]]
            if self.before.of(was) != self.after.of(step):
                before, after = _different(shown_lines(was), shown_lines(step))
                affects = self.users(self.new, step)
                yield self.step("values", "changed", step, before, after, affects)
            elif was.name != step.name:
                yield self.step("cosmetic", "renamed", step, (was.name,), (step.name,))
            else:
                before, after = _different(_written(self.old, was), _written(self.new, step))
                if before or after:
                    yield self.step("cosmetic", "changed", step, before, after)

    def step(
        self,
        category: Category,
        kind: Kind,
        step: nodes.Step,
        before: tuple[str, ...] = (),
        after: tuple[str, ...] = (),
        affects: tuple[str, ...] = (),
    ) -> Change:
        what = "filter" if isinstance(step.operation, nodes.Filter) else "step"
        return Change(category, what, kind, step.name, before, after, affects, _place(step.span))

    def users(self, seed: FormulaSeed, step: nodes.Step) -> tuple[str, ...]:
        found = names_of(downstream(seed.program, [symbol_of(step)]))
        return tuple(name for name in found if name != step.name)

    # --- what is given: fields, parameters

    def inputs(self, kind: SymbolKind, old: Sequence[_Declared], new: Sequence[_Declared]) -> Iterator[Change]:
        """Compare the declared fields of a namespace, or the parameters."""
        what = {SymbolKind.PARAMETER: "parameter", SymbolKind.EXTRACTION: "field"}.get(kind, f"{kind.value} field")
        before = {each.name: each for each in old}
        after = {each.name: each for each in new}
        for name in dict.fromkeys((*before, *after)):
            was = _attributes(before[name]) if name in before else ()
            now = _attributes(after[name]) if name in after else ()
            if was == now:
                continue
            seed = self.new if name in after else self.old
            affects = names_of(downstream(seed.program, [Symbol(kind, name)]))
            gone, came = _different(was, now)
            is_described = all(line.startswith(_DESCRIPTION) for line in (*gone, *came))
            category: Category = "values" if affects and not is_described else "cosmetic"
            if kind is SymbolKind.EXTRACTION:
                category = "extraction"
            yield Change(category, what, _kind(was, now), name, gone, came, affects)
        common = [name for name in before if name in after]
        if kind is SymbolKind.EXTRACTION and common != [name for name in after if name in before]:
            yield Change("extraction", "fields", "reordered", "fields", tuple(before), tuple(after))

    def asked(self) -> Iterator[Change]:
        for what in _ASKED:
            was, now = _lines(getattr(self.old.program, what)), _lines(getattr(self.new.program, what))
            if was == now:
                continue
            if what == "keywords" and sorted(map(str.casefold, was)) == sorted(map(str.casefold, now)):
                yield Change("cosmetic", what, "reordered", what, was, now)
            else:
                yield Change("extraction", what, _kind(was, now), what, *_different(was, now))

    # --- outputs, and what changes nothing

    def outputs(self) -> Iterator[Change]:
        old, new = self.old.program.output, self.new.program.output
        renamed = {self.names[name]: name for name in old if name in self.names and name not in new}
        for name in old:
            if name not in new and self.names.get(name) not in new:
                yield Change("outputs", "output", "removed", name, before=(name,))
        for name in new:
            if name in old:
                was, now = _type_lines(self.before.steps[name].ty), _type_lines(self.after.steps[name].ty)
                if was != now:
                    yield Change("outputs", "output", "changed", name, *_different(was, now))
            elif name in renamed:
                yield Change("outputs", "output", "renamed", name, (renamed[name],), (name,))
            else:
                yield Change("outputs", "output", "added", name, after=(name,))
        if old != new and set(old) == set(new):
            yield Change("outputs", "outputs", "reordered", "output", old, new)

    def cosmetic(self) -> Iterator[Change]:
        for what in _ABOUT:
            was, now = _lines(getattr(self.old.program, what)), _lines(getattr(self.new.program, what))
            if was != now:
                yield Change("cosmetic", what, _kind(was, now), what, *_different(was, now))
        for key in _UNCHECKED:
            was, now = _key_lines(self.old, key), _key_lines(self.new, key)
            if was != now:
                yield Change("cosmetic", key, _kind(was, now), key, *_different(was, now))
        old_order = [self.names[step.name] for step in self.old.program.steps if step.name in self.names]
        known = set(old_order)
        new_order = [step.name for step in self.new.program.steps if step.name in known]
        if old_order != new_order:
            yield Change("cosmetic", "steps", "reordered", "steps", tuple(old_order), tuple(new_order))


def _matched(old: nodes.Program, new: nodes.Program) -> dict[str, str]:
    """For each old step its name in the new program: its own, else that of a new step that says the same."""
    old_names, new_names = ([s.name for s in program.steps] for program in (old, new))
    names = {name: name for name in old_names if name in set(new_names)}
    before, after = Definitions(old, names), Definitions(new, {})
    after.names = {name: name for name in new_names}
    left: dict[Hashable, list[str]] = {}
    for step in new.steps:
        if step.name not in names:
            left.setdefault((type(step.operation) is nodes.Filter, after.of(step)), []).append(step.name)
    for step in old.steps:  # those that it uses have their new names already
        if step.name not in names:
            found = left.get((type(step.operation) is nodes.Filter, before.of(step)))
            if found:
                names[step.name] = found.pop(0)
    return names


def _different(before: Sequence[str], after: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the lines that are gone, and those that came."""
    gone: list[str] = []
    came: list[str] = []
    for tag, a, b, c, d in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag != "equal":
            gone += before[a:b]
            came += after[c:d]
    return tuple(gone), tuple(came)


def _kind(before: Sequence[str], after: Sequence[str]) -> Kind:
    return "changed" if before and after else "added" if after else "removed"


def _written(seed: FormulaSeed, step: nodes.Step) -> tuple[str, ...]:
    """The keys of the step's JSON object with their values."""
    tree = seed.document.tree
    found = value_at(tree, step.span.pointer.rpartition("/")[0]) if tree is not None else None
    values = plain(found) if found is not None else None
    return tuple(f"{key}: {_json(value)}" for key, value in sorted(values.items())) if isinstance(values, dict) else ()


def _key_lines(seed: FormulaSeed, key: str) -> tuple[str, ...]:
    """What a key of the document holds, in a line for each part."""
    found = seed.data.get(key) if isinstance(seed.data, dict) else None
    if isinstance(found, dict):
        return tuple(f"{name}: {_json(value)}" for name, value in found.items())
    return tuple(map(_json, found if isinstance(found, list) else [] if found is None else [found]))


def _short(lines: tuple[str, ...]) -> tuple[str, ...]:
    more = len(lines) - _SHOWN
    return lines if more <= 0 else (*lines[:_SHOWN], f"… {more:,} more")


def _json(value: Plain) -> str:
    import json

    return json.dumps(value, ensure_ascii=False)


def _attributes(declared: _Declared) -> tuple[str, ...]:
    """What a field or parameter is, in lines; its name apart."""
    lines = [f"type {_type_lines(declared.ty)[0]}"]
    for name in declared.__dataclass_fields__:
        value = getattr(declared, name)
        if name == "values":
            lines += [f"value {literal_text(each.name)}: {each.description}" for each in value]
        elif name == "description" and value:
            lines.append(f"{_DESCRIPTION}{value}")
        elif name not in ("name", "ty", "description") and (name == "default" or value not in ((), False)):
            lines += [f"{name} {literal_text(value)}"] if value is not None else []
    return tuple(lines)


def _type_lines(ty: Type) -> tuple[str, ...]:
    """A type, an enum with a line for each value."""
    name = "enum" if ty.values is not None else str(ty.present())
    return name + " or null" * ty.nullable, *(f"value {literal_text(value)}" for value in sorted(ty.values or ()))


def _lines(value: object) -> tuple[str, ...]:
    """A part of a program in lines that are compared one by one."""
    if value is None or value == "":
        return ()
    if isinstance(value, tuple):
        return tuple(line for each in value for line in _lines(each))
    fields: Iterable[str] = getattr(value, "__dataclass_fields__", ())
    if fields:
        return tuple(f"{name} {getattr(value, name)}" for name in fields)
    return tuple(str(value).splitlines())


def _place(span: Span) -> str:
    line, column = span.source.position(span.start)
    return f"{span.source.name}:{line}:{column}"
