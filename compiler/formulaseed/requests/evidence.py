"""The evidence of a condition, one kind after the other, as nodes of `model`.

In: the JSON of an evidence object. Out: the node, or None if something is wrong; everything that is wrong has been
reported. `KINDS` says which keys each kind takes. Source: the reference of evidence types; docs/requests.md.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast, get_args

from formulaseed import limits
from formulaseed.diagnostics.catalogue import requests as catalogue
from formulaseed.diagnostics.model import Diagnostic, Problems
from formulaseed.requests import model as ir
from formulaseed.requests.evaluation import Path
from formulaseed.requests.patterns import parse_pattern
from formulaseed.seed.read.shape import Shape
from formulaseed.source.json_reader import JsonArray, JsonLiteral, JsonNumber, JsonObject, JsonString, JsonValue

STARS = 5.0
"""The most stars that there are."""
OPERATORS: tuple[str, ...] = get_args(ir.Ordering)
RULES: tuple[str, ...] = ("not_contains", "contains", "not_true", "missing", "true", "false", "neutral")
"""The rules of `item_meta` in the order in which they are tried."""

_DECIDES_ALONE = ("not_contains", "contains", "not_true")
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_HOURS = re.compile(r"([0-9]{1,2}):([0-9]{1,2})-([0-9]{1,2}):([0-9]{1,2})")

_EXAMPLES = {
    "path": '["attributes", "WiFi"]', "true": '"18:0-21:30"', "pattern": '"live music"', "op": '"not_empty"', "value": "3.5",
    "group_filter": '{"field": "date", "operator": "gte", "value": "2020-01-01"}', "metric": '"avg_stars"', "agg": '"any"',
    "threshold": "4.0", "operator": '"gte"', "condition": '{"generous_avg_gte": 4.0, "harsh_avg_lt": 2.0}',
    "generous_avg_gte": "4.0", "harsh_avg_lt": "2.0", "topic": '"espresso"', "sentiment": '"positive"',
    "social_filter": '{"friends": ["Alice"], "hops": 1}', "friends": '["Alice"]', "hops": "1",
    "weight_by": '{"field": ["user", "review_count"]}', "field": '["user", "review_count"]',
}  # fmt: skip
"""A value of every key that is needed, or has one of few values."""


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys that an object must have, and those that it may have."""

    needed: tuple[str, ...]
    optional: tuple[str, ...] = ()

    @property
    def all(self) -> tuple[str, ...]:
        return (*self.needed, *self.optional, "description")


_SECTIONS = {
    "weight_by": Keys(("field",)),
    "social_filter": Keys(("friends", "hops"), ("min_matches",)),
    "group_filter": Keys(("field", "operator", "value")),
    "condition": Keys(("generous_avg_gte", "harsh_avg_lt")),
}
"""The objects inside evidence."""


@dataclass
class EvidenceDecoder:
    """Typed access to the keys of one evidence object. What is wrong is reported, and something else is returned."""

    section: JsonObject
    shape: Shape
    what: str
    keys: Keys

    def report(self, found: Diagnostic) -> None:
        self.shape.problems.report(found)

    def need(self, key: str) -> JsonValue | None:
        return self.shape.need(self.section, key, self.what, f'"{key}": {_EXAMPLES[key]}')

    def get(self, key: str) -> JsonValue | None:
        """The value of a key; a needed one that is missing is reported."""
        return self.need(key) if key in self.keys.needed else self.section.get(key)

    def string(self, key: str) -> str:
        return self.nonempty(self.get(key), f"`{key}`", _EXAMPLES[key])

    def nonempty(self, value: JsonValue | None, what: str, example: str) -> str:
        found = self.shape.text(value, what)
        if found is not None and not found.value.strip():
            self.report(catalogue.empty_value(found.span, what, example))
        return found.value if found is not None else ""

    def choice(self, key: str, allowed: Collection[str], default: str = "") -> Any:
        found = self.shape.text(self.get(key), f"`{key}`")
        if found is None or found.value in allowed:
            return found.value if found is not None else default
        self.report(catalogue.invalid_choice(found.span, key, found.value, allowed, OPERATORS))
        return default

    def whole(self, key: str, default: int, least: int = 1, most: int = limits.MATCHES) -> int:
        found = self.shape.whole(self.get(key), f"`{key}`", least, most)
        return default if found is None else found

    def number(self, key: str, default: float = 0.0, most: float = STARS) -> float:
        value = self.get(key)
        found = self.shape.number(value, f"`{key}`", 0.0, most) if value is not None else None
        return default if found is None else found

    def threshold(self, key: str) -> str | float | None:
        """A number, or a string for dates and the like; it is needed."""
        value = self.need(key)
        if isinstance(value, JsonString | JsonNumber):
            return value.value
        if value is not None:
            self.shape.wrong_type(value, f"`{key}`", "a number or a string")
        return None

    def path(self, key: str, *, or_string: bool = False) -> Path:
        """A list of keys, such as `["attributes", "WiFi"]`; with `or_string` a single key need not be in a list."""
        value = self.get(key)
        if value is None:
            return ()
        if or_string and isinstance(value, JsonString):
            value = JsonArray(value.span, (value,))
        if not isinstance(value, JsonArray):
            example = json.dumps(value.value.split(".")) if isinstance(value, JsonString) else _EXAMPLES[key]
            self.shape.wrong_type(value, f"`{key}`", "a list of keys", example)
            return ()
        if not 0 < len(value.items) <= limits.PATH_KEYS:
            self.report(catalogue.path_length(value.span, key, len(value.items), limits.PATH_KEYS, _EXAMPLES[key]))
        return tuple(self.key(item, key) for item in value.items[: limits.PATH_KEYS])

    def key(self, item: JsonValue, path: str) -> str:
        return self.nonempty(item, f"a key of `{path}`", _EXAMPLES[path])

    def inner(self, key: str) -> EvidenceDecoder | None:
        """The object at a key, None if there is none; its own keys are checked."""
        found = self.shape.object(self.get(key), f"`{key}`", _EXAMPLES[key])
        if found is None:
            return None
        self.shape.keys(found, _SECTIONS[key].all, f"`{key}`")
        return EvidenceDecoder(found, self.shape, f"`{key}`", _SECTIONS[key])

    def social_filter(self) -> ir.SocialFilter | None:
        inner = self.inner("social_filter")
        if inner is None:
            return None
        value = inner.get("friends")
        items = self.shape.list(value, "`friends`", limits.LIST_ITEMS)
        if isinstance(value, JsonArray) and not value.items:
            self.report(catalogue.empty_value(value.span, "`friends`", _EXAMPLES["friends"]))
        return ir.SocialFilter(tuple(inner.key(item, "friends") for item in items), inner.whole("hops", 1, 0, 2))

    def min_matches(self) -> int:
        """From beside `social_filter`, or from inside of it."""
        found, social = self.whole("min_matches", 1), self.section.get("social_filter")
        value = social.get("min_matches") if isinstance(social, JsonObject) else None
        inside = self.shape.whole(value, "`min_matches`", 1, limits.MATCHES)
        if value is None or inside is None:
            return found
        if self.section.get("min_matches") is not None and inside != found:
            self.report(catalogue.conflicting_min_matches(value.span))
        return inside

    def unused(self, key: str, why: str) -> None:
        """Report that a key has no effect, if it is there."""
        value = self.section.get(key)
        if value is not None:
            self.report(catalogue.key_without_effect(value.span, key, why))


def lower_evidence(value: JsonValue | None, shape: Shape) -> ir.Evidence | None:
    """One evidence object, such as `{"kind": "review_text", "pattern": "cozy"}`."""
    section = shape.object(value, "`evidence`", 'an object such as {"kind": "review_text", "pattern": "cozy"}')
    if section is None:
        return None
    named = shape.text(shape.need(section, "kind", "the evidence", '"kind": such as "item_meta"'), "`kind`")
    chosen = shape.choice(named, "kind of evidence", KINDS) if named else None
    if chosen is None:
        return None
    (keys, lower), own = KINDS[chosen], Shape(Problems())
    own.keys(section, ("kind", *keys.all), f"`{chosen}`")
    own.text(section.get("description"), "`description`")
    evidence = lower(EvidenceDecoder(section, own, f"`{chosen}`", keys))
    shape.problems.extend(own.problems)
    return evidence if not own.problems.has_errors else None


def _item_meta(decoder: EvidenceDecoder) -> ir.ItemMeta:
    path = decoder.path("path")
    rules = tuple(rule for name in RULES if (rule := _rule(decoder, name)) is not None)
    names = [rule.name for rule in rules]
    alone = next((name for name in _DECIDES_ALONE if name in names), None)
    for name in names[names.index(alone) + 1 :] if alone else ():
        decoder.unused(name, f"`{alone}` decides alone")
    _restated(decoder, names)
    return ir.ItemMeta(path, rules)


def _rule(decoder: EvidenceDecoder, name: Any) -> ir.Expectation | None:
    value = decoder.section.get(name)
    if value is None:
        return None
    if name == "missing":
        return ir.Expectation(name, decoder.whole("missing", 0, -1, 1))
    expected = _expected(value)
    if expected is None:
        decoder.shape.wrong_type(value, f"`{name}`", "a string, a number, true or false", '"True"')
    elif not expected.strip():
        decoder.report(catalogue.empty_value(value.span, f"`{name}`", '"True"'))
    return ir.Expectation(name, expected)


def _expected(value: JsonValue) -> str | None:
    """What a rule names, as the string that it is compared as; None for what cannot be compared."""
    if isinstance(value, JsonString):
        return value.value
    if isinstance(value, JsonNumber) or (isinstance(value, JsonLiteral) and value.value is not None):
        return str(value.value)
    return None


def _restated(decoder: EvidenceDecoder, names: Sequence[str]) -> None:
    """`op` and `value` may restate a rule; if they state another one the rule holds."""
    op, value = decoder.section.get("op"), decoder.section.get("value")
    named = decoder.choice("op", RULES)
    restated = op if op is not None else value
    if restated is None:
        return
    if not names:
        decoder.report(catalogue.nothing_to_restate(restated.span, decoder.what, named or "true"))
    elif op is not None and named and named not in names:
        decoder.report(catalogue.restated_otherwise(op.span, "op", named, f"is `{names[0]}`"))
    elif value is not None:
        rule = named if named in names else names[0]
        said, holds = _expected(value), _expected(cast(JsonValue, decoder.section.get(rule)))
        if said != holds:
            decoder.report(catalogue.restated_otherwise(value.span, "value", said, f"`{rule}` says `{holds}`"))


def _item_hours(decoder: EvidenceDecoder) -> ir.ItemHours | None:
    path, value = decoder.path("path"), decoder.section.get("path")
    if len(path) == 2 and path[0] == "hours" and path[1] not in _DAYS and isinstance(value, JsonArray):
        decoder.report(catalogue.unknown_day(value.items[1].span, path[1], _DAYS))
    text, value = decoder.string("true"), decoder.section.get("true")
    times = _times(text)
    if value is not None and text and (times is None or times[0] == times[1]):
        decoder.report(catalogue.invalid_hours(value.span, text))
    _restated(decoder, ["true"] if value is not None else [])
    return ir.ItemHours(path, *times) if times is not None else None


def _times(text: str) -> tuple[int, int] | None:
    """Both ends of a range in minutes after midnight."""
    match = _HOURS.fullmatch(text.strip())
    if match is None:
        return None
    first, last = (int(match[i]) * 60 + int(match[i + 1]) for i in (1, 3))
    good = int(match[2]) < 60 and int(match[4]) < 60 and first <= 24 * 60 and last <= 24 * 60
    return (first, last) if good else None


def _review_text(decoder: EvidenceDecoder) -> ir.ReviewText | None:
    pattern, value = decoder.string("pattern"), decoder.section.get("pattern")
    source = parse_pattern(value, decoder.shape.problems) if isinstance(value, JsonString) else None
    social_filter, least = decoder.social_filter(), decoder.min_matches()
    inner = decoder.inner("weight_by")
    percentile = decoder.number("credibility_percentile", 50.0, 100.0)
    credible = decoder.whole("min_credible_matches", 2)
    weight = None
    if inner is not None:
        weight = ir.Weight(inner.path("field", or_string=True), percentile, credible)
    else:
        for key in ("credibility_percentile", "min_credible_matches"):
            decoder.unused(key, "there is no `weight_by`")
    return ir.ReviewText(pattern, weight, social_filter, least, source) if source is not None else None


def _review_meta(decoder: EvidenceDecoder) -> ir.ReviewMeta:
    path, op = decoder.path("path"), decoder.choice("op", ("not_empty", "gte", "lte"))
    value = decoder.threshold("value") if op in ("gte", "lte") else None
    agg = decoder.choice("agg", ("any", "all", "count"), "any")
    count = decoder.whole("count", 1)
    min_stars = decoder.number("min_stars") if not _is_null(decoder.section.get("min_stars")) else None
    if op == "not_empty" and not _is_null(decoder.section.get("value")):
        decoder.unused("value", "`not_empty` compares with nothing")
    if agg != "count" and count != 1:
        decoder.unused("count", f'`agg` is "{agg}"')
    return ir.ReviewMeta(path, op, value, agg, count, min_stars)


def _is_null(value: JsonValue | None) -> bool:
    return value is None or (isinstance(value, JsonLiteral) and value.value is None)


def _group_rating(decoder: EvidenceDecoder) -> ir.GroupRating | None:
    inner = decoder.inner("group_filter")
    decoder.shape.text(decoder.section.get("group"), "`group`")
    metric = decoder.choice("metric", ("avg_stars", "count"))
    threshold = decoder.number("threshold", 0.0, STARS if metric == "avg_stars" else float(limits.MATCHES))
    comparison = decoder.choice("operator", OPERATORS)
    if inner is None:
        return None
    field, operator = inner.path("field", or_string=True), inner.choice("operator", OPERATORS)
    return ir.GroupRating(field, operator, inner.threshold("value"), metric, comparison, threshold)


def _not_only_easy_raters(decoder: EvidenceDecoder) -> ir.NotOnlyEasyRaters | None:
    inner = decoder.inner("condition")
    return ir.NotOnlyEasyRaters(*map(inner.number, _SECTIONS["condition"].needed)) if inner is not None else None


def _sentiment(decoder: EvidenceDecoder) -> ir.Sentiment:
    topic = decoder.string("topic")
    feeling: Literal["positive", "negative"] = decoder.choice("sentiment", ("positive", "negative"), "positive")
    least = {name: decoder.whole(f"min_{name}", 1) for name in ("positive", "negative")}
    decoder.unused(f"min_{'negative' if feeling == 'positive' else 'positive'}", f"the sentiment is {feeling}")
    return ir.Sentiment(topic, feeling, least[feeling], decoder.social_filter())


def _social_rating(decoder: EvidenceDecoder) -> ir.SocialRating | None:
    stars, social_filter = decoder.number("min_stars", 4.0), decoder.social_filter()
    least = decoder.min_matches()
    return ir.SocialRating(stars, least, social_filter) if social_filter is not None else None


_CREDIBILITY = ("weight_by", "credibility_percentile", "min_credible_matches")
KINDS: dict[str, tuple[Keys, Callable[[EvidenceDecoder], ir.Evidence | None]]] = {
    "item_meta": (Keys(("path",), (*RULES, "op", "value")), _item_meta),
    "item_meta_hours": (Keys(("path", "true"), ("op", "value")), _item_hours),
    "review_text": (Keys(("pattern",), (*_CREDIBILITY, "social_filter", "min_matches")), _review_text),
    "review_meta": (Keys(("path", "op"), ("value", "agg", "count", "min_stars")), _review_meta),
    "review_group_rating": (Keys(("group_filter", "metric", "threshold", "operator"), ("group",)), _group_rating),
    "review_group_rating_negative": (Keys(("condition",)), _not_only_easy_raters),
    "review_sentiment": (Keys(("topic",), ("sentiment", "min_positive", "min_negative", "social_filter")), _sentiment),
    "social_rating": (Keys(("social_filter",), ("min_stars", "min_matches")), _social_rating),
}
"""What each kind of evidence takes, and how it is lowered."""
