"""Latency profiles of the scripted model; every number from them is *simulated*.

`field-notes` has the shape of published measurements of one real agent on AgentCore (a calculator agent, four model
calls):

    input tokens   kind       output tokens   first token   whole call
    1,752          tool use    44             2.707 s       2.916 s
    1,771          tool use   100             –             3.072 s
    1,822          answer      54             1.395 s       1.489 s
    1,952          answer     117             2.662 s       3.455 s

together with "about 1.5 s at 1,750 input tokens, 4.0 s at 5,000", which is 0.77 ms an input token. The rest follows:
a tool decision starts at 2,707 − 0.77·1,752 = 1,360 ms, an answer at the mean of both, 2,028 − 0.77·1,887 = 575 ms; a
token takes 209/44 = 4.8 ms in a tool call and (94 + 793)/(54 + 117) = 5.2 ms in text. The spread (a log-normal with σ
= 0.2) is taken from the same notes' warm calls (1.7 to 3.8 s around 2.6 s). Four calls are a small sample: do not use
it for capacity planning.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from .refusals import invalid


@dataclass(frozen=True, slots=True, kw_only=True)
class LatencyProfile:
    """The times of a model call, in milliseconds.

    Attributes:
        name: Its name.
        tool_start_ms: Time to the first token of a tool call, without the input.
        answer_start_ms: Time to the first token of an answer, without the input.
        input_token_ms: Time for each input token.
        tool_token_ms: Time for each token of a tool call.
        text_token_ms: Time for each token of an answer.
        spread: σ of a log-normal factor on the time to the first token and on the pace; 0 for none.
    """

    name: str
    tool_start_ms: float = 0.0
    answer_start_ms: float = 0.0
    input_token_ms: float = 0.0
    tool_token_ms: float = 0.0
    text_token_ms: float = 0.0
    spread: float = 0.0

    @property
    def is_instant(self) -> bool:
        """Whether the profile adds no latency."""
        return not (
            self.tool_start_ms
            or self.answer_start_ms
            or self.input_token_ms
            or self.tool_token_ms
            or self.text_token_ms
        )

    def timing(self, *, input_tokens: int, calls_tools: bool, digest: str) -> Timing:
        """Draw the times of one answer.

        Args:
            input_tokens: The tokens of the request.
            calls_tools: Whether the answer calls tools.
            digest: A hash of the request; the same request always gets the same times.
        """
        chance = random.Random(digest)  # noqa: S311 - a reproducible spread, not a secret
        start = self.tool_start_ms if calls_tools else self.answer_start_ms
        first = (start + self.input_token_ms * input_tokens) * math.exp(chance.gauss(0.0, self.spread))
        pace = (self.tool_token_ms if calls_tools else self.text_token_ms) * math.exp(chance.gauss(0.0, self.spread))
        return Timing(first_token_ms=first, token_ms=pace)


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """One answer's time to its first token and between tokens, in milliseconds."""

    first_token_ms: float
    token_ms: float


_FIELD_NOTES = LatencyProfile(
    name="field-notes",
    tool_start_ms=1360,
    answer_start_ms=575,
    input_token_ms=0.77,
    tool_token_ms=4.8,
    text_token_ms=5.2,
    spread=0.2,
)
_FAST = LatencyProfile(
    name="fast",
    tool_start_ms=136,
    answer_start_ms=57.5,
    input_token_ms=0.077,
    tool_token_ms=0.48,
    text_token_ms=0.52,
    spread=0.2,
)

PROFILES: Mapping[str, LatencyProfile] = MappingProxyType(
    {profile.name: profile for profile in (LatencyProfile(name="instant"), _FAST, _FIELD_NOTES)}
)
"""The profiles by name: `instant` never waits, `fast` takes a tenth of `field-notes`."""


def find_profile(name: str) -> LatencyProfile:
    """Find a profile by name.

    Raises:
        ModelRefusedError: The profile does not exist (ValidationException); the message names the known ones.
    """
    if name not in PROFILES:
        raise invalid(f"There is no latency profile {name!r}; known profiles are {', '.join(sorted(PROFILES))}.")
    return PROFILES[name]
