"""From what somebody wrote to the statements in it: sentences, clauses, and which of them state nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

_LONGEST_SENTENCE: Final = 2_000
_LONGEST_CLAUSE: Final = 300
"""Nobody states a fact of themselves in more characters, and rules take long over what repeats itself."""
_QUOTED: Final = re.compile(r"```.*?(```|$)|\"[^\"]{0,500}\"|“[^”]{0,500}”", re.DOTALL)
_END: Final = re.compile(r"(?<=[.!?…])[\"')\]]*\s+(?=[\"'(\[]?[A-Z0-9])|\n+|(?<=[!?])\s+")
_ABBREVIATED: Final = re.compile(r"\b(Mr|Mrs|Ms|Dr|Prof|St|e\.g|i\.e|approx|No|vs|a\.m|p\.m)\.$")
_CLAUSE: Final = re.compile(
    r"\s*;\s*|:\s+(?=I\b)|,?\s+(?:and|but|so|although|though|while)\s+(?=(?:I|i|my|I'm|I've|please)\b)"
    r"|,\s+(?=(?:I|my|I'm|I've|please)\b)|\s+[–—]\s+"
)
_OPENING: Final = re.compile(
    r"^(?:(?:hi|hello|hey|well|ok|okay|oh|ah|so|and|but|also|"
    r"plus|yes|yeah|yep|no|nope|thanks|thank you|by the way|btw|"
    r"fyi|just so you know|for your information|for the record|"
    r"(?:please )?(?:note|remember|keep in mind|bear in mind|be aware|don't forget|do not forget)(?: that)?|"
    r"(?:(?:just|only) )?a (?:quick )?reminder(?: that)?|(?:i want|i'd like) you to (?:know|remember)(?: that)?|"
    r"you should know(?: that)?|as you know|again|first|second|"
    r"finally|sorry|i'm sorry|apologies|hmm|um|uh|to be clear|let me add|one more thing|"
    r"i forgot to (?:say|mention)(?: that)?|i should (?:say|mention)(?: that)?)\b[,:.!\s–—-]*)+",
    re.IGNORECASE,
)
_CORRECTING: Final = re.compile(
    r"^(?:actually|correction|in fact|i meant|i mean|wait|"
    r"scratch that|i misspoke|i was wrong|update)\b[,:.!\s–—-]*",
    re.IGNORECASE,
)
_ASKING: Final = re.compile(
    r"^(?:what|what's|who|who's|whom|whose|where|where's|when|"
    r"why|how|which|is|are|am|was|were|do|does|did|can|could|will|"
    r"would|should|shall|may|might|have you|has|had)\b(?!.*\bis my\b)",
    re.IGNORECASE,
)
_HEDGED: Final = re.compile(
    r"\b(?:maybe|perhaps|possibly|probably|might|may be|could be|"
    r"i think|i guess|i suppose|i believe|i'd guess|not sure|"
    r"unsure|i wonder|i doubt|seems? (?:like|to)|supposedly|"
    r"allegedly|hypothetically|theoretically|what if|suppose|"
    r"imagine|pretend|assume|let's say|say i|if i|if my|unless|"
    r"as if|as though|wish|hope(?:fully)?|someday|one day|"
    r"considering|thinking (?:of|about)|kidding|joking|just a joke|for example|role-?play)\b",
    re.IGNORECASE,
)
_TOLD_BY_OTHERS: Final = re.compile(
    r"\b(?:he|she|they|someone|somebody|everyone|people|"
    r"the (?:article|book|movie|character|customer|user|client)|"
    r"my (?:\w+ )?(?:friend|boss|colleague|neighbou?r|doctor|"
    r"wife|husband|partner|brother|sister|mother|mom|mum|father|"
    r"dad|son|daughter|manager|teacher|client|customer)) (?:said|"
    r"says|told|claims?|claimed|thinks?|thought|believes?|"
    r"asked|wrote|writes)\b",
    re.IGNORECASE,
)


def statements(text: str) -> Iterator[tuple[str, bool]]:
    """The clauses of `text` that state something of its writer, each with whether it corrects what was said before.

    Questions, suppositions, hedges, quotations and what others said are no statements.

    >>> list(statements("Hi, I live in Ulm. Do I like it? Maybe I'll move. Actually, my name is Ada."))
    [('I live in Ulm', False), ('my name is Ada', True)]
    """
    for sentence in sentences(_QUOTED.sub(" ", text.replace("’", "'"))):
        sentence = " ".join(sentence.split())
        if len(sentence) > _LONGEST_SENTENCE or sentence.endswith("?"):
            continue
        if _HEDGED.search(sentence) or _TOLD_BY_OTHERS.search(sentence):
            continue
        correcting = False
        for clause in _CLAUSE.split(sentence):
            clause = _OPENING.sub("", clause.strip())
            if found := _CORRECTING.match(clause):
                correcting = True
                clause = _OPENING.sub("", clause[found.end() :])
            clause = clause.strip(" .!,;:…")
            if clause and len(clause) <= _LONGEST_CLAUSE and not _ASKING.match(clause):
                yield clause, correcting


def sentences(text: str) -> list[str]:
    """`text` cut at its sentences' ends; an abbreviation's full stop ends none."""
    found: list[str] = []
    begin = 0
    for end in _END.finditer(text):
        part = text[begin : end.start()].strip()
        if _ABBREVIATED.search(part) and "\n" not in end[0]:
            continue
        if part:
            found.append(part)
        begin = end.end()
    if rest := text[begin:].strip():
        found.append(rest)
    return found
