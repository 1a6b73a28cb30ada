"""Names in formulas of seed v1: steps, `context.x`, `param.X`, and a loop's `e['field']`.

In: a name or a subscript as written. Out: the same as the surface program has it, or `ast.Invalid` if it has no meaning, which
is reported. Bare names that are unknown are left to the checker, which knows the near ones.
"""

from __future__ import annotations

from collections.abc import Mapping

from formulaseed.diagnostics.catalogue import seed as catalogue
from formulaseed.diagnostics.model import Diagnostic, Help, Problems
from formulaseed.diagnostics.suggestions import closest, did_you_mean, suggest
from formulaseed.language import ast
from formulaseed.language.types import Type

EXTRACTIONS = "extractions"


class ReviewNames:
    """Reads the names of the formulas. `step` is the one whose formula is read.

    `types` are those of fields and parameters, by namespace and name; without `is_complete` a name of one was wrong.
    """

    def __init__(self, types: Mapping[str, Type], is_complete: bool, steps: set[str], problems: Problems) -> None:
        self.types = types
        self.is_complete = is_complete
        self.steps = steps
        self.problems = problems
        self.step = ""
        self._reported: set[tuple[str, str]] = set()

    def field(self, name: str) -> str | None:
        """Return a review's field with its namespace: `extraction.kind`, `meta.stars`; None if there is none.

        Metadata may have `review_` in front; an extraction field of the same name comes first.
        """
        names = (f"extraction.{name}", f"meta.{name}", f"meta.{name.removeprefix('review_')}")
        return next((full for full in names if full in self.types), None)

    def name(self, node: ast.Name, loop: str | None) -> ast.Expr:
        """Read a name in place of a value; `loop` is the variable of the loop around it."""
        text, span = node.text, node.span
        head, _, rest = text.partition(".")
        if head == loop:
            return self._report(catalogue.review_as_value(span, text, f"{head}['{rest or '…'}']"))
        if text == EXTRACTIONS:
            return self._report(catalogue.list_as_value(span))
        if rest:
            return self._dotted(node, head, rest, loop)
        if text not in self.steps and self.field(text) is not None:
            return self._report(catalogue.unknown_step(span, text, self._field_help(text, loop)), text)
        return node

    def _dotted(self, node: ast.Name, space: str, rest: str, loop: str | None) -> ast.Expr:
        spaces = ("context", "param")
        is_field = self.field(rest) is not None
        if space not in spaces:
            close = closest(space, spaces)
            help = (
                suggest(f"{close}.{rest}", certain=False) if close else did_you_mean(space, spaces, what="namespaces")
            )
            if close is None and is_field:
                help = self._field_help(rest, loop)
            elif rest in self.steps:
                help = suggest(rest, certain=False)
            return self._report(catalogue.unknown_namespace(node.span, space, help), node.text)
        if node.text not in self.types and is_field:
            return self._report(
                catalogue.unknown_field(node.span, f"`{space}`", rest, self._field_help(rest, loop)), node.text
            )
        return node

    def subscript(self, node: ast.Subscript, loop: str | None) -> ast.Expr:
        """Read `e['field']`, or report anything else before square brackets."""
        value, index = node.value, node.index
        key = index.value if isinstance(index, ast.Literal) and isinstance(index.value, str) else None
        name = value.text if isinstance(value, ast.Name) else ""
        if name == loop and key is not None:
            return self._field(node, key, name)
        if key is not None and name and name not in ("context", "param", EXTRACTIONS):
            help = f"write `{loop}['{key}']`" if loop is not None else catalogue.loop_help(name)
            return self._report(catalogue.no_loop_variable(node.value.span, name, help), name)
        is_namespace = name in ("context", "param")
        return self._report(
            catalogue.not_indexable(node.span, f"{name}.{key or 'name'}" if is_namespace else "e['field']")
        )

    def _field(self, node: ast.Subscript, name: str, loop: str) -> ast.Expr:
        found = self.field(name)
        if found is not None:
            return ast.Name(node.span, found, written=f"{loop}['{name}']")
        if not self.is_complete:
            return ast.Invalid(node.span)
        known = [full.partition(".")[2] for full in self.types if full.startswith(("extraction.", "meta."))]
        help = did_you_mean(name, known, what="fields", limit=20)
        self._report(catalogue.unknown_field(node.index.span, "a review", name, help), name)
        return ast.Invalid(node.span)

    def method(self, node: ast.Call, loop: str | None) -> ast.Invalid | None:
        """Report a method of a review, such as `e.get('n')`; return None for any other call."""
        head, _, method = node.name.text.partition(".")
        if head != loop or not method:
            return None
        key = node.arguments[0] if node.arguments else None
        field = key.value if isinstance(key, ast.Literal) and isinstance(key.value, str) else "field"
        return self._report(catalogue.method_of_review(node.name.span, method, f"{head}['{field}']"))

    def _field_help(self, name: str, loop: str | None) -> Help:
        return f"write `{loop}['{name}']`" if loop is not None else catalogue.field_help(name)

    def _report(self, found: Diagnostic, name: str = "") -> ast.Invalid:
        """Report a problem; of a name once in a step, however often the step mentions it."""
        if not name or (self.step, name) not in self._reported:
            self._reported.add((self.step, name))
            self.problems.report(found)
        return ast.Invalid(found.span)
