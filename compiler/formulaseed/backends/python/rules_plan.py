"""Plan the module of checked rules: a record of the fields in use, and a function for each rule.

In: `nodes.Program` whose steps are formulas over the entities of a domain. Out: the template's variables.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from formulaseed.backends.python.code import Code, Line, docstring_text, literal, tuple_text
from formulaseed.backends.python.expressions import ExpressionPrinter
from formulaseed.backends.python.names import Names
from formulaseed.backends.python.parsing import READERS
from formulaseed.backends.python.plan import TYPES, Variables, beside, header
from formulaseed.backends.python.printed import Parts, Printed
from formulaseed.backends.python.views import Alias, FieldView
from formulaseed.ir import nodes
from formulaseed.language.operators import ATOM
from formulaseed.language.typed import Symbol, SymbolKind
from formulaseed.language.types import Base
from formulaseed.source.printing import number_of
from formulaseed.source.text import end_sentence, join_sentences

_MODULE_NAMES = (
    "NAME", "RULES_SHA256", "BODY_SHA256", "RULES", "Record", "evaluate", "parse_record", "EvaluationError", "DataError",
    "JsonValue",
    "JsonObject", "Final", "Mapping", "Sequence", "Literal", "NamedTuple", "TypeAlias", "TypeVar", "annotations", "math",
    "record",
)  # fmt: skip


def plan_rules(program: nodes.Program, *, path: str, sha256: str, style: str) -> tuple[Variables, Variables]:
    """Return the variables of a module, and those of its comment-free build."""
    planner = _Planner(program)
    return (
        planner.variables(header(path, style), sha256, bare=False),
        planner.variables(header("", style), sha256, bare=True),
    )


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule: the literal of its name, the function that computes it, that function's docstring, and its value."""

    name: Code
    function: Code
    about: Code
    value: Code


def _rule(step: nodes.Step, function: Code, value: Code, bare: bool) -> Rule:
    about = docstring_text("rule" if bare else step.description or step.name)
    return Rule(literal(step.name), function, Code(end_sentence(about)), value)


class _Planner:
    def __init__(self, program: nodes.Program) -> None:
        assert program.reference is not None, "rules are over a reference"
        self.program = program
        self.reference = program.reference
        self.globals = Names(_MODULE_NAMES)
        self.functions = [self.globals.local(_plain(step.name)) for step in program.steps]
        self.aliases: dict[tuple[str, ...], Alias] = {}
        field_names = Names()
        local_names = Names((*_MODULE_NAMES, *self.functions))
        names = [field_names.field(self.flat(field.name)) for field in program.record]
        locals_of = [local_names.local(name) for name in names]
        self.fetches = [(local, self.place(f.name)) for f, local in zip(program.record, locals_of, strict=True)]
        self.record = [self.field(*entry) for entry in zip(program.record, names, locals_of, strict=True)]
        symbols = {
            Symbol(SymbolKind.FIELD, f.name): Printed(Code(f"record.{name}"), ATOM, floats=f.ty.base is Base.NUMBER)
            for f, name in zip(program.record, names, strict=True)
        }
        self.code = []
        for step in program.steps:
            assert isinstance(step.operation, nodes.Formula)
            printer = ExpressionPrinter(symbols, step.name, Parts(Names((*_MODULE_NAMES, *self.functions))))
            self.code.append(printer.finished(step.operation.expression, as_float=True).code)

    def variables(self, header: Code, sha256: str, *, bare: bool) -> Variables:
        program = self.program
        title = f"{program.task_name}: {number_of(len(program.steps), 'rule')}"
        steps = zip(program.steps, self.functions, self.code, strict=True)
        return {
            "about": Code("") if bare else docstring_text(join_sentences((title, program.description))),
            "header": header,
            "names": [literal(step.name) for step in program.steps],
            "name": literal(program.task_name),
            "sha256": literal(sha256),
            "aliases": [*self.aliases.values()],
            "record": [view.declaration(bare) for view in self.record],
            "rules": [_rule(step, function, code, bare) for step, function, code in steps],
            "fetches": self.fetches,
            "readers": [view.read for view in self.record],
        }

    def flat(self, name: str) -> str:
        """Return a field's full name as one word, without the root entity."""
        return "_".join(self.reference.direct_path(name)) or name.replace(".", "_")

    def place(self, name: str) -> Code:
        """Print the reading of a field; one of the root entity may also be outside of the entity's object."""
        entity, *path = name.split(".")
        if not path:
            return Code(f"_has_entity(record, {literal(entity)})")
        reader = "_read_entity_field"
        if entity == self.reference.root:
            reader = "_read_root_field" if self.reference.direct_path(name) else "_read_prefixed_field"
        similar = tuple_text([literal(similar_name) for similar_name in self.reference.similar(name)])
        more = "" if similar == "()" else f", {similar}"
        return Code(f"{reader}(record, {literal(name)}{more})")

    def field(self, field: nodes.InputField, name: Code, local: Code) -> FieldView:
        ty = field.ty
        place = literal(self.program.short_name(field.name))
        comment = beside(field.name, field.description)
        if "." not in field.name:
            return FieldView(name, Code("bool | None"), local, comment)
        if ty.values is not None:
            alias = self.alias(ty.values, field)
            code = alias.name
            read = f"_read_choice({alias.choices}, {local}, {place})"
        else:
            code = Code(TYPES[ty.base])
            read = f"{READERS[ty.base]}({local}, {place})"
        if ty.nullable:
            return FieldView(name, Code(f"{code} | None"), Code(f"None if {local} is None else {read}"), comment)
        return FieldView(name, code, Code(read), comment)

    def alias(self, values: tuple[str, ...], field: nodes.InputField) -> Alias:
        """Return the alias for these values; the first field that has them names it."""
        if values not in self.aliases:
            flat = self.flat(field.name)
            name = self.globals.type_alias(flat)
            choices = self.globals.constant(f"{flat}_values")
            self.aliases[values] = Alias(name, tuple(Line(literal(value)) for value in values), Code(""), choices)
        return self.aliases[values]


def _plain(text: str) -> str:
    """A rule's name as one word: letters, digits and single underscores."""
    return re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_") or "rule"
