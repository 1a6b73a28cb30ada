"""Lower the evidence of a condition, one kind after the other, to nodes of `model`.

In: the JSON of an evidence object. Out: the node, or None with every error reported. `KINDS` lists the keys of each kind.
Source: the reference of evidence types; docs/requests.md.
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

MAX_STARS = 5.0
OPERATORS: tuple[str, ...] = get_args(ir.Ordering)
RULES: tuple[str, ...] = ("not_contains", "contains", "not_true", "missing", "true", "false", "neutral")
"""The rules of `item_meta` in the order in which they are tried."""

_FINAL_RULES = ("not_contains", "contains", "not_true")
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
    """Typed access to the keys of one evidence object. Reports an invalid value, and returns a default instead."""

    section: JsonObject
    shape: Shape
    subject: str
    keys: Keys

    def report(self, diagnostic: Diagnostic) -> None:
        self.shape.problems.report(diagnostic)

    def need(self, key: str) -> JsonValue | None:
        """Return the value of a key; None, reported, if it is missing."""
        return self.shape.need(self.section, key, self.subject, f'"{key}": {_EXAMPLES[key]}')

    def get(self, key: str) -> JsonValue | None:
        """Return the value of a key; None if it is missing, reported if the key is needed."""
        return self.need(key) if key in self.keys.needed else self.section.get(key)

    def string(self, key: str) -> str:
        """Return the string at a key; an empty one if it is missing or invalid."""
        return self.nonempty(self.get(key), f"`{key}`", _EXAMPLES[key])

    def nonempty(self, value: JsonValue | None, subject: str, example: str) -> str:
        """Return a string, and report it if it is blank; an empty one if `value` is not a string."""
        string = self.shape.text(value, subject)
        if string is None:
            return ""
        if not string.value.strip():
            self.report(catalogue.empty_value(string.span, subject, example))
        return string.value

    def choice(self, key: str, allowed: Collection[str], default: str = "") -> Any:
        """Return the string at a key if it is one of `allowed`, otherwise `default`."""
        string = self.shape.text(self.get(key), f"`{key}`")
        if string is None:
            return default
        if string.value in allowed:
            return string.value
        self.report(catalogue.invalid_choice(string.span, key, string.value, allowed, OPERATORS))
        return default

    def whole(self, key: str, default: int, minimum: int = 1, maximum: int = limits.MATCHES) -> int:
        number = self.shape.whole(self.get(key), f"`{key}`", minimum, maximum)
        return default if number is None else number

    def number(self, key: str, default: float = 0.0, maximum: float = MAX_STARS) -> float:
        value = self.get(key)
        number = self.shape.number(value, f"`{key}`", 0.0, maximum) if value is not None else None
        return default if number is None else number

    def threshold(self, key: str) -> str | float | None:
        """Return a number, or a string such as a date; None, reported, if it is missing or anything else."""
        value = self.need(key)
        if isinstance(value, JsonString | JsonNumber):
            return value.value
        if value is not None:
            self.shape.wrong_type(value, f"`{key}`", "a number or a string")
        return None

    def path(self, key: str, *, or_string: bool = False) -> Path:
        """Return a list of keys, such as `["attributes", "WiFi"]`; with `or_string` a single key need not be in a list.

        Empty if it is missing or invalid.
        """
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
        """Check the keys of the object at a key, and return its decoder; None if there is no object."""
        section = self.shape.object(self.get(key), f"`{key}`", _EXAMPLES[key])
        if section is None:
            return None
        self.shape.keys(section, _SECTIONS[key].all, f"`{key}`")
        return EvidenceDecoder(section, self.shape, f"`{key}`", _SECTIONS[key])

    def social_filter(self) -> ir.SocialFilter | None:
        """Return the filter; None if there is none."""
        inner = self.inner("social_filter")
        if inner is None:
            return None
        value = inner.get("friends")
        items = self.shape.list(value, "`friends`", limits.LIST_ITEMS)
        if isinstance(value, JsonArray) and not value.items:
            self.report(catalogue.empty_value(value.span, "`friends`", _EXAMPLES["friends"]))
        return ir.SocialFilter(tuple(inner.key(item, "friends") for item in items), inner.whole("hops", 1, 0, 2))

    def min_matches(self) -> int:
        """Return `min_matches` of `social_filter`, or else of the evidence; report it if both differ."""
        outer = self.whole("min_matches", 1)
        social = self.section.get("social_filter")
        value = social.get("min_matches") if isinstance(social, JsonObject) else None
        inner = self.shape.whole(value, "`min_matches`", 1, limits.MATCHES)
        if value is None or inner is None:
            return outer
        if self.section.get("min_matches") is not None and inner != outer:
            self.report(catalogue.conflicting_min_matches(value.span))
        return inner

    def report_unused(self, key: str, reason: str) -> None:
        """Report that a key has no effect, if it is there."""
        value = self.section.get(key)
        if value is not None:
            self.report(catalogue.key_without_effect(value.span, key, reason))


def lower_evidence(value: JsonValue | None, shape: Shape) -> ir.Evidence | None:
    """Lower an object such as `{"kind": "review_text", "pattern": "cozy"}`; None, reported, if it has errors."""
    section = shape.object(value, "`evidence`", 'an object such as {"kind": "review_text", "pattern": "cozy"}')
    if section is None:
        return None
    kind_string = shape.text(shape.need(section, "kind", "the evidence", '"kind": such as "item_meta"'), "`kind`")
    kind = shape.choice(kind_string, "kind of evidence", KINDS) if kind_string else None
    if kind is None:
        return None
    keys, lower = KINDS[kind]
    own_shape = Shape(Problems())
    own_shape.keys(section, ("kind", *keys.all), f"`{kind}`")
    own_shape.text(section.get("description"), "`description`")
    evidence = lower(EvidenceDecoder(section, own_shape, f"`{kind}`", keys))
    shape.problems.extend(own_shape.problems)
    return evidence if not own_shape.problems.has_errors else None


def _lower_item_meta(decoder: EvidenceDecoder) -> ir.ItemMeta:
    path = decoder.path("path")
    rules = tuple(rule for name in RULES if (rule := _lower_rule(decoder, name)) is not None)
    names = [rule.name for rule in rules]
    final = next((name for name in _FINAL_RULES if name in names), None)
    for name in names[names.index(final) + 1 :] if final else ():
        decoder.report_unused(name, f"`{final}` decides alone")
    _check_restated(decoder, names)
    return ir.ItemMeta(path, rules)


def _lower_rule(decoder: EvidenceDecoder, name: Any) -> ir.Expectation | None:
    """Return the rule of this name, reported if its value is invalid; None if the evidence has none."""
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
    """Return the value of a rule as the string that values are compared with; None if it cannot be compared."""
    if isinstance(value, JsonString):
        return value.value
    if isinstance(value, JsonNumber) or (isinstance(value, JsonLiteral) and value.value is not None):
        return str(value.value)
    return None


def _check_restated(decoder: EvidenceDecoder, names: Sequence[str]) -> None:
    """Report `op` and `value` if they differ from the rule that they restate; the rule holds."""
    op = decoder.section.get("op")
    value = decoder.section.get("value")
    operator = decoder.choice("op", RULES)
    restated = op if op is not None else value
    if restated is None:
        return
    if not names:
        decoder.report(catalogue.nothing_to_restate(restated.span, decoder.subject, operator or "true"))
    elif op is not None and operator and operator not in names:
        decoder.report(catalogue.restated_otherwise(op.span, "op", operator, f"is `{names[0]}`"))
    elif value is not None:
        rule = operator if operator in names else names[0]
        restated_value = _expected(value)
        rule_value = _expected(cast(JsonValue, decoder.section.get(rule)))
        if restated_value != rule_value:
            meaning = f"`{rule}` says `{rule_value}`"
            decoder.report(catalogue.restated_otherwise(value.span, "value", restated_value, meaning))


def _lower_item_hours(decoder: EvidenceDecoder) -> ir.ItemHours | None:
    """Lower opening hours; None, reported, if the range is invalid."""
    path = decoder.path("path")
    keys = decoder.section.get("path")
    if len(path) == 2 and path[0] == "hours" and path[1] not in _DAYS and isinstance(keys, JsonArray):
        decoder.report(catalogue.unknown_day(keys.items[1].span, path[1], _DAYS))
    text = decoder.string("true")
    value = decoder.section.get("true")
    times = _parse_hours(text)
    if value is not None and text and (times is None or times[0] == times[1]):
        decoder.report(catalogue.invalid_hours(value.span, text))
    _check_restated(decoder, ["true"] if value is not None else [])
    return ir.ItemHours(path, *times) if times is not None else None


def _parse_hours(text: str) -> tuple[int, int] | None:
    """Return both ends of a range such as `18:0-21:30` in minutes after midnight; None if it is invalid."""
    match = _HOURS.fullmatch(text.strip())
    if match is None:
        return None
    start, end = (int(match[i]) * 60 + int(match[i + 1]) for i in (1, 3))
    is_valid = int(match[2]) < 60 and int(match[4]) < 60 and max(start, end) <= 24 * 60
    return (start, end) if is_valid else None


def _lower_review_text(decoder: EvidenceDecoder) -> ir.ReviewText | None:
    """Lower a pattern; None, reported, if it is missing or refused."""
    pattern = decoder.string("pattern")
    value = decoder.section.get("pattern")
    source = parse_pattern(value, decoder.shape.problems) if isinstance(value, JsonString) else None
    social_filter = decoder.social_filter()
    min_matches = decoder.min_matches()
    weight_decoder = decoder.inner("weight_by")
    percentile = decoder.number("credibility_percentile", 50.0, 100.0)
    min_credible = decoder.whole("min_credible_matches", 2)
    weight = None
    if weight_decoder is not None:
        weight = ir.Weight(weight_decoder.path("field", or_string=True), percentile, min_credible)
    else:
        for key in ("credibility_percentile", "min_credible_matches"):
            decoder.report_unused(key, "there is no `weight_by`")
    return ir.ReviewText(pattern, weight, social_filter, min_matches, source) if source is not None else None


def _lower_review_meta(decoder: EvidenceDecoder) -> ir.ReviewMeta:
    path = decoder.path("path")
    op = decoder.choice("op", ("not_empty", "gte", "lte"))
    value = decoder.threshold("value") if op in ("gte", "lte") else None
    agg = decoder.choice("agg", ("any", "all", "count"), "any")
    count = decoder.whole("count", 1)
    min_stars = decoder.number("min_stars") if not _is_null(decoder.section.get("min_stars")) else None
    if op == "not_empty" and not _is_null(decoder.section.get("value")):
        decoder.report_unused("value", "`not_empty` compares with nothing")
    if agg != "count" and count != 1:
        decoder.report_unused("count", f'`agg` is "{agg}"')
    return ir.ReviewMeta(path, op, value, agg, count, min_stars)


def _is_null(value: JsonValue | None) -> bool:
    return value is None or (isinstance(value, JsonLiteral) and value.value is None)


def _lower_group_rating(decoder: EvidenceDecoder) -> ir.GroupRating | None:
    """Lower a comparison of a group; None, reported, if it has no filter."""
    group = decoder.inner("group_filter")
    decoder.shape.text(decoder.section.get("group"), "`group`")
    metric = decoder.choice("metric", ("avg_stars", "count"))
    threshold = decoder.number("threshold", 0.0, MAX_STARS if metric == "avg_stars" else float(limits.MATCHES))
    comparison = decoder.choice("operator", OPERATORS)
    if group is None:
        return None
    field = group.path("field", or_string=True)
    operator = group.choice("operator", OPERATORS)
    return ir.GroupRating(field, operator, group.threshold("value"), metric, comparison, threshold)


def _lower_not_only_easy_raters(decoder: EvidenceDecoder) -> ir.NotOnlyEasyRaters | None:
    """Lower the bounds for easy and harsh raters; None, reported, if there are none."""
    bounds = decoder.inner("condition")
    return ir.NotOnlyEasyRaters(*map(bounds.number, _SECTIONS["condition"].needed)) if bounds is not None else None


def _lower_sentiment(decoder: EvidenceDecoder) -> ir.Sentiment:
    topic = decoder.string("topic")
    sentiment: Literal["positive", "negative"] = decoder.choice("sentiment", ("positive", "negative"), "positive")
    minimums = {name: decoder.whole(f"min_{name}", 1) for name in ("positive", "negative")}
    opposite = "negative" if sentiment == "positive" else "positive"
    decoder.report_unused(f"min_{opposite}", f"the sentiment is {sentiment}")
    return ir.Sentiment(topic, sentiment, minimums[sentiment], decoder.social_filter())


def _lower_social_rating(decoder: EvidenceDecoder) -> ir.SocialRating | None:
    """Lower a number of ratings by people; None, reported, if it has no social filter."""
    min_stars = decoder.number("min_stars", 4.0)
    social_filter = decoder.social_filter()
    min_matches = decoder.min_matches()
    return ir.SocialRating(min_stars, min_matches, social_filter) if social_filter is not None else None


_CREDIBILITY = ("weight_by", "credibility_percentile", "min_credible_matches")
_MINIMUMS = ("min_positive", "min_negative")
KINDS: dict[str, tuple[Keys, Callable[[EvidenceDecoder], ir.Evidence | None]]] = {
    "item_meta": (Keys(("path",), (*RULES, "op", "value")), _lower_item_meta),
    "item_meta_hours": (Keys(("path", "true"), ("op", "value")), _lower_item_hours),
    "review_text": (Keys(("pattern",), (*_CREDIBILITY, "social_filter", "min_matches")), _lower_review_text),
    "review_meta": (Keys(("path", "op"), ("value", "agg", "count", "min_stars")), _lower_review_meta),
    "review_group_rating": (Keys(("group_filter", "metric", "threshold", "operator"), ("group",)), _lower_group_rating),
    "review_group_rating_negative": (Keys(("condition",)), _lower_not_only_easy_raters),
    "review_sentiment": (Keys(("topic",), ("sentiment", *_MINIMUMS, "social_filter")), _lower_sentiment),
    "social_rating": (Keys(("social_filter",), ("min_stars", "min_matches")), _lower_social_rating),
}
"""The keys of each kind of evidence, and the function that lowers it."""
