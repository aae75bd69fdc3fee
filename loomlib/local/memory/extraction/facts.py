"""Rules for facts: who the user is, where and with whom, what the user has, must avoid, and plans."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from .statement import Statement
from .values import items, normal, trimmed

_ADV: Final = (
    r"(?:(?:now|currently|actually|still|just|also|recently|finally|"
    r"already|really|severely|very|deathly|officially|originally|mostly) )*"
)
_AM: Final = rf"(?:i am|i'm|im) {_ADV}"
_HAVE: Final = rf"(?:i have|i've|i've got|i have got|i got|i own) {_ADV}"
_I: Final = rf"i {_ADV}"
_DIETS: Final = (
    r"vegetarian|vegan|veggie|pescatarian|flexitarian|gluten[- ]free|lactose[- ]intolerant|kosher|halal|keto|"
    r"dairy[- ]free|celiac|coeliac|diabetic|teetotal(?:er)?"
)
_NATIONS: Final = (
    r"american|british|english|scottish|welsh|irish|german|french|"
    r"spanish|italian|portuguese|dutch|belgian|swiss|austrian|"
    r"swedish|norwegian|danish|finnish|polish|czech|hungarian|"
    r"romanian|greek|turkish|russian|ukrainian|indian|pakistani|"
    r"chinese|japanese|korean|vietnamese|thai|filipino|indonesian|"
    r"australian|canadian|mexican|brazilian|argentinian|"
    r"chilean|colombian|egyptian|nigerian|kenyan|south african|israeli|iranian|lebanese"
)
_TRADE: Final = (
    r"(?:\w+ ){0,3}(?:\w{3,}(?:ist|ician|ographer|ologist|ineer|"
    r"eloper|itect|alyst|ager|cher|cutor|ecutive)|nurse|doctor|"
    r"lawyer|chef|cook|student|pilot|driver|designer|writer|"
    r"author|editor|baker|farmer|plumber|carpenter|electrician|"
    r"accountant|consultant|professor|programmer|scientist|"
    r"soldier|officer|firefighter|surgeon|vet|veterinarian|"
    r"attorney|judge|actor|actress|singer|dancer|painter|"
    r"translator|researcher|recruiter|salesperson|founder|ceo|cto|"
    r"freelancer|waiter|waitress|bartender|barista|mechanic|"
    r"sailor|producer|director|trader|paramedic|midwife|coach|"
    r"administrator|technician|banker|photographer|midwife|postdoc|intern|retiree|analyst|barrister|solicitor)"
)
_PETS: Final = r"dog|cat|puppy|kitten|horse|parrot|rabbit|hamster|bird|turtle|goldfish|snake|pony|guinea pig"
_KIN: Final = (
    r"kid|child|children|son|daughter|brother|sister|sibling|twin|"
    r"grandchild|grandchildren|grandson|granddaughter|niece|nephew"
)
_ILL: Final = (
    r"diabetes|asthma|arthritis|epilepsy|hypertension|"
    r"high blood pressure|migraines?|adhd|celiac disease|hay fever|"
    r"anxiety|depression|insomnia|eczema|anemia|osteoporosis|"
    r"(?:a )?heart condition|(?:a )?bad (?:back|knee)|dyslexia|"
    r"type [12] diabetes|sleep apnea|tinnitus|vertigo|lupus|crohn's(?: disease)?"
)


@dataclass(frozen=True, slots=True)
class Rule:
    """A clause that matches `pattern` states `slot` := its group "v", said as `text`.

    `many`: each thing of a list is a statement of its own.
    """

    pattern: re.Pattern[str]
    slot: str
    text: str
    many: bool = False


def _rule(pattern: str, slot: str, text: str, *, many: bool = False) -> Rule:
    return Rule(re.compile(pattern + r"$", re.IGNORECASE), slot, text, many)


_RULES: Final[Sequence[Rule]] = (
    _rule(r"my (?:full |first |last )?name(?:'s| is) (?P<v>.+)", "name", "The user's name is {v}."),
    _rule(r"(?:i am|i'm) called (?P<v>[A-Z].+)", "name", "The user's name is {v}."),
    _rule(
        r"(?:please )?call me (?!back|later|at|"
        r"on|when|in|if|a |an )(?P<v>[A-Z]\w+)",
        "called",
        "The user wants to be called {v}.",
    ),
    _rule(rf"{_I}(?:live|reside) in (?P<v>.+)", "home", "The user lives in {v}."),
    _rule(
        rf"(?:i've|i have|i) {_ADV}(?:moved|"
        rf"relocated)(?: back)? (?:from .+? )?to (?P<v>[A-Z].+)",
        "home",
        "The user lives in {v}.",
    ),
    _rule(rf"{_AM}(?:based|living|residing) in (?P<v>.+)", "home", "The user lives in {v}."),
    _rule(r"(?:i've|i have) been (?:based|living) in (?P<v>.+)", "home", "The user lives in {v}."),
    _rule(rf"{_AM}from (?P<v>[A-Z].+)", "origin", "The user is from {v}."),
    _rule(rf"{_I}(?:was born|grew up) in (?P<v>[A-Z].+)", "origin", "The user is from {v}."),
    _rule(rf"{_AM}(?P<v>{_NATIONS})", "nationality", "The user is {v}."),
    _rule(r"i was born on (?P<v>.+)", "my:birthday", "The user's birthday is {v}."),
    _rule(
        r"(?:i am|i'm|i just turned|"
        r"i turned) (?P<v>\d{1,3})(?: years old| years of age)?",
        "age",
        "The user is {v} years old.",
    ),
    _rule(
        rf"{_AM}(?:a |an )(?P<v>{_TRADE})(?: (?:at|"
        rf"for|in|with|by|from) .+)?",
        "occupation",
        "The user works as {v}.",
    ),
    _rule(rf"{_I}work as (?:a |an |the )?(?P<v>.+?)(?: (?:at|for|in) .+)?", "occupation", "The user works as {v}."),
    _rule(
        rf"(?:{_I}work (?:for|at)|{_I}(?:joined|started at|started working at|started working for)|"
        rf"i've joined|.*\bi work as .+? (?:at|for)|{_AM}(?:a |"
        rf"an ){_TRADE} (?:at|for)) (?P<v>[A-Z0-9].+)",
        "employer",
        "The user works at {v}.",
    ),
    _rule(rf"{_I}(?:study|major in) (?P<v>.+)", "studies", "The user studies {v}."),
    _rule(rf"{_AM}allergic to (?P<v>.+)", "allergy:{n}", "The user is allergic to {v}.", many=True),
    _rule(
        rf"{_HAVE}(?:a |an )?(?:\w+ )?allerg(?:y|ies) to (?P<v>.+)",
        "allergy:{n}",
        "The user is allergic to {v}.",
        many=True,
    ),
    _rule(
        rf"{_HAVE}(?:a |an )(?:severe |bad |serious |"
        rf"mild )?(?P<v>\w+(?: \w+)?) allergy",
        "allergy:{n}",
        "The user is allergic to {v}.",
    ),
    _rule(
        rf"(?:{_AM}(?:on )?(?:a |an |strictly )?|{_I}(?:eat|keep|follow|went|"
        rf"became|turned)(?: strictly)? (?:a )?)(?P<v>{_DIETS})(?: diet)?",
        "diet",
        "The user is {v}.",
    ),
    _rule(
        r"i (?:can't|cannot|can not|mustn't|must not|"
        r"am not allowed to) (?:eat|have|drink|tolerate) (?P<v>.+)",
        "avoids:{n}",
        "The user can't have {v}.",
        many=True,
    ),
    _rule(r"i (?:don't|do not|never) (?:eat|drink) (?P<v>.+)", "avoids:{n}", "The user does not have {v}.", many=True),
    _rule(
        rf"(?:{_HAVE}|i suffer from |"
        rf"i was diagnosed with )(?P<v>{_ILL})",
        "condition:{n}",
        "The user has {v}.",
        many=True,
    ),
    _rule(
        rf"{_AM}(?P<v>married|single|divorced|"
        rf"engaged|widowed)(?: (?:to|with) .+)?",
        "marital status",
        "The user is {v}.",
    ),
    _rule(
        r"i (?:just )?got (?P<v>married|divorced|"
        r"engaged)(?: (?:to|with|in|on) .+)?",
        "marital status",
        "The user is {v}.",
    ),
    _rule(
        rf"{_HAVE}(?P<v>(?:(?:a|an|one|two|three|four|"
        rf"five|six|\d+) (?:\w+ )?(?:{_PETS}|{_KIN})s?))",
        "has:{h}",
        "The user has {v}.",
    ),
    _rule(rf"{_I}(?:drive|ride) (?P<v>(?:a|an) .+)", "vehicle", "The user drives {v}."),
    _rule(rf"{_I}(?:speak) (?P<v>[A-Z].+)", "speaks:{n}", "The user speaks {v}.", many=True),
    _rule(rf"{_AM}(?:learning|studying) (?P<v>.+)", "learning:{n}", "The user is learning {v}.", many=True),
    _rule(
        rf"{_AM}(?P<v>(?:training for|"
        rf"preparing for|working on|saving for) .+)",
        "doing:{n}",
        "The user is {v}.",
    ),
    _rule(
        rf"{_AM}(?:planning|organi[sz]ing|"
        rf"going on) (?P<v>(?:a|an|my|our) .+)",
        "plan:{h}",
        "The user plans {v}.",
    ),
    _rule(rf"{_AM}(?:travel?ling|flying|moving|going) to (?P<v>[A-Z].+)", "travel", "The user is travelling to {v}."),
    _rule(
        r"(?:you can |please )?(?:reach|contact|"
        r"e-?mail|write) me (?:at|on|via) (?P<v>\S+@\S+)",
        "my:email",
        "The user's email is {v}.",
    ),
)
_NAMED: Final = re.compile(
    rf"(?:{_HAVE}(?:a|an) (?:\w+ )?|my )(?P<who>{_PETS}|{_KIN}|wife|"
    rf"husband|partner|girlfriend|boyfriend|mother|father|mom|dad|"
    r"boss|manager)(?:'s name is| is called| is named| named| called|,? whose name is) (?P<v>[A-Z]\w+)\b.*$",
    re.IGNORECASE,
)
_OWNED: Final = re.compile(rf"{_HAVE}(?P<v>.+)$", re.IGNORECASE)
_OWNABLE: Final = re.compile(rf"\b(?:{_PETS}|{_KIN})s?\b", re.IGNORECASE)
_NUMBERS: Final = frozenset({"one", "two", "three", "four", "five", "six"})
_GREETED: Final = re.compile(
    r"^(?i:hi|hello|hey|good (?:morning|evening|afternoon))\b[^.!?]{0,20}[,.!\s]+(?i:this is|"
    r"i'm|i am) (?P<v>[A-Z][a-z]+(?: [A-Z][a-z]+)?)\b"
    r"(?=\s*(?:[.,!]|and\b|from\b|here\b|$))"
)
_MINE: Final = re.compile(
    r"^(?P<what>my (?:new |current |correct |"
    r"preferred )?(?P<noun>[a-z][\w'-]*(?: [a-z][\w'-]*){0,2})) (?:is|are) (?P<v>.+)$",
    re.IGNORECASE,
)
_NO_ATTRIBUTE: Final = re.compile(
    r"\b(?:question|point|guess|problem|issue|understanding|"
    r"bad|mistake|concern|idea|opinion|impression|fault|turn|"
    r"pleasure|feeling|thought|apolog(?:y|ies)|favou?rite|"
    r"first name|last name|full name|view|belief|request|suggestion|"
    r"advice|answer|worry|complaint|impressions?|take|favorites|favourites|name)s?$",
    re.IGNORECASE,
)
_NO_VALUE: Final = re.compile(
    r"^(?:not|so|very|too|late|here|there|broken|down|slow|wrong|"
    r"missing|gone|fine|good|great|bad|ready|done|to|that|how|"
    r"why|what|when|where|empty|full|dead|sick|ok|okay|still|"
    r"always|never|also|just|really|in|on|at|from|with|out|up|off|"
    r"getting|being|going|asking|about|due|coming|it|this|these|"
    r"those|he|she|they|better|worse|more|less|today|tomorrow|"
    r"beautiful|nice|awesome|amazing|terrible|tired|happy|sad|"
    r"angry|upset|cold|hot|hungry|ill|overdue|long|short|hard|"
    r"easy|unable|full|old|new|pretty|quite|kind|sort|no longer|yours?|\w{3,}ing|(?!united|red\b)\w{3,}ed)\b",
    re.IGNORECASE,
)


def facts(clause: str) -> Iterator[Statement]:
    """What `clause`, a sentence's part in the first person, states."""
    if found := _NAMED.match(clause):
        who, name = found["who"].lower(), found["v"]
        if name[0].isupper():
            yield Statement(kind="fact", slot=f"my:{who} name", value=name, text=f"The user's {who} is called {name}.")
        return
    if (found := _OWNED.match(clause)) and len(owned := items(found["v"])) > 1 and any(map(_OWNABLE.search, owned)):
        for each in owned:
            article = "" if each[:1].isdigit() or each.split()[0].lower() in _NUMBERS else "a "
            yield from facts(f"I have {article}{each}")
        return
    matched = False
    for said in dict.fromkeys((clause, trimmed(clause))):
        for rule in _RULES:
            if found := rule.pattern.match(said):
                matched = True
                yield from _stated(rule, found["v"])
        if matched:
            break
    if not matched and (found := _MINE.match(clause)):
        noun, value = found["noun"], trimmed(found["v"])
        if value and not _NO_ATTRIBUTE.search(noun) and not _NO_VALUE.match(value):
            yield Statement(kind="fact", slot=f"my:{normal(noun)}", value=value, text=f"The user's {noun} is {value}.")


def introduced(sentence: str) -> Iterator[Statement]:
    """The name with which a greeting introduces the user."""
    if found := _GREETED.match(sentence):
        name = found["v"]
        if name.lower() not in _NATIONS.split("|"):
            yield Statement(kind="fact", slot="name", value=name, text=f"The user's name is {name}.")


def _stated(rule: Rule, value: str) -> Iterator[Statement]:
    value = trimmed(value)
    split: Callable[[str], list[str]] = items if rule.many else lambda text: [text]
    for each in split(value):
        plain = normal(each)
        if plain and plain not in _NOTHING:
            slot = rule.slot.format(n=plain, h=plain.split()[-1])
            yield Statement(kind="fact", slot=slot, value=each, text=rule.text.format(v=each))


_NOTHING: Final = frozenset(
    {"it", "that", "this", "them", "these", "those", "you", "him", "her", "there", "here", "so", "much"}
)
