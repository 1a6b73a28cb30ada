"""Parse the regular expressions of requests; refuse those with which Python's `re` may take long on some review.

In: a pattern inside a JSON string. Out: the pattern as `re.search` runs it, with `re.IGNORECASE`, or a diagnostic and
None.

`re` tries the ways in which a pattern can match one after the other, from each position of the text. Two rules bound
their number. An unbounded repeat can match in one way only: it holds no unbounded repeat and cannot match the empty
string, and wherever it has a choice the next character decides. And the steps of the whole pattern, counted for the
worst text of `PATTERN_TEXT` characters, stay within `PATTERN_STEPS`.

Of two unbounded `.`, the first is searched without backtracking: `a.*b.*c` runs as `a(?>.*?b).*c`. The nearest `b` is
enough, as it has one length and keeps to the line: from a later `b` no `c` is found that is not found from the nearest.
"""

from __future__ import annotations

import re
import warnings
from dataclasses import replace
from itertools import takewhile

from lark import UnexpectedInput

from formulaseed import limits
from formulaseed.diagnostics.catalogue import requests as catalogue
from formulaseed.diagnostics.model import Problems
from formulaseed.requests.pattern_tree import NO_CHARACTERS, Characters, PatternNode, parse_pattern_tree
from formulaseed.source.json_reader import JsonString
from formulaseed.source.text import Span

_TOKENS = re.compile(r"\\.|\[\^?(?:\\.|[^\]\\])*\]|[()]|\{([0-9]*),?([0-9]*)\}", re.DOTALL)
"""An escape, a set such as `[a-z]`, a bracket of a group, or a counted repeat, of which the groups are its numbers."""

_ERROR_TEXT = re.compile(
    r"\\(?:p\{\w*\}?|.\w*|$)|\(\?(?:<?[=!]|P?[<=]\w*[>)]?|[\w-]*[:)]|[>(]|#[^)]*\)?)?"
    r"|[*+?]|\{[^}]*\}|\[:\^?\w*:\]|&&|~~|\|\||.",
    re.DOTALL,
)
"""The text that is underlined where an error is in a pattern: an escape, a group, a repeat, or one character."""

FILE_BUDGET = limits.Budget("pattern parts")
"""The budget for all patterns of a file: a pattern takes its number of characters, or of parts if that is larger."""


class _RefusedPattern(Exception):
    """Raised with the diagnostic that says why a pattern is refused."""


def parse_pattern(text: JsonString, problems: Problems) -> str | None:
    """Return the source of a regular expression such as `wi-?fi` as `re` is to run it, which may differ from the text.

    Returns None, with an error reported, if the pattern is invalid, not supported, or may take long on some text.
    Charges the budget of the file.
    """
    try:
        _refuse_large(text)
        _refuse_malformed(text)
        tree = _parse_tree(text)
        _refuse_many_parts(tree, text)
        _refuse_ambiguous(tree, text)
        return _plan_source(tree, text)
    except _RefusedPattern as refused:
        problems.report(refused.args[0])
        return None


def _refuse_large(text: JsonString) -> None:
    """Raise `_RefusedPattern` for a pattern over a limit of length, nesting or repeats; otherwise charge the budget."""
    pattern = text.value
    maximum = limits.PATTERN_CHARACTERS
    depth = 0
    if len(pattern) > maximum:
        span = text.subspan(maximum, len(pattern))
        raise _RefusedPattern(catalogue.pattern_over_limit(span, len(pattern), "characters", maximum))
    for match in _TOKENS.finditer(pattern):
        span = text.subspan(match.start(), match.end())
        depth += (match.group() == "(") - (match.group() == ")")
        # A number of more than nine digits is only estimated: it is too large anyway, and slow to read as a whole.
        times = max((int(number[-9:]) + len(number[:-9]) * 10**9 for number in match.groups() if number), default=0)
        if depth > limits.PATTERN_NESTING:
            raise _RefusedPattern(catalogue.pattern_over_limit(span, depth, "levels of groups", limits.PATTERN_NESTING))
        if times > limits.PATTERN_REPEAT:
            raise _RefusedPattern(catalogue.pattern_over_limit(span, times, "repeats", limits.PATTERN_REPEAT))
    _charge(text, len(pattern))


def _charge(text: JsonString, parts: int) -> None:
    """Charge the budget of the file with a number of parts. Raises `_RefusedPattern` if it is exhausted."""
    if not FILE_BUDGET.take(parts):
        raise _RefusedPattern(
            catalogue.patterns_over_limit(text.subspan(0, len(text.value)), limits.FILE_PATTERN_PARTS)
        )


def _refuse_malformed(text: JsonString) -> None:
    """Raise `_RefusedPattern` for a pattern that `re` does not accept, with its message."""
    try:
        with warnings.catch_warnings(action="ignore"):
            re.compile(text.value)
    except re.error as error:
        span, written = _locate_error(text, error.pos or 0)
        raise _RefusedPattern(catalogue.invalid_pattern(span, error.msg, written)) from None


def _parse_tree(text: JsonString) -> PatternNode:
    """Return the tree of a pattern that `re` accepts. Raises `_RefusedPattern` for syntax that is not supported."""
    try:
        return parse_pattern_tree(text.value)
    except UnexpectedInput as error:
        raise _RefusedPattern(catalogue.pattern_not_supported(*_locate_error(text, error.pos_in_stream or 0))) from None


def _locate_error(text: JsonString, position: int) -> tuple[Span, str]:
    """Return the span to underline at the `position` of an error, and its characters; empty at the end."""
    if position and text.value.startswith("(?", position - 1):  # `re` names the position after the bracket
        position -= 1
    match = _ERROR_TEXT.match(text.value, position)
    written = match.group() if match else ""
    return text.subspan(position, position + len(written)), written


# --- the time that a pattern may take
#
# The kinds of nodes are: a `test` of one character, a `place` between characters such as `^`, `all` of its parts in
# order, `any` of its parts, and a `repeat` of its only part. A repeat with a high maximum counts as unbounded, too.


def _count_parts(node: PatternNode) -> int:
    """Count the parts of a node with its repeats written out, except those that count as unbounded."""
    parts = 1 + sum(map(_count_parts, node.parts))
    if node.kind == "repeat" and not node.is_unbounded:
        parts *= max(node.maximum or 1, 1)
    return parts


def _refuse_many_parts(tree: PatternNode, text: JsonString) -> None:
    """Raise `_RefusedPattern` for nested repeats whose steps would take long to count; otherwise charge the budget."""
    parts = _count_parts(tree)
    if parts > limits.PATTERN_PARTS:
        unit = "parts, with its repeats written out"
        raise _RefusedPattern(
            catalogue.pattern_over_limit(text.subspan(0, len(text.value)), parts, unit, limits.PATTERN_PARTS)
        )
    _charge(text, max(parts - len(text.value), 0))


def _refuse_ambiguous(node: PatternNode, text: JsonString) -> None:
    """Raise `_RefusedPattern` for an unbounded repeat, in the node or below it, that can match one text in several ways.

    That is a repeat which holds an unbounded one, can repeat the empty string, or lets a character continue in two
    ways.
    """
    if node.is_unbounded:
        item = node.parts[0]
        span = text.subspan(node.start, node.end)
        if inner := _find_unbounded(item):
            raise _RefusedPattern(catalogue.nested_repeat(span, inner.extract_text(text.value)))
        if _can_be_empty(item):
            raise _RefusedPattern(catalogue.empty_repeat(span, item.extract_text(text.value)))
        if clash := _find_clash(item, _find_first_characters(item)):
            raise _RefusedPattern(catalogue.ambiguous_repeat(span, item.extract_text(text.value), clash))
    for part in node.parts:
        _refuse_ambiguous(part, text)


def _find_unbounded(node: PatternNode) -> PatternNode | None:
    """Return the first unbounded repeat in a node or below it; None if there is none."""
    if node.is_unbounded:
        return node
    return next((inner for part in node.parts if (inner := _find_unbounded(part))), None)


def _can_be_empty(node: PatternNode) -> bool:
    """Return True if the node can match the empty string."""
    if node.kind in ("test", "place"):
        return node.kind == "place"
    if node.kind == "all":
        return all(map(_can_be_empty, node.parts))
    return node.minimum == 0 or any(map(_can_be_empty, node.parts))


def _find_first_characters(node: PatternNode) -> Characters:
    """Return the characters that a match can begin with."""
    first = node.accepts
    for part in node.parts:
        first |= _find_first_characters(part)
        if node.kind == "all" and not _can_be_empty(part):
            break
    return first


def _find_next_characters(node: PatternNode, follow: Characters) -> Characters:
    """Return the characters that can come next before a node: its first ones, and `follow` if the node can be empty."""
    first = _find_first_characters(node)
    return first | follow if _can_be_empty(node) else first


def _find_clash(node: PatternNode, follow: Characters) -> str | None:
    """Return a character at which a match can go on in two ways if `follow` comes after the node; None without one."""
    if node.kind == "all":
        for part in reversed(node.parts):
            if clash := _find_clash(part, follow):
                return clash
            follow = _find_next_characters(part, follow)
    elif node.kind == "any":
        seen = NO_CHARACTERS
        for part in node.parts:
            first = _find_next_characters(part, follow)
            if clash := min(seen & first, default=None) or _find_clash(part, follow):
                return clash
            seen |= first
    elif node.kind == "repeat":
        first = _find_first_characters(node.parts[0])
        if node.minimum != node.maximum and first & follow:
            return min(first & follow)
        return _find_clash(node.parts[0], follow if node.maximum == 1 else first | follow)
    return None


# What one more turn of a repeat costs, in steps; a turn of an unbounded repeat of one character costs 1.
_GROUP_STEPS = 32  # the repeated part is not one character
_CHOICE_STEPS = 10  # in addition, if `re` can backtrack into that part
_BOUNDED_STEPS = 3  # the repeated part is one character, and the repeat has a maximum


def _count_steps(node: PatternNode, after: int, follow: Characters) -> int:
    """Return how many steps `re` takes at most for a node and the rest of the pattern, from one position of a text.

    The rest takes `after` steps, and begins with the characters `follow`. The counts of alternatives and repeats stop
    at `limits.PATTERN_STEPS`.
    """
    if node.kind == "all":
        for part in reversed(node.parts):
            after = _count_steps(part, after, follow)
            follow = _find_next_characters(part, follow)
        return after - _count_saved_steps(node)
    if node.kind == "any":
        return min(limits.PATTERN_STEPS, sum(1 + _count_steps(part, after, follow) for part in node.parts))
    if node.kind == "repeat":
        return _count_repeat_steps(node, after, follow)
    return after + 1


def _count_repeat_steps(node: PatternNode, after: int, follow: Characters) -> int:
    """Return how many steps a repeat and the rest of the pattern take at most, as `_count_steps` does."""
    item = node.parts[0]
    first = _find_first_characters(item)
    # At the end of the pattern there is a match as soon as there are enough turns.
    if not after and not follow:
        return node.minimum * _count_steps(item, 0, first)
    # If no character can both continue and follow the repeat, the next one decides.
    leaving = after if first & follow or not follow else 1
    entering = _GROUP_STEPS + _CHOICE_STEPS * _has_choice(item)
    if item.kind == "test":
        entering = 1 if node.maximum is None else _BOUNDED_STEPS
    # Nothing in an unbounded repeat is ambiguous, so that its turns add up and do not multiply.
    if node.is_unbounded:
        times = node.maximum or limits.PATTERN_TEXT // (_find_match_width(item) or 1)
        return min(limits.PATTERN_STEPS, times * (entering + _count_steps(item, 0, first | follow) + leaving) + after)
    for count in range(node.maximum or 0, 0, -1):
        steps = entering + _count_steps(item, after, first | follow)
        if count > node.minimum:  # the repeat can also end before this turn
            steps += leaving
        after = min(limits.PATTERN_STEPS, steps)
    return after


def _has_choice(node: PatternNode) -> bool:
    """Return True if `re` can backtrack into the node. Alternatives of one character each are a set to `re`."""
    is_set = all(len(option.parts) == 1 and option.parts[0].kind == "test" for option in node.parts)
    return node.kind == "repeat" or (node.kind == "any" and not is_set) or any(map(_has_choice, node.parts))


def _count_saved_steps(node: PatternNode) -> int:
    """Return the steps to subtract for a word at the start of a node, such as `service`.

    Of its `n` letters only 2 + n // 4 count, since at most positions of a text the first ones do not match.
    """
    length = len(list(takewhile(lambda part: part.kind == "test", node.parts)))
    return max(0, length - 2 - length // 4)


def _is_fast(steps: int) -> bool:
    """Return True if this many steps from each position of the longest text are within the limit."""
    return limits.PATTERN_TEXT * steps <= limits.PATTERN_STEPS


def _plan_source(tree: PatternNode, text: JsonString) -> str:
    """Return the pattern as `re` is to run it: unchanged if it is fast, or else searched without backtracking.

    Raises `_RefusedPattern` if it takes long on some text in either form.
    """
    if _is_fast(_count_steps(tree, 0, NO_CHARACTERS)):
        return text.value
    source = _remove_backtracking(tree, text.value)
    if source is None:
        raise _RefusedPattern(catalogue.slow_pattern(text.subspan(0, len(text.value))))
    return source


def _remove_backtracking(tree: PatternNode, text: str) -> str | None:
    """Return an equivalent of a pattern with two `.*` that searches the first one without backtracking.

    Returns None if the pattern is of any other form, or is still not fast.
    """
    gaps = [n for n, part in enumerate(tree.parts) if part.kind == "repeat" and part.maximum is None]
    if tree.kind != "all" or len(gaps) != 2:
        return None
    first, second = gaps
    first_text, second_text = (tree.parts[n].extract_text(text).rstrip("?") for n in gaps)
    middle = tree.parts[first + 1 : second]
    # The nearest match of the middle is enough only if all its matches have one length and are within a line.
    has_fixed_width = bool(middle) and all(_find_match_width(part) is not None for part in middle)
    is_steady = has_fixed_width and all("\n" not in _collect_characters(part) for part in middle)
    after = _count_steps(replace(tree, parts=tree.parts[second:]), 0, NO_CHARACTERS)
    after += limits.PATTERN_TEXT * (1 + _count_steps(replace(tree, parts=middle), 0, NO_CHARACTERS))
    steps = _count_steps(replace(tree, parts=tree.parts[:first]), after, NO_CHARACTERS)
    if not {first_text, second_text} <= {".*", ".+"} or not is_steady or not _is_fast(steps):
        return None
    gap = tree.parts[first]
    next_start = tree.parts[second].start
    return f"{text[: gap.start]}(?>{first_text}?{text[gap.end : next_start]}){text[next_start:]}"


def _collect_characters(node: PatternNode) -> Characters:
    """Return the sampled characters that any test in a node accepts."""
    return node.accepts.union(*map(_collect_characters, node.parts))


def _find_match_width(node: PatternNode) -> int | None:
    """Return the number of characters of every match; None if matches differ in length."""
    if node.kind in ("test", "place"):
        return int(node.kind == "test")
    if node.minimum != node.maximum:
        return None
    widths = [width for part in node.parts if (width := _find_match_width(part)) is not None]
    if len(widths) < len(node.parts) or (node.kind == "any" and len(set(widths)) > 1):
        return None
    if node.kind == "all":
        return sum(widths)
    return widths[0] * node.minimum
