"""`%%agent`: send a cell's text to an agent.

    %load_ext loom_widgets

    %%agent calculator --to inv
    What is 15 * 37, add 42?

The answer is printed as it comes. The `Invocation` is the cell's value (`_`), or, with `--to`, that variable.
"""

# pyright: basic

from __future__ import annotations

import atexit
import sys
from typing import Any, Final

from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell
from IPython.core.magic import Magics, cell_magic, magics_class
from IPython.core.magic_arguments import argument, magic_arguments, parse_argstring

from loomlib import Agent, Chunk, Invocation, LoomError, Workbench, connect
from loomlib.presentation.formats import number
from loomlib.presentation.text import printable
from loomlib.workbench import find_or_deploy

LONGEST_SHOWN: Final = 200_000
"""Largest number of characters of an answer that a cell prints: the notebook stores them, and a page draws them."""


@magics_class
class AgentMagics(Magics):
    """The magics that `%load_ext loom_widgets` registers."""

    def __init__(self, shell: InteractiveShell) -> None:
        super().__init__(shell)
        self._own: Workbench | None = None
        self._last: dict[str, str] = {}

    @magic_arguments()
    @argument("name", help="an agent of the catalog, a blueprint (which is deployed), or a variable with an Agent")
    @argument("-s", "--session", default="", help="continue this session; `last` is that of the previous %%agent cell")
    @argument("-q", "--qualifier", default="", help="the endpoint to invoke (default: DEFAULT)")
    @argument("-b", "--bench", default="", help="the variable with the workbench (default: bench, else a local one)")
    @argument("-t", "--to", default="", help="put the Invocation into this variable instead of showing it")
    @cell_magic
    def agent(self, line: str, cell: str = "") -> Invocation | None:
        """Send the cell's text to an agent and print the answer as it arrives."""
        try:
            arguments = parse_argstring(self.agent, line)
        except UsageError as error:
            raise UsageError(f"{error}. Try: %%agent calculator; %%agent? shows the options") from None
        prompt = cell.strip("\n")
        if not prompt.strip():
            raise UsageError("The cell has no prompt. Try: write the question below the %%agent line")
        if arguments.to and not arguments.to.isidentifier():
            raise UsageError(f"--to {arguments.to} is not a variable name. Try: --to inv")
        try:
            agent = self._agent(arguments.name, arguments.bench)
            if arguments.qualifier:
                agent = agent.at(arguments.qualifier)
            answer = self._ask(agent, prompt, self._session(agent, arguments.session), arguments.to)
        except LoomError as error:
            raise UsageError(printable(str(error))) from None
        if not answer.ok:
            _say(f"{answer.failure}: {answer.error}")
        return None if arguments.to else answer

    def close(self) -> None:
        """Close the workbench that the magic opened, if any."""
        own, self._own = self._own, None
        if own is not None:
            own.close()

    def _ask(self, agent: Agent, prompt: str, session_id: str | None, variable: str) -> Invocation:
        stream = agent.stream(prompt, session_id=session_id)
        received = 0
        try:
            for event in stream:
                if isinstance(event, Chunk) and event.text:
                    if piece := event.text[: max(0, LONGEST_SHOWN - received)]:
                        _write(printable(piece))
                    received += len(event.text)
        finally:
            # Also when the cell is interrupted: the connection is closed, and the received part is stored.
            stream.close()
            if received:
                _write("\n")
            if received > LONGEST_SHOWN:
                rest = f"{number(received - LONGEST_SHOWN)} more characters are not shown"
                _say(f"{rest}; all of them are in {variable or '_'}.text")
            if stream.record is not None:
                answer = Invocation(stream.record, agent.context, agent.entry)
                self._last[str(agent.arn)] = answer.session_id
                if variable:
                    self._variables[variable] = answer
        return answer

    def _session(self, agent: Agent, session: str) -> str | None:
        if session != "last":
            return session or None
        if str(agent.arn) not in self._last:
            raise UsageError(f"No cell has asked {agent.name} before. Try: without --session")
        return self._last[str(agent.arn)]

    def _agent(self, name: str, variable: str) -> Agent:
        value = self._variables.get(name)
        if isinstance(value, Agent):
            return value
        agent, deployed = find_or_deploy(self._bench(variable), name)
        if deployed:
            _say(f"deployed {agent.name} → {agent.entry.runtime_id}")
        return agent

    def _bench(self, variable: str) -> Workbench:
        value = self._variables.get(variable or "bench")
        if isinstance(value, Workbench):
            return value
        if variable:
            raise UsageError(f"{variable} is not a workbench. Try: {variable} = loom.connect()")
        if self._own is None:
            self._own = connect()
            atexit.register(self.close)
        return self._own

    @property
    def _variables(self) -> dict[str, Any]:
        return self.shell.user_ns  # pyright: ignore[reportOptionalMemberAccess]


def _say(text: str) -> None:
    sys.stderr.write(f"loom  {printable(text)}\n")


def _write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()
