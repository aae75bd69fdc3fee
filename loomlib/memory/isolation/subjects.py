"""Test actors and tenants with very similar ids, and their namespaces."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

DESIGN_PATTERNS: Final = (
    "/facts/{actorId}/",
    "/preferences/{actorId}/",
    "/summaries/{actorId}/{sessionId}/",
    "/{tenantId}/{userId}/facts/",
)
"""Tested when a memory has no strategy: the usual templates, and a platform's template with a tenant."""
PLACEHOLDERS: Final = (
    "actorId", "sessionId", "memoryStrategyId", "tenantId", "tenant_id", "accountId", "account_id", "userId", "user_id",
)  # fmt: skip
_PLACEHOLDER: Final = re.compile(r"\{(\w+)\}")

_USERS: Final = ("user-1", "user-10", "user-1-0", "User-1", "user_1", "user", "1", "10", "a", "ab", "user-1-", "1-0")
_TENANTS: Final = ("t1", "t10", "T1", "t", "t1-user", "t1_a", "acme", "acme-2")
_SEPARATORS: Final = (":", "-", "_")
_SLASHES: Final = ("/", ":a/")
_PAIRS: Final = (
    ("t1", "user-1", ":"), ("t1", "user-10", ":"), ("t10", "user-1", ":"), ("t1", "user", "-"), ("t1-user", "1", "-"),
)  # fmt: skip
_NESTED: Final = (("t1", "a", ":"), ("t1", "a/b", ":"))
_MOST: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class IsolationSubject:
    """A test actor: a user of a tenant, with the actor id that an agent would use.

    Attributes:
        tenant: The tenant.
        user: The user.
        actor_id: The actor id.
        session_id: A session id.
    """

    tenant: str
    user: str
    actor_id: str
    session_id: str

    def namespace(self, pattern: str, root: str, strategy_id: str = "strategy") -> str:
        """Fill in a pattern for this actor.

        Args:
            pattern: A namespace with placeholders.
            root: The namespace above it.
            strategy_id: Value of `{memoryStrategyId}`.
        """
        values = {
            "actorId": self.actor_id,
            "sessionId": self.session_id,
            "memoryStrategyId": strategy_id,
            **dict.fromkeys(("tenantId", "tenant_id", "accountId", "account_id"), self.tenant),
            **dict.fromkeys(("userId", "user_id"), self.user),
        }
        return f"{root}/{_PLACEHOLDER.sub(lambda match: values[match[1]], pattern).lstrip('/')}"


def subjects(seed: int, count: int, token: str, *, slashes: bool = False) -> list[IsolationSubject]:
    """Return test actors, no two with the same actor id or the same tenant and user; the same for the same seed.

    The first are pairs of ids that are easily confused, the others are drawn at random.

    Args:
        seed: Seed of the random ids.
        count: How many.
        token: Prefix that separates them from real actors.
        slashes: Whether ids may contain slashes.

    Raises:
        ValueError: `count` is out of range.
    """
    if not isinstance(count, int) or not 2 <= count <= _MOST:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ValueError(f"An isolation test needs 2 to {_MOST} test actors")
    rng = random.Random(seed)  # noqa: S311 - reproducible, not secret
    drawn_subjects: dict[str, IsolationSubject] = {}
    used_pairs: set[tuple[str, str]] = set()
    pairs = list(_PAIRS) + (list(_NESTED) if slashes else [])
    separators = _SEPARATORS + (_SLASHES if slashes else ())
    while len(drawn_subjects) < count:
        drawn = rng.choice(_TENANTS), rng.choice(_USERS) + _random_suffix(rng), rng.choice(separators)
        tenant, user, separator = pairs.pop(0) if pairs else drawn
        actor_id = f"{token}{tenant}{separator}{user}"
        if actor_id not in drawn_subjects and (tenant, user) not in used_pairs:
            used_pairs.add((tenant, user))
            session = rng.choice(("s1", "s10"))
            drawn_subjects[actor_id] = IsolationSubject(
                tenant=token + tenant, user=user, actor_id=actor_id, session_id=session
            )
    return list(drawn_subjects.values())


def checked_patterns(patterns: Iterable[str]) -> list[str]:
    """Return the patterns without duplicates.

    Raises:
        ValueError: There is no pattern, or one has an unknown placeholder.
    """
    unique = list(dict.fromkeys(patterns))
    for pattern in unique:
        for name in _PLACEHOLDER.findall(pattern):
            if name not in PLACEHOLDERS:
                raise ValueError(f"{{{name}}} in {pattern!r} is not a placeholder; use {', '.join(PLACEHOLDERS)}")
    if not unique:
        raise ValueError("Name at least one pattern, such as /facts/{actorId}/")
    return unique


def _random_suffix(rng: random.Random) -> str:
    return "".join(rng.choice("01aA-_") for _ in range(rng.randrange(4)))
