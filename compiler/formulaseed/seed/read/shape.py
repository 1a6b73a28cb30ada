"""Reads JSON values of a known shape, and reports every deviation at its place.

In: values with places from `source.json_reader`. Out: plain Python values, or None for a wrong value, which is reported. The
module knows no particular format.
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
"""Keys that people write by mistake, each with the keys that they may mean."""

FOREIGN_TYPES: dict[str, Help] = {
    **dict.fromkeys(("float", "double", "decimal", "real"), Suggestion("did you mean `number`?", "number")),
    **dict.fromkeys(("str", "text"), Suggestion("did you mean `string`?", "string")),
    "bool": Suggestion("did you mean `boolean`?", "boolean"),
    "int": Suggestion("did you mean `integer`?", "integer"),
    **dict.fromkeys(("list", "choice", "category"), Suggestion("did you mean `enum`?", "enum", "unsafe")),
}

_LITERAL_KEYS = ("value", "then", "else")
"""Keys that take literals. An alias of one is no safe fix: its value may be a formula, which would become a string."""


class Shape:
    """A reader of JSON values that adds a diagnostic to `problems` for each value that is not as expected.

    Absent values (None) are allowed unless `require` reads them. The arguments `noun` and `example` are for the messages. With
    `guesses`, the value of a misspelt key is read as that of the key that it resembles.
    """

    def __init__(self, problems: Problems, *, guesses: bool = False) -> None:
        self.problems = problems
        self.guesses = guesses
        self._guessed_values: dict[tuple[int, str], JsonValue | None] = {}
        """The values of misspelt keys, by the start of the object and the known key that each resembles.

        A known key in here is not reported as missing.
        """

    def read_object(self, value: JsonValue | None, noun: str, example: str = "") -> JsonObject | None:
        """Return `value` if it is an object; None if it is absent or, with the problem reported, anything else."""
        if value is None or isinstance(value, JsonObject):
            return value
        self.report_wrong_type(value, noun, "an object", example)
        return None

    def read_list(self, value: JsonValue | None, noun: str, most: int, example: str = "") -> Sequence[JsonValue]:
        """Return the items of a list; none if it is absent, no list, or longer than `most`. Reports the last two."""
        if value is None:
            return ()
        if not isinstance(value, JsonArray):
            self.report_wrong_type(value, noun, "a list", example)
            return ()
        if len(value.items) > most:
            self.report_too_many(value.span, noun, len(value.items), most)
            return ()
        return value.items

    def read_sources(self, section: JsonObject) -> tuple[str, ...]:
        """Return the strings of the key `sources` of a section of the seed: the sentences of the task that it comes from.

        A sentence that is no string is reported, and is empty in the result.
        """
        sentences = self.read_list(section.get("sources"), "`sources`", limits.SOURCES)
        return tuple(self.read_string(sentence, "a sentence of `sources`") for sentence in sentences)

    def read_text(self, value: JsonValue | None, noun: str, example: str = "") -> JsonString | None:
        """Return a string with its place; None if it is absent or, with the problem reported, no string."""
        if value is None or isinstance(value, JsonString):
            return value
        if isinstance(value, JsonNumber):
            example = example or f'"{value.value}"'
        self.report_wrong_type(value, noun, "a string", example)
        return None

    def read_string(self, value: JsonValue | None, noun: str) -> str:
        """Return the content of a string; empty if it is absent or, with the problem reported, no string."""
        text = self.read_text(value, noun)
        return text.value if text is not None else ""

    def read_boolean(self, value: JsonValue | None, noun: str, expected: str = "true or false") -> bool:
        """Return a boolean; False if it is absent or, with the problem reported, no boolean."""
        if value is None:
            return False
        if isinstance(value, JsonLiteral) and value.value is not None:
            return value.value
        self.report_wrong_type(value, noun, expected)
        return False

    def read_integer(self, value: JsonValue | None, noun: str, least: int, most: int) -> int | None:
        """Return an integer from `least` to `most`; None if it is absent. Reports anything else, and returns None."""
        if value is None:
            return None
        if isinstance(value, JsonNumber) and isinstance(value.value, int) and least <= value.value <= most:
            return value.value
        help = help_for_quotes(value.value, INTEGER) if isinstance(value, JsonString) else ""
        self.problems.report(catalogue.outside_bounds(value.span, noun, "an integer", least, most, help))
        return None

    def read_number(self, value: JsonValue, noun: str, least: float, most: float) -> float | None:
        """Return a number from `least` to `most`; None, with the problem reported, for anything else."""
        if isinstance(value, JsonNumber) and least <= value.value <= most:
            return float(value.value)
        self.problems.report(catalogue.outside_bounds(value.span, noun, "a number", least, most))
        return None

    def read_literal(self, value: JsonValue | None, noun: str) -> ast.Literal | None:
        """Return a number, string, boolean or null; None if it is absent. Reports anything else, and returns None."""
        if value is None:
            return None
        if isinstance(value, JsonString | JsonNumber | JsonLiteral):
            return ast.Literal(value.span, value.value)
        self.report_wrong_type(value, noun, "a number, a string, true, false or null")
        return None

    def report_spaces(self, text: JsonValue | None, noun: str) -> None:
        """Warn of a string that begins or ends with white space; do nothing for a blank string or any other value."""
        if isinstance(text, JsonString) and text.value.strip() and text.value != text.value.strip():
            self.problems.report(lint_catalogue.surrounding_space(text.span, text.value, noun))

    def read_choice(
        self,
        value: JsonString | None,
        noun: str,
        allowed: Collection[str],
        code: str = "FS509",
        elsewhere: Mapping[str, Help] | None = None,
    ) -> str | None:
        """Return the word if it is one of `allowed`; None if it is absent. Reports any other word, and returns None.

        For a word with one safe correction the correction is returned if the shape `guesses`. `code` is that of the
        diagnostic. `elsewhere` maps words of other formats, in lower case, to their help; if `noun` ends in "type",
        `FOREIGN_TYPES` is used instead.
        """
        if value is None:
            return None
        if value.value in allowed:
            return value.value
        word = value.value.strip().lower().replace("-", "_").replace(" ", "_")
        if noun.endswith("type"):
            elsewhere = FOREIGN_TYPES
        foreign = (elsewhere or {}).get(word)
        help = foreign or did_you_mean(value.value, allowed, noun=f"known {noun}s", limit=20)
        self.problems.report(catalogue.unknown_word(code, value.span, value.value, noun, help))
        if self.guesses and isinstance(help, Suggestion) and help.applicability == "safe":
            return help.replacement
        return None

    def report_unknown_keys(
        self, value: JsonObject, known: Sequence[str], noun: str, reported: Collection[str] = ()
    ) -> None:
        """Report every key of `value` that is in neither `known` nor `reported`.

        If the key resembles a known key without a value, `get` can return its value for that key, and `require` does
        not report that key as missing.
        """
        for key in value.names():
            if key.value not in known and key.value not in reported:
                resembled, help = self._find_similar_key(key.value, known, value)
                if resembled is not None and value.get(resembled) is not None:
                    help = catalogue.KEY_IS_GIVEN.format(resembled)
                    resembled = None  # the key itself has a value, so the misspelt one is not read
                self.problems.report(catalogue.unknown_key(key.span, key.value, noun, known, help))
                if resembled is not None:
                    self._guessed_values.setdefault((value.span.start, resembled), value.get(key.value))

    def _find_similar_key(self, key: str, known: Sequence[str], value: JsonObject) -> tuple[str | None, Help | None]:
        """Return the known key that the unknown `key` resembles, and the help that suggests it; else two Nones.

        An alias without a value comes first, else the known key with the closest spelling.
        """
        aliases = [alias for alias in KEY_ALIASES.get(key.lower(), ()) if alias in known]
        if {"where", "expr"} <= {*aliases} and isinstance(value.get(key), JsonString):
            aliases.remove("where")  # `where` takes an object, `expr` a formula
        alias = next((alias for alias in aliases if value.get(alias) is None), None)
        close = alias or find_closest(key, known)
        if close is None:
            return None, None
        is_alias = len(aliases) == 1 and alias is not None and alias not in _LITERAL_KEYS
        return close, suggest(close, certain=is_alias or (alias is None and is_typo(key, close, known)))

    def ignore_missing(self, value: JsonObject, keys: Collection[str]) -> None:
        """Make `require` not report these keys of `value` as missing: each of them has had a problem reported."""
        for key in keys:
            self._guessed_values.setdefault((value.span.start, key), None)

    def get(self, value: JsonObject, key: str) -> JsonValue | None:
        """Return the value of a key, or None if it is absent. With `guesses`, a misspelt key may replace it."""
        member = value.get(key)
        if member is not None or not self.guesses:
            return member
        return self._guessed_values.get((value.span.start, key))

    def require(self, value: JsonObject, key: str, owner: str, example: str) -> JsonValue | None:
        """Return the value of a required key as `get` does; None, with the problem reported, if it is missing.

        A key that a misspelt one resembles, or that `ignore_missing` was called for, is not reported. `owner` and
        `example` are for the message.
        """
        member = self.get(value, key)
        if member is None and (value.span.start, key) not in self._guessed_values:
            self.problems.report(catalogue.missing_key(get_first_character(value.span), key, owner, example))
        return member

    def require_text(self, value: JsonObject, key: str, owner: str, example: str) -> JsonString | None:
        """Return the string of a required key with its place; None, with the problem reported, if there is no string."""
        return self.read_text(self.require(value, key, owner, example), f"`{key}`")

    def read_name(self, value: JsonValue | None, noun: str) -> Named | None:
        """Return a name that formulas can use; None if it is absent or no string, which is reported.

        Any other string is reported, and a similar name that formulas can use returned, or None if there is none.
        """
        text = self.read_text(value, f"the name of {noun}")
        if text is None:
            return None
        if NAME.fullmatch(text.value) and len(text.value) <= limits.NAME_CHARACTERS:
            return Named(text.span, text.value)
        plain = _simplify_name(text.value) if len(text.value) <= limits.NAME_CHARACTERS else ""
        self.problems.report(catalogue.invalid_name(text.span, text.value, noun, plain))
        return (
            Named(text.span, plain) if plain else None
        )  # with a name, the uses of the step or field are not reported as well

    def read_step_name(self, value: JsonValue | None) -> Named | None:
        """Return the name of a step, or None, as `read_name` does. Reports a reserved word, and still returns it."""
        name = self.read_name(value, "a step")
        if name and name.text in RESERVED_WORDS:
            self.problems.report(catalogue.keyword_as_name(name.span, name.text))
        return name

    def report_wrong_type(self, value: JsonValue, noun: str, expected: str, example: str = "") -> None:
        """Report that a value is not `expected`, such as "a list"."""
        self.problems.report(catalogue.wrong_type(value.span, noun, expected, _name_kind(value), example))

    def report_too_many(self, span: Span, noun: str, number: int, most: int) -> None:
        """Report that an object or list at `span` has `number` entries, more than `most`."""
        self.problems.report(catalogue.too_many(get_first_character(span), noun, number, most))


def get_first_character(span: Span) -> Span:
    """Return the span of the first character of `span`: a message underlines only the `{` or `[` of a large value."""
    return Span(span.source, span.start, span.start + 1, span.pointer)


def _simplify_name(text: str) -> str:
    """Return `text` as a name that formulas can use: accents dropped, other characters replaced by `_`.

    Returns an empty string if a letter or digit has no plain form. A name that would begin with a digit gets a `_` in
    front.
    """
    decomposed = unicodedata.normalize("NFKD", text.replace("ß", "ss"))
    bare = "".join(c for c in decomposed if not unicodedata.combining(c))
    if any(c.isalnum() and not c.isascii() for c in bare):
        return ""
    plain = re.sub(r"[^A-Za-z0-9_]+", "_", bare).strip("_")
    return f"_{plain}" if plain[:1].isdigit() else plain


def _name_kind(value: JsonValue) -> str:
    """Return the kind of a JSON value for a message, such as "a list"."""
    if isinstance(value, JsonLiteral):
        return "null" if value.value is None else "true or false"
    kinds = {JsonObject: "an object", JsonArray: "a list", JsonString: "a string", JsonNumber: "a number"}
    return kinds[type(value)]
