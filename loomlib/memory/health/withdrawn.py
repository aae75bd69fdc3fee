"""Finds facts that an actor withdrew and that a record still states, such as a session's summary.

Extraction deletes a fact's own record when its actor withdraws it ("I no longer live in Berlin", "please forget my
address"). The summary of the session in which it was stated is another record, which nothing rewrites later.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from ...aws.memory_shapes import MemoryEvent, MemoryRecord
from ..displays import safe_id
from .finding import Finding
from .scan import MemoryScan, changed_at
from .stale import EXTRACTION
from .statements import StatedFact, agree, plain_words, stated_facts, statement_text

_SENTENCE: Final = re.compile(r"(?<=[.!?\n;])\s+")
_LEADS_IN: Final = re.compile(
    r"^(?:(?:yes|no|well|ok|okay|hi|hello|hey|actually|by the way|also|and|so|sorry|please|could you|can you|"
    r"i want you to|i'd like you to),? )+",
    re.IGNORECASE,
)
_FORGET_THAT: Final = re.compile(
    r"^(?:forget|delete|remove|ignore)(?: the fact)?(?: that)? (?P<said>(?:i|my)\b .+?)(?: from your memory)?$",
    re.IGNORECASE,
)
_FORGET_WHAT: Final = re.compile(
    r"^(?:forget|delete|remove|erase) (?:everything |all |what i (?:said|told you) )?(?:about |of )?"
    r"(?:(?P<own>my) )?(?P<what>[\w' -]{3,40}?)(?: from your memory)?$",
    re.IGNORECASE,
)
_NO_LONGER: Final = re.compile(r"\b(?:no longer|don't|do not|'m not|am not|not)\b", re.IGNORECASE)
_ANYMORE: Final = re.compile(r",? (?:any ?more|any longer)$", re.IGNORECASE)
_LEFT: Final = re.compile(
    r"^i(?:'ve| have)? (?:just |recently )?(?:left|quit|resigned from|lost)(?: my job)?(?: at)? "
    r"(?P<employer>(?-i:[A-Z]).+)$",
    re.IGNORECASE,
)
_SAID_BY_USER: Final = re.compile(r"^the user (?:said|asked|stated|mentioned|told)(?: that)?:? ", re.IGNORECASE)
_SAID_OF_WITHDRAWAL: Final = re.compile(
    r"\b(?:no longer|any ?more|forget|forgot|delete|remove|erase|withdrew|stopped|used to|formerly|previously|was|were|"
    r"left|quit|moved away)\b",
    re.IGNORECASE,
)
_VAGUE: Final = frozenset(
    ("it", "that", "this", "all", "everything", "thing", "things", "me", "last", "message", "question", "just", "one")
)
_BY_RULE: Final = "inferred (rules on English)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Withdrawal:
    """A withdrawal by an actor.

    Attributes:
        event: The event with the message.
        sentence: The sentence that withdraws it.
        fact: The fact as it was stated before; None when only its topic is known.
        words: The words of its topic; empty with a fact.
    """

    event: MemoryEvent
    sentence: str
    fact: StatedFact | None = None
    words: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Withdrawn:
    """The withdrawals of one actor: facts by subject and attribute, and topics by their words."""

    facts: Mapping[tuple[str, str], tuple[Withdrawal, StatedFact]]
    topics: tuple[Withdrawal, ...]

    @classmethod
    def of(cls, withdrawals: Iterable[Withdrawal]) -> _Withdrawn:
        facts: dict[tuple[str, str], tuple[Withdrawal, StatedFact]] = {}
        topics: list[Withdrawal] = []
        for withdrawal in withdrawals:
            if withdrawal.fact is None:
                topics.append(withdrawal)
            else:
                facts[withdrawal.fact.who, withdrawal.fact.attribute] = (withdrawal, withdrawal.fact)
        return cls(facts=facts, topics=tuple(topics))

    def standing(self, record: MemoryRecord, *, since: datetime | None) -> tuple[Withdrawal, str] | None:
        """Return a withdrawal that a record ignores, with the record's sentence; None when there is none.

        Args:
            record: The record.
            since: Only withdrawals after this time count; None for all.
        """
        if not self.facts and not self.topics:
            return None
        for part in _SENTENCE.split(statement_text(record.text)):
            sentence = _SAID_BY_USER.sub("", " ".join(part.split()))
            if not sentence or _SAID_OF_WITHDRAWAL.search(sentence):
                continue
            withdrawal = self._of_facts(sentence) or self._of_topics(sentence)
            if withdrawal is not None and (since is None or withdrawal.event.timestamp > since):
                return withdrawal, sentence
        return None

    def _of_facts(self, sentence: str) -> Withdrawal | None:
        for stated in stated_facts(sentence):
            withdrawal, fact = self.facts.get((stated.who, stated.attribute), (None, None))
            if fact is not None and agree(stated.attribute, stated.value, fact.value):
                return withdrawal
        return None

    def _of_topics(self, sentence: str) -> Withdrawal | None:
        if not self.topics or sentence.lower().startswith("the assistant"):
            return None
        words = set(plain_words(sentence))
        return next((topic for topic in self.topics if topic.words <= words), None)


def find_withdrawn(scan: MemoryScan, *, extraction: timedelta = EXTRACTION) -> Iterator[Finding]:
    """Yield one finding for each record that still states what its actor withdrew.

    Args:
        scan: The memory's records and events.
        extraction: How long extraction may take.
    """
    before = scan.now - extraction
    of_actor: dict[str, _Withdrawn] = {}
    for namespace, records in scan.namespaces.items():
        owner = scan.owners[namespace]
        if owner is None or not owner.actor_id:
            continue
        if owner.actor_id not in of_actor:
            of_actor[owner.actor_id] = _Withdrawn.of(_withdrawals(scan.events_of.get(owner.actor_id, []), before))
        withdrawn, is_summary = of_actor[owner.actor_id], bool(owner.session_id)
        where = f"{'the summary' if is_summary else 'a record'} in {safe_id(namespace)}"
        for record in records:
            # A fact record changed after the withdrawal already reflects it; a summary may still repeat the fact.
            standing = withdrawn.standing(record, since=None if is_summary else changed_at(record))
            if standing is not None:
                withdrawal, sentence = standing
                yield Finding(
                    kind="stale",
                    severity="warning",
                    what=f"{where} still states what its actor withdrew later",
                    certainty=_BY_RULE,
                    evidence=(
                        scan.record_evidence(record, sentence),
                        scan.event_evidence(withdrawal.event, withdrawal.sentence),
                    ),
                    fix=f"update or delete {record.record_id}",
                )


def _withdrawals(events: list[MemoryEvent], before: datetime) -> Iterator[Withdrawal]:
    """Yield the withdrawals in the messages until `before`, except of facts that were stated again later."""
    facts: dict[tuple[str, str], Withdrawal] = {}
    topics: list[Withdrawal] = []
    for event in sorted(events, key=lambda event: event.timestamp):
        if event.timestamp > before:
            break
        for message in event.messages:
            if message.role != "USER":
                continue
            for fact in stated_facts(message.text):
                previous = facts.get((fact.who, fact.attribute))
                if (
                    previous is not None
                    and previous.fact is not None
                    and agree(fact.attribute, fact.value, previous.fact.value)
                ):
                    del facts[fact.who, fact.attribute]
            for sentence in _SENTENCE.split(message.text):
                plain = _LEADS_IN.sub("", " ".join(sentence.split()).strip(" .!\"'"))
                withdrawn = _withdrawn_fact(plain)
                if withdrawn is not None:
                    facts[withdrawn.who, withdrawn.attribute] = Withdrawal(event=event, sentence=plain, fact=withdrawn)
                elif words := _forgotten_words(plain):
                    topics.append(Withdrawal(event=event, sentence=plain, words=words))
    yield from facts.values()
    yield from topics


def _withdrawn_fact(sentence: str) -> StatedFact | None:
    """Return the fact that a sentence withdraws, as it was stated before."""
    if match := _FORGET_THAT.match(sentence):
        stated = match["said"]
    elif match := _LEFT.match(sentence):
        stated = f"I work at {match['employer']}"
    elif _ANYMORE.search(sentence) or re.search(r"\bno longer\b", sentence, re.IGNORECASE):
        stated = " ".join(_NO_LONGER.sub("", _ANYMORE.sub("", sentence).replace("I'm not", "I am"), count=1).split())
    else:
        return None
    return next(stated_facts(stated), None)


def _forgotten_words(sentence: str) -> frozenset[str]:
    """Return the words of the topic that a sentence asks to forget; empty when it names no specific topic."""
    match = _FORGET_WHAT.match(sentence)
    if match is None:
        return frozenset()
    words = frozenset(plain_words(match["what"])) - _VAGUE
    # Without "my" ("forget Berlin"), the topic must contain a name: otherwise the sentence may be just a phrase.
    is_named = match["own"] is not None or any(word[:1].isupper() for word in match["what"].split())
    return words if is_named else frozenset()
