"""Define the records that templates insert into a module: types, fields, constants and tables, as finished code."""

from __future__ import annotations

from dataclasses import dataclass, replace

from formulaseed.backends.python.code import Code, CodeLine, annotate


@dataclass(frozen=True, slots=True)
class Alias:
    """A `Literal` type, with a comment on the meaning of each value.

    `choices` is the name of the constant with the values, against which values from JSON are tested; empty if none is
    read from JSON.
    """

    name: Code
    values: tuple[CodeLine, ...]
    comment: Code
    choices: Code

    def strip_comments(self) -> Alias:
        """Return the alias without its own comment and those of its values."""
        return replace(self, values=tuple(CodeLine(value.code) for value in self.values), comment=Code(""))

    @property
    def codes(self) -> list[Code]:
        """The literals of the values, without comments."""
        return [value.code for value in self.values]

    @property
    def has_comments(self) -> bool:
        """True if a value has a comment, so that each value has a line of its own."""
        return any(value.behind for value in self.values)


@dataclass(frozen=True, slots=True)
class FieldView:
    """A field of a record: its name and type, the expression that reads it from JSON, a comment, and its default.

    `read`, `comment` and `default` may be empty.
    """

    name: Code
    type: Code
    read: Code = Code("")
    comment: Code = Code("")
    default: Code = Code("")

    def declaration(self, bare: bool = False) -> CodeLine:
        """Return the line that declares the field in its record, without the comment if `bare`."""
        comment = Code("") if bare else self.comment
        default = f" = {self.default}" if self.default else ""
        return annotate(f"{self.name}: {self.type}{default}", comment, 4)


@dataclass(frozen=True, slots=True)
class ConstantView:
    """A list that values are compared with, and its name."""

    name: Code
    values: tuple[Code, ...]


@dataclass(frozen=True, slots=True)
class TableView:
    """The table of a lookup: its name, the type of its values, and its entries, each a key and its value.

    `is_sorted` says that the entry with the highest value is first.
    """

    name: Code
    type: Code
    entries: tuple[tuple[Code, Code], ...]
    is_sorted: bool
