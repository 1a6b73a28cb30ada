"""Plan how a generated module reads a row from JSON.

In: the fields of `Row`, as the seed declares them. Out: expressions that read single fields and raise errors that name the
field, and the straight reader, which reads a valid row without a call for each field. `templates/python/inputs.j2` writes
both out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from formulaseed import limits
from formulaseed.backends.python.code import LINE_LENGTH, Code, literal
from formulaseed.backends.python.names import Names
from formulaseed.ir import nodes
from formulaseed.language.types import Base

RowField = nodes.ExtractionField | nodes.InputField
READERS = {
    Base.INTEGER: "_read_integer",
    Base.NUMBER: "_read_number",
    Base.BOOLEAN: "_read_boolean",
    Base.STRING: "_read_string",
}
"""The helper that reads a value of a type from JSON."""
_CLASSES = {Base.INTEGER: "int", Base.NUMBER: "float", Base.BOOLEAN: "bool", Base.STRING: "str"}


def print_bounds(field: RowField | nodes.Parameter) -> tuple[Code, Code] | None:
    """Print the least and the greatest number that a field takes; None if it declares neither.

    The general limit of its type stands for a bound that is not declared. An `InputField` has none.
    """
    if isinstance(field, nodes.InputField) or (field.minimum is None and field.maximum is None):
        return None
    greatest = limits.INTEGER_MAX if field.ty.base is Base.INTEGER else limits.INPUT_MAX
    minimum = -greatest if field.minimum is None else field.minimum
    maximum = greatest if field.maximum is None else field.maximum
    return literal(minimum), literal(maximum)


@dataclass(frozen=True, slots=True)
class Fetch:
    """An assignment to one local or several. A single local becomes `default` if it is None; an empty `default` is none."""

    target: Code
    source: Code
    default: Code = Code("")


@dataclass(frozen=True, slots=True)
class StraightReader:
    """The code that reads a valid row: its sections, the locals that hold values, their tests, and the row's tuple.

    `condition` is empty if no value needs a test of its own.
    """

    sections: Code
    sources: Code
    are_objects: Code
    fetches: tuple[Fetch, ...]
    condition: Code
    values: tuple[Code, ...]


def print_field_reader(
    field: RowField | nodes.Parameter, section: str, choices: Code | None, local: Code | None
) -> Code:
    """Print the expression that reads a field from JSON, or raises a `DataError` that names the field.

    `section` is the field's namespace. `choices` is the set of an enum's values, None for any other type. `local` holds
    the value if it was fetched before; otherwise it is None. A field that is null or has a default may be left out.
    """
    place = literal(f"{section}.{field.name}")
    key = literal(field.name)
    record = "record" if section == "param" else section
    value = f"{record}.get({key})"
    if local is not None:
        value = local
    if place in ('"meta.year"', '"meta.month"'):  # the date may state them instead
        value = f"_read_date_part(meta, {key})"
    if choices is not None:
        read = f"_read_choice({choices}, {value}, {place})"
    elif place == '"meta.date"':
        read = f"_read_date({value}, {place})"
    else:
        read = f"{READERS[field.ty.base]}({value}, {place})"
    bounds = print_bounds(field)
    if bounds is not None:
        read = f"_check_bounds({read}, {bounds[0]}, {bounds[1]}, {place})"
    default = field.default if isinstance(field, nodes.ExtractionField) else None
    if field.ty.nullable or default is not None:
        is_absent = f"{value} is None and _is_left_out({section}, {literal(section)}, {key}, INPUTS)"
        read = f"{literal(default)} if {is_absent} else {read}"
    return Code(read)


def plan_straight_reader(
    fields: Sequence[RowField], choices: Mapping[tuple[str, ...], Code], taken: Sequence[str]
) -> StraightReader:
    """Return the code by which `parse_row` first tries to read a row.

    `choices` has the name of the set of each enum's values; `taken` are names that no local may have. Fetches without a
    default share assignments, and come first.
    """
    sections = list(dict.fromkeys(map(_section, fields)))
    names = Names((*taken, "row", *sections))
    plain: list[tuple[Code, str]] = []
    fetches: list[Fetch] = []
    tests: list[str] = []
    values: list[Code] = []
    for field in fields:
        source = f"{_section(field)}[{literal(field.name)}]"
        if source == 'meta["date"]':
            values.append(Code(f'_read_date({source}, "meta.date")'))
            continue
        local = names.add_local(field.name)
        default = field.default if isinstance(field, nodes.ExtractionField) else None
        if source in ('meta["year"]', 'meta["month"]'):
            date_part = f'{source} if meta.get("date") is None else _read_date_part(meta, {literal(field.name)})'
            fetches.append(Fetch(local, Code(date_part)))
        elif default is not None:
            fetches.append(Fetch(local, Code(source), literal(default)))
        else:
            plain.append((local, source))
        tests.append(_print_test(field, local, choices))
        is_widened = field.ty.base is Base.NUMBER and not field.ty.nullable
        values.append(Code(f"float({local})") if is_widened else local)
    return StraightReader(
        Code(", ".join(sections)),
        Code(", ".join(f'row["{name}"]' for name in sections)),
        Code(" and ".join(f"isinstance({name}, dict)" for name in sections)),
        (*_join_fetches(plain), *fetches),
        _join_tests(tests, 12),
        tuple(values),
    )


def _join_tests(tests: Sequence[str], margin: int) -> Code:
    """Join tests by `and` as black writes them: on one line if that fits, else one on each line.

    `margin` is the number of characters before them. Two tests stay on one line, however long: black may split the last
    one instead, so that it must format them. Returns empty code if there are no tests.
    """
    if len(tests) <= 1:
        return Code("".join(tests))
    tests = [f"({test})" if " and " in test or " or " in test else test for test in tests]
    line = " and ".join(tests)
    if margin + len(line) + 4 <= LINE_LENGTH or len(tests) == 2:  # with the keyword before it and the colon
        return Code(line)
    indent = " " * (margin + 4)
    return Code(f"(\n{indent}" + f"\n{indent}and ".join(tests) + f"\n{indent[4:]})")


def _section(field: RowField) -> str:
    """Return the section of a JSON row that holds the field: `extraction` or `meta`."""
    return "extraction" if isinstance(field, nodes.ExtractionField) else "meta"


def _join_fetches(fields: Sequence[tuple[Code, str]]) -> list[Fetch]:
    """Return the assignments of values to their locals, with as many values in each as fit on a line.

    The order is kept, and each assignment has at least one value.
    """
    fetches: list[Fetch] = []
    while fields:
        count = len(fields)
        while count > 1 and sum(len(local) + len(source) + 4 for local, source in fields[:count]) + 11 > LINE_LENGTH:
            count -= 1
        targets, sources = zip(*fields[:count], strict=True)
        fetches.append(Fetch(Code(", ".join(targets)), Code(", ".join(sources))))
        fields = fields[count:]
    return fetches


def _print_test(field: RowField, local: Code, choices: Mapping[tuple[str, ...], Code]) -> str:
    """Print the condition under which the local holds a value of the field, also null if the field may be null.

    `choices` must have the set of an enum's values.
    """
    if field.ty.values is not None:
        test = f"{local} in {choices[field.ty.values]}"
    else:
        test = " and ".join(_print_type_tests(field, local))
    return f"{local} is None or {test}" if field.ty.nullable else test


def _print_type_tests(field: RowField, local: Code) -> list[str]:
    """Print the conditions on the type of the local, and on its bounds if it is a number.

    A number without declared bounds is tested against the limits of its type. An integer passes for a number, unless
    the field may be null.
    """
    tests = [f"type({local}) is {_CLASSES[field.ty.base]}"]
    # An integer for a number that may be null is left to the field's own reader.
    if field.ty.base is Base.NUMBER and not field.ty.nullable:
        tests = [f"(type({local}) is float or type({local}) is int)"]
    bounds = print_bounds(field)
    if bounds is not None:
        tests.append(f"{bounds[0]} <= {local} <= {bounds[1]}")
    elif field.ty.base is Base.INTEGER:
        tests.append(f"-(2**63) < {local} < 2**63")
    elif field.ty.base is Base.NUMBER:
        tests.append(f"-1e100 <= {local} <= 1e100")
    return tests
