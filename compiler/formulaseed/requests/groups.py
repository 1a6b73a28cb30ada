"""Define the ten groups of requests: the pattern that a structure of each has, and a new request of each to fill in.

The request structure reference prints one pattern a group with a single anchor. Requests of that benchmark have any
number of anchors, also none, and their G02 to G04 are flat `AND`s distinguished by kinds of evidence. Both count here.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from formulaseed.diagnostics.model import Problems
from formulaseed.requests import model as ir
from formulaseed.requests.shorthand import AspectName, Hop, Shorthand, parse_shorthand, print_shorthand
from formulaseed.source.json_reader import Plain
from formulaseed.source.text import Source


@dataclass(frozen=True, slots=True)
class Group:
    """A group of requests: its name and pattern as the reference prints them, and a test of a structure.

    `accepts` returns True for a structure with the group's pattern, and `meaning` says this in words. `template` is the
    shorthand of a new request: the places to fill in are in `<` and `>`, or are names `condition_…`.
    """

    name: str
    pattern: str
    template: str
    accepts: Callable[[_StructureParts], bool]
    meaning: str


@dataclass(frozen=True, slots=True)
class _StructureParts:
    """The parts of a structure: its anchors, which are the conditions that must hold, and its blocks, which are junctions."""

    structure: ir.Node
    anchors: tuple[ir.Condition, ...]
    blocks: tuple[ir.Junction, ...]

    @property
    def is_flat(self) -> bool:
        """True if there are only anchors."""
        return not self.blocks and bool(self.anchors)

    def has_evidence(self, *kinds: type) -> bool:
        """Return True if an anchor has evidence of one of these kinds."""
        return any(isinstance(condition.evidence, kinds) for condition in self.anchors)

    def hops(self) -> set[int]:
        """Return the numbers of hops of all social filters."""
        filters = (getattr(leaf.evidence, "social_filter", None) for leaf in ir.conditions(self.structure))
        return {social_filter.hops for social_filter in filters if social_filter is not None}

    def has_ors(self, min_blocks: int, conditions: int, ands: int = 0) -> bool:
        """Return True if there are at least `min_blocks` blocks, and all are such an `OR` as `_is_or` describes."""
        return len(self.blocks) >= min_blocks and all(_is_or(block, conditions, ands) for block in self.blocks)

    def has_one_or(self, conditions: int, ands: int = 0) -> bool:
        """Return True if there is exactly one block, and it is such an `OR` as `_is_or` describes."""
        return len(self.blocks) == 1 and self.has_ors(1, conditions, ands)


def _is_or(block: ir.Junction, conditions: int, ands: int) -> bool:
    """Return True if a block is an `OR` of at least `conditions` conditions and `ands` `AND`s of conditions.

    A minimum of 0 allows none at all.
    """
    junctions = [arg for arg in block.args if isinstance(arg, ir.Junction)]
    are_flat = all(j.op == "AND" and all(isinstance(arg, ir.Condition) for arg in j.args) for j in junctions)
    counts = ((len(block.args) - len(junctions), conditions), (len(junctions), ands))
    has_enough = all(count >= minimum and bool(count) == bool(minimum) for count, minimum in counts)
    return block.op == "OR" and are_flat and has_enough


_REVIEWS = (ir.ReviewText, ir.ReviewMeta, ir.GroupRating, ir.NotOnlyEasyRaters, ir.Sentiment, ir.SocialRating)
_ONE_OR = "AND(condition_a, OR(condition_b, condition_c))"

GROUPS: dict[str, Group] = {
    "G01": Group("Simple AND", "AND(a, b, c)", "AND(condition_a, condition_b, condition_c)",
                 lambda p: p.is_flat, "a plain `AND` of conditions"),
    "G02": Group("Simple OR", "AND(anchor, OR(a, b))", _ONE_OR,
                 lambda p: p.has_one_or(2) or (p.is_flat and p.has_evidence(*_REVIEWS)),
                 "an `OR` of conditions with its anchors, or an `AND` that looks at reviews"),
    "G03": Group("AND-OR Combination", "AND(a, OR(b, c))", _ONE_OR,
                 lambda p: p.has_one_or(2) or (p.is_flat and p.has_evidence(ir.ItemHours)),
                 "an `OR` of conditions with its anchors, or an `AND` that looks at opening hours"),
    "G04": Group("Review Metadata Weighting", "AND(a, review_meta_*)", "AND(condition_a, condition_b_by_experts)",
                 lambda p: p.is_flat and p.has_evidence(*_REVIEWS), "a plain `AND` in which a condition looks at reviews"),
    "G05": Group("Triple OR with Anchor", "AND(a, OR(b, c, d))",
                 "AND(condition_a, OR(condition_b, condition_c, condition_d))",
                 lambda p: p.has_one_or(3), "an `OR` of three conditions or more, with or without anchors"),
    "G06": Group("Nested OR+AND", "AND(a, OR(AND(b,c), AND(d,e)))",
                 "AND(condition_a, OR(AND(condition_b, condition_c), AND(condition_d, condition_e)))",
                 lambda p: p.has_one_or(0, 2), "an `OR` of two `AND`s or more, with or without anchors"),
    "G07": Group("Chained OR", "AND(a, OR(b,c), OR(d,e))",
                 "AND(condition_a, OR(condition_b, condition_c), OR(condition_d, condition_e))",
                 lambda p: p.has_ors(2, 2), "two `OR`s of conditions, or more"),
    "G08": Group("Unbalanced Structure", "AND(a, OR(b, AND(c,d)))",
                 "AND(condition_a, OR(condition_b, AND(condition_c, condition_d)))",
                 lambda p: p.has_one_or(1, 1), "an `OR` of a condition and an `AND`, with or without anchors"),
    "G09": Group("Direct Friends (1-hop)", "1HOP([friends], pattern)", "1HOP(['<friend>'], '<pattern>')",
                 lambda p: p.hops() == {1}, "a condition with a social filter of one hop, and none of two"),
    "G10": Group("Social Circle (2-hop)", "2HOP([friends], pattern)", "2HOP(['<friend>'], '<pattern>')",
                 lambda p: 2 in p.hops(), "a condition with a social filter of two hops"),
}  # fmt: skip
"""The groups by their ids."""


_BENCHMARK_ID = re.compile(r"R(0[1-9]|[1-9][0-9]|100)")
"""The ids of the request structure reference."""


def find_benchmark_group(id: str) -> str | None:
    """Return the group of an id of the benchmark: R01 to R10 are G01, R91 to R100 are G10; None for any other id."""
    match = _BENCHMARK_ID.fullmatch(id)
    if match is None:
        return None
    return f"G{(int(match[1]) - 1) // 10 + 1:02d}"


def has_group_pattern(group: str, structure: ir.Node) -> bool:
    """Return True if a structure has the pattern of a group, which must be one of `GROUPS`.

    A structure that is no `AND` is a single anchor or block, so that an `OR` at the top is a block without anchors.
    """
    args: tuple[ir.Node, ...] = (structure,)
    if isinstance(structure, ir.Junction) and structure.op == "AND":
        args = structure.args
    anchors = tuple(arg for arg in args if isinstance(arg, ir.Condition))
    blocks = tuple(arg for arg in args if isinstance(arg, ir.Junction))
    return GROUPS[group].accepts(_StructureParts(structure, anchors, blocks))


# --- a new request

GUIDELINES = (
    "start with an anchor: unique or rare conditions first",
    "add complexity: layer OR conditions",
    "validate uniqueness: exactly one restaurant matches",
    "write natural text: the request reads naturally",
    "update the shorthand: keep the notation accurate",
)
CHECKLIST = (
    "the id follows the format R01-R100",
    "the group matches the request's complexity",
    "the scenario is a descriptive persona name",
    "the text is natural language",
    "the shorthand matches the structure",
    "the structure uses valid evidence types",
    "the gold restaurant satisfies all conditions",
    "no other restaurant satisfies all conditions",
)

_EXPERTS_SUFFIX = "_by_experts"


def build_request_template(group: str) -> dict[str, Plain]:
    """Return a new request of a group, with placeholders in `<` and `>`. A single condition is put into an `AND`.

    Raises `KeyError` if `group` is not one of `GROUPS`.
    """
    pattern = parse_shorthand(Source("<template>", GROUPS[group].template), Problems())
    assert pattern is not None, "the templates are shorthands"
    structure = _build_template(pattern, in_or=False)
    return {
        "id": "R<NN>",
        "group": group,
        "scenario": "<Persona Name>",
        "text": "Looking for a cafe that <...>",
        "shorthand": print_shorthand(pattern),
        "structure": structure if "op" in structure else {"op": "AND", "args": [structure]},
        "gold_restaurant": "<business_id>",
    }


def _build_template(tree: Shorthand, *, in_or: bool) -> dict[str, Plain]:
    """Return a structure with placeholders: anchors test attributes of the restaurant, conditions in an `OR` reviews.

    A `HOP` becomes a pattern with a social filter. `in_or` says that the tree is inside of an `OR`.
    """
    if isinstance(tree, AspectName):
        return {"aspect": tree.text, "evidence": _build_template_evidence(tree.text, in_or)}
    if isinstance(tree, Hop):
        friends: dict[str, Plain] = {"friends": list(tree.friends), "hops": tree.hops}
        evidence: dict[str, Plain] = {"kind": "review_text", "pattern": tree.pattern}
        return {"aspect": "social_condition", "evidence": {**evidence, "social_filter": friends, "min_matches": 1}}
    return {"op": tree.op, "args": [_build_template(arg, in_or=in_or or tree.op == "OR") for arg in tree.args]}


def _build_template_evidence(name: str, in_or: bool) -> dict[str, Plain]:
    """Return evidence with placeholders: a pattern for a condition in an `OR`, otherwise a test of an attribute.

    A name that ends in `_by_experts` gets a pattern weighted by credible users.
    """
    letter = name.removeprefix("condition_").removesuffix(_EXPERTS_SUFFIX)
    pattern: dict[str, Plain] = {"kind": "review_text", "pattern": f"<pattern {letter}>"}
    if name.endswith(_EXPERTS_SUFFIX):
        return {**pattern, "weight_by": {"field": ["user", "review_count"]}}
    if in_or:
        return pattern
    return {"kind": "item_meta", "path": ["attributes", f"<attribute {letter}>"], "true": "True"}
