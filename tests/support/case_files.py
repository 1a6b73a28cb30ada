"""Read the files of tests/cases: a title, a sentence, then fenced blocks with a document and the compiler's output for it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

CASES = Path(__file__).resolve().parents[1] / "cases"
BLOCKS = {
    "good": ("json seed", "text warnings", "text types", "python module", "json run", "json steps", "json error"),
    "bad": ("json seed", "jsonl requests", "json rules", "json reference", "text errors"),
}
FILES = {"json seed": "seed.json", "jsonl requests": "requests.jsonl", "json rules": "rules.json"}
BESIDE = {"json reference": "formula_reference.json"}
FENCE = re.compile(r"^```(.+)\n((?:(?!```).*\n)*)```$", re.MULTILINE)
OPENING = re.compile(r"# \S.*[^.\n]\n\n\S(?:.+\n)*.*\.\n\n```(?:json seed|jsonl requests|json rules)\n")


@dataclass(frozen=True)
class Block:
    """A fenced block: the words behind the fence, and the text inside, which ends with a line break."""

    kind: str
    body: str

    def __str__(self) -> str:
        return f"```{self.kind}\n{self.body}```"


def blocks_of(path: Path) -> list[Block]:
    """Return the blocks of a case, with the document first."""
    return [Block(*match.groups()) for match in FENCE.finditer(path.read_text(encoding="utf-8"))]
