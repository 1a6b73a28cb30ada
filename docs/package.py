"""Adds the README as the package's description, and its addresses: links and pictures in it lead to the site of docs/."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_LINK = re.compile(r"\]\((?!\w+:|#)(?:docs/)?([^)#]*)(#[^)]*)?\)")


class Description(MetadataHookInterface):
    """The part of the metadata that is made of README and `site.toml`."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set `readme` and `urls` in `metadata`."""
        docs = Path(self.root) / "docs"
        address = tomllib.loads((docs / "site.toml").read_text(encoding="utf-8"))["address"]
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {
            "content-type": "text/markdown",
            "text": _LINK.sub(lambda link: _lead(address, link), text),
        }
        pages = {"Documentation": "", "Tutorial": "tutorial/", "Changelog": "changelog/"}
        metadata["urls"] = {name: f"{address}/{page}" for name, page in pages.items()}


def _lead(address: str, link: re.Match[str]) -> str:
    """Return the end of a link to a file of docs/, or to a page of the site that is a file beside it."""
    page = link[1]
    if page.endswith(".md"):
        page = f"{page.removesuffix('.md').lower()}/"
    return f"]({address}/{page}{link[2] or ''})"
