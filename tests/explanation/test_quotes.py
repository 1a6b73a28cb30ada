"""Quotes of reviews on the first screen: they show the words on which a value rests, however long the review is."""

from __future__ import annotations

import copy

import pytest
from explaining import G1A, LINES, choose, count, formula, make_seed
from formulaseed import explain, load_seed
from formulaseed.explanation.explanation import Explanation
from formulaseed.explanation.quotes import QuoteFinder, cut_around
from helpers import TASKS
from hypothesis import given
from hypothesis import strategies as st

LONG = "Seated on time, bread on time, my lips swelled and I had hives all over, and nobody came to the table to ask."


@pytest.mark.parametrize(
    ("width", "cut"),
    [
        (200, LONG),
        (60, "… my lips swelled and I had hives all over, and nobody …"),
        (31, "… and I had hives all over, …"),
        (20, "… I had hives all …"),
        (8, "had hi …"),
    ],
)
def test_a_long_quote_is_cut_around_its_core(width: int, cut: str) -> None:
    """The core and as many words on both sides as fit are shown; a core that does not fit is cut at its end."""
    assert cut_around(LONG, "had hives", width) == cut


@given(st.lists(st.text("ab,", min_size=1, max_size=9), min_size=1, max_size=20), st.data())
def test_a_cut_quote_fits_and_has_its_core(words: list[str], data: st.DataObject) -> None:
    """For any words, any core among them and any width that has room for the core and both ellipses."""
    start = data.draw(st.integers(0, len(words) - 1))
    core = " ".join(words[start : data.draw(st.integers(start + 1, len(words)))])
    width = data.draw(st.integers(len(core) + 4, 250))
    cut = cut_around(" ".join(words), core, width)
    assert len(cut) <= width
    assert f" {core} " in f" {cut} "


def explain_swelling(text: str) -> Explanation:
    """Explain Nonna Pia with another text for the review of its main part."""
    line = copy.deepcopy(LINES["nonna-pia"])
    row = next(row for row in line["rows"] if row["review_id"] == "nonna-pia-07")
    row["text"] = text
    return explain(G1A, line["rows"], line["context"], "nonna-pia")


def test_the_first_screen_shows_the_words_that_prove_a_value() -> None:
    """A sentence that is too long for its row is cut around them; a text with no such words is not begun, but named by its id."""
    text = explain_swelling(f"We came for the wine. {LONG}").text
    (row,) = [row for row in text.splitlines() if row.startswith("  R1 ")]
    assert "“… time, my lips swelled and I …”" in row
    text = explain_swelling("Everything was as it should be, and then we went to the hospital by cab. " * 9).text
    (row,) = [row for row in text.splitlines() if row.startswith("  R1 ")]
    assert "Everything" not in row
    assert "nonna-pia-07" in row


def test_the_words_that_prove_a_value_may_be_anywhere() -> None:
    """After the same words denied, and after more words than a quote has."""
    for beginning in ("No hives at first, then there were", "We walked and talked " * 40 + "and I had"):
        evidence = explain_swelling(f"{beginning} hives all over. We left.").evidence
        (review,) = next(part for part in evidence if part.step == "N_MODERATE").reviews
        assert review.quote is not None
        assert review.core in ("were hives", "hives")
        assert review.quote.endswith(f"{review.core} all over.")
        assert len(review.quote) <= 300


def test_the_core_proves_the_first_value_that_the_sentence_proves() -> None:
    """Not all of them: their words may be the whole sentence."""
    finder = QuoteFinder(load_seed(TASKS / "wait_times" / "seed.json").program)
    text = "We waited for our food and it was not a long wait at first as they said, but then it took fifty minutes."
    quote = finder.choose_quote({"text": text}, {"wait_minutes": 50, "wait_kind": "food"})
    assert quote.core == "fifty minutes."
    quotes = {"wait_minutes": " ", "wait_kind": "for our food", "outcome": "we left"}
    quote = finder.choose_quote({"quotes": quotes}, {"wait_minutes": 50, "wait_kind": "food", "outcome": "walked_out"})
    assert quote == ("for our food … we left", "extractor", "for our food")
    assert cut_around(quote.text or "", "for our food", 16) == "for our food …"


def test_the_quote_is_that_of_the_step_which_names_the_part() -> None:
    """A part is named after its most particular step, which may come after one that the same review is counted by."""
    fields = [{"name": "kind", "type": "enum", "values": ["none", "food"]}, {"name": "minutes", "type": "integer"}]
    steps = [
        count("WAITS", {"extraction.kind": "food"}),
        count("LONG", {"extraction.kind": "food", "extraction.minutes": {">=": 45}}),
        formula("SCORE", "WAITS + LONG"),
        choose("V", {"SCORE > 1": "slow"}, "quick"),
    ]
    quotes = {"kind": {"text": "for the soup"}, "minutes": {"text": "an hour"}}
    rows = [{"review_id": "r", "extraction": {"kind": "food", "minutes": 60}, "quotes": quotes}]
    explanation = explain(make_seed(steps, "V", fields=fields), rows, {}, "b")
    assert explanation.attribution is not None
    assert explanation.attribution.parts[0].steps == ["LONG", "WAITS"]
    assert "“for the soup … an hour”" in explanation.text
