"""Typed access to the keys of one object of evidence, and the table of the objects inside evidence.

In: the JSON object, which keys it needs and which it may have. Out: values; every deviation is a diagnostic, and marks
the object as wrong.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass
from typing import get_args

from formulaseed import limits
from formulaseed.diagnostics.model import Help, Suggestion
from formulaseed.diagnostics.suggestions import did_you_mean
from formulaseed.requests import model as ir
from formulaseed.requests.evaluation import Path
from formulaseed.seed.read.shape import Shape
from formulaseed.source.json_reader import JsonArray, JsonNumber, JsonObject, JsonString, JsonValue

STARS = 5.0
"""The most stars that there are."""

OPERATORS: tuple[str, ...] = get_args(ir.Ordering)
_SYMBOLS = {">=": "gte", ">": "gt", "<=": "lte", "<": "lt", "==": "eq", "=": "eq", "!=": "ne"}


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys that an object must have, and those that it may have."""

    needed: tuple[str, ...]
    optional: tuple[str, ...] = ()

    @property
    def all(self) -> tuple[str, ...]:
        return (*self.needed, *self.optional, "description")


class Given:
    """Typed access to the keys of one evidence object. `wrong` once something had to be told."""

    def __init__(self, section: JsonObject, shape: Shape, what: str, keys: Keys) -> None:
        self.section = section
        self.shape = shape
        self.what = what
        self.keys = keys
        self.wrong = False

    def get(self, key: str) -> JsonValue | None:
        """The value of a key; where a needed one is missing that is told."""
        found = self.section.get(key)
        if found is None and key in self.keys.needed:
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
        help: Help
        value = self.get(key)
        if value is None:
            return default
        found = self.shape.text(value, f"`{key}`")
        if found is not None and found.value in allowed:
            return found.value
        self.wrong = True
        if found is not None:
            symbol = _SYMBOLS.get(found.value, "")
            help = did_you_mean(found.value, allowed, what="it is one of")
            if symbol in allowed:
                help = Suggestion(f"write `{symbol}`", symbol)
            code = "FS505" if set(allowed) & set(OPERATORS) else "FS509"
            self.shape.problems.add(code, found.span, f"`{key}` cannot be `{found.value}`", help)
        return default

    def whole(self, key: str, default: int, least: int = 1, most: int = limits.MATCHES) -> int:
        value = self.get(key)
        if value is None:
            return default
        found = self.shape.whole(value, f"`{key}`", least, most)
        self.wrong |= found is None
        return found if found is not None else default

    def number(self, key: str, default: float = 0.0, least: float = 0.0, most: float = STARS) -> float:
        value = self.get(key)
        if value is None:
            return default
        found = self.shape.number(value, f"`{key}`", least, most)
        self.wrong |= found is None
        return found if found is not None else default

    def threshold(self, key: str) -> str | float | None:
        """A number, or a text for dates and the like; where it is missing that is told, needed or not."""
        value = self.section.get(key)
        if isinstance(value, JsonString | JsonNumber):
            return value.value
        if value is None:
            self.shape.need(self.section, key, self.what, _EXAMPLES[key])
        else:
            self.shape.wrong_type(value, f"`{key}`", "a number or a text")
        self.wrong = True
        return None

    def path(self, key: str, *, or_text: bool = False) -> Path:
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

    def inner(self, key: str) -> Given | None:
        """The object at a key, None where there is none; its own keys are checked."""
        value = self.get(key)
        if value is None:
            return None
        found = self.shape.object(value, f"`{key}`", _example(key))
        if found is None:
            self.wrong = True
            return None
        self.shape.keys(found, _SECTIONS[key].all, f"`{key}`")
        return Given(found, self.shape, f"`{key}`", _SECTIONS[key])

    def social_filter(self) -> ir.SocialFilter | None:
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
        return ir.SocialFilter(friends, hops)

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

    def told(self, code: str, value: JsonValue, message: str, help: Help) -> None:
        self.shape.problems.add(code, value.span, message, help)
        self.wrong = True


_SECTIONS: dict[str, Keys] = {
    "weight_by": Keys(("field",)),
    "social_filter": Keys(("friends", "hops"), ("min_matches",)),
    "group_filter": Keys(("field", "operator", "value")),
    "condition": Keys(("generous_avg_gte", "harsh_avg_lt")),
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
