"""The permissions of an agent's role, as notebooks show them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from ..deploy.policies import RolePolicy, UnresolvedPermission
from ..presentation.html import card, table

if TYPE_CHECKING:
    import pandas as pd


class PolicyView:
    """The policy of an agent's role: its JSON, a reason for each statement, and the unresolved permissions.

    Args:
        policy: The policy.
    """

    def __init__(self, policy: RolePolicy) -> None:
        self._policy = policy

    @property
    def value(self) -> RolePolicy:
        """The policy's statements with their reasons and places."""
        return self._policy

    @property
    def unresolved(self) -> Sequence[UnresolvedPermission]:
        """Permissions that the agent may need but that the role does not get, because a resource is unknown."""
        return self._policy.unresolved

    def document(self) -> dict[str, Any]:
        """Return the policy as IAM reads it."""
        return self._policy.document()

    def table(self) -> pd.DataFrame:
        """Return one row for each statement."""
        import pandas as pd

        return pd.DataFrame(
            [
                {
                    "statement": statement.sid,
                    "actions": ", ".join(statement.actions),
                    "resources": ", ".join(statement.resources),
                    "reason": statement.reason,
                    "where": ", ".join(statement.places),
                }
                for statement in self._policy.statements
            ]
        )

    def __repr__(self) -> str:
        return json.dumps(self.document(), indent=2)

    def _repr_html_(self) -> str:
        rows = [
            (one.sid, ", ".join(one.actions), ", ".join(one.resources), one.reason, ", ".join(one.places))
            for one in self._policy.statements
        ]
        parts = [table(("statement", "actions", "resources", "reason", "required by"), rows)]
        if self._policy.unresolved:
            needs = [(item.place, item.what, item.try_) for item in self._policy.unresolved]
            parts.append(table(("where", "unknown", "what to do"), needs, caption="Permissions to decide on"))
        return card(
            "Role",
            facts=[("statements", str(len(rows))), ("unresolved", str(len(self._policy.unresolved)))],
            text=repr(self),
            note=" ".join(f"{note}." for note in self._policy.notes),
            body=Markup("").join(parts),
        )
