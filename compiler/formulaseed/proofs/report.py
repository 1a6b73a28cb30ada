"""Describe proofs and witnesses, as blocks of a document and as JSON."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator

from formulaseed.ir import nodes
from formulaseed.ir.labels import label_of
from formulaseed.language.typed import SymbolKind
from formulaseed.pages.blocks import Block, Heading, InlineCode, Items, ListItem, Paragraph, join_names, sentence
from formulaseed.pages.values import format_plain
from formulaseed.proofs.claims import FAILED, Move, Region, SeedProof, StepRelation, Witness
from formulaseed.proofs.world import Domain

_MAX_KINDS = 6
"""Kinds of reviews of a witness that are listed; further ones are only counted."""
EXAMPLES = "Restaurants below were evaluated; a value such as 0 or “x” in them may be one that does not matter."
_SCOPE = "What is proved holds, up to the rounding of floats, for every restaurant whose inputs are these: "


def describe_witness(program: nodes.Program, witness: Witness) -> str:
    """Return the inputs of a restaurant in words: its reviews, equal ones together, its fields and parameters."""
    kinds = _count_kinds(program, witness)
    size = len(witness.rows)
    listed = [f"{count} with {text}" for text, count in kinds.most_common(_MAX_KINDS)]
    if len(kinds) > _MAX_KINDS:
        listed.append(f"{len(kinds) - _MAX_KINDS} more kinds")
    words = f"{size or 'no'} review{'' if size == 1 else 's'}"
    if len(kinds) > 1:
        words += f" ({'; '.join(listed)})"
    elif any(kinds):
        words += f" ({'each with ' if size > 1 else ''}{next(iter(kinds))})"
    values = {**witness.context, **{f"param.{name}": value for name, value in witness.parameters.items()}}
    shared = ", ".join(f"{name}: {json.dumps(value, ensure_ascii=False)}" for name, value in values.items())
    return f"{words}, and {shared}" if shared else words


def _count_kinds(program: nodes.Program, witness: Witness) -> Counter[str]:
    """Return how many reviews of a witness there are of each kind, which is its fields in words."""
    labels = {(SymbolKind.EXTRACTION.value, field.name): label_of(field) for field in program.fields}
    kinds: Counter[str] = Counter()
    for row in witness.rows:
        fields = [(section, name, value) for section in ("extraction", "meta") for name, value in row[section].items()]
        kinds[", ".join(f"{labels.get(known[:2], known[1])}: {format_plain(known[2])}" for known in fields)] += 1
    return kinds


def describe_scope(domain: Domain, *, has_cells: bool) -> Iterator[Block]:
    """Yield a note if reviews have too many kinds, and the scope of the proofs, with the values of each number."""
    if not has_cells:
        yield sentence(
            "The conditions divide reviews into too many kinds to follow: aggregates are only bounded, and more is unknown."
        )
    parts = [part for name, words in list_ranges(domain).items() for part in (InlineCode(name), f": {words}; ")]
    ending = "any number of reviews, and any value of all other fields." if parts else "any values."
    yield Heading("Scope", 3)
    yield Paragraph((_SCOPE, *parts, ending), "note")


def list_ranges(domain: Domain) -> dict[str, str]:
    """Return the ranges of the fields that are numbers, in words, by name."""
    return {str(field.symbol): field.describe() for field in domain.fields.values() if field.base.is_numeric}


def list_lines(lines: Iterable[tuple[str, ...]]) -> Iterator[Block]:
    """Yield the lines, each of several parts, as a list; nothing without lines."""
    items = [ListItem(line) for line in lines]
    if items:
        yield Items(items)


# --- two seeds


def build_difference(proof: SeedProof, programs: tuple[nodes.Program, nodes.Program]) -> Iterator[Block]:
    """Yield what is proved of the difference of two seeds."""
    yield Heading("For all restaurants", 3)
    if any(move.witness for move in proof.moves) or any(relation.witness for relation in proof.relations):
        yield sentence(EXAMPLES)
    for status, words in (("same", "exactly, since both seeds say the same"), ("equal", "as proved")):
        names = [relation.name for relation in proof.relations if relation.status == status]
        if names:
            yield sentence(f"Equal for all restaurants, {words}: ", *join_names(names), ".")
    for region in proof.regions or ():
        yield sentence(*_describe_region(region))
    moves = [_describe_move(move, programs[1]) for move in proof.moves if move.status != "impossible"]
    ruled_out = [move for move in proof.moves if move.status == "impossible"]
    impossible = [f"{format_plain(move.old)} to {format_plain(move.new)}" for move in ruled_out]
    yield from list_lines([*moves, *([("impossible, as proved: ", *join_names(impossible))] if impossible else [])])
    if proof.is_verdict_equal and proof.verdict is not None:
        yield sentence("No restaurant gets another ", InlineCode(proof.verdict), ".")
    outputs = (relation for relation in proof.relations if relation.name != proof.verdict)
    unsettled = [relation for relation in outputs if relation.status in ("differs", "unknown")]
    yield from list_lines(_describe_relation(relation, programs[1]) for relation in unsettled)
    yield from describe_scope(proof.domain, has_cells=proof.has_cells)


def _describe_region(region: Region) -> tuple[str, ...]:
    """Return a region as parts of a sentence, such as "Exactly the restaurants with 4 <= SCORE < 5 move"."""
    condition = InlineCode(region.condition)
    if region.move is None:
        return ("Only restaurants with ", condition, " can move.")
    old, new = (InlineCode(format_plain(value)) for value in region.move)
    return ("Exactly the restaurants with ", condition, " move, from ", old, " to ", new, ".")


def _describe_move(move: Move, program: nodes.Program) -> tuple[str, ...]:
    """Return a move as parts of a line: possible with a restaurant, or unknown."""
    detail = f", for a restaurant with {describe_witness(program, move.witness[1])}" if move.witness else ""
    if FAILED in (move.old, move.new):
        who = "the old seed" if move.old == FAILED else "the new seed"
        return (f"{who} fails for a restaurant that the other one evaluates: {move.status}{detail}",)
    return (InlineCode(format_plain(move.old)), " to ", InlineCode(format_plain(move.new)), f": {move.status}{detail}")


def _describe_relation(relation: StepRelation, program: nodes.Program) -> tuple[str, ...]:
    """Return an output that is not proved equal as parts of a line, with what is known of it."""
    name = InlineCode(relation.name)
    order = f"; the new value is {relation.order}, as proved" if relation.order else ""
    if not relation.witness:
        return name, f": not known whether it is equal for all restaurants{order}"
    sides = zip(relation.witness, (relation.old_name, relation.name), strict=True)
    old, new = (format_plain(witness.steps[name]) for witness, name in sides)
    restaurant = describe_witness(program, relation.witness[1])
    return name, f" differs: {old} becomes {new} for a restaurant with {restaurant}{order}"
