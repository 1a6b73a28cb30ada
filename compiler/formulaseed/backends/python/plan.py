"""A checked program as a view of its module: everything the template places, as ready `Code`.

In: `nodes.Program`, where the seed lies, its hash. Out: `ModuleView`. Decides names, types, tables, which
inputs are read and how; computes no value.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from formulaseed import limits
from formulaseed.backends.python.code import Code, addresses_a_tool, comment_text, docstring_text, literal
from formulaseed.backends.python.expressions import Parts, Printed
from formulaseed.backends.python.names import Names
from formulaseed.backends.python.statements import StatementPrinter, Vocabulary
from formulaseed.ir import nodes
from formulaseed.language.operators import ATOM
from formulaseed.language.typed import INPUT_KINDS, Symbol, SymbolKind
from formulaseed.language.types import Base, Type

STYLE = "2026-11"
"""The dated name of the way in which modules are written. A new one changes no module until it is asked for."""

_LOCAL_NAMES = (
    "annotations", "rows", "context", "parameters", "position", "counted", "noted", "ast", "datetime", "math", "re", "warnings",
    "PARAMETERS",
)  # fmt: skip
"""What `trace` and `evidence` use themselves."""

_MODULE_NAMES = (
    "TASK_NAME", "SEED_VERSION", "SEED_SHA256", "BODY_SHA256", "KEYWORDS", "OUTPUT", "STEPS", "INPUTS",
    "Row", "Context", "Result", "Steps", "Parameters", "PARAMETERS",
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


@dataclass(frozen=True, slots=True)
class FieldView:
    """A field of a record: name, type, how it is read, a comment, a default."""

    name: Code
    type: Code
    read: Code = Code("")
    comment: Code = Code("")
    default: Code = Code("")


@dataclass(frozen=True, slots=True)
class TableView:
    name: Code
    type: Code
    comment: Code
    entries: tuple[tuple[Code, Code], ...]


@dataclass(frozen=True, slots=True)
class ModuleView:
    title: Code
    about: Code
    header: tuple[Code, ...]
    task_name: Code
    version: Code
    sha256: Code
    keywords: tuple[Code, ...]
    fold_keywords: bool
    aliases: tuple[Alias, ...]
    tables: tuple[TableView, ...]
    row: tuple[FieldView, ...]
    context: tuple[FieldView, ...]
    given: tuple[FieldView, ...]
    """What `parse_context` reads at a path first, each into a local."""
    parameters: tuple[FieldView, ...]
    steps: tuple[FieldView, ...]
    result: tuple[FieldView, ...]
    step_names: tuple[Code, ...]
    inputs: tuple[tuple[Code, tuple[Code, ...]], ...]
    """The names of all fields that the seed knows, by their sections in JSON."""
    output: tuple[Code, ...]
    parses_extraction: bool
    parses_meta: bool
    trace_lines: tuple[Code, ...]
    locals: tuple[Code, ...]
    result_locals: tuple[Code, ...]
    evidence_names: tuple[Code, ...]
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
        by_name = dict(zip((s.name for s in self.steps), steps, strict=True))
        tables = self._tables()
        vocabulary = self._vocabulary(row, row_reads, context, parameters, by_name, tables)
        statements = StatementPrinter(program, vocabulary)
        return ModuleView(
            title=docstring_text(program.task_name),
            about=self._docstring(program.description),
            header=self._header(path),
            task_name=literal(program.task_name),
            version=literal(program.version or None),
            sha256=literal(sha256),
            keywords=tuple(literal(keyword) for keyword in program.keywords),
            fold_keywords=any(keyword != keyword.casefold() for keyword in program.keywords),
            aliases=tuple(self.aliases.values()),
            tables=tuple(tables.values()),
            row=row,
            context=context,
            given=tuple(given.values()),
            parameters=parameters,
            steps=steps,
            result=tuple(by_name[name] for name in program.output),
            step_names=tuple(literal(s.name) for s in self.steps),
            inputs=tuple(
                (literal(kind.value), tuple(literal(name) for name in program.inputs(kind))) for kind in INPUT_KINDS
            ),
            output=tuple(literal(name) for name in program.output),
            parses_extraction=bool(self.fields),
            parses_meta=bool(self.meta),
            trace_lines=tuple(self._uncommented(statements.trace())),
            locals=tuple(vocabulary.locals[s.name] for s in self.steps),
            result_locals=tuple(vocabulary.locals[name] for name in program.output),
            evidence_names=tuple(literal(s.name) for s in self.steps if s.is_aggregate),
            evidence_lines=tuple(self._uncommented(statements.evidence())),
        )

    def _header(self, path: str) -> tuple[Code, ...]:
        made = f"Compiled by formulaseed, emission style {STYLE}"
        lines = [f"{made}, from {docstring_text(path)}." if path and not self.bare else f"{made}."]
        if self.program.version and not self.bare:
            lines.append(f"The seed's version: {docstring_text(self.program.version)}.")
        return tuple(Code(line) for line in lines)

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

    def _beside(self, name: str, description: str) -> Code:
        """A description as a comment behind what it describes; named where it could be taken for an order to a tool."""
        text = self._comment(description)
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
                entries = tuple((literal(key), literal(value)) for key, value in step.operation.table)
                ty = Code(f"dict[str, {self._type(step.ty, step.name)}]")
                comment = (
                    Code("") if self.bare else Code(f"the table of {step.name}, {comment_text(step.operation.match)}")
                )
                tables[step.name] = TableView(name, ty, comment, entries)
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
            symbols[Symbol(kind, step.name)] = Printed(names[step.name], ATOM)
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


def _within(read: Code, field: nodes.ExtractionField | nodes.Parameter, place: str) -> Code:
    """The expression that reads a number, with its bounds checked where it has any."""
    if field.minimum is None and field.maximum is None:
        return read
    most = limits.INTEGER_MAX if field.ty.base is Base.INTEGER else limits.INPUT_MAX
    low = literal(-most if field.minimum is None else field.minimum)
    high = literal(most if field.maximum is None else field.maximum)
    return Code(f"_bounded({read}, {low}, {high}, {literal(place)})")


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
