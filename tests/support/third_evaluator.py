"""A third evaluator: formulas and whole seeds, computed with Python's own parser and operators.

Written from the documentation alone (docs/language.md, docs/seeds.md). It imports nothing of formulaseed, so that a
mistake that the compiler and its reference evaluator share shows here. A formula's text becomes Python by way of
its tokens and is parsed by `ast`; only the nodes named below are known, and nothing is ever executed.
"""

from __future__ import annotations

import ast
import math
import operator
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

Json = Any
Names = Mapping[str, Any]
"""What formulas may name: `{"N": 1, "meta.": {"stars": 4.0}, "$F": a function that tells whether the filter holds}`."""


class Fault(Exception):
    """There is no value; `kind` says why, `step` where."""

    def __init__(self, kind: str, step: str = "") -> None:
        super().__init__(kind, step)
        self.kind = kind
        self.step = step


# --- text to tree

_TOKEN = re.compile(
    r"""(?P<text>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")|(?P<number>[0-9.]+(?:[eE][-+]?[0-9]+)?)"""
    r"""|(?P<name>\$?[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)|(?P<space>\s+)|(?P<sign>.)""",
    re.DOTALL,
)
_WORDS = {"true": "True", "false": "False", "null": "None", **{w: w for w in ("True", "False", "None")}}
_WORDS |= {word: word for word in ("and", "or", "not", "in", "if", "else")}


@lru_cache(maxsize=20_000)
def tree(formula: str) -> ast.expr:
    """A formula as Python's parser reads it."""
    return ast.parse(python(formula), mode="eval").body


def python(formula: str) -> str:
    """A formula as Python's text. Names get a prefix, so that Python's keywords are names too."""
    return "".join(_rewritten(formula)).strip()


def _rewritten(formula: str) -> Iterator[str]:
    for token in _TOKEN.finditer(formula):
        text = token.group()
        if token.lastgroup == "text":
            yield ascii(re.sub(r"\\(.)", lambda m: {"n": "\n", "t": "\t"}.get(m[1], m[1]), text[1:-1]))
        elif token.lastgroup == "name":
            yield _WORDS.get(text) or ".".join(f"n_{part}" for part in text.replace("$", "filter_").split("."))
        elif token.lastgroup == "space":
            yield " "
        else:
            yield text


# --- tree to value


def _power(a: Any, b: Any) -> Any:
    if isinstance(a, int) and isinstance(b, int) and abs(a) > 1 and b * math.log2(abs(a)) > 1030:
        raise Fault("overflow")
    if a < 0 and not float(b).is_integer():
        raise Fault("domain")
    return a**b


_ARITHMETIC: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: _power,
}  # fmt: skip
_ORDERS: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
}  # fmt: skip


def _total(*values: Any) -> Any:
    """Added one by one from the left; a newer Python's `sum` rounds differently."""
    total = values[0] if values else 0
    for value in values[1:]:
        total = bounded(total + value)
    return total


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "max": lambda *values: max(values), "min": lambda *values: min(values), "sum": _total, "abs": abs,
    "log": math.log, "sqrt": math.sqrt, "round": round, "int": int, "float": float, "pow": _power,
    "floor": math.floor, "ceil": math.ceil, "clamp": lambda value, low, high: max(low, min(high, value)), "len": len,
}  # fmt: skip


def _add(terms: Iterable[Any], total: Any) -> Any:
    """Return the total with the terms added one by one."""
    for term in terms:
        total += term
    return total


def bounded(value: Any) -> Any:
    """A number, unless it is beyond the largest one."""
    if isinstance(value, float) and not math.isfinite(value):
        raise Fault("overflow")
    if isinstance(value, int) and abs(value) > sys.float_info.max:
        raise Fault("overflow")
    return value


def computed(function: Callable[..., Any], *operands: Any) -> Any:
    """What Python computes, and its exceptions by their kinds."""
    try:
        return bounded(function(*operands))
    except ZeroDivisionError:
        raise Fault("division_by_zero") from None
    except OverflowError:
        raise Fault("overflow") from None
    except ValueError:
        raise Fault("domain") from None


def value(node: ast.expr, names: Names) -> Any:
    """The value of a formula's tree. Raises `Fault` where there is none."""
    match node:
        case ast.Constant(found):
            return found
        case ast.Name(name):
            return _named(names, name)
        case ast.Attribute(ast.Name(space), name):
            return names[f"{space[2:]}."][name[2:]]
        case ast.UnaryOp(ast.Not(), operand):
            return not value(operand, names)
        case ast.UnaryOp(ast.USub(), operand):
            return -number(operand, names)
        case ast.UnaryOp(ast.UAdd(), operand):
            return +number(operand, names)
        case ast.BinOp(left, sign, right):
            return computed(_ARITHMETIC[type(sign)], number(left, names), number(right, names))
        case ast.Compare(left, signs, rights):
            return _compared(left, signs, rights, names)
        case ast.BoolOp(word, operands):
            found = None
            for operand in operands:
                found = value(operand, names)
                if bool(found) is isinstance(word, ast.Or):
                    break
            return found
        case ast.IfExp(test, then, otherwise):
            return value(then if value(test, names) else otherwise, names)
        case ast.Call(ast.Name("n_coalesce"), [first, default], []):
            found = value(first, names)
            return value(default, names) if found is None else found
        case ast.Call(ast.Name(name), arguments, []):
            if len(arguments) == 1 and isinstance(arguments[0], ast.List):
                arguments = arguments[0].elts
            return computed(_FUNCTIONS[name[2:]], *(_argument(name, argument, names) for argument in arguments))
    raise SyntaxError(f"{type(node).__name__} is not in the language")


def _named(names: Names, name: str) -> Any:
    if name.startswith("n_filter_") and f"${name[9:]}" in names:
        return names[f"${name[9:]}"]()
    return names[name[2:]]


def number(node: ast.expr, names: Names) -> Any:
    """A number that is there: an operand is looked at before the next one is computed."""
    found = _there(value(node, names))
    if isinstance(found, bool | str):
        raise Fault("type")
    return found


def _argument(name: str, node: ast.expr, names: Names) -> Any:
    found = _there(value(node, names))
    wanted = {"n_len": str, "n_int": bool | int | float, "n_float": bool | int | float}.get(name, int | float)
    if not isinstance(found, wanted) or (isinstance(found, bool) and name not in ("n_int", "n_float")):
        raise Fault("type")
    return found


def _there(found: Any) -> Any:
    if found is None:
        raise Fault("null")
    return found


def _compared(left: ast.expr, signs: Sequence[ast.cmpop], rights: Sequence[ast.expr], names: Names) -> bool:
    """A chain: each value is computed once, and the rest only where what stands before holds."""
    before = value(left, names)
    for sign, right in zip(signs, rights, strict=True):
        if isinstance(sign, ast.Eq | ast.NotEq):
            after = value(right, names)
            holds = equal(before, after) is isinstance(sign, ast.Eq)
        elif isinstance(sign, ast.In | ast.NotIn):
            if isinstance(right, ast.List):
                after = [value(item, names) for item in right.elts]
                holds = any(equal(before, item) for item in after) is isinstance(sign, ast.In)
            else:
                after = (text(before), text(value(right, names)))[1]
                holds = (before in after) is isinstance(sign, ast.In)
        else:
            _ordered(before)
            after = _ordered(value(right, names))
            holds = _ORDERS[type(sign)](before, after)
        if not holds:
            return False
        before = after
    return True


def equal(a: Any, b: Any) -> bool:
    """Equality of values of one kind; null equals itself alone."""
    if a is None or b is None:
        return a is b
    if kind_of(a) is not kind_of(b):
        raise Fault("type")
    return bool(a == b)


def kind_of(found: Any) -> type:
    return float if type(found) is int else type(found)


def _ordered(found: Any) -> Any:
    if isinstance(_there(found), bool | str):
        raise Fault("type")
    return found


def text(found: Any) -> str:
    if not isinstance(_there(found), str):
        raise Fault("type")
    return str(found)


# --- whole seeds

_STANDARD = {
    "extraction": {"review_validity": "string"},
    "meta": {"stars": "number", "useful": "integer", "funny": "integer", "cool": "integer", "year": "integer",
             "month": "integer", "date": "string"},
    "context": {"stars": "number", "review_count": "integer", "is_open": "integer", "latitude": "number",
                "longitude": "number"},
}  # fmt: skip


class Restaurant:
    """The steps of a seed for some rows, a context and parameters, all of them JSON.

    `decimals` names the steps that are numbers, not integers: their values are floats.
    """

    def __init__(
        self, seed: Json, rows: Iterable[Json], context: Json, parameters: Json, decimals: frozenset[str]
    ) -> None:
        extract, given = seed.get("extract", {}), seed.get("parameters", {})
        self.decimals = decimals
        self.parameters = {
            name: _read(parameters.get(name, given[name]["default"]), given[name]["type"]) for name in given
        }
        self.filters: dict[str, Json] = {}
        self.shared: dict[str, Any] = {
            "param.": self.parameters,
            "context.": _record("context", seed.get("context", []), context),
        }
        self.rows = [
            {
                "extraction.": _record("extraction", extract.get("fields", []), row.get("extraction", {})),
                "meta.": _record("meta", extract.get("meta", []), _dated(row.get("meta", {}))),
            }
            for row in rows
        ]
        self.steps: list[Json] = seed["compute"]

    def values(self, *, apart: bool = False) -> dict[str, Any]:
        """Every step's value, filters left out. Raises the `Fault` of the first step that has none.

        `apart`: no step uses another that may fail, and a `Fault` stands in the place of the value.
        """
        results: dict[str, Any] = {}
        for step in self.steps:
            if step["op"] == "define_filter":
                self.filters[step["name"]] = step
                continue
            try:
                value = self._step(step)
                if step["name"] in self.decimals and isinstance(value, int):
                    value = float(value)
                results[step["name"]] = self.shared[step["name"]] = value
            except Fault as fault:
                results[step["name"]] = reported = Fault(fault.kind, step["name"])
                if not apart:
                    raise reported from None
        return results

    def _names(self, row: Json) -> dict[str, Any]:
        names = {**self.shared, **row}
        for name, step in self.filters.items():
            names[f"${name}"] = lambda step=step: self._filter(step, names)
        return names

    def _filter(self, step: Json, names: Names) -> bool:
        if "expr" in step:
            return bool(value(tree(step["expr"]), names))
        spaces = [(space, f"{space}.") for space in ("extraction", "meta", "context")]
        return all(
            self._hold({f"{prefix}{key}": test for key, test in step.get(space, {}).items()}, names)
            for space, prefix in [*spaces, ("where", "")]
        )

    def _hold(self, conditions: Json, names: Names) -> bool:
        """Whether all conditions of an object hold; the rest is not looked at once one does not."""
        for key, test in conditions.items():
            if key.startswith("$"):
                if names[key]() is not test:
                    return False
                continue
            space, _, field = key.partition(".")
            found = names[f"{space}."][field]
            for sign, operand in test.items() if isinstance(test, dict) else [("==", test)]:
                if not self._test(found, sign, operand):
                    return False
        return True

    def _test(self, found: Any, sign: str, operand: Json) -> bool:
        if sign == "in":
            return any(equal(found, self._operand(item)) for item in operand)
        other = self._operand(operand)
        if sign in ("==", "!="):
            return equal(found, other) is (sign == "==")
        orders = {">": operator.gt, ">=": operator.ge, "<": operator.lt, "<=": operator.le}
        return orders[sign](_ordered(found), _ordered(other))

    def _operand(self, operand: Json) -> Any:
        if isinstance(operand, str) and re.fullmatch(r"param\.[A-Za-z_]\w*", operand):
            return self.parameters[operand[6:]]
        return operand

    def _step(self, step: Json) -> Any:
        match step["op"]:
            case "count":
                return sum(1 for _ in self._matching(step))
            case "sum":
                return bounded(_add(self._found(step), 0.0 if step["name"] in self.decimals else 0))
            case "max" | "min":
                values = list(self._found(step))
                return (max if step["op"] == "max" else min)(values) if values else step.get("default")
            case "mean":
                terms = list(self._found(step))
                total = _add(terms, 0.0 if any(isinstance(term, float) for term in terms) else 0)
                return bounded(total) / len(terms) if terms else step.get("default")
            case "any":
                return True in {bool(found) for found in self._values(step)}
            case "all":
                return False not in {bool(found) for found in self._values(step)}
            case "count_distinct":
                return len({found for found in self._values(step) if found is not None})
            case "lookup":
                return self._lookup(step)
            case "expr":
                return value(tree(step["expr"]), self.shared)
            case "const":
                return step["value"]
            case "case":
                for rule in step["rules"][:-1]:
                    if value(tree(f"{step.get('source', '')} {rule['when']}"), self.shared):
                        return rule["then"]
                return step["rules"][-1]["else"]
        raise AssertionError(step["op"])

    def _matching(self, step: Json) -> Iterator[Names]:
        for row in self.rows:
            names = self._names(row)
            if self._hold(step.get("where", {}), names):
                yield names

    def _found(self, step: Json) -> Iterator[Any]:
        formula = tree(step.get("expr") or step["field"])
        return (number(formula, names) for names in self._matching(step))

    def _values(self, step: Json) -> Iterator[Any]:
        formula = tree(step.get("expr") or step["field"])
        return (value(formula, names) for names in self._matching(step))

    def _lookup(self, step: Json) -> Any:
        source = text(value(tree(step["source"]), self.shared))
        table = step["table"]
        found = [table[key] for key in table if (key == source if step["match"] == "exact" else key in source)]
        if found:
            return max(found) if step["match"] == "substring_max" else found[0]
        if "default" in step:
            return step["default"]
        raise Fault("lookup")


def _record(space: str, declared: Sequence[Json], given: Json) -> dict[str, Any]:
    types = {**_STANDARD[space], **{field["name"]: field["type"] for field in declared}}
    defaults = {"review_validity": "valid", **{field["name"]: field.get("default") for field in declared}}
    placed = {field["name"]: _at(given, field["path"]) for field in declared if "path" in field}
    given = {**given, **{name: value for name, value in placed.items() if given.get(name) is None}}
    return {
        name: _read(defaults.get(name) if given.get(name) is None else given[name], types.get(name, "string"))
        for name in {**types, **given}
    }


def _at(record: Json, path: Sequence[str]) -> Any:
    """Return the value at a path; the first string on the way may contain it as a Python literal."""
    value, is_literal = record, False
    for key in [*path, None]:
        if isinstance(value, str) and not is_literal:
            is_literal = True
            try:
                value = ast.literal_eval(value)
            except (ValueError, SyntaxError):
                pass
        if key is not None:
            value = value.get(key) if isinstance(value, dict) else None
    return value


def _read(given: Any, declared: str) -> Any:
    if given is None:
        return None
    return {"number": float, "integer": int}.get(declared, lambda found: found)(given)


def _dated(meta: Json) -> Json:
    """The year and the month of a date, where they are not given themselves."""
    parts = (meta.get("date") or "").split("-")
    reported = {"year": int(parts[0]), "month": int(parts[1])} if len(parts) == 3 else {}
    return {**reported, **{name: found for name, found in meta.items() if found is not None}}
