"""Makes a site of docs/: README is its first page, each diagnostic code has a page, and a link out of docs/ names the file."""

from __future__ import annotations

import hashlib
import re
import tomllib
from pathlib import Path
from typing import Any

_ROOT = Path(__file__).resolve().parents[1]
_OUTWARDS = re.compile(r"\[([^\]]*)\]\((?:\.\./)([^)#]*)[^)]*\)")
_OF_README = re.compile(r"\[([^\]]*)\]\((?!docs/|changelog\.md|#|\w+:)([^)]*)\)")


DIAGRAM = re.compile(r"^```mermaid\n(.*?)^```$", re.MULTILINE | re.DOTALL)
"""A diagram in a page; `docs/images/make.py` draws it."""
_PAGES_OF_CODES = "](../compiler/formulaseed/diagnostics/pages)"
_CODES = _ROOT / "compiler" / "formulaseed" / "diagnostics" / "pages"


def on_config(config: Any) -> Any:
    """Set the address of the site, which `site.toml` states."""
    config.site_url = tomllib.loads((_ROOT / "docs" / "site.toml").read_text(encoding="utf-8"))["address"]
    return config


def on_files(files: Any, config: Any) -> Any:
    """Add README as the first page, and the pages of the codes with a list of them."""
    from mkdocs.structure.files import File

    readme = (_ROOT / "README.md").read_text(encoding="utf-8")
    text = _OF_README.sub(_named, readme.replace("](CHANGELOG.md)", "](changelog.md)"))
    files.append(File.generated(config, "index.md", content=text.replace("](docs/", "](")))
    changelog = (_ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    files.append(File.generated(config, "changelog.md", content=changelog.replace("](docs/", "](")))
    listed = ["# Diagnostic codes", "", "| code | name |", "|---|---|"]
    for path in sorted(_CODES.glob("FS*.md")):
        page = path.read_text(encoding="utf-8")
        code, name = page.splitlines()[0].removeprefix("# ").split(maxsplit=1)
        listed.append(f"| [{code}]({path.name}) | {name} |")
        files.append(File.generated(config, f"codes/{path.name}", content=page))
    files.append(File.generated(config, "codes/index.md", content="\n".join(listed) + "\n"))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Show the drawings of diagrams, which need no network, and name the files that are not a part of the site."""
    markdown = DIAGRAM.sub(lambda block: f"![A diagram](images/{diagram_name(block[1])})", markdown)
    return _OUTWARDS.sub(_named, markdown.replace(_PAGES_OF_CODES, "](codes/index.md)"))


def diagram_name(text: str) -> str:
    """Return the name of a diagram's drawing in docs/images/: a changed diagram has another one."""
    return f"diagram-{hashlib.sha256(text.encode()).hexdigest()[:12]}.svg"


def _named(link: re.Match[str]) -> str:
    text, path = link[1], link[2].removeprefix("../")
    return f"`{path}`" if path in text else f"{text} (`{path}`)"
