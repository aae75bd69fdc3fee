"""Calls of agents that speak another protocol than HTTP, as turns of the Test panel's conversation."""

# pyright: basic

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from loomlib import Agent

from ...kit import Form
from .conversing import Conversing
from .figures import figures_of

if TYPE_CHECKING:
    from loomlib.workbench.protocol_call import ProtocolCall

    from .turns import PanelTurn


class Calling(Conversing):
    """Calls that end as stored invocations."""

    _bearer: str

    def _agent_of(self, form: Form) -> Agent:
        self._bearer = form.text("bearer").strip()
        return self._agent(form.text("agent"), form.text("qualifier", "DEFAULT"))

    def _finish(
        self, agent: Agent, turn: PanelTurn, listen: Callable[[], ProtocolCall], *, shows_text: bool = True
    ) -> Mapping[str, Any]:
        """Wait for a call with `listen`; show its outcome as the turn's; without its text if that is shown already."""
        try:
            invocation = listen().invocation
            if shows_text and not turn.text:
                turn._add(invocation.text)
            turn.end(invocation)
            turn.figures = figures_of(invocation)
            if turn in self._turns:
                self._show_agent(agent.name, agent.qualifier, turn.session)
        except Exception:
            turn.status, turn.sentence = "error", "The request broke off."
            raise
        finally:
            self.send_message("ended", **turn.message())
        self._ended(agent, turn)
        return {"turn": turn.id}
