"""AWS's rules for names and values, in words; AWS itself states them as patterns of its parameters.

From botocore's service models of bedrock-agentcore and bedrock-agentcore-control.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

_NAME: Final = "a name of letters, digits and underscores, a letter first, 48 characters at most"
_NAMESPACE: Final = "a namespace such as /facts/anna/: letters, digits, hyphens, underscores and slashes, no spaces"
_ID: Final = "{} of letters, digits, hyphens and underscores, a letter or digit first, no spaces, {} characters at most"
_RULES: Final[Mapping[str, str]] = {
    "agentRuntimeName": _NAME,
    "name": _NAME,
    "eventExpiryDuration": "3 to 3,650 days",
    "actorId": _ID.format("an actor's id", 255),
    "sessionId": _ID.format("a session's id", 100),
    "memoryRecordId": "the id of a record as the memory gave it: mem- and at least 36 more characters",
    "namespace": _NAMESPACE,
    "namespacePath": _NAMESPACE,
    "searchQuery": "a question of 10,000 characters at most",
    "entryPoint": "a Python file, such as agent.py",
    "environmentVariables": "at most 50 variables, each of 5,000 characters at most",
}


def rule_in(message: str) -> str:
    """Return the rule that a message about a rejected request refers to, or an empty string.

    Examples:
        >>> rule_in("1 validation error detected: Value at 'eventExpiryDuration' failed to satisfy constraint: …")
        '3 to 3,650 days'
    """
    for parameter, rule in _RULES.items():
        if re.search(rf"'{parameter}' failed|\b{parameter} must\b|\bparameter:? {parameter}\b", message):
            return rule
    return ""
