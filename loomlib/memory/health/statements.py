"""Facts that a sentence states, by rules on English: subject, attribute, value, affirmed or denied.

Only attributes with one value at a time are read, so that two values contradict each other. Sentences that no rule
matches are ignored, because wrong findings cost more than missed ones.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from ...json_values import parse_object

_SENTENCE: Final = re.compile(r"(?<=[.!?\n;])\s+")
_TAG: Final = re.compile(r"<[^<>]*>")
_WORD: Final = re.compile(r"[\w@.+#%-]*\w(?:\+\+|#)?")
_STOP: Final = frozenset(
    (  # noqa: SIM905 - read better in lines
        "a an the user customer client user's is are was were be been has have had of in on at to for from by with and "
        "or as that this it its he she they his her their does do did very really also now currently"
    ).split()
)
_NOT: Final = re.compile(
    r"\b(?:not|never|no longer|doesn'?t|don'?t|didn'?t|isn'?t|aren'?t|wasn'?t|can'?t|cannot|won'?t|stopped|quit|"
    r"dislikes?|hates?|avoids?|without|no)\b",
    re.IGNORECASE,
)
_LONGEST: Final = 400  # characters of a sentence that is read; statements are short

_SUBJECT: Final = (
    r"(?P<who>(?:the )?(?:user|customer|client|caller|person)|[A-Z][\w'-]+(?: [A-Z][\w'-]+)?|i|he|she|they)"
)
_ADVERB: Final = r"(?:(?:now|currently|actually|still|also|recently|already|really|just|has) )*"
_NUMBER: Final = r"\d{1,3}|one|two|three|four|five|six|seven|eight|nine|ten"


def _rule(attribute: str, pattern: str) -> tuple[str, re.Pattern[str]]:
    return attribute, re.compile(rf"^{_SUBJECT}(?:'s)? {_ADVERB}{pattern}$", re.IGNORECASE)


_RULES: Final = (
    _rule("home", r"(?:lives?|resides?|is based|is living|am based|is located|are based) in (?P<v>.+)"),
    _rule("home", r"(?:have |has )?(?:moved|relocated)(?: from .+?)? to (?P<v>(?-i:[A-Z]).+)"),
    _rule("employer", r"(?:works? (?:for|at)|is employed (?:by|at)|joined) (?P<v>.+)"),
    _rule("occupation", r"works? as (?:an? |the )?(?P<v>.+)"),
    _rule("age", rf"(?:is|am|turned) (?P<v>{_NUMBER})(?: years old| years of age)?"),
    _rule("birthday", r"was born on (?P<v>.+)"),
    _rule("origin", r"(?:is|am|comes?) from (?P<v>.+)"),
    _rule("called", r"(?:is|am|goes by|wants to be|prefers to be) (?:called|named) (?P<v>.+)"),
    _rule("marital status", r"(?:is|am) (?P<v>married|single|divorced|widowed|engaged)(?: to .+)?"),
    _rule("diet", r"(?:is|am) (?:an? )?(?P<v>vegan|vegetarian|pescatarian|meat[- ]eater|omnivore)"),
)
_COUNTED: Final = re.compile(
    rf"^{_SUBJECT} {_ADVERB}(?:has|have) (?P<v>{_NUMBER}) "
    r"(?P<of>child(?:ren)?|kids?|sons?|daughters?|brothers?|sisters?|siblings?|dogs?|cats?|cars?)$",
    re.IGNORECASE,
)
_OWN: Final = re.compile(
    r"^(?:(?P<who>(?:the )?(?:user|customer|client)|[A-Z][\w-]+)['’]s|my) (?P<of>[\w -]{2,40}?) (?:is|are) "
    r"(?P<v>(?!not\b|allergic|an? ).+)$",
    re.IGNORECASE,
)
_OWN_SINGLE: Final = re.compile(
    r"^(?:(?:first|last|full|middle) )?name$|^favou?rite\b|^(?:birthday|age|job|occupation|employer|manager|boss|"
    r"doctor|dentist|home ?town|city|address|home address|phone number|number|email|e-mail|email address|time ?zone|"
    r"language|preferred [\w -]+|blood type|nationality|shoe size|budget|partner|wife|husband|spouse|account manager|"
    r"plan|subscription|seat|preference)$",
    re.IGNORECASE,
)
_DENY: Final = r"does not|doesn'?t|do not|don'?t|no longer|never"
_LIKES: Final = re.compile(
    rf"^{_SUBJECT} {_ADVERB}(?P<verb>(?:{_DENY}) (?:likes?|loves?|enjoys?|eats?|drinks?|smokes?)|stopped liking|"
    r"dislikes?|hates?|detests?|can'?t stand|likes?|loves?|enjoys?|adores?|"
    r"(?:is|am) (?:not |no longer )?allergic to|isn'?t allergic to|eats?|drinks?|smokes?)\b ?(?P<v>.*)$",
    re.IGNORECASE,
)
_FAMILIES: Final = (("allerg", "allergy"), ("smoke", "smoking"), ("eat", "eating"), ("drink", "drinking"))
_LEADS_IN: Final = re.compile(
    r"^(?:(?:yes|no|well|ok|okay|hi|hello|hey|actually|by the way|also|and|so|sorry),? )+", re.IGNORECASE
)
_I_AM: Final = re.compile(r"^(?:i'm|im)\b", re.IGNORECASE)
_I_HAVE: Final = re.compile(r"^i've\b", re.IGNORECASE)
_WORDS_OF_NUMBERS: Final[Mapping[str, str]] = {
    "one": "1", "two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7", "eight": "8", "nine": "9",
    "ten": "10",
}  # fmt: skip
_ENDS: Final = re.compile(
    r"(?:,? (?:now|currently|these days|since .+|with .+|because .+|but .+|anymore|any more|as of .+|at the moment|too|"
    r"again|please|instead|actually|a lot|very much|so much))+$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedFact:
    """A fact that a sentence states.

    Attributes:
        who: The subject: "user" or a name.
        attribute: The attribute, such as "home" or "liking tea".
        value: Its value; "yes" or "no" for what is affirmed or denied.
        sentence: The sentence.
    """

    who: str
    attribute: str
    value: str
    sentence: str


def statement_text(text: str) -> str:
    """Return a record's text as sentences: the preference of a preference's JSON, a summary without tags."""
    if text.lstrip().startswith("{") and (fields := parse_object(text)):
        return str(fields.get("preference") or text)
    return _TAG.sub(" ", text)


def stated_facts(text: str) -> Iterator[StatedFact]:
    """Yield the facts that the sentences of a text state."""
    for part in _SENTENCE.split(statement_text(text)):
        sentence = " ".join(part.split()).strip(" .!\"'")
        if 5 <= len(sentence) <= _LONGEST and not part.rstrip().endswith("?"):
            yield from _facts(_third_person(sentence))


def _facts(sentence: str) -> Iterator[StatedFact]:
    for attribute, pattern in _RULES:
        if (match := pattern.match(sentence)) and not match["v"].lower().startswith("not "):
            yield _fact(match, attribute, match["v"], sentence)
            return
    if match := _COUNTED.match(sentence):
        yield _fact(match, f"number of {match['of'].lower().removesuffix('s')}", match["v"], sentence)
    elif (match := _OWN.match(sentence)) and _OWN_SINGLE.match(match["of"]):
        attribute = {"city": "home", "occupation": "occupation", "job": "occupation"}.get(
            match["of"].lower(), match["of"]
        )
        yield _fact(match, attribute.lower().replace("favourite", "favorite"), match["v"], sentence)
    elif match := _LIKES.match(sentence):
        verb = match["verb"].lower()
        family = next((name for part, name in _FAMILIES if part in verb), "liking")
        subject = _value(match["v"])
        if subject or family == "smoking":
            denied = "no" if _NOT.search(verb) or "detest" in verb else "yes"
            yield StatedFact(
                who=_who(match["who"]), attribute=f"{family} {subject}".strip(), value=denied, sentence=sentence
            )


def agree(attribute: str, a: str, b: str) -> bool:
    """Return whether two values of an attribute can both be true: equal, or one is more detailed.

    Args:
        attribute: The attribute, such as "home"; numbers agree only when they are equal.
        a: One value, in lower case.
        b: The other value, in lower case.

    Examples:
        >>> agree("home", "berlin", "berlin, germany")
        True
    """
    first, second = set(_WORD.findall(a)), set(_WORD.findall(b))
    return a == b or (
        not attribute.startswith("number") and bool(first and second) and (first <= second or second <= first)
    )


def plain_words(text: str) -> list[str]:
    """Return the words of a text without stop words, in lower case and without a plural s."""
    words = (word.strip("'.").lower() for word in _WORD.findall(text))
    return [word.removesuffix("s") if len(word) > 3 else word for word in words if word and word not in _STOP]


def is_negated(text: str) -> bool:
    """Return whether a text denies something."""
    return len(_NOT.findall(text)) % 2 == 1


def _fact(match: re.Match[str], attribute: str, value: str, sentence: str) -> StatedFact:
    return StatedFact(who=_who(match["who"]), attribute=attribute, value=_value(value), sentence=sentence)


def _who(who: str | None) -> str:
    plain = (who or "user").lower().removeprefix("the ")
    return "user" if plain in ("i", "user", "customer", "client", "caller", "person", "he", "she", "they") else plain


def _value(value: str) -> str:
    plain = _ENDS.sub("", value.strip(" .,!'\"")).lower()
    plain = re.sub(r"^(?:an?|the|some|any) ", "", plain)
    return _WORDS_OF_NUMBERS.get(plain, plain)


def _third_person(sentence: str) -> str:
    """Remove introductory words and expand "I'm" to "I am"; the rules include verbs of the first person."""
    return _I_HAVE.sub("I have", _I_AM.sub("I am", _LEADS_IN.sub("", sentence)))
