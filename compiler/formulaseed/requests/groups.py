"""The ten groups of requests, the pattern that a structure of each has, and a new request of each to fill in.

The request structure reference prints one pattern a group with a single anchor. Requests of that benchmark have any
number of anchors, none too, and their G02 to G04 are flat `AND`s distinguished by what they look at. Both count here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from formulaseed.diagnostics.model import Problems
from formulaseed.requests import model as ir
from formulaseed.requests.shorthand import Hop, Name, Shorthand, parse_shorthand, print_shorthand
from formulaseed.source.json_reader import Plain
from formulaseed.source.text import Source


@dataclass(frozen=True, slots=True)
class Group:
    """A group's name and pattern as the reference prints them, and the test of a structure."""

    name: str
    pattern: str
    fits: Callable[[_Parts], bool]
    meaning: str
    """The test in words."""


@dataclass(frozen=True, slots=True)
class _Parts:
    """A structure taken apart: the conditions that must hold, and the junctions beside them."""

    structure: ir.Node
    anchors: tuple[ir.Condition, ...]
    blocks: tuple[ir.Junction, ...]

    @property
    def flat(self) -> bool:
        return not self.blocks and bool(self.anchors)

    def looks_at(self, *kinds: type) -> bool:
        return any(isinstance(condition.evidence, kinds) for condition in self.anchors)

    def hops(self) -> set[int]:
        filters = (getattr(found.evidence, "social_filter", None) for found in ir.conditions(self.structure))
        return {found.hops for found in filters if found is not None}


def _parts(structure: ir.Node) -> _Parts:
    """An `OR` at the top is a block without anchors."""
    args = structure.args if isinstance(structure, ir.Junction) and structure.op == "AND" else (structure,)
    anchors = tuple(arg for arg in args if isinstance(arg, ir.Condition))
    return _Parts(structure, anchors, tuple(arg for arg in args if isinstance(arg, ir.Junction)))


def _or_of(block: ir.Junction, conditions: int = 0, ands: int = 0, *, exactly: bool = False) -> bool:
    """Whether a block is an `OR` of so many conditions and so many `AND`s of conditions, at least or exactly."""
    plain = sum(isinstance(arg, ir.Condition) for arg in block.args)
    joined = [arg for arg in block.args if isinstance(arg, ir.Junction)]
    if block.op != "OR" or not all(_is_flat_and(arg) for arg in joined):
        return False
    enough = plain >= conditions and len(joined) >= ands
    return enough and (not exactly or (bool(plain), bool(joined)) == (bool(conditions), bool(ands)))


def _is_flat_and(node: ir.Junction) -> bool:
    return node.op == "AND" and all(isinstance(arg, ir.Condition) for arg in node.args)


def _one_or(parts: _Parts, conditions: int = 0, ands: int = 0) -> bool:
    return len(parts.blocks) == 1 and _or_of(parts.blocks[0], conditions, ands, exactly=True)


def _several_ors(parts: _Parts) -> bool:
    return len(parts.blocks) >= 2 and all(_or_of(block, 2, exactly=True) for block in parts.blocks)


_REVIEWS = (ir.ReviewText, ir.ReviewMeta, ir.GroupRating, ir.NotOnlyEasyRaters, ir.Sentiment, ir.SocialRating)

GROUPS: dict[str, Group] = {
    "G01": Group("Simple AND", "AND(a, b, c)", lambda p: p.flat, "a plain `AND` of conditions"),
    "G02": Group(
        "Simple OR", "AND(anchor, OR(a, b))", lambda p: _one_or(p, 2) or (p.flat and p.looks_at(*_REVIEWS)),
        "an `OR` of conditions with its anchors, or an `AND` that looks at reviews",
    ),
    "G03": Group(
        "AND-OR Combination", "AND(a, OR(b, c))", lambda p: _one_or(p, 2) or (p.flat and p.looks_at(ir.ItemHours)),
        "an `OR` of conditions with its anchors, or an `AND` that looks at opening hours",
    ),
    "G04": Group(
        "Review Metadata Weighting", "AND(a, review_meta_*)", lambda p: p.flat and p.looks_at(*_REVIEWS),
        "a plain `AND` in which a condition looks at reviews",
    ),
    "G05": Group(
        "Triple OR with Anchor", "AND(a, OR(b, c, d))", lambda p: _one_or(p, 3),
        "an `OR` of three conditions or more, with or without anchors",
    ),
    "G06": Group(
        "Nested OR+AND", "AND(a, OR(AND(b,c), AND(d,e)))", lambda p: _one_or(p, 0, 2),
        "an `OR` of two `AND`s or more, with or without anchors",
    ),
    "G07": Group("Chained OR", "AND(a, OR(b,c), OR(d,e))", _several_ors, "two `OR`s of conditions, or more"),
    "G08": Group(
        "Unbalanced Structure", "AND(a, OR(b, AND(c,d)))", lambda p: _one_or(p, 1, 1),
        "an `OR` of a condition and an `AND`, with or without anchors",
    ),
    "G09": Group(
        "Direct Friends (1-hop)", "1HOP([friends], pattern)", lambda p: p.hops() == {1},
        "a condition with a social filter of one hop, and none of two",
    ),
    "G10": Group(
        "Social Circle (2-hop)", "2HOP([friends], pattern)", lambda p: 2 in p.hops(),
        "a condition with a social filter of two hops",
    ),
}  # fmt: skip
"""The table of groups."""


def group_of(id: str) -> str:
    """The group of an id: R01 to R10 are G01, R91 to R100 are G10."""
    return f"G{(int(id[1:]) - 1) // 10 + 1:02d}"


def fits(group: str, structure: ir.Node) -> bool:
    """Whether a structure has its group's pattern."""
    return GROUPS[group].fits(_parts(structure))


# --- a new request

PATTERNS = {
    "G01": "AND(condition_a, condition_b, condition_c)",
    "G02": "AND(condition_a, OR(condition_b, condition_c))",
    "G03": "AND(condition_a, OR(condition_b, condition_c))",
    "G04": "AND(condition_a, condition_b_by_experts)",
    "G05": "AND(condition_a, OR(condition_b, condition_c, condition_d))",
    "G06": "AND(condition_a, OR(AND(condition_b, condition_c), AND(condition_d, condition_e)))",
    "G07": "AND(condition_a, OR(condition_b, condition_c), OR(condition_d, condition_e))",
    "G08": "AND(condition_a, OR(condition_b, AND(condition_c, condition_d)))",
    "G09": "1HOP(['<friend>'], '<pattern>')",
    "G10": "2HOP(['<friend>'], '<pattern>')",
}
"""The shorthand of each group's template: what is to be filled in is in `<` and `>`, or a name `condition_…`."""

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

_EXPERTS = "_by_experts"


def request_template(group: str) -> dict[str, Plain]:
    """A request of a group, one of `PATTERNS`."""
    pattern = parse_shorthand(Source("<pattern>", PATTERNS[group]), Problems())
    assert pattern is not None, "the patterns are shorthands"
    structure = _template(pattern, in_or=False)
    return {
        "id": "R<NN>",
        "group": group,
        "scenario": "<Persona Name>",
        "text": "Looking for a cafe that <...>",
        "shorthand": print_shorthand(pattern),
        "structure": structure if "op" in structure else {"op": "AND", "args": [structure]},
        "gold_restaurant": "<business_id>",
    }


def _template(tree: Shorthand, *, in_or: bool) -> dict[str, Plain]:
    """The anchor is a fact of the restaurant, alternatives are what reviews say."""
    if isinstance(tree, Name):
        return {"aspect": tree.text, "evidence": _template_evidence(tree.text, in_or)}
    if isinstance(tree, Hop):
        friends: dict[str, Plain] = {"friends": list(tree.friends), "hops": tree.hops}
        evidence: dict[str, Plain] = {"kind": "review_text", "pattern": tree.pattern}
        return {"aspect": "social_condition", "evidence": {**evidence, "social_filter": friends, "min_matches": 1}}
    return {"op": tree.op, "args": [_template(arg, in_or=in_or or tree.op == "OR") for arg in tree.args]}


def _template_evidence(name: str, in_or: bool) -> dict[str, Plain]:
    which = name.removeprefix("condition_").removesuffix(_EXPERTS)
    if name.endswith(_EXPERTS):
        weight: dict[str, Plain] = {"field": ["user", "review_count"]}
        return {"kind": "review_text", "pattern": f"<pattern {which}>", "weight_by": weight}
    if in_or:
        return {"kind": "review_text", "pattern": f"<pattern {which}>"}
    return {"kind": "item_meta", "path": ["attributes", f"<attribute {which}>"], "true": "True"}
