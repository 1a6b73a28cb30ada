"""The reference evaluator of requests: every kind of evidence, and the laws of its logic."""

from __future__ import annotations

from itertools import product
from typing import Any, get_args

import pytest
from formulaseed.ir.attributes import _read_attribute as parse_attribute
from formulaseed.requests import evaluation
from formulaseed.requests import model as ir
from formulaseed.requests.evaluation import Truth
from formulaseed.requests.validate import trace
from formulaseed.source.text import Source, Span
from hypothesis import given
from hypothesis import strategies as st
from requests_oracle import Background, Candidate, connect_friends, evaluate_condition, find_circle

TRUTHS: tuple[Truth, ...] = get_args(Truth)
SPAN = Span(Source("requests.jsonl", ""), 0, 0)
NOBODY = Background()
PARKING = "{'valet': True, 'garage': False, 'note': 'None'}"


def evaluate_meta(value: object, path: tuple[str, ...] = ("attributes", "X"), **rules: Any) -> int:
    """Return the value of `item_meta` for an attribute `value`; `...` is an absent attribute."""
    attributes = {} if value is ... else {"X": value}
    evidence = ir.ItemMeta(path, tuple(ir.Expectation(name, expected) for name, expected in rules.items()))  # type: ignore[arg-type]
    return evaluate_condition(evidence, Candidate({"attributes": attributes}, ()), NOBODY)


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("True", True), ("False", False), ("None", None), ("u'free'", "free"), ("'free'", "free"), ("u'none'", "none"),
        ("'None'", "None"), ('u"it\'s"', "it's"), ("{'casual': True, 'late': None}", {"casual": True, "late": None}),
        ("free", "free"), ("2", "2"), ("", ""), ("u'", "u'"), ("'a' + 'b'", "'a' + 'b'"),
        ("{'a': print(1)}", "{'a': print(1)}"), ("{[]: 1}", "{[]: 1}"), ("{1, 2}", "{1, 2}"), ("'\0'", "'\0'"),
        ("'\\d'", "\\d"), ("{" * 1500, "{" * 1500), ("{" + "-" * 1900 + "1}", "{" + "-" * 1900 + "1}"),
        ("'" + "a" * 5000 + "'", "'" + "a" * 5000 + "'"),
    ],
)  # fmt: skip
def test_attributes_are_parsed_once_and_never_run(written: str, value: object) -> None:
    """Yelp's literals become values; whatever else stands there is a text, however odd."""
    parsed_value = parse_attribute(written)
    assert (parsed_value, type(parsed_value)) == (value, type(value))


@pytest.mark.parametrize(
    ("value", "rules", "truth"),
    [
        # no rule: the boolean itself
        ("True", {}, 1), ("False", {}, -1), (True, {}, 1), ("u'free'", {}, 0), ("None", {}, 0), (..., {}, 0), (None, {}, 0),
        # only true, only false
        ("True", {"true": "True"}, 1), ("False", {"true": "True"}, -1), ("False", {"true": "False"}, 1),
        ("u'full_bar'", {"true": "u'full_bar'"}, 1), ("'full_bar'", {"true": "u'full_bar'"}, 1),
        ("u'Full_Bar'", {"true": "full_bar"}, 1), ("u'very_loud'", {"true": "loud"}, 1), ("u'loud'", {"true": "very_loud"}, -1),
        ("1", {"true": "1"}, 1), (2, {"true": "2"}, 1), ("u'none'", {"true": "none"}, 1), ("None", {"true": "none"}, 0),
        ("True", {"false": "True"}, -1), ("False", {"false": "True"}, 1), (..., {"false": "True"}, 0),
        # several: in turn, none matching is unknown
        ("u'free'", {"true": "free", "false": "no", "neutral": "paid"}, 1),
        ("u'no'", {"true": "free", "false": "no", "neutral": "paid"}, -1),
        ("u'paid'", {"true": "free", "false": "no", "neutral": "paid"}, 0),
        ("u'soon'", {"true": "free", "false": "no"}, 0),
        ("u'free'", {"neutral": "free"}, 0),
        # missing
        (..., {"true": "True", "missing": -1}, -1), ("None", {"true": "True", "missing": 1}, 1), (..., {"missing": 1}, 1),
        # contains and not_contains, on a missing value too
        ("u'free'", {"contains": "FREE"}, 1), ("u'no'", {"contains": "free"}, -1), ("u'none'", {"contains": "none"}, 1),
        (..., {"contains": "none"}, 1), ("None", {"contains": "none"}, 1), (..., {"contains": "free"}, -1),
        ("u'free'", {"not_contains": "free"}, -1), ("u'no'", {"not_contains": "free"}, 1), (..., {"not_contains": "none"}, 1),
        ("{'hipster': True}", {"contains": "'hipster': True"}, 1), ("{'hipster': False}", {"contains": "'hipster': True"}, -1),
        ({"hipster": True}, {"contains": "'hipster': True"}, 1), ("{'a': True}", {"not_contains": "'a': True"}, -1),
        # not_true
        ("True", {"not_true": "True"}, -1), ("False", {"not_true": "True"}, 1), (..., {"not_true": "True"}, 1),
        ("u'free'", {"not_true": "u'free'"}, -1),
        # objects of booleans hold if any is true
        ("{'garage': False, 'lot': True}", {}, 1), ("{'garage': False}", {}, -1), ("{'garage': False}", {"true": "True"}, -1),
        ("{'garage': True}", {"false": "True"}, 1), ("{'garage': None}", {}, 0), ("{}", {}, 0),
        # the order of the rules
        ("u'free'", {"not_contains": "free", "contains": "free"}, -1),
        ("u'free'", {"contains": "free", "not_true": "free"}, 1),
        ("True", {"not_true": "True", "true": "True"}, -1),
        (..., {"contains": "free", "missing": 1}, -1),
    ],
)  # fmt: skip
def test_item_meta(value: object, rules: dict[str, Any], truth: int) -> None:
    """The table of rules, in their order."""
    assert evaluate_meta(value, **rules) == truth


@pytest.mark.parametrize(
    ("value", "path", "rules", "truth"),
    [
        (PARKING, ("X", "valet"), {}, 1), (PARKING, ("X", "garage"), {}, -1), (PARKING, ("X", "note"), {"true": "none"}, 1),
        (PARKING, ("X", "boat"), {}, 0), ("u'free'", ("X", "more"), {}, 0), ("True", (), {"contains": "True"}, 1),
    ],
)  # fmt: skip
def test_paths_go_into_parsed_texts(value: str, path: tuple[str, ...], rules: dict[str, Any], truth: int) -> None:
    """A path may lead into what a text says; what stands there is not parsed once more."""
    assert evaluate_meta(value, ("attributes", *path), **rules) == truth


@pytest.mark.parametrize(
    ("hours", "start", "end", "truth"),
    [
        ("8:0-22:0", "12:00", "17:00", 1), ("8:0-22:0", "8:00", "22:00", 1), ("8:0-22:0", "7:59", "9:00", -1),
        ("8:0-22:0", "21:00", "22:01", -1), ("17:0-2:0", "22:00", "1:00", 1), ("17:0-2:0", "22:00", "2:01", -1),
        ("17:0-23:0", "22:00", "1:00", -1), ("17:0-2:0", "1:00", "2:00", -1), ("17:30-0:0", "18:00", "24:00", 1),
        ("0:0-0:0", "8:00", "9:00", -1), ("08:00 - 22:00", "9:00", "10:00", 1), ("closed", "9:00", "10:00", 0),
        (None, "9:00", "10:00", 0),
    ],
)  # fmt: skip
def test_hours(hours: str | None, start: str, end: str, truth: int) -> None:
    """The opening hours contain the range; an end before its start is on the next day; no hours are unknown."""
    first, last = (int(h) * 60 + int(m) for h, m in (start.split(":"), end.split(":")))
    candidate = Candidate({"hours": {"Monday": hours}}, ())
    assert evaluate_condition(ir.ItemHours(("hours", "Monday"), first, last), candidate, NOBODY) == truth


def review(id: str, text: str = "", stars: float | None = 4.0, name: str = "Ana", **more: Any) -> dict[str, Any]:
    user = {"name": name, **{key: more.pop(key) for key in ("review_count", "average_stars", "elite") if key in more}}
    return {"review_id": id, "text": text, "stars": stars, "user": user, **more}


def evaluate_reviews(evidence: ir.Evidence, *reviews: dict[str, Any], background: Background = NOBODY) -> int:
    return evaluate_condition(evidence, Candidate({}, reviews), background)


FRIENDS = connect_friends({"Ana": ["Ben"], "Cleo": ["Ben"], "Cleo's": []})
NEAR = Background(friends=FRIENDS)


def text(pattern: str, *, weight: ir.Weight | None = None, hops: int | None = None, least: int = 1) -> ir.ReviewText:
    """The evidence that texts give, of all or of those around Ana."""
    circle = None if hops is None else ir.SocialFilter(("Ana",), hops)
    return ir.ReviewText(pattern, weight, circle, least, pattern)


@pytest.mark.parametrize(
    ("evidence", "texts", "truth"),
    [
        (text("live music|band"), ["meh", "LIVE MUSIC tonight"], 1), (text(r"\bband\b"), ["disbanded"], -1),
        (text("band"), [], 0), (text("band"), ["a band", "band!"], 1), (text("band", least=2), ["a band"], -1),
    ],
)  # fmt: skip
def test_review_text(evidence: ir.Evidence, texts: list[str], truth: int) -> None:
    """One matching text is enough, whatever its case; no match is not satisfied, no review at all unknown."""
    assert evaluate_reviews(evidence, *(review(str(number), said) for number, said in enumerate(texts))) == truth


@pytest.mark.parametrize(("id", "said", "truth"), [("1", "", 1), ("2", "the band", -1), ("3", "the band", -1)])
def test_judgements_are_asked_in_place_of_the_text(id: str, said: str, truth: int) -> None:
    """With judgements the texts do not count; an aspect without a judgement is not mentioned."""
    judged = Background({("1", "band"): "positive", ("2", "band"): "negative", ("3", "jazz"): "positive"})
    assert evaluate_reviews(text("band"), review(id, said), background=judged) == truth


@pytest.mark.parametrize(
    ("hops", "least", "names", "truth"),
    [(1, 1, "Ben", 1), (1, 1, "Cleo", -1), (2, 1, "Cleo", 1), (1, 1, "", -1), (1, 2, "Ana Cleo", -1), (1, 2, "Ana Ben", 1)],
)  # fmt: skip
def test_review_text_in_a_circle(hops: int, least: int, names: str, truth: int) -> None:
    """Only the circle's reviews count; without reviews it is not satisfied, since no one of the circle has said it."""
    reviews = [review(name, "tea", name=name) for name in names.split()] + [{**review("nobody", "tea"), "user": None}]
    assert evaluate_reviews(text("tea", hops=hops, least=least), *reviews, background=NEAR) == truth
    if not names:
        assert evaluate_reviews(text("tea", hops=hops), background=NEAR) == truth


@pytest.mark.parametrize(
    ("percentile", "least", "matching", "truth"),
    [
        (50.0, 2, [30, 40], 1), (50.0, 2, [20, 40], -1), (25.0, 2, [20, 40], 1), (100.0, 1, [40], 1), (0.0, 2, [0, 10], -1),
        (50.0, 2, [None, None], -1), (50.0, 2, [], 0),
    ],
)  # fmt: skip
def test_credible_users(percentile: float, least: int, matching: list[int | None], truth: int) -> None:
    """Credible is who is at or over the percentile of the values that are not 0; two of them must match."""
    weight = ir.Weight(("user", "review_count"), percentile, least)
    counts = [0, 0, 10, 20, 30, 40] if any(matching) else matching
    reviews = [review(str(i), "tea" * (n in matching), review_count=n) for i, n in enumerate(counts)]
    assert evaluate_reviews(text("tea", weight=weight), *reviews) == truth


def test_years_as_elite_are_counted() -> None:
    weight = ir.Weight(("user", "elite"), 50.0, 2)
    years = [
        review(str(i), "tea" * bool(elite), elite=elite) for i, elite in enumerate(["2019,2020", ["2021", "2022"], ""])
    ]
    assert evaluate_reviews(text("tea", weight=weight), *years) == 1


@pytest.mark.parametrize(
    ("op", "value", "agg", "count", "min_stars", "truth"),
    [
        ("gte", 10, "any", 1, None, 1), ("gte", 11, "any", 1, None, -1), ("lte", 2, "any", 1, None, 1),
        ("gte", 2, "all", 1, None, 1), ("gte", 3, "all", 1, None, -1), ("gte", 5, "count", 2, None, 1),
        ("gte", 6, "count", 2, None, -1), ("gte", 10, "any", 1, 4.5, -1), ("gte", 0, "all", 1, 4.5, -1),
        ("not_empty", None, "all", 1, None, 1),
    ],
)  # fmt: skip
def test_review_meta(op: Any, value: Any, agg: Any, count: int, min_stars: float | None, truth: int) -> None:
    """Any, all or so many of the reviews with enough stars meet the test."""
    reviews = [review("1", useful=2, stars=3.0), review("2", useful=5), review("3", useful=10)]
    assert evaluate_reviews(ir.ReviewMeta(("useful",), op, value, agg, count, min_stars), *reviews) == truth


@pytest.mark.parametrize(
    ("value", "truth"),
    [(["2019"], 1), ("2019,2020", 1), (5, 1), ([], -1), (["None"], -1), ([""], -1), ("", -1), ("None", -1), (0, -1)],
)
def test_not_empty(value: object, truth: int) -> None:
    """Nothing, 0, empty texts and lists of such are empty; no reviews at all are unknown."""
    evidence = ir.ReviewMeta(("user", "elite"), "not_empty", None, "any", 1, None)
    assert evaluate_reviews(evidence, review("1", elite=value)) == truth
    assert evaluate_reviews(evidence, review("1")) == -1
    assert evaluate_reviews(evidence) == 0


@pytest.mark.parametrize(
    ("metric", "comparison", "threshold", "truth"),
    [
        ("avg_stars", "gte", 3.0, 1), ("avg_stars", "gt", 3.0, -1), ("avg_stars", "eq", 3.0, 1), ("avg_stars", "lt", 3.5, 1),
        ("count", "gte", 2, 1), ("count", "lte", 1, -1), ("count", "ne", 3, 1),
    ],
)  # fmt: skip
def test_group_rating(metric: Any, comparison: Any, threshold: float, truth: int) -> None:
    """The group's average or number compares with the threshold."""
    dates = {"2021-05-01 10:00:00": 2.0, "2020-01-01": 4.0, "2019-12-31 23:59:59": 5.0}
    evidence = ir.GroupRating(("date",), "gte", "2020-01-01", metric, comparison, threshold)
    assert evaluate_reviews(evidence, *(review(date, date=date, stars=stars) for date, stars in dates.items())) == truth


@pytest.mark.parametrize(
    ("metric", "comparison", "threshold", "users", "truth"),
    [
        ("count", "lt", 5, [], -1), ("count", "lt", 5, [3.5, None, "2"], -1), ("count", "lt", 5, [3.4], 1),
        ("avg_stars", "gte", 0.0, [3.0], -1),
    ],
)  # fmt: skip
def test_a_group_without_reviews(metric: Any, comparison: Any, threshold: float, users: list[Any], truth: int) -> None:
    """Nobody in the group, or no stars, is not satisfied, even where fewer than so many are asked for; texts are no numbers."""
    evidence = ir.GroupRating(("user", "average_stars"), "lt", 3.5, metric, comparison, threshold)
    reviews = [review(str(i), average_stars=average, stars=None) for i, average in enumerate(users)]
    assert evaluate_reviews(evidence, *reviews) == truth


@pytest.mark.parametrize(
    ("generous", "harsh", "truth"), [(5, 1, -1), (5, 2, 1), (3, 1, 1), (None, 1, 1), (5, None, 1), (None, None, 1)]
)
def test_not_only_easy_raters(generous: int | None, harsh: int | None, truth: int) -> None:
    """Not satisfied only where easy raters rate it high and harsh ones low; no data is satisfied."""
    ratings = ((3.7, 1), (4.0, generous), (3.4, harsh))
    reviews = [
        review(str(average), stars=stars, average_stars=average) for average, stars in ratings if stars is not None
    ]
    assert evaluate_reviews(ir.NotOnlyEasyRaters(4.0, 2.0), *reviews) == truth


@pytest.mark.parametrize(
    ("sentiment", "least", "judged", "truth"),
    [
        ("positive", 1, "+", 1), ("positive", 2, "+", -1), ("positive", 1, "+-", -1), ("positive", 2, "++-", 1),
        ("positive", 1, "", -1), ("positive", 1, "00", -1), ("negative", 1, "++-", 1), ("negative", 2, "++-", -1),
    ],
)  # fmt: skip
def test_sentiment(sentiment: Any, least: int, judged: str, truth: int) -> None:
    """Positives reach their number and outnumber negatives; negatives need only reach theirs."""
    words = {"+": "positive", "-": "negative", "0": "neutral"}
    background = Background({(str(i), "tea"): words[sign] for i, sign in enumerate(judged)})
    reviews = [review(str(i)) for i in range(len(judged) + 1)]
    evidence = ir.Sentiment("tea", sentiment, least, None)
    assert evaluate_reviews(evidence, *reviews, background=background) == truth
    assert evaluate_reviews(evidence, *reviews) == 0
    elsewhere = ir.Sentiment("tea", sentiment, least, ir.SocialFilter(("Zoe",), 2))
    assert evaluate_reviews(elsewhere, *reviews, background=background) == -1


@pytest.mark.parametrize(
    ("min_stars", "least", "name", "truth"), [(4.0, 1, "Ana", 1), (4.0, 2, "Ana", -1), (3.5, 2, "Ben", 1), (4.0, 1, "Yan", -1)]
)  # fmt: skip
def test_social_rating(min_stars: float, least: int, name: str, truth: int) -> None:
    """Enough reviews with enough stars are by the circle; a review without stars gives none."""
    stars = {"Ana": 4.0, "Ben": 3.5, "Zoe": 5.0, "Yan": None}
    reviews = [review(friend, stars=number, name=friend) for friend, number in stars.items()]
    evidence = ir.SocialRating(min_stars, least, ir.SocialFilter((name,), 1))
    assert evaluate_reviews(evidence, *reviews, background=NEAR) == truth
    assert evaluate_reviews(evidence, background=NEAR) == -1


@pytest.mark.parametrize(
    ("names", "hops", "circle"),
    [("A", 0, "A"), ("A", 1, "AB"), ("A", 2, "ABC"), ("B", 1, "ABC"), ("AE", 1, "ABDE"), ("N", 2, "N")],
)
def test_circles(names: str, hops: int, circle: str) -> None:
    """Edges are read from either end; each hop adds the friends of those that were there before."""
    graph = connect_friends({"A": ["B"], "C": ["B", "D"], "D": ["E"]})
    assert find_circle(ir.SocialFilter(tuple(names), hops), graph) == set(circle)


truths = st.sampled_from(TRUTHS)


@given(st.lists(truths, min_size=1, max_size=6))
def test_and_is_the_minimum_and_or_the_maximum(values: list[Truth]) -> None:
    """Commutativity, associativity, distributivity and De Morgan's laws follow from this."""
    assert evaluation.and_(*values) == min(values)
    assert evaluation.or_(*values) == max(values)


def leaf(number: int) -> ir.Condition:
    return ir.Condition(f"c{number}", ir.ItemMeta((str(number),), ()), SPAN)


def join(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    arguments = st.lists(inner, min_size=1, max_size=4).map(tuple)
    return st.builds(ir.Junction, st.sampled_from(["AND", "OR"]), arguments, st.just(SPAN))


trees = st.recursive(st.integers(0, 5).map(leaf), join, max_leaves=20)
worlds = st.fixed_dictionaries({leaf(number).evidence: truths for number in range(6)})


@given(trees, worlds)
def test_unknown_means_that_it_may_be_either(tree: ir.Node, known: dict[ir.Evidence, Truth]) -> None:
    """A traced tree has the value of its parts; one that is satisfied or not stays so, whatever the unknown turn out to be."""

    def compute(node: ir.Node, values: dict[ir.Evidence, Truth]) -> Truth:
        if isinstance(node, ir.Condition):
            return values[node.evidence]
        parts = [compute(arg, values) for arg in node.args]
        return min(parts) if node.op == "AND" else max(parts)

    value = trace(tree, known.__getitem__).truth
    assert value == compute(tree, known)
    unknown = [evidence for evidence, truth in known.items() if truth == 0]
    choices: Any = product((-1, 1), repeat=len(unknown))
    outcomes = {compute(tree, {**known, **dict(zip(unknown, choice, strict=True))}) for choice in choices}
    assert outcomes == {value} or not value


@given(
    st.sampled_from(["True", "False", "u'free'", "'no'", "None", "2", ...]),
    st.sampled_from(["True", "False", "free", "no", "u'no'", "2"]),
)
def test_true_and_false_negate_each_other(attribute: object, expected: str) -> None:
    """`false` is the opposite of `true` wherever there is a value, objects of booleans aside; both are unknown elsewhere."""
    assert evaluate_meta(attribute, true=expected) == -evaluate_meta(attribute, false=expected)


def test_equal_evidence_is_one() -> None:
    """Conditions with equal evidence are equal, whatever they are called; so each is evaluated once."""
    assert leaf(1) == ir.Condition("another name", leaf(1).evidence, SPAN)
    assert leaf(1) != leaf(2)
