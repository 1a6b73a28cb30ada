"""An explanation with its renderings: text, Markdown, a page; and its JSON Schema."""

from __future__ import annotations

import re
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema

from formulaseed.explanation.model import ExplanationData
from formulaseed.explanation.text import build_page_blocks, build_summary_text_blocks, build_text_blocks, build_title
from formulaseed.pages.html import as_fragment, as_page
from formulaseed.pages.markdown import as_markdown
from formulaseed.pages.text import as_text
from formulaseed.source.text import shorten


class Explanation(ExplanationData):
    """Why one restaurant got its verdict.

    `.text` and `.markdown` say it in words, `.json` is the data, and a notebook shows `.html`.
    """

    @property
    def text(self) -> str:
        """The first screen of the explanation, for a terminal: the verdict, its reasons and what would change it.

        It has no blank lines, and at most 14 lines unless a message is long.
        """
        return re.sub("\n+", "\n", as_text(build_summary_text_blocks(self)))

    @property
    def steps_text(self) -> str:
        """The whole explanation for a terminal, with the computation and the reviews."""
        return as_text(build_text_blocks(self))

    @property
    def markdown(self) -> str:
        """The explanation as Markdown."""
        return as_markdown(build_text_blocks(self))

    @property
    def html(self) -> str:
        """The explanation as one HTML page that needs nothing else."""
        return as_page(build_title(self).text, build_page_blocks(self))

    def __repr__(self) -> str:
        return shorten(f"Explanation({self.business_id!r}, {self.step}={self.verdict!r})")

    def _repr_html_(self) -> str:
        return as_fragment(build_page_blocks(self))


class _Schema(GenerateJsonSchema):
    def field_title_should_be_set(self, schema: Any) -> bool:
        """Return False: a field's title would only repeat its name."""
        return False


def explanation_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of `Explanation.json`."""
    about = "Why one restaurant got its verdict, as `formulaseed explain --format json` writes it."
    return build_model_schema(Explanation, about)


def build_model_schema(model: type[BaseModel], description: str) -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of a model as it is written, with this description."""
    schema = model.model_json_schema(mode="serialization", schema_generator=_Schema)
    return {"$schema": _Schema.schema_dialect, **schema, "description": description}
