"""Word lists about matter: which words mean little, belong together, grade, praise, blame or count.

Plain English and the talk of reviews, written by hand and kept short; nothing of any one policy. The lists
serve every field alike: a word family widens a description only where the description uses one of its words.
"""

from __future__ import annotations


def word_set(text: str) -> frozenset[str]:
    """The words of a text, as a set."""
    return frozenset(text.split())


STOP_WORDS = word_set(
    """a an the this that these those it its is are was were be been being am do does did doing done have
    has had having i me my mine we us our ours you your yours he him his she her hers they them
    their theirs who whom whose which what and or but so as at by for from in into of off on onto
    out over to too up down with about above after again against all also any because before below
    between both can could each etc even ever every few further get gets got here how if instead
    just may might more most much must near no nor not now once one only other others own per same
    shall should since some such than then there through under until upon via was well when where
    while why will within without would yet whether e g i'm i've i'd i'll it's very really
    completely totally absolutely pretty quite"""
)

# Words that any review may use about anything: alone they hardly speak for a value.
COMMON_WORDS = word_set(
    """actual anyone ask bad become believe bit bring business call came care certain change check choose
    come complain condition consider customer day describe detail diner dinner dish drink eat entire
    event everyone experience explain express fact feel find fine first food friend full general
    give go good great group guest happen hear help hour incident indicate interact interaction
    issue item keep kind know last late leave let life level like little look lot lunch main make
    manager many meal mean meet menu minor minute need never new night nothing number offer often ok
    okay old open order part people person personal place point possible problem put quality
    question ready reason receive refer regular report restaurant result return review reviewer
    right say see seem serve server service several short show sign situation small someone
    something speak special staff start state still stay story sure table take talk tell term thing
    think time today total tried try turn two type use usual visible visit wait waiter waitress want
    way week whole word work world write wrong year"""
)

# Words of the seed's author about the task, not about restaurants: never a cue.
TASK_WORDS = word_set(
    """mention mentions mentioned describe describes described description review reviews reviewer
    reviewers author customer customers field value true false yes indicate indicates indicated
    state states stated report reports reported explicit explicitly text name names named number
    integer given say says said type level degree category classify classification overall amount"""
)

# A value that says this by its name, or a description that opens so, is the answer when nothing speaks.
EMPTY_NAMES = word_set("none no unknown unclear unspecified unmentioned na null nothing")
EMPTY_OPENINGS = word_set("no not none nothing never unknown unclear unspecified absent")

# Words whose endings mislead; one that stands for itself keeps its ending.
IRREGULAR = {
    "told": "tell", "said": "say", "says": "say", "heard": "hear", "swollen": "swell",
    "threw": "throw", "thrown": "throw", "felt": "feel", "broke": "break", "broken": "break",
    "took": "take", "taken": "take", "gave": "give", "given": "give", "knew": "know",
    "known": "know", "thought": "think", "ate": "eat", "eaten": "eat", "sat": "sit",
    "paid": "pay", "left": "leave", "dying": "die", "dead": "die", "died": "die", "worst": "bad",
    "worse": "bad", "worried": "worry", "worries": "worry", "went": "go", "came": "come",
    "spoke": "speak", "brought": "bring", "kept": "keep", "found": "find", "forgot": "forget",
    "swore": "swear", "longer": "long", "longest": "long", "louder": "loud", "loudest": "loud",
    "quieter": "quiet", "cleaner": "clean", "dirtier": "dirty", "cheaper": "cheap",
    "slower": "slow", "faster": "fast", "better": "good", "best": "good", "men": "man",
    "women": "woman", "children": "child", "mice": "mouse", "friendly": "friendly",
    "friendliness": "friendly", "unfriendly": "unfriendly", "cleanliness": "clean",
    "early": "early", "family": "family", "roaches": "roach", "cockroaches": "cockroach",
    "flies": "fly",
}  # fmt: skip

# Each line is one family: a description's word stands for the rest of its line, at a discount.
FAMILIES = tuple(
    tuple(line.split())
    for line in """
    wait queue line delay minute hour
    understaffed shorthanded
    food meal dish order drink plate entree
    seat seated table reservation
    bill check tab pay payment
    comped complimentary free discount refund
    apologize apologise apologetic sorry
    slow slowly forever ages sluggish
    fast quick prompt promptness speedy immediate
    rude dismissive refuse refusal ignore rolled impatient curt snapped scoffed shrugged brushed
    rude hostile condescending disrespectful unfriendly unprofessional unhelpful attitude nasty
    friendly helpful welcoming kind courteous polite attentive warm gracious
    pleasant nice enjoyable
    accommodate accommodating accommodation substitute adjust modify separate
    accommodate careful knowledgeable attentive
    refuse decline deny unwilling
    claim assure promise insist swear guarantee confirm say tell
    safe fine okay
    ask inquire check
    staff waiter waitress server manager employee hostess host bartender chef cashier owner cook kitchen
    service waiter waitress server staff
    loud noisy noise deafening blaring shout yell
    quiet peaceful calm silent hushed
    talk conversation hear
    dirty filthy gross sticky grimy unclean unsanitary stained greasy disgusting
    pest cockroach roach mouse mice rat bug fly insect
    clean spotless immaculate sanitary tidy
    hygiene clean dirty unsanitary
    bathroom restroom toilet
    expensive pricey overpriced costly steep ripoff overcharged
    cheap affordable inexpensive reasonable bargain
    price pricing cost dollar buck
    charge fee
    sick ill nauseous nausea vomit threw diarrhea
    stomach tummy belly cramp nausea queasy
    discomfort uncomfortable itch itchy tingle
    visible rash welt
    medication medicine med antihistamine benadryl steroid pill drug
    er hospital ambulance emergency paramedic hospitalized 911
    threatening fatal deadly lethal die killed
    concern worry afraid fear nervous scared anxious hesitant beware careful caution cautious wary warning
    crowded packed busy full cramped
    empty deserted
    romantic intimate cozy candlelit
    tasty delicious flavorful yummy
    bland tasteless flavorless
    stale old spoiled rotten
    late tardy
    error mistake wrong incorrect mixed messed
    return back again
    portion serving
    kid child toddler baby
    reservation reserved booked booking
    """.strip().splitlines()
)

# Names of values on a scale: of two that are both told, the higher one counts.
GRADES = {
    "quiet": 1, "minor": 1, "mild": 1, "low": 1, "slight": 1, "short": 1, "small": 1, "little": 1,
    "moderate": 2, "medium": 2, "average": 2, "severe": 3, "high": 3, "major": 3, "long": 3,
    "serious": 3, "loud": 3, "large": 3, "strong": 3, "extreme": 4, "critical": 4, "fatal": 4,
    "very": 4,
}  # fmt: skip

POSITIVE_WORDS = word_set(
    """accommodate accommodating adorable amazing answered apologize appreciate attentive authentic awesome
    beautiful best careful caring charming clean comfortable comfy confident cool courteous cozy
    cute decent dedicated delicious delight enjoy excellent exceptional explained fabulous fantastic
    favorite flavorful fresh friendly fun generous glad good gracious grateful great happy helpful
    honest impressed impressive incredible interesting kind knowledgeable labeled legit love lovely
    marked nice offered outstanding patient perfect perfectly pleasant pleased polite positive
    praise prompt quick reasonable recommend relax relaxing relief relieved respectful safe
    satisfied seriously smooth solid special spotless success successful suggested superb sure tasty
    terrific thank thankful thorough thoughtful trust understanding unique welcoming well wonderful
    worth yum yummy"""
)
NEGATIVE_WORDS = word_set(
    """angry annoyed annoying appalling argue arrogant attitude average avoid awful bad betray betrayal
    bitter bland blank burnt careless clueless cold complain condescending confused criticise
    criticize deny dirty disappointed disappointing discomfort disgusting dismissive disrespectful
    dreadful fail filthy gross guess hate hesitate hesitation horrible hostile huffed ignore
    ignorant impatient inattentive incident incompetent incorrect indifferent irresponsible issue
    lack laughed lousy mediocre meh mess mistake mock nasty negative neglect negligent overpriced
    overrated pathetic poor problem refuse ridiculous rolled rude sad sadly scoffed shrug sick sigh
    skip slow soggy stale terrible trouble unacceptable uncaring underwhelming unfortunately
    unfriendly unhappy unhelpful unprofessional unsafe unsanitary unwilling upset upsetting useless
    watery weak worse worst wrong yelled yuck"""
)

MINUTES = {"second": 1 / 60, "sec": 1 / 60, "minute": 1.0, "min": 1.0, "hour": 60.0, "hr": 60.0}
DAYS = {"day": 1.0, "week": 7.0, "month": 30.0, "year": 365.0}
MONEY_UNITS = word_set("dollar buck usd")
MONEY_WORDS = MONEY_UNITS | word_set("price cost bill pay spend spent charge fee")
NUMBER_WORDS = {
    "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8,
    "nine": 9, "ten": 10, "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14,
    "fifteen": 15, "sixteen": 16, "seventeen": 17, "eighteen": 18, "nineteen": 19, "twenty": 20,
    "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80,
    "ninety": 90, "hundred": 100, "dozen": 12, "couple": 2,
}  # fmt: skip
