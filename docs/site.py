"""Makes a site of docs/: README is its first page, and a link out of docs/ names the file in the repository."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

_ROOT = Path(__file__).resolve().parents[1]
_OUTWARDS = re.compile(r"\[([^\]]*)\]\((?:\.\./)([^)#]*)[^)]*\)")
_OF_README = re.compile(r"\[([^\]]*)\]\((?!docs/|#|\w+:)([^)]*)\)")


def on_files(files: Any, config: Any) -> Any:
    """Add README as the first page."""
    from mkdocs.structure.files import File

    text = _OF_README.sub(_named, (_ROOT / "README.md").read_text(encoding="utf-8"))
    files.append(File.generated(config, "index.md", content=text.replace("](docs/", "](")))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Name the files that are not a part of the site."""
    return _OUTWARDS.sub(_named, markdown)


def _named(link: re.Match[str]) -> str:
    text, path = link[1], link[2].removeprefix("../")
    return f"`{path}`" if path in text else f"{text} (`{path}`)"
