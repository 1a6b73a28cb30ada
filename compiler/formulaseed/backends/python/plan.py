"""A checked program as a view of its module: everything the template places, as ready `Code`.

In: `nodes.Program`, where the seed lies, its hash. Out: `ModuleView`. Decides names, types, tables, which
inputs are read and how; computes no value.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

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
from formulaseed.backends.python.identity import STYLE
from formulaseed.backends.python.names import Names
from formulaseed.backends.python.parsing import bounds_of, called, parse_lines, tuple_text
from formulaseed.backends.python.statements import StatementPrinter, Vocabulary, exact
from formulaseed.ir import nodes
from formulaseed.ir.text import step_text
from formulaseed.language.operators import ATOM
from formulaseed.language.typed import INPUT_KINDS, Symbol, SymbolKind
from formulaseed.language.types import Base, Type
from formulaseed.seed.standard_fields import BY_KIND

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
    """A `Literal` type; each value with the comment that says what it means."""

    name: Code
    values: tuple[tuple[Code, Code], ...]
    comment: Code
    table: Code
    """The name of the dictionary that reads its values from JSON; empty where it is never read."""

    @property
    def definition(self) -> Code:
        """The type: on one line if no value has a comment."""
        head = f"{self.name}: TypeAlias = Literal"
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

    @property
    def declaration(self) -> list[Code]:
        """The field in its record, with its comment behind it or, if that is too long, above it."""
        return commented(f"{self.name}: {self.type}{f' = {self.default}' if self.default else ''}", self.comment, 4)


@dataclass(frozen=True, slots=True)
class TableView:
    name: Code
    type: Code
    comment: Code
    entries: tuple[tuple[Code, Code], ...]

    @property
    def definition(self) -> Code:
        lines = [f"    {key}: {value}," for key, value in self.entries]
        comment = f"  # {self.comment}" if self.comment else ""
        return Code("\n".join([f"{self.name}: Final[{self.type}] = {{{comment}", *lines, "}"]))


@dataclass(frozen=True, slots=True)
class ModuleView:
    about: Code
    header: Code
    task_name: Code
    version: Code
    sha256: Code
    keywords: Code
    has_keywords: bool
    fold_keywords: bool
    aliases: tuple[Alias, ...]
    tables: tuple[TableView, ...]
    row: tuple[FieldView, ...]
    row_tuple: Code
    context: tuple[FieldView, ...]
    row_lines: tuple[Code, ...]
    context_lines: tuple[Code, ...]
    parameter_lines: tuple[Code, ...]
    result_lines: tuple[Code, ...]
    read_row: tuple[Code, ...]
    """What reads a row field by field."""
    read_context: tuple[Code, ...]
    read_parameters: tuple[Code, ...]
    given: tuple[FieldView, ...]
    """What `parse_context` reads at a path first, each into a local."""
    parameters: tuple[FieldView, ...]
    steps: tuple[Code, ...]
    """The lines of the record of all steps: each with its declaration."""
    step_names: Code
    output: Code
    inputs: Code
    """The names of all fields and parameters that the seed declares, by their sections in JSON."""
    sections: Code
    parse_lines: tuple[Code, ...]
    """What reads a row that is as it should be."""
    compute_lines: tuple[Code, ...]
    noted: Code
    returned: Code
    counted: Code
    evidence_lines: tuple[Code, ...]


def plan_module(program: nodes.Program, *, path: str, sha256: str, bare: bool = False) -> ModuleView:
    """The view of a program's module. `bare` leaves out every description and comment, for the verifier."""
    return _Planner(program, bare).view(path, sha256)


class _Planner:
    def __init__(self, program: nodes.Program, bare: bool) -> None:
        self.program = program
        self.bare = bare
        used = program.used()
        self.fields = [f for f in program.fields if Symbol(SymbolKind.EXTRACTION, f.name) in used]
        self.meta = [f for f in program.meta if Symbol(SymbolKind.META, f.name) in used]
        self.context = [f for f in program.context if Symbol(SymbolKind.CONTEXT, f.name) in used]
        self.steps = [s for s in program.steps if not (isinstance(s.operation, nodes.Filter) or s.part_of)]
        self.parts = [s for s in program.steps if s.part_of]
        names = {symbol.name for symbol in used} | {step.name for step in program.steps}
        self.globals = Names((*_MODULE_NAMES, *names, *(parameter.name for parameter in program.parameters)))
        self.aliases: dict[tuple[str, ...], Alias] = {}

    def view(self, path: str, sha256: str) -> ModuleView:
        program = self.program
        row, row_reads = self._row_fields()
        context_names, parameter_names, locals_ = Names(), Names(), Names(_LOCAL_NAMES)
        given = {f.name: self._at_path(f, locals_.local(f.name)) for f in self.context if f.path}
        context = tuple(
            self._input(
                f.name,
                f.ty,
                f.description,
                "context",
                context_names.field(f.name),
                given[f.name].name if f.path else None,
            )
            for f in self.context
        )
        parameters = tuple(self._parameter(p, parameter_names.field(p.name)) for p in program.parameters)
        step_names = Names()
        steps = tuple(FieldView(step_names.field(s.name), self._type(s.ty, s.name)) for s in self.steps)
        readers = {values: alias.table for values, alias in self.aliases.items()}
        by_name = dict(zip((s.name for s in self.steps), steps, strict=True))
        tables = self._tables()
        vocabulary = self._vocabulary(row, row_reads, context, parameters, by_name, tables)
        statements = StatementPrinter(program, vocabulary)
        computed = statements.computation()
        version = f"The seed's version: {program.version}" if program.version else ""
        counted, evidence = statements.evidence()
        result = tuple(by_name[name] for name in program.output)
        locals_of = vocabulary.locals
        return ModuleView(
            about=self._docstring(". ".join(filter(None, (program.description.rstrip("."), version)))),
            header=header(path, self.bare),
            task_name=literal(program.task_name),
            version=literal(program.version or None),
            sha256=literal(sha256),
            keywords=listed("KEYWORDS: Final[tuple[str, ...]] = ", [literal(keyword) for keyword in program.keywords]),
            has_keywords=bool(program.keywords),
            fold_keywords=any(keyword != keyword.casefold() for keyword in program.keywords),
            aliases=tuple(self.aliases.values()),
            tables=tuple(tables.values()),
            row=row,
            row_tuple=listed("RowTuple: TypeAlias = tuple", [view.type for view in row] or ["()"], "[]"),
            context=context,
            row_lines=tuple(line for view in row for line in view.declaration),
            context_lines=tuple(line for view in context for line in view.declaration),
            parameter_lines=tuple(line for view in parameters for line in view.declaration),
            result_lines=tuple(line for view in result for line in view.declaration),
            read_row=tuple(called("return ", [field.read for field in row], 4)),
            read_context=tuple(called("return Context", [field.read for field in context], 4)),
            read_parameters=tuple(called("return Parameters", [field.read for field in parameters], 4)),
            given=tuple(given.values()),
            parameters=parameters,
            steps=tuple(self._specification(by_name)),
            step_names=self._names("STEPS", "Steps", [s.name for s in self.steps], steps),
            output=self._names("OUTPUT", "Result", program.output, result),
            inputs=self._inputs(),
            sections=self._sections(),
            parse_lines=tuple(parse_lines([*self.fields, *self.meta], readers, _LOCAL_NAMES)) if row else (),
            compute_lines=tuple(indented(self._uncommented(computed))),
            noted=listed("        noted.append(Steps", [locals_of[s.name] for s in self.steps], tail=")"),
            returned=listed("    return Result", [locals_of[name] for name in program.output]),
            counted=listed("    counted: dict[str, list[int]] = ", counted, "{}"),
            evidence_lines=tuple(indented(self._uncommented(evidence))),
        )

    def _specification(self, fields: Mapping[str, FieldView]) -> Iterator[Code]:
        """Each step's declaration, in the seed's order: of a filter as a comment, of another behind its field."""
        for step in self.program.steps:
            if step.part_of:
                continue
            view = fields.get(step.name)
            if not self.bare and step.description:
                yield Code(f"# {self._beside(step.name, step.description)}")
            text = step_text(step)
            if view is None:
                if not self.bare:
                    yield from wrapped(f"${step.name}: {comment_text(text, _DECLARATION)}", 4)
                continue
            yield from replace(view, comment=self._beside(step.name, text, _DECLARATION)).declaration

    def _names(self, name: str, record: str, names: Sequence[str], fields: Sequence[FieldView]) -> Code:
        """The names of steps as the seed has them: those of the record's fields, unless one had to change."""
        if all(view.name == name for view, name in zip(fields, names, strict=True)):
            return Code(f"{name}: Final = {record}._fields")
        return listed(f"{name}: Final = ", [literal(name) for name in names])

    def _sections(self) -> Code:
        names = [name for name, there in (("extraction", self.fields), ("meta", self.meta)) if there]
        found = ", ".join(f'_object(row, "{name}")' for name in names)
        return Code(f"{', '.join(names)} = {found}")

    def _inputs(self) -> Code:
        entries = []
        for kind in INPUT_KINDS:
            known = BY_KIND.get(kind.value, {})
            names = [literal(name) for name in self.program.inputs(kind) if name not in known]
            if names:
                entries.append(f"{literal(kind.value)}: {tuple_text(names)}")
        return listed("INPUTS: Final[dict[str, tuple[str, ...]]] = ", entries, "{}")

    # --- texts

    def _comment(self, text: str) -> Code:
        return Code("") if self.bare else comment_text(text)

    def _docstring(self, text: str) -> Code:
        return Code("") if self.bare else docstring_text(text)

    def _uncommented(self, lines: list[Code]) -> list[Code]:
        return [line for line in lines if not line.lstrip().startswith("#")] if self.bare else lines

    # --- types

    def _type(self, ty: Type, name: str) -> Code:
        if ty.values is not None:
            code: str = self._alias(ty.values, name).name
        else:
            code = {Base.INTEGER: "int", Base.NUMBER: "float", Base.BOOLEAN: "bool", Base.STRING: "str"}[ty.base]
        return Code(f"{code} | None" if ty.nullable else code)

    def _alias(self, values: tuple[str, ...], name: str) -> Alias:
        """The alias for these values; the first that needs it gives it its name."""
        if values not in self.aliases:
            program = self.program
            inputs: list[nodes.InputField | nodes.ExtractionField] = [*program.context, *program.meta, *program.fields]
            described = {f.ty.values: f for f in inputs if f.values}.get(values)
            meanings = {v.name: v.description for v in described.values} if described else {}
            used: list[nodes.InputField | nodes.ExtractionField] = [*self.fields, *self.meta, *self.context]
            read = any(f.ty.values == values for f in used)
            self.aliases[values] = Alias(
                self.globals.type_alias(name),
                tuple((literal(v), self._meaning(v, meanings.get(v, ""))) for v in values),
                self._comment(described.description) if described else Code(""),
                self.globals.constant(f"{name}_values") if read else Code(""),
            )
        return self.aliases[values]

    def _meaning(self, value: str, description: str) -> Code:
        if not description or self.bare:
            return Code("")
        return self._beside(value, description)

    def _beside(self, name: str, description: str, width: int = COMMENT_WIDTH) -> Code:
        """A description as a comment behind what it describes; named where it could be taken for an order to a tool."""
        text = Code("") if self.bare else comment_text(description, width)
        return Code(f"`{comment_text(name)}`: {text}") if addresses_a_tool(text) else text

    # --- records

    def _row_fields(self) -> tuple[tuple[FieldView, ...], dict[Symbol, int]]:
        """The fields of `Row`, prefixed where an extraction and a meta field have one name."""
        names = Names()
        meta_names = {f.name for f in self.meta}
        places: dict[Symbol, int] = {}
        views: list[FieldView] = []
        for field in self.fields:
            name = f"extraction_{field.name}" if field.name in meta_names else field.name
            places[Symbol(SymbolKind.EXTRACTION, field.name)] = len(views)
            view = self._input(field.name, field.ty, field.description, "extraction", names.field(name))
            view = replace(view, read=_within(view.read, field, f"extraction.{field.name}"))
            if field.default is not None:
                absent = _left_out("extraction", field.name, f"extraction.get({literal(field.name)})")
                view = replace(view, read=Code(f"{literal(field.default)} if {absent} else {view.read}"))
            views.append(view)
        extraction_names = {f.name for f in self.fields}
        for other in self.meta:
            name = f"meta_{other.name}" if other.name in extraction_names else other.name
            places[Symbol(SymbolKind.META, other.name)] = len(views)
            views.append(self._input(other.name, other.ty, other.description, "meta", names.field(name)))
        return tuple(views), places

    def _input(
        self, name: str, ty: Type, description: str, section: str, field: Code, given: Code | None = None
    ) -> FieldView:
        comment = Code("") if ty.values is not None else self._beside(name, description)
        return FieldView(field, self._type(ty, name), self._read(name, ty, section, given), comment)

    def _at_path(self, field: nodes.InputField, local: Code) -> FieldView:
        """The local that holds the JSON value of a context field with a path."""
        path = ", ".join(literal(key) for key in field.path)
        function = "_numeral_at" if field.ty.is_numeric else "_value_at"
        read = Code(f"{function}(context, {literal(field.name)}, ({path}{',' if len(field.path) == 1 else ''}))")
        return FieldView(local, Code(""), read)

    def _read(self, name: str, ty: Type, section: str, local: Code | None) -> Code:
        """The expression that reads the field from JSON; `local` holds its value where it was read before."""
        place, key = literal(f"{section}.{name}"), literal(name)
        value: str = local if local is not None else f"{'record' if section == 'param' else section}.get({key})"
        given = value
        if section == "meta" and name in ("year", "month"):
            given = f"_date_part(meta, {key})"
            value = given
        if ty.values is not None:
            read = f"_choice({self._alias(ty.values, name).table}, {given}, {place})"
        elif section == "meta" and name == "date":
            read = f"_date({given}, {place})"
        else:
            reader = {Base.INTEGER: "integer", Base.NUMBER: "number", Base.BOOLEAN: "boolean", Base.STRING: "string"}
            read = f"_{reader[ty.base]}({given}, {place})"
        return Code(f"None if {_left_out(section, name, value)} else {read}" if ty.nullable else read)

    def _parameter(self, parameter: nodes.Parameter, field: Code) -> FieldView:
        view = self._input(parameter.name, parameter.ty, parameter.description, "param", field)
        read = _within(view.read, parameter, f"param.{parameter.name}")
        read = Code(f"{read} if {literal(parameter.name)} in record else PARAMETERS.{view.name}")
        bounds = "" if self.bare else _bounds_text(parameter)
        comment = Code(". ".join(part for part in (view.comment, bounds) if part))
        return FieldView(view.name, view.type, read, comment, literal(parameter.default))

    # --- tables and names

    def _tables(self) -> dict[str, TableView]:
        tables: dict[str, TableView] = {}
        for step in self.steps:
            if isinstance(step.operation, nodes.Lookup):
                name = self.globals.constant(f"{step.name}_TABLE")
                entries = step.operation.table
                if step.operation.match == "substring_max":
                    entries = tuple(sorted(entries, key=lambda entry: entry[1], reverse=True))
                ty = Code(f"dict[str, {self._type(step.ty, step.name)}]")
                sorted_ = step.operation.match == "substring_max" and not self.bare
                comment = Code("highest value first" if sorted_ else "")
                pairs = tuple((literal(key), literal(exact(value, step.ty))) for key, value in entries)
                tables[step.name] = TableView(name, ty, comment, pairs)
        return tables

    def _vocabulary(
        self,
        row: tuple[FieldView, ...],
        places: dict[Symbol, int],
        context: tuple[FieldView, ...],
        parameters: tuple[FieldView, ...],
        steps: dict[str, FieldView],
        tables: dict[str, TableView],
    ) -> Vocabulary:
        scope = Names([*_LOCAL_NAMES, *(t.name for t in tables.values())])
        row_locals = [scope.local(view.name) for view in row]
        numbers = {Symbol(SymbolKind.EXTRACTION, f.name) for f in self.fields if f.ty.base is Base.NUMBER}
        numbers |= {Symbol(SymbolKind.META, f.name) for f in self.meta if f.ty.base is Base.NUMBER}
        symbols = {s: Printed(row_locals[place], ATOM, floats=s in numbers) for s, place in places.items()}
        for field, view in zip(self.context, context, strict=True):
            floats = field.ty.base is Base.NUMBER
            code = Code(f"context.{view.name}")
            symbols[Symbol(SymbolKind.CONTEXT, field.name)] = Printed(code, ATOM, floats=floats)
        for parameter, view in zip(self.program.parameters, parameters, strict=True):
            floats = parameter.ty.base is Base.NUMBER
            code = Code(f"parameters.{view.name}")
            symbols[Symbol(SymbolKind.PARAMETER, parameter.name)] = Printed(code, ATOM, floats=floats)
        names: dict[str, Code] = {}
        for step in sorted(self.program.steps, key=lambda step: bool(step.part_of)):
            names[step.name] = scope.local(step.name)
            kind = SymbolKind.FILTER if isinstance(step.operation, nodes.Filter) else SymbolKind.STEP
            symbols[Symbol(kind, step.name)] = Printed(names[step.name], ATOM, floats=step.ty.base is Base.NUMBER)
        for step in (*self.steps, *self.parts):
            if isinstance(step.operation, nodes.Aggregate) and step.operation.is_extreme:
                names[f"candidate {step.name}"] = scope.local(f"{step.name}_candidate")
        return Vocabulary(
            symbols,
            names,
            {name: view.type for name, view in steps.items()} | {s.name: self._type(s.ty, s.name) for s in self.parts},
            {name: table.name for name, table in tables.items()},
            tuple((symbol, row_locals[place]) for symbol, place in places.items()),
            Parts(scope),
        )


def header(path: str, bare: bool) -> Code:
    """The line by which tools recognise what is generated. Source: DESIGN, section 7."""
    source = f" from {docstring_text(path)}" if path and not bare else ""
    return Code(f"Code generated by formulaseed (style {STYLE}){source}. DO NOT EDIT.")


def _within(read: Code, field: nodes.ExtractionField | nodes.Parameter, place: str) -> Code:
    """The expression that reads a number, with its bounds checked where it has any."""
    bounds = bounds_of(field)
    return read if bounds is None else Code(f"_bounded({read}, {bounds[0]}, {bounds[1]}, {literal(place)})")


def _left_out(section: str, name: str, value: str) -> str:
    """The condition under which a field is not given; a key that is a typo of it is looked for only then."""
    return f"{value} is None and _left_out({section}, {literal(section)}, {literal(name)}, INPUTS)"


def _bounds_text(parameter: nodes.Parameter) -> str:
    low, high = parameter.minimum, parameter.maximum
    if low is not None and high is not None:
        return f"From {low} to {high}"
    if low is not None:
        return f"At least {low}"
    return f"At most {high}" if high is not None else ""
