"""Test modules of requests: their values, their comments, and that texts of requests stay texts."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from formulaseed import limits, pipeline
from formulaseed.backends.python.dialects import REQUESTS
from formulaseed.backends.python.verify import verify_source
from formulaseed.documents import load_requests
from formulaseed.ir import attributes
from formulaseed.runtime.loading import module_from_source
from helpers import ROOT
from hypothesis import given, settings
from hypothesis import strategies as st
from requests_oracle import Background, Candidate, connect_friends, evaluate

pick = st.sampled_from


def request(number: int, structure: Any, **changes: object) -> dict[str, Any]:
    return {
        "id": f"R{number:02}", "group": f"G{(number - 1) // 10 + 1:02}", "scenario": "A Guest", "text": "Looking for a cafe.",
        "shorthand": shape(structure), "structure": structure, "gold_restaurant": "b1", **changes,
    }  # fmt: skip


def shape(node: Any) -> str:
    """Return a shorthand of the structure in which every condition is `a`."""
    return f"{node['op']}({', '.join(map(shape, node['args']))})" if "op" in node else "a"


def leaf(aspect: str, **evidence: object) -> dict[str, Any]:
    return {"aspect": aspect, "evidence": evidence}


def load_module(requests: Any) -> Any:
    return module_from_source(pipeline.compile(load_requests(requests), formatted=False), "requests")


def evaluate_module(module: Any, business: Mapping[str, Any], reviews: Sequence[Any], known: Any) -> dict[str, int]:
    values: dict[str, int] = module.evaluate(module.parse_restaurant(business, reviews), known)
    return values


_VALUES = pick(
    ["True", "False", "None", "u'free'", "'none'", "u'none'", "{'casual': True, 'divey': False}", "{'a': False}", "beer_and_wine",
     "8:0-15:0", "18:30-2:0", "0:0-0:0", "{", "{'a': 1}", "u'full_bar'", "Thai, Bars", "", 1, 4.5,
     True, False, None, [1], {"live": True}]
)  # fmt: skip
_PATHS = pick(
    [["attributes", "A"], ["attributes", "B"], ["attributes", "B", "casual"], ["categories"], ["hours", "Monday"]]
)
_RULES = pick([True, False, "True", "False", "u'free'", "casual", "'casual': True", "none", "bar", 1])
_FRIENDS = st.fixed_dictionaries(
    {"friends": st.lists(pick("ABCD"), min_size=1, max_size=2, unique=True), "hops": st.integers(1, 2)}
)
_FIELDS = pick(
    [["user", "review_count"], ["user", "elite"], ["useful"], ["user", "average_stars"], ["date"], ["stars"]]
)
_PATTERNS = pick(["tea", "tea|cake", r"\btea\b", "so+ good", "great.*cake", "c.ke?", r"\d+ min", "^tea", "cake$"])
_KINDS = pick(
    ["item_meta", "item_meta", "item_meta", "item_meta_hours", "review_text", "review_text", "review_meta",
     "review_group_rating", "review_group_rating_negative", "review_sentiment", "social_rating"]
)  # fmt: skip


@st.composite
def evidences(draw: st.DrawFn) -> dict[str, Any]:
    kind = draw(_KINDS)
    evidence: dict[str, Any] = {"kind": kind}
    social = draw(st.one_of(st.none(), _FRIENDS))
    match kind:
        case "item_meta":
            evidence["path"] = draw(_PATHS)
            alone = pick(["contains", "not_contains", "not_true"]).map(lambda rule: [rule])
            together = st.lists(pick(["true", "false", "neutral"]), max_size=3, unique=True)
            evidence |= {rule: draw(_RULES) for rule in draw(alone if draw(st.integers(0, 3)) == 0 else together)}
        case "item_meta_hours":
            evidence["path"] = ["hours", "Monday"]
            evidence["true"] = draw(pick(["8:0-10:0", "20:0-1:0", "0:0-24:0", "14:59-15:0"]))
        case "review_text":
            evidence["pattern"] = draw(_PATTERNS)
            if draw(st.booleans()):
                evidence |= {"weight_by": {"field": draw(_FIELDS)}, "min_credible_matches": draw(st.integers(1, 3))}
                evidence["credibility_percentile"] = draw(pick([0, 30, 50, 100]))
            if social:
                evidence |= {"social_filter": social, "min_matches": draw(st.integers(1, 2))}
        case "review_meta":
            evidence |= {"path": draw(_FIELDS), "op": draw(pick(["not_empty", "gte", "lte"]))}
            if evidence["op"] != "not_empty":
                evidence["value"] = draw(pick([0, 2, 3.5, 100]))
            evidence["agg"] = draw(pick(["any", "all", "count"]))
            if evidence["agg"] == "count":
                evidence["count"] = draw(st.integers(1, 3))
            if draw(st.booleans()):
                evidence["min_stars"] = draw(pick([1, 3, 4.5]))
        case "review_group_rating":
            field, value = draw(pick([(["user", "average_stars"], 3.5), ("date", "2020-01-01"), (["stars"], 3)]))
            operators = pick(["gte", "gt", "lte", "lt"])
            evidence |= {"group": "g", "group_filter": {"field": field, "operator": draw(operators), "value": value}}
            evidence |= {"metric": draw(pick(["avg_stars", "count"])), "operator": draw(operators)}
            evidence["threshold"] = draw(pick([1, 2, 3.5, 4]))
        case "review_group_rating_negative":
            generous, harsh = pick([3.0, 4.0]), pick([2.0, 4.5])
            evidence["condition"] = {"generous_avg_gte": draw(generous), "harsh_avg_lt": draw(harsh)}
        case "review_sentiment":
            sentiment = draw(pick(["positive", "negative"]))
            evidence |= {"topic": draw(pick(["tea", "cake"])), "sentiment": sentiment}
            evidence[f"min_{sentiment}"] = draw(st.integers(1, 2))
            evidence |= {"social_filter": social} if social else {}
        case "social_rating":
            evidence |= {"min_stars": draw(pick([3, 4, 5])), "min_matches": draw(st.integers(1, 2))}
            evidence["social_filter"] = social or {"friends": ["A"], "hops": 1}
    return evidence


def structures() -> st.SearchStrategy[Any]:
    leaves = st.builds(
        lambda aspect, evidence: leaf(aspect, **evidence), pick(["a", "b b", "c'd", "place", "min"]), evidences()
    )

    def join(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        return st.fixed_dictionaries({"op": pick(["AND", "OR"]), "args": st.lists(inner, min_size=1, max_size=3)})

    trees = st.recursive(leaves, join, max_leaves=6)
    return trees.map(lambda tree: tree if "op" in tree else {"op": "AND", "args": [tree]})


def reviews() -> st.SearchStrategy[Any]:
    user = st.fixed_dictionaries({}, optional={
        "name": pick("ABCDE"), "review_count": st.integers(0, 50), "elite": pick(["", "None", "2015,2016", []]),
        "average_stars": pick([1.0, 3.4, 3.5, 4.0, 5.0])})  # fmt: skip
    return st.fixed_dictionaries(
        {"review_id": pick(["r1", "r2", "r3", "r4"]), "text": pick(["Tea!", "great\ncake", "great, soo good cake", "5 min", ""])},
        optional={"user": user, "stars": pick([1.0, 3.0, 4.0, 5.0, None]), "useful": st.integers(0, 3),
                  "date": pick(["2019-12-31 10:00:00", "2020-01-01 00:00:00"])},
    )  # fmt: skip


def businesses() -> st.SearchStrategy[Any]:
    attributes = st.none() | st.dictionaries(pick(["A", "B"]), _VALUES)
    hours = st.none() | st.dictionaries(st.just("Monday"), _VALUES)
    optional = {"attributes": attributes, "categories": _VALUES, "hours": hours}
    return st.fixed_dictionaries({"business_id": st.just("b1")}, optional=optional)


@settings(max_examples=settings.default.max_examples // 2)  # type: ignore[union-attr]
@given(st.lists(structures(), min_size=1, max_size=4), st.data())
@pytest.mark.thorough
def test_random_requests_agree_with_the_reference(trees: list[Any], data: st.DataObject) -> None:
    requests = load_requests([request(number, tree) for number, tree in enumerate(trees, 1)])
    module = load_module(requests)
    subjects = st.tuples(pick(["r1", "r2", "r3"]), pick(["tea", "cake"]))
    tables = st.dictionaries(subjects, pick(["positive", "negative", "neutral"]))
    for _ in range(4):
        business = data.draw(businesses())
        drawn_reviews = data.draw(st.lists(reviews(), max_size=4))
        judgements = data.draw(st.none() | tables)
        graph = data.draw(st.dictionaries(pick("ABCD"), st.lists(pick("ABCDE"), max_size=2)))
        lines = [{"review_id": r, "aspect": a, "judgement": j} for (r, a), j in (judgements or {}).items()]
        known = module.parse_background(None if judgements is None else lines, {"friend_graph": graph})
        background = Background(judgements, connect_friends(graph))
        candidate = Candidate(business, drawn_reviews)
        expected = {r.id: evaluate(r.structure, candidate, background) for r in requests.program.requests}
        assert evaluate_module(module, business, drawn_reviews, known) == expected


def test_shared_evidence_is_computed_once() -> None:
    tea = leaf("tea", kind="review_text", pattern="tea")
    cuppa = {**tea, "aspect": "cuppa"}
    cake = leaf("tea", kind="review_text", pattern="cake")
    trees = ({"op": "AND", "args": [tea]}, {"op": "OR", "args": [cuppa, cake]})
    source = pipeline.compile(load_requests([request(number, tree) for number, tree in enumerate(trees, 1)]))
    assert source.count("_check_review_text(restaurant, background, ") == 2
    assert '"R01": has["tea"],\n' in source
    assert '"R02": or_(has["tea"], has["tea_2"]),\n' in source


ANA = {"friends": ["Ana"], "hops": 1}
USEFUL = {"kind": "review_meta", "path": ["useful"], "op": "gte", "value": 1, "agg": "count"}


@pytest.mark.parametrize(
    ("evidence", "text"),
    [
        ({"kind": "review_text", "pattern": "tea"}, "a review matches tea"),
        ({"kind": "review_text", "pattern": "tea", "min_matches": 2, "social_filter": {**ANA, "hops": 2}},
         "2 reviews by Ana and those 2 hops away match tea"),
        ({"kind": "social_rating", "min_stars": 1, "social_filter": ANA},
         "a review by Ana and those 1 hop away gives 1 star or more"),
        ({"kind": "social_rating", "min_stars": 4.5, "min_matches": 3, "social_filter": ANA},
         "3 reviews by Ana and those 1 hop away give 4.5 stars or more"),
        ({**USEFUL, "count": 1, "min_stars": 1}, "a review of 1 star or more: useful >= 1"),
        ({**USEFUL, "count": 2, "min_stars": 2}, "2 reviews of 2 stars or more: useful >= 1"),
    ],
)  # fmt: skip
def test_comments_are_sentences(evidence: dict[str, Any], text: str) -> None:
    """Nouns and verbs agree in number, also in the title."""
    one = request(1, {"op": "AND", "args": [leaf("a", **evidence)]})
    source = pipeline.compile(load_requests([one]), formatted=False)
    assert f"# {text}\n" in source
    assert "\n\nrequests: 1 request\n" in source
    assert "\n\nrequests: 2 requests\n" in pipeline.compile(load_requests([one, {**one, "id": "R02"}]), formatted=False)


@pytest.mark.thorough
def test_module_is_typed_and_stands_alone(tmp_path: Path) -> None:
    module = shutil.copy(ROOT / "generated" / "requests_module.py", tmp_path)  # which is current: test_determinism
    for arguments in (
        ["-m", "mypy", "--strict", "--no-incremental"],
        ["-m", "ruff", "check", "--isolated"],
        ["-I", "-S"],
    ):
        done = subprocess.run([sys.executable, *arguments, module], cwd=tmp_path, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, ""), done.stdout


def test_the_prelude_knows_the_limit() -> None:
    assert attributes._ATTRIBUTE_CHARACTERS == limits.ATTRIBUTE_CHARACTERS


HOSTILE = (
    '"""\nimport os\n"""', "'); __import__('os').system('true'); ('", "\\", "a\u2028b", "{{ 7*7 }}", "{% raw %}",
    "# type: ignore",     "\u202eabc", "a\nb", "class",
    "__init__", "restaurant", "background", "evidence", "_check_attribute", "é", "ﬁ", "1", "x ",
)  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.thorough
def test_texts_stay_texts(text: str) -> None:
    value = leaf(text, kind="item_meta", path=["attributes", text], contains=text)
    friends = {"friends": [text], "hops": 1}
    friend = leaf("b", kind="review_sentiment", topic=text, sentiment="positive", social_filter=friends)
    tree = {"op": "AND", "args": [value, friend]}
    requests = load_requests([request(1, tree, scenario=text, text=text, gold_restaurant=text)])
    source = pipeline.compile(load_requests(requests), formatted=False)
    assert verify_source(source, REQUESTS) is None
    module: Any = module_from_source(source, "requests")
    business = {"attributes": {text: f"x{text}x"}}
    review = {"review_id": "r", "text": "", "user": {"name": text}}
    known = module.parse_background([{"review_id": "r", "aspect": text, "judgement": "positive"}], None)
    assert evaluate_module(module, business, [review], known) == {"R01": 1}
    assert {"R01": text} == module.GOLD


@pytest.mark.parametrize(
    ("review", "message"),
    [({"text": "x"}, "review_id"), ({"review_id": "r"}, "text"), (3, "must be an object"),
     ({"review_id": "r", "text": "", "stars": "5"}, "stars")],
)  # fmt: skip
def test_a_bad_restaurant_is_refused_by_name(review: Any, message: str) -> None:
    module = load_module([request(1, {"op": "AND", "args": [leaf("a", kind="review_text", pattern="tea")]})])
    with pytest.raises(module.DataError, match=message):
        module.parse_restaurant({}, [review])
