"""The evidence of a condition, one kind after the other, as nodes of `ir.requests`.

In: the JSON of an evidence object. Out: the node, or None where something is wrong; everything that is wrong has
been told. `KINDS` says which keys each kind takes. Source: the reference of evidence types; docs/requests.md.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

from formulaseed import limits
from formulaseed.diagnostics.suggestions import did_you_mean
from formulaseed.requests import model as ir
from formulaseed.requests.evidence_keys import OPERATORS, STARS, Given, Keys
from formulaseed.requests.patterns import parse_pattern
from formulaseed.seed.read.shape import Shape
from formulaseed.source.json_reader import JsonArray, JsonLiteral, JsonNumber, JsonString, JsonValue

RULES: tuple[str, ...] = ("not_contains", "contains", "not_true", "missing", "true", "false", "neutral")
"""The rules of `item_meta` in the order in which they are tried."""

_DECIDES_ALONE = ("not_contains", "contains", "not_true")
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_HOURS = re.compile(r"([0-9]{1,2}):([0-9]{1,2})-([0-9]{1,2}):([0-9]{1,2})")


@dataclass(frozen=True, slots=True)
class Kind:
    """What a kind of evidence takes, and how it is lowered."""

    keys: Keys
    lower: Callable[[Given], ir.Evidence | None]


def lower_evidence(value: JsonValue, shape: Shape) -> ir.Evidence | None:
    """One evidence object, such as `{"kind": "review_text", "pattern": "cozy"}`."""
    section = shape.object(value, "`evidence`", 'an object such as {"kind": "review_text", "pattern": "cozy"}')
    if section is None:
        return None
    named = shape.text(shape.need(section, "kind", "the evidence", '"kind": such as "item_meta"'), "`kind`")
    chosen = shape.choice(named, "kind of evidence", KINDS) if named else None
    if chosen is None:
        return None
    kind = KINDS[chosen]
    shape.keys(section, ("kind", *kind.keys.all), f"`{chosen}`")
    shape.text(section.get("description"), "`description`")
    return kind.lower(Given(section, shape, f"`{chosen}`", kind.keys))


def _item_meta(given: Given) -> ir.ItemMeta | None:
    path = given.path("path")
    rules = tuple(rule for name in RULES if (rule := _rule(given, name)) is not None)
    names = [rule.name for rule in rules]
    alone = next((name for name in _DECIDES_ALONE if name in names), None)
    for name in names[names.index(alone) + 1 :] if alone else ():
        given.unused(name, f"`{alone}` decides alone")
    _restated(given, names)
    return ir.ItemMeta(path, rules) if not given.wrong else None


def _rule(given: Given, name: str) -> ir.Expectation | None:
    value = given.section.get(name)
    if value is None:
        return None
    literal = cast(Any, name)
    if name == "missing":
        return ir.Expectation(literal, given.whole("missing", 0, -1, 1))
    expected = _expected(value)
    if expected is None:
        given.shape.wrong_type(value, f"`{name}`", "a text, a number, true or false", '"True"')
        given.wrong = True
    elif not expected.strip():
        given.told("FS509", value, f"`{name}` is empty, which every value contains", "write the value that is meant")
    return ir.Expectation(literal, expected)


def _expected(value: JsonValue) -> str | None:
    """What a rule names, as the text that it is compared as; None for what cannot be compared."""
    if isinstance(value, JsonString):
        return value.value
    if isinstance(value, JsonNumber) or (isinstance(value, JsonLiteral) and value.value is not None):
        return str(value.value)
    return None


def _restated(given: Given, names: Sequence[str]) -> None:
    """`op` and `value` may say a rule once more; where they say another one the rule holds."""
    op, value = given.section.get("op"), given.section.get("value")
    named = given.choice("op", RULES) if op is not None else ""
    if op is None and value is None:
        return
    if not names:
        example = f'"{named or "true"}": …'
        message = f"`op` and `value` repeat a rule, and {given.what} has none"
        given.told(
            "FS502", cast(JsonValue, op if op is not None else value), message, f"write {example} in place of both"
        )
        return
    if named and named not in names:
        message, help = (
            f"`op` says `{named}`, and the rule is `{names[0]}`",
            "the rule holds; remove `op`, or correct one",
        )
        given.shape.problems.add("FS816", cast(JsonValue, op).span, message, help)
    elif value is not None:
        rule = named if named in names else names[0]
        stated = given.section.get(rule)
        assert stated is not None
        said, holds = _expected(value), _expected(stated)
        if said != holds:
            message = f"`value` says `{said}`, and the rule `{rule}` says `{holds}`"
            help = "the rule holds; remove `value`, or correct one of the two"
            given.shape.problems.add("FS816", value.span, message, help)


def _item_hours(given: Given) -> ir.ItemHours | None:
    path = given.path("path")
    if len(path) == 2 and path[0] == "hours" and path[1] not in _DAYS:
        value = given.section.get("path")
        assert isinstance(value, JsonArray)
        given.told("FS509", value.items[1], f"`{path[1]}` is no day", did_you_mean(path[1], _DAYS, what="days"))
    text, value = given.text("true"), given.section.get("true")
    times = _times(text)
    if times is None and value is not None and not given.wrong:
        help = 'write hours and minutes from 0:0 to 24:0, such as "18:0-21:30"'
        given.told("FS509", value, f"`{text}` is no range of hours", help)
    elif times is not None and times[0] == times[1] and value is not None:
        given.told("FS509", value, f"the range `{text}` is empty", 'write two times, such as "18:0-21:30"')
    _restated(given, ["true"] if value is not None else [])
    return ir.ItemHours(path, *times) if times is not None and not given.wrong else None


def _times(text: str) -> tuple[int, int] | None:
    """Both ends of a range in minutes after midnight."""
    match = _HOURS.fullmatch(text.strip())
    if match is None:
        return None
    first, last = (int(match[i]) * 60 + int(match[i + 1]) for i in (1, 3))
    good = int(match[2]) < 60 and int(match[4]) < 60 and first <= 24 * 60 and last <= 24 * 60
    return (first, last) if good else None


def _review_text(given: Given) -> ir.ReviewText | None:
    pattern = given.text("pattern")
    value = given.section.get("pattern")
    source = parse_pattern(value, given.shape.problems) if isinstance(value, JsonString) else None
    social_filter, least = given.social_filter(), given.min_matches()
    inner = given.inner("weight_by")
    percentile = given.number("credibility_percentile", 50.0, 0.0, 100.0)
    credible = given.whole("min_credible_matches", 2)
    weight = None
    if inner is not None:
        weight = ir.Weight(inner.path("field", or_text=True), percentile, credible)
        given.wrong |= inner.wrong
    else:
        for key in ("credibility_percentile", "min_credible_matches"):
            given.unused(key, "there is no `weight_by`")
    if given.wrong or source is None:
        return None
    return ir.ReviewText(pattern, weight, social_filter, least, source)


def _review_meta(given: Given) -> ir.ReviewMeta | None:
    path = given.path("path")
    op = cast(Literal["not_empty", "gte", "lte"], given.choice("op", ("not_empty", "gte", "lte")))
    value = given.threshold("value") if op in ("gte", "lte") else None
    agg = cast(Literal["any", "all", "count"], given.choice("agg", ("any", "all", "count"), "any"))
    count = given.whole("count", 1)
    stars = given.section.get("min_stars")
    min_stars = given.number("min_stars") if stars is not None and not _is_null(stars) else None
    if op == "not_empty" and not _is_null(given.section.get("value")):
        given.unused("value", "`not_empty` compares with nothing")
    if agg != "count" and count != 1:
        given.unused("count", f'`agg` is "{agg}"')
    return ir.ReviewMeta(path, op, value, agg, count, min_stars) if not given.wrong else None


def _is_null(value: JsonValue | None) -> bool:
    return isinstance(value, JsonLiteral) and value.value is None


def _group_rating(given: Given) -> ir.GroupRating | None:
    inner = given.inner("group_filter")
    given.shape.text(given.section.get("group"), "`group`")
    metric = cast(Literal["avg_stars", "count"], given.choice("metric", ("avg_stars", "count")))
    most = STARS if metric == "avg_stars" else float(limits.MATCHES)
    threshold = given.number("threshold", 0.0, 0.0, most)
    comparison = cast(ir.Ordering, given.choice("operator", OPERATORS))
    if inner is None:
        return None
    field = inner.path("field", or_text=True)
    operator = cast(ir.Ordering, inner.choice("operator", OPERATORS))
    value = inner.threshold("value")
    good = not (given.wrong or inner.wrong)
    return ir.GroupRating(field, operator, value, metric, comparison, threshold) if good else None


def _not_only_easy_raters(given: Given) -> ir.NotOnlyEasyRaters | None:
    inner = given.inner("condition")
    if inner is None:
        return None
    generous, harsh = inner.number("generous_avg_gte"), inner.number("harsh_avg_lt")
    return ir.NotOnlyEasyRaters(generous, harsh) if not (given.wrong or inner.wrong) else None


def _sentiment(given: Given) -> ir.Sentiment | None:
    topic = given.text("topic")
    feeling = cast(Literal["positive", "negative"], given.choice("sentiment", ("positive", "negative"), "positive"))
    least = {name: given.whole(f"min_{name}", 1) for name in ("positive", "negative")}
    other = "negative" if feeling == "positive" else "positive"
    given.unused(f"min_{other}", f"the sentiment is {feeling}")
    social_filter = given.social_filter()
    return ir.Sentiment(topic, feeling, least[feeling], social_filter) if not given.wrong else None


def _social_rating(given: Given) -> ir.SocialRating | None:
    stars, social_filter, least = given.number("min_stars", 4.0), given.social_filter(), given.min_matches()
    return ir.SocialRating(stars, least, social_filter) if social_filter is not None and not given.wrong else None


KINDS: dict[str, Kind] = {
    "item_meta": Kind(Keys(("path",), (*RULES, "op", "value")), _item_meta),
    "item_meta_hours": Kind(Keys(("path", "true"), ("op", "value")), _item_hours),
    "review_text": Kind(
        Keys(
            ("pattern",),
            ("weight_by", "credibility_percentile", "min_credible_matches", "social_filter", "min_matches"),
        ),
        _review_text,
    ),
    "review_meta": Kind(Keys(("path", "op"), ("value", "agg", "count", "min_stars")), _review_meta),
    "review_group_rating": Kind(Keys(("group_filter", "metric", "threshold", "operator"), ("group",)), _group_rating),
    "review_group_rating_negative": Kind(Keys(("condition",)), _not_only_easy_raters),
    "review_sentiment": Kind(
        Keys(("topic",), ("sentiment", "min_positive", "min_negative", "social_filter")), _sentiment
    ),
    "social_rating": Kind(Keys(("social_filter",), ("min_stars", "min_matches")), _social_rating),
}
"""Every kind of evidence."""
