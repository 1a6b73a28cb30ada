"""Plan the module of checked rules: a record of the fields in use, and a function for each rule.

A function has the values of the earlier rules that it uses as arguments, so that each rule is computed once.

In: a `nodes.Program` whose steps are formulas over the fields of a reference. Out: the template's variables.
"""

from __future__ import annotations

from dataclasses import dataclass

from formulaseed.backends.python.code import Code, CodeLine, docstring_text, literal, tuple_text
from formulaseed.backends.python.expressions import ExpressionPrinter
from formulaseed.backends.python.names import Names, make_word
from formulaseed.backends.python.parsing import READERS
from formulaseed.backends.python.plan import TYPES, Variables, plan_both_builds, print_comment
from formulaseed.backends.python.printed import PartLocals, Printed
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
"""Names that the template uses itself, so that no function, type or local of a rule may have them."""


def plan_rules(program: nodes.Program, *, path: str, sha256: str, style: str) -> tuple[Variables, Variables]:
    """Return the variables of a module of rules, and those of its comment-free build.

    `path` and `sha256` are those of the file of rules.
    """
    return plan_both_builds(_RulesPlanner(program).variables, path, sha256, style)


@dataclass(frozen=True, slots=True)
class RuleView:
    """A rule: the literal of its name, the function that computes it, and the code of its value.

    `function` is the name of the function, `about` the text of its docstring, and `uses` has the earlier rules
    that are its arguments. In `evaluate`, `call` computes the value, into `local` unless that is empty.
    """

    name: Code
    uses: list[Code]
    local: Code
    call: Code
    function: Code
    about: Code
    value: Code


def _describe_rule(step: nodes.Step, bare: bool) -> Code:
    """Return the docstring of a rule's function; one that says nothing about the rule if `bare`."""
    about = docstring_text("rule" if bare else step.description or step.name)
    return Code(end_sentence(about))


class _RulesPlanner:
    """The plan of one file of rules: the names, types and code of which the variables of both builds consist."""

    def __init__(self, program: nodes.Program) -> None:
        """Plan all names, types and code of the rules. The program must have a reference, and only formulas."""
        assert program.reference is not None, "rules are over a reference"
        self.program = program
        self.reference = program.reference
        self.globals = Names(_MODULE_NAMES)
        self.functions = [self.globals.add_local(make_word(step.name, "rule")) for step in program.steps]
        self.aliases: dict[tuple[str, ...], Alias] = {}
        record_scope = Names()
        local_scope = Names((*_MODULE_NAMES, *self.functions))
        names = [record_scope.add_field(self.flatten_name(field.name)) for field in program.record]
        field_locals = [local_scope.add_local(name) for name in names]
        self.fetches = [
            (local, self.print_fetch(f.name)) for f, local in zip(program.record, field_locals, strict=True)
        ]
        self.record = [self.plan_field(*entry) for entry in zip(program.record, names, field_locals, strict=True)]
        symbols = {
            Symbol(SymbolKind.FIELD, f.name): Printed(Code(f"record.{name}"), ATOM, is_float=f.ty.base is Base.NUMBER)
            for f, name in zip(program.record, names, strict=True)
        }
        arguments = {step.name: name for step, name in zip(program.steps, self.functions, strict=True)}
        symbols |= {
            Symbol(SymbolKind.STEP, name): Printed(argument, ATOM, is_float=True)
            for name, argument in arguments.items()
        }
        self.uses = [[name for name in arguments if name in used] for used in program.uses().values()]
        self.arguments = arguments
        self.code = []
        for step in program.steps:
            assert isinstance(step.operation, nodes.Formula)
            printer = ExpressionPrinter(symbols, step.name, PartLocals(Names((*_MODULE_NAMES, *self.functions))))
            self.code.append(printer.print_finite(step.operation.expression, as_float=True).code)

    def variables(self, header: Code, sha256: str, *, bare: bool) -> Variables:
        """Return the variables of the template; without descriptions, not even of the rules, if `bare`."""
        program = self.program
        title = f"{program.task_name}: {number_of(len(program.steps), 'rule')}"
        return {
            "about": Code("") if bare else docstring_text(join_sentences((title, program.description))),
            "header": header,
            "names": [literal(step.name) for step in program.steps],
            "name": literal(program.task_name),
            "sha256": literal(sha256),
            "aliases": [*self.aliases.values()],
            "record": [view.declaration(bare) for view in self.record],
            "rules": self.plan_rules(bare),
            "fetches": self.fetches,
            "readers": [view.read for view in self.record],
        }

    def plan_rules(self, bare: bool) -> list[RuleView]:
        """Return the views of the rules; without their descriptions if `bare`.

        Every rule has a local up to the last one that another rule uses, so that they are computed in their order.
        """
        used = set().union(*self.uses)
        last = max((index for index, step in enumerate(self.program.steps) if step.name in used), default=-1)
        scope = Names((*_MODULE_NAMES, *self.functions))
        locals_: dict[str, Code] = {}
        views = []
        for index, (step, code) in enumerate(zip(self.program.steps, self.code, strict=True)):
            function, uses = self.arguments[step.name], self.uses[index]
            if index <= last:
                locals_[step.name] = scope.add_local(f"{function}_result")
            call = Code(f"{function}({', '.join(['record', *(locals_[name] for name in uses)])})")
            local = locals_.get(step.name, Code(""))
            arguments = [self.arguments[name] for name in uses]
            views.append(
                RuleView(literal(step.name), arguments, local, call, function, _describe_rule(step, bare), code)
            )
        return views

    def flatten_name(self, name: str) -> str:
        """Return a field's full name as one word, without the root entity."""
        return "_".join(self.reference.direct_path(name)) or name.replace(".", "_")

    def print_fetch(self, name: str) -> Code:
        """Return the call that fetches a field, or whether an entity is there, from the JSON record.

        A field of the root entity may also be outside of the entity's object, unless another entity has its name.
        """
        entity, *path = name.split(".")
        if not path:  # an entity
            return Code(f"_has_entity(record, {literal(entity)})")
        reader = "_read_entity_field"
        if entity == self.reference.root:
            reader = "_read_root_field" if self.reference.direct_path(name) else "_read_prefixed_field"
        arguments = literal(name)
        similar = [literal(similar_name) for similar_name in self.reference.similar(name)]
        if similar:
            arguments = Code(f"{arguments}, {tuple_text(similar)}")
        return Code(f"{reader}(record, {arguments})")

    def plan_field(self, field: nodes.InputField, name: Code, local: Code) -> FieldView:
        """Return the view of a field, or of an entity, which is True or None; `local` holds the fetched value.

        An enum without an alias gets one.
        """
        ty = field.ty
        place = literal(self.program.short_name(field.name))
        comment = print_comment(field.name, field.description)
        if "." not in field.name:  # an entity
            return FieldView(name, Code("bool | None"), local, comment)
        if ty.values is not None:
            alias = self.find_alias(ty.values, field)
            code = alias.name
            read = f"_read_choice({alias.choices}, {local}, {place})"
        else:
            code = Code(TYPES[ty.base])
            read = f"{READERS[ty.base]}({local}, {place})"
        if ty.nullable:
            return FieldView(name, Code(f"{code} | None"), Code(f"None if {local} is None else {read}"), comment)
        return FieldView(name, code, Code(read), comment)

    def find_alias(self, values: tuple[str, ...], field: nodes.InputField) -> Alias:
        """Return the alias for these values, added and named after `field` if there is none yet."""
        if values not in self.aliases:
            flat_name = self.flatten_name(field.name)
            name = self.globals.add_type_alias(flat_name)
            choices = self.globals.add_constant(f"{flat_name}_values")
            self.aliases[values] = Alias(name, tuple(CodeLine(literal(value)) for value in values), Code(""), choices)
        return self.aliases[values]
