"""Nest statements that run under conditions, so that a shared condition is tested once.

In: statements, each with the tests that guard it, in the order of the seed. Out: blocks. A statement that may raise keeps its
place and its tests; any other may move next to one with which it shares a test.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from formulaseed.backends.python.blocks import Block, Branch, IfStatement
from formulaseed.backends.python.code import Code, comment_text
from formulaseed.backends.python.printed import Printed
from formulaseed.language import typed
from formulaseed.language.operators import AND, NEGATED
from formulaseed.language.typed import Expr, Symbol

MAX_NESTED_TESTS = 10
"""Python takes a hundred levels of indentation, a reader fewer."""


@dataclass(frozen=True, slots=True, eq=False)
class Test:
    """One condition of a row.

    `filter` names the filter whose local the condition is; `label` is a comment on a longer condition. `moves` says that the
    condition may be tested before others, since it neither raises nor needs another one to hold.
    """

    expression: Expr
    printed: Printed
    moves: bool
    filter: str = ""
    label: str = ""

    @property
    def code(self) -> Code:
        return self.printed.code


@dataclass(frozen=True, slots=True)
class Guarded:
    """Statements that run if all tests hold. `raises` says whether they may raise; `symbols` are those that they mention."""

    tests: tuple[Test, ...]
    body: tuple[Block, ...]
    raises: bool = False
    symbols: frozenset[Symbol] = field(default=frozenset(), compare=False)

    @property
    def may_raise(self) -> bool:
        return self.raises or any(test.printed.raises for test in self.tests)

    def can_begin_with(self, test: Test) -> bool:
        """Return whether testing this first changes nothing."""
        return self.tests[0] is test or (test.moves and not any(other.printed.raises for other in self.tests))


@dataclass(frozen=True, slots=True)
class _Conditional:
    """Blocks that run if all tests hold: always if there are none."""

    tests: tuple[Test, ...]
    body: tuple[Block, ...]


def nest(items: Sequence[Guarded], filters: Mapping[str, tuple[Test, ...]]) -> tuple[list[Block], set[str]]:
    """Return the blocks, and the filters that are tested in place, so that they need no local.

    `filters` are the tests of those that only guard statements. One is tested in place where all statements that it
    guards are under one of its tests already.
    """
    nesting = _Nesting(filters, {name: sum(_uses(item, name) for item in items) for name in filters})
    return nesting.blocks(items), nesting.opened


def _uses(item: Guarded, name: str) -> bool:
    return any(test.filter == name for test in item.tests)


@dataclass
class _Nesting:
    filters: Mapping[str, tuple[Test, ...]]
    uses: Mapping[str, int]
    """How many statements each filter guards."""
    opened: set[str] = field(default_factory=set)

    def blocks(self, items: Sequence[Guarded], depth: int = 0) -> list[Block]:
        parts: list[_Conditional] = []
        left = list(items)
        while left:
            first = left[0]
            test, group, opened = self._shared(left) if depth < MAX_NESTED_TESTS else (None, [first], set())
            if test is None:
                left.pop(0)
                parts.append(_Conditional(first.tests, first.body))
                continue
            chosen = set(map(id, group))
            left = [item for item in left if id(item) not in chosen]
            self.opened |= opened
            rests = {name: self._rest(name, test) for name in opened}
            inner = [replace(item, tests=_without(item.tests, test, rests)) for item in group]
            parts.append(_Conditional((test,), tuple(self.blocks(inner, depth + 1))))
        return _join_branches(parts)

    def _shared(self, items: Sequence[Guarded]) -> tuple[Test | None, list[Guarded], set[str]]:
        """Return the test that the first statement shares with the most others, these, and the filters to open for it."""
        best: tuple[Test | None, list[Guarded], set[str]] = None, [items[0]], set()
        tests = [*items[0].tests]
        for test in items[0].tests:
            tests += self.filters.get(test.filter, ())
        for test in tests:
            opened = {name for name, content in self.filters.items() if test in content and self._opens(name, test)}
            group = self._group(items, test, opened)
            while any(sum(_uses(item, name) for item in group) != self.uses[name] for name in opened):
                opened = {name for name in opened if sum(_uses(item, name) for item in group) == self.uses[name]}
                group = self._group(items, test, opened)
            if len(group) > len(best[1]) and group[0] is items[0]:
                best = test, group, opened
        return best

    def _opens(self, name: str, test: Test) -> bool:
        content = self.filters[name]
        return content[0] is test or (test.moves and not any(other.printed.raises for other in content))

    def _group(self, items: Sequence[Guarded], test: Test, opened: set[str]) -> list[Guarded]:
        """Return the statements that have the test and may move up to the first of them."""
        group: list[Guarded] = []
        passed_raises = False
        for item in items:
            through = next((other for other in item.tests if other is test or other.filter in opened), None)
            fits = through is not None and item.can_begin_with(through) and not (passed_raises and item.may_raise)
            if fits:
                group.append(item)
            elif not group:
                break
            passed_raises = passed_raises or (not fits and item.may_raise)
        return group

    def _rest(self, name: str, test: Test) -> Test | None:
        """Return what else a filter tests; None for nothing."""
        rest = [other for other in self.filters[name] if other is not test]
        if not rest:
            return None
        expression = rest[0].expression
        if len(rest) > 1:
            info = expression.info
            expression = typed.Logical("and", tuple(other.expression for other in rest), info)
        parts = [other.printed for other in rest]
        code = Code(" and ".join(part.code_at(AND + 1) for part in parts)) if len(parts) > 1 else parts[0].code
        printed = replace(parts[0], code=code, precedence=AND if len(parts) > 1 else parts[0].precedence)
        return Test(expression, printed, True, label=f"${name}")


def _without(tests: Sequence[Test], shared: Test, parts: Mapping[str, Test | None]) -> tuple[Test, ...]:
    """Return the tests but for the shared one, opened filters with what else they test."""
    found: list[Test] = []
    for test in tests:
        replaced = parts.get(test.filter, test) if test.filter else test
        if test is not shared and replaced is not None:
            found.append(replaced)
    return tuple(found)


# --- if, elif, else


def _join_branches(parts: Sequence[_Conditional]) -> list[Block]:
    """Return the blocks; neighbours that exclude one another become branches of one choice, opposites its two ways."""
    blocks: list[Block] = []
    chain: list[_Conditional] = []
    for part in parts:
        if not part.tests:
            chain = []
            blocks += part.body
        elif len(chain) == 1 and _are_opposite(chain[0].tests, part.tests):
            blocks[-1] = IfStatement((_branch(chain[0]),), part.body)
            chain = []
        else:
            is_exclusive = bool(chain) and all(_exclude(before, part) for before in chain)
            if is_exclusive:
                blocks.pop()
            chain = [*chain, part] if is_exclusive else [part]
            blocks.append(IfStatement(tuple(_branch(each) for each in chain)))
    return blocks


def _branch(part: _Conditional) -> Branch:
    tests = part.tests
    condition = tests[0].code
    if len(tests) > 1 and condition != "False":
        condition = Code(" and ".join(test.printed.code_at(AND + 1) for test in tests))
    labels = [test.label for test in tests if test.label]
    return Branch(condition, part.body, comment_text(", ".join(labels)))


def _exclude(first: _Conditional, second: _Conditional) -> bool:
    """Return True if one field equals different literals in the two parts, and no test of them can raise."""
    if any(test.printed.raises for test in (*first.tests, *second.tests)):
        return False
    wanted = dict(filter(None, (_equality(test) for test in first.tests)))
    return any(
        found[0] in wanted and wanted[found[0]] != found[1]
        for found in map(_equality, second.tests)
        if found is not None
    )


def _equality(test: Test) -> tuple[Symbol, object] | None:
    match test.expression:
        case typed.Comparison(typed.Ref(symbol), ("==",), (typed.Literal(value),)):
            return symbol, value
        case _:
            return None


def _are_opposite(first: Sequence[Test], second: Sequence[Test]) -> bool:
    """Return whether exactly one of two tests holds, whatever the values are."""
    if len(first) != 1 or len(second) != 1 or first[0].printed.raises or second[0].printed.raises:
        return False
    a, b = first[0].expression, second[0].expression
    match a, b:
        case typed.Not(inner), other:
            return inner == other
        case other, typed.Not(inner):
            return inner == other
        case typed.Comparison(left, (operator,), rest), typed.Comparison(left_b, (operator_b,), rest_b):
            if left != left_b or rest != rest_b or NEGATED.get(operator) != operator_b:
                return False
            ordered = operator not in ("==", "!=", "in", "not in")
            return not (ordered and any(side.info.ty.nullable for side in (left, *rest)))
        case _:
            return False
