"""The evidence of a condition, one kind after the other, as nodes of `ir.requests`.

In: the JSON of an evidence object. Out: the node, or None where something is wrong; everything that is wrong has
been told. `KINDS` says which keys each kind takes. Source: the reference of evidence types, and DESIGN's table.
"""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast, get_args

from formulaseed import limits
from formulaseed.diagnostics.model import Help
from formulaseed.diagnostics.suggest import did_you_mean
from formulaseed.frontends.shape import Shape
from formulaseed.ir import requests as ir
from formulaseed.source.json_reader import JsonArray, JsonLiteral, JsonNumber, JsonObject, JsonString, JsonValue

RULES: tuple[str, ...] = ("not_contains", "contains", "not_true", "missing", "true", "false", "neutral")
"""The rules of `item_meta` in the order in which they are tried."""

_DECIDES_ALONE = ("not_contains", "contains", "not_true")
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_HOURS = re.compile(r"([0-9]{1,2}):([0-9]{1,2})-([0-9]{1,2}):([0-9]{1,2})")
_OPERATORS: tuple[str, ...] = get_args(ir.Ordering)
_SYMBOLS = {">=": "gte", ">": "gt", "<=": "lte", "<": "lt", "==": "eq", "=": "eq", "!=": "ne"}
_STARS = 5.0


@dataclass(frozen=True, slots=True)
class Kind:
    """What a kind of evidence takes, and how it is lowered."""

    needed: tuple[str, ...]
    optional: tuple[str, ...]
    lower: Callable[[_Evidence], ir.Evidence | None]

    def keys(self) -> tuple[str, ...]:
        return ("kind", *self.needed, *self.optional, "description")


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
    shape.keys(section, kind.keys(), f"`{chosen}`")
    shape.text(section.get("description"), "`description`")
    return kind.lower(_Evidence(section, shape, f"`{chosen}`", kind))


class _Evidence:
    """Typed access to the keys of one evidence object. `wrong` once something had to be told."""

    def __init__(self, section: JsonObject, shape: Shape, what: str, kind: Kind) -> None:
        self.section = section
        self.shape = shape
        self.what = what
        self.kind = kind
        self.wrong = False

    def get(self, key: str) -> JsonValue | None:
        """The value of a key; where a needed one is missing that is told."""
        found = self.section.get(key)
        if found is None and key in self.kind.needed:
            self.shape.need(self.section, key, self.what, _EXAMPLES[key])
            self.wrong = True
        return found

    def text(self, key: str) -> str:
        value = self.get(key)
        found = self.shape.text(value, f"`{key}`") if value is not None else None
        if value is not None and found is None:
            self.wrong = True
        if found is not None and not found.value.strip():
            self.told("FS509", found, f"`{key}` is empty", f"write {_example(key)}")
        return found.value if found is not None else ""

    def choice(self, key: str, allowed: Collection[str], default: str = "") -> str:
        value = self.get(key)
        if value is None:
            return default
        found = self.shape.text(value, f"`{key}`")
        if found is not None and found.value in allowed:
            return found.value
        self.wrong = True
        if found is not None:
            symbol = _SYMBOLS.get(found.value, "")
            help: str = did_you_mean(found.value, allowed, what="it is one of")
            if symbol in allowed:
                help = Help(f"write `{symbol}`", symbol)
            code = "FS505" if set(allowed) & set(_OPERATORS) else "FS509"
            self.shape.problems.add(code, found.span, f"`{key}` cannot be `{found.value}`", help)
        return default

    def whole(self, key: str, default: int, least: int = 1, most: int = limits.MATCHES) -> int:
        value = self.get(key)
        if value is None:
            return default
        found = self.shape.whole(value, f"`{key}`", least, most)
        self.wrong |= found is None
        return found if found is not None else default

    def number(self, key: str, default: float = 0.0, least: float = 0.0, most: float = _STARS) -> float:
        value = self.get(key)
        if value is None:
            return default
        found = self.shape.number(value, f"`{key}`", least, most)
        self.wrong |= found is None
        return found if found is not None else default

    def path(self, key: str, *, or_text: bool = False) -> ir.Path:
        """A list of keys, such as `["attributes", "WiFi"]`; with `or_text` a single key may stand alone."""
        value = self.get(key)
        if value is None:
            return ()
        if or_text and isinstance(value, JsonString):
            value = JsonArray(value.span, (value,))
        if not isinstance(value, JsonArray):
            example = json.dumps(value.value.split(".")) if isinstance(value, JsonString) else _example(key)
            self.shape.wrong_type(value, f"`{key}`", "a list of keys", example)
            self.wrong = True
            return ()
        if not 0 < len(value.items) <= limits.PATH_KEYS:
            message = f"`{key}` has {len(value.items)} keys"
            self.told("FS509", value, message, f"write 1 to {limits.PATH_KEYS} keys, such as {_example(key)}")
        return tuple(self.key(item, key) for item in value.items[: limits.PATH_KEYS])

    def key(self, item: JsonValue, path: str) -> str:
        found = self.shape.text(item, f"a key of `{path}`")
        if found is None:
            self.wrong = True
        elif not found.value:
            self.told("FS509", found, f"a key of `{path}` is empty", f"write {_example(path)}")
        return found.value if found is not None else ""

    def inner(self, key: str) -> _Evidence | None:
        """The object at a key, None where there is none; its own keys are checked."""
        value = self.get(key)
        if value is None:
            return None
        found = self.shape.object(value, f"`{key}`", _example(key))
        if found is None:
            self.wrong = True
            return None
        kind = _SECTIONS[key]
        self.shape.keys(found, (*kind.needed, *kind.optional, "description"), f"`{key}`")
        return _Evidence(found, self.shape, f"`{key}`", kind)

    def circle(self) -> ir.Circle | None:
        inner = self.inner("social_filter")
        if inner is None:
            return None
        value = inner.get("friends")
        items = self.shape.list(value, "`friends`", limits.LIST_ITEMS)
        if isinstance(value, JsonArray) and not value.items:
            inner.told("FS509", value, "`friends` names nobody", f"write {_example('friends')}")
        friends = tuple(inner.key(item, "friends") for item in items)
        hops = inner.whole("hops", 1, 0, 2)
        self.wrong |= inner.wrong or not friends
        return ir.Circle(friends, hops)

    def min_matches(self) -> int:
        """From beside `social_filter`, or from inside of it."""
        found, social = self.whole("min_matches", 1), self.section.get("social_filter")
        value = social.get("min_matches") if isinstance(social, JsonObject) else None
        if value is None:
            return found
        inside = self.shape.whole(value, "`min_matches`", 1, limits.MATCHES)
        self.wrong |= inside is None
        if self.section.get("min_matches") is not None and inside is not None and inside != found:
            self.told("FS511", value, "`min_matches` stands in two places with two values", "keep one of them")
        return inside or found

    def unused(self, key: str, why: str) -> None:
        """Tell that a key does nothing, if it is there."""
        value = self.section.get(key)
        if value is not None:
            self.shape.problems.add(
                "FS817", value.span, f"`{key}` has no effect: {why}", "remove it, or what rules it out"
            )

    def told(self, code: str, value: JsonValue, message: str, help: str) -> None:
        self.shape.problems.add(code, value.span, message, help)
        self.wrong = True


def _item_meta(given: _Evidence) -> ir.ItemMeta | None:
    path = given.path("path")
    rules = tuple(rule for name in RULES if (rule := _rule(given, name)) is not None)
    names = [rule.name for rule in rules]
    alone = next((name for name in _DECIDES_ALONE if name in names), None)
    for name in names[names.index(alone) + 1 :] if alone else ():
        given.unused(name, f"`{alone}` decides alone")
    _restated(given, names)
    return ir.ItemMeta(path, rules) if not given.wrong else None


def _rule(given: _Evidence, name: str) -> ir.Expectation | None:
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


def _restated(given: _Evidence, names: Sequence[str]) -> None:
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


def _item_hours(given: _Evidence) -> ir.ItemHours | None:
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


def _review_text(given: _Evidence) -> ir.ReviewText | None:
    pattern = given.text("pattern")
    value = given.section.get("pattern")
    fault = _pattern_fault(pattern)
    if fault and value is not None and not given.wrong:
        given.told("FS509", value, fault, "write a regular expression as Python's `re` reads it")
    circle, least = given.circle(), given.min_matches()
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
    return ir.ReviewText(pattern, weight, circle, least) if not given.wrong else None


def _pattern_fault(pattern: str) -> str:
    """What is wrong with a regular expression; empty where nothing is."""
    if len(pattern) > limits.PATTERN_CHARACTERS:
        return f"the pattern has {len(pattern)} characters, more than {limits.PATTERN_CHARACTERS}"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            re.compile(pattern, re.IGNORECASE)
    except (re.error, OverflowError, RecursionError) as error:
        return f"the pattern is no regular expression: {error}"
    return ""


def _review_meta(given: _Evidence) -> ir.ReviewMeta | None:
    path = given.path("path")
    op = cast(Literal["not_empty", "gte", "lte"], given.choice("op", ("not_empty", "gte", "lte")))
    value = _threshold(given, "value") if op in ("gte", "lte") else None
    agg = cast(Literal["any", "all", "count"], given.choice("agg", ("any", "all", "count"), "any"))
    count = given.whole("count", 1)
    stars = given.section.get("min_stars")
    min_stars = given.number("min_stars") if stars is not None and not _is_null(stars) else None
    if op == "not_empty" and not _is_null(given.section.get("value")):
        given.unused("value", "`not_empty` compares with nothing")
    if agg != "count" and count != 1:
        given.unused("count", f'`agg` is "{agg}"')
    return ir.ReviewMeta(path, op, value, agg, count, min_stars) if not given.wrong else None


def _threshold(given: _Evidence, key: str) -> str | float | None:
    """A number, or a text for dates and the like."""
    value = given.get(key)
    if isinstance(value, JsonString | JsonNumber):
        return value.value
    if value is None:
        given.shape.need(given.section, key, given.what, _EXAMPLES[key])
    else:
        given.shape.wrong_type(value, f"`{key}`", "a number or a text")
    given.wrong = True
    return None


def _is_null(value: JsonValue | None) -> bool:
    return isinstance(value, JsonLiteral) and value.value is None


def _group_rating(given: _Evidence) -> ir.GroupRating | None:
    inner = given.inner("group_filter")
    given.shape.text(given.section.get("group"), "`group`")
    metric = cast(Literal["avg_stars", "count"], given.choice("metric", ("avg_stars", "count")))
    most = _STARS if metric == "avg_stars" else float(limits.MATCHES)
    threshold = given.number("threshold", 0.0, 0.0, most)
    comparison = cast(ir.Ordering, given.choice("operator", _OPERATORS))
    if inner is None:
        return None
    field = inner.path("field", or_text=True)
    operator = cast(ir.Ordering, inner.choice("operator", _OPERATORS))
    value = _threshold(inner, "value")
    good = not (given.wrong or inner.wrong)
    return ir.GroupRating(field, operator, value, metric, comparison, threshold) if good else None


def _not_only_easy_raters(given: _Evidence) -> ir.NotOnlyEasyRaters | None:
    inner = given.inner("condition")
    if inner is None:
        return None
    generous, harsh = inner.number("generous_avg_gte"), inner.number("harsh_avg_lt")
    return ir.NotOnlyEasyRaters(generous, harsh) if not (given.wrong or inner.wrong) else None


def _sentiment(given: _Evidence) -> ir.Sentiment | None:
    topic = given.text("topic")
    feeling = cast(Literal["positive", "negative"], given.choice("sentiment", ("positive", "negative"), "positive"))
    least = {name: given.whole(f"min_{name}", 1) for name in ("positive", "negative")}
    other = "negative" if feeling == "positive" else "positive"
    given.unused(f"min_{other}", f"the sentiment is {feeling}")
    circle = given.circle()
    return ir.Sentiment(topic, feeling, least[feeling], circle) if not given.wrong else None


def _social_rating(given: _Evidence) -> ir.SocialRating | None:
    stars, circle, least = given.number("min_stars", 4.0), given.circle(), given.min_matches()
    return ir.SocialRating(stars, least, circle) if circle is not None and not given.wrong else None


KINDS: dict[str, Kind] = {
    "item_meta": Kind(("path",), (*RULES, "op", "value"), _item_meta),
    "item_meta_hours": Kind(("path", "true"), ("op", "value"), _item_hours),
    "review_text": Kind(
        ("pattern",),
        ("weight_by", "credibility_percentile", "min_credible_matches", "social_filter", "min_matches"),
        _review_text,
    ),
    "review_meta": Kind(("path", "op"), ("value", "agg", "count", "min_stars"), _review_meta),
    "review_group_rating": Kind(("group_filter", "metric", "threshold", "operator"), ("group",), _group_rating),
    "review_group_rating_negative": Kind(("condition",), (), _not_only_easy_raters),
    "review_sentiment": Kind(("topic",), ("sentiment", "min_positive", "min_negative", "social_filter"), _sentiment),
    "social_rating": Kind(("social_filter",), ("min_stars", "min_matches"), _social_rating),
}
"""Every kind of evidence."""


def _nothing(_: _Evidence) -> None:
    return None


_SECTIONS: dict[str, Kind] = {
    "weight_by": Kind(("field",), (), _nothing),
    "social_filter": Kind(("friends", "hops"), ("min_matches",), _nothing),
    "group_filter": Kind(("field", "operator", "value"), (), _nothing),
    "condition": Kind(("generous_avg_gte", "harsh_avg_lt"), (), _nothing),
}
"""The objects inside evidence."""

_EXAMPLES: dict[str, str] = {
    "path": '"path": ["attributes", "WiFi"]',
    "true": '"true": "18:0-21:30"',
    "pattern": '"pattern": "live music"',
    "op": '"op": "not_empty"',
    "value": '"value": 3.5',
    "group_filter": '"group_filter": {"field": "date", "operator": "gte", "value": "2020-01-01"}',
    "metric": '"metric": "avg_stars"',
    "threshold": '"threshold": 4.0',
    "operator": '"operator": "gte"',
    "condition": '"condition": {"generous_avg_gte": 4.0, "harsh_avg_lt": 2.0}',
    "generous_avg_gte": '"generous_avg_gte": 4.0',
    "harsh_avg_lt": '"harsh_avg_lt": 2.0',
    "topic": '"topic": "espresso"',
    "social_filter": '"social_filter": {"friends": ["Alice"], "hops": 1}',
    "friends": '"friends": ["Alice"]',
    "hops": '"hops": 1',
    "weight_by": '"weight_by": {"field": ["user", "review_count"]}',
    "field": '"field": ["user", "review_count"]',
    "sentiment": '"sentiment": "positive"',
    "agg": '"agg": "any"',
}


def _example(key: str) -> str:
    """The value alone."""
    return _EXAMPLES[key].split(": ", 1)[1]
