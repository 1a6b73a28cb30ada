"""Draws docs/images/explanation.png and report.png: the pages that the commands write, as a headless Chromium shows them.

`python docs/images/make.py`, with Chromium installed.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
RUN = (
    ROOT / "tasks/g1a_v2/seed.json", "--contexts", EXAMPLES / "contexts.jsonl", "--extractor", "recorded",
    "--extractions", EXAMPLES / "extractions-g1a_v2.jsonl",
)  # fmt: skip
PAGES = {
    "explanation": ("explain", *RUN, "--id", "hanks-blue-plate", "--format", "html"),
    "report": ("report", *RUN),
}
CHROMIUM = (
    "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--hide-scrollbars", "--window-size=1000,900",
)  # fmt: skip


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        for name, command in PAGES.items():
            page = Path(folder) / f"{name}.html"
            subprocess.run([sys.executable, "-m", "formulaseed", *map(str, command), "--out", str(page)], check=True)
            image = Path(__file__).with_name(f"{name}.png")
            profile = f"--user-data-dir={folder}/profile"
            subprocess.run([*CHROMIUM, profile, f"--screenshot={image}", page.as_uri()], check=True)


if __name__ == "__main__":
    main()
