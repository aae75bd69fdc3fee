"""Token counts without invoking the model (CountTokens of bedrock-runtime)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from .connection import Clients
from .errors import translated

_REGION = re.compile(r"^(?:us-gov|us|eu|apac|ap|jp|au|ca|sa|me|global)\.")


def count_tokens(
    clients: Clients,
    model: str,
    messages: Sequence[Mapping[str, Any]],
    system: Sequence[str] = (),
    *,
    region: str | None = None,
) -> int:
    """Count the input tokens of a Converse request for `model`. Needs `bedrock:CountTokens`.

    CountTokens accepts foundation models only, so the prefix of a cross-region inference profile is removed.

    Args:
        clients: The AWS clients of a connection.
        model: The model's id, or that of an inference profile.
        messages: The messages in Converse's format.
        system: The texts of the system prompt.
        region: The region, if it is not the connection's.

    Raises:
        RequestRejectedError: The model cannot count tokens.
        AwsError: The request failed.
    """
    converse: dict[str, Any] = {"messages": [dict(message) for message in messages]}
    if system:
        converse["system"] = [{"text": text} for text in system]
    plain = _REGION.sub("", model)
    with translated("Counting tokens", on=plain):
        answer: dict[str, Any] = clients.client("bedrock-runtime", region).count_tokens(
            modelId=plain, input={"converse": converse}
        )
        return int(answer["inputTokens"])
