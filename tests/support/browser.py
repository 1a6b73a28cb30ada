"""Opens pages in headless Chromium, through Playwright, and records what they log and request."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
_FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage")


@contextmanager
def chromium() -> Iterator[Any]:
    """Start a browser: the machine's, else Playwright's own; skip the test if there is none."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    path = next(filter(None, map(shutil.which, _NAMES)), None)
    with playwright.sync_playwright() as driver:
        try:
            browser = driver.chromium.launch(executable_path=path, args=_FLAGS)
        except playwright.Error as error:
            pytest.skip(f"no Chromium starts: {str(error).splitlines()[0]}")
        try:
            yield browser
        finally:
            browser.close()


class Tab:
    """An open page. `incidents` are its log messages, errors and dialogs, and its requests for any other file."""

    def __init__(self, browser: Any, file: Path, address: str = "", **options: Any) -> None:
        self.incidents: list[str] = []
        self.page = browser.new_context(**options).new_page()
        self.page.on("console", lambda message: self.incidents.append(f"{message.type}: {message.text}"))
        self.page.on("pageerror", lambda error: self.incidents.append(str(error)))
        self.page.on("dialog", lambda dialog: self.incidents.append(dialog.message))
        self.page.on("request", lambda request: self._request(request.url, file))
        self.page.goto(file.as_uri() + address)

    def _request(self, url: str, file: Path) -> None:
        if not url.startswith(file.as_uri()):
            self.incidents.append(url)

    def close(self) -> None:
        """Close the page, and fail if there were incidents."""
        self.page.context.close()
        assert self.incidents == []

    @property
    def names(self) -> list[str]:
        """The visible restaurants of the table, in its order."""
        return list(self.page.locator("#table tbody tr:not([hidden]) a").all_inner_texts())

    def wait_for_restaurant(self, name: str) -> None:
        """Wait until the page shows the restaurant, and not the list."""
        self.page.locator("#article h1").get_by_text(name, exact=True).wait_for()
        self.page.locator("#all").wait_for(state="hidden")

    def wait_for_list(self) -> None:
        """Wait until the page shows the list of all restaurants."""
        self.page.locator("#all").wait_for()

    def evaluate(self, script: str, *arguments: Any) -> Any:
        return self.page.evaluate(script, *arguments)

    @property
    def focused(self) -> str:
        return str(self.evaluate("document.activeElement.textContent"))

    def overflow(self) -> int:
        """Return by how many pixels the page is wider than the window."""
        return int(self.evaluate("document.documentElement.scrollWidth - innerWidth"))

    def broken_words(self) -> list[str]:
        """Return the visible words of letters and digits that are broken into several lines."""
        return list(self.evaluate(_BROKEN))

    def faint_texts(self) -> list[str]:
        """Return the texts whose contrast with their background is under 4.5."""
        return list(self.evaluate(_FAINT))


_FAINT = """() => {
  const parsed = (color) => color.match(/[\\d.]+/g).map(Number);
  const luminance = ([r, g, b]) => {
    const [x, y, z] = [r, g, b].map((v) => ((v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const color = parsed(getComputedStyle(at).backgroundColor);
      if (color.length === 3 || color[3] === 1) return color;
    }
    return [255, 255, 255];
  };
  const found = [];
  for (const element of document.querySelectorAll("body *")) {
    const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    if (!own || !element.checkVisibility() || element.closest("svg")) continue;
    const [low, high] = [parsed(getComputedStyle(element).color), behind(element)].map(luminance).sort((a, b) => a - b);
    if ((high + 0.05) / (low + 0.05) < 4.5) found.push(`${element.tagName} ${element.className}: ${element.textContent}`);
  }
  return found;
}"""

_BROKEN = """() => {
  const words = [];
  const texts = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    if (!texts.currentNode.parentElement.checkVisibility()) continue;
    for (const match of texts.currentNode.data.matchAll(/[A-Za-z0-9]+/g)) {
      const range = document.createRange();
      range.setStart(texts.currentNode, match.index);
      range.setEnd(texts.currentNode, match.index + match[0].length);
      if (new Set([...range.getClientRects()].map((rect) => Math.round(rect.top))).size > 1) words.push(match[0]);
    }
  }
  return words;
}"""
