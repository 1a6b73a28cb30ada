"""Plan the module of checked requests: names, and code for every piece of evidence and request.

In: `model.Requests`. Out: the template's variables. Equal evidence is one entry, whatever names the requests give it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from formulaseed.backends.python.code import (
    Code,
    CodeLine,
    addresses_a_tool,
    annotate,
    comment_text,
    docstring_text,
    literal,
    tuple_text,
)
from formulaseed.backends.python.names import FRAME_NAMES, Names, make_word
from formulaseed.backends.python.plan import Variables, plan_both_builds
from formulaseed.requests.explain import describe_evidence
from formulaseed.requests.model import Condition, Evidence, ItemMeta, Node, Request, Requests, conditions, plan_call
from formulaseed.source.printing import number_of


def plan_requests(program: Requests, *, path: str, sha256: str, style: str) -> tuple[Variables, Variables]:
    """Return the variables of a module of requests, and those of its comment-free build."""
    return plan_both_builds(partial(_plan_variables, program), path, sha256, style)


def _plan_variables(program: Requests, header: Code, sha256: str, *, bare: bool) -> Variables:
    """Return the variables of the template; without descriptions and comments if `bare`.

    Equal evidence is planned once. Requests without a gold restaurant are left out of `gold`.
    """
    keys: dict[Evidence, Code] = {}
    condition_lines = _print_conditions(program, keys, bare=bare)
    title = f"{program.name}: {number_of(len(program.requests), 'request')}"
    gold = [
        Code(f"{literal(request.id)}: {literal(request.gold_restaurant)}")
        for request in program.requests
        if request.gold_restaurant is not None
    ]
    return {
        "about": Code("") if bare else docstring_text(title),
        "header": header,
        "name": literal(program.name),
        "sha256": literal(sha256),
        "gold": gold,
        "conditions": condition_lines,
        "requests": [_print_request(request, keys, bare=bare) for request in program.requests],
    }


def _print_conditions(program: Requests, keys: dict[Evidence, Code], *, bare: bool) -> list[CodeLine]:
    """Return the entry of each distinct piece of evidence, and add the evidence with its key, a literal, to `keys`.

    The first request that uses the evidence decides its key and place. Each has a comment, except evidence of
    attributes; none has one if `bare`.
    """
    names = Names(FRAME_NAMES)
    lines: list[CodeLine] = []
    for condition in (leaf for request in program.requests for leaf in conditions(request.structure)):
        evidence = condition.evidence
        if evidence in keys:
            continue
        keys[evidence] = literal(names.add_local(make_word(condition.aspect, "condition")))
        comment = ""
        # The call for an attribute says as much as a comment would.
        if not bare and not isinstance(evidence, ItemMeta):
            comment = describe_evidence(evidence)
        if addresses_a_tool(comment):
            comment = f"evidence: {comment}"
        lines.append(annotate(f"{keys[evidence]}: {_print_evidence(evidence)},", comment_text(comment), 8))
    return lines


def _print_request(request: Request, keys: Mapping[Evidence, Code], *, bare: bool) -> CodeLine:
    """Return the entry of a request, below a comment with its text, or else its shorthand, unless `bare`."""
    entry = Code(f"{literal(request.id)}: {_print_node(request.structure, keys)},")
    if bare:
        return CodeLine(entry)
    text = f"{request.scenario}: {request.text}" if request.text else request.shorthand
    comment: str = comment_text(text)
    for prefix in (f"{comment_text(request.id)}:", "request"):
        if addresses_a_tool(comment):
            comment = f"{prefix} {comment}"
    return CodeLine(entry, above=(Code(comment),))


def _print_node(node: Node, keys: Mapping[Evidence, Code]) -> Code:
    """Print the expression of a structure: `and_` and `or_` over `has[key]`; a single argument stands alone.

    `keys` has the key of each condition's evidence.
    """
    if isinstance(node, Condition):
        return Code(f"has[{keys[node.evidence]}]")
    parts = [_print_node(arg, keys) for arg in node.args]
    if len(parts) == 1:
        return parts[0]
    function = "and_" if node.op == "AND" else "or_"
    return Code(f"{function}({', '.join(parts)})")


def _print_evidence(evidence: Evidence) -> Code:
    """Print the call that evaluates a piece of evidence; options that have their defaults are left out."""
    call = plan_call(evidence)
    data = ("restaurant", "background") if call.needs_background else ("restaurant",)
    arguments = [*data, *map(_print_argument, call.arguments)]
    arguments += [f"{name}={_print_argument(value)}" for name, value in call.options.items()]
    return Code(f"{call.function.__name__}({', '.join(arguments)})")


def _print_argument(value: object) -> Code:
    """Print a value, or a tuple of values, as a literal. Raises `TypeError` for any other object."""
    if isinstance(value, tuple):
        return Code(tuple_text([_print_argument(part) for part in value]))
    if value is None or isinstance(value, str | int | float):
        return literal(value)
    raise TypeError(f"no literal for {type(value).__name__}")
