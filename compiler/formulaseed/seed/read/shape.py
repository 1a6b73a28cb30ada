"""Reading JSON objects of a known shape, with every deviation reported at its place.

In: places and values from `source.json_reader`. Out: plain Python values, or None where it is wrong and
has been told. Knows nothing of any one format.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Collection, Mapping, Sequence

from formulaseed import limits
from formulaseed.diagnostics.model import Help, Problems, Suggestion
from formulaseed.diagnostics.suggestions import closest, did_you_mean, is_typo, suggest
from formulaseed.language import ast
from formulaseed.language.names import RESERVED_WORDS
from formulaseed.language.types import Type
from formulaseed.seed.read.foreign_words import FOREIGN_OPERATIONS, FOREIGN_TYPES
from formulaseed.seed.surface import Named
from formulaseed.source.json_reader import JsonArray, JsonLiteral, JsonNumber, JsonObject, JsonString, JsonValue
from formulaseed.source.text import Span

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


KEY_ALIASES: dict[str, tuple[str, ...]] = {
    "formula": ("expr", "value"), "expression": ("expr", "formula", "value"), "expr": ("formula", "value"), "if": ("when",),
    "condition": ("when", "where", "expr"), "conditions": ("where", "rules", "args"), "filter": ("where",),
    "fields": ("field",), "values": ("table", "value"),
    "mapping": ("table",), "map": ("table",), "result": ("then", "value"), "otherwise": ("else", "default"),
    "steps": ("compute",), "outputs": ("output",), "keyword": ("keywords",), "desc": ("description",),
    "field": ("expr", "source", "name"), "mode": ("match",), "operation": ("op",), "type": ("op", "kind"), "kind": ("op", "type"),
    "step": ("name",), "id": ("name",), "options": ("values",), "choices": ("values",),
    "value": ("then", "expr"), "default": ("else",),
    "min": ("minimum",), "max": ("maximum",), "cases": ("rules",), "input": ("source",),
    "children": ("args",), "operands": ("args",), "name": ("aspect",),
    "regex": ("pattern",), "gold": ("gold_restaurant",), "persona": ("scenario",), "query": ("text",),
    "request": ("text",), "true_not": ("not_true",),
}  # fmt: skip
"""Keys from elsewhere, with those that they may be meant to be."""

_LITERAL_KEYS = ("value", "then", "else")
"""What is under another name may be a formula; here it would be a string."""


class Shape:
    """Typed access to JSON values; every miss becomes a diagnostic of `problems`.

    With `guesses` a word or key that is surely misspelt is told, and then read as if it were right.
    `spelled` gives for a bare name all that it may be in a condition: fields with their namespaces, a filter with its sign;
    `types` are those of the fields, with their namespaces; `strings` what a step may be that chooses among strings;
    `steps` are the names of the steps that are no filters, `parameters` those of the parameters.
    """

    def __init__(self, problems: Problems, *, guesses: bool = False) -> None:
        self.problems = problems
        self.guesses = guesses
        self.spelled: Mapping[str, tuple[str, ...]] = {}
        self.types: Mapping[str, Type] = {}
        self.strings: Mapping[str, Collection[str]] = {}
        self.steps: Collection[str] = ()
        self.parameters: Collection[str] = ()
        self._readable = limits.WORDED_CONDITIONS * 10
        self._meant: dict[tuple[int, str], JsonValue | None] = {}
        """Keys that an unknown one was probably meant to be, with its value: told already, so not told as missing."""

    def may_read(self, text: str) -> bool:
        """Whether one more string in place of a value may be read as a formula: so many characters in all."""
        self._readable -= len(text)
        return self._readable >= 0

    def object(self, value: JsonValue, what: str, example: str = "") -> JsonObject | None:
        if isinstance(value, JsonObject):
            return value
        self.wrong_type(value, what, "an object", example)
        return None

    def list(self, value: JsonValue | None, what: str, most: int) -> Sequence[JsonValue]:
        """The items, none where the list is absent, wrong or over its limit."""
        if value is None:
            return ()
        if not isinstance(value, JsonArray):
            self.wrong_type(value, what, "a list")
            return ()
        if len(value.items) > most:
            self.too_many(value.span, what, len(value.items), most)
            return ()
        return value.items

    def sources(self, section: JsonObject) -> None:
        """The sentences of a task's text that a field or step comes from: for people, so only their shape counts."""
        for sentence in self.list(section.get("sources"), "`sources`", limits.SOURCES):
            self.text(sentence, "a sentence of `sources`")

    def text(self, value: JsonValue | None, what: str) -> JsonString | None:
        if value is None or isinstance(value, JsonString):
            return value
        self.wrong_type(value, what, "a text")
        return None

    def boolean(self, value: JsonValue | None, what: str) -> bool:
        if value is None:
            return False
        if isinstance(value, JsonLiteral) and value.value is not None:
            return value.value
        self.wrong_type(value, what, "true or false")
        return False

    def whole(self, value: JsonValue, what: str, least: int, most: int) -> int | None:
        """An integer between two bounds, both inclusive."""
        if isinstance(value, JsonNumber) and isinstance(value.value, int) and least <= value.value <= most:
            return value.value
        help = f"write an integer from {least} to {most}"
        self.problems.add("FS509", value.span, f"{what} must be an integer from {least} to {most}", help)
        return None

    def number(self, value: JsonValue, what: str, least: float, most: float) -> float | None:
        """A number between two bounds, both inclusive."""
        if isinstance(value, JsonNumber) and least <= value.value <= most:
            return float(value.value)
        help = f"write a number from {least:g} to {most:g}"
        self.problems.add("FS509", value.span, f"{what} must be a number from {least:g} to {most:g}", help)
        return None

    def literal(self, value: JsonValue, what: str) -> ast.Literal | None:
        if isinstance(value, JsonString | JsonNumber | JsonLiteral):
            return ast.Literal(value.span, value.value)
        self.wrong_type(value, what, "a number, a text, true, false or null")
        return None

    def choice(self, value: JsonString, what: str, allowed: Collection[str], code: str = "FS509") -> str | None:
        """One of the words allowed; another is told, and gives the one that it surely means, or None."""
        if value.value in allowed:
            return value.value
        help = _instead(value.value, what, allowed)
        self.problems.add(code, value.span, f"`{value.value}` is no {what}", help)
        return meant_choice(value.value, what, allowed) if self.guesses else None

    def keys(self, value: JsonObject, known: Sequence[str], what: str, told: Collection[str] = ()) -> None:
        """Tell of every key that is not known, but for those that were told."""
        help: Help
        for key in value.names():
            if key.value not in known and key.value not in told:
                aliases = [alias for alias in KEY_ALIASES.get(key.value.lower(), ()) if alias in known]
                if {"where", "expr"} <= {*aliases} and isinstance(value.get(key.value), JsonString):
                    aliases.remove("where")  # it takes no formula
                alias = next((alias for alias in aliases if value.get(alias) is None), None)
                close = alias or closest(key.value, known)
                help = f"known keys: {', '.join(f'`{k}`' for k in known)}"
                if close is not None:
                    is_alias = len(aliases) == 1 and alias is not None and alias not in _LITERAL_KEYS
                    help = suggest(close, certain=is_alias or (alias is None and is_typo(key.value, close, known)))
                self.problems.add("FS501", key.span, f"{what} has no key `{key.value}`", help)
                if close is not None:
                    self._meant.setdefault((value.span.start, close), value.get(key.value))

    def meant(self, value: JsonObject, keys: Mapping[str, JsonValue | None]) -> None:
        """Take these keys for told: none of them is missing as well. Of some the value is known: it stands elsewhere."""
        for key, found in keys.items():
            self._meant.setdefault((value.span.start, key), found)

    def get(self, value: JsonObject, key: str) -> JsonValue | None:
        """The value of a key; also of one that was told not to be known, and is probably meant to be this one."""
        found = value.get(key)
        if found is not None or not self.guesses:
            return found
        return self._meant.get((value.span.start, key))

    def need(self, value: JsonObject, key: str, what: str, example: str) -> JsonValue | None:
        found = self.get(value, key)
        if found is None and (value.span.start, key) not in self._meant:
            place = Span(value.span.source, value.span.start, value.span.start + 1, value.span.pointer)
            self.problems.add("FS502", place, f"{what} has no `{key}`", f"add {example}")
        return found

    def name(self, value: JsonValue | None, what: str) -> Named | None:
        """A name that can be used in formulas: ASCII letters, digits and `_`, not beginning with a digit."""
        text = self.text(value, f"the name of {what}")
        if text is None:
            return None
        if len(text.value) > limits.NAME_CHARACTERS:
            help = f"use at most {limits.NAME_CHARACTERS} characters"
            self.problems.add("FS206", text.span, f"the name of {what} has {len(text.value)} characters", help)
            return None
        if not text.value:
            self.problems.add("FS206", text.span, f"the name of {what} is empty", "write a name")
            return None
        if not NAME.fullmatch(text.value):
            plain = _plain_name(text.value)
            help = "use the letters A to Z and a to z, digits and `_`, and begin with no digit"
            help += f": `{plain}`" if plain else ""
            self.problems.add("FS206", text.span, f"`{text.value}` cannot be the name of {what}", help)
            return Named(text.span, plain) if plain else None  # so that its uses are not told as well
        return Named(text.span, text.value)

    def step_name(self, value: JsonValue | None) -> Named | None:
        """A name that can also stand alone in a formula, so it may be no word of the language."""
        named = self.name(value, "a step")
        if named and named.text in RESERVED_WORDS:
            message = f"`{named.text}` is a word of the formula language"
            self.problems.add("FS206", named.span, message, f"use another name, such as `{named.text.upper()}_VALUE`")
        return named

    def wrong_type(self, value: JsonValue, what: str, expected: str, example: str = "") -> None:
        message = f"{what} must be {expected}, not {_kind(value)}"
        help = f"write {example or _as_expected(value, expected) or expected}"
        self.problems.add("FS503", value.span, message, help)

    def too_many(self, span: Span, what: str, found: int, most: int) -> None:
        place = Span(span.source, span.start, span.start + 1, span.pointer)
        self.problems.add(
            "FS510", place, f"{what} has {found} entries, more than {most}", "split it, or leave some out"
        )


def _as_expected(value: JsonValue, expected: str) -> str:
    """A short value as one of the expected kind; empty where it is not clear how."""
    if expected == "a text" and isinstance(value, JsonNumber):
        return f'"{value.value}"'
    if expected == "a text" and isinstance(value, JsonArray) and len(value.items) == 1:
        return short_text(value.items[0]) if isinstance(value.items[0], JsonString) else ""
    return ""


def short_text(value: JsonValue | None) -> str:
    """A short literal as it is written in JSON; empty for anything else."""
    if isinstance(value, JsonString | JsonNumber | JsonLiteral):
        written = json.dumps(value.value, ensure_ascii=False)
        return written if len(written) <= 40 else ""
    return ""


def meant_choice(text: str, what: str, allowed: Collection[str]) -> str | None:
    """The word that is allowed and that was meant, where this is certain."""
    if text in allowed:
        return text
    help = _instead(text, what, allowed)
    return help.replacement if isinstance(help, Suggestion) and help.replacement in allowed else None


def _instead(text: str, what: str, allowed: Collection[str]) -> Help:
    """What to write in place of a word that is not allowed."""
    elsewhere = FOREIGN_OPERATIONS if what == "operation" else FOREIGN_TYPES if what.endswith("type") else {}
    instead = elsewhere.get(text.strip().lower().replace("-", "_").replace(" ", "_"))
    return instead or did_you_mean(text, allowed, what=f"known {what}s", limit=20)


def _plain_name(text: str) -> str:
    """The name that was probably meant; empty where letters would be lost."""
    decomposed = unicodedata.normalize("NFKD", text.replace("ß", "ss"))
    bare = "".join(c for c in decomposed if not unicodedata.combining(c))
    if any(c.isalnum() and not c.isascii() for c in bare):
        return ""
    plain = re.sub(r"[^A-Za-z0-9_]+", "_", bare).strip("_")
    return f"_{plain}" if plain[:1].isdigit() else plain


def _kind(value: JsonValue) -> str:
    if isinstance(value, JsonObject):
        return "an object"
    if isinstance(value, JsonArray):
        return "a list"
    if isinstance(value, JsonString):
        return "a text"
    if isinstance(value, JsonNumber):
        return "a number"
    return "null" if value.value is None else "true or false"
