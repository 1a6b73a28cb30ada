"""A request's structure and its shorthand: whether the two say the same, and the one made from the other.

In: a checked structure and a parsed shorthand. Out: the shorthand of the structure, or where the two disagree. Arguments
may be in any order, and a condition may have another name in the shorthand; operators, nesting, the number of
arguments, and what `HOP` says of friends and patterns must be those of the structure. A junction of one argument is
that argument.
"""

from __future__ import annotations

from collections.abc import Sequence

from formulaseed.diagnostics.catalogue import requests as catalogue
from formulaseed.diagnostics.model import Diagnostic, Problems
from formulaseed.requests import model
from formulaseed.requests.shorthand import Hop, Junction, Name, Shorthand, as_name, parse_shorthand, print_shorthand
from formulaseed.source.json_reader import JsonString


def shorthand_of(node: model.Node) -> str:
    """The shorthand of a structure, in its canonical text."""
    return print_shorthand(shorthand_tree(node))


def shorthand_tree(node: model.Node) -> Shorthand:
    """The shorthand of a structure, as a tree: conditions by aspect, or by social filter if the evidence has one."""
    if isinstance(node, model.Condition):
        return _hop(node) or Name(node.span, as_name(node.aspect))
    if len(node.args) == 1:
        return shorthand_tree(node.args[0])
    return Junction(node.span, node.op, tuple(map(shorthand_tree, node.args)))


def check_shorthand(structure: model.Node | None, text: JsonString, problems: Problems) -> None:
    """Parse a request's shorthand and compare it with the structure, if that could be read; report what is wrong.

    All of it warnings: the structure decides.
    """
    shorthand = parse_shorthand(text, problems)
    if shorthand is not None and structure is not None:
        for found in disagreements(structure, shorthand):
            problems.report(found)


def disagreements(structure: model.Node, shorthand: Shorthand) -> list[Diagnostic]:
    """Where the two differ; nothing where the shorthand says what the structure says."""
    return _Comparison().differences(shorthand_tree(structure), _without_single(shorthand), "")


def _hop(condition: model.Condition) -> Hop | None:
    evidence = condition.evidence
    if isinstance(evidence, model.SocialRating):
        return Hop(condition.span, evidence.social_filter.hops, evidence.social_filter.friends, None)
    if isinstance(evidence, model.ReviewText | model.Sentiment) and evidence.social_filter is not None:
        said = evidence.pattern if isinstance(evidence, model.ReviewText) else evidence.topic
        return Hop(condition.span, evidence.social_filter.hops, evidence.social_filter.friends, said)
    return None


def _without_single(tree: Shorthand) -> Shorthand:
    """The tree without junctions of one argument."""
    if not isinstance(tree, Junction):
        return tree
    args = tuple(map(_without_single, tree.args))
    return args[0] if len(args) == 1 else Junction(tree.span, tree.op, args)


class _Comparison:
    """Compares a structure's tree with a shorthand's. Remembers which parts agree: arguments are tried in any order."""

    def __init__(self) -> None:
        self.known: dict[tuple[int, int], bool] = {}

    def agree(self, wanted: Shorthand, said: Shorthand) -> bool:
        key = id(wanted), id(said)
        if key not in self.known:
            self.known[key] = self._agree(wanted, said)
        return self.known[key]

    def _agree(self, wanted: Shorthand, said: Shorthand) -> bool:
        if isinstance(wanted, Junction) and isinstance(said, Junction):
            same = wanted.op == said.op and len(wanted.args) == len(said.args)
            return same and len(self.pairs(wanted.args, said.args)) == len(said.args)
        if isinstance(said, Hop):
            return _key(wanted) == _key(said)
        return isinstance(said, Name) and not isinstance(wanted, Junction)

    def pairs(self, wanted: Sequence[Shorthand], said: Sequence[Shorthand]) -> dict[int, int]:
        """Which of `wanted` each of `said` is, by index, for as many as can be."""
        places: dict[object, list[int]] = {}
        for i in reversed(range(len(wanted))):
            places.setdefault(_key(wanted[i]), []).append(i)
        taken = {places[_key(tree)].pop(): j for j, tree in enumerate(said) if places.get(_key(tree))}
        # A name may be that of any condition; those with a social filter come last, so that a wrong `HOP` finds its own.
        names = [j for j, tree in enumerate(said) if isinstance(tree, Name) and j not in taken.values()]
        leaves = [i for i, tree in enumerate(wanted) if not isinstance(tree, Junction) and i not in taken]
        taken.update(zip(sorted(leaves, key=lambda i: isinstance(wanted[i], Hop)), names, strict=False))
        left = [j for j, tree in enumerate(said) if isinstance(tree, Junction) and j not in taken.values()]
        fitting: dict[int, list[int]] = {}

        def place(j: int, tried: set[int]) -> bool:
            """Find one of `wanted` for a junction too, if others can make way for it."""
            if j not in fitting:
                fitting[j] = [i for i, tree in enumerate(wanted) if self.agree(tree, said[j])]
            for i in sorted(fitting[j], key=lambda i: i in taken):
                if i not in tried:
                    tried.add(i)
                    if i not in taken or place(taken[i], tried):
                        taken[i] = j
                        return True
            return False

        for j in left:
            place(j, set())
        return {j: i for i, j in taken.items()}

    def differences(self, wanted: Shorthand, said: Shorthand, where: str) -> list[Diagnostic]:
        if self.agree(wanted, said):
            return []
        if not (isinstance(wanted, Junction) and isinstance(said, Junction) and wanted.op == said.op):
            return [catalogue.disagreement(said.span, where, _part(said), _part(wanted))]
        if len(wanted.args) != len(said.args):
            counts = len(said.args), len(wanted.args)
            return [catalogue.arguments_disagree(said.span, where, said.op, *counts, print_shorthand(wanted))]
        pairs = self.pairs(wanted.args, said.args)
        left = [tree for i, tree in enumerate(wanted.args) if i not in pairs.values()]
        found: list[Diagnostic] = []
        for j, argument in enumerate(said.args):
            if j not in pairs:
                other = min(left, key=lambda tree: _unlike(tree, argument))
                left = [tree for tree in left if tree is not other]
                found += self.differences(other, argument, catalogue.argument_of(j, said.op, where))
        return found


def _key(tree: Shorthand) -> object:
    """Equal for parts that say the same: friends may be in any order."""
    return (tree.hops, frozenset(tree.friends), tree.pattern) if isinstance(tree, Hop) else tree


def _unlike(wanted: Shorthand, said: Shorthand) -> tuple[bool, bool]:
    """How little two parts that differ look like one another, so that those which do are reported together."""
    if isinstance(wanted, Junction) and isinstance(said, Junction):
        return False, wanted.op != said.op
    return isinstance(wanted, Junction) or isinstance(said, Junction), isinstance(wanted, Hop) != isinstance(said, Hop)


def _part(tree: Shorthand) -> tuple[str, bool]:
    return print_shorthand(tree), isinstance(tree, Name)
