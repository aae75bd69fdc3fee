"""The interface to a judge model, and the implementation on Bedrock's Converse API."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cache
from typing import TYPE_CHECKING, Any, Final, Protocol, runtime_checkable

from loomlib.aws import Clients
from loomlib.aws.converse import ModelAnswer, ToolForm, converse
from loomlib.errors import AwsError, ServiceFailedError, ThrottledError, TransportError

from ..values.judge_error import JudgeFailedError
from .question import Question

if TYPE_CHECKING:
    from loomlib.telemetry.cost import PriceTable

DEFAULT_MODEL: Final = "global.anthropic.claude-sonnet-4-6"
SIMULATED_JUDGE: Final = "simulated judge"
"""Provenance label of verdicts by the local scripted model."""
_FIRST_PAUSE_S: Final = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeReply:
    """A judge model's reply.

    Attributes:
        values: The reply in the question's form.
        input_tokens: Input tokens, None when unknown.
        output_tokens: Output tokens, None when unknown.
        cost: US dollars, None when unknown.
        labels: Provenance labels of everything derived from the reply.
        attempts: Number of requests, including the first.
    """

    values: Mapping[str, Any]
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost: float | None = None
    labels: tuple[str, ...] = ()
    attempts: int = 1

    @property
    def tokens(self) -> int | None:
        """Input and output tokens together, None when one is unknown."""
        is_known = self.input_tokens is not None and self.output_tokens is not None
        return (self.input_tokens or 0) + (self.output_tokens or 0) if is_known else None


@runtime_checkable
class JudgeModel(Protocol):
    """A model that judges.

    Attributes:
        key: Identifies the model in digests; under a different key, stored verdicts are not reused.
    """

    @property
    def key(self) -> str:
        """What identifies the model in digests."""
        ...

    async def ask(self, question: Question, /, *, sample: int = 0) -> JudgeReply:
        """Answer a question in its form.

        Args:
            question: The question.
            sample: Number of the repetition, to distinguish repeats of one question.

        Raises:
            JudgeFailedError: The model cannot be called, or its reply does not have the required form.
        """
        ...


@dataclass(frozen=True, kw_only=True)
class ConverseJudge:
    """A judge model on Bedrock's Converse API, on AWS or local.

    Attributes:
        clients: The AWS clients of a connection.
        model_id: A model id or inference profile.
        structured: "tool" to have the model call a tool (Anthropic's and Amazon's models support this), "json" to have
            it reply with one JSON object.
        temperature: Sampling temperature, None for the model's default.
        max_tokens: Limit of the reply.
        retries: Retries after throttling, server errors (5xx) and transport failures.
        prices: Price table, by default the list prices.
    """

    clients: Clients = field(repr=False)
    model_id: str = DEFAULT_MODEL
    structured: str = "tool"
    temperature: float | None = 0.0
    max_tokens: int = 1_500
    retries: int = 2
    prices: PriceTable | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if self.structured not in ("tool", "json"):
            raise ValueError(f"structured must be 'tool' or 'json', not {self.structured!r}")

    @property
    def key(self) -> str:
        """Identity in digests: the model and its inference settings.

        The account and region are excluded, because they do not change the judge. The local model is marked, because it
        is a different judge.
        """
        local = "local " if self.clients.connection.environment else ""
        return f"{local}{self.model_id} {self.structured} t={self.temperature}"

    async def ask(self, question: Question, /, *, sample: int = 0) -> JudgeReply:
        """Ask the model.

        Args:
            question: The question.
            sample: Number of the repetition.

        Raises:
            JudgeFailedError: Of the kind "malformed", "timeout", "transport" or "aws:<error code>".
        """
        attempt = 1
        while True:
            try:
                answer = await asyncio.to_thread(self._converse, question)
                break
            except (ThrottledError, ServiceFailedError, TransportError) as error:
                if attempt > self.retries:
                    raise JudgeFailedError.of_aws(error, attempts=attempt) from error
                await asyncio.sleep(_FIRST_PAUSE_S * 2 ** (attempt - 1) * random.uniform(0.5, 1.5))  # noqa: S311 - jitter
                attempt += 1
            except AwsError as error:
                raise JudgeFailedError.of_aws(error, attempts=attempt) from error
        cost = cost_of(answer, self.model_id, self.prices)
        try:
            values = self._values(question, answer)
        except JudgeFailedError as error:  # the reply is paid for
            error.tokens = (answer.input_tokens or 0) + (answer.output_tokens or 0)
            error.cost = cost or 0.0
            raise
        return JudgeReply(
            values=values,
            input_tokens=answer.input_tokens,
            output_tokens=answer.output_tokens,
            cost=cost,
            labels=(SIMULATED_JUDGE,) if answer.is_simulated else (),
            attempts=attempt,
        )

    def _converse(self, question: Question) -> ModelAnswer:
        by_tool = self.structured == "tool"
        system, user = question.rendered(by_tool=by_tool)
        form = ToolForm(name=question.form.name, description=question.form.description, schema=question.form.schema)
        return converse(
            self.clients,
            self.model_id,
            [{"role": "user", "content": [{"text": user}]}],
            system=system,
            tools=(form,) if by_tool else (),
            tool_choice={"tool": {"name": form.name}} if by_tool else None,
            max_tokens=self.max_tokens,
            temperature=self.temperature,
        )

    def _values(self, question: Question, answer: ModelAnswer) -> Mapping[str, Any]:
        if self.structured == "json":
            return question.form.parsed(answer.text)
        calls = [arguments for name, arguments in answer.calls if name == question.form.name]
        if len(calls) != 1:
            reason = f" (stop reason: {answer.stop_reason})" if answer.stop_reason else ""
            raise JudgeFailedError(
                f"The judge returned {len(calls)} verdicts instead of one{reason}",
                kind="malformed",
                on=self.model_id,
                try_='a higher max_tokens, another model, or structured="json"',
            )
        return question.form.checked(calls[0])


async def all_replies(*requests: Awaitable[JudgeReply]) -> list[JudgeReply]:
    """Send requests to a judge model concurrently and wait for all of them.

    Raises:
        JudgeFailedError: The first failure of a request, with the tokens and the cost of all requests.
    """
    results = await asyncio.gather(*requests, return_exceptions=True)
    errors = [result for result in results if isinstance(result, BaseException)]
    replies = [result for result in results if not isinstance(result, BaseException)]
    if not errors:
        return replies
    failures = [error for error in errors if isinstance(error, JudgeFailedError)]
    if not failures or any(not isinstance(error, Exception) for error in errors):  # a cancellation comes first
        raise next((error for error in errors if not isinstance(error, Exception)), errors[0])
    error, paid = failures[0], [*replies, *failures]
    error.tokens, error.cost = sum(item.tokens or 0 for item in paid), sum(item.cost or 0.0 for item in paid)
    raise error


def cost_of(answer: ModelAnswer, model_id: str, prices: PriceTable | None = None) -> float | None:
    """Return the cost of an answer in US dollars at list prices.

    A simulated answer costs 0; None when a price or a token count is missing.

    Args:
        answer: The model's answer.
        model_id: The model, as the price table names it.
        prices: Price table, by default the list prices.
    """
    if answer.is_simulated:
        return 0.0
    table = prices or _list_prices()
    price = table.model(model_id)
    if price is None or table.currency != "USD":
        return None
    read, wrote = answer.input_tokens, answer.output_tokens
    if read is None or wrote is None:
        return None
    counts = {
        "input": read,
        "output": wrote,
        "cache_read": answer.cache_read_tokens,
        "cache_write": answer.cache_write_tokens,
    }
    prompt = read + answer.cache_read_tokens + answer.cache_write_tokens
    total = Decimal(0)
    for kind, count in counts.items():
        unit_price = price.price(kind, prompt)
        if count and unit_price is None:
            return None
        total += count * (unit_price or Decimal(0)) / 1_000_000
    return float(total)


@cache
def _list_prices() -> PriceTable:
    from loomlib.telemetry.cost import price_table

    return price_table()
