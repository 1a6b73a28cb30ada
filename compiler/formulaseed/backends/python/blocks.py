"""The statements of a function as blocks, which `templates/python/blocks.j2` writes out.

A block holds finished code: expressions, conditions and simple statements. Keywords, indentation and colons are the template's,
which chooses by `kind`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from formulaseed.backends.python.code import Code, wrap


@dataclass(frozen=True, slots=True)
class Statement:
    """An assignment or a call, on one line."""

    kind: ClassVar[str] = "statement"
    code: Code


@dataclass(frozen=True, slots=True)
class Comment:
    """A line that says something about the block after it."""

    kind: ClassVar[str] = "comment"
    text: Code


@dataclass(frozen=True, slots=True)
class Branch:
    """A condition and what is done if it holds. `comment` is behind the colon; it may be empty."""

    condition: Code
    body: tuple[Block, ...]
    comment: Code = Code("")


@dataclass(frozen=True, slots=True)
class IfStatement:
    """An `if` statement: the first branch whose condition holds, else `otherwise`, which may be empty."""

    kind: ClassVar[str] = "choice"
    branches: tuple[Branch, ...]
    otherwise: tuple[Block, ...] = ()


@dataclass(frozen=True, slots=True)
class TryStatement:
    """A statement whose `ValueError` becomes the error `fault`."""

    kind: ClassVar[str] = "attempt"
    code: Code
    fault: Code


@dataclass(frozen=True, slots=True)
class Loop:
    """A pass over the rows, each of which is unpacked into `target`."""

    kind: ClassVar[str] = "loop"
    target: Code
    body: tuple[Block, ...]


Block = Statement | Comment | IfStatement | TryStatement | Loop


def print_comments(text: str) -> list[Block]:
    """Return a comment, which may be indented by up to 24, as one or more lines. `text` must not address a tool."""
    return [*map(Comment, wrap(text, 24))]


def strip_comments(blocks: Sequence[Block]) -> tuple[Block, ...]:
    """Return the blocks without their comments, those of blocks inside them included."""
    return tuple(_strip_block_comments(block) for block in blocks if not isinstance(block, Comment))


def _strip_block_comments(block: Block) -> Block:
    """Return a block without the comments inside. Raises `AssertionError` if the block is itself a comment."""
    match block:
        case IfStatement(branches, otherwise):
            bare = tuple(Branch(branch.condition, strip_comments(branch.body)) for branch in branches)
            return IfStatement(bare, strip_comments(otherwise))
        case Loop(target, body):
            return Loop(target, strip_comments(body))
        case Statement() | TryStatement():
            return block
        case Comment():
            raise AssertionError("comments are left out by the caller")
