"""Checked rules to what the template needs: a record of the fields in use, and a function for each rule.

In: `nodes.Program` whose steps are formulas over the entities of a domain. Out: `RulesView`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from formulaseed.backends.python.code import Code, addresses_a_tool, comment_text, docstring_text, listed, literal
from formulaseed.backends.python.expressions import ExpressionPrinter, Parts, Printed
from formulaseed.backends.python.names import Names
from formulaseed.backends.python.parsing import called
from formulaseed.backends.python.plan import Alias, FieldView, header
from formulaseed.diagnostics.model import number_of
from formulaseed.ir import nodes
from formulaseed.language.operators import ATOM
from formulaseed.language.typed import Symbol, SymbolKind
from formulaseed.language.types import Base

_MODULE_NAMES = (
    "NAME", "RULES_SHA256", "BODY_SHA256", "RULES", "Record", "evaluate", "parse_record", "EvaluationError", "DataError",
    "JsonValue",
    "JsonObject", "Final", "Mapping", "Sequence", "Literal", "NamedTuple", "TypeAlias", "TypeVar", "annotations", "math",
    "record",
)  # fmt: skip
_READERS = {Base.INTEGER: "integer", Base.NUMBER: "number", Base.BOOLEAN: "boolean", Base.STRING: "string"}
_TYPES = {Base.INTEGER: "int", Base.NUMBER: "float", Base.BOOLEAN: "bool", Base.STRING: "str"}


@dataclass(frozen=True, slots=True)
class RuleView:
    name: Code
    function: Code
    about: Code
    code: Code


@dataclass(frozen=True, slots=True)
class GivenView:
    """A local of `parse_record`, and where it is found in the JSON."""

    name: Code
    code: Code


@dataclass(frozen=True, slots=True)
class RulesView:
    about: Code
    header: Code
    names: Code
    name: Code
    sha256: Code
    aliases: tuple[Alias, ...]
    record: tuple[FieldView, ...]
    record_lines: tuple[Code, ...]
    given: tuple[GivenView, ...]
    read: tuple[Code, ...]
    rules: tuple[RuleView, ...]


def plan_rules(program: nodes.Program, *, path: str, sha256: str, bare: bool = False) -> RulesView:
    """The view of a module; a `bare` one leaves out every text that only describes, for the verifier."""
    return _Planner(program, bare).view(path, sha256)


class _Planner:
    def __init__(self, program: nodes.Program, bare: bool) -> None:
        assert program.reference is not None, "rules are over a reference"
        self.program = program
        self.reference = program.reference
        self.bare = bare
        self.globals = Names(_MODULE_NAMES)
        self.functions = [self.globals.local(_plain(step.name)) for step in program.steps]
        self.aliases: dict[tuple[str, ...], Alias] = {}

    def view(self, path: str, sha256: str) -> RulesView:
        program = self.program
        fields, locals_ = Names(), Names((*_MODULE_NAMES, *self.functions))
        names = [fields.field(self.flat(field.name)) for field in program.record]
        given = [
            GivenView(locals_.local(name), self.found(f.name)) for f, name in zip(program.record, names, strict=True)
        ]
        record = tuple(
            self.field(field, name, local.name) for field, name, local in zip(program.record, names, given, strict=True)
        )
        symbols = {
            Symbol(SymbolKind.FIELD, field.name): Printed(
                Code(f"record.{name}"), ATOM, floats=field.ty.base is Base.NUMBER
            )
            for field, name in zip(program.record, names, strict=True)
        }
        title = f"{program.task_name}: {number_of(len(program.steps), 'rule')}"
        return RulesView(
            about=Code("") if self.bare else docstring_text(". ".join(filter(None, (title, program.description)))),
            header=header(path, self.bare),
            names=listed("RULES: Final = ", [literal(step.name) for step in program.steps]),
            name=literal(program.task_name),
            sha256=literal(sha256),
            aliases=tuple(self.aliases.values()),
            record=record,
            record_lines=tuple(line for view in record for line in view.declaration),
            given=tuple(given),
            read=tuple(called("return Record", [view.read for view in record], 4)),
            rules=tuple(
                self.rule(step, function, symbols) for step, function in zip(program.steps, self.functions, strict=True)
            ),
        )

    def flat(self, name: str) -> str:
        """A field's full name as one word, the root entity's left out."""
        return "_".join(self.reference.direct_path(name)) or name.replace(".", "_")

    def found(self, name: str) -> Code:
        """Return where a field is found: a field of the root entity also without the entity around it."""
        entity, *path = name.split(".")
        if not path:
            return Code(f"_is_there(record, {literal(entity)})")
        reader = "_inside"
        if entity == self.reference.root:
            reader = "_field" if self.reference.direct_path(name) else "_prefixed"
        similar = self.reference.similar(name)
        return Code(f"{reader}(record, {literal(name)}{f', {_tuple(similar)}' if similar else ''})")

    def field(self, field: nodes.InputField, name: Code, local: Code) -> FieldView:
        ty, place = field.ty, literal(self.program.spelled(field.name))
        comment = Code("") if self.bare else self.beside(field.name, field.description)
        if "." not in field.name:
            return FieldView(name, Code("bool | None"), local, comment)
        if ty.values is not None:
            alias = self.alias(ty.values, field)
            code, read = alias.name, f"_choice({alias.table}, {local}, {place})"
        else:
            code, read = Code(_TYPES[ty.base]), f"_{_READERS[ty.base]}({local}, {place})"
        if ty.nullable:
            return FieldView(name, Code(f"{code} | None"), Code(f"None if {local} is None else {read}"), comment)
        return FieldView(name, code, Code(read), comment)

    def beside(self, name: str, description: str) -> Code:
        """A description as a comment; named where it could be taken for an order to a tool."""
        text = comment_text(description)
        return Code(f"`{comment_text(name)}`: {text}") if addresses_a_tool(text) else text

    def alias(self, values: tuple[str, ...], field: nodes.InputField) -> Alias:
        """The type of these values; the first field that has them gives it its name."""
        if values not in self.aliases:
            flat = self.flat(field.name)
            name, table = self.globals.type_alias(flat), self.globals.constant(f"{flat}_values")
            listed = tuple((literal(value), Code("")) for value in values)
            self.aliases[values] = Alias(name, listed, Code(""), table)
        return self.aliases[values]

    def rule(self, step: nodes.Step, function: Code, symbols: Mapping[Symbol, Printed]) -> RuleView:
        assert isinstance(step.operation, nodes.Formula)
        result = step.operation.expression
        about = Code("rule") if self.bare else docstring_text(step.description or step.name)
        parts = Parts(Names((*_MODULE_NAMES, *self.functions)))
        return RuleView(
            literal(step.name),
            function,
            about if about.endswith((".", "!", "?", "…")) else Code(f"{about}."),
            ExpressionPrinter(symbols, step.name, parts).finished(result, as_float=True).code,
        )


def _tuple(names: Sequence[str]) -> str:
    inside = ", ".join(map(literal, names))
    return f"({inside},)" if len(names) == 1 else f"({inside})"


def _plain(text: str) -> str:
    """A rule's name as one word: letters, digits and single underscores."""
    return re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_") or "rule"
