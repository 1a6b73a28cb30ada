"""Splits a task text into numbered sentences, so that every part of a seed can cite its source; and names the task.

In: Markdown, or plain text. Out: sentences. A heading and the head of a table are frames: they introduce other sentences
and need not become part of a seed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from formulaseed import limits
from formulaseed.errors import DataError
from formulaseed.seed.read.sections import is_task_name
from formulaseed.source.text import one_line

_HEADING = re.compile(r"#{1,6}\s")
_FENCE = re.compile(r"```[^`]*|~~~[^~]*")
_UNDERLINE = re.compile(r"(=+|-{2,})")
_RULE = re.compile(r"[-*_](\s*[-*_]){2,}")
_ITEM = re.compile(r"(?:[-*+]|\d{1,4}[.)])\s+(.*)")
_NAME_CHARACTERS = 60
"""A longer title is a sentence."""
_TABLE_LINE = frozenset("|-: ")
_SENTENCE_END = re.compile(r"(?:(?<=[.!?])|(?<=[.!?][\"')\]*]))\s+(?=[A-Z\"'`(*_\[\d])")
_ABBREVIATION = re.compile(r"(?:\b(?:e\.g|i\.e|etc|vs|cf|approx|incl|resp|No|Mr|Mrs|Dr|St)|\b[A-Z])\.$")


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence, table row or heading. `number` counts from 1; `line` is the line of the text where it begins."""

    number: int
    text: str
    line: int
    is_frame: bool = False


@dataclass(frozen=True, slots=True)
class Task:
    """A task text, cut into sentences. `name` is that of the task, which no model chooses."""

    sentences: tuple[Sentence, ...]
    name: str

    def text(self, number: int) -> str | None:
        """Return the sentence with this number, if there is one."""
        return self.sentences[number - 1].text if 1 <= number <= len(self.sentences) else None


def read_task(data: bytes, otherwise: str = "task") -> Task:
    """Return the sentences of a task text. Raises `DataError` where there are none, or it cannot be used.

    The task is named by the title that the text begins with, up to a colon; where that is no name, it is called `otherwise`.
    """
    if len(data) > limits.TASK_BYTES:
        raise DataError(f"the task text is larger than {limits.TASK_BYTES:,} bytes; give each policy a text of its own")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"byte {error.start} of the task text is not UTF-8") from None
    found = tuple(Sentence(number, *sentence) for number, sentence in enumerate(_sentences(text), 1))
    if all(sentence.is_frame for sentence in found):
        raise DataError("the task text says nothing: there is no policy to make a seed of")
    name = _title(text)
    return Task(found, name if is_task_name(name) and len(name) <= _NAME_CHARACTERS else otherwise)


def _title(text: str) -> str:
    """The title that a text begins with, up to a colon; empty where it begins with something else."""
    first, _, rest = text.lstrip().partition("\n")
    is_title = first.startswith("# ") or set(rest.partition("\n")[0].strip()) == {"="}
    return first.partition(":")[0].strip("# \t\r") if is_title else ""


def _sentences(text: str) -> Iterator[tuple[str, int, bool]]:
    paragraph: list[str] = []
    start = 0
    is_code = False
    lines = [line.strip() for line in text.splitlines()]

    def flushed() -> Iterator[tuple[str, int, bool]]:
        line_of_word = [start + n for n, line in enumerate(paragraph) for _ in line.split()]
        words = 0
        for sentence in _split(" ".join(paragraph)):
            yield sentence, line_of_word[words], _is_bold(sentence)
            words += len(sentence.split())
        paragraph.clear()

    for number, line in enumerate(lines, 1):
        following = lines[number] if number < len(lines) else ""
        item = _ITEM.fullmatch(line)
        if _FENCE.fullmatch(line):
            yield from flushed()
            is_code = not is_code
        elif is_code:
            if line:
                yield line, number, False
        elif not line:
            yield from flushed()
        elif _HEADING.match(line):
            yield from flushed()
            yield line.strip("#").strip(), number, True
        elif len(paragraph) == 1 and _UNDERLINE.fullmatch(line):
            yield paragraph.pop(), start, True
        elif _RULE.fullmatch(line):
            yield from flushed()
        elif line.startswith("|"):
            yield from flushed()
            if not set(line) <= _TABLE_LINE:
                cells = (cell.strip() for cell in line.strip("|").split("|"))
                yield " | ".join(cells), number, following.startswith("|") and set(following) <= _TABLE_LINE
        else:
            if item:
                yield from flushed()
            if not paragraph:
                start = number
            paragraph.append(item[1] if item else line.removeprefix(">").strip())
    yield from flushed()


def _is_bold(text: str) -> bool:
    """Whether the whole text is bold: a heading in all but syntax."""
    return len(text) > 4 and text.startswith("**") and text.endswith("**") and "**" not in text[2:-2]


def _split(paragraph: str) -> Iterator[str]:
    """The sentences of a paragraph; an abbreviation ends none."""
    begun: list[str] = []
    for part in filter(None, _SENTENCE_END.split(one_line(paragraph))):
        begun.append(part)
        if not _ABBREVIATION.search(part[-8:]):
            yield " ".join(begun)
            begun.clear()
    if begun:
        yield " ".join(begun)
