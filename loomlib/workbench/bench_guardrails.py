"""The guardrails of an account: list, create, delete, and check texts with them; `bench.bedrock.guardrails`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from ..aws import guardrails
from ..aws.guardrails import Guardrail, GuardrailAssessment, Side
from ..errors import RequestRejectedError
from ..presentation.formats import milliseconds, score
from ..presentation.html import card
from .account_resources import AccountResources
from .context import Context
from .frames import guardrail_frame, guardrail_match_frame

if TYPE_CHECKING:
    import pandas as pd

_CONTENT: Final = ("HATE", "INSULTS", "SEXUAL", "VIOLENCE", "MISCONDUCT")
_MESSAGE: Final = "Sorry, this is blocked by a guardrail."


class GuardrailCheck:
    """Result of checking a text with a guardrail.

    Attributes:
        value: The assessment.
        labels: Provenance labels, such as "local AgentCore"; "simulated" where local rules evaluate a policy.
    """

    def __init__(self, value: GuardrailAssessment, text: str, labels: tuple[str, ...]) -> None:
        self.value, self._text, self.labels = value, text, labels

    @property
    def intervened(self) -> bool:
        """Whether the guardrail blocked or masked something."""
        return self.value.intervened

    @property
    def text(self) -> str:
        """The resulting text: the text itself, the masked text, or the message that replaces a blocked text."""
        return "\n".join(self.value.outputs) if self.value.outputs else self._text

    @property
    def matches(self) -> pd.DataFrame:
        """The matches, one row each: policy, kind, match, action, confidence, score, threshold."""
        return guardrail_match_frame(self.value.matches)

    def __repr__(self) -> str:
        state = "intervened" if self.intervened else "passed"
        return f"<GuardrailCheck: {state}, {len(self.value.matches)} found, {milliseconds(self.value.duration_ms)}>"

    def _repr_html_(self) -> str:
        facts = [("client duration", milliseconds(self.value.duration_ms)), ("reason", self.value.reason)]
        facts += [(f"{match.policy}: {match.kind}", _sentence(match)) for match in self.value.matches]
        state = ("bad", "intervened") if self.intervened else ("good", "passed")
        return card("Guardrail", state=state, labels=self.labels, facts=facts, text=self.text)


class GuardrailView:
    """One guardrail.

    Args:
        context: The workbench's resources.
        value: The guardrail.
    """

    def __init__(self, context: Context, value: Guardrail) -> None:
        self._context, self.value = context, value

    def __repr__(self) -> str:
        """Return its name, status and policies."""
        return f"Guardrail {self.value.name} ({self.value.status.lower()}): {', '.join(self.value.policies)}"

    def check(
        self,
        text: str,
        *,
        side: Side = "INPUT",
        version: str = "DRAFT",
        grounded_in: str | Sequence[str] = (),
        query: str = "",
    ) -> GuardrailCheck:
        """Check a text, without asking a model.

            guardrail.check("Write to ann@example.org").text  # 'Write to {EMAIL}'

        Args:
            text: The text.
            side: "INPUT" for a prompt, "OUTPUT" for an answer.
            version: "DRAFT" or a version's number.
            grounded_in: Texts that an answer must be grounded in, for grounding filters.
            query: The question that the text answers, for grounding filters.
        """
        sources = [grounded_in] if isinstance(grounded_in, str) else list(grounded_in)
        result = guardrails.apply_guardrail(
            self._context.clients, self.value, text, side=side, version=version, grounded_in=sources, query=query
        )
        labels = self._context.labels
        judged = any(match.policy in ("topics", "content", "grounding") for match in result.matches)
        if self._context.where == "local" and judged:
            labels = (*labels, "topics, content and grounding simulated")
        return GuardrailCheck(result, text, labels)

    def publish(self, description: str = "") -> str:
        """Publish the working draft as a version, which never changes, and return its number.

        Args:
            description: A description of the version.
        """
        return guardrails.create_version(self._context.clients, self.value, description=description)

    def configuration(self, version: str = "DRAFT", *, trace: bool = True) -> dict[str, str]:
        """Return `guardrailConfig` for Converse.

        Args:
            version: "DRAFT" or a version's number.
            trace: Whether answers include what was found.
        """
        reference = {"guardrailIdentifier": self.value.id, "guardrailVersion": version}
        return {**reference, "trace": "enabled" if trace else "disabled"}


class BenchGuardrails(AccountResources[Guardrail, GuardrailView]):
    """The guardrails that a workbench can reach; `bench.bedrock.guardrails`.

    Args:
        context: The workbench's resources.
    """

    def __init__(self, context: Context) -> None:
        super().__init__(
            context,
            list_all=guardrails.list_guardrails,
            find=guardrails.find_guardrail,
            delete=guardrails.delete_guardrail,
            frame=guardrail_frame,
            view=GuardrailView,
        )

    def create(
        self,
        name: str,
        *,
        words: Sequence[str] = (),
        profanity: bool = False,
        mask: Sequence[str] = (),
        block: Sequence[str] = (),
        topics: Mapping[str, str] | None = None,
        content: str | None = None,
        prompt_attacks: bool = False,
        grounding: float | None = None,
        relevance: float | None = None,
        blocked_input: str = _MESSAGE,
        blocked_output: str = _MESSAGE,
        description: str = "",
        region: str | None = None,
    ) -> GuardrailView:
        """Create a guardrail.

            guardrail = bench.bedrock.guardrails.create("careful", words=["nightjar"], mask=["EMAIL"], content="HIGH")
            guardrail.check("Tell me about nightjar").intervened  # True

        Args:
            name: Its name: letters, digits, hyphens and underscores, at most 50.
            words: Words and phrases to block.
            profanity: Whether to block profanity.
            mask: Kinds of personal data to mask, such as "EMAIL" (Bedrock's names).
            block: Kinds of personal data to block.
            topics: Topics to block, by name, with a definition of at most 200 characters.
            content: Strength of the content filters (hate, insults, sexual, violence, misconduct): "LOW", "MEDIUM" or
                "HIGH"; None for no content filters.
            prompt_attacks: Whether to block attempts to override instructions.
            grounding: Minimum score, from 0 to 0.99, for an answer to count as grounded in its sources.
            relevance: Minimum score, from 0 to 0.99, for an answer to count as relevant to its question.
            blocked_input: The answer to a blocked prompt.
            blocked_output: The text that replaces a blocked answer.
            description: Its description.
            region: The AWS region; the connection's by default.

        Raises:
            ConflictError: The name is taken.
            RequestRejectedError: It has no policy, or Bedrock refuses one.
        """
        strengths = {kind: (content, content) for kind in _CONTENT} if content else {}
        strengths |= {"PROMPT_ATTACK": ("HIGH", "NONE")} if prompt_attacks else {}
        scores = {"GROUNDING": grounding, "RELEVANCE": relevance}
        policies: dict[str, dict[str, list[Any]]] = {
            "wordPolicyConfig": {
                "wordsConfig": [{"text": word} for word in words],
                "managedWordListsConfig": [{"type": "PROFANITY"}] if profanity else [],
            },
            "sensitiveInformationPolicyConfig": {
                "piiEntitiesConfig": [
                    *({"type": kind, "action": "ANONYMIZE"} for kind in mask),
                    *({"type": kind, "action": "BLOCK"} for kind in block),
                ]
            },
            "topicPolicyConfig": {
                "topicsConfig": [
                    {"name": topic, "definition": definition, "type": "DENY"}
                    for topic, definition in (topics or {}).items()
                ]
            },
            "contentPolicyConfig": {
                "filtersConfig": [
                    {"type": kind, "inputStrength": input_strength, "outputStrength": output_strength}
                    for kind, (input_strength, output_strength) in strengths.items()
                ]
            },
            "contextualGroundingPolicyConfig": {
                "filtersConfig": [
                    {"type": kind, "threshold": least} for kind, least in scores.items() if least is not None
                ]
            },
        }
        filled_policies = {
            policy: filled
            for policy, lists in policies.items()
            if (filled := {name: items for name, items in lists.items() if items})
        }
        if not filled_policies:
            raise RequestRejectedError(
                "A guardrail needs at least one policy", on=name, try_='words=["…"], mask=["EMAIL"] or content="HIGH"'
            )
        messages = {"blockedInputMessaging": blocked_input, "blockedOutputsMessaging": blocked_output}
        optional_fields = {"description": description} if description else {}
        guardrail = guardrails.create_guardrail(
            self._context.clients, name, {**messages, **optional_fields, **filled_policies}, region=region
        )
        return GuardrailView(self._context, guardrail)


def _sentence(match: guardrails.GuardrailMatch) -> str:
    """Return a match in a few words."""
    if match.score is not None:
        return f"{match.action.lower()}, score {score(match.score)}, threshold {score(match.threshold)}"
    match_text = f" “{match.match}”" if match.match else ""
    confidence_text = f", confidence {match.confidence.lower()}" if match.confidence else ""
    return f"{match.action.lower()}{match_text}{confidence_text}"
