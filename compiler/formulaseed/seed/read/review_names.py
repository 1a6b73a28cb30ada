"""Names in formulas of the older shape: steps, `context.x`, `param.X`, and a loop's `e['field']`.

In: a name or a subscript as written. Out: the same in the common program's terms, or `ast.Invalid` where it means
nothing there, which is told. Bare names that nothing is called are left to the checker, which knows the near ones.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from formulaseed.diagnostics.model import Help, Problems
from formulaseed.diagnostics.suggestions import closest, did_you_mean, suggest
from formulaseed.language import ast
from formulaseed.language.types import Type
from formulaseed.source.text import Span

EXTRACTIONS = "extractions"
_LOOP = "sum(… for e in extractions)"
_NO_LISTS = "`extractions` is the only list; loop over it"
_NO_TEXTS = "texts cannot be made or changed; return them as they are"
_PYTHON = {
    **dict.fromkeys(("isinstance", "type", "hasattr"), "a field's type stands in `extraction_fields`; test its value"),
    **dict.fromkeys(("str", "repr", "format"), _NO_TEXTS),
    **dict.fromkeys(("sorted", "reversed", "list", "set", "tuple", "dict", "range", "zip", "enumerate", "map", "filter"),
                    _NO_LISTS),
    "bool": "write a comparison, such as `x != 0`",
    **dict.fromkeys(("getattr", "get"), "write `e['field']`"),
    **dict.fromkeys(("eval", "exec", "open", "print", "__import__"), "a formula only computes; leave it out"),
}  # fmt: skip
"""Python's functions that the language has not, with what to write instead."""


@dataclass(frozen=True, slots=True)
class Inputs:
    """What a formula can read, by name. `are_complete`: no extraction field was left out for want of a name."""

    extraction: Mapping[str, Type]
    meta: Mapping[str, Type]
    context: Mapping[str, Type]
    parameters: Mapping[str, Type]
    are_complete: bool = True

    def field(self, name: str) -> str | None:
        """A review's field as the common program names it: `extraction.kind`, `meta.stars`; None where it has none.

        Metadata may have `review_` in front; an extraction field of the same name comes first.
        """
        if name in self.extraction:
            return f"extraction.{name}"
        plain = name if name in self.meta else name.removeprefix("review_")
        return f"meta.{plain}" if plain in self.meta else None

    def type_of(self, name: str) -> Type | None:
        """The type of a dotted name of the common program."""
        space, _, rest = name.partition(".")
        spaces = {
            "extraction": self.extraction, "meta": self.meta, "context": self.context, "param": self.parameters
        }  # fmt: skip
        return spaces[space].get(rest) if space in spaces else None


class ReviewNames:
    """Reads the names of the formulas; `step` is told which formula they stand in."""

    def __init__(self, inputs: Inputs, steps: Collection[str], problems: Problems) -> None:
        self.inputs = inputs
        self.steps = steps
        self.problems = problems
        self.step = ""
        self._reported: set[tuple[str, str]] = set()

    def name(self, node: ast.Name, loop: str | None) -> ast.Expr:
        """A name where a value is needed; `loop` is the variable of the loop that it stands in."""
        text, span = node.text, node.span
        head, _, rest = text.partition(".")
        if head == loop:
            if rest:
                return self._invalid("FS103", span, f"`{head}` has no attributes", f"write `{head}['{rest}']`")
            return self._invalid(
                "FS103", span, f"`{text}` is a review, and a value is needed", f"name its field: `{text}['…']`"
            )
        if text == EXTRACTIONS:
            help = "write `len(extractions)`, or loop over it"
            return self._invalid("FS103", span, "`extractions` is a list, and a value is needed", help)
        if rest:
            return self._dotted(node, head, rest, loop)
        if text not in self.steps and self.inputs.field(text) is not None:
            return self._once("FS201", span, f"no step is called `{text}`", self._field_help(text, loop), text)
        return node

    def _dotted(self, node: ast.Name, space: str, rest: str, loop: str | None) -> ast.Expr:
        spaces: dict[str, Mapping[str, Type]] = {"context": self.inputs.context, "param": self.inputs.parameters}
        if space not in spaces:
            close = closest(space, spaces)
            help = f"did you mean `{close}.{rest}`?" if close else did_you_mean(space, spaces, what="namespaces")
            if close is None and self.inputs.field(rest) is not None:
                help = self._field_help(rest, loop)
            elif rest in self.steps:
                help = suggest(rest, certain=False)
            return self._once("FS204", node.span, f"`{space}` is no namespace", help, node.text)
        if rest not in spaces[space] and self.inputs.field(rest) is not None:
            message = f"`{space}` has no field `{rest}`"
            return self._once("FS204", node.span, message, self._field_help(rest, loop), node.text)
        return node

    def subscript(self, node: ast.Subscript, loop: str | None) -> ast.Expr:
        """`e['field']`, and whatever else stands before square brackets."""
        value, index = node.value, node.index
        key = index.value if isinstance(index, ast.Literal) and isinstance(index.value, str) else None
        if isinstance(value, ast.Subscript):
            if isinstance(self.subscript(value, loop), ast.Invalid):
                return ast.Invalid(node.span)
            return self._invalid("FS103", index.span, "values cannot be cut into parts", "use the whole value")
        if not isinstance(value, ast.Name):
            return self._invalid("FS103", node.span, "values cannot be indexed", "a review's field is `e['field']`")
        if value.text == loop:
            if key is not None:
                return self._field(node, key, value.text)
            return self._invalid("FS103", index.span, "a field is named by a text", f"write `{loop}['field']`")
        if value.text in ("context", "param"):
            return self._invalid(
                "FS103", node.span, "values cannot be indexed", f"write `{value.text}.{key or 'name'}`"
            )
        if value.text == EXTRACTIONS:
            return self._invalid("FS103", node.span, "no review stands alone", f"loop over all of them: `{_LOOP}`")
        if key is not None and loop is not None:
            message = f"no loop calls a review `{value.text}` here"
            return self._invalid("FS201", value.span, message, f"write `{loop}['{key}']`")
        if key is not None:
            help = f"count or sum it in a loop, such as `{_LOOP.replace(' e ', f' {value.text} ')}`"
            return self._once("FS201", value.span, f"no loop calls a review `{value.text}` here", help, value.text)
        return self._invalid("FS103", node.span, "values cannot be indexed", "name a step, or `e['field']`")

    def _field(self, node: ast.Subscript, name: str, loop: str) -> ast.Expr:
        found = self.inputs.field(name)
        if found is not None:
            return ast.Name(node.span, found, written=f"{loop}['{name}']")
        if not self.inputs.are_complete:
            return ast.Invalid(node.span)
        help = did_you_mean(name, (*self.inputs.extraction, *self.inputs.meta), what="fields", limit=20)
        return self._once("FS204", node.index.span, f"a review has no field `{name}`", help, name)

    def function(self, node: ast.Call, loop: str | None) -> ast.Invalid | None:
        """Tell of a function or method of Python that formulas have not; None for any other."""
        name, span = node.name.text, node.name.span
        head, _, method = name.partition(".")
        if head == loop and method:
            key = node.arguments[0] if node.arguments else None
            field = key.value if isinstance(key, ast.Literal) and isinstance(key.value, str) else "field"
            help = f"write `{head}['{field}']`; a field may have a `default` in `extraction_fields`"
            return self._invalid("FS103", span, f"values have no methods such as `{method}`", help)
        if name in _PYTHON and name not in self.steps:
            return self._invalid("FS207", span, f"there is no function `{name}`", _PYTHON[name])
        return None

    def filter(self, node: ast.FilterName) -> ast.Invalid:
        help = "write the condition behind `if` in each loop"
        return self._invalid("FS103", node.span, "the older shape of seeds has no filters", help)

    def _field_help(self, name: str, loop: str | None) -> str:
        if loop is not None:
            return f"write `{loop}['{name}']`"
        return f"write `e['{name}']` inside a loop, such as `{_LOOP}`"

    def _once(self, code: str, span: Span, message: str, help: Help, name: str) -> ast.Invalid:
        """Tell of a name once in a step, however often the step mentions it."""
        if (self.step, name) not in self._reported:
            self._reported.add((self.step, name))
            self.problems.add(code, span, message, help)
        return ast.Invalid(span)

    def _invalid(self, code: str, span: Span, message: str, help: str) -> ast.Invalid:
        self.problems.add(code, span, message, help)
        return ast.Invalid(span)
