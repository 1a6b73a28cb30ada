"""A checked program as the variables of its module's template: everything that the template places, as ready `Code`.

In: `nodes.Program`, where the seed is, its hash. Out: the variables of the module, and of its comment-free build. Decides
names, types and tables; computes no value.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from formulaseed.backends.python.accumulators import exact, suffixes
from formulaseed.backends.python.blocks import indented
from formulaseed.backends.python.code import (
    COMMENT_WIDTH,
    Code,
    addresses_a_tool,
    comment_text,
    commented,
    docstring_text,
    listed,
    literal,
    wrapped,
)
from formulaseed.backends.python.expressions import Parts, Printed
from formulaseed.backends.python.identity import STYLES
from formulaseed.backends.python.names import Names
from formulaseed.backends.python.parsing import called, field_reader, parse_lines, tuple_text
from formulaseed.backends.python.statements import StatementPrinter, Vocabulary
from formulaseed.ir import nodes
from formulaseed.ir.hoisting import hoist
from formulaseed.ir.text import step_text
from formulaseed.language.operators import ATOM
from formulaseed.language.typed import INPUT_KINDS, Symbol, SymbolKind
from formulaseed.language.types import Base, Type
from formulaseed.seed.standard_fields import BY_KIND
from formulaseed.source.text import join_sentences

Variables = Mapping[str, object]
"""What a template places, by name."""
TYPES = {Base.INTEGER: "int", Base.NUMBER: "float", Base.BOOLEAN: "bool", Base.STRING: "str"}
Input = nodes.ExtractionField | nodes.InputField | nodes.Parameter

_DECLARATION = 480
"""Characters of a declaration that has lines of its own."""

_LOCAL_NAMES = (
    "annotations", "rows", "context", "parameters", "position", "counted", "noted", "ast", "datetime", "math", "re", "warnings",
    "PARAMETERS", "ValueError",
)  # fmt: skip
"""What `trace` and `evidence` use themselves."""

_MODULE_NAMES = (
    "TASK_NAME", "SEED_VERSION", "SEED_SHA256", "BODY_SHA256", "KEYWORDS", "OUTPUT", "STEPS", "INPUTS",
    "Row", "RowTuple", "Context", "Result", "Steps", "Parameters", "PARAMETERS",
    "is_relevant", "parse_row", "parse_context", "parse_parameters", "evaluate", "trace", "evidence", "EvaluationError",
    "DataError", "JsonValue", "JsonObject", "Final", "Iterable", "Mapping", "Sequence", "Literal", "NamedTuple",
    "TypeAlias", "TypeVar", "annotations", "ast", "datetime", "math", "re", "warnings",
    "rows", "row", "context", "parameters", "record", "text", "folded",
    "keyword", "noted", "position", "counted", "extraction", "meta",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Alias:
    """A `Literal` type; each value with the comment that says what it means.

    `table` is the name of the dictionary that reads its values from JSON; empty if it is never read.
    """

    name: Code
    values: tuple[tuple[Code, Code], ...]
    comment: Code
    table: Code

    def without_comments(self) -> Alias:
        return replace(self, values=tuple((value, Code("")) for value, _ in self.values), comment=Code(""))

    @property
    def definition(self) -> Code:
        """The type: on one line if no value has a comment."""
        head = f"{self.name}: TypeAlias = Literal"
        if len(self.values) == 1:
            ((value, comment),) = self.values
            return Code("\n".join(commented(f"{head}[{value}]", comment, 0)))
        if not any(comment for _, comment in self.values):
            return listed(head, [value for value, _ in self.values], "[]")
        lines = [f"    {value},{f'  # {comment}' if comment else ''}" for value, comment in self.values]
        return Code("\n".join([f"{head}[", *lines, "]"]))

    @property
    def reader(self) -> Code:
        """The definition of that dictionary."""
        head = f"{self.table}: Final[dict[object, {self.name}]] = "
        return listed(head, [f"{value}: {value}" for value, _ in self.values], "{}", most=160)


@dataclass(frozen=True, slots=True)
class FieldView:
    """A field of a record: name, type, how it is read, a comment, a default."""

    name: Code
    type: Code
    read: Code = Code("")
    comment: Code = Code("")
    default: Code = Code("")

    def declaration(self, bare: bool = False) -> list[Code]:
        """The field in its record, with its comment behind it or, if that is too long, above it."""
        comment = Code("") if bare else self.comment
        return commented(f"{self.name}: {self.type}{f' = {self.default}' if self.default else ''}", comment, 4)


def plan_module(
    program: nodes.Program, *, path: str, sha256: str, style: str = STYLES[-1]
) -> tuple[Variables, Variables]:
    """Return the variables of a program's module, and those of its comment-free build.

    What both place is planned once; each description and comment is left out of the second as a whole.
    """
    planner = _Planner(program)
    return (
        planner.variables(header(path, style), sha256, bare=False),
        planner.variables(header("", style), sha256, bare=True),
    )


class _Planner:
    def __init__(self, program: nodes.Program) -> None:
        self.program = program
        used = program.used()
        self.inputs = program.row_fields()
        self.fields = [f for kind, f in self.inputs if kind is SymbolKind.EXTRACTION]
        self.meta = [f for kind, f in self.inputs if kind is SymbolKind.META]
        self.context = [f for f in program.context if Symbol(SymbolKind.CONTEXT, f.name) in used]
        self.steps = [s for s in program.steps if not isinstance(s.operation, nodes.Filter)]
        self.hoisted = hoist(program)
        names = {symbol.name for symbol in used} | {step.name for step in program.steps}
        self.globals = Names((*_MODULE_NAMES, *names, *(parameter.name for parameter in program.parameters)))
        self.aliases: dict[tuple[str, ...], Alias] = {}
        self.row = self._row()
        locals_, context_names, parameter_names, step_names = Names(_LOCAL_NAMES), Names(), Names(), Names()
        self.paths = {f.name: (locals_.local(f.name), _at_path(f)) for f in self.context if f.path}
        self.context_views = [self._input(f, "context", context_names.field(f.name)) for f in self.context]
        self.parameters = [self._input(p, "param", parameter_names.field(p.name)) for p in program.parameters]
        self.step_views = {s.name: FieldView(step_names.field(s.name), self._type(s.ty, s.name)) for s in self.steps}
        self.tables = {
            step.name: self.globals.constant(f"{step.name}_TABLE")
            for step in self.steps
            if isinstance(step.operation, nodes.Lookup)
        }
        self.vocabulary = self._vocabulary()
        statements = StatementPrinter(program, self.hoisted, self.vocabulary)
        self.computation = statements.computation()
        self.counted, self.evidence = statements.evidence()
        readers = {values: alias.table for values, alias in self.aliases.items()}
        self.parse_lines = parse_lines([f for _, f in self.inputs], readers, _LOCAL_NAMES) if self.inputs else []

    def variables(self, header: Code, sha256: str, *, bare: bool) -> Variables:
        program, locals_ = self.program, self.vocabulary.locals
        version = f"The seed's version: {program.version}" if program.version else ""
        about = join_sentences((program.description.rstrip("."), version))
        aliases = self.aliases.values()
        result = [self.step_views[name] for name in program.output]
        sections = [name for name, there in (("extraction", self.fields), ("meta", self.meta)) if there]
        objects = ", ".join(f'_object(row, "{name}")' for name in sections)
        return {
            "header": header,
            "about": Code("") if bare else docstring_text(about),
            "task_name": literal(program.task_name),
            "version": literal(program.version or None),
            "sha256": literal(sha256),
            "keywords": listed("KEYWORDS: Final[tuple[str, ...]] = ", [literal(word) for word in program.keywords]),
            "has_keywords": bool(program.keywords),
            "fold_keywords": any(keyword != keyword.casefold() for keyword in program.keywords),
            "aliases": [alias.without_comments() for alias in aliases] if bare else [*aliases],
            "row_tuple": listed("RowTuple: TypeAlias = tuple", [view.type for view in self.row] or ["()"], "[]"),
            "row": _declared(self.row, bare),
            "context": _declared(self.context_views, bare),
            "parameters": _declared(self.parameters, bare),
            "steps": [*self._specification(bare)],
            "result": _declared(result, bare),
            "step_names": _names("STEPS", "Steps", self.step_views, [*self.step_views.values()]),
            "output": _names("OUTPUT", "Result", program.output, result),
            "tables": [*self._tables()],
            "compute_lines": indented(_uncommented(self.computation, bare)),
            "noted": listed("        noted.append(Steps", [locals_[s.name] for s in self.steps], tail=")"),
            "returned": listed("    return Result", [locals_[name] for name in program.output]),
            "counted": listed("    counted: dict[str, list[int]] = ", self.counted, "{}"),
            "evidence_lines": indented(_uncommented(self.evidence, bare)),
            "inputs": self._inputs(),
            "parse_lines": self.parse_lines,
            "sections": Code(f"{', '.join(sections)} = {objects}"),
            "read_row": called("return ", [view.read for view in self.row], 4),
            "paths": [Code(f"{local} = {read}") for local, read in self.paths.values()],
            "read_context": called("return Context", [view.read for view in self.context_views], 4),
            "read_parameters": called("return Parameters", [view.read for view in self.parameters], 4),
        }

    def _specification(self, bare: bool) -> Iterator[Code]:
        """Each step's declaration, in the seed's order: of a filter as a comment, of another behind its field."""
        for step in self.program.steps:
            view = self.step_views.get(step.name)
            if bare:
                yield from view.declaration(bare) if view is not None else ()
                continue
            if step.description:
                yield Code(f"# {beside(step.name, step.description)}")
            text = step_text(step)
            if view is None:
                yield from wrapped(f"${step.name}: {comment_text(text, _DECLARATION)}", 4)
            else:
                yield from replace(view, comment=beside(step.name, text, _DECLARATION)).declaration()

    def _inputs(self) -> Code:
        """The names of all fields and parameters that the seed declares, by their sections in JSON."""
        entries = []
        for kind in INPUT_KINDS:
            known = BY_KIND.get(kind.value, {})
            names = [literal(name) for name in self.program.inputs(kind) if name not in known]
            entries += [f"{literal(kind.value)}: {tuple_text(names)}"] if names else []
        return listed("INPUTS: Final[dict[str, tuple[str, ...]]] = ", entries, "{}")

    # --- types

    def _type(self, ty: Type, name: str) -> Code:
        code: str = self._alias(ty.values, name).name if ty.values is not None else TYPES[ty.base]
        return Code(f"{code} | None" if ty.nullable else code)

    def _alias(self, values: tuple[str, ...], name: str) -> Alias:
        """The alias for these values; the first that needs it gives it its name."""
        if values not in self.aliases:
            program = self.program
            inputs: list[nodes.InputField | nodes.ExtractionField] = [*program.context, *program.meta, *program.fields]
            described = {f.ty.values: f for f in inputs if f.values}.get(values)
            meanings = {v.name: v.description for v in described.values} if described else {}
            used: list[nodes.InputField | nodes.ExtractionField] = [*self.fields, *self.meta, *self.context]
            self.aliases[values] = Alias(
                self.globals.type_alias(name),
                tuple((literal(v), beside(v, meanings.get(v, ""))) for v in values),
                comment_text(described.description) if described else Code(""),
                self.globals.constant(f"{name}_values") if any(f.ty.values == values for f in used) else Code(""),
            )
        return self.aliases[values]

    # --- records

    def _row(self) -> list[FieldView]:
        """The fields of `Row`, prefixed where an extraction and a meta field have one name."""
        names = Names()
        both = {f.name for f in self.fields} & {f.name for f in self.meta}
        views = []
        for kind, field in self.inputs:
            name = f"{kind.value}_{field.name}" if field.name in both else field.name
            views.append(self._input(field, kind.value, names.field(name)))
        return views

    def _input(self, field: Input, section: str, name: Code) -> FieldView:
        alias = self._alias(field.ty.values, field.name) if field.ty.values is not None else None
        comment = Code("") if alias is not None else beside(field.name, field.description)
        local = self.paths[field.name][0] if section == "context" and field.name in self.paths else None
        read = field_reader(field, section, alias.table if alias is not None else None, local)
        default = Code("")
        if isinstance(field, nodes.Parameter):
            read = Code(f"{read} if {literal(field.name)} in record else PARAMETERS.{name}")
            comment, default = Code(join_sentences((comment, _bounds(field)))), literal(field.default)
        return FieldView(name, self._type(field.ty, field.name), read, comment, default)

    # --- tables and names

    def _tables(self) -> Iterator[Code]:
        for step in self.steps:
            if isinstance(step.operation, nodes.Lookup):
                entries, comment = step.operation.table, ""
                if step.operation.match == "substring_max":
                    entries = tuple(sorted(entries, key=lambda entry: entry[1], reverse=True))
                    comment = "  # highest value first"
                head = f"{self.tables[step.name]}: Final[dict[str, {self._type(step.ty, step.name)}]] = {{{comment}"
                lines = [f"    {literal(key)}: {literal(exact(value, step.ty))}," for key, value in entries]
                yield Code("\n".join([head, *lines, "}"]))

    def _vocabulary(self) -> Vocabulary:
        scope = Names([*_LOCAL_NAMES, *self.tables.values()])
        row = [
            (Symbol(kind, field.name), scope.local(view.name), field.ty)
            for (kind, field), view in zip(self.inputs, self.row, strict=True)
        ]
        context = zip(self.context, self.context_views, strict=True)
        parameters = zip(self.program.parameters, self.parameters, strict=True)
        known = [
            *row,
            *((Symbol(SymbolKind.CONTEXT, f.name), Code(f"context.{view.name}"), f.ty) for f, view in context),
            *((Symbol(SymbolKind.PARAMETER, p.name), Code(f"parameters.{view.name}"), p.ty) for p, view in parameters),
        ]
        names: dict[str, Code] = {}
        steps = sorted(self.hoisted.steps, key=self.hoisted.is_part)  # the author's names come first
        for step in steps:
            names[step.name] = scope.local(step.name)
            kind = SymbolKind.FILTER if isinstance(step.operation, nodes.Filter) else SymbolKind.STEP
            known.append((Symbol(kind, step.name), names[step.name], step.ty))
        values = [step for step in steps if not isinstance(step.operation, nodes.Filter)]
        types = {step.name: self._type(step.ty, step.name) for step in values}
        aggregates = {step.name: step.aggregate for step in values if step.aggregate is not None}
        for name, aggregate in aggregates.items():
            for suffix in suffixes(aggregate):
                names[f"{suffix} {name}"] = scope.local(f"{name}_{suffix}")
            if aggregate.operand is not None:
                types[f"operand {name}"] = self._type(aggregate.operand.info.ty.present(), name)
        return Vocabulary(
            {symbol: Printed(code, ATOM, floats=ty.base is Base.NUMBER) for symbol, code, ty in known},
            names,
            types,
            self.tables,
            tuple((symbol, local) for symbol, local, _ in row),
            Parts(scope),
        )


def header(path: str, style: str) -> Code:
    """The line by which tools recognise what is generated."""
    source = f" from {docstring_text(path)}" if path else ""
    return Code(f"Code generated by formulaseed (style {style}){source}. DO NOT EDIT.")


def _declared(fields: Sequence[FieldView], bare: bool) -> list[Code]:
    return [line for field in fields for line in field.declaration(bare)]


def _uncommented(lines: list[Code], bare: bool) -> list[Code]:
    return [line for line in lines if not (bare and line.lstrip().startswith("#"))]


def _names(name: str, record: str, names: Sequence[str] | Mapping[str, object], fields: Sequence[FieldView]) -> Code:
    """The names of steps as the seed has them: those of the record's fields, unless one had to change."""
    if all(view.name == name for view, name in zip(fields, names, strict=True)):
        return Code(f"{name}: Final = {record}._fields")
    return listed(f"{name}: Final = ", [literal(name) for name in names])


def beside(name: str, description: str, width: int = COMMENT_WIDTH) -> Code:
    """A description as a comment behind what it describes; named where it could be taken for an order to a tool."""
    text = comment_text(description, width)
    return Code(f"`{comment_text(name)}`: {text}") if addresses_a_tool(text) else text


def _at_path(field: nodes.InputField) -> Code:
    """The JSON value of a context field with a path."""
    function = "_numeral_at" if field.ty.is_numeric else "_value_at"
    return Code(f"{function}(context, {literal(field.name)}, {tuple_text([literal(key) for key in field.path])})")


def _bounds(parameter: nodes.Parameter) -> str:
    low, high = parameter.minimum, parameter.maximum
    if low is not None and high is not None:
        return f"From {low} to {high}"
    return f"At least {low}" if low is not None else f"At most {high}" if high is not None else ""
