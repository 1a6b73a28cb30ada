"""Checked rules to what the template needs: a record of the fields in use, and a function for each rule.

In: `nodes.Program` whose steps are formulas over the entities of a domain. Out: `RulesView`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from formulaseed.backends.python.code import Code, addresses_a_tool, comment_text, docstring_text, literal
from formulaseed.backends.python.expressions import ExpressionPrinter, Parts, Printed
from formulaseed.backends.python.names import Names
from formulaseed.backends.python.plan import STYLE, Alias, FieldView
from formulaseed.ir import nodes
from formulaseed.language import typed
from formulaseed.language.operators import ATOM
from formulaseed.language.typed import Expr, Symbol, SymbolKind
from formulaseed.language.typed_text import expression_text
from formulaseed.language.types import Base
from formulaseed.wording import number_of

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
    formula: Code
    code: Code


@dataclass(frozen=True, slots=True)
class GivenView:
    """A local of `parse_record`, and where it is found in the JSON."""

    name: Code
    code: Code


@dataclass(frozen=True, slots=True)
class RulesView:
    title: Code
    about: Code
    header: tuple[Code, ...]
    name: Code
    sha256: Code
    aliases: tuple[Alias, ...]
    record: tuple[FieldView, ...]
    given: tuple[GivenView, ...]
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
        made = f"Compiled by formulaseed, emission style {STYLE}"
        header = f"{made}, from {docstring_text(path)}." if path and not self.bare else f"{made}."
        return RulesView(
            title=Code("rules")
            if self.bare
            else docstring_text(f"{program.task_name}: {number_of(len(program.steps), 'rule')}"),
            about=Code("") if self.bare else docstring_text(program.description),
            header=(Code(header),),
            name=literal(program.task_name),
            sha256=literal(sha256),
            aliases=tuple(self.aliases.values()),
            record=record,
            given=tuple(given),
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
        inside, direct = f"_inside(record, {_tuple([entity, *path])})", self.reference.direct_path(name)
        if entity == self.reference.root and not direct:
            return Code(f"_prefixed(record, {_tuple([entity, *path])})")
        if not direct:
            return Code(inside)
        return Code(f"_either({inside}, _inside(record, {_tuple(direct)}), {literal(self.program.spelled(name))})")

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
            paths = [tuple(field.name.split(".")), *filter(None, [self.reference.direct_path(field.name)])]
            shown, known = ", ".join(map(_tuple, paths)), _tuple(self.reference.similar(field.name))
            absent = f"{local} is None and not _misspelt(record, ({shown},), {known})"
            return FieldView(name, Code(f"{code} | None"), Code(f"None if {absent} else {read}"), comment)
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
        written = result.arguments[0] if isinstance(result, typed.Call) else result
        parts = Parts(Names((*_MODULE_NAMES, *self.functions)))
        return RuleView(
            literal(step.name),
            function,
            about if about.endswith((".", "!", "?", "…")) else Code(f"{about}."),
            Code("") if self.bare else comment_text(expression_text(written)),
            _code(ExpressionPrinter(symbols, step.name, parts), result),
        )


def _code(printer: ExpressionPrinter, result: Expr) -> Code:
    """The result as a float: nothing is put around what surely is one."""
    if isinstance(result, typed.Call) and result.function == "float":
        inner = printer.finished(result.arguments[0])
        if inner.floats:
            return inner.code
    return printer.finished(result).code


def _tuple(names: Sequence[str]) -> str:
    inside = ", ".join(map(literal, names))
    return f"({inside},)" if len(names) == 1 else f"({inside})"


def _plain(text: str) -> str:
    """A rule's name as one word: letters, digits and single underscores."""
    return re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_") or "rule"
