"""Generate random seeds without errors, to test a compiler with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from hypothesis import assume
from hypothesis import strategies as st

from formulaseed.documents import analyse
from formulaseed.seed import standard_fields
from formulaseed.seed.read.sections import STRATEGIES
from formulaseed.testing import formulas as pieces
from formulaseed.testing.formulas import DEPTH, SHORT_STRINGS, STRINGS, Chooser, FormulaWriter, Variable, below

JsonObject = dict[str, Any]

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
_ENUM_VALUES = st.lists(SHORT_STRINGS.filter(bool), min_size=1, max_size=4, unique=True)
_PATHS = (
    ["attributes", "NoiseLevel"], ["attributes", "Ambience", "casual"], ["hours", "Monday"], ["it's", "{x}"], ["a"],
)  # fmt: skip
_STANDARD = {
    "meta": (standard_fields.META, ("stars", "useful", "year", "month", "date")),
    "context": (standard_fields.CONTEXT, ("categories", "city", "stars", "review_count")),
}
_SOURCES = st.lists(STRINGS, max_size=3)
_FIELD_KINDS = ("enum", "integer", "number", "boolean", "string")
_ANY: dict[str, st.SearchStrategy[Any]] = {
    "integer": pieces.integers(), "number": pieces.numbers(), "boolean": st.booleans(), "string": SHORT_STRINGS,
}  # fmt: skip
_KINDS = ("number", "boolean", "string")
_LITERALS: dict[str, st.SearchStrategy[Any]] = {**_ANY, "number": st.one_of(pieces.integers(), pieces.numbers())}
_KEYS: st.SearchStrategy[str] = st.one_of(
    st.sampled_from(["Thai", "Bars", "Thai, Bars", "x", "none", "mild"]), SHORT_STRINGS.filter(bool)
)
_NUMERIC_WHENS = ("< {n:+}", "<= {n:+}", "> {n:+}", "== {n:+}", "!= {n:+}", "in [1, {n}]", "< {n:+} < 20")
_WHENS = {
    "integer": _NUMERIC_WHENS, "number": _NUMERIC_WHENS, "boolean": ("== True", "!= false"),
    "string": ("== {x}", "!= {x}", "in [{x}]", "not in [{x}, {x}]", "in {x}"),
}  # fmt: skip
_ORDERS = ((">",), (">=",), ("<",), ("<=",), (">=", "<"), (">", "<="), ("!=",), ("!=", ">"))


def seeds(*, max_steps: int = 10, formulas: type[FormulaWriter] = FormulaWriter) -> st.SearchStrategy[JsonObject]:
    """Return seeds as JSON objects, without errors; every operation, operator and function occurs.

    They can be checked, compiled and evaluated. An evaluation may fail for some rows, as divisions by zero, logarithms of
    negative numbers and the like occur.
    """
    return _seeds(max_steps, formulas)


@st.composite
def _seeds(draw: st.DrawFn, max_steps: int, formulas: type[FormulaWriter]) -> JsonObject:
    chooser = Chooser(draw)
    seed: JsonObject = {"task_name": chooser.any_of(_TASK_NAMES)}
    if chooser.one_in(2):
        seed["description"] = draw(STRINGS)
    if keywords := draw(st.lists(SHORT_STRINGS.filter(str.strip), max_size=3, unique=True)):
        seed["filter"] = {"keywords": keywords}
    seed["parameters"], parameters = _parameters(chooser)
    seed["context"], inputs = _declare_fields(chooser, "context")
    fields, reviews = _declare_fields(chooser, "extraction")
    metas, meta_variables = _declare_fields(chooser, "meta")
    validity = chooser.one_in(6)
    if validity:
        values = tuple(value for value, _ in standard_fields.VALIDITY_VALUES)
        reviews.append(Variable(f"extraction.{standard_fields.VALIDITY_FIELD}", "string", values))
    seed["extract"] = {"fields": fields, "meta": metas, "validity": validity}
    if chooser.one_in(6):
        seed["version"] = draw(STRINGS)
        seed["extract"]["passes"] = draw(st.integers(1, 9))
        seed["extract"]["examples"] = [_example(chooser, fields)]
        seed["review_handling"] = {"max_length": 100, "strategy": chooser.any_of([*STRATEGIES])}
    writer = StepWriter(draw, formulas, [*reviews, *meta_variables], [*inputs, *parameters], parameters)
    step_count = draw(st.integers(1, max_steps))
    for name in _unique(chooser, _NAMES, step_count, step_count):
        writer.write(name)
    if chooser.one_in(4):
        chooser.any_of(writer.steps)["sources"] = draw(_SOURCES)
    names = [v.text for v in writer.values if not v.needs_guard]
    if not names:
        writer.steps.append({"name": "FIRST", "op": "const", "value": 1})
    seed["compute"] = writer.steps
    seed["output"] = _unique(chooser, names or ["FIRST"], 1, 4)
    _assume_valid(seed)
    return seed


def _assume_valid(seed: JsonObject) -> None:
    """Drop a seed with an operation that can only fail. Any other error is a bug of this package, and is raised."""
    errors = [d for d in analyse(seed).diagnostics if d.severity == "error"]
    bugs = [(d.code, d.pointer, d.message) for d in errors if d.code != "FS306"]
    assert not bugs, (seed, bugs)
    assume(not errors)


# --- inputs


def _unique(chooser: Chooser, names: Sequence[str], minimum: int, maximum: int) -> list[str]:
    return chooser.draw(st.lists(st.sampled_from(names), min_size=minimum, max_size=maximum, unique=True))


def _declare_fields(chooser: Chooser, space: str) -> tuple[list[JsonObject], list[Variable]]:
    """Return the fields that a seed declares, and the variables of these and of the standard fields.

    One of the fields may be a nullable standard field.
    """
    types, standard_names = _STANDARD.get(space, ({}, ()))
    fields, variables = [], []
    for name in _unique(chooser, _FIELD_NAMES + _HOSTILE_NAMES, *((1, 3) if space == "extraction" else (0, 2))):
        kind = types[name].base.value if name in types else chooser.any_of(_FIELD_KINDS)
        field = _declare_field(chooser, space, name, kind, has_path=space == "context" and name not in types)
        values = tuple(field["values"]) if "values" in field else None
        fields.append(field)
        variables.append(
            Variable(f"{space}.{name}", "string" if values else kind, values, nullable="nullable" in field)
        )
    taken = {variable.text for variable in variables}
    standard = [Variable(f"{space}.{name}", types[name].base.value) for name in standard_names]
    return fields, [*variables, *(variable for variable in standard if variable.text not in taken)]


def _declare_field(chooser: Chooser, space: str, name: str, kind: str, *, has_path: bool) -> JsonObject:
    """Return a declaration; a context field that `has_path` may have one."""
    values = chooser.draw(_ENUM_VALUES) if kind == "enum" else None
    field: JsonObject = {"name": name, "type": kind, **({"values": values} if values else {})}
    if space == "extraction":
        field.update(_extraction_keys(chooser, kind, values))
    elif chooser.one_in(2):
        field["nullable"] = True
    if has_path and chooser.one_in(3):
        field["path"] = chooser.any_of(_PATHS)
    return field


def _extraction_keys(chooser: Chooser, kind: str, values: list[str] | None) -> JsonObject:
    """Return the keys that only a field of `extract` has."""
    draw = chooser.draw
    keys: JsonObject = {}
    if values and chooser.one_in(2):
        keys["values"] = {value: draw(SHORT_STRINGS) for value in values}
    if chooser.one_in(2):
        keys["description"] = draw(SHORT_STRINGS)
    if chooser.one_in(3):
        keys["default"] = chooser.any_of(values) if values else draw(_ANY[kind])
    if kind in ("integer", "number") and chooser.one_in(3):
        keys.update(_bounds(chooser, kind, "default" in keys))
    if chooser.one_in(4):
        keys.update(evidence=chooser.any_of([False, True, "required"]), sources=draw(_SOURCES))
        keys.update({"reason": True} if keys["evidence"] else {})
    return keys


def _example(chooser: Chooser, fields: Sequence[JsonObject]) -> JsonObject:
    """Return a reviewed answer with a value for each field, and the quotes that some require."""
    values: JsonObject = {}
    for field in fields:
        choices = field.get("values") or [field[key] for key in ("default", "minimum", "maximum") if key in field][:1]
        values[field["name"]] = chooser.any_of([*choices]) if choices else chooser.draw(_ANY[field["type"]])
    quotes = {field["name"]: "good  soup" for field in fields if field.get("evidence")}
    return {"text": f"{chooser.draw(STRINGS)} good soup", "fields": values, "quotes": quotes}


def _parameters(chooser: Chooser) -> tuple[JsonObject, list[Variable]]:
    declarations = {}
    for name in _unique(chooser, ("AS_OF_YEAR", "P", "limit", *_HOSTILE_NAMES), 0, 2):
        kind = chooser.any_of(_FIELD_KINDS[1:])
        is_number = kind in ("integer", "number")
        rest = _bounds(chooser, kind, True) if is_number else {"default": chooser.draw(_ANY[kind])}
        declarations[name] = {"type": kind, **rest}
    return declarations, [Variable(f"param.{name}", declared["type"]) for name, declared in declarations.items()]


def _bounds(chooser: Chooser, kind: str, has_default: bool) -> JsonObject:
    """Return a default between two numbers, one or both or neither of which are its bounds."""
    low, default, high = sorted(chooser.draw(st.lists(_ANY[kind], min_size=3, max_size=3)))
    bounds = {"minimum": low, "maximum": high, **({"default": default} if has_default else {})}
    left_out = chooser.any_of([(), ("minimum",), ("maximum",), ("minimum", "maximum")])
    return {key: value for key, value in bounds.items() if key not in left_out}


# --- conditions


class ConditionWriter(Chooser):
    """Writes condition objects for `define_filter` and `where`, which compare with literals or parameters."""

    def __init__(self, draw: st.DrawFn, parameters: Sequence[Variable]) -> None:
        super().__init__(draw)
        self.parameters = parameters

    def where(self, variables: Sequence[Variable], filters: Sequence[str], least: int = 0) -> JsonObject:
        """Return a condition object with prefixed names. `least` is 1 where it must test something."""
        subjects: list[Variable | str] = [*variables, *filters]
        count = least + self.draw(below(4 - least)) if subjects else 0
        chosen = [subjects[place] for place in dict.fromkeys(self.draw(below(len(subjects))) for _ in range(count))]
        return {
            f"${subject}" if isinstance(subject, str) else subject.text: (
                self.one_in(2) if isinstance(subject, str) else self._test(subject)
            )
            for subject in chosen
        }

    def _test(self, variable: Variable) -> Any:
        """Return the test of one variable."""
        if variable.nullable and self.one_in(3):
            return {"!=": None} if self.one_in(2) else None
        form = self.any_of(["equal", "!=", "in", "in", *(["order", "order"] if variable.is_numeric else [])])
        if form == "in":
            items = [self._operand(variable) for _ in range(1 + self.draw(below(3)))]
            return {"in": [*items, None] if variable.nullable and self.one_in(4) else items}
        if form == "equal":
            return self._operand(variable)
        test = {operator: self._operand(variable) for operator in (self.any_of(_ORDERS) if form == "order" else [form])}
        return {**test, "!=": None} if form == "order" and variable.nullable and self.one_in(2) else test

    def _operand(self, variable: Variable) -> Any:
        known = [p for p in self.parameters if p.kind == variable.kind or (p.is_numeric and variable.is_numeric)]
        if known and self.one_in(6):
            return self.any_of(known).text
        if variable.values:
            return self.any_of(variable.values)
        return self.draw(_LITERALS["number" if variable.is_numeric else variable.kind])


# --- steps


class StepWriter(Chooser):
    """Writes the steps of one seed, one after the other.

    `reviews` are the variables that have a value for each review, `inputs` those of the restaurant, `values` the
    steps so far.
    """

    def __init__(
        self, draw: st.DrawFn, formulas: type[FormulaWriter], reviews: Sequence[Variable], inputs: Sequence[Variable],
        parameters: Sequence[Variable],
    ) -> None:  # fmt: skip
        super().__init__(draw)
        self.formulas = formulas
        self.reviews = reviews
        self.inputs = inputs
        self.conditions = ConditionWriter(draw, parameters)
        self.filters: list[str] = []
        self.values: list[Variable] = []
        self.counts: list[tuple[str, JsonObject]] = []
        self.steps: list[JsonObject] = []

    def write(self, name: str) -> None:
        """Add a step of any operation."""
        operations: list[Callable[[str], Variable | None]] = [
            self._expr, self._count, self._expr, self._sum, self._expr, self._extreme, self._lookup, self._case, self._const,
            self._filter, self._count, self._expr, self._sum, self._flag, self._distinct,
        ]  # fmt: skip
        if variable := self.any_of(operations)(name):
            self.values.append(variable)

    def _add(self, name: str, op: str, **parts: Any) -> None:
        self.steps.append({"name": name, "op": op, **parts})

    def _where(self, least: int = 0) -> JsonObject:
        subjects = self.reviews if not self.one_in(4) else [*self.reviews, *self.inputs]
        return self.conditions.where(subjects, self.filters, least)

    def _per_review(self, values: Sequence[Variable]) -> FormulaWriter:
        return self.formulas(self.draw, [*self.reviews, *self.reviews, *self.inputs, *values], self.filters)

    def _filter(self, name: str) -> None:
        if self.one_in(3):
            self._add(name, "define_filter", expr=self._per_review(()).tested(DEPTH - 1).text)
        else:
            parts: dict[str, JsonObject] = {}
            for key, test in self._where(1).items():
                space, _, bare = key.partition(".")
                is_bare = bare and space != "param" and self.one_in(2)
                parts.setdefault(space if is_bare else "where", {})[bare if is_bare else key] = test
            self._add(name, "define_filter", **parts)
        self.filters.append(name)

    def _count(self, name: str) -> Variable:
        where = self._where()
        self._add(name, "count", **({"where": where} if where or self.one_in(2) else {}))
        self.counts.append((name, where))
        return Variable(name, "integer")

    def _sum(self, name: str) -> Variable:
        writer = self._per_review(self.values)
        write = writer.number_or_null if writer.nullables and self.one_in(6) else writer.number
        self._add(name, "sum", expr=write(DEPTH - 1).text, where=self._where())
        return Variable(name, "number")

    def _extreme(self, name: str) -> Variable:
        where = self._where()
        counted_by = ""
        if self.counts and self.one_in(2):
            counted_by, counted = self.any_of(self.counts)
            where = {key: test for key, test in counted.items() if not self.one_in(3)}
        named = [v for v in self.reviews if v.is_numeric]
        parts: JsonObject = {"where": where}
        if named and self.one_in(2):
            parts["field"] = self.any_of(named).text
        else:
            parts["expr"] = self._per_review(self.values).number(DEPTH - 1).text
        has_default = bool(counted_by) if self.one_in(3) else not counted_by
        if has_default:
            parts["default"] = self.draw(_LITERALS["number"])
        self._add(name, self.any_of(["max", "min", "mean"]), **parts)
        return Variable(name, "number", nullable=not has_default, needs_guard=not has_default, counted_by=counted_by)

    def _flag(self, name: str) -> Variable:
        self._add(
            name, self.any_of(["any", "all"]), expr=self._per_review(()).tested(DEPTH - 1).text, where=self._where()
        )
        return Variable(name, "boolean")

    def _distinct(self, name: str) -> Variable:
        self._add(name, "count_distinct", field=self.any_of(self.reviews).text, where=self._where())
        return Variable(name, "integer")

    def _writer(self) -> FormulaWriter:
        return self.formulas(self.draw, [*self.values, *self.values, *self.inputs])

    def _expr(self, name: str) -> Variable:
        writer = self._writer()
        kind = self.any_of(["nullable", *_KINDS, "number"])
        write = {
            "nullable": writer.number_or_null, "string": writer.string, "boolean": writer.condition, "number": writer.number,
        }[kind]  # fmt: skip
        piece = write(DEPTH - (kind in ("nullable", "string")))
        self._add(name, "expr", expr=piece.text)
        values = piece.values if kind == "string" else None
        return Variable(name, "number" if kind == "nullable" else kind, values, nullable=kind == "nullable")

    def _literals(self, least: int, most: int) -> tuple[str, list[pieces.JsonValue]]:
        """Return literals of one kind, with the kind."""
        kind = self.any_of(_KINDS)
        return kind, [self.draw(_LITERALS[kind]) for _ in range(least + self.draw(below(most - least + 1)))]

    def _const(self, name: str) -> Variable:
        kind, values = self._literals(1, 1)
        self._add(name, "const", value=values[0])
        return _variable_of(name, kind, values)

    def _lookup(self, name: str) -> Variable:
        known = [v for v in (*self.inputs, *self.values) if v.kind == "string"]
        sources = [v for v in known if v.values is None or any(v.values)]
        if not sources:
            return self._const(name)
        source = self.any_of(sources)
        kind, values = self._literals(2, 5)
        match = self.any_of(["exact", "substring_first", *(["substring_max"] * 2 if kind == "number" else ())])
        table = {self._key(source, match): value for value in values}
        default = {} if self.one_in(4) else {"default": None if self.one_in(6) else values[-1]}
        self._add(name, "lookup", source=source.text, table=table, match=match, **default)
        return _variable_of(name, kind, [*table.values(), *default.values()])

    def _key(self, source: Variable, match: str) -> str:
        """Return a key that the source may have."""
        if source.values is None:
            return self.draw(_KEYS)
        key = self.any_of([value for value in source.values if value])
        return key if match == "exact" else key[self.draw(below(len(key))) :]

    def _case(self, name: str) -> Variable:
        kind, values = self._literals(1, 4)
        writer = self._writer()
        sources = [v for v in writer.variables if not v.needs_guard]
        source = self.any_of(sources) if sources and self.one_in(2) else None
        if len(values) > 1 and self.one_in(6):
            values[-2 if self.one_in(2) else -1] = None
        whens = [self._when(writer, source) if source else writer.tested(DEPTH - 1).text for _ in values[1:]]
        rules = [{"when": when, "then": value} for when, value in zip(whens, values, strict=False)]
        self._add(name, "case", **({"source": source.text} if source else {}), rules=[*rules, {"else": values[-1]}])
        return _variable_of(name, kind, values)

    def _when(self, writer: FormulaWriter, source: Variable) -> str:
        """Return a test that follows the source of a `case`."""
        forms = ("== None", "!= None") if source.nullable and self.one_in(3) else _WHENS[source.kind]
        value = pieces.quoted(self.any_of(source.values) if source.values else self.draw(SHORT_STRINGS))
        text = writer.fill((self.any_of(forms), "<"), 1, x=value).text
        return f"{text} {self.any_of(['and', 'or'])} ({writer.condition(1).text})" if self.one_in(4) else text


def _variable_of(name: str, kind: str, values: Sequence[pieces.JsonValue]) -> Variable:
    strings = tuple(value for value in values if isinstance(value, str))
    return Variable(name, kind, tuple(dict.fromkeys(strings)) if kind == "string" else None, nullable=None in values)
