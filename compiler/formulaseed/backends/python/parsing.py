"""How a generated module reads a row that is as it should be: straight, without a call for each field.

In: the fields of `Row` with what the seed declares of them. Out: lines of code. A row that is anything else is read field by
field after these, which names what is wrong.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from formulaseed import limits
from formulaseed.backends.python.blocks import INDENT, indented
from formulaseed.backends.python.code import LINE_LENGTH, Code, literal
from formulaseed.backends.python.names import Names
from formulaseed.ir import nodes
from formulaseed.language.types import Base

Field = nodes.ExtractionField | nodes.InputField
READERS = {Base.INTEGER: "integer", Base.NUMBER: "number", Base.BOOLEAN: "boolean", Base.STRING: "string"}
_CLASSES = {Base.INTEGER: "int", Base.NUMBER: "float", Base.BOOLEAN: "bool", Base.STRING: "str"}


def bounds_of(field: Field | nodes.Parameter) -> tuple[Code, Code] | None:
    """Return the least and the greatest number that a field takes; None if it declares neither."""
    if isinstance(field, nodes.InputField) or (field.minimum is None and field.maximum is None):
        return None
    most = limits.INTEGER_MAX if field.ty.base is Base.INTEGER else limits.INPUT_MAX
    low = literal(-most if field.minimum is None else field.minimum)
    return low, literal(most if field.maximum is None else field.maximum)


def field_reader(field: Field | nodes.Parameter, section: str, table: Code | None, local: Code | None) -> Code:
    """Return the expression that reads a field from JSON, or refuses it by name.

    `table` reads the values of an enum; `local` holds the field's value if that has been found already.
    """
    place, key = literal(f"{section}.{field.name}"), literal(field.name)
    value: str = local if local is not None else f"{'record' if section == 'param' else section}.get({key})"
    if place in ('"meta.year"', '"meta.month"'):
        value = f"_date_part(meta, {key})"
    if table is not None:
        read = f"_choice({table}, {value}, {place})"
    else:
        name = "date" if place == '"meta.date"' else READERS[field.ty.base]
        read = f"_{name}({value}, {place})"
    bounds = bounds_of(field)
    if bounds is not None:
        read = f"_bounded({read}, {bounds[0]}, {bounds[1]}, {place})"
    default = field.default if isinstance(field, nodes.ExtractionField) else None
    if field.ty.nullable or default is not None:
        absent = f"{value} is None and _left_out({section}, {literal(section)}, {key}, INPUTS)"
        read = f"{literal(default)} if {absent} else {read}"
    return Code(read)


def parse_lines(fields: Sequence[Field], tables: Mapping[tuple[str, ...], Code], taken: Sequence[str]) -> list[Code]:
    """Return what `parse_row` tries first; `tables` read the values of enums, `taken` are names that it does not use."""
    sections = list(dict.fromkeys(map(_section, fields)))
    found = ", ".join(f'row["{name}"]' for name in sections)
    names = Names((*taken, "row", *sections))
    plain: list[tuple[Code, str]] = []
    lines: list[Code] = []
    tests: list[str] = []
    values: list[str] = []
    for field in fields:
        source = f"{_section(field)}[{literal(field.name)}]"
        default = literal(field.default) if isinstance(field, nodes.ExtractionField) else Code("None")
        may_be_null = field.ty.nullable or default != "None"
        if field.ty.values is not None:
            value = f"{tables[field.ty.values]}[{source}]"
            values.append(f"{default} if {source} is None else {value}" if may_be_null else value)
        elif source == 'meta["date"]':
            values.append(f'_date({source}, "meta.date")')
        else:
            local = names.local(field.name)
            if source in ('meta["year"]', 'meta["month"]'):
                source = f'{source} if meta.get("date") is None else _date_part(meta, {literal(field.name)})'
            elif default == "None":
                plain.append((local, source))
                source = ""
            if source:
                lines.append(Code(f"{local} = {source}"))
            if default != "None":
                lines += [Code(f"if {local} is None:"), Code(f"{INDENT}{local} = {default}")]
            tests.append(_test(field, local))
            values.append(f"float({local})" if field.ty.base is Base.NUMBER and not field.ty.nullable else local)
    then = [Code(f"if {condition(tests, 12)}:"), *indented(_returned(values, 16))] if tests else _returned(values, 12)
    is_object = " and ".join(f"isinstance({name}, dict)" for name in sections)
    return [
        Code(f"{', '.join(sections)} = {found}"),
        Code(f"if {is_object}:"),
        *indented([*_fetched(plain), *lines, *then]),
    ]


def condition(tests: Sequence[str], margin: int) -> Code:
    """Return a condition of `and` as black writes it: on one line if that fits, else a line for each test.

    Two tests are left to black, which may split the last one instead.
    """
    if len(tests) == 1:
        return Code(tests[0])
    tests = [f"({test})" if " and " in test or " or " in test else test for test in tests]
    line = " and ".join(tests)
    if len(line) + margin + len("if :") <= LINE_LENGTH or len(tests) == 2:
        return Code(line)
    indent = " " * (margin + 4)
    return Code(f"(\n{indent}" + f"\n{indent}and ".join(tests) + f"\n{indent[4:]})")


def _section(field: Field) -> str:
    return "extraction" if isinstance(field, nodes.ExtractionField) else "meta"


def _fetched(fields: Sequence[tuple[Code, str]]) -> list[Code]:
    """Values into their locals, as many at once as fit on a line."""
    lines: list[Code] = []
    while fields:
        most = len(fields)
        while most > 1 and len(_assigned(fields[:most])) + 12 > LINE_LENGTH:
            most -= 1
        lines.append(_assigned(fields[:most]))
        fields = fields[most:]
    return lines


def _assigned(fields: Sequence[tuple[Code, str]]) -> Code:
    return Code(f"{', '.join(local for local, _ in fields)} = {', '.join(source for _, source in fields)}")


def _test(field: Field, local: Code) -> str:
    """What holds for a value of the field."""
    tests = [f"type({local}) is {_CLASSES[field.ty.base]}"]
    if field.ty.base is Base.NUMBER and not field.ty.nullable:
        tests = [f"(type({local}) is float or type({local}) is int)"]
    bounds = bounds_of(field)
    if bounds is not None:
        tests.append(f"{bounds[0]} <= {local} <= {bounds[1]}")
    elif field.ty.base is Base.INTEGER:
        tests.append(f"-(2**63) < {local} < 2**63")
    elif field.ty.base is Base.NUMBER:
        tests.append(f"-1e100 <= {local} <= 1e100")
    is_valid = " and ".join(tests)
    return f"{local} is None or {is_valid}" if field.ty.nullable else is_valid


def _returned(values: Sequence[str], margin: int) -> list[Code]:
    return called("return ", values, margin)


def called(head: str, arguments: Sequence[str], margin: int) -> list[Code]:
    """Return a call, or a tuple behind `return `, as black writes it: on one line if that fits, else a line an argument."""
    inside = tuple_text(arguments) if head.endswith(" ") else f"({', '.join(arguments)})"
    line = f"{head}{inside}"
    if len(line) + margin <= LINE_LENGTH:
        return [Code(line)]
    return [Code(f"{head}("), *(Code(f"{INDENT}{argument},") for argument in arguments), Code(")")]


def tuple_text(items: Sequence[str]) -> str:
    return f"({', '.join(items)}{',' if len(items) == 1 else ''})"
