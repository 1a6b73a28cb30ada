"""Read the notes on a policy, `policy.json`: the sentences that state no rule, and the known gaps."""

from __future__ import annotations

from dataclasses import dataclass

from formulaseed import limits
from formulaseed.diagnostics.catalogue import policy as catalogue
from formulaseed.diagnostics.model import Problems
from formulaseed.seed.citations import Policy, normalize
from formulaseed.seed.read.shape import Shape
from formulaseed.source.json_reader import JsonString, JsonValue

NOTES_FILE = "policy.json"
_KEYS = ("no_rule", "gaps")


@dataclass(frozen=True, slots=True)
class PolicyNotes:
    """The sentences of a policy that state no rule, and the known `gaps` between the policy and its seed."""

    no_rule: tuple[str, ...] = ()
    gaps: tuple[str, ...] = ()


def read_policy_notes(tree: JsonValue, policy: Policy, problems: Problems) -> PolicyNotes:
    """Read notes from JSON. Reports wrong shapes, and sentences in `no_rule` that `policy` does not contain."""
    shape = Shape(problems)
    section = shape.read_object(tree, "the file", '{"no_rule": ["…"], "gaps": []}')
    if section is None:
        return PolicyNotes()
    shape.report_unknown_keys(section, _KEYS, "the notes on a policy")
    texts: list[list[JsonString]] = []
    for key in _KEYS:
        items = shape.read_list(section.get(key), f"`{key}`", limits.POLICY_NOTES)
        texts.append([text for item in items if (text := shape.read_text(item, f"an item of `{key}`")) is not None])
    no_rule, gaps = texts
    for text in no_rule:
        if not policy.find(text.value):
            problems.report(catalogue.sentence_not_in_policy(text.span, "`no_rule`", normalize(text.value)))
    return PolicyNotes(tuple(text.value for text in no_rule), tuple(text.value for text in gaps))
