"""A request's structure and its shorthand: whether the two say the same, and the one made from the other.

In: a checked structure and a parsed shorthand. Out: the shorthand of the structure, or where the two disagree. Arguments
may stand in any order, and a condition may have another name in the shorthand; operators, nesting, the number of
arguments, and what `HOP` says of friends and patterns must be those of the structure. A junction of one argument is
that argument.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from formulaseed.diagnostics.model import Problems
from formulaseed.requests import model
from formulaseed.requests.shorthand import Hop, Junction, Name, Shorthand, as_name, parse_shorthand, print_shorthand
from formulaseed.source.json_reader import JsonString
from formulaseed.source.text import Span

_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
_SHOWN = 60
_HELPFUL = 200
"""So many characters of a shorthand are shown in a message and in a help line."""


class Disagreement(NamedTuple):
    """One difference. `span` is that of the shorthand's part."""

    message: str
    help: str
    span: Span


def shorthand_of(node: model.Node) -> str:
    """The shorthand of a structure, in its canonical text."""
    return print_shorthand(shorthand_tree(node))


def shorthand_tree(node: model.Node) -> Shorthand:
    """The shorthand of a structure, as a tree: conditions by aspect, or by circle where the evidence has one."""
    if isinstance(node, model.Condition):
        return _circle(node) or Name(node.span, as_name(node.aspect))
    if len(node.args) == 1:
        return shorthand_tree(node.args[0])
    return Junction(node.span, node.op, tuple(map(shorthand_tree, node.args)))


def check_shorthand(structure: model.Node | None, text: JsonString, problems: Problems) -> None:
    """Parse a request's shorthand and compare it with the structure, if that could be read; report what is wrong.

    All of it warnings: the structure decides.
    """
    shorthand = parse_shorthand(text, problems)
    if shorthand is not None and structure is not None:
        for message, help, span in disagreements(structure, shorthand):
            problems.add("FS814", span, message, help)


def disagreements(structure: model.Node, shorthand: Shorthand) -> list[Disagreement]:
    """Where the two differ; nothing where the shorthand says what the structure says."""
    return _Comparison().differences(shorthand_tree(structure), _bare(shorthand), "")


def _circle(condition: model.Condition) -> Hop | None:
    evidence = condition.evidence
    if isinstance(evidence, model.SocialRating):
        return Hop(condition.span, evidence.social_filter.hops, evidence.social_filter.friends, None)
    if isinstance(evidence, model.ReviewText | model.Sentiment) and evidence.social_filter is not None:
        said = evidence.pattern if isinstance(evidence, model.ReviewText) else evidence.topic
        return Hop(condition.span, evidence.social_filter.hops, evidence.social_filter.friends, said)
    return None


def _bare(tree: Shorthand) -> Shorthand:
    """The tree without junctions of one argument."""
    if not isinstance(tree, Junction):
        return tree
    return _bare(tree.args[0]) if len(tree.args) == 1 else Junction(tree.span, tree.op, tuple(map(_bare, tree.args)))


class _Comparison:
    """Compares a structure's tree with a shorthand's. Remembers which parts agree: arguments are tried in any order."""

    def __init__(self) -> None:
        self.known: dict[tuple[int, int], bool] = {}

    def agree(self, meant: Shorthand, said: Shorthand) -> bool:
        key = id(meant), id(said)
        if key not in self.known:
            self.known[key] = self._agree(meant, said)
        return self.known[key]

    def _agree(self, meant: Shorthand, said: Shorthand) -> bool:
        if isinstance(meant, Junction) and isinstance(said, Junction):
            same = meant.op == said.op and len(meant.args) == len(said.args)
            return same and len(self.pairs(meant.args, said.args)) == len(said.args)
        if isinstance(said, Hop):
            return _key(meant) == _key(said)
        return isinstance(said, Name) and not isinstance(meant, Junction)

    def pairs(self, meant: Sequence[Shorthand], said: Sequence[Shorthand]) -> dict[int, int]:
        """Which of `meant` each of `said` stands for, by index, for as many as can be."""
        places: dict[object, list[int]] = {}
        for i in reversed(range(len(meant))):
            places.setdefault(_key(meant[i]), []).append(i)
        taken = {places[_key(tree)].pop(): j for j, tree in enumerate(said) if places.get(_key(tree))}
        # A name may stand for any condition; those with a circle come last, so that a wrong `HOP` finds its own.
        matched = set(taken.values())
        names = [j for j, tree in enumerate(said) if isinstance(tree, Name) and j not in matched]
        leaves = [i for i, tree in enumerate(meant) if not isinstance(tree, Junction) and i not in taken]
        taken.update(zip(sorted(leaves, key=lambda i: isinstance(meant[i], Hop)), names, strict=False))
        for j, tree in enumerate(said):
            if isinstance(tree, Junction) and j not in matched:
                self.augment(taken, meant, said, j)
        return {j: i for i, j in taken.items()}

    def augment(self, taken: dict[int, int], meant: Sequence[Shorthand], said: Sequence[Shorthand], start: int) -> None:
        """Find one of `meant` for `start` too, if others can make way: a shortest augmenting path, breadth first.

        `taken` says which of `said` each of `meant` is taken by.
        """
        reached: dict[int, int] = {}  # of meant, and from which of said
        queue = [start]
        for j in queue:
            for i in sorted((i for i in range(len(meant)) if i not in reached), key=lambda i: i != j):
                if not self.agree(meant[i], said[j]):
                    continue
                reached[i] = j
                if i in taken:
                    queue.append(taken[i])
                    continue
                given: int | None = i
                while given is not None:
                    to = reached[given]
                    left = next((other for other, owner in taken.items() if owner == to), None)
                    taken[given], given = to, left
                return

    def differences(self, meant: Shorthand, said: Shorthand, where: str) -> list[Disagreement]:
        if self.agree(meant, said):
            return []
        if not (isinstance(meant, Junction) and isinstance(said, Junction) and meant.op == said.op):
            return [_difference(meant, said, where)]
        if len(meant.args) != len(said.args):
            inside = f"in {where}, " if where else ""
            counts = f"{len(said.args)} arguments in the shorthand and {len(meant.args)} in the structure"
            return [Disagreement(f"{inside}`{said.op}` has {counts}", _help(meant), said.span)]
        pairs = self.pairs(meant.args, said.args)
        left = [tree for i, tree in enumerate(meant.args) if i not in pairs.values()]
        found: list[Disagreement] = []
        for j, argument in enumerate(said.args):
            if j not in pairs:
                other = min(left, key=lambda tree: _unlike(tree, argument))
                left = [tree for tree in left if tree is not other]
                found += self.differences(other, argument, _place(j, said.op, where))
        return found


def _key(tree: Shorthand) -> object:
    """Equal for parts that say the same: friends may stand in any order."""
    return (tree.hops, frozenset(tree.friends), tree.pattern) if isinstance(tree, Hop) else tree


def _unlike(meant: Shorthand, said: Shorthand) -> tuple[bool, bool]:
    """How little two parts that differ look like one another, so that those which do are told together."""
    if isinstance(meant, Junction) and isinstance(said, Junction):
        return False, meant.op != said.op
    return isinstance(meant, Junction) or isinstance(said, Junction), isinstance(meant, Hop) != isinstance(said, Hop)


def _difference(meant: Shorthand, said: Shorthand, where: str) -> Disagreement:
    message = f"{where or 'the request'} is {_what(said)} in the shorthand and {_what(meant)} in the structure"
    return Disagreement(message, _help(meant), said.span)


def _what(tree: Shorthand) -> str:
    text = print_shorthand(tree)
    shown = text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
    return f"the condition `{shown}`" if isinstance(tree, Name) else f"`{shown}`"


def _help(meant: Shorthand) -> str:
    text = print_shorthand(meant)
    if len(text) > _HELPFUL:
        return "write what `formulaseed shorthand --print` shows of the structure, or change the structure"
    return f"write `{text}` here, or change the structure"


def _place(index: int, op: str, where: str) -> str:
    which = f"the {_ORDINALS[index]} argument" if index < len(_ORDINALS) else f"argument {index + 1}"
    return f"{which} of `{op}`{f' in {where}' if where else ''}"
