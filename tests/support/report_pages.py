"""Helps tests of pages: parses HTML, and reads restaurants with the texts of their reviews, also hostile ones."""

from __future__ import annotations

import base64
import gzip
import json
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any

from formulaseed.explanation.explanation import Explanation
from helpers import EXAMPLES, TASKS, read_lines

Json = Any
SEED = TASKS / "g1a_v2" / "seed.json"
VOID = {"meta", "link", "img", "input", "br", "hr", "wbr"}
"""Elements without an end tag."""
HOSTILE = (
    "</script><script>window.taken = 1</script>",
    "<!--<script>",
    "\"'><img src=x onerror=window.taken=1>",
    "&lt;b&gt; &amp; {{ 7 * 7 }} ${7 * 7} \u2028\u2029",
    "</template></style><svg onload=window.taken=1>",
)


@dataclass
class Page(HTMLParser):
    """A parsed page: its elements in their order, each with its attributes. Parsing fails if tags are not balanced."""

    source: str
    elements: list[tuple[str, dict[str, str | None]]] = field(default_factory=list)
    texts: list[tuple[str, str]] = field(default_factory=list)
    """Each text after the tag of its element."""
    stack: list[str] = field(default_factory=list)
    deepest: int = 0

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.feed(self.source)
        self.close()
        assert self.stack == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len({name for name, _ in attrs}) == len(attrs), f"<{tag}> repeats an attribute"
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.stack.append(tag)
            self.deepest = max(self.deepest, len(self.stack))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.stack.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append((self.stack[-1] if self.stack else "", data))

    def select(self, tag: str, **attributes: str) -> list[dict[str, str | None]]:
        """Return the attributes of each element with this tag and these attributes."""
        return [values for name, values in self.elements if name == tag and attributes.items() <= values.items()]

    @property
    def text(self) -> str:
        return "".join(text for tag, text in self.texts if tag not in ("script", "style"))

    @property
    def articles(self) -> list[Page]:
        """The explanations in a report, unpacked as in a browser."""
        scripts = [text for tag, text in self.texts if tag == "script"]
        assert len(scripts) == 2
        return [*map(Page, json.loads(gzip.decompress(base64.b64decode(scripts[0]))))]


def restaurants() -> list[Json]:
    """Return the rows of the examples, with the texts of their reviews."""
    texts = {
        review["review_id"]: review["text"]
        for line in read_lines(EXAMPLES / "contexts.jsonl")
        for review in line["reviews"]
    }
    lines = read_lines(EXAMPLES / "rows-g1a_v2.jsonl")
    for row in (row for line in lines for row in line["rows"]):
        row["text"] = texts[row["review_id"]]
    return lines


def hostile_restaurants() -> list[Json]:
    """Return restaurants whose names, ids, categories and reviews contain markup."""
    # slice-parade has no incident
    lines = [line for line in restaurants() if line["business_id"] != "slice-parade"][: len(HOSTILE)]
    for line, text in zip(lines, HOSTILE, strict=True):
        line["business_id"] = f"{line['business_id']}{text}"
        line["context"] |= {"name": f"Name {text}", "categories": f"{text} Thai {text}"}
        for row in line["rows"]:
            row["review_id"] += text
            row["text"] = f"I am allergic and had hives {text}"
    return lines


def vary(example: Explanation, number: int) -> Explanation:
    """Return the explanation of another restaurant, with other names, ids and texts of reviews."""

    def change(text: str | None) -> str | None:
        return text and f"{text[: len(text) // 2]} {number} {text[len(text) // 2 :]}"

    evidence = []
    for part in example.evidence:
        changes = [
            {"review_id": f"{review.review_id}-{number}", "quote": change(review.quote)} for review in part.reviews
        ]
        reviews = [review.model_copy(update=new) for review, new in zip(part.reviews, changes, strict=True)]
        evidence.append(part.model_copy(update={"reviews": reviews}))
    business_id = f"{example.business_id}-{number}"
    return example.model_copy(update={"business_id": business_id, "name": change(example.name), "evidence": evidence})
