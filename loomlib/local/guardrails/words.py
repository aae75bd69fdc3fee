"""Word policies: custom words and phrases, and the list of profanities."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Final

from .findings import GuardrailFinding, Source, action_for

_PROFANITIES: Final = frozenset(
    [
        "arse",
        "arsehole",
        "asshole",
        "bastard",
        "bitch",
        "bollocks",
        "bullshit",
        "crap",
        "cunt",
        "dickhead",
        "fuck",
        "fucked",
        "fucker",
        "fucking",
        "goddamn",
        "motherfucker",
        "piss",
        "prick",
        "shit",
        "shitty",
        "slut",
        "twat",
        "wanker",
        "whore",
    ]
)
"""AWS's list is not public; this one is short and covers English only."""


def find_words(policy: Mapping[str, Any], text: str, source: Source) -> Iterator[GuardrailFinding]:
    """Yield the custom words and the profanities of a text.

    Only whole words match, case-insensitively; a phrase matches with any white space between its words.

    Args:
        policy: The guardrail's `wordPolicyConfig`.
        text: The text.
        source: The side of the model that it is on.
    """
    for item in policy.get("wordsConfig") or ():
        if (action := action_for(item, source)) and (match := _pattern(item["text"]).search(text)):
            entry = {"match": match[0], "action": action, "detected": True}
            yield GuardrailFinding(policy="wordPolicy", entries="customWords", entry=entry, spans=(match.span(),))
    for item in policy.get("managedWordListsConfig") or ():
        if action := action_for(item, source):
            for match in re.finditer(r"\w+", text):
                if match[0].lower() in _PROFANITIES:
                    entry = {"match": match[0], "type": item["type"], "action": action, "detected": True}
                    yield GuardrailFinding(
                        policy="wordPolicy", entries="managedWordLists", entry=entry, spans=(match.span(),)
                    )


@lru_cache(maxsize=10_000)  # AWS: words of one guardrail
def _pattern(words: str) -> re.Pattern[str]:
    phrase = r"\s+".join(map(re.escape, words.split()))
    return re.compile(rf"(?<!\w){phrase}(?!\w)", re.IGNORECASE)
