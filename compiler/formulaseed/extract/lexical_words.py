"""Word lists of the lexical extractor: plain English and the talk of reviews, nothing of any one policy.

The lists are written by hand and kept short. They serve every field alike: a word family widens a
description only when the description itself uses one of the family's words.
"""

from __future__ import annotations

from typing import Literal

Stance = Literal["plain", "first", "other", "unreal", "asked", "background"]
"""Whose matter a word is. plain: nobody is named. first: the writer's own. other: somebody else's.
unreal: feared or supposed. asked: in a question. background: a lasting condition of a person ("I have a ...")."""


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


STOP_WORDS = _set(
    """a an the this that these those it its is are was were be been being am do does did doing done have has
    had having i me my mine we us our ours you your yours he him his she her hers they them their theirs who
    whom whose which what and or but so as at by for from in into of off on onto out over to too up with about
    above after again against all also any because before below between both can could each etc even ever
    every few further get gets got here how if instead just may might more most much must near no nor not now
    once only other others own per same shall should since some such than then there through under until upon
    very via was well when where while why will within without would yet one whether e g i'm i've i'd i'll
    it's don't didn't wasn't isn't"""
)

# Words that any review may use about anything: alone they hardly speak for a value.
COMMON_WORDS = _set(
    """actual after anyone ask bad become believe bit bring business call came care certain change check choose
    come complain condition consider customer day describe detail diner dinner dish drink eat entire event
    everyone experience explain express fact feel felt find fine first food found friend full general generally
    give go good great group guest happen hear help hour incident indicate interact interaction issue item keep
    kind know last late leave let life level like little look lot lunch main make manager many meal mean
    meet mention menu minor minute need never new night nothing number offer often ok okay old open order part
    people person personal place point possible problem quality question ready reason receive refer regular
    report restaurant result return review reviewer right say see seem serve server service several short
    show sign situation small someone something speak special staff start state still stay story sure table
    take talk tell term thing think time today total tried try turn two type use usual visible visit wait waiter
    waitress want way week went whole word work world write wrong year"""
)

# Words of the seed's author about the task, not about restaurants: never a cue.
TASK_WORDS = _set(
    """mention mentioned mentions describe described describes description review reviewer reviews reviewers
    author customer customers field value true false yes if whether indicate indicates indicated stated states state
    report reported reports explicit explicitly text name names named number integer given says said type
    any level degree category classify classification kind overall amount"""
)

# A value that says this by its name, or a description that opens so, is the answer when nothing speaks.
EMPTY_NAMES = _set("none no unknown unclear unspecified unmentioned na n/a null absent nothing missing")
EMPTY_OPENINGS = _set("no not none nothing never unknown unclear unspecified absent")

IRREGULAR = {
    "told": "tell", "said": "say", "says": "say", "heard": "hear", "swollen": "swell", "threw": "throw",
    "thrown": "throw", "felt": "feel", "broke": "break", "broken": "break", "took": "take", "taken": "take",
    "gave": "give", "given": "give", "knew": "know", "known": "know", "thought": "think", "ate": "eat",
    "eaten": "eat", "sat": "sit", "paid": "pay", "left": "leave", "dying": "die", "dead": "die", "died": "die",
    "worst": "bad", "worse": "bad", "worried": "worry", "worries": "worry", "went": "go", "came": "come",
    "spoke": "speak", "brought": "bring", "kept": "keep", "found": "find", "forgot": "forget", "swore": "swear",
    "longer": "long", "longest": "long", "louder": "loud", "loudest": "loud", "quieter": "quiet",
    "cleaner": "clean", "dirtier": "dirty", "cheaper": "cheap", "slower": "slow", "faster": "fast",
    "better": "good", "best": "good", "men": "man", "women": "woman", "children": "child", "mice": "mouse",
    "roaches": "roach", "cockroaches": "cockroach", "flies": "fly",
}  # fmt: skip

# Each line is one family: a description's word stands for the rest of its line, at a discount.
FAMILIES = tuple(
    tuple(line.split())
    for line in """
    wait waited waiting queue line delay delayed
    slow slowly forever ages sluggish
    fast quick quickly prompt promptly speedy immediately promptness
    rude dismissive dismissed refuse refused refusal ignored rolled impatient curt snapped scoffed shrugged brushed
    rude hostile condescending disrespectful unfriendly unprofessional unhelpful attitude nasty
    friendly helpful welcoming kind courteous polite attentive warm gracious pleasant
    accommodate accommodated accommodating accommodation substitute substituted adjusted modified separate
    accommodate accommodated careful carefully knowledgeable attentive
    refuse refused declined denied unwilling
    claim claimed assured promised insisted swore guaranteed confirmed said told
    safe safely fine okay
    ask asked inquire inquired checked double-checked
    staff waiter waitress server manager employee hostess host bartender chef cashier owner cook kitchen
    staff waiters waitresses servers managers employees chefs cashiers
    service waiter waitress server staff
    loud noisy noise deafening blaring loudly shout shouting yell yelling
    quiet peaceful calm silent hushed
    talk conversation hear
    dirty filthy gross sticky grimy unclean unsanitary stained greasy disgusting
    pest cockroach roach roaches mouse mice rat rats bug bugs fly flies insect insects
    clean spotless immaculate sanitary tidy
    hygiene cleanliness clean dirty unsanitary bathroom restroom
    expensive pricey overpriced costly steep ripoff overcharged
    cheap affordable inexpensive reasonable bargain
    price prices priced cost costs dollars bucks bill charge charged
    sick ill nauseous nausea vomit vomiting vomited vomits threw diarrhea
    stomach tummy belly cramps nausea queasy
    discomfort uncomfortable itch itchy tingle tingling
    swell swelling swollen swelled
    visible rash welts
    medication medicine meds antihistamine benadryl steroid pill pills drug drugs
    er hospital ambulance emergency paramedics hospitalized 911
    life-threatening fatal deadly lethal died die killed
    concern concerned worry worried worries afraid fear feared nervous scared anxious hesitant beware caution cautious wary warning careful
    crowded packed busy full cramped
    empty deserted
    romantic intimate cozy candlelit
    tasty delicious flavorful yummy
    bland tasteless flavorless
    fresh freshly
    stale old spoiled rotten
    late tardy
    error mistake wrong incorrect mixed messed
    return returning back again
    recommend recommended
    portion portions serving servings
    parking park parked
    kid kids child children toddler baby
    reservation reserved booked booking
    """.strip().splitlines()
)

GRADES = {
    "none": 0, "quiet": 1, "minor": 1, "mild": 1, "low": 1, "slight": 1, "short": 1, "small": 1, "little": 1,
    "moderate": 2, "medium": 2, "average": 2, "average-sized": 2, "some": 2,
    "severe": 3, "high": 3, "major": 3, "long": 3, "serious": 3, "loud": 3, "large": 3, "strong": 3,
    "extreme": 4, "critical": 4, "fatal": 4, "very": 4,
}  # fmt: skip

POSITIVE_WORDS = _set(
    """sure relaxed relax confident grateful thankful thank honest marked labeled suggested answered accommodate accommodated accommodating amazing appreciate appreciated attentive awesome best careful
    carefully caring clean comfortable courteous cozy delicious delight enjoy enjoyed excellent exceptional
    fabulous fantastic favorite flavorful fresh friendly generous glad good gracious great happy helpful
    impressed impressive incredible kind knowledgeable love loved lovely nice outstanding patient perfect
    perfectly pleasant pleased polite praise praised prompt quick recommend relief relieved trust trusted explained offered double-checked dedicated reasonable respectful safe satisfied
    seriously smooth spotless success successful superb tasty terrific thorough thorough thoughtful understanding welcoming
    wonderful worth yummy positive well"""
)
NEGATIVE_WORDS = _set(
    """blank huffed argued argue hesitation hesitate guessing guess angry annoyed annoying appalling arrogant attitude avoid awful bad betray betrayal bland careless clueless cold
    complain complained condescending confused criticise criticised criticize criticized deny denied dirty disappointed disappointing discomfort
    disgusting dismissive dismissed disrespectful dreadful eyeroll fail failed filthy gross hate hated horrible hostile ignore
    ignored ignorant impatient inattentive incompetent incorrect indifferent irresponsible lack lousy mediocre mess mistake nasty
    negative neglect negligent overpriced pathetic poor problem issue trouble incident refuse refused ridiculous rolled rude rudely scoffed
    shrugged shrug sick slow stale terrible unacceptable uncaring unfriendly unhappy unhelpful unprofessional unsafe unsanitary upset
    upsetting useless unwilling worst worse wrong yelled sigh sighed mock mocked laughed"""
)

NEGATORS = _set(
    """no not never none nothing nobody without neither nor zero cannot cant dont didnt wasnt isnt wouldnt
    couldnt hardly barely scarcely lack lacked lacking unable unwilling"""
)
GENERIC_PERSONS = _set("anyone anybody those folks people person someone somebody whoever")  # with "with" or "who" after
# "refused to accommodate": with "to" after it, the verb denies what follows.
DENYING_VERBS = _set("refuse refused refuses refusing fail failed fails failing decline declined forgot neglected")
# "no doubt", "not only" deny nothing.
EMPTY_NEGATIONS = frozenset(
    {("no", "doubt"), ("no", "wonder"), ("no", "joke"), ("no", "matter"), ("not", "only"), ("not", "just")}
)
CONTRASTS = _set(
    """but however although though yet except until till because since after when while whereas despite still
    nevertheless afterwards then"""
)
UNREAL_MARKERS = _set(
    """if would might may should ought beware hopefully afraid worry worried worries worrying fear feared fearing scared nervous
    concern concerned concerns risk risking risky potential potentially unless whether imagine hope hoped hoping
    wonder wondered wondering avoid avoiding prevent prevented wish anxious hypothetically supposedly"""
)
ASKING = _set("ask asked asking asks see check checked know knew inquired sure tell told")
# "could have died", "could be": a chance; "could barely hear": a fact.
CHANCES_AFTER_COULD = _set("have be cause get trigger easily potentially kill")

FIRST_SUBJECTS = _set("i we i'm i've i'd i'll we're we've we'd we'll im ive")
FIRST_PERSON = FIRST_SUBJECTS | _set("me my mine myself us our ours ourselves")
RELATIVES = _set(
    """son daughter child kid kids husband wife mom mother dad father sister brother fiance fiancee boyfriend
    girlfriend partner family grandson granddaughter niece nephew toddler baby hubby spouse children"""
)
STRANGERS = _set(
    """friend friends friend's coworker coworkers co-worker colleague colleagues neighbor neighbour neighbors
    acquaintance cousin aunt uncle someone somebody people others another reviewer reviewers patron patrons guy woman man lady
    person roommate buddy"""
)
STAFF = _set(
    """staff waiter waitress waiters waitresses server servers manager managers employee employees hostess host
    bartender chef chefs cook cooks cashier owner owners management kitchen barista busser"""
)
THIRD_SUBJECTS = _set("they he she they're they'd he's she's they'll who it")
PASSIVES = _set("was were been being got")
MODALS = _set("can could will would")
PRAISING_VERBS = _set("be have ask get wait beat")  # "could not be better" is no refusal
PERSONS = RELATIVES | STRANGERS
REPORT_VERBS = _set("told tells said says mentioned warned claimed posted wrote complained reported shared")
COMPANY = _set("with brought took bring taking and")
HEARSAY = _set("heard hearing apparently rumor rumors rumour allegedly reportedly secondhand")
READ_AFTER = _set("that about reviews online on in here others")
CONDITION_VERBS = _set("have has carry carries suffer suffers")
STATE_VERBS = _set("am is are")
STATE_SUBJECTS = _set("i'm we're im")

INTENTIONS = _set("would will intends intend plans plan means")

# What a description says about who speaks and whether it happened; see Stance.
STANCE_WORDS: dict[Stance, frozenset[str]] = {
    "first": _set("firsthand personal personally own myself direct directly"),
    "other": _set("secondhand reported else someone hearsay heard others indirect indirectly rumor rumour"),
    "unreal": _set("hypothetical concern concerns worry worries potential possible fear without speculative feared"),
}

MINUTES = {"second": 1 / 60, "sec": 1 / 60, "minute": 1.0, "min": 1.0, "hour": 60.0, "hr": 60.0}
DAYS = {"day": 1.0, "week": 7.0, "month": 30.0, "year": 365.0}
MONEY_WORDS = _set("dollar dollars usd buck bucks price prices cost costs bill paid spend spent charge fee")
MONEY_STEMS = frozenset("dollar usd buck pric cost bill pay spend spent charg fee".split())
UNIT_STEMS = frozenset((*MINUTES, *DAYS, "dollar", "buck", "usd"))
NUMBER_WORDS = {
    "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
    "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15, "sixteen": 16, "seventeen": 17,
    "eighteen": 18, "nineteen": 19, "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60,
    "seventy": 70, "eighty": 80, "ninety": 90, "hundred": 100, "dozen": 12, "couple": 2,
}  # fmt: skip
