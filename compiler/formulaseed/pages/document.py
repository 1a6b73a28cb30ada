"""Renders an analysis that is written as blocks: as text, as Markdown, and as HTML."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from functools import cached_property

from formulaseed.pages.blocks import Block
from formulaseed.pages.html import as_html, as_page
from formulaseed.pages.markdown import as_markdown
from formulaseed.pages.text import as_text


class RenderedDocument(ABC):
    """An object that writes itself as blocks, and so can be read as text, Markdown, an HTML page, or in a notebook.

    A subclass has a `title` and `_blocks`. Each format is rendered when it is first read.
    """

    @property
    @abstractmethod
    def title(self) -> str:
        """The title of the HTML page."""

    @abstractmethod
    def _blocks(self) -> Iterable[Block]: ...

    @cached_property
    def text(self) -> str:
        """The document for a terminal."""
        return as_text(self._blocks())

    @cached_property
    def markdown(self) -> str:
        """The document for a comment on a pull request."""
        return as_markdown(self._blocks())

    @cached_property
    def html(self) -> str:
        """The document as an HTML page that needs no other file."""
        return as_page(self.title, self._page_blocks())

    def _page_blocks(self) -> Iterable[Block]:
        """Return the blocks of the HTML page; a subclass may list more there than in text."""
        return self._blocks()

    def _repr_html_(self) -> str:
        return as_html(self._blocks())

    def __str__(self) -> str:
        return self.text
