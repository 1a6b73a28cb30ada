"""How often the lexical extractor is right where it speaks, and what each kind of cue brings.

Against values recorded by people or models: the examples' own, and research data that is no part of the project. The
baseline answers with the commonest value of just those reviews. A judgement of an aspect becomes a field of four values.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

from formulaseed import load_seed
from formulaseed.extractors.base import AskedField, fields_of
from formulaseed.extractors.lexical import KINDS, LexicalExtractor
from tables import Line, table

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT.parent / "shared" / "data"
FEW = 7
"""An aspect with fewer judgements is left out."""


@dataclass(frozen=True)
class Labelled:
    """Reviews whose values are known."""

    name: str
    fields: Sequence[AskedField]
    reviews: Sequence[tuple[str, dict[str, Any]]]
    """Texts, each with the recorded values."""


@dataclass(frozen=True)
class Measured:
    """The values of one field where the extractor spoke."""

    name: str
    reviews: int
    pairs: Sequence[tuple[object, object]]
    """Recorded and extracted, where the extractor spoke."""

    @property
    def commonest(self) -> object:
        """Return the recorded value that most reviews have."""
        return Counter(recorded for recorded, _ in self.pairs).most_common(1)[0][0]


def report() -> str:
    """Measure the lexical extractor where it speaks, and return the tables."""
    sets, notes = list(_examples()), []
    if DATA.is_dir():
        sets = [_task("g1a_v2", "real G1a-v2", DATA / "g1a" / "contexts.jsonl", DATA / "g1a" / "extractions.jsonl")]
        sets += [*_examples(), *_judged()]
    else:
        notes = [f"Without the real reviews: {DATA} is absent."]
    measured = [each for labelled in sets for each in measure(labelled, KINDS)]
    lines = [Line(each.name, (f"{len(each.pairs)} of {each.reviews}", *_cells([each]))) for each in measured]
    columns = ["accuracy", "commonest", "macro-F1", "commonest"]
    shown = table("The lexical extractor where it speaks", ["spoke for", *columns], lines, notes)
    ablated = [("all kinds of cues", KINDS), *((f"without {kind}", KINDS - {kind}) for kind in sorted(KINDS))]
    lines = []
    for name, kinds in ablated:
        found = [each for labelled in sets for each in measure(labelled, kinds)]
        lines.append(Line(name, (str(sum(len(each.pairs) for each in found)), *_cells(found))))
    note = "Means over the fields that it speaks for at all; `spoken` counts values."
    return shown + "\n" + table("Without each kind of cue", ["spoken", *columns], lines, [note])


def measure(labelled: Labelled, kinds: Collection[str]) -> Iterator[Measured]:
    """Each field of a set, by these kinds of cues."""
    extractor = LexicalExtractor(labelled.fields, kinds)
    spoken = [(extractor.spoken(text), recorded) for text, recorded in labelled.reviews]
    for field in labelled.fields:
        name = field.name
        pairs = [(recorded[name], found[name]) for found, recorded in spoken if name in found and name in recorded]
        yield Measured(f"{labelled.name}, {name}", len(spoken), pairs)


def _cells(measured: Sequence[Measured]) -> tuple[str, ...]:
    heard = [each.pairs for each in measured if each.pairs]
    if not heard:
        return ("-",) * 4
    constant = [[(recorded, each.commonest) for recorded, _ in each.pairs] for each in measured if each.pairs]
    return tuple(f"{mean(map(score, pairs)):.3f}" for score in (accuracy, macro_f1) for pairs in (heard, constant))


def accuracy(pairs: Sequence[tuple[object, object]]) -> float:
    """The share of equal pairs."""
    return mean(recorded == found for recorded, found in pairs)


def macro_f1(pairs: Sequence[tuple[object, object]]) -> float:
    """The mean F1 of the values that occur on either side."""
    scores = []
    for value in {value for pair in pairs for value in pair}:
        both = sum(pair == (value, value) for pair in pairs)
        sides = sum((recorded == value) + (found == value) for recorded, found in pairs)
        scores.append(2 * both / sides)
    return mean(scores)


def _examples() -> Iterator[Labelled]:
    for task in ("g1a_v2", "wait_times"):
        folder = ROOT / "examples"
        yield _task(task, f"examples {task}", folder / "contexts.jsonl", folder / f"extractions-{task}.jsonl")


def _task(task: str, name: str, contexts: Path, extractions: Path) -> Labelled:
    texts = {
        (line["business_id"], review["review_id"]): review["text"]
        for line in _lines(contexts)
        for review in line["reviews"]
    }
    recorded = [(texts[line["business_id"], line["review_id"]], line["fields"]) for line in _lines(extractions)]
    return Labelled(name, fields_of(load_seed(ROOT / "tasks" / task / "seed.json").program), recorded)


def _judged() -> Iterator[Labelled]:
    """The judgements on each aspect of the cafes, as an enum field."""
    texts = {line["review_id"]: line["text"] for line in _lines(DATA / "philly" / "reviews.jsonl")}
    by_aspect: dict[str, list[tuple[str, dict[str, Any]]]] = defaultdict(list)
    for line in _lines(DATA / "philly" / "judgements.jsonl"):
        if line["review_id"] in texts:
            by_aspect[line["aspect"]].append((texts[line["review_id"]], {line["aspect"]: line["judgement"]}))
    for aspect, judged in by_aspect.items():
        liked = (
            f"Praised ('great {aspect}', 'good {aspect}', 'best {aspect}', 'delicious {aspect}', 'love the {aspect}')"
        )
        disliked = f"Criticized ('bad {aspect}', 'terrible {aspect}', 'disappointing {aspect}')"
        neutral = ("neutral", "Mentioned without praise or blame")
        values = (("not_mentioned", "Not mentioned"), ("positive", liked), neutral, ("negative", disliked))
        if len(judged) >= FEW:
            yield Labelled("cafes", [AskedField(aspect, "enum", values=values)], judged)


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
