"""A new request to fill in: the structure of a group, with placeholders where an author has to decide.

In: a group. Out: the request as plain JSON values, in the order of the request structure reference, and the reference's
advice for authors. Whatever is to be filled in stands in `<` and `>`, or is a condition's name that begins with
`condition_` or `social_`.
"""

from __future__ import annotations

from formulaseed.diagnostics.model import Problems
from formulaseed.requests.shorthand import Hop, Name, Shorthand, parse_shorthand, print_shorthand
from formulaseed.source.json_reader import Plain
from formulaseed.source.text import Source

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
"""The shorthand of each group's template."""

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
    structure = _node(pattern, in_or=False)
    return {
        "id": "R<NN>",
        "group": group,
        "scenario": "<Persona Name>",
        "text": "Looking for a cafe that <...>",
        "shorthand": print_shorthand(pattern),
        "structure": structure if "op" in structure else {"op": "AND", "args": [structure]},
        "gold_restaurant": "<business_id>",
    }


def _node(tree: Shorthand, *, in_or: bool) -> dict[str, Plain]:
    """The anchor is a fact of the restaurant, alternatives are what reviews say."""
    if isinstance(tree, Name):
        return {"aspect": tree.text, "evidence": _evidence(tree.text, in_or)}
    if isinstance(tree, Hop):
        circle: dict[str, Plain] = {"friends": list(tree.friends), "hops": tree.hops}
        evidence: dict[str, Plain] = {"kind": "review_text", "pattern": tree.pattern}
        return {"aspect": "social_condition", "evidence": {**evidence, "social_filter": circle, "min_matches": 1}}
    return {"op": tree.op, "args": [_node(arg, in_or=in_or or tree.op == "OR") for arg in tree.args]}


def _evidence(name: str, in_or: bool) -> dict[str, Plain]:
    which = name.removeprefix("condition_").removesuffix(_EXPERTS)
    if name.endswith(_EXPERTS):
        weight: dict[str, Plain] = {"field": ["user", "review_count"]}
        return {"kind": "review_text", "pattern": f"<pattern {which}>", "weight_by": weight}
    if in_or:
        return {"kind": "review_text", "pattern": f"<pattern {which}>"}
    return {"kind": "item_meta", "path": ["attributes", f"<attribute {which}>"], "true": "True"}
