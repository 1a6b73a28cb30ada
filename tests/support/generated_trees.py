"""The expressions of generated modules as trees of the formula language, to hold against the formulas themselves.

Helpers become the operators that they stand for, and both sides lose what the printer may write in another way.
"""

from __future__ import annotations

import ast

_OPERATORS: dict[str, ast.operator] = {
    "_divide": ast.Div(), "_floor_divide": ast.FloorDiv(), "_modulo": ast.Mod(), "_power": ast.Pow(),
    "_whole_power": ast.Pow(),
}  # fmt: skip
_NEGATED: dict[type[ast.cmpop], ast.cmpop] = {
    ast.Eq: ast.NotEq(), ast.NotEq: ast.Eq(), ast.In: ast.NotIn(), ast.NotIn: ast.In(),
}  # fmt: skip


def assigned(source: str) -> dict[str, ast.expr]:
    """The expressions that a module's steps are computed by, as structures, by the name of the step's local."""
    module = ast.parse(source)
    (steps,) = [node for node in module.body if isinstance(node, ast.FunctionDef) and node.name == "_compute"]
    found: dict[str, ast.expr] = {}
    for statement in steps.body:
        match statement:
            case ast.Assign([ast.Name(name)], value) | ast.AnnAssign(ast.Name(name), _, ast.expr() as value):
                found[name] = _Plain().visit(_Generated().visit(value))
    return found


def plain(python: str) -> ast.expr:
    """The structure of a formula in Python's text."""
    tree: ast.expr = _Plain().visit(ast.parse(python, mode="eval").body)
    return tree


def without_floats(tree: ast.expr) -> ast.expr:
    """The structure without conversions to float, which a module has where a step's value would be an integer."""
    converted: ast.expr = _WithoutFloats().visit(tree)
    return converted


def has_known_result(tree: ast.expr) -> bool:
    """Whether a part of it is written `(operands, False)[-1]`: its result is known, and its operands may still fail."""
    return any(isinstance(node, ast.Subscript) for node in ast.walk(tree))


class _WithoutFloats(ast.NodeTransformer):
    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        whole = isinstance(node.value, float) and node.value.is_integer()
        return ast.Constant(int(node.value)) if whole else node  # type: ignore[arg-type]

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if isinstance(node.func, ast.Name) and node.func.id == "n_float":
            inner: ast.AST = self.visit(node.args[0])
            return inner
        return self.generic_visit(node)


class _Generated(ast.NodeTransformer):
    """From a module's Python to the language."""

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return ast.Name(f"n_{node.id}", ast.Load())

    def visit_Tuple(self, node: ast.Tuple) -> ast.expr:
        return ast.List([self.visit(item) for item in node.elts], ast.Load())

    def visit_Is(self, node: ast.Is) -> ast.cmpop:
        return ast.Eq()

    def visit_IsNot(self, node: ast.IsNot) -> ast.cmpop:
        return ast.NotEq()

    def visit_Call(self, node: ast.Call) -> ast.expr:
        arguments = [self.visit(argument) for argument in node.args]
        match node.func:
            case ast.Name("_present" | "_finite" | "_float_or_null"):
                return arguments[0]
            case ast.Name("_null_number" | "_null_string"):
                return ast.Constant(None)
            case ast.Name(name) if name in _OPERATORS:
                return ast.BinOp(arguments[0], _OPERATORS[name], arguments[1])
            case ast.Name("_log" | "_sqrt" as name):
                return ast.Call(ast.Name(f"n{name}", ast.Load()), arguments[:1], [])
            case ast.Attribute(ast.Name("math"), name) | ast.Name(name):
                return ast.Call(ast.Name(f"n_{name}", ast.Load()), arguments, [])
        raise AssertionError(ast.dump(node))


class _Plain(ast.NodeTransformer):
    """What the printer of modules writes shorter: `not x == y` is `x != y`, `not not x` is `x`, `int(2)` is `2`."""

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        operand = self.visit(node.operand)
        match node.op, operand:
            case ast.Not(), ast.UnaryOp(ast.Not(), inner):
                return inner
            case ast.Not(), ast.Compare(left, [sign], rights) if type(sign) in _NEGATED:
                return ast.Compare(left, [_NEGATED[type(sign)]], rights)
        return ast.UnaryOp(node.op, operand)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        arguments = [self.visit(argument) for argument in node.args]
        match node.func, arguments:
            case ast.Name("n_int"), [
                ast.Constant(int() as value) | ast.UnaryOp(ast.USub(), ast.Constant(int() as value))
            ]:
                return arguments[0] if not isinstance(value, bool) else ast.Call(node.func, arguments, [])
        return ast.Call(node.func, arguments, [])


def code_alone(source: str) -> list[str]:
    """The statements of a module, or of a part of one, without docstrings and without its hash."""
    tree = ast.parse(source.encode())
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            node.body = [
                each
                for at, each in enumerate(node.body)
                if not (at == 0 and isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant))
                and not (isinstance(each, ast.AnnAssign) and ast.unparse(each.target) == "BODY_SHA256")
            ]
    return [*map(ast.dump, tree.body)]
