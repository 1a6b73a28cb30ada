"""Word lists about speech: who tells something, and whether the teller says that it happened.

English only, and only what stands on the surface: negators, suppositions, hearsay, people, staff.
"""

from __future__ import annotations

from typing import Literal

from formulaseed.extract.lexical_words import word_set

Stance = Literal["plain", "first", "other", "unreal", "asked", "background"]
"""Whose matter a word is. plain: nobody is named. first: the writer's own. other: somebody else's.
unreal: feared or supposed. asked: in a question. background: a lasting condition ("I have a ...")."""

NEGATORS = word_set(
    """no not never none nothing nobody without neither nor zero cannot cant dont didnt wasnt isnt wouldnt
    couldnt hardly barely scarcely lack lacked lacking unable unwilling"""
)
# "refused to accommodate": with "to" after it, the verb denies what follows.
DENYING_VERBS = word_set("refuse refused refuses refusing fail failed fails failing decline declined neglected")
# "no doubt", "not only" deny nothing.
EMPTY_NEGATIONS = frozenset(
    {("no", "doubt"), ("no", "wonder"), ("no", "joke"), ("no", "matter"), ("not", "only"), ("not", "just")}
)
CONTRASTS = word_set(
    """but however although though yet except until till because since after when while whereas despite still
    nevertheless afterwards then"""
)
# A comma before one of these starts a clause of its own; otherwise it may stand in a list.
SUBJECTS = word_set("i we they he she it you there i'm i'd we're they're it's the my our then and so")
# "I don't think they care": the denial reaches past these to the next subject.
THINKING = word_set("think thought believe feel say felt that sure")

UNREAL_MARKERS = word_set(
    """if would might may should ought beware hopefully afraid worry worried worries worrying fear feared
    fearing scared nervous concern concerned concerns risk risking risky potential potentially unless whether
    imagine hope hoped hoping wonder wondered wondering avoid avoiding prevent prevented wish anxious
    hypothetically supposedly"""
)
# "could have died", "could be": a chance; "could barely hear": a fact.
CHANCES_AFTER_COULD = word_set("have be cause get trigger easily potentially kill")
CHANCES_AFTER_CONTRACTION = word_set("be hate avoid think worry")  # "I'd be careful", but not "I'd asked"
ASKING = word_set("ask asked asking asks see check checked know knew inquired sure tell told")  # "... if"
# "Anyone with an allergy": nobody in particular, where "with" or "who" follows.
GENERIC_PERSONS = word_set("anyone anybody those folks people person someone somebody whoever")

FIRST_SUBJECTS = word_set("i we i'm i've i'd i'll we're we've we'd we'll im ive")
FIRST_PERSON = FIRST_SUBJECTS | word_set("me my mine myself us our ours ourselves")
RELATIVES = word_set(
    """son daughter child children kid kids husband wife mom mother dad father sister brother fiance fiancee
    boyfriend girlfriend partner family grandson granddaughter niece nephew toddler baby hubby spouse"""
)
STRANGERS = word_set(
    """friend friends friend's coworker coworkers colleague colleagues neighbor neighbour neighbors
    acquaintance cousin aunt uncle someone somebody people others another reviewer reviewers patron patrons
    guy woman man lady person roommate buddy"""
)
PERSONS = RELATIVES | STRANGERS
STAFF = word_set(
    """staff waiter waitress waiters waitresses server servers manager managers employee employees hostess
    host bartender chef chefs cook cooks cashier owner owners management kitchen barista busser"""
)
THIRD_SUBJECTS = word_set("they he she they're they'd he's she's they'll who it")
PASSIVES = word_set("was were been being got")  # "we were asked": not the writer's asking

# "They could not tell us" is a refusal; "it could not be better" is praise.
MODALS = word_set("can could will would")
PRAISING_VERBS = word_set("be have ask get wait beat")

REPORT_VERBS = word_set("told tells said says mentioned warned claimed posted wrote complained reported shared")
COMPANY = word_set("with brought took bring taking and")  # "with my friend": the writer was there
HEARSAY = word_set("heard hearing apparently rumor rumors rumour allegedly reportedly secondhand")
READ_AFTER = word_set("that about reviews online on in here others")  # "I read that ..."

CONDITION_VERBS = word_set("have has suffer suffers")
CARRYING = word_set("carry carries")  # with one all the time, whoever it is
STATE_VERBS = word_set("am is are")
STATE_SUBJECTS = word_set("i'm we're im")
HAPPENINGS = word_set("been had never ever not")  # "have been ...": something took place after all

INTENTIONS = word_set("would will intends intend plans plan means")

# What a description says about who speaks and whether it happened.
STANCE_WORDS: dict[Stance, frozenset[str]] = {
    "first": word_set("firsthand personal personally own myself direct directly"),
    "other": word_set("secondhand reported else someone hearsay heard others indirect indirectly rumor rumour"),
    "unreal": word_set("hypothetical concern concerns worry worries potential possible fear feared speculative"),
}
