"""Opens pages in headless Chromium, through Playwright; what the page logs and asks of the network is noted."""

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
    """Start a browser: the machine's, else Playwright's own; skips the test where there is none."""
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
    """A page that is open. `noted` is what it logged, the errors in it, dialogs, and requests for anything but itself."""

    def __init__(self, browser: Any, file: Path, address: str = "", **options: Any) -> None:
        self.noted: list[str] = []
        self.page = browser.new_context(**options).new_page()
        self.page.on("console", lambda message: self.noted.append(f"{message.type}: {message.text}"))
        self.page.on("pageerror", lambda error: self.noted.append(str(error)))
        self.page.on("dialog", lambda dialog: self.noted.append(dialog.message))
        self.page.on("request", lambda request: self._request(request.url, file))
        self.page.goto(file.as_uri() + address)

    def _request(self, url: str, file: Path) -> None:
        if not url.startswith(file.as_uri()):
            self.noted.append(url)

    def close(self) -> None:
        """Close it, and fail if anything was noted."""
        self.page.context.close()
        assert self.noted == []

    @property
    def names(self) -> list[str]:
        """The restaurants that the table shows, in its order."""
        return list(self.page.locator("#table tbody tr:not([hidden]) a").all_inner_texts())

    def opened(self, name: str) -> None:
        """Wait until the restaurant is shown, and the list is not."""
        self.page.locator("#article h1").get_by_text(name, exact=True).wait_for()
        self.page.locator("#all").wait_for(state="hidden")

    def listed(self) -> None:
        """Wait until the list of all restaurants is shown."""
        self.page.locator("#all").wait_for()

    def evaluate(self, script: str, *arguments: Any) -> Any:
        return self.page.evaluate(script, *arguments)

    @property
    def focused(self) -> str:
        return str(self.evaluate("document.activeElement.textContent"))

    def width_beyond(self) -> int:
        """How far the page is wider than the window."""
        return int(self.evaluate("document.documentElement.scrollWidth - innerWidth"))

    def faint_texts(self) -> list[str]:
        """The texts whose contrast with what is behind them is under 4.5."""
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
