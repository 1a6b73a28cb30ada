"""Nest statements that run under conditions, so that a shared condition is tested once.

In: statements, each with the tests that guard it, in the order of the seed. Out: blocks. A statement that may raise keeps its
place and its tests; any other may move next to one with which it shares a test.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from formulaseed.backends.python.blocks import Block, Branch, Comment, IfStatement
from formulaseed.backends.python.code import Code, comment_text
from formulaseed.backends.python.printed import Printed
from formulaseed.language import typed
from formulaseed.language.operators import AND, NEGATED
from formulaseed.language.typed import Expr, Symbol

MAX_NESTED_TESTS = 10
"""The `if` statements that may be nested: Python takes a hundred levels of indentation, a reader fewer."""


@dataclass(frozen=True, slots=True, eq=False)
class Test:
    """One condition of a row.

    `filter` is the name of the filter whose local the condition is; `label` is a comment on a longer condition. Either may be
    empty. `moves` says that the condition may be tested before others, since it neither raises nor needs another one to
    hold. Tests are compared by identity.
    """

    expression: Expr
    printed: Printed
    moves: bool
    filter: str = ""
    label: str = ""

    @property
    def code(self) -> Code:
        """The code of the condition."""
        return self.printed.code


@dataclass(frozen=True, slots=True)
class Guarded:
    """Statements that run if all tests hold: `raises` says that they may raise, and `symbols` are those that they mention."""

    tests: tuple[Test, ...]
    body: tuple[Block, ...]
    raises: bool = False
    symbols: frozenset[Symbol] = field(default=frozenset(), compare=False)

    @property
    def may_raise(self) -> bool:
        """True if a test or a statement may raise."""
        return self.raises or any(test.printed.raises for test in self.tests)

    def can_begin_with(self, test: Test) -> bool:
        """Return True if the statements run for the same rows, with the same errors, if `test` comes first."""
        return self.tests[0] is test or (test.moves and not any(other.printed.raises for other in self.tests))


@dataclass(frozen=True, slots=True)
class _GuardedBlocks:
    """Blocks that run if all tests hold: always if there are none."""

    tests: tuple[Test, ...]
    body: tuple[Block, ...]


def nest(items: Sequence[Guarded], filters: Mapping[str, tuple[Test, ...]]) -> tuple[list[Block], set[str]]:
    """Return the blocks, and the names of the filters that are tested in place, so that they need no local.

    `filters` has the tests of those filters that only guard statements. A filter is tested in place ("opened") if all
    statements that it guards are under one of its tests: they then test the rest of the filter.
    """
    nesting = _Nesting(filters, {name: _count_guarded(items, name) for name in filters})
    return nesting.build_blocks(items), nesting.opened


def _count_guarded(items: Iterable[Guarded], name: str) -> int:
    """Return the number of items that the filter `name` guards."""
    return sum(any(test.filter == name for test in item.tests) for item in items)


@dataclass
class _Nesting:
    """The state of nesting the statements of one loop."""

    filters: Mapping[str, tuple[Test, ...]]
    uses: Mapping[str, int]
    """The number of statements that each filter guards."""
    opened: set[str] = field(default_factory=set)
    """The filters that are tested in place."""

    def build_blocks(self, items: Sequence[Guarded], depth: int = 0) -> list[Block]:
        """Nest the items under the tests that they share. Adds the filters that it opens to `self.opened`.

        Items stay in their order, except those that join an earlier one. From the depth `MAX_NESTED_TESTS` on, each
        item keeps its own tests.
        """
        parts: list[_GuardedBlocks] = []
        remaining = list(items)
        while remaining:
            first = remaining[0]
            test = None
            if depth < MAX_NESTED_TESTS:
                test, group, opened = self._choose_test(remaining)
            if test is None:
                remaining.pop(0)
                parts.append(_GuardedBlocks(first.tests, first.body))
                continue
            chosen = set(map(id, group))
            remaining = [item for item in remaining if id(item) not in chosen]
            self.opened |= opened
            rests = {name: self._build_remaining_test(name, test) for name in opened}
            inner = [replace(item, tests=_replace_tests(item.tests, test, rests)) for item in group]
            parts.append(_GuardedBlocks((test,), tuple(self.build_blocks(inner, depth + 1))))
        return _join_branches(parts)

    def _choose_test(self, items: Sequence[Guarded]) -> tuple[Test | None, list[Guarded], set[str]]:
        """Return the test that the first item shares with most others, all of these, and the filters to open for it.

        The test is None, and the items are the first alone, if the first item shares none. The first of several equal
        tests wins.
        """
        best: tuple[Test | None, list[Guarded], set[str]] = None, [items[0]], set()
        tests = [*items[0].tests]
        for test in items[0].tests:
            tests += self.filters.get(test.filter, ())
        for test in tests:
            opened = {name for name, content in self.filters.items() if test in content and self._can_open(name, test)}
            group = self._collect_group(items, test, opened)
            # A filter that also guards a statement outside of the group needs a local; without it the group may shrink.
            while any(_count_guarded(group, name) != self.uses[name] for name in opened):
                opened = {name for name in opened if _count_guarded(group, name) == self.uses[name]}
                group = self._collect_group(items, test, opened)
            if len(group) > len(best[1]) and group[0] is items[0]:
                best = test, group, opened
        return best

    def _can_open(self, name: str, test: Test) -> bool:
        """Return True if testing `test` before the rest of the filter changes nothing."""
        content = self.filters[name]
        return content[0] is test or (test.moves and not any(other.printed.raises for other in content))

    def _collect_group(self, items: Sequence[Guarded], test: Test, opened: set[str]) -> list[Guarded]:
        """Return the items that have the test, or a filter in `opened`, and may move up to the first of them.

        The result is empty if the first item does not fit. An item that may raise does not move past another that may.
        """
        group: list[Guarded] = []
        passed_raises = False
        for item in items:
            shared = next((other for other in item.tests if other is test or other.filter in opened), None)
            fits = shared is not None and item.can_begin_with(shared) and not (passed_raises and item.may_raise)
            if fits:
                group.append(item)
            elif not group:
                break
            passed_raises = passed_raises or (not fits and item.may_raise)
        return group

    def _build_remaining_test(self, name: str, test: Test) -> Test | None:
        """Return one test for all other conditions of the filter `name`; None if it tests nothing else."""
        rest = [other for other in self.filters[name] if other is not test]
        if not rest:
            return None
        expression = rest[0].expression
        printed = rest[0].printed
        if len(rest) > 1:
            expression = typed.Logical("and", tuple(other.expression for other in rest), expression.info)
            code = Code(" and ".join(other.printed.code_at(AND + 1) for other in rest))
            printed = replace(printed, code=code, precedence=AND)
        return Test(expression, printed, True, label=f"${name}")


def _replace_tests(tests: Sequence[Test], shared: Test, rests: Mapping[str, Test | None]) -> tuple[Test, ...]:
    """Return the tests without the shared one. Opened filters are replaced by their tests in `rests`, or left out."""
    remaining: list[Test] = []
    for test in tests:
        replacement = rests.get(test.filter, test) if test.filter else test
        if test is not shared and replacement is not None:
            remaining.append(replacement)
    return tuple(remaining)


# --- if, elif, else


def _join_branches(parts: Sequence[_GuardedBlocks]) -> list[Block]:
    """Return the blocks of the parts; neighbours that exclude one another become branches of one `if` statement.

    The second of two opposites becomes the `else` of the first. A part without tests is placed as it is, and ends the
    statement.
    """
    blocks: list[Block] = []
    chain: list[_GuardedBlocks] = []
    for part in parts:
        if not part.tests:
            chain = []
            blocks += part.body
        elif len(chain) == 1 and _are_opposite(chain[0].tests, part.tests):
            blocks[-1] = IfStatement((_build_branch(chain[0]),), part.body)
            chain = []
        else:
            is_exclusive = bool(chain) and all(_are_exclusive(before, part) for before in chain)
            if is_exclusive:
                blocks.pop()
            chain = [*chain, part] if is_exclusive else [part]
            blocks.append(IfStatement(tuple(map(_build_branch, chain))))
    return blocks


def _build_branch(part: _GuardedBlocks) -> Branch:
    """Return the branch for a part, with the labels of its tests as comment.

    If the code of its first test is `False`, that is the whole condition. If its body is one `if` statement without an
    `else`, the conditions of both are joined.
    """
    tests = part.tests
    conditions: list[str] = [test.printed.code_at(AND + 1) for test in tests]
    body = part.body
    match [block for block in body if not isinstance(block, Comment)]:
        case [IfStatement((inner,), ())] if not inner.comment:
            is_or = " or " in inner.condition or " if " in inner.condition
            conditions.append(f"({inner.condition})" if is_or else inner.condition)
            body = (*(block for block in body if isinstance(block, Comment)), *inner.body)
    condition = Code(" and ".join(conditions)) if len(conditions) > 1 else tests[0].code
    if tests[0].code == "False":
        condition = tests[0].code
    labels = [test.label for test in tests if test.label]
    return Branch(condition, body, comment_text(", ".join(labels)))


def _are_exclusive(first: _GuardedBlocks, second: _GuardedBlocks) -> bool:
    """Return True if one field equals different literals in the two parts, and no test of them can raise.

    Only tests of the form `field == literal` count.
    """
    if any(test.printed.raises for test in (*first.tests, *second.tests)):
        return False
    literals = dict(filter(None, map(_find_equality, first.tests)))
    equalities = filter(None, map(_find_equality, second.tests))
    return any(symbol in literals and literals[symbol] != value for symbol, value in equalities)


def _find_equality(test: Test) -> tuple[Symbol, object] | None:
    """Return the symbol and the literal of a test `symbol == literal`, in this order; None for any other test."""
    match test.expression:
        case typed.Comparison(typed.Ref(symbol), ("==",), (typed.Literal(value),)):
            return symbol, value
        case _:
            return None


def _are_opposite(first: Sequence[Test], second: Sequence[Test]) -> bool:
    """Return True for two single tests of which exactly one holds, whatever the values are, and which do not raise.

    An order such as `<` has no opposite if a side may be null, since neither `<` nor `>=` holds for null.
    """
    if len(first) != 1 or len(second) != 1 or first[0].printed.raises or second[0].printed.raises:
        return False
    match first[0].expression, second[0].expression:
        case typed.Not(inner), other:
            return inner == other
        case other, typed.Not(inner):
            return inner == other
        case typed.Comparison(left, (operator,), rest), typed.Comparison(left_b, (operator_b,), rest_b):
            if left != left_b or rest != rest_b or NEGATED.get(operator) != operator_b:
                return False
            # Neither `<` nor `>=` holds for null.
            is_ordered = operator not in ("==", "!=", "in", "not in")
            return not (is_ordered and any(side.info.ty.nullable for side in (left, *rest)))
        case _:
            return False
