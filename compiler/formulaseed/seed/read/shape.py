"""Reads JSON values of a known shape, and reports every deviation at its place.

In: places and values from `source.json_reader`. Out: plain Python values, or None where one is wrong, which has been
reported. Knows nothing of any one format.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Mapping, Sequence

from formulaseed import limits
from formulaseed.diagnostics.catalogue import lint as lint_catalogue
from formulaseed.diagnostics.catalogue import seed as catalogue
from formulaseed.diagnostics.model import Help, Problems, Suggestion
from formulaseed.diagnostics.suggestions import did_you_mean, find_closest, is_typo, suggest
from formulaseed.language import ast
from formulaseed.language.ast import RESERVED_WORDS
from formulaseed.language.check.wording import help_for_quotes
from formulaseed.language.types import INTEGER
from formulaseed.seed.surface import Named
from formulaseed.source.json_reader import JsonArray, JsonLiteral, JsonNumber, JsonObject, JsonString, JsonValue
from formulaseed.source.text import Span

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

KEY_ALIASES: dict[str, tuple[str, ...]] = {
    "formula": ("expr", "value"), "expression": ("expr", "formula", "value"), "expr": ("formula", "value"),
    "if": ("when",), "condition": ("when", "where", "expr"), "conditions": ("where", "rules", "args"),
    "filter": ("where",), "fields": ("field",), "values": ("table", "value"), "mapping": ("table",), "map": ("table",),
    "result": ("then", "value"), "otherwise": ("else", "default"), "steps": ("compute",), "outputs": ("output",),
    "keyword": ("keywords",), "desc": ("description",), "field": ("expr", "source", "name"), "mode": ("match",),
    "operation": ("op",), "type": ("op", "kind"), "kind": ("op", "type"), "step": ("name",), "id": ("name",),
    "options": ("values",), "choices": ("values",), "value": ("then", "expr"), "default": ("else",), "min": ("minimum",),
    "max": ("maximum",), "cases": ("rules",), "input": ("source",), "children": ("args",), "operands": ("args",),
    "name": ("aspect",), "regex": ("pattern",), "gold": ("gold_restaurant",), "persona": ("scenario",),
    "query": ("text",), "request": ("text",), "true_not": ("not_true",),
}  # fmt: skip
"""Keys of other formats, with those that they may be here."""

FOREIGN_TYPES: dict[str, Help] = {
    **dict.fromkeys(("float", "double", "decimal", "real"), Suggestion("did you mean `number`?", "number")),
    **dict.fromkeys(("str", "text"), Suggestion("did you mean `string`?", "string")),
    "bool": Suggestion("did you mean `boolean`?", "boolean"),
    "int": Suggestion("did you mean `integer`?", "integer"),
    **dict.fromkeys(("list", "choice", "category"), Suggestion("did you mean `enum`?", "enum", "unsafe")),
}

_LITERAL_KEYS = ("value", "then", "else")
"""The value of an alias of these may be a formula; here it would be a string."""


class Shape:
    """Reads JSON values and adds a diagnostic to `problems` for each that is not as expected.

    With `guesses` the value of a misspelt key is read as that of the key it resembles.
    """

    def __init__(self, problems: Problems, *, guesses: bool = False) -> None:
        self.problems = problems
        self.guesses = guesses
        self._resembling: dict[tuple[int, str], JsonValue | None] = {}
        """The values of unknown keys, by the start of the object and the known key that each resembles: it is not missing."""

    def object(self, value: JsonValue | None, noun: str, example: str = "") -> JsonObject | None:
        """Return an object; None if it is absent or wrong. `noun` and `example` are for the message."""
        if value is None or isinstance(value, JsonObject):
            return value
        self.wrong_type(value, noun, "an object", example)
        return None

    def list(self, value: JsonValue | None, noun: str, most: int, example: str = "") -> Sequence[JsonValue]:
        """Return the items; none if the list is absent, wrong or over its limit."""
        if value is None:
            return ()
        if not isinstance(value, JsonArray):
            self.wrong_type(value, noun, "a list", example)
            return ()
        if len(value.items) > most:
            self.too_many(value.span, noun, len(value.items), most)
            return ()
        return value.items

    def sources(self, section: JsonObject) -> tuple[str, ...]:
        """Return the sentences of a task's text that a field or step comes from."""
        sentences = self.list(section.get("sources"), "`sources`", limits.SOURCES)
        return tuple(self.string(sentence, "a sentence of `sources`") for sentence in sentences)

    def text(self, value: JsonValue | None, noun: str, example: str = "") -> JsonString | None:
        """Return a string with its place; None if it is absent or wrong."""
        if value is None or isinstance(value, JsonString):
            return value
        written = f'"{value.value}"' if isinstance(value, JsonNumber) else ""
        self.wrong_type(value, noun, "a string", example or written)
        return None

    def string(self, value: JsonValue | None, noun: str) -> str:
        """Return the string; empty if it is absent or wrong."""
        text = self.text(value, noun)
        return text.value if text is not None else ""

    def boolean(self, value: JsonValue | None, noun: str, expected: str = "true or false") -> bool:
        """Return a boolean; False if it is absent or wrong."""
        if value is None:
            return False
        if isinstance(value, JsonLiteral) and value.value is not None:
            return value.value
        self.wrong_type(value, noun, expected)
        return False

    def whole(self, value: JsonValue | None, noun: str, least: int, most: int) -> int | None:
        """Return an integer between two bounds, both inclusive; None if it is absent or wrong."""
        if value is None:
            return None
        if isinstance(value, JsonNumber) and isinstance(value.value, int) and least <= value.value <= most:
            return value.value
        help = help_for_quotes(value.value, INTEGER) if isinstance(value, JsonString) else ""
        self.problems.report(catalogue.outside_bounds(value.span, noun, "an integer", least, most, help))
        return None

    def number(self, value: JsonValue, noun: str, least: float, most: float) -> float | None:
        """Return a number between two bounds, both inclusive; None if it is wrong."""
        if isinstance(value, JsonNumber) and least <= value.value <= most:
            return float(value.value)
        self.problems.report(catalogue.outside_bounds(value.span, noun, "a number", least, most))
        return None

    def literal(self, value: JsonValue | None, noun: str) -> ast.Literal | None:
        """Return a literal, also for `null`; None if it is absent, or is a list or object.

        A list or object is reported under the name `noun`.
        """
        if value is None:
            return None
        if isinstance(value, JsonString | JsonNumber | JsonLiteral):
            return ast.Literal(value.span, value.value)
        self.wrong_type(value, noun, "a number, a string, true, false or null")
        return None

    def report_spaces(self, text: JsonValue | None, noun: str) -> None:
        """Warn of a string that begins or ends with a space; any other value is ignored."""
        if isinstance(text, JsonString) and text.value.strip() and text.value != text.value.strip():
            self.problems.report(lint_catalogue.surrounding_space(text.span, text.value, noun))

    def choice(
        self,
        value: JsonString | None,
        noun: str,
        allowed: Collection[str],
        code: str = "FS509",
        elsewhere: Mapping[str, Help] | None = None,
    ) -> str | None:
        """Return the word if it is allowed. Report any other, and return its unambiguous correction; None if there is none.

        `elsewhere` has the help for words of other formats, by their small letters.
        """
        if value is None:
            return None
        if value.value in allowed:
            return value.value
        word = value.value.strip().lower().replace("-", "_").replace(" ", "_")
        elsewhere = FOREIGN_TYPES if noun.endswith("type") else elsewhere or {}
        help = elsewhere.get(word) or did_you_mean(value.value, allowed, noun=f"known {noun}s", limit=20)
        self.problems.report(catalogue.unknown_word(code, value.span, value.value, noun, help))
        is_certain = isinstance(help, Suggestion) and help.applicability == "safe"
        return help.replacement if self.guesses and isinstance(help, Suggestion) and is_certain else None

    def keys(self, value: JsonObject, known: Sequence[str], noun: str, reported: Collection[str] = ()) -> None:
        """Report every key that is not known, but for those in `reported`."""
        for key in value.names():
            if key.value not in known and key.value not in reported:
                resembled, help = self._similar_key(key.value, known, value)
                if resembled is not None and value.get(resembled) is not None:
                    help = catalogue.KEY_IS_GIVEN.format(resembled)
                    resembled = None
                self.problems.report(catalogue.unknown_key(key.span, key.value, noun, known, help))
                if resembled is not None:
                    self._resembling.setdefault((value.span.start, resembled), value.get(key.value))

    def _similar_key(self, key: str, known: Sequence[str], value: JsonObject) -> tuple[str | None, Help | None]:
        """Return the known key that an unknown one resembles, and the help that suggests it; None, None if there is none."""
        aliases = [alias for alias in KEY_ALIASES.get(key.lower(), ()) if alias in known]
        if {"where", "expr"} <= {*aliases} and isinstance(value.get(key), JsonString):
            aliases.remove("where")  # it takes no formula
        alias = next((alias for alias in aliases if value.get(alias) is None), None)
        close = alias or find_closest(key, known)
        if close is None:
            return None, None
        is_alias = len(aliases) == 1 and alias is not None and alias not in _LITERAL_KEYS
        return close, suggest(close, certain=is_alias or (alias is None and is_typo(key, close, known)))

    def ignore_missing(self, value: JsonObject, keys: Collection[str]) -> None:
        """Report none of these keys as missing: what is wrong with them has been reported."""
        for key in keys:
            self._resembling.setdefault((value.span.start, key), None)

    def get(self, value: JsonObject, key: str) -> JsonValue | None:
        """Return the value of a key; also that of an unknown key which resembles it."""
        own = value.get(key)
        if own is not None or not self.guesses:
            return own
        return self._resembling.get((value.span.start, key))

    def need(self, value: JsonObject, key: str, owner: str, example: str) -> JsonValue | None:
        """Return the value of a required key; None, with the problem reported, if it is missing. `example` is for the message."""
        own = self.get(value, key)
        if own is None and (value.span.start, key) not in self._resembling:
            self.problems.report(catalogue.missing_key(first_character(value.span), key, owner, example))
        return own

    def name(self, value: JsonValue | None, noun: str) -> Named | None:
        """Return a name that formulas can use; a similar one, or None, for any other, which is reported."""
        text = self.text(value, f"the name of {noun}")
        if text is None:
            return None
        if NAME.fullmatch(text.value) and len(text.value) <= limits.NAME_CHARACTERS:
            return Named(text.span, text.value)
        plain = _plain_name(text.value) if len(text.value) <= limits.NAME_CHARACTERS else ""
        self.problems.report(catalogue.invalid_name(text.span, text.value, noun, plain))
        return Named(text.span, plain) if plain else None  # so that its uses are not reported as well

    def step_name(self, value: JsonValue | None) -> Named | None:
        """Return a name as `name` does. Reports a keyword of the language, since formulas use a step's name alone."""
        named = self.name(value, "a step")
        if named and named.text in RESERVED_WORDS:
            self.problems.report(catalogue.keyword_as_name(named.span, named.text))
        return named

    def wrong_type(self, value: JsonValue, noun: str, expected: str, example: str = "") -> None:
        self.problems.report(catalogue.wrong_type(value.span, noun, expected, _kind(value), example))

    def too_many(self, span: Span, noun: str, number: int, most: int) -> None:
        self.problems.report(catalogue.too_many(first_character(span), noun, number, most))


def first_character(span: Span) -> Span:
    """Return the span of an object's first character, to underline in place of the whole."""
    return Span(span.source, span.start, span.start + 1, span.pointer)


def _plain_name(text: str) -> str:
    """Return the usable name that resembles a name; empty if letters would be lost."""
    decomposed = unicodedata.normalize("NFKD", text.replace("ß", "ss"))
    bare = "".join(c for c in decomposed if not unicodedata.combining(c))
    if any(c.isalnum() and not c.isascii() for c in bare):
        return ""
    plain = re.sub(r"[^A-Za-z0-9_]+", "_", bare).strip("_")
    return f"_{plain}" if plain[:1].isdigit() else plain


def _kind(value: JsonValue) -> str:
    if isinstance(value, JsonLiteral):
        return "null" if value.value is None else "true or false"
    kinds = {JsonObject: "an object", JsonArray: "a list", JsonString: "a string", JsonNumber: "a number"}
    return kinds[type(value)]
