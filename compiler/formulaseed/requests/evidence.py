"""Lower the evidence of a condition, one kind after the other, to nodes of `model`.

In: the JSON of an evidence object. Out: the node, or None with every error reported. Source: docs/requests.md.
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
"""An example value, for messages, of every required key and of every key with few possible values."""


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys that an object must have, and those that it may have."""

    required: tuple[str, ...]
    optional: tuple[str, ...] = ()

    @property
    def all(self) -> tuple[str, ...]:
        """All keys, with `description`, which every object may have."""
        return (*self.required, *self.optional, "description")


_SECTIONS = {
    "weight_by": Keys(("field",)),
    "social_filter": Keys(("friends", "hops"), ("min_matches",)),
    "group_filter": Keys(("field", "operator", "value")),
    "condition": Keys(("generous_avg_gte", "harsh_avg_lt")),
}
"""The keys of the objects inside evidence."""


@dataclass
class EvidenceDecoder:
    """A reader of the keys of one evidence object, `section`.

    Its methods report an invalid value to `shape`, and return a default instead. `subject` names the object in messages.
    """

    section: JsonObject
    shape: Shape
    subject: str
    keys: Keys

    def report(self, diagnostic: Diagnostic) -> None:
        """Report a problem of this object."""
        self.shape.problems.report(diagnostic)

    def require(self, key: str) -> JsonValue | None:
        """Return the value of a key; None, with an error reported, if it is missing."""
        return self.shape.require(self.section, key, self.subject, f'"{key}": {_EXAMPLES[key]}')

    def get(self, key: str) -> JsonValue | None:
        """Return the value of a key; None if it is missing, which is reported only if the key is required."""
        if key in self.keys.required:
            return self.require(key)
        return self.section.get(key)

    def read_string(self, key: str) -> str:
        """Return the string at a key; "" if it is missing or no string. These and blank ones are reported."""
        return self.check_nonblank(self.get(key), f"`{key}`", _EXAMPLES[key])

    def check_nonblank(self, value: JsonValue | None, subject: str, example: str) -> str:
        """Return a string, and report it if it is blank. Returns "" if `value` is missing or, reported, no string."""
        string = self.shape.read_text(value, subject)
        if string is None:
            return ""
        if not string.value.strip():
            self.report(catalogue.empty_value(string.span, subject, example))
        return string.value

    def read_choice(self, key: str, allowed: Collection[str], default: str = "") -> Any:
        """Return the string at a key if it is in `allowed`; `default` if missing or, reported, anything else."""
        string = self.shape.read_text(self.get(key), f"`{key}`")
        if string is None:
            return default
        if string.value in allowed:
            return string.value
        self.report(catalogue.invalid_choice(string.span, key, string.value, allowed, OPERATORS))
        return default

    def read_integer(self, key: str, default: int, minimum: int = 1, maximum: int = limits.MATCHES) -> int:
        """Return the integer at a key, from `minimum` to `maximum`; `default` if it is missing, or invalid and reported."""
        number = self.shape.read_integer(self.get(key), f"`{key}`", minimum, maximum)
        return default if number is None else number

    def read_number(self, key: str, default: float = 0.0, maximum: float = MAX_STARS) -> float:
        """Return the number at a key, from 0 to `maximum`; `default` if it is missing, or invalid and reported."""
        value = self.get(key)
        if value is None:
            return default
        number = self.shape.read_number(value, f"`{key}`", 0.0, maximum)
        return default if number is None else number

    def read_threshold(self, key: str) -> str | float | None:
        """Return a number, or a string such as a date; None, reported, if it is missing or anything else."""
        value = self.require(key)
        if isinstance(value, JsonString | JsonNumber):
            return value.value
        if value is not None:
            self.shape.report_wrong_type(value, f"`{key}`", "a number or a string")
        return None

    def read_path(self, key: str, *, allows_string: bool = False) -> Path:
        """Return a list of keys, such as `["attributes", "WiFi"]`; with `allows_string` also a string, as a single key.

        Empty, with an error reported, if it is missing or invalid; a longer path is cut after `limits.PATH_KEYS`.
        """
        value = self.get(key)
        if value is None:
            return ()
        if allows_string and isinstance(value, JsonString):
            value = JsonArray(value.span, (value,))
        if not isinstance(value, JsonArray):
            example = json.dumps(value.value.split(".")) if isinstance(value, JsonString) else _EXAMPLES[key]
            self.shape.report_wrong_type(value, f"`{key}`", "a list of keys", example)
            return ()
        if not 0 < len(value.items) <= limits.PATH_KEYS:
            self.report(catalogue.path_length(value.span, key, len(value.items), limits.PATH_KEYS, _EXAMPLES[key]))
        return tuple(self.check_key(item, key) for item in value.items[: limits.PATH_KEYS])

    def check_key(self, item: JsonValue, list_key: str) -> str:
        """Return an item of the list at `list_key`; an empty string, with an error reported, if it is not a string."""
        return self.check_nonblank(item, f"a key of `{list_key}`", _EXAMPLES[list_key])

    def open_section(self, key: str) -> EvidenceDecoder | None:
        """Return a decoder of the object at a key, unknown keys reported; None if there is no object."""
        section = self.shape.read_object(self.get(key), f"`{key}`", _EXAMPLES[key])
        if section is None:
            return None
        self.shape.report_unknown_keys(section, _SECTIONS[key].all, f"`{key}`")
        return EvidenceDecoder(section, self.shape, f"`{key}`", _SECTIONS[key])

    def read_social_filter(self) -> ir.SocialFilter | None:
        """Return the filter at `social_filter`, with its errors reported; None if there is no object."""
        section = self.open_section("social_filter")
        if section is None:
            return None
        value = section.get("friends")
        items = self.shape.read_list(value, "`friends`", limits.LIST_ITEMS)
        if isinstance(value, JsonArray) and not value.items:
            self.report(catalogue.empty_value(value.span, "`friends`", _EXAMPLES["friends"]))
        friends = tuple(section.check_key(item, "friends") for item in items)
        return ir.SocialFilter(friends, section.read_integer("hops", 1, 0, 2))

    def read_min_matches(self) -> int:
        """Return `min_matches` of `social_filter`, else of the evidence, else 1; reported if both differ."""
        outer = self.read_integer("min_matches", 1)
        section = self.section.get("social_filter")
        value = section.get("min_matches") if isinstance(section, JsonObject) else None
        inner = self.shape.read_integer(value, "`min_matches`", 1, limits.MATCHES)
        if value is None or inner is None:
            return outer
        if self.section.get("min_matches") is not None and inner != outer:
            self.report(catalogue.conflicting_min_matches(value.span))
        return inner

    def report_unused(self, key: str, reason: str) -> None:
        """Report that a key has no effect, with the reason, if the object has this key."""
        value = self.section.get(key)
        if value is not None:
            self.report(catalogue.key_without_effect(value.span, key, reason))


def lower_evidence(value: JsonValue | None, shape: Shape) -> ir.Evidence | None:
    """Lower an object such as `{"kind": "review_text", …}`; None if it is absent or, with errors reported, invalid."""
    section = shape.read_object(value, "`evidence`", 'an object such as {"kind": "review_text", "pattern": "cozy"}')
    if section is None:
        return None
    kind_string = shape.require_text(section, "kind", "the evidence", '"kind": such as "item_meta"')
    kind = shape.read_choice(kind_string, "kind of evidence", KINDS) if kind_string else None
    if kind is None:
        return None
    keys, lower = KINDS[kind]
    own_shape = Shape(Problems())
    own_shape.report_unknown_keys(section, ("kind", *keys.all), f"`{kind}`")
    own_shape.read_text(section.get("description"), "`description`")
    evidence = lower(EvidenceDecoder(section, own_shape, f"`{kind}`", keys))
    shape.problems.extend(own_shape.problems)
    if own_shape.problems.has_errors:
        return None
    return evidence


def _lower_item_meta(decoder: EvidenceDecoder) -> ir.ItemMeta:
    """Lower the rules for an attribute, and report rules that have no effect or contradict `op` and `value`."""
    path = decoder.read_path("path")
    rules = tuple(rule for name in RULES if (rule := _lower_rule(decoder, name)) is not None)
    names = [rule.name for rule in rules]
    final = next((name for name in _FINAL_RULES if name in names), None)
    if final is not None:
        for name in names[names.index(final) + 1 :]:
            decoder.report_unused(name, f"`{final}` decides alone")
    _check_restated(decoder, names)
    return ir.ItemMeta(path, rules)


def _lower_rule(decoder: EvidenceDecoder, name: Any) -> ir.Expectation | None:
    """Return the rule of this name, even with an invalid value, which is reported; None if there is no rule."""
    value = decoder.section.get(name)
    if value is None:
        return None
    if name == "missing":
        return ir.Expectation(name, decoder.read_integer("missing", 0, -1, 1))
    expected = _comparable_string(value)
    if expected is None:
        decoder.shape.report_wrong_type(value, f"`{name}`", "a string, a number, true or false", '"True"')
    elif not expected.strip():
        decoder.report(catalogue.empty_value(value.span, f"`{name}`", '"True"'))
    return ir.Expectation(name, expected)


def _comparable_string(value: JsonValue) -> str | None:
    """Return the value of a rule as the string that attributes are compared with; None for null, a list or an object."""
    if isinstance(value, JsonString):
        return value.value
    if isinstance(value, JsonNumber) or (isinstance(value, JsonLiteral) and value.value is not None):
        return str(value.value)
    return None


def _check_restated(decoder: EvidenceDecoder, names: Sequence[str]) -> None:
    """Report `op` and `value`, which restate a rule of `names`, if they differ from it. They have no effect of their own."""
    op = decoder.section.get("op")
    value = decoder.section.get("value")
    operator = decoder.read_choice("op", RULES)
    restated = op if op is not None else value
    if restated is None:
        return
    if not names:
        decoder.report(catalogue.nothing_to_restate(restated.span, decoder.subject, operator or "true"))
    elif op is not None and operator and operator not in names:
        decoder.report(catalogue.restated_otherwise(op.span, "op", operator, f"is `{names[0]}`"))
    elif value is not None:
        rule = operator if operator in names else names[0]
        restated_value = _comparable_string(value)
        rule_value = _comparable_string(cast(JsonValue, decoder.section.get(rule)))
        if restated_value != rule_value:
            meaning = f"`{rule}` says `{rule_value}`"
            decoder.report(catalogue.restated_otherwise(value.span, "value", restated_value, meaning))


def _lower_item_hours(decoder: EvidenceDecoder) -> ir.ItemHours | None:
    """Lower opening hours, and report an unknown day; None, with an error reported, without a valid range."""
    path = decoder.read_path("path")
    keys = decoder.section.get("path")
    if len(path) == 2 and path[0] == "hours" and path[1] not in _DAYS and isinstance(keys, JsonArray):
        decoder.report(catalogue.unknown_day(keys.items[1].span, path[1], _DAYS))
    text = decoder.read_string("true")
    value = decoder.section.get("true")
    times = _parse_hours(text)
    if value is not None and text and (times is None or times[0] == times[1]):
        decoder.report(catalogue.invalid_hours(value.span, text))
    _check_restated(decoder, ["true"] if value is not None else [])
    if times is None:
        return None
    return ir.ItemHours(path, *times)


def _parse_hours(text: str) -> tuple[int, int] | None:
    """Return both ends of a range such as `18:0-21:30` in minutes after midnight; None if it is invalid."""
    match = _HOURS.fullmatch(text.strip())
    if match is None:
        return None
    start, end = (int(match[i]) * 60 + int(match[i + 1]) for i in (1, 3))
    if int(match[2]) >= 60 or int(match[4]) >= 60 or max(start, end) > 24 * 60:
        return None
    return start, end


def _lower_review_text(decoder: EvidenceDecoder) -> ir.ReviewText | None:
    """Lower a pattern, and report keys without effect; None, with an error reported, if it is missing or refused."""
    pattern = decoder.read_string("pattern")
    value = decoder.section.get("pattern")
    source = parse_pattern(value, decoder.shape.problems) if isinstance(value, JsonString) else None
    social_filter = decoder.read_social_filter()
    min_matches = decoder.read_min_matches()
    weight_decoder = decoder.open_section("weight_by")
    percentile = decoder.read_number("credibility_percentile", 50.0, 100.0)
    min_credible = decoder.read_integer("min_credible_matches", 2)
    weight = None
    if weight_decoder is not None:
        weight = ir.Weight(weight_decoder.read_path("field", allows_string=True), percentile, min_credible)
    else:
        for key in ("credibility_percentile", "min_credible_matches"):
            decoder.report_unused(key, "there is no `weight_by`")
    if source is None:
        return None
    return ir.ReviewText(pattern, weight, social_filter, min_matches, source)


def _lower_review_meta(decoder: EvidenceDecoder) -> ir.ReviewMeta:
    """Lower a test of the fields of reviews, and report keys that have no effect."""
    path = decoder.read_path("path")
    op = decoder.read_choice("op", ("not_empty", "gte", "lte"))
    value = decoder.read_threshold("value") if op in ("gte", "lte") else None
    agg = decoder.read_choice("agg", ("any", "all", "count"), "any")
    count = decoder.read_integer("count", 1)
    min_stars = None if _is_null(decoder.section.get("min_stars")) else decoder.read_number("min_stars")
    if op == "not_empty" and not _is_null(decoder.section.get("value")):
        decoder.report_unused("value", "`not_empty` compares with nothing")
    if agg != "count" and count != 1:
        decoder.report_unused("count", f'`agg` is "{agg}"')
    return ir.ReviewMeta(path, op, value, agg, count, min_stars)


def _is_null(value: JsonValue | None) -> bool:
    """Return True if a key is missing, or its value is null."""
    return value is None or (isinstance(value, JsonLiteral) and value.value is None)


def _lower_group_rating(decoder: EvidenceDecoder) -> ir.GroupRating | None:
    """Lower a comparison of a group's stars or size; None, with an error reported, if it has no `group_filter`."""
    group = decoder.open_section("group_filter")
    decoder.shape.read_text(decoder.section.get("group"), "`group`")
    metric = decoder.read_choice("metric", ("avg_stars", "count"))
    threshold = decoder.read_number("threshold", 0.0, MAX_STARS if metric == "avg_stars" else float(limits.MATCHES))
    comparison = decoder.read_choice("operator", OPERATORS)
    if group is None:
        return None
    field = group.read_path("field", allows_string=True)
    operator = group.read_choice("operator", OPERATORS)
    return ir.GroupRating(field, operator, group.read_threshold("value"), metric, comparison, threshold)


def _lower_not_only_easy_raters(decoder: EvidenceDecoder) -> ir.NotOnlyEasyRaters | None:
    """Lower the bounds for easy and harsh raters; None, with an error reported, if there is no `condition` object."""
    bounds = decoder.open_section("condition")
    if bounds is None:
        return None
    return ir.NotOnlyEasyRaters(*map(bounds.read_number, _SECTIONS["condition"].required))


def _lower_sentiment(decoder: EvidenceDecoder) -> ir.Sentiment:
    """Lower a number of judgements on a topic, and report the minimum of the other sentiment, which has no effect."""
    topic = decoder.read_string("topic")
    sentiment: Literal["positive", "negative"] = decoder.read_choice("sentiment", ("positive", "negative"), "positive")
    minimums = {name: decoder.read_integer(f"min_{name}", 1) for name in ("positive", "negative")}
    opposite = "negative" if sentiment == "positive" else "positive"
    decoder.report_unused(f"min_{opposite}", f"the sentiment is {sentiment}")
    return ir.Sentiment(topic, sentiment, minimums[sentiment], decoder.read_social_filter())


def _lower_social_rating(decoder: EvidenceDecoder) -> ir.SocialRating | None:
    """Lower a number of ratings by people; None, with an error reported, if it has no social filter."""
    min_stars = decoder.read_number("min_stars", 4.0)
    social_filter = decoder.read_social_filter()
    min_matches = decoder.read_min_matches()
    if social_filter is None:
        return None
    return ir.SocialRating(min_stars, min_matches, social_filter)


_CREDIBILITY = ("weight_by", "credibility_percentile", "min_credible_matches")
KINDS: dict[str, tuple[Keys, Callable[[EvidenceDecoder], ir.Evidence | None]]] = {
    "item_meta": (Keys(("path",), (*RULES, "op", "value")), _lower_item_meta),
    "item_meta_hours": (Keys(("path", "true"), ("op", "value")), _lower_item_hours),
    "review_text": (Keys(("pattern",), (*_CREDIBILITY, "social_filter", "min_matches")), _lower_review_text),
    "review_meta": (Keys(("path", "op"), ("value", "agg", "count", "min_stars")), _lower_review_meta),
    "review_group_rating": (Keys(("group_filter", "metric", "threshold", "operator"), ("group",)), _lower_group_rating),
    "review_group_rating_negative": (Keys(("condition",)), _lower_not_only_easy_raters),
    "review_sentiment": (
        Keys(("topic",), ("sentiment", "min_positive", "min_negative", "social_filter")),
        _lower_sentiment,
    ),
    "social_rating": (Keys(("social_filter",), ("min_stars", "min_matches")), _lower_social_rating),
}
"""The keys of each kind of evidence, and the function that lowers it."""
