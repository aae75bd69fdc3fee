"""Actors and tenants whose ids are as much alike as ids may be, and the namespaces that patterns give them."""

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
"""What is tried where a memory has no strategy: the usual templates, and a platform's with a tenant of its own."""
PLACEHOLDERS: Final = (
    "actorId", "sessionId", "memoryStrategyId", "tenantId", "tenant_id", "accountId", "account_id", "userId", "user_id",
)  # fmt: skip
_PLACEHOLDER: Final = re.compile(r"\{(\w+)\}")

_USERS: Final = ("user-1", "user-10", "user-1-0", "User-1", "user_1", "user", "1", "10", "a", "ab", "user-1-", "1-0")
_TENANTS: Final = ("t1", "t10", "T1", "t", "t1-user", "t1_a", "acme", "acme-2")
_JOINTS: Final = (":", "-", "_")
_SLASHES: Final = ("/", ":a/")
_PAIRS: Final = (
    ("t1", "user-1", ":"), ("t1", "user-10", ":"), ("t10", "user-1", ":"), ("t1", "user", "-"), ("t1-user", "1", "-"),
)  # fmt: skip
_NESTED: Final = (("t1", "a", ":"), ("t1", "a/b", ":"))
_MOST: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class IsolationSubject:
    """Somebody who reads and writes: a user of a tenant, under the actor id that an agent would use."""

    tenant: str
    user: str
    actor_id: str
    session_id: str

    def namespace(self, pattern: str, root: str, strategy_id: str = "strategy") -> str:
        """The pattern filled in for this subject, below `root`."""
        values = {
            "actorId": self.actor_id,
            "sessionId": self.session_id,
            "memoryStrategyId": strategy_id,
            **dict.fromkeys(("tenantId", "tenant_id", "accountId", "account_id"), self.tenant),
            **dict.fromkeys(("userId", "user_id"), self.user),
        }
        return f"{root}/{_PLACEHOLDER.sub(lambda found: values[found[1]], pattern).lstrip('/')}"


def subjects(seed: int, count: int, token: str, *, slashes: bool = False) -> list[IsolationSubject]:
    """Some subjects, no two with the same actor id or the same tenant and user; the same for the same seed.

    `token` keeps them from real actors. The first are known to be mistaken for each other, the others are drawn.
    """
    if not isinstance(count, int) or not 2 <= count <= _MOST:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ValueError(f"isolation is between 2 and {_MOST} actors: say how many, they are made up")
    chance = random.Random(seed)  # noqa: S311 - to be drawn again, not to be secret
    made: dict[str, IsolationSubject] = {}
    known: set[tuple[str, str]] = set()
    pairs = list(_PAIRS) + (list(_NESTED) if slashes else [])
    joints = _JOINTS + (_SLASHES if slashes else ())
    while len(made) < count:
        drawn = chance.choice(_TENANTS), chance.choice(_USERS) + _tail(chance), chance.choice(joints)
        tenant, user, joint = pairs.pop(0) if pairs else drawn
        actor_id = f"{token}{tenant}{joint}{user}"
        if actor_id not in made and (tenant, user) not in known:
            known.add((tenant, user))
            session = chance.choice(("s1", "s10"))
            made[actor_id] = IsolationSubject(tenant=token + tenant, user=user, actor_id=actor_id, session_id=session)
    return list(made.values())


def checked_patterns(patterns: Iterable[str]) -> list[str]:
    """The patterns, each once. Raises `ValueError` for a placeholder that nobody fills in."""
    found = list(dict.fromkeys(patterns))
    for pattern in found:
        for name in _PLACEHOLDER.findall(pattern):
            if name not in PLACEHOLDERS:
                raise ValueError(f"{{{name}}} in {pattern!r} is no placeholder: {', '.join(PLACEHOLDERS)}")
    if not found:
        raise ValueError("name a pattern at least, such as /facts/{actorId}/")
    return found


def _tail(chance: random.Random) -> str:
    return "".join(chance.choice("01aA-_") for _ in range(chance.randrange(4)))
