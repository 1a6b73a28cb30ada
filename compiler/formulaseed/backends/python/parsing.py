"""Plan how a generated module reads a row from JSON.

In: the fields of `Row` with what the seed declares of them. Out: the readers of single fields, which name what is wrong, and
the straight reading of a row as it should be, which calls nothing for a field. `templates/python/inputs.j2` writes both out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from formulaseed import limits
from formulaseed.backends.python.code import LINE_LENGTH, Code, literal
from formulaseed.backends.python.names import Names
from formulaseed.ir import nodes
from formulaseed.language.types import Base

Field = nodes.ExtractionField | nodes.InputField
READERS = {
    Base.INTEGER: "_read_integer",
    Base.NUMBER: "_read_number",
    Base.BOOLEAN: "_read_boolean",
    Base.STRING: "_read_string",
}
"""The helper that reads a value of a type from JSON."""
_CLASSES = {Base.INTEGER: "int", Base.NUMBER: "float", Base.BOOLEAN: "bool", Base.STRING: "str"}


def print_bounds(field: Field | nodes.Parameter) -> tuple[Code, Code] | None:
    """Return the least and the greatest number that a field takes; None if it declares neither."""
    if isinstance(field, nodes.InputField) or (field.minimum is None and field.maximum is None):
        return None
    most = limits.INTEGER_MAX if field.ty.base is Base.INTEGER else limits.INPUT_MAX
    low = literal(-most if field.minimum is None else field.minimum)
    return low, literal(most if field.maximum is None else field.maximum)


@dataclass(frozen=True, slots=True)
class Fetch:
    """An assignment to one local or several. The one local becomes `default` if it is None; without a default that is empty."""

    target: Code
    source: Code
    default: Code = Code("")


@dataclass(frozen=True, slots=True)
class StraightReader:
    """How a row is read that is as it should be: its sections, the locals that hold values, their tests, and the row's tuple.

    `condition` is empty if no value needs a test of its own.
    """

    sections: Code
    sources: Code
    are_objects: Code
    fetches: tuple[Fetch, ...]
    condition: Code
    values: tuple[Code, ...]


def print_field_reader(field: Field | nodes.Parameter, section: str, choices: Code | None, local: Code | None) -> Code:
    """Return the expression that reads a field from JSON, or raises a `DataError` that names it.

    `choices` is the set of an enum's values, None for any other type; `local` holds the value if it has been fetched before.
    """
    place, key = literal(f"{section}.{field.name}"), literal(field.name)
    value: str = local if local is not None else f"{'record' if section == 'param' else section}.get({key})"
    if place in ('"meta.year"', '"meta.month"'):
        value = f"_read_date_part(meta, {key})"
    if choices is not None:
        read = f"_read_choice({choices}, {value}, {place})"
    else:
        reader = "_read_date" if place == '"meta.date"' else READERS[field.ty.base]
        read = f"{reader}({value}, {place})"
    bounds = print_bounds(field)
    if bounds is not None:
        read = f"_check_bounds({read}, {bounds[0]}, {bounds[1]}, {place})"
    default = field.default if isinstance(field, nodes.ExtractionField) else None
    if field.ty.nullable or default is not None:
        is_absent = f"{value} is None and _is_left_out({section}, {literal(section)}, {key}, INPUTS)"
        read = f"{literal(default)} if {is_absent} else {read}"
    return Code(read)


def plan_straight_reader(
    fields: Sequence[Field], choices: Mapping[tuple[str, ...], Code], taken: Sequence[str]
) -> StraightReader:
    """Return how `parse_row` first tries to read a row.

    `choices` names the set of each enum's values; `taken` are names that no local may have.
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
        default = literal(field.default) if isinstance(field, nodes.ExtractionField) else Code("None")
        if source in ('meta["year"]', 'meta["month"]'):
            given = f'{source} if meta.get("date") is None else _read_date_part(meta, {literal(field.name)})'
            fetches.append(Fetch(local, Code(given)))
        elif default != "None":
            fetches.append(Fetch(local, Code(source), default))
        else:
            plain.append((local, source))
        tests.append(_test(field, local, choices))
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
    """Return a condition of `and` as black writes it: on one line if that fits, else a line for each test.

    Two tests are left to black, which may split the last one instead.
    """
    if len(tests) <= 1:
        return Code("".join(tests))
    tests = [f"({test})" if " and " in test or " or " in test else test for test in tests]
    line = " and ".join(tests)
    if margin + len(line) + 4 <= LINE_LENGTH or len(tests) == 2:  # with the keyword before it and the colon
        return Code(line)
    indent = " " * (margin + 4)
    return Code(f"(\n{indent}" + f"\n{indent}and ".join(tests) + f"\n{indent[4:]})")


def _section(field: Field) -> str:
    return "extraction" if isinstance(field, nodes.ExtractionField) else "meta"


def _join_fetches(fields: Sequence[tuple[Code, str]]) -> list[Fetch]:
    """Return assignments of values to their locals, as many at once as fit on a line."""
    fetches: list[Fetch] = []
    while fields:
        count = len(fields)
        while count > 1 and sum(len(local) + len(source) + 4 for local, source in fields[:count]) + 11 > LINE_LENGTH:
            count -= 1
        targets, sources = zip(*fields[:count], strict=True)
        fetches.append(Fetch(Code(", ".join(targets)), Code(", ".join(sources))))
        fields = fields[count:]
    return fetches


def _test(field: Field, local: Code, choices: Mapping[tuple[str, ...], Code]) -> str:
    """Return the condition under which the local holds a value of the field."""
    if field.ty.values is not None:
        is_valid = f"{local} in {choices[field.ty.values]}"
        return f"{local} is None or {is_valid}" if field.ty.nullable else is_valid
    tests = [f"type({local}) is {_CLASSES[field.ty.base]}"]
    if field.ty.base is Base.NUMBER and not field.ty.nullable:
        tests = [f"(type({local}) is float or type({local}) is int)"]
    bounds = print_bounds(field)
    if bounds is not None:
        tests.append(f"{bounds[0]} <= {local} <= {bounds[1]}")
    elif field.ty.base is Base.INTEGER:
        tests.append(f"-(2**63) < {local} < 2**63")
    elif field.ty.base is Base.NUMBER:
        tests.append(f"-1e100 <= {local} <= 1e100")
    is_valid = " and ".join(tests)
    return f"{local} is None or {is_valid}" if field.ty.nullable else is_valid
