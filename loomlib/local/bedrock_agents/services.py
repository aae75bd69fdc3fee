"""The services that agents call: models with guardrails, Lambda functions, knowledge bases, and other agents."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

from ..functions import FunctionPool
from ..functions import find_version as find_function
from ..guardrails import GuardedModel, GuardrailPlane
from ..knowledge.retrieval import RetrievalPlane
from ..knowledge.store import RankedPassage
from ..models import ConverseModel, ModelRefusedError
from ..resources import Place, ResourceRecord
from ..resources.store import ResourceStore
from ..wire import RefusedError
from .actions import dependency_failed
from .code_sandbox import AgentSandboxes
from .resources import AGENT, AGENT_ALIAS
from .versions import AgentVersion, find_version


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentServices:
    """The services that agents call.

    Attributes:
        store: The agents.
        models: Answers Converse.
        guardrails: The guardrails that agents name.
        retrieval: Searches knowledge bases.
        functions: Runs Lambda functions.
        sandboxes: Executes code.
    """

    store: ResourceStore
    models: ConverseModel
    guardrails: GuardrailPlane
    retrieval: RetrievalPlane
    functions: FunctionPool
    sandboxes: AgentSandboxes

    async def converse(self, model: str, request: Mapping[str, Any], place: Place) -> dict[str, Any]:
        """Call a model with the guardrail that the request names.

        Args:
            model: The model's id.
            request: The body of Converse.
            place: The agent's region and account.

        Raises:
            RefusedError: The model refuses the request, or the guardrail does not exist.
        """
        find = partial(self.guardrails.version, place=place)
        try:
            return cast("dict[str, Any]", await GuardedModel(self.models, find).converse(model, dict(request)))
        except ModelRefusedError as refused:
            raise RefusedError(refused.code, refused.status, refused.message) from refused

    async def guarded_output(self, guardrail: Mapping[str, str], text: str, place: Place) -> tuple[str, dict[str, Any]]:
        """Apply a guardrail to an answer; return the resulting text, and the assessment in Converse's form.

        Args:
            guardrail: The member `guardrailConfiguration` of an agent.
            text: An answer that was not written by a model of the agent.
            place: The agent's region and account.

        Raises:
            RefusedError: The guardrail does not exist.
        """
        request = {**guardrail, "source": "OUTPUT", "content": [{"text": {"text": text or "-"}}]}
        answer = await self.guardrails.apply_guardrail(request, place)
        intervened = answer["action"] == "GUARDRAIL_INTERVENED"
        trace = {"guardrail": {"outputAssessments": {guardrail["guardrailIdentifier"]: answer["assessments"]}}}
        output_text = "".join(output["text"] for output in answer["outputs"]) if intervened else text
        return output_text, {"trace": trace, "stopReason": "guardrail_intervened" if intervened else "end_turn"}

    async def call_function(self, arn: str, event: Mapping[str, Any], place: Place) -> str:
        """Call a Lambda function and return its result as JSON.

        Args:
            arn: The function's ARN.
            event: The event of an action group.
            place: The agent's region and account.

        Raises:
            RefusedError: The function does not exist, or it failed (424).
        """
        try:
            function = await asyncio.to_thread(find_function, arn, None, place)
            result = await self.functions.call(function, json.dumps(event))
        except RefusedError as refused:
            raise dependency_failed(f"The Lambda function {arn} cannot be invoked: {refused.message}", arn) from refused
        if result.failed:
            raise dependency_failed(
                f"Your request couldn't be completed. Lambda function {arn} encountered a problem while processing "
                f"request. The error message from the Lambda function is {result.payload}. Check the Lambda function "
                "log for error details, then try your request again after fixing the error.",
                arn,
            )
        return result.payload

    async def search(
        self, base: str, question: str, configuration: Mapping[str, Any] | None, place: Place
    ) -> list[RankedPassage]:
        """Return the best passages of a knowledge base.

        Args:
            base: The knowledge base's id.
            question: The search query.
            configuration: The member `retrievalConfiguration` of Retrieve.
            place: The agent's region and account.

        Raises:
            RefusedError: It cannot be searched (424).
        """
        try:
            passages, size = await self.retrieval.search(base, question, configuration, place)
        except RefusedError as refused:
            message = f"The knowledge base {base} cannot be searched: {refused.message}"
            raise dependency_failed(message, base) from refused
        return passages[:size]

    def alias_version(self, arn: str, place: Place) -> tuple[ResourceRecord, AgentVersion]:
        """Return the alias of a collaborator, and the version that it routes to.

        Args:
            arn: The alias's ARN.
            place: The supervisor's region and account.

        Raises:
            RefusedError: The alias does not exist (424).
        """
        alias = self.store.visible(AGENT_ALIAS.noun, place, arn)
        agent = self.store.of_arn(alias.parent) if alias is not None else None
        if alias is None or agent is None or agent.kind != AGENT.noun:
            raise dependency_failed(f"Agent alias not found: {arn}", arn)
        return alias, find_version(agent, alias.document["routingConfiguration"][0]["agentVersion"])
