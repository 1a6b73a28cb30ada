"""Plan a seed's module: make the variables of its template, which are finished `Code`, blocks and flags.

In: `nodes.Program`, the seed's path and hash. Out: the variables of the module, and those of its comment-free build. Decides
names, types and tables; computes no value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from formulaseed.backends.python.accumulators import convert_number, local_suffixes
from formulaseed.backends.python.blocks import strip_comments
from formulaseed.backends.python.bounds import ProvedBounds, describe_bounds, print_assumptions, print_bounds
from formulaseed.backends.python.code import (
    MAX_COMMENT_TEXT,
    Code,
    CodeLine,
    addresses_a_tool,
    comment_text,
    docstring_text,
    literal,
    tuple_text,
    wrap,
)
from formulaseed.backends.python.identity import STYLES, print_header
from formulaseed.backends.python.names import Names
from formulaseed.backends.python.parsing import plan_straight_reader, print_field_reader
from formulaseed.backends.python.printed import PartLocals, Printed
from formulaseed.backends.python.statements import StatementPrinter, Vocabulary
from formulaseed.backends.python.views import Alias, ConstantView, FieldView, TableView
from formulaseed.ir import nodes
from formulaseed.ir.hoisting import hoist_aggregates
from formulaseed.ir.labels import describe_step, describe_words
from formulaseed.ir.sharing import share_filters
from formulaseed.language import typed
from formulaseed.language.operators import ATOM
from formulaseed.language.typed import INPUT_KINDS, Symbol, SymbolKind
from formulaseed.language.types import Base, Type
from formulaseed.seed.standard_fields import FIELDS_BY_NAMESPACE
from formulaseed.source.text import join_sentences

Variables = Mapping[str, object]
"""The values that a template places, by name."""
TYPES = {Base.INTEGER: "int", Base.NUMBER: "float", Base.BOOLEAN: "bool", Base.STRING: "str"}
"""The types in annotations."""
DeclaredInput = nodes.ExtractionField | nodes.InputField | nodes.Parameter

_MAX_DECLARATION = 480
"""The characters after which the text of a step is cut off in the comment that declares it."""
MIN_NAMED_LIST = 3
"""The number of values from which a list has a name at the top of the module."""

_LOCAL_NAMES = (
    "annotations", "rows", "context", "parameters", "position", "positions", "sink", "ast", "datetime", "math", "re", "warnings",
    "PARAMETERS", "ValueError",
)  # fmt: skip
"""Names that `trace` and `evidence` use themselves."""

_MODULE_NAMES = (
    "TASK_NAME", "SEED_VERSION", "SEED_SHA256", "BODY_SHA256", "KEYWORDS", "OUTPUT", "STEPS", "INPUTS",
    "Row", "RowTuple", "Context", "Result", "Steps", "Parameters", "PARAMETERS",
    "is_relevant", "parse_row", "parse_context", "parse_parameters", "evaluate", "trace", "evidence", "EvaluationError",
    "DataError", "JsonValue", "JsonObject", "Final", "Iterable", "Mapping", "Sequence", "Literal", "NamedTuple",
    "TypeAlias", "TypeVar", "annotations", "ast", "datetime", "math", "re", "warnings",
    "rows", "row", "context", "parameters", "record", "text", "folded",
    "keyword", "sink", "position", "positions", "extraction", "meta",
)  # fmt: skip


def plan_module(
    program: nodes.Program, *, path: str, sha256: str, style: str = STYLES[-1], proved: ProvedBounds | None = None
) -> tuple[Variables, Variables]:
    """Return the variables of a program's module, and those of its comment-free build.

    The common parts are planned once; the second leaves out each description and comment as a whole. Comments state the bounds
    of outputs that are `proved`, if any.
    """
    return plan_both_builds(_SeedPlanner(program, proved).variables, path, sha256, style)


def plan_both_builds(
    plan_variables: Callable[..., Variables], path: str, sha256: str, style: str
) -> tuple[Variables, Variables]:
    """Return the variables of a module, and those of its comment-free build, whose header states no path.

    `plan_variables` is called for each with the header, `sha256`, and `bare`: True for the comment-free build.
    """
    variables = plan_variables(print_header(path, style), sha256, bare=False)
    return variables, plan_variables(print_header("", style), sha256, bare=True)


class _SeedPlanner:
    """The plan of one program: the names, types and code of which the variables of both builds consist."""

    def __init__(self, program: nodes.Program, proved: ProvedBounds | None) -> None:
        """Plan all names, types and code of the program, which both builds share."""
        self.program = program
        self.proved = proved
        used = program.used()
        self.inputs = program.row_fields()
        self.fields = self._find_row_fields(SymbolKind.EXTRACTION)
        self.meta = self._find_row_fields(SymbolKind.META)
        self.context = [f for f in program.context if Symbol(SymbolKind.CONTEXT, f.name) in used]
        self.steps = [s for s in program.steps if not isinstance(s.operation, nodes.Filter)]
        hoisted = hoist_aggregates(program)
        self.hoisted = replace(hoisted, program=share_filters(hoisted.program))
        declarations: list[nodes.Parameter | nodes.Step] = [*program.parameters, *program.steps]
        self.globals = Names({*_MODULE_NAMES, *(entry.name for entry in (*declarations, *used))})
        self.aliases: dict[tuple[str, ...], Alias] = {}
        self.row = self._plan_row()
        local_names = Names(_LOCAL_NAMES)
        context_names = Names()
        parameter_names = Names()
        step_names = Names()
        self.paths = {f.name: (local_names.add_local(f.name), _print_path_reading(f)) for f in self.context if f.path}
        self.context_views = [self._plan_input(f, "context", context_names.add_field(f.name)) for f in self.context]
        self.parameters = [self._plan_input(p, "param", parameter_names.add_field(p.name)) for p in program.parameters]
        self.step_views = {
            s.name: FieldView(step_names.add_field(s.name), self._print_type(s.ty, s.name)) for s in self.steps
        }
        lookups = [step.name for step in self.steps if isinstance(step.operation, nodes.Lookup)]
        self.tables = {name: self.globals.add_constant(f"{name}_TABLE") for name in lookups}
        self.constants = self._name_constants()
        self.vocabulary = self._plan_vocabulary()
        statements = StatementPrinter(program, self.hoisted, self.vocabulary)
        self.computation = statements.print_computation()
        self.evidence = statements.print_evidence()

    def _find_row_fields(self, kind: SymbolKind) -> list[nodes.ExtractionField | nodes.InputField]:
        return [field for field_kind, field in self.inputs if field_kind is kind]

    def variables(self, header: Code, sha256: str, *, bare: bool) -> Variables:
        """Return the template's variables, without descriptions and comments if `bare`. `version` may be None."""
        program = self.program
        title = f"{program.task_name}, version {program.version}" if program.version else ""
        return {
            "header": header,
            "about": Code("") if bare else docstring_text(join_sentences((title, program.description))),
            "assumptions": None if bare or self.proved is None else print_assumptions(self.proved),
            "task_name": literal(program.task_name),
            "version": literal(program.version) if program.version else None,
            "sha256": literal(sha256),
            "keywords": [literal(word) for word in program.keywords],
            "fold_keywords": any(keyword != keyword.casefold() for keyword in program.keywords),
            **self._plan_records(bare),
            **self._plan_computation(bare),
            **self._plan_readers(),
        }

    def _plan_records(self, bare: bool) -> Variables:
        """Return the types and records of rows, contexts, parameters, steps and results, without comments if `bare`."""
        aliases = [*self.aliases.values()]
        if bare:
            aliases = [alias.strip_comments() for alias in aliases]
        result = [
            replace(self.step_views[step.name], comment=print_bounds(step, self.proved)) for step in self._outputs()
        ]
        return {
            "aliases": aliases,
            "row_types": [view.type for view in self.row] or [Code("()")],
            "row": [view.declaration(bare) for view in self.row],
            "context": [view.declaration(bare) for view in self.context_views],
            "parameters": [view.declaration(bare) for view in self.parameters],
            "steps": [*self._declare_steps(bare)],
            "result": [view.declaration(bare) for view in result],
            "step_names": _list_seed_names(self.step_views, [*self.step_views.values()]),
            "output_names": _list_seed_names(self.program.output, result),
        }

    def _plan_computation(self, bare: bool) -> Variables:
        """Return the constants, tables and statements for the steps and the evidence; no comments if `bare`."""
        computation, evidence = self.computation, self.evidence
        if bare:
            computation = [*strip_comments(computation)]
            evidence = replace(evidence, before=strip_comments(evidence.before))
        return {
            "constants": [ConstantView(name, values) for values, name in self.constants.items()],
            "tables": self._plan_tables(),
            "computation": computation,
            "step_locals": [self.vocabulary.locals[step.name] for step in self.steps],
            "output_locals": [self.vocabulary.locals[name] for name in self.program.output],
            "evidence": evidence,
        }

    def _plan_readers(self) -> Variables:
        """Return the template's variables with the code that reads rows, contexts and parameters from JSON."""
        choices = {values: alias.choices for values, alias in self.aliases.items()}
        return {
            "inputs": self._print_input_names(),
            "straight": plan_straight_reader([field for _, field in self.inputs], choices, _LOCAL_NAMES),
            "sections": [Code(name) for name, fields in (("extraction", self.fields), ("meta", self.meta)) if fields],
            "row_readers": [view.read for view in self.row],
            "paths": [*self.paths.values()],
            "context_readers": [view.read for view in self.context_views],
            "parameter_readers": [view.read for view in self.parameters],
        }

    def _outputs(self) -> list[nodes.Step]:
        """Return the steps that are outputs, in the order of the program's `output`."""
        by_name = {step.name: step for step in self.steps}
        return [by_name[name] for name in self.program.output]

    def _declare_steps(self, bare: bool) -> Iterator[CodeLine]:
        """Yield each step's declaration, in the seed's order: of a filter as a comment, of another step with its field.

        If `bare`, yields the fields alone.
        """
        if bare:
            yield from (view.declaration(bare) for view in self.step_views.values())
            return
        for step in self.program.steps:
            view = self.step_views.get(step.name)
            above = []
            if step.description:
                above.append(print_comment(step.name, step.description))
            for sentence in step.sources:
                above += wrap(f'policy: "{comment_text(sentence, _MAX_DECLARATION)}"', 4)
            text = describe_step(step)
            if view is None:
                above += wrap(f"${step.name}: {comment_text(text, _MAX_DECLARATION)}", 4)
                yield CodeLine(Code(""), above=tuple(above))
            else:
                line = replace(view, comment=print_comment(step.name, text, _MAX_DECLARATION)).declaration()
                yield replace(line, above=(*above, *line.above))

    def _print_input_names(self) -> list[Code]:
        """Print the names of declared inputs by their sections in JSON, without standard fields or empty sections."""
        entries = []
        for kind in INPUT_KINDS:
            known = FIELDS_BY_NAMESPACE.get(kind.value, {})
            names = [literal(name) for name in self.program.inputs(kind) if name not in known]
            if names:
                entries.append(Code(f"{literal(kind.value)}: {tuple_text(names)}"))
        return entries

    # --- types

    def _print_type(self, ty: Type, name: str) -> Code:
        """Print the type of the field or step `name` for an annotation; adds an alias for an enum that has none."""
        code = TYPES[ty.base]
        if ty.values is not None:
            code = self._find_alias(ty.values, name).name
        return Code(f"{code} | None" if ty.nullable else code)

    def _find_alias(self, values: tuple[str, ...], name: str) -> Alias:
        """Return the alias for these values. The first field or step that needs one gives it its name, and adds it."""
        if values not in self.aliases:
            program = self.program
            inputs: list[nodes.InputField | nodes.ExtractionField] = [*program.context, *program.meta, *program.fields]
            field = {f.ty.values: f for f in inputs if f.values}.get(values)
            meanings = {v.name: v.description for v in field.values} if field else {}
            is_read = any(f.ty.values == values for f in (*self.fields, *self.meta, *self.context))
            self.aliases[values] = Alias(
                self.globals.add_type_alias(name),
                tuple(CodeLine(literal(v), print_comment(v, meanings.get(v, ""))) for v in values),
                comment_text(field.description or describe_words(field)) if field else Code(""),
                self.globals.add_constant(f"{name}_values") if is_read else Code(""),
            )
        return self.aliases[values]

    # --- records

    def _plan_row(self) -> list[FieldView]:
        """Return the fields of `Row`; an extraction and a meta field with the same name get prefixes."""
        names = Names()
        both = {f.name for f in self.fields} & {f.name for f in self.meta}
        views = []
        for kind, field in self.inputs:
            name = f"{kind.value}_{field.name}" if field.name in both else field.name
            views.append(self._plan_input(field, kind.value, names.add_field(name)))
        return views

    def _plan_input(self, field: DeclaredInput, section: str, name: Code) -> FieldView:
        """Return the view of a field or parameter. An enum's description is at its alias, not here."""
        choices = None
        comment = print_comment(field.name, field.description or describe_words(field))
        if field.ty.values is not None:
            choices = self._find_alias(field.ty.values, field.name).choices
            comment = Code("")
        local = self.paths[field.name][0] if section == "context" and field.name in self.paths else None
        read = print_field_reader(field, section, choices, local)
        default = Code("")
        if isinstance(field, nodes.Parameter):
            read = Code(f"{read} if {literal(field.name)} in record else PARAMETERS.{name}")
            comment = Code(join_sentences((comment, describe_bounds(field))))
            default = literal(field.default)
        return FieldView(name, self._print_type(field.ty, field.name), read, comment, default)

    # --- tables and names

    def _plan_tables(self) -> list[TableView]:
        """Return the lookups' tables, in the order of their steps; for `substring_max`, the highest value first."""
        tables = []
        for step in self.steps:
            if isinstance(step.operation, nodes.Lookup):
                entries = step.operation.entries
                is_sorted = step.operation.match == "substring_max"
                lines = tuple((literal(key), literal(convert_number(value, step.ty))) for key, value in entries)
                table_type = self._print_type(step.ty, step.name)
                tables.append(TableView(self.tables[step.name], table_type, lines, is_sorted))
        return tables

    def _name_constants(self) -> dict[tuple[Code, ...], Code]:
        """Return the names of the lists that values are compared with, each by its printed values.

        Short lists and those of an enum's values stay in their conditions.
        """
        names: dict[tuple[Code, ...], Code] = {}
        used = self.program.used()
        for step in self.program.steps:
            # An unused filter is not printed.
            if isinstance(step.operation, nodes.Filter) and Symbol(SymbolKind.FILTER, step.name) not in used:
                continue
            for node in (node for expression in step.expressions() for node in typed.walk(expression)):
                match node:
                    case typed.Comparison(first, ("in" | "not in",), (typed.List(items),)):
                        values = tuple(literal(item.value) for item in items if isinstance(item, typed.Literal))
                        is_named = MIN_NAMED_LIST <= len(values) == len(items) and first.info.ty.values is None
                        if is_named and values not in names:
                            subject = first.symbol.name if isinstance(first, typed.Ref) else step.name
                            names[values] = self.globals.add_constant(f"{subject}s")
        return names

    def _plan_vocabulary(self) -> Vocabulary:
        """Return the names that statements use: locals of rows and steps, and attributes of the context and parameters."""
        scope = Names([*_LOCAL_NAMES, *self.tables.values(), *self.constants.values()])
        row = [
            (Symbol(kind, field.name), scope.add_local(view.name), field.ty)
            for (kind, field), view in zip(self.inputs, self.row, strict=True)
        ]
        symbols = [*row, *self._list_attributes()]
        names: dict[str, Code] = {}
        # The steps of the author get their names first.
        steps = sorted(self.hoisted.steps, key=self.hoisted.is_part)
        for step in steps:
            names[step.name] = scope.add_local(step.name)
            kind = SymbolKind.FILTER if isinstance(step.operation, nodes.Filter) else SymbolKind.STEP
            symbols.append((Symbol(kind, step.name), names[step.name], step.ty))
        values = [step for step in steps if not isinstance(step.operation, nodes.Filter)]
        types = {step.name: self._print_type(step.ty, step.name) for step in values}
        for step in values:
            if step.aggregate is None:
                continue
            for suffix in local_suffixes(step.aggregate):
                names[f"{suffix} {step.name}"] = scope.add_local(f"{step.name}_{suffix}")
            if step.aggregate.operand is not None:
                types[f"operand {step.name}"] = self._print_type(step.aggregate.operand.info.ty.non_null(), step.name)
        return Vocabulary(
            {symbol: Printed(code, ATOM, is_float=ty.base is Base.NUMBER) for symbol, code, ty in symbols},
            names,
            types,
            self.tables,
            tuple((symbol, local) for symbol, local, _ in row),
            PartLocals(scope),
            {Code(tuple_text(values)): name for values, name in self.constants.items()},
        )

    def _list_attributes(self) -> Iterator[tuple[Symbol, Code, Type]]:
        """Yield the symbols of the context and the parameters, with the attributes that hold them, and their types."""
        for field, view in zip(self.context, self.context_views, strict=True):
            yield Symbol(SymbolKind.CONTEXT, field.name), Code(f"context.{view.name}"), field.ty
        for parameter, view in zip(self.program.parameters, self.parameters, strict=True):
            yield Symbol(SymbolKind.PARAMETER, parameter.name), Code(f"parameters.{view.name}"), parameter.ty


def _list_seed_names(names: Sequence[str] | Mapping[str, object], fields: Sequence[FieldView]) -> list[Code] | None:
    """Print the names of steps as the seed has them; None if the fields of the record have the same names."""
    if all(view.name == name for view, name in zip(fields, names, strict=True)):
        return None
    return [literal(name) for name in names]


def print_comment(name: str, description: str, width: int = MAX_COMMENT_TEXT) -> Code:
    """Print a description as a comment of at most `width` characters, after `name` if it could address a tool."""
    text = comment_text(description, width)
    return Code(f"`{comment_text(name)}`: {text}") if addresses_a_tool(text) else text


def _print_path_reading(field: nodes.InputField) -> Code:
    """Print the call that reads a context field with a path from the JSON object `context`."""
    function = "_read_numeral" if field.ty.is_numeric else "_read_at_path"
    return Code(f"{function}(context, {literal(field.name)}, {tuple_text([literal(key) for key in field.path])})")
