"""Random seeds without errors, to try a compiler with."""

from __future__ import annotations

from typing import Any

from hypothesis import assume
from hypothesis import strategies as st

from formulaseed.pipeline import analyse
from formulaseed.seed import standard_fields
from formulaseed.seed.read.sections import STRATEGIES
from formulaseed.testing.steps import StepWriter
from formulaseed.testing.values import SHORT_TEXTS, TEXTS, integers, numbers
from formulaseed.testing.writer import Variable

_PLAIN_NAMES = ("A", "B", "C", "N_MILD", "SCORE", "VERDICT", "IS_RECENT", "TOTAL", "X1", "X2", "Y", "Z")
_HOSTILE_NAMES = (
    "a", "n_mild", "A_2", "a_candidate", "class", "lambda", "match", "print", "int", "str", "max", "log", "sum", "len",
    "rows", "row", "Row", "context", "Context", "parameters", "PARAMETERS", "math", "position", "counted", "steps", "Steps",
    "_", "__x", "_finite", "_divide", "index", "count", "extraction", "meta", "param", "Literal", "TASK_NAME", "A_TABLE",
    "trace", "self", "value", "field", "type", "float", "bool", "stars", "text", "Result", "_LARGEST", "keyword",
)  # fmt: skip
_FIELD_NAMES = ("severity", "kind", "amount", "flag", "note", "stars", "useful", "year", "name", "meta_stars", "city")
_NAMES = (*_PLAIN_NAMES, *_PLAIN_NAMES, *_HOSTILE_NAMES)
_TASK_NAMES = ("T", "G1a-v2", "über task 1", "1st", "class", "a.b c", "Über", "花生 1", "test")
_ENUM_VALUES = st.lists(SHORT_TEXTS.filter(bool), min_size=1, max_size=4, unique=True)
_PATHS = (
    ["attributes", "NoiseLevel"],
    ["attributes", "Ambience", "casual"],
    ["hours", "Monday"],
    ["it's", "{x}"],
    ["a"],
)
_SOURCES = st.lists(TEXTS, max_size=3)
_KINDS = ("enum", "integer", "number", "boolean", "string")
_ANY = {"integer": integers(), "number": numbers(), "boolean": st.booleans(), "string": SHORT_TEXTS}


def seeds(*, max_steps: int = 10) -> st.SearchStrategy[dict[str, Any]]:
    """Seeds as JSON objects, with no errors; every operation, operator and function occurs.

    They are fit to be checked, compiled and evaluated, which may well fail for some rows: divisions by zero,
    logarithms of negative numbers and the like are meant to occur.
    """
    return _seeds(max_steps)


@st.composite
def _seeds(draw: st.DrawFn, max_steps: int) -> dict[str, Any]:
    fields, fields_named = _fields(draw)
    validity = draw(st.integers(0, 5)) == 5
    if validity:
        values = tuple(value for value, _ in standard_fields.VALIDITY_VALUES)
        fields_named.append(Variable(f"extraction.{standard_fields.VALIDITY_FIELD}", "string", values))
    metas, metas_named = _declared(draw, "meta")
    declared, context_named = _declared(draw, "context")
    given, given_named = _parameters(draw)
    reviews = [*fields_named, *metas_named, *_standard("meta", metas_named)]
    inputs = [*context_named, *_standard("context", context_named)]
    writer = StepWriter(draw, reviews, inputs, given_named)
    wanted = draw(st.integers(1, max_steps))
    for name in _unique(draw, _NAMES, wanted, wanted):
        writer.write(name)
    seed: dict[str, Any] = {"task_name": draw(st.sampled_from(_TASK_NAMES))}
    if draw(st.booleans()):
        seed["description"] = draw(TEXTS)
    keywords = draw(st.lists(SHORT_TEXTS.filter(str.strip), max_size=3, unique=True))
    seed.update({"filter": {"keywords": keywords}} if keywords else {})
    seed.update({"parameters": given} if given else {})
    seed.update({"context": declared} if declared else {})
    extract: dict[str, Any] = {"fields": fields, **({"meta": metas} if metas else {})}
    if draw(st.integers(0, 5)) == 5:
        seed["version"], extract["passes"] = draw(TEXTS), draw(st.integers(1, 9))
        seed["review_handling"] = {"max_length": 100, "strategy": draw(st.sampled_from([*STRATEGIES]))}
    if validity:
        extract["validity"] = True
    seed["extract"] = extract
    if draw(st.integers(0, 3)) == 3:
        draw(st.sampled_from(writer.steps))["sources"] = draw(_SOURCES)
    seed["compute"] = writer.steps
    seed["output"] = _output(draw, writer)
    _assume_sound(seed)
    return seed


def _assume_sound(seed: dict[str, Any]) -> None:
    """Give up on a seed with an operation that can only fail; any other error is a mistake of this package."""
    errors = [d for d in analyse(seed).diagnostics if d.severity == "error"]
    others = [d for d in errors if d.code != "FS306"]
    assert not others, (seed, [(d.code, d.pointer, d.message) for d in others])
    assume(not errors)


def _output(draw: st.DrawFn, writer: StepWriter) -> list[str]:
    names = [v.text for v in writer.values if not v.needs_guard]
    if not names:
        writer.steps.append({"name": "FIRST", "op": "const", "value": 1})
        names = ["FIRST"]
    return draw(st.lists(st.sampled_from(names), min_size=1, max_size=4, unique=True))


def _unique(draw: st.DrawFn, names: tuple[str, ...], least: int, most: int) -> list[str]:
    return draw(st.lists(st.sampled_from(names), min_size=least, max_size=most, unique=True))


# --- inputs


def _fields(draw: st.DrawFn) -> tuple[list[dict[str, Any]], list[Variable]]:
    fields, variables = [], []
    for name in _unique(draw, _FIELD_NAMES + _HOSTILE_NAMES, 1, 3):
        kind = draw(st.sampled_from(_KINDS))
        field: dict[str, Any] = {"name": name, "type": kind}
        values = None
        if kind == "enum":
            values = draw(_ENUM_VALUES)
            field["values"] = {value: draw(SHORT_TEXTS) for value in values} if draw(st.booleans()) else values
        if draw(st.booleans()):
            field["description"] = draw(SHORT_TEXTS)
        if draw(st.integers(0, 2)) == 2:
            field["default"] = draw(st.sampled_from(values) if values else _ANY[kind])
        if kind in ("integer", "number") and draw(st.integers(0, 2)) == 2:
            field.update(_bounds(draw, kind, "default" in field))
        if draw(st.integers(0, 3)) == 3:
            field.update(evidence=draw(st.booleans()), sources=draw(_SOURCES))
        fields.append(field)
        base = "string" if kind == "enum" else kind
        variables.append(Variable(f"extraction.{name}", base, tuple(values) if values else None))
    return fields, variables


def _declared(draw: st.DrawFn, space: str) -> tuple[list[dict[str, Any]], list[Variable]]:
    """Fields that a seed declares itself; one of them may be a standard field that may be null here."""
    standard = standard_fields.META if space == "meta" else standard_fields.CONTEXT
    fields, variables = [], []
    for name in _unique(draw, (*_FIELD_NAMES, *_HOSTILE_NAMES), 0, 2):
        kind = standard[name].base.value if name in standard else draw(st.sampled_from(_KINDS))
        nullable = draw(st.booleans())
        values = draw(_ENUM_VALUES) if kind == "enum" else None
        field: dict[str, Any] = {"name": name, "type": kind, **({"values": values} if values else {})}
        if space == "context" and name not in standard and draw(st.integers(0, 2)) == 2:
            field["path"] = draw(st.sampled_from(_PATHS))
        fields.append({**field, **({"nullable": True} if nullable else {})})
        base = "string" if kind == "enum" else kind
        variables.append(Variable(f"{space}.{name}", base, tuple(values) if values else None, nullable=nullable))
    return fields, variables


def _standard(space: str, declared: list[Variable]) -> list[Variable]:
    names = (
        ("stars", "useful", "year", "month", "date")
        if space == "meta"
        else ("categories", "city", "stars", "review_count")
    )
    standard = standard_fields.META if space == "meta" else standard_fields.CONTEXT
    taken = {variable.text for variable in declared}
    return [Variable(f"{space}.{n}", standard[n].base.value) for n in names if f"{space}.{n}" not in taken]


def _parameters(draw: st.DrawFn) -> tuple[dict[str, Any], list[Variable]]:
    given, variables = {}, []
    for name in _unique(draw, ("AS_OF_YEAR", "P", "limit", *_HOSTILE_NAMES), 0, 2):
        kind = draw(st.sampled_from(_KINDS[1:]))
        parameter: dict[str, Any] = {"type": kind}
        if kind in ("integer", "number"):
            parameter.update(_bounds(draw, kind, True))
        else:
            parameter["default"] = draw(_ANY[kind])
        given[name] = parameter
        variables.append(Variable(f"param.{name}", kind))
    return given, variables


def _bounds(draw: st.DrawFn, kind: str, has_default: bool) -> dict[str, Any]:
    """A default between two numbers, one or both or neither of which are its bounds."""
    low, default, high = sorted(draw(st.lists(_ANY[kind], min_size=3, max_size=3)))
    chosen = draw(st.sampled_from([(), ("minimum",), ("maximum",), ("minimum", "maximum")]))
    bounds = {key: value for key, value in (("minimum", low), ("maximum", high)) if key in chosen}
    return {**({"default": default} if has_default else {}), **bounds}
