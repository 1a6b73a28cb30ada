"""Draws the images of docs/ with a headless Chromium: pages that the commands write, and the diagrams of the site.

`python docs/images/make.py` draws explanation.png and report.png. `python docs/images/make.py MERMAID` draws the diagrams in
README and docs/ that have no drawing yet, by the script at this path: `dist/mermaid.min.js` of the package `mermaid` of npm.
"""

from __future__ import annotations

import html
import re
import runpy
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SITE = runpy.run_path(str(ROOT / "docs" / "site.py"))
EXAMPLES = ROOT / "examples"
SEED = ROOT / "tasks/g1a_v2/seed.json"
EXTRACT = (
    "extract", SEED, "--contexts", EXAMPLES / "contexts.jsonl", "--extractor", "recorded", "--extractions",
    EXAMPLES / "extractions-g1a_v2.jsonl", "--with-text",
)  # fmt: skip
PAGES = {
    "explanation": ("explain", SEED, "--id", "hanks-blue-plate", "--format", "html"),
    "report": ("report", SEED),
}
CHROMIUM = (
    "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--hide-scrollbars", "--window-size=1000,900",
)  # fmt: skip


DIAGRAM = """<!doctype html><meta charset="utf-8"><script src="{script}"></script><pre id="text">{text}</pre><script>
const how = {{startOnLoad: false, theme: "neutral", fontFamily: "sans-serif", htmlLabels: false, deterministicIds: true,
              flowchart: {{htmlLabels: false, useMaxWidth: false}}}};
mermaid.initialize(how);
mermaid.render("diagram", document.getElementById("text").textContent).then(drawn => {{
  document.body.innerHTML = "<textarea></textarea>";
  document.querySelector("textarea").textContent = drawn.svg;
}});
</script>"""


def draw_diagrams(script: Path) -> None:
    """Draw each diagram whose file is missing, and remove the files of those that are no longer there."""
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    texts = [text for page in pages for text in SITE["DIAGRAM"].findall(page.read_text(encoding="utf-8"))]
    files = {Path(__file__).with_name(SITE["diagram_name"](text)): text for text in texts}
    for stale in set(Path(__file__).parent.glob("diagram-*.svg")) - files.keys():
        stale.unlink()
    for image, text in files.items():
        if not image.exists():
            image.write_text(draw_diagram(script, text), encoding="utf-8")


def draw_diagram(script: Path, text: str) -> str:
    """Return a diagram as SVG, on white. Raises `RuntimeError` if the script does not draw it."""
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "page.html"
        page.write_text(DIAGRAM.format(script=script.resolve().as_uri(), text=html.escape(text)), encoding="utf-8")
        options = (f"--user-data-dir={folder}/profile", "--virtual-time-budget=20000", "--dump-dom", page.as_uri())
        done = subprocess.run([*CHROMIUM, *options], capture_output=True, text=True, check=True)
    found = re.search(r"<textarea>(.*)</textarea>", done.stdout, re.DOTALL)
    if found is None:
        raise RuntimeError(f"no diagram was drawn of:\n{text}")
    svg = html.unescape(found[1])
    return svg.replace("background-color: transparent", "background-color: white") + "\n"


def run_command(*arguments: object) -> None:
    """Run `formulaseed` with these arguments. Raises `CalledProcessError` if it fails."""
    subprocess.run([sys.executable, "-m", "formulaseed", *map(str, arguments)], check=True)


def main() -> None:
    """Draw the diagrams of the docs, or take pictures of pages."""
    if len(sys.argv) > 1:
        draw_diagrams(Path(sys.argv[1]))
        return
    with tempfile.TemporaryDirectory() as folder:
        rows = Path(folder) / "rows.jsonl"
        run_command(*EXTRACT, "--out", rows)
        for name, command in PAGES.items():
            page = Path(folder) / f"{name}.html"
            run_command(*command, "--rows", rows, "--out", page)
            image = Path(__file__).with_name(f"{name}.png")
            profile = f"--user-data-dir={folder}/profile"
            subprocess.run([*CHROMIUM, profile, f"--screenshot={image}", page.as_uri()], check=True)


if __name__ == "__main__":
    main()
