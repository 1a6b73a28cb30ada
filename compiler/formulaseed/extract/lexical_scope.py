"""What the words of a sentence read so far say about the next one: denied, supposed, hearsay, a condition.

A negator reaches to the end of its clause at most; a supposition to a contrast or a new clause; hearsay until
the writer is the subject again.
Quotation, irony and tense are not seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from formulaseed.extract.lexical_speech import (
    ASKING,
    CARRYING,
    CHANCES_AFTER_CONTRACTION,
    CHANCES_AFTER_COULD,
    COMPANY,
    CONDITION_VERBS,
    CONTRASTS,
    DENYING_VERBS,
    EMPTY_NEGATIONS,
    FIRST_PERSON,
    FIRST_SUBJECTS,
    GENERIC_PERSONS,
    HAPPENINGS,
    HEARSAY,
    NEGATORS,
    PERSONS,
    READ_AFTER,
    RELATIVES,
    REPORT_VERBS,
    STAFF,
    STATE_SUBJECTS,
    STATE_VERBS,
    STRANGERS,
    SUBJECTS,
    THINKING,
    THIRD_SUBJECTS,
    UNREAL_MARKERS,
    Stance,
)
from formulaseed.extract.lexical_words import GRADES

NEGATION_REACH = 7  # words that one negator can deny
BACKGROUND_REACH = 7


@dataclass(slots=True)
class Scope:
    """What the sentence so far says of the next word."""

    question: bool
    negation: int = 0  # words that it still reaches
    background: int = 0
    unreal: bool = False
    asked: bool = False
    other: bool = False
    first: bool = False
    by_writer: bool = False

    @property
    def stance(self) -> Stance:
        if self.question or self.asked:
            return "asked"
        if self.unreal:
            return "unreal"
        if self.background > 0:
            return "background"
        if self.other:
            return "other"
        return "first" if self.first else "plain"

    def clause(self, mark: str, after: Sequence[str]) -> None:
        """A comma before a new subject ends what was denied or supposed; in a list it carries on."""
        self.background = 0
        if mark != "," or (after and after[0] in SUBJECTS):
            self.negation = 0
            self.unreal = self.asked = False
        elif self.negation:
            self.negation = NEGATION_REACH

    def close(self, lower: str, before: Sequence[str]) -> None:
        """Ends the scopes that this word is no longer in."""
        self.negation = max(0, self.negation - 1)
        self.background = max(0, self.background - 1)
        if lower in CONTRASTS and not (before and before[-1] in NEGATORS):
            self.negation = self.background = 0
            self.unreal = self.asked = False
        elif lower in SUBJECTS and self.negation < NEGATION_REACH - 2 and THINKING.isdisjoint(before[-2:]):
            self.negation = 0
        if lower in ("or", "nor") and self.negation:
            self.negation = NEGATION_REACH
        if lower in FIRST_SUBJECTS:
            self.other = False

    def open(self, lower: str, before: Sequence[str], after: Sequence[str]) -> None:
        """Starts the scopes that this word brings."""
        following = after[0] if after else ""
        if _negates(lower, following):
            self.negation = NEGATION_REACH + 1
        if lower in ("if", "whether") and not ASKING.isdisjoint(before):
            self.asked = True
        elif _supposes(lower, following):
            self.unreal = True
        if _reports(lower, before, following):
            self.other = True
        if lower in FIRST_PERSON:
            self.first = True
        if lower in FIRST_SUBJECTS or lower in RELATIVES:
            self.by_writer = True
        elif lower in THIRD_SUBJECTS or lower in STAFF:
            self.by_writer = False
        if _describes_condition(lower, before, following):
            self.background = BACKGROUND_REACH + 1


def _negates(lower: str, following: str) -> bool:
    if lower in DENYING_VERBS:
        return following == "to"
    return lower in NEGATORS and (lower, following) not in EMPTY_NEGATIONS


def _supposes(lower: str, following: str) -> bool:
    if lower == "would":
        return following not in ("not", "never")  # "would not help" is a refusal that took place
    if lower == "could":
        return following in CHANCES_AFTER_COULD
    if lower.endswith("'d"):
        return following in CHANCES_AFTER_CONTRACTION
    if lower in GENERIC_PERSONS:
        return following in ("with", "who")
    return lower in UNREAL_MARKERS


def _reports(lower: str, before: Sequence[str], following: str) -> bool:
    """Hearsay begins: a report verb of somebody who is not staff, "I heard", or a stranger as subject."""
    if lower in REPORT_VERBS:
        return not PERSONS.isdisjoint(before)
    if lower == "read":
        return following in READ_AFTER
    if lower in STRANGERS:
        return COMPANY.isdisjoint(before)
    return lower in HEARSAY


def _describes_condition(lower: str, before: Sequence[str], following: str) -> bool:
    if following.endswith("ed") or following in HAPPENINGS:
        return False
    if lower in CARRYING:
        return True
    if lower in CONDITION_VERBS:
        return bool(before) and (before[-1] in ("i", "we", "who", "she", "he") or before[-1] in PERSONS)
    if lower in STATE_SUBJECTS or (lower == "with" and before and before[-1] in PERSONS):
        return True
    if lower in STATE_VERBS:
        return bool(before) and (before[-1] in ("i", "we") or before[-1] in RELATIVES)
    owned = lower in ("my", "his", "her", "our", "their") or lower.removesuffix("'s") in PERSONS
    return owned and GRADES.get(following, 0) > 0
