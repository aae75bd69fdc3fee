"""Assessment of texts by a guardrail: the findings of its policies, and the resulting texts."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from .findings import ANONYMIZED, BLOCKED, GuardrailFinding, Source
from .judged import find_content, find_grounding, find_topics
from .sensitive import find_sensitive
from .words import find_words

_UNIT_CHARACTERS: Final = 1_000  # AWS's pricing: characters of one text unit
_LISTS: Final[Mapping[str, tuple[str, ...]]] = {
    "topicPolicy": ("topics",),
    "contentPolicy": ("filters",),
    "wordPolicy": ("customWords", "managedWordLists"),
    "sensitiveInformationPolicy": ("piiEntities", "regexes"),
    "contextualGroundingPolicy": ("filters",),
}
_JUDGED: Final = ("topicPolicy", "contentPolicy", "contextualGroundingPolicy")


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardrailVersion:
    """A version of a guardrail.

    Attributes:
        id: Its id.
        arn: Its ARN.
        version: "DRAFT" or a number.
        configuration: Its configuration, by the member names of the API.
    """

    id: str
    arn: str
    version: str
    configuration: Mapping[str, Any] = field(repr=False)

    def policy(self, name: str) -> Mapping[str, Any]:
        """Return the configuration of a policy, such as `wordPolicy`; empty without one."""
        return self.configuration.get(f"{name}Config") or {}

    def blocked_message(self, source: Source) -> str:
        """Return the message that replaces a blocked prompt or answer."""
        side = "blockedInputMessaging" if source == "INPUT" else "blockedOutputsMessaging"
        return str(self.configuration[side])


@dataclass(frozen=True, slots=True, kw_only=True)
class TextAssessment:
    """The assessment of texts that belong together.

    Attributes:
        guardrail: The guardrail.
        source: The side of the model that the texts are on.
        texts: The texts.
        findings: The findings of each text; the last entry has those of all texts together.
        grounded: Whether grounding was assessed.
        latency_ms: Duration in milliseconds.
    """

    guardrail: GuardrailVersion
    source: Source
    texts: tuple[str, ...]
    findings: tuple[tuple[GuardrailFinding, ...], ...]
    grounded: bool
    latency_ms: float

    @property
    def blocked(self) -> bool:
        """Whether a finding blocks the texts."""
        return any(finding.action == BLOCKED for finding in self._all)

    @property
    def masked(self) -> bool:
        """Whether something in the texts is masked."""
        return any(finding.action == ANONYMIZED for finding in self._all)

    @property
    def outputs(self) -> list[str]:
        """The replacement of the texts: one message, the masked texts, or an empty list if nothing changes."""
        if self.blocked:
            return [self.guardrail.blocked_message(self.source)]
        return self.masked_texts if self.masked else []

    @property
    def masked_texts(self) -> list[str]:
        """The texts with masked parts replaced by placeholders."""
        return [_masked(text, findings) for text, findings in zip(self.texts, self.findings, strict=False)]

    @property
    def reason(self) -> str:
        """`actionReason`: the action taken, and the policies that are simulated here."""
        outcome = "Guardrail blocked." if self.blocked else "Guardrail masked." if self.masked else "No action."
        judged_policies = sorted(
            {finding.policy for finding in self._all if finding.policy in _JUDGED and finding.entry["detected"]}
        )
        return (
            f"{outcome} Simulated by the local AgentCore: {', '.join(judged_policies)}." if judged_policies else outcome
        )

    def usage(self) -> dict[str, int]:
        """Return the text units of each policy; a unit has 1,000 characters."""
        units = math.ceil(sum(map(len, self.texts)) / _UNIT_CHARACTERS)
        sensitive = self.guardrail.policy("sensitiveInformationPolicy")
        has_kinds = bool(sensitive.get("piiEntitiesConfig"))
        return {
            "topicPolicyUnits": units * bool(self.guardrail.policy("topicPolicy")),
            "contentPolicyUnits": units * bool(self.guardrail.policy("contentPolicy")),
            "wordPolicyUnits": units * bool(self.guardrail.policy("wordPolicy")),
            "sensitiveInformationPolicyUnits": units * has_kinds,
            "sensitiveInformationPolicyFreeUnits": units * bool(sensitive.get("regexesConfig")),
            "contextualGroundingPolicyUnits": units * self.grounded,
        }

    def coverage(self) -> dict[str, Any]:
        """Return the number of assessed characters."""
        characters = sum(map(len, self.texts))
        return {"textCharacters": {"guarded": characters, "total": characters}}

    def document(self, *, full: bool = False) -> dict[str, Any]:
        """Return the assessment in the form of the API.

        Args:
            full: Whether to include filters that did not match; grounding scores are always included.
        """
        assessment: dict[str, Any] = {}
        for finding in self._all:
            if full or finding.entry["detected"] or finding.policy == "contextualGroundingPolicy":
                lists = {name: list[Any]() for name in _LISTS[finding.policy]}
                assessment.setdefault(finding.policy, lists)[finding.entries].append(dict(finding.entry))
        metrics = {
            "guardrailProcessingLatency": math.ceil(self.latency_ms),
            "usage": self.usage(),
            "guardrailCoverage": self.coverage(),
        }
        applied = {
            "guardrailId": self.guardrail.id,
            "guardrailVersion": self.guardrail.version,
            "guardrailArn": self.guardrail.arn,
            "guardrailOrigin": ["REQUEST"],
            "guardrailOwnership": "SELF",
        }
        return {**assessment, "invocationMetrics": metrics, "appliedGuardrailDetails": applied}

    @property
    def _all(self) -> list[GuardrailFinding]:
        return [finding for group in self.findings for finding in group]


def assess(
    guardrail: GuardrailVersion, texts: Sequence[str], source: Source, *, sources: Sequence[str] = (), query: str = ""
) -> TextAssessment:
    """Assess texts by every policy of a guardrail.

    This is CPU-bound: call it in a thread.

    Args:
        guardrail: The guardrail.
        texts: The texts.
        source: The side of the model that they are on.
        sources: The texts in which an answer should be grounded.
        query: The question that it answers.
    """
    began = time.perf_counter()
    findings: list[tuple[GuardrailFinding, ...]] = []
    for text in texts:
        text_findings = list(find_sensitive(guardrail.policy("sensitiveInformationPolicy"), text, source))
        text_findings += find_words(guardrail.policy("wordPolicy"), text, source)
        findings.append(tuple(text_findings))
    whole = "\n".join(texts)
    judged_findings: list[GuardrailFinding] = []
    if whole.strip():
        judged_findings += find_content(guardrail.policy("contentPolicy"), whole, source)
        if topics := guardrail.policy("topicPolicy"):
            judged_findings += find_topics(topics, whole, source)
    grounding = guardrail.policy("contextualGroundingPolicy")
    grounded = bool(source == "OUTPUT" and grounding and sources and query)
    if grounded:
        judged_findings += find_grounding(grounding, whole, sources=sources, query=query)
    return TextAssessment(
        guardrail=guardrail,
        source=source,
        texts=tuple(texts),
        findings=(*findings, tuple(judged_findings)),
        grounded=grounded,
        latency_ms=(time.perf_counter() - began) * 1_000,
    )


def _masked(text: str, findings: Sequence[GuardrailFinding]) -> str:
    spans = [(*span, item.placeholder) for item in findings if item.action == ANONYMIZED for span in item.spans]
    pieces: list[str] = []
    at = 0
    for start, end, placeholder in sorted(spans, key=lambda span: (span[0], -span[1])):
        if start >= at:
            pieces += (text[at:start], placeholder)
        at = max(at, end)  # nothing of an overlapping finding stays
    return "".join([*pieces, text[at:]])
