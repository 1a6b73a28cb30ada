"""What names mean in a formula over the entities of a domain: fields, with or without the prefix of the root entity.

In: names as written, a formula reference. Out: typed references by full name; an unknown name is reported with
the nearest known one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from formulaseed import limits
from formulaseed.diagnostics.catalogue import reading as catalogue
from formulaseed.diagnostics.catalogue.expressions import DOMAIN_WORDING, DocumentWording
from formulaseed.diagnostics.catalogue.seed import FIX_OTHERS_FIRST, unknown_field
from formulaseed.diagnostics.model import Help, Problems
from formulaseed.diagnostics.suggestions import (
    COMPARED_LETTERS,
    did_you_mean,
    find_closest,
    is_typo,
    suggest,
    suggest_any,
)
from formulaseed.language import ast, intervals, typed
from formulaseed.language.check.scope import build_error
from formulaseed.language.functions import Function
from formulaseed.language.info import Info
from formulaseed.language.typed import Symbol, SymbolKind
from formulaseed.language.types import Base
from formulaseed.reference.model import CUSTOM, Reference
from formulaseed.seed.check.scope import SeedScope


def new_scope(reference: Reference, problems: Problems, places: Mapping[str, int]) -> DomainScope:
    """Return the scope in which formulas over a reference are checked; `places` has the place of each formula's step."""
    return DomainScope(problems, {}, {}, places, {}, frozenset(), reference=reference)


_LITERALS = {"none": "None", "null": "None", "nil": "None", "true": "True", "false": "False"}


@dataclass
class DomainScope(SeedScope):
    """The names of one reference; steps do not see one another."""

    reference: Reference = field(default_factory=lambda: Reference(()))
    words: DocumentWording = field(default=DOMAIN_WORDING, kw_only=True)

    @property
    def functions(self) -> Mapping[str, Function]:
        return self.reference.allowed_functions

    def is_known(self, text: str) -> bool:
        return "." in text or self.reference.full_name(text) is not None

    def is_entity(self, found: typed.Expr) -> bool:
        if isinstance(found, typed.Logical):
            return all(map(self.is_entity, found.operands))
        return isinstance(found, typed.Ref) and self.reference.entity(found.symbol.name) is not None

    def is_implied(self, found: typed.Expr, is_present: Callable[[typed.Expr], bool]) -> bool:
        """A test of an entity is taken as the guard of its fields, as formulas are written."""
        if not isinstance(found, typed.Ref) or found.symbol.kind is not SymbolKind.FIELD:
            return False
        entity = found.symbol.name.partition(".")[0]
        return is_present(typed.Ref(Symbol(SymbolKind.FIELD, entity), found.info))

    def resolve(self, name: ast.Name, per_review: bool) -> typed.Expr:
        text, span = name.text, name.span
        full = self.reference.full_name(text)
        if full is None:
            if self.reference.is_complete:
                self._report_unknown(name)
            return build_error(span)
        ty = self.reference.type_of(full)
        if ty is None:
            self.report_once(catalogue.unreadable_field(span, text), text)
            return build_error(span)
        known = None
        if ty.is_numeric:
            known = intervals.INPUT_INTEGER if ty.base is Base.INTEGER else intervals.INPUT_NUMBER
        return typed.Ref(Symbol(SymbolKind.FIELD, full), Info(ty, span, known), text)

    def _report_unknown(self, name: ast.Name) -> None:
        text, span, reference = name.text, name.span, self.reference
        self._suggestions -= 1
        if self._suggestions < 0 or not COMPARED_LETTERS.take(0):
            self.report_once(catalogue.unknown_name(span, self.words.unknown, text, FIX_OTHERS_FIRST), text)
            return
        entity, _, rest = text.partition(".")
        known = reference.entity(entity)
        if known is not None and not rest:
            example = next((reference.short_name(full) for full in reference.names_of(entity)), "")
            hidden = f"{reference.root}.{text}" if f"{reference.root}.{text}" in reference.hidden else ""
            found = catalogue.entity_without_value(span, text, example, hidden)
        elif known is not None:
            found = unknown_field(span, f"`{entity}`", rest, self._help_for_own(entity, rest))
        elif rest:
            found = catalogue.unknown_name(span, "no entity is called", entity, self._help_for_entity(entity, rest))
        else:
            found = catalogue.unknown_name(span, self.words.unknown, text, self._help_for_direct(text))
        self.report_once(replace(found, is_security=ast.has_inner_name(text)), text)

    def _help_for_own(self, entity: str, rest: str) -> Help:
        """What a field that an entity does not have probably is: one of its own first, then another entity's."""
        own = {full.partition(".")[2]: full for full in self.reference.names_of(entity)}
        first, _, more = rest.partition(".")
        if more and first in own:
            return suggest(f"{entity}.{first}", certain=False, more=" a field has no parts")
        by_key = {short.removeprefix(f"{CUSTOM}."): short for short in own}
        last = rest.rpartition(".")[2]
        if last in by_key:
            return suggest(f"{entity}.{by_key[last]}")
        elsewhere = self.reference.called(last)
        if elsewhere and find_closest(rest, own) is None:
            return suggest_any(elsewhere)
        key = find_closest(last, by_key) if rest.startswith(f"{CUSTOM}.") else None
        if key is not None:
            return suggest(f"{entity}.{by_key[key]}", certain=is_typo(last, key, by_key))
        return did_you_mean(rest, own, noun="fields", prefix=f"{entity}.")

    def _help_for_entity(self, entity: str, rest: str) -> Help:
        names = [each.name for each in self.reference.entities]
        close = find_closest(entity, names)
        if close is not None and self.reference.full_name(f"{close}.{rest}"):
            return suggest(f"{close}.{rest}", certain=is_typo(entity, close, names))
        if elsewhere := self.reference.called(rest.rpartition(".")[2]):
            return suggest_any(elsewhere)
        if close is not None:
            return self._help_for_own(close, rest)
        if self.reference.full_name(entity) is not None:
            return suggest(entity, certain=False, more=" a field has no parts")
        return did_you_mean(entity, names, noun="entities", limit=12)

    def _help_for_direct(self, text: str) -> Help:
        if text.lower() in _LITERALS:
            return suggest(_LITERALS[text.lower()])
        if elsewhere := self.reference.called(text):
            return suggest_any(elsewhere, certain=True)
        if text in self.functions:
            return f"`{text}` is a function: {self.functions[text].signature}"
        names = self._by_last_name()
        close = find_closest(text, names)
        if close is not None:
            return suggest(names[close], certain=is_typo(text, close, names))
        entity = find_closest(text, [each.name for each in self.reference.entities])
        if entity is not None:
            return f"write a field of `{entity}`, such as `{next(iter(self.reference.names_of(entity)), entity)}`"
        if any(ty is not None and text in (ty.values or ()) for ty in self.reference.types.values()):
            return suggest(f"'{text}'", certain=False, more=" a string is written in quotes")
        shown = [self.reference.short_name(full) for full in self._root_first()[: limits.SUGGESTIONS]]
        return did_you_mean(text, shown, noun="fields", limit=12)

    def names(self) -> Iterator[str]:
        yield from self._by_last_name()
        yield from (entity.name for entity in self.reference.entities)
        yield from self.functions

    def _root_first(self) -> list[str]:
        return sorted(self.reference.types, key=lambda full: not full.startswith(f"{self.reference.root}."))

    def _by_last_name(self) -> dict[str, str]:
        """Each field's own name with how it is written; of two alike the first, which is the root's where it has one."""
        return {full.rpartition(".")[2]: self.reference.short_name(full) for full in reversed(self._root_first())}
