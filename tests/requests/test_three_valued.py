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


def test_paths_go_into_parsed_texts() -> None:
    """A path may lead into what a text says; what stands there is not parsed once more."""
    parking = "{'valet': True, 'garage': False, 'note': 'None'}"
    assert evaluate_meta(parking, ("attributes", "X", "valet")) == 1
    assert evaluate_meta(parking, ("attributes", "X", "garage")) == -1
    assert evaluate_meta(parking, ("attributes", "X", "note"), true="none") == 1
    assert evaluate_meta(parking, ("attributes", "X", "boat")) == 0
    assert evaluate_meta("u'free'", ("attributes", "X", "more")) == 0
    assert evaluate_meta("True", ("attributes",), contains="True") == 1


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


def text(pattern: str, **more: Any) -> ir.ReviewText:
    return ir.ReviewText(pattern, more.get("weight"), more.get("circle"), more.get("least", 1), pattern)


def test_review_text() -> None:
    """One matching text is enough, whatever its case; no match is not satisfied, no review at all unknown."""
    assert evaluate_reviews(text("live music|band"), review("1", "meh"), review("2", "LIVE MUSIC tonight")) == 1
    assert evaluate_reviews(text(r"\bband\b"), review("1", "disbanded")) == -1
    assert evaluate_reviews(text("band")) == 0
    assert evaluate_reviews(text("band"), review("1", "a band"), review("2", "band!")) == 1
    assert evaluate_reviews(text("band", least=2), review("1", "a band")) == -1


def test_judgements_are_asked_in_place_of_the_text() -> None:
    """With judgements the texts do not count; an aspect without a judgement is not mentioned."""
    judged = Background({("1", "band"): "positive", ("2", "band"): "negative", ("3", "jazz"): "positive"})
    assert evaluate_reviews(text("band"), review("1", ""), background=judged) == 1
    assert evaluate_reviews(text("band"), review("2", "the band"), background=judged) == -1
    assert evaluate_reviews(text("band"), review("3", "the band"), background=judged) == -1


def test_review_text_in_a_circle() -> None:
    """Only the circle's reviews count; without reviews it is not satisfied, since no one of the circle has said it."""
    near = Background(friends=FRIENDS)
    circle = ir.SocialFilter(("Ana",), 1)
    assert evaluate_reviews(text("tea", circle=circle), review("1", "tea", name="Ben"), background=near) == 1
    assert evaluate_reviews(text("tea", circle=circle), review("1", "tea", name="Cleo"), background=near) == -1
    assert (
        evaluate_reviews(
            text("tea", circle=ir.SocialFilter(("Ana",), 2)), review("1", "tea", name="Cleo"), background=near
        )
        == 1
    )
    assert evaluate_reviews(text("tea", circle=circle), background=near) == -1
    twice = text("tea", circle=circle, least=2)
    assert evaluate_reviews(twice, review("1", "tea"), review("2", "tea", name="Cleo"), background=near) == -1
    assert evaluate_reviews(twice, review("1", "tea"), review("2", "tea", name="Ben"), background=near) == 1
    assert evaluate_reviews(text("tea", circle=circle), {**review("1", "tea"), "user": None}, background=near) == -1


def test_credible_users() -> None:
    """Credible is who is at or over the percentile of the values that are not 0; two of them must match."""
    weight = ir.Weight(("user", "review_count"), 50.0, 2)
    counts = [0, 0, 10, 20, 30, 40]

    def write_reviews(*matching: int) -> list[dict[str, Any]]:
        """A review a count; those of the given counts mention tea."""
        return [review(str(i), "tea" * (n in matching), review_count=n) for i, n in enumerate(counts)]

    assert evaluate_reviews(text("tea", weight=weight), *write_reviews(30, 40)) == 1
    assert evaluate_reviews(text("tea", weight=weight), *write_reviews(20, 40)) == -1
    assert evaluate_reviews(text("tea", weight=ir.Weight(weight.field, 25.0, 2)), *write_reviews(20, 40)) == 1
    assert evaluate_reviews(text("tea", weight=ir.Weight(weight.field, 100.0, 1)), *write_reviews(40)) == 1
    assert evaluate_reviews(text("tea", weight=ir.Weight(weight.field, 0.0, 2)), *write_reviews(0, 10)) == -1
    assert evaluate_reviews(text("tea", weight=weight), review("1", "tea"), review("2", "tea")) == -1
    assert evaluate_reviews(text("tea", weight=weight)) == 0
    elite = ir.Weight(("user", "elite"), 50.0, 2)
    years = [
        review("1", "tea", elite="2019,2020"),
        review("2", "tea", elite=["2021", "2022"]),
        review("3", "", elite=""),
    ]
    assert evaluate_reviews(text("tea", weight=elite), *years) == 1


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
    reviews = [review("1", date="2021-05-01 10:00:00", stars=2.0), review("2", date="2020-01-01", stars=4.0)]
    reviews.append(review("3", date="2019-12-31 23:59:59", stars=5.0))
    evidence = ir.GroupRating(("date",), "gte", "2020-01-01", metric, comparison, threshold)
    assert evaluate_reviews(evidence, *reviews) == truth


def test_a_group_without_reviews() -> None:
    """Nobody in the group is not satisfied, even where fewer than so many are asked for; texts are no numbers."""
    harsh = ir.GroupRating(("user", "average_stars"), "lt", 3.5, "count", "lt", 5)
    assert evaluate_reviews(harsh) == -1
    assert evaluate_reviews(harsh, review("1", average_stars=3.5), review("2"), review("3", average_stars="2")) == -1
    assert evaluate_reviews(harsh, review("1", average_stars=3.4)) == 1
    stars = ir.GroupRating(("user", "average_stars"), "lt", 3.5, "avg_stars", "gte", 0.0)
    assert evaluate_reviews(stars, review("1", average_stars=3.0, stars=None)) == -1


@pytest.mark.parametrize(
    ("generous", "harsh", "truth"), [(5, 1, -1), (5, 2, 1), (3, 1, 1), (None, 1, 1), (5, None, 1), (None, None, 1)]
)
def test_not_only_easy_raters(generous: int | None, harsh: int | None, truth: int) -> None:
    """Not satisfied only where easy raters rate it high and harsh ones low; no data is satisfied."""
    reviews = [review("0", stars=1, average_stars=3.7)]
    reviews += [review("1", stars=generous, average_stars=4.0)] if generous is not None else []
    reviews += [review("2", stars=harsh, average_stars=3.4)] if harsh is not None else []
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


def test_social_rating() -> None:
    """Enough reviews with enough stars are by the circle; a review without stars gives none."""
    reviews = [review("1", stars=4.0), review("2", stars=3.5, name="Ben"), review("3", stars=5.0, name="Zoe")]
    near = Background(friends=FRIENDS)
    assert evaluate_reviews(ir.SocialRating(4.0, 1, ir.SocialFilter(("Ana",), 1)), *reviews, background=near) == 1
    assert evaluate_reviews(ir.SocialRating(4.0, 2, ir.SocialFilter(("Ana",), 1)), *reviews, background=near) == -1
    assert evaluate_reviews(ir.SocialRating(3.5, 2, ir.SocialFilter(("Ben",), 1)), *reviews, background=near) == 1
    assert (
        evaluate_reviews(
            ir.SocialRating(4.0, 1, ir.SocialFilter(("Ana",), 1)), review("1", stars=None), background=near
        )
        == -1
    )
    assert evaluate_reviews(ir.SocialRating(4.0, 1, ir.SocialFilter(("Ana",), 1)), background=near) == -1


def test_circles() -> None:
    """Edges are read from either end; each hop adds the friends of those that were there before."""
    graph = connect_friends({"A": ["B"], "C": ["B", "D"], "D": ["E"]})
    assert find_circle(ir.SocialFilter(("A",), 0), graph) == {"A"}
    assert find_circle(ir.SocialFilter(("A",), 1), graph) == {"A", "B"}
    assert find_circle(ir.SocialFilter(("A",), 2), graph) == {"A", "B", "C"}
    assert find_circle(ir.SocialFilter(("B",), 1), graph) == {"A", "B", "C"}
    assert find_circle(ir.SocialFilter(("A", "E"), 1), graph) == {"A", "B", "D", "E"}
    assert find_circle(ir.SocialFilter(("Nobody",), 2), graph) == {"Nobody"}


truths = st.sampled_from(TRUTHS)


@given(st.lists(truths, min_size=1, max_size=6))
def test_and_is_the_minimum_and_or_the_maximum(values: list[Truth]) -> None:
    """Commutativity, associativity, distributivity and De Morgan's laws follow from this."""
    assert evaluation.and_(*values) == min(values)
    assert evaluation.or_(*values) == max(values)


def leaf(number: int) -> ir.Condition:
    return ir.Condition(f"c{number}", ir.ItemMeta((str(number),), ()), SPAN)


trees = st.recursive(
    st.integers(0, 5).map(leaf),
    lambda inner: st.builds(
        lambda op, args: ir.Junction(op, tuple(args), SPAN),
        st.sampled_from(["AND", "OR"]),
        st.lists(inner, min_size=1, max_size=4),
    ),
    max_leaves=20,
)
worlds = st.lists(truths, min_size=6, max_size=6).map(
    lambda values: {leaf(number).evidence: truth for number, truth in enumerate(values)}
)


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
    st.sampled_from(["True", "False", "u'free'", "'no'", "None", "{'a': True}", "2", ...]),
    st.sampled_from(["True", "False", "free", "no", "u'no'", "2"]),
)
def test_true_and_false_negate_each_other(attribute: object, expected: str) -> None:
    """`false` is the opposite of `true` wherever there is a value, objects of booleans aside; both are unknown elsewhere."""
    if attribute != "{'a': True}":
        assert evaluate_meta(attribute, true=expected) == -evaluate_meta(attribute, false=expected)


def test_equal_evidence_is_one() -> None:
    """Conditions with equal evidence are equal, whatever they are called; so each is evaluated once."""
    assert leaf(1) == ir.Condition("another name", leaf(1).evidence, SPAN)
    assert leaf(1) != leaf(2)
