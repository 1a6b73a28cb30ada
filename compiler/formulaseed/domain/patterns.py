"""Regular expressions as trees, and back to text.

In: nodes, made by the parser of patterns. Out: a text that Python's `re` reads as the same pattern. A tree knows
its places in the pattern as offsets; a pattern that is given twice has equal trees.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class CharacterTest:
    """One character that passes a test, written as in `re` and printable: `a`, `\\d`, `[a-z]`, `.`."""

    start: int = field(compare=False)
    end: int = field(compare=False)
    written: str


@dataclass(frozen=True, slots=True)
class Assertion:
    """A place in the text at which something holds: `^`, `$`, `\\A`, `\\Z`, `\\b`, `\\B`."""

    start: int = field(compare=False)
    end: int = field(compare=False)
    written: str


@dataclass(frozen=True, slots=True)
class Concatenation:
    """One after the other; nothing at all where it is empty."""

    items: tuple[PatternNode, ...]


@dataclass(frozen=True, slots=True)
class Alternation:
    """One of several, in order."""

    options: tuple[PatternNode, ...]


@dataclass(frozen=True, slots=True)
class Repetition:
    """From `least` to `most` times, without an end where `most` is None."""

    start: int = field(compare=False)
    end: int = field(compare=False)
    item: PatternNode
    least: int
    most: int | None


PatternNode = CharacterTest | Assertion | Concatenation | Alternation | Repetition

EMPTY = Concatenation(())


@dataclass(frozen=True, slots=True)
class PatternTree:
    """A whole pattern: as it was written, and its tree."""

    text: str = field(compare=False)
    root: PatternNode


_NAMED = {"\n": r"\n", "\t": r"\t", "\r": r"\r", "\f": r"\f", "\v": r"\v"}


def literal(character: str, special: str = r"\.^$*+?{}[]()|") -> str:
    """A character as a pattern that stands for it alone: on one line and printable, `special` with a backslash."""
    if character in special:
        return f"\\{character}"
    if character.isprintable():
        return character
    code = ord(character)
    named = _NAMED.get(character)
    return named or (f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}")


def written(node: PatternNode) -> str:
    """The node as a pattern of Python's `re`, without capturing groups."""
    match node:
        case CharacterTest() | Assertion():
            return node.written
        case Concatenation(items):
            return "".join(_grouped(item) if isinstance(item, Alternation) else written(item) for item in items)
        case Alternation(options):
            return "|".join(written(option) for option in options)
        case Repetition():
            item = node.item.written if isinstance(node.item, CharacterTest) else _grouped(node.item)
            return item + _quantifier(node.least, node.most)


def _grouped(node: PatternNode) -> str:
    return f"(?:{written(node)})"


def _quantifier(least: int, most: int | None) -> str:
    short = {(0, None): "*", (1, None): "+", (0, 1): "?", (least, least): f"{{{least}}}"}.get((least, most))
    return short or f"{{{least},{'' if most is None else most}}}"


def size(node: PatternNode) -> int:
    """The number of tests and assertions of the pattern with its repeats written out."""
    match node:
        case CharacterTest() | Assertion():
            return 1
        case Concatenation(items) | Alternation(items):
            return sum(map(size, items))
        case Repetition():
            return size(node.item) * max(node.least + (node.most is None and node.least == 0), node.most or 0)
