"""Makes an analysis a document for its readers: as text, as Markdown, and as HTML."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from functools import cached_property

from formulaseed.pages.blocks import Block
from formulaseed.pages.html import as_html, as_page
from formulaseed.pages.markdown import as_markdown
from formulaseed.pages.text import as_text


class Document(ABC):
    """Something that is written as blocks, and shown as text, as Markdown, as a page, and in a notebook."""

    @property
    @abstractmethod
    def title(self) -> str:
        """The title of the page."""

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
        """The document as one HTML page that needs nothing else."""
        return as_page(self.title, self._blocks())

    def _repr_html_(self) -> str:
        return as_html(self._blocks())

    def __str__(self) -> str:
        return self.text
