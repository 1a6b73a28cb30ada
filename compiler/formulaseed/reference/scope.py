"""Resolve the names in formulas over the entities of a domain: fields, with or without the root's prefix, and earlier rules.

In: names as written, a formula reference. Out: typed references by full name; an unknown name is reported with a suggestion.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from formulaseed import limits
from formulaseed.diagnostics import suggestions
from formulaseed.diagnostics.catalogue import reading as catalogue
from formulaseed.diagnostics.catalogue.expressions import DOMAIN_WORDING, DocumentWording
from formulaseed.diagnostics.catalogue.seed import FIX_OTHERS_FIRST, unknown_field
from formulaseed.diagnostics.model import Help, Problems
from formulaseed.language import ast, intervals, typed
from formulaseed.language.check.scope import build_error
from formulaseed.language.functions import Function
from formulaseed.language.typed import Symbol, SymbolKind
from formulaseed.language.types import Base, Info
from formulaseed.reference.model import CUSTOM, Reference
from formulaseed.seed.check.scope import SeedScope
from formulaseed.seed.surface import RULES_KEY
from formulaseed.source.text import Span


def new_scope(reference: Reference, problems: Problems, places: Mapping[str, int]) -> DomainScope:
    """Return the scope in which formulas over a reference are checked; `places` has the position of each formula's step."""
    return DomainScope(problems, {}, {}, places, {}, frozenset(), reference=reference)


_LITERAL_SPELLINGS = {"none": "None", "null": "None", "nil": "None", "true": "True", "false": "False"}


@dataclass
class DomainScope(SeedScope):
    """The scope of formulas over one reference. A rule of a file can use earlier ones by name; a field's name is the field."""

    reference: Reference = field(default_factory=lambda: Reference(()))
    words: DocumentWording = field(default=DOMAIN_WORDING, kw_only=True)

    @property
    def functions(self) -> Mapping[str, Function]:
        """The functions that formulas may call, by name."""
        return self.reference.available_functions

    def is_known(self, text: str) -> bool:
        """Return True if a name is that of a field, entity or rule, or dotted."""
        return "." in text or self._is_rule(text) or self.reference.resolve_name(text) is not None

    def _is_rule(self, text: str) -> bool:
        """Return True if a name is that of a rule of the file, also a later one, and of no field or entity."""
        is_field = self.reference.resolve_name(text) is not None or self.reference.entity(text) is not None
        return self.section == RULES_KEY and text in self.places and not is_field

    def is_entity(self, expression: typed.Expr) -> bool:
        """Return True if an expression is an entity, or combines only entities with `and` and `or`."""
        if isinstance(expression, typed.Logical):
            return all(map(self.is_entity, expression.operands))
        return isinstance(expression, typed.Ref) and self.reference.entity(expression.symbol.name) is not None

    def is_implied(self, expression: typed.Expr, is_present: Callable[[typed.Expr], bool]) -> bool:
        """Return True for a field if its entity `is_present`: authors of formulas test an entity to guard its fields."""
        if not isinstance(expression, typed.Ref) or expression.symbol.kind is not SymbolKind.FIELD:
            return False
        entity = expression.symbol.name.partition(".")[0]
        return is_present(typed.Ref(Symbol(SymbolKind.FIELD, entity), expression.info))

    def resolve(self, name: ast.Name, per_review: bool) -> typed.Expr:
        """Return a reference to the field, entity or earlier rule; an error expression, reported, if there is none.

        A field that formulas cannot read is reported, too, but not an unknown name if the reference is incomplete.
        `per_review` has no effect, as there are no reviews.
        """
        if self._is_rule(name.text):
            return super().resolve(name, per_review)
        text = name.text
        span = name.span
        full = self.reference.resolve_name(text)
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

    def _report_early_use(self, name: str, span: Span) -> None:
        """Report the use of the rule `name` in itself or in an earlier one."""
        place = f"{self.section}[{self.places[name]}]"
        is_own = name == self.current
        self.report_once(
            catalogue.rule_uses_itself(span, name) if is_own else catalogue.rule_used_too_early(span, name, place), name
        )

    def _report_unknown(self, name: ast.Name) -> None:
        """Report a name that is no field, once, with a suggestion as long as the budget for these lasts.

        Takes one from `_suggestions`, even if the name has been reported.
        """
        text = name.text
        span = name.span
        reference = self.reference
        self._suggestions -= 1
        if self._suggestions < 0 or not suggestions.COMPARED_LETTERS.take(0):
            self.report_once(catalogue.unknown_name(span, self.words.unknown, text, FIX_OTHERS_FIRST), text)
            return
        entity, _, rest = text.partition(".")
        is_entity = reference.entity(entity) is not None
        if is_entity and not rest:
            example = next((reference.short_name(full) for full in reference.field_names(entity)), "")
            prefixed = f"{reference.root}.{text}"
            hidden = prefixed if prefixed in reference.hidden_fields else ""
            diagnostic = catalogue.entity_without_value(span, text, example, hidden)
        elif is_entity:
            diagnostic = unknown_field(span, f"`{entity}`", rest, self._suggest_own_field(entity, rest))
        elif rest:
            diagnostic = catalogue.unknown_name(span, "no entity is called", entity, self._suggest_entity(entity, rest))
        else:
            diagnostic = catalogue.unknown_name(span, self.words.unknown, text, self._suggest_direct_name(text))
        self.report_once(replace(diagnostic, is_security=ast.has_inner_name(text)), text)

    def _suggest_own_field(self, entity: str, rest: str) -> Help:
        """Return a suggestion for a field `rest` that an entity lacks: one of its own, or another entity's.

        A field of its own with the same last name is preferred, then one of any entity, unless a similar name is its
        own.
        """
        own = {full.partition(".")[2]: full for full in self.reference.field_names(entity)}
        first, _, more = rest.partition(".")
        if more and first in own:
            return suggestions.suggest(f"{entity}.{first}", certain=False, more=" a field has no parts")
        by_key = {short.removeprefix(f"{CUSTOM}."): short for short in own}
        last = rest.rpartition(".")[2]
        if last in by_key:
            return suggestions.suggest(f"{entity}.{by_key[last]}")
        elsewhere = self.reference.find_by_last_name(last)
        if elsewhere and suggestions.find_closest(rest, own) is None:
            return suggestions.suggest_any(elsewhere)
        key = suggestions.find_closest(last, by_key) if rest.startswith(f"{CUSTOM}.") else None
        if key is not None:
            return suggestions.suggest(f"{entity}.{by_key[key]}", certain=suggestions.is_typo(last, key, by_key))
        return suggestions.did_you_mean(rest, own, noun="fields", prefix=f"{entity}.")

    def _suggest_entity(self, entity: str, rest: str) -> Help:
        """Return a suggestion for `entity.rest`, in which the entity is unknown.

        In this order: the field `rest` of a similar entity, a field of that name anywhere, a similar field of a
        similar entity, the entity's name as a field without parts, or else the entities that there are.
        """
        names = [known.name for known in self.reference.entities]
        close = suggestions.find_closest(entity, names)
        if close is not None and self.reference.resolve_name(f"{close}.{rest}"):
            return suggestions.suggest(f"{close}.{rest}", certain=suggestions.is_typo(entity, close, names))
        if elsewhere := self.reference.find_by_last_name(rest.rpartition(".")[2]):
            return suggestions.suggest_any(elsewhere)
        if close is not None:
            return self._suggest_own_field(close, rest)
        if self.reference.resolve_name(entity) is not None:
            return suggestions.suggest(entity, certain=False, more=" a field has no parts")
        return suggestions.did_you_mean(entity, names, noun="entities", limit=12)

    def _suggest_direct_name(self, text: str) -> Help:
        """Return a suggestion for an unknown name without a dot, which may also be a literal, a function or a string.

        A literal in another spelling is preferred, then a field of that name in any entity, then a function, then
        similar names.
        """
        if text.lower() in _LITERAL_SPELLINGS:
            return suggestions.suggest(_LITERAL_SPELLINGS[text.lower()])
        if elsewhere := self.reference.find_by_last_name(text):
            return suggestions.suggest_any(elsewhere, certain=True)
        if text in self.functions:
            return f"`{text}` is a function: {self.functions[text].signature}"
        names = self._names_by_last_part()
        close = suggestions.find_closest(text, names)
        if close is not None:
            return suggestions.suggest(names[close], certain=suggestions.is_typo(text, close, names))
        entity = suggestions.find_closest(text, [known.name for known in self.reference.entities])
        if entity is not None:
            return f"write a field of `{entity}`, such as `{next(iter(self.reference.field_names(entity)), entity)}`"
        if any(ty is not None and text in (ty.values or ()) for ty in self.reference.types.values()):
            return suggestions.suggest(f"'{text}'", certain=False, more=" a string is written in quotes")
        fields = [self.reference.short_name(full) for full in self._sort_root_first()[: limits.SUGGESTIONS]]
        return suggestions.did_you_mean(text, fields, noun="fields", limit=12)

    def names(self) -> Iterator[str]:
        """Yield the names that formulas can use: fields by their own names, entities, functions."""
        yield from self._names_by_last_part()
        yield from (entity.name for entity in self.reference.entities)
        yield from self.functions

    def _sort_root_first(self) -> list[str]:
        """Return the full names of all fields, those of the root first, otherwise in their order."""
        return sorted(self.reference.types, key=lambda full: not full.startswith(f"{self.reference.root}."))

    def _names_by_last_part(self) -> dict[str, str]:
        """Return the spelling of fields by their own name, and of earlier rules.

        Of several fields with one name, it is the root's or else the first.
        """
        names = {full.rpartition(".")[2]: self.reference.short_name(full) for full in reversed(self._sort_root_first())}
        return {**{name: name for name in self.steps if ast.is_name(name)}, **names}
