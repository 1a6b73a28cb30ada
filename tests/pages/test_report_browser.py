"""Reports work in a browser: with a mouse and a keyboard, wide and narrow, light, dark and printed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from browser import Tab, chromium
from formulaseed import diff_results, explain, load_evaluator, load_seed
from formulaseed.data.results import Failures
from formulaseed.explanation.explainer import Explainer
from formulaseed.explanation.report import make_report
from helpers import IS_DEEP, formulaseed, write_lines
from report_pages import HOSTILE, SEED, hostile_restaurants, restaurants, vary

pytestmark = pytest.mark.thorough  # a browser is started


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as started:
        yield started


@pytest.fixture(scope="module")
def report(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of the examples."""
    return write_report(tmp_path_factory.mktemp("report"), *restaurants())


def write_report(folder: Path, *lines: object) -> Path:
    rows = write_lines(folder / "rows.jsonl", *lines)
    assert formulaseed("report", SEED, "--rows", rows, "--out", folder / "report.html").status == 0
    return folder / "report.html"


@pytest.fixture
def open_tab(browser: Any) -> Iterator[Callable[..., Tab]]:
    """Open pages, and fail at the end if one of them logged, or requested, anything."""
    tabs: list[Tab] = []

    def open_page(file: Path, address: str = "", **options: Any) -> Tab:
        tabs.append(Tab(browser, file, address, **options))
        return tabs[-1]

    yield open_page
    for tab in tabs:
        tab.close()


def test_the_table_is_sorted_by_its_heads(open_tab: Callable[..., Tab], report: Path) -> None:
    """A click or Enter on a head sorts by it, another one the other way; `aria-sort` says so."""
    tab = open_tab(report)
    head = tab.page.locator('th[data-key="number"]')
    assert head.get_attribute("aria-sort") == "descending"
    assert (tab.names[0], tab.names[-1]) == ("Lotus Garden", "Saigon Lantern")
    head.get_by_role("button").click()
    assert (head.get_attribute("aria-sort"), tab.names[0]) == ("ascending", "Saigon Lantern")
    name = tab.page.locator('th[data-key="name"]')
    name.get_by_role("button").focus()
    tab.page.keyboard.press("Enter")
    assert (name.get_attribute("aria-sort"), head.get_attribute("aria-sort")) == ("ascending", None)
    assert tab.names == sorted(tab.names, key=str.casefold)
    tab.page.keyboard.press("Space")
    assert tab.names == sorted(tab.names, key=str.casefold, reverse=True)
    tab.page.locator('th[data-key="changed"]').get_by_role("button").click()
    changed = [int(text.split()[0]) for text in tab.page.locator("#table td:last-child").all_inner_texts()]
    assert changed == sorted(changed)


def test_the_table_is_filtered(open_tab: Callable[..., Tab], report: Path) -> None:
    """By words of names and ids, and by a verdict, chosen in the list or by its bar; the number that is left is announced."""
    tab = open_tab(report)
    status = tab.page.get_by_role("status")
    assert status.inner_text() == "14 of 14 restaurants"
    tab.page.get_by_label("Search").fill("NONNA tratt")
    assert (tab.names, status.inner_text()) == (["Trattoria Nonna Pia"], "1 of 14 restaurants")
    tab.page.get_by_label("Search").fill("")
    bar = tab.page.get_by_role("button", name="High Risk")
    bar.focus()
    tab.page.keyboard.press("Enter")
    assert tab.names == ["Marigold Bakehouse", "Hank's Blue Plate"]
    verdict = tab.page.get_by_label("verdict", exact=True)
    assert (bar.get_attribute("aria-pressed"), verdict.input_value()) == ("true", "1")
    bar.click()
    assert (bar.get_attribute("aria-pressed"), len(tab.names)) == ("false", 14)
    verdict.select_option("Critical Risk")
    tab.page.get_by_label("Search").fill("l")
    assert {"Lotus Garden", "Golden Carp House", "El Farol Azul"} == set(tab.names)
    tab.page.get_by_label("Search").fill("nobody")
    assert (tab.names, status.inner_text()) == ([], "0 of 14 restaurants")


def test_another_number_is_chosen(open_tab: Callable[..., Tab], report: Path) -> None:
    """Its histogram is shown, the table has its values and is sorted by them."""
    tab = open_tab(report)
    chart = tab.page.locator("figure.histogram:visible [role=img]")
    assert "Histogram of risk score: 14 restaurants from 0 to 20" in chart.get_attribute("aria-label")
    tab.page.get_by_label("Values of").select_option("trust in staff")
    assert "Histogram of trust in staff" in chart.get_attribute("aria-label")
    values = [float(text) for text in tab.page.locator("#table td.number:not(.wide)").all_inner_texts()]
    assert values == sorted(values, reverse=True)
    assert max(values) == 1
    assert tab.page.locator('th[data-key="number"]').inner_text().startswith("trust in staff")
    tab.page.locator("figure.histogram:visible summary").click()
    counts = tab.page.locator("figure.histogram:visible td").all_inner_texts()
    assert sum(map(int, counts)) == 14


def test_an_explanation_is_opened_and_left(open_tab: Callable[..., Tab], report: Path) -> None:
    """By click and by keyboard; the heading has the focus, Escape leads back to the link, and the address names it."""
    tab = open_tab(report)
    tab.page.get_by_role("link", name="Trattoria Nonna Pia").click()
    tab.wait_for_restaurant("Trattoria Nonna Pia")
    assert tab.focused == "Trattoria Nonna Pia"
    assert tab.page.url.endswith("#/nonna-pia")
    assert tab.page.title() == "Trattoria Nonna Pia · G1a-v2"
    tab.page.keyboard.press("Escape")
    tab.wait_for_list()
    assert tab.focused == "Trattoria Nonna Pia"
    tab.page.keyboard.press("Enter")
    tab.wait_for_restaurant("Trattoria Nonna Pia")
    tab.page.get_by_role("link", name="Previous").click()
    tab.wait_for_restaurant("Saffron Junction")
    tab.page.go_back()
    tab.wait_for_restaurant("Trattoria Nonna Pia")
    tab.page.keyboard.press("Shift+Tab")
    assert tab.focused == "Next"
    tab.page.keyboard.press("Enter")
    tab.wait_for_restaurant("El Farol Azul")
    tab.page.get_by_role("link", name="All restaurants").click()
    tab.wait_for_list()


def test_an_address_names_a_restaurant(open_tab: Callable[..., Tab], report: Path) -> None:
    """One that names none shows the list."""
    tab = open_tab(report, "#/golden-carp")
    tab.wait_for_restaurant("Golden Carp House")
    for address in ("#/%", "#/nobody"):
        tab = open_tab(report, address)
        tab.wait_for_list()


def test_the_computation_is_opened_by_keyboard(open_tab: Callable[..., Tab], report: Path) -> None:
    """The section is folded at first; a step opens and closes with Enter, and what it uses is inside."""
    tab = open_tab(report, "#/nonna-pia")
    section = tab.page.locator("summary", has_text="How it was computed")
    section.focus()
    tab.page.keyboard.press("Enter")
    step = tab.page.locator("summary", has_text="INCIDENT_IMPACT").first
    inside = tab.page.locator("summary", has_text="ADJUSTED_INCIDENT_SCORE")
    assert not inside.is_visible()
    step.focus()
    tab.page.keyboard.press("Enter")
    assert inside.is_visible()
    assert "= 6.2 * 0.7 * 0.3 * 5.0794" in tab.page.locator("details", has=section).inner_text()
    tab.page.keyboard.press("Enter")
    assert not inside.is_visible()


def test_a_report_shows_what_the_page_of_an_explanation_shows(
    browser: Any, open_tab: Callable[..., Tab], report: Path
) -> None:
    """The same as `explain --format html` writes for a restaurant of the same rows."""
    tab = open_tab(report)
    alone = browser.new_page()
    for line in restaurants()[:3]:
        business_id = line["business_id"]
        tab.evaluate("(id) => { location.hash = `#/${id}` }", business_id)
        tab.wait_for_restaurant(line["context"]["name"])
        rows = report.with_name("rows.jsonl")
        alone.set_content(formulaseed("explain", SEED, "--rows", rows, "--id", business_id, "--format", "html").out)
        html = "document.querySelector('main article').innerHTML.trim()"
        assert tab.evaluate(html) == alone.evaluate(html)
    alone.close()


def test_markup_in_data_is_shown_as_text(open_tab: Callable[..., Tab], tmp_path: Path) -> None:
    """No script of a name, an id or a review runs, none becomes an element, and all can be read."""
    lines = hostile_restaurants()
    tab = open_tab(write_report(tmp_path, *lines))
    for line, text in zip(lines, HOSTILE, strict=True):
        tab.wait_for_list()
        tab.page.locator(f'#table tr[data-at="{lines.index(line)}"] a').click()
        tab.page.locator("#article h1").wait_for()
        assert tab.evaluate("document.querySelector('#article').textContent").count(text) > 3
        assert tab.page.title().split() == f"Name {text} · G1a-v2".split()
        assert tab.evaluate("document.querySelectorAll('#article :is(script, img, [onload], style)').length") == 0
        tab.page.keyboard.press("Escape")
    assert tab.evaluate("window.taken") is None


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [320, 360, 1280])
def test_it_is_readable(open_tab: Callable[..., Tab], report: Path, scheme: str, width: int) -> None:
    """In both schemes texts have the contrast of WCAG's level AA; nothing is wider than the window, and no word is broken."""
    tab = open_tab(report, color_scheme=scheme, viewport={"width": width, "height": 700})
    background = tab.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (background == "rgb(255, 255, 255)") == (scheme == "light")
    for address in ("", "#/lotus-garden"):
        tab.evaluate("(to) => { location.hash = to }", address)
        tab.page.locator("#article" if address else "#all").wait_for()
        tab.evaluate("document.querySelectorAll('details').forEach((part) => (part.open = true))")
        assert tab.overflow() <= 0
        assert width == 320 or tab.broken_words() == []
        assert tab.faint_texts() == []


@pytest.mark.skipif(not IS_DEEP, reason="a thousand pages are rendered")
def test_a_thousand_restaurants_open_in_a_second(browser: Any, tmp_path: Path) -> None:
    """In processor time of the page, since other processes share the machine; then one of them as fast."""
    lines = restaurants()
    explainer = Explainer(load_seed(SEED).program, load_evaluator(SEED))
    examples = [explain(load_seed(SEED), line["rows"], line["context"], line["business_id"]) for line in lines]
    page = make_report(explainer, (vary(examples[number % len(lines)], number) for number in range(1000)), Failures())
    (tmp_path / "report.html").write_text(page.html, encoding="utf-8")
    assert len(page.html.encode()) < 5_000_000
    tab = browser.new_page()
    session = tab.context.new_cdp_session(tab)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})

    def seconds() -> float:
        metrics = session.send("Performance.getMetrics")["metrics"]
        return float(next(metric["value"] for metric in metrics if metric["name"] == "TaskDuration"))

    tab.goto((tmp_path / "report.html").as_uri())
    tab.get_by_role("status").get_by_text("1,000 of 1,000 restaurants").wait_for()
    opened = seconds()
    assert opened < 1
    tab.locator("#table tbody a").first.click()
    tab.locator("#article h1").wait_for()
    assert seconds() - opened < 1
    tab.close()


def test_everything_is_printed(open_tab: Callable[..., Tab], report: Path) -> None:
    """On paper closed parts are open, controls are gone, and the colours are those of the light scheme."""
    tab = open_tab(report, "#/nonna-pia", color_scheme="dark")
    deep = tab.page.locator("#article summary", has_text="INCIDENT_AGE").first
    assert not deep.is_visible()
    tab.page.emulate_media(media="print")
    assert deep.bounding_box()["height"] > 0
    assert deep.is_visible()
    assert not tab.page.locator("nav").is_visible()
    assert tab.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert tab.page.pdf().startswith(b"%PDF")


def test_without_scripts_the_overview_is_there(open_tab: Callable[..., Tab], report: Path) -> None:
    """The table, the verdicts and the histogram need no script, and a line says what does."""
    tab = open_tab(report, java_script_enabled=False)
    assert len(tab.names) == 14
    assert tab.page.locator("figure.histogram:visible [role=img]").count() == 1
    assert "need JavaScript" in tab.page.locator("body").inner_text()


def test_a_table_of_a_difference_is_sorted_by_its_heads(open_tab: Callable[..., Tab], tmp_path: Path) -> None:
    """Numbers as numbers, and once more the other way; nothing else than the page's own script runs."""
    rows = [
        {"business_id": f"b{number}", "N": number, "error_step": None, "error_kind": None, "error_message": None}
        for number in (2, 10, 1)
    ]
    old = write_lines(tmp_path / "old.jsonl", *rows)
    new = write_lines(tmp_path / "new.jsonl", *({**row, "N": row["N"] * 2} for row in rows))
    page = tmp_path / "diff.html"
    page.write_text(diff_results(old, new, key="business_id").html, encoding="utf-8")
    tab = open_tab(page)
    table = tab.page.locator("table[data-sortable]")
    head = table.get_by_role("button", name="N before")
    orders = []
    for _ in range(2):
        head.click()
        orders.append(table.locator("td:first-child").all_inner_texts())
    assert orders == [["b1", "b2", "b10"], ["b10", "b2", "b1"]]
