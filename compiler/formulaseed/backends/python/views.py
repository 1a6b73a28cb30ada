"""Define the records that templates place: types, fields, constants and tables, as finished code."""

from __future__ import annotations

from dataclasses import dataclass, replace

from formulaseed.backends.python.code import Code, CodeLine, annotate


@dataclass(frozen=True, slots=True)
class Alias:
    """A `Literal` type, with a comment on the meaning of each value.

    `choices` is the name of the set that its values are read with; empty if no value is read from JSON.
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
        return [value.code for value in self.values]

    @property
    def has_comments(self) -> bool:
        return any(value.behind for value in self.values)


@dataclass(frozen=True, slots=True)
class FieldView:
    """A field of a record: its name and type, how it is read, a comment, and its default."""

    name: Code
    type: Code
    read: Code = Code("")
    comment: Code = Code("")
    default: Code = Code("")

    def declaration(self, bare: bool = False) -> CodeLine:
        """Return the line of the field in its record, without a comment if `bare`."""
        comment = Code("") if bare else self.comment
        return annotate(f"{self.name}: {self.type}{f' = {self.default}' if self.default else ''}", comment, 4)


@dataclass(frozen=True, slots=True)
class ConstantView:
    """A list that values are compared with, and its name."""

    name: Code
    values: tuple[Code, ...]


@dataclass(frozen=True, slots=True)
class TableView:
    """The table of a lookup: its name, the type of its values, and its entries. `is_sorted` says that the highest is first."""

    name: Code
    type: Code
    entries: tuple[tuple[Code, Code], ...]
    is_sorted: bool
