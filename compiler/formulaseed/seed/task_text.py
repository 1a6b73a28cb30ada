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
_LIST_ITEM = re.compile(r"(?:[-*+]|\d{1,4}[.)])\s+(.*)")
_MAX_NAME_LENGTH = 60  # a longer title is a sentence, not a name
_TABLE_RULE = frozenset("|-: ")
"""The characters of the line between the head and the body of a table."""
_SENTENCE_END = re.compile(r"(?:(?<=[.!?])|(?<=[.!?][\"')\]*]))\s+(?=[A-Z\"'`(*_\[\d])")
_ABBREVIATION = re.compile(r"(?:\b(?:e\.g|i\.e|etc|vs|cf|approx|incl|resp|No|Mr|Mrs|Dr|St)|\b[A-Z])\.$")


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence, table row or heading of a task text.

    `number` counts from 1; `line` is the line of the text that it begins in. `is_frame` is True for headings and table heads.
    """

    number: int
    text: str
    line: int
    is_frame: bool = False


@dataclass(frozen=True, slots=True)
class Task:
    """A task text, split into sentences. `name` is the name of the task, which no model chooses."""

    sentences: tuple[Sentence, ...]
    name: str

    def text(self, number: int) -> str | None:
        """Return the text of the sentence with this number, or None if there is no such sentence."""
        return self.sentences[number - 1].text if 1 <= number <= len(self.sentences) else None


def read_task(data: bytes, default_name: str = "task") -> Task:
    """Split a task text into sentences.

    The name of the task is the title that the text begins with, up to a colon, or `default_name` if that cannot be a name.
    Raises `DataError` if the text is too large, not UTF-8, or has no sentences.
    """
    if len(data) > limits.TASK_BYTES:
        raise DataError(f"the task text is larger than {limits.TASK_BYTES:,} bytes; give each policy a text of its own")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"byte {error.start} of the task text is not UTF-8") from None
    sentences = tuple(Sentence(number, *sentence) for number, sentence in enumerate(_Splitter().split(text), 1))
    if all(sentence.is_frame for sentence in sentences):
        raise DataError("the task text says nothing: there is no policy to make a seed of")
    name = _read_title(text)
    is_usable = is_task_name(name) and len(name) <= _MAX_NAME_LENGTH
    return Task(sentences, name if is_usable else default_name)


def _read_title(text: str) -> str:
    """Return the title that a text begins with, up to a colon; an empty string if it begins with something else."""
    first, _, rest = text.lstrip().partition("\n")
    is_title = first.startswith("# ") or set(rest.partition("\n")[0].strip()) == {"="}
    return first.partition(":")[0].strip("# \t\r") if is_title else ""


_Split = tuple[str, int, bool]
"""The text of a sentence, the line that it begins in, and whether it is a frame."""


class _Splitter:
    """The lines of a paragraph that has not ended yet; `start` is the line of the text that it begins in."""

    def __init__(self) -> None:
        self.paragraph: list[str] = []
        self.start = 0

    def split(self, text: str) -> Iterator[_Split]:
        """Yield the sentences, headings, table rows and lines of code of a text, each with its line.

        The third member is True for frames: headings and the heads of tables.
        """
        is_code = False
        lines = [line.strip() for line in text.splitlines()]
        for number, (line, next_line) in enumerate(zip(lines, [*lines[1:], ""], strict=False), 1):
            if _FENCE.fullmatch(line):
                yield from self._end_paragraph()
                is_code = not is_code
            elif is_code:
                if line:
                    yield line, number, False
            elif len(self.paragraph) == 1 and _UNDERLINE.fullmatch(line):
                yield self.paragraph.pop(), self.start, True
            elif not line or _HEADING.match(line) or _RULE.fullmatch(line) or line.startswith("|"):
                yield from self._end_paragraph()
                yield from _split_block(line, number, next_line)
            else:
                item = _LIST_ITEM.fullmatch(line)
                if item:
                    yield from self._end_paragraph()
                if not self.paragraph:
                    self.start = number
                self.paragraph.append(item[1] if item else line.removeprefix(">").strip())
        yield from self._end_paragraph()

    def _end_paragraph(self) -> Iterator[_Split]:
        """Yield the sentences of the paragraph, and clear it. A sentence that is bold as a whole is a frame."""
        line_of_word = [self.start + n for n, line in enumerate(self.paragraph) for _ in line.split()]
        word_count = 0
        for sentence in _split_paragraph(" ".join(self.paragraph)):
            yield sentence, line_of_word[word_count], _is_bold(sentence)
            word_count += len(sentence.split())
        self.paragraph.clear()


def _split_block(line: str, number: int, next_line: str) -> Iterator[_Split]:
    """Yield a heading or a row of a table; nothing for a blank line, or a line that is drawn with characters."""
    if _HEADING.match(line):
        yield line.strip("#").strip(), number, True
    elif line.startswith("|") and not set(line) <= _TABLE_RULE:
        cells = (cell.strip() for cell in line.strip("|").split("|"))
        is_head = next_line.startswith("|") and set(next_line) <= _TABLE_RULE
        yield " | ".join(cells), number, is_head


def _is_bold(text: str) -> bool:
    """Return True if the whole text is bold, as headings without the syntax of headings are."""
    return len(text) > 4 and text.startswith("**") and text.endswith("**") and "**" not in text[2:-2]


def _split_paragraph(paragraph: str) -> Iterator[str]:
    """Yield the sentences of a paragraph; the full stop of an abbreviation ends no sentence."""
    parts: list[str] = []
    for part in filter(None, _SENTENCE_END.split(one_line(paragraph))):
        parts.append(part)
        if not _ABBREVIATION.search(part[-8:]):
            yield " ".join(parts)
            parts.clear()
    if parts:
        yield " ".join(parts)
