"""An A/B test of two versions behind one endpoint, as notebooks use it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..agents import AgentEntry, EventStream, new_session_id
from ..errors import LoomError
from ..evals.registry import Choice
from ..evals.runs import EvalRun
from ..presentation.formats import number, percent, plural
from ..presentation.html import card, fragment
from ..presentation.text import printable, text_table
from ..releases.ab_analysis import analyze
from ..releases.ab_design import AbDesign
from ..releases.ab_result import AB_COLUMNS, AbResult
from ..releases.ab_tests import AbTests
from ..store import AbTestRow
from .context import Context
from .frames import rows_frame
from .invocation import Invocation
from .wait_line import WaitLine

if TYPE_CHECKING:
    import pandas as pd

    from .ab_target import AbTarget


class AbTest:
    """An A/B test; returned by `agent.releases.start_ab_test("prod", {3: 0.9, 4: 0.1}, sessions=400)`.

        test.invoke("What is 2+2?", session_id=session)    # sent to the version assigned to the session
        test.result()

    Args:
        context: The workbench's resources.
        entry: The agent.
        tests: The agent's tests.
        row: The test as it is stored.
        refresh: Refreshes the agent in the catalog after its endpoints changed.
    """

    def __init__(
        self, context: Context, entry: AgentEntry, tests: AbTests, row: AbTestRow, refresh: Callable[[], object]
    ) -> None:
        self._context, self._entry, self._tests, self._row, self._refresh = context, entry, tests, row, refresh
        self.design = AbDesign.read(row.id, row.design)

    @property
    def id(self) -> str:
        """The test's id."""
        return self.design.id

    @property
    def state(self) -> str:
        """`running` or `stopped`."""
        return self._row.state

    def route(self, session_id: str) -> str:
        """Return the endpoint (the `qualifier`) to send a session to, and store that the session takes part.

        A session always gets the same endpoint. `test.design.arm_of(session_id)` gives the same result without storing
        it; its docstring has the formula, for clients in other languages.

        Args:
            session_id: The runtime session.

        Raises:
            LoomError: The test has ended.
        """
        if self.state != "running":
            raise LoomError("The A/B test has ended", on=self.id, try_=f'agent.at("{self.design.endpoint}").invoke(…)')
        return self._tests.route(self.design, session_id).endpoint

    def invoke(
        self,
        prompt: str | None = None,
        *,
        payload: Mapping[str, Any] | bytes | None = None,
        session_id: str | None = None,
        timeout_s: float | None = None,
        bearer: str | None = None,
    ) -> Invocation:
        """Send a prompt to the version assigned to the session, as `agent.invoke` does.

        Args:
            prompt: Sent as `{"prompt": prompt}`.
            payload: Sent instead: a mapping as JSON, or bytes unchanged.
            session_id: The runtime session, which decides the version; a new one by default.
            timeout_s: Seconds without a byte after which the request fails; the settings' by default.
            bearer: A token that the runtime's authorizer accepts, sent instead of a signature.

        Raises:
            LoomError: The test has ended.
        """
        session = session_id or new_session_id()
        record = self._context.invoker.invoke(
            self._entry,
            prompt,
            payload=payload,
            session_id=session,
            qualifier=self.route(session),
            timeout_s=timeout_s,
            bearer=bearer,
            labels=self._context.labels,
        )
        return Invocation(record, self._context, self._entry)

    def stream(self, prompt: str | None = None, *, session_id: str | None = None) -> EventStream:
        """Send a prompt to the version assigned to the session, and iterate over the answer as it arrives.

        Args:
            prompt: Sent as `{"prompt": prompt}`.
            session_id: The runtime session, which decides the version; a new one by default.

        Raises:
            LoomError: The test has ended.
        """
        session = session_id or new_session_id()
        return self._context.invoker.stream(
            self._entry, prompt, session_id=session, qualifier=self.route(session), labels=self._context.labels
        )

    def target(self) -> AbTarget:
        """Return the test as the target of an evaluation: `run = loom.evaluate(test.target(), evalset, ["exact"])`.

        Each case runs in its own session, and `test.result(run)` compares the versions' scores.

        Raises:
            LoomError: The agent speaks MCP or A2A.
        """
        from .ab_target import AbTarget
        from .eval_target import AgentTarget

        if self._entry.protocol in ("MCP", "A2A"):
            raise LoomError(
                f"A/B tests of agents that speak {self._entry.protocol} cannot be evaluated",
                on=self._entry.name,
                try_="test.route(session_id) with a client of the protocol",
            )
        entry = self._context.catalog.refresh(self._entry)
        targets = {arm.endpoint: AgentTarget(self._context, entry, arm.endpoint) for arm in self.design.arms}
        return AbTarget(targets, self.route, f"{entry.name} ({self.design.endpoint}, A/B test)")

    def result(self, *runs: EvalRun, evaluators: Sequence[Choice] = ()) -> AbResultView:
        """Compare the versions by scores, failures, latency and cost; each session counts once.

        Only the first sessions are evaluated, up to the planned number. Until that number is reached, nothing is
        decided, and the result says so.

        Args:
            *runs: Evaluations of `test.target()`, for their scores.
            evaluators: Evaluators, or their names, that score the stored conversations: those that need no expected
                answer. A conversation with a failed request has no score.
        """
        from .ab_scores import conversation_scores, run_scores

        store = self._context.store
        arms = store.releases.sessions(self.id)
        moved = [f"{one.name} was changed to version {one.version}" for one in self._tests.moved(self.design)]
        notes = [f"After the test was started, {' and '.join(moved)}."] if moved and self.state == "running" else []
        calls = store.releases.calls(self.id, self._entry.id)
        scores = run_scores(runs)
        if evaluators:
            planned = list(arms)[: self.design.sessions]
            scores |= conversation_scores(self._context, self._entry, planned, calls, evaluators)
        result = analyze(self.design, arms, calls, scores, notes=notes)
        return AbResultView(result, self._entry.name, self._context.labels)

    def stop(self, *, promote: str | int | None = None, progress: Callable[[str], None] | None = None) -> AbTest:
        """End the test and delete the endpoint that was created for it.

        Args:
            promote: The version that the endpoint serves from now on; by default the one that it served before.
            progress: Called with a line at each step; displayed in the notebook by default.

        Raises:
            LoomError: The version is neither of the two; or the test had ended, and its endpoints now belong to another
                test, or serve another version.
        """
        chosen = None if promote is None else str(promote)
        self._row = self._tests.stop(self.design, promote=chosen, progress=progress or WaitLine())
        self._refresh()
        return self

    def __repr__(self) -> str:
        arms = ", ".join(f"version {arm.version} {percent(arm.share)}" for arm in self.design.arms)
        session_count = number(self._context.store.releases.count_sessions(self.id))
        planned = plural(self.design.sessions, "session")
        return f"<A/B test {self.id} behind {self.design.endpoint}: {arms}, {session_count} of {planned}, {self.state}>"

    def _repr_html_(self) -> str:
        session_count = number(self._context.store.releases.count_sessions(self.id))
        facts = [
            *(
                (arm.name, f"version {arm.version} at {arm.endpoint}, {percent(arm.share)} of the sessions")
                for arm in self.design.arms
            ),
            ("sessions", f"{session_count} of {number(self.design.sessions)} planned"),
            ("invoke", 'test.invoke("…", session_id=…)'),
        ]
        state = ("wait" if self.state == "running" else "good", self.state)
        title = f"{self._entry.name} · A/B test {self.id}"
        return card(title, state=state, labels=self._context.labels, facts=facts)


class AbResultView:
    """The result of an A/B test; returned by `test.result()`.

    Args:
        value: The result.
        agent_name: The agent's name.
        labels: Provenance labels.
    """

    def __init__(self, value: AbResult, agent_name: str, labels: Sequence[str]) -> None:
        self.value, self._agent_name, self._labels = value, agent_name, tuple(labels)

    @property
    def is_early(self) -> bool:
        """Whether fewer sessions have joined than were planned, so that nothing is decided yet."""
        return self.value.is_early

    def sentence(self) -> str:
        """Return the outcome in one or two sentences."""
        return self.value.sentence()

    def table(self) -> pd.DataFrame:
        """Return the figures, one row each, with intervals and p-values as text."""
        return rows_frame(self.value.rows(), AB_COLUMNS)

    def to_dict(self) -> dict[str, Any]:
        """Return the result as JSON-ready values."""
        return {"agent": self._agent_name, "labels": list(self._labels), **self.value.to_dict()}

    def __repr__(self) -> str:
        rows = [[str(value) for value in row.values()] for row in self.value.rows()]
        notes = [f"- {note}" for note in self.value.notes]
        table = text_table(AB_COLUMNS, rows)
        return printable("\n".join([f"{self._agent_name}: {self.sentence()}", table, *notes, " · ".join(self._labels)]))

    def _repr_html_(self) -> str:
        value = self.value
        return fragment(
            "loomlib.workbench:ab_result.html.j2",
            title=f"{self._agent_name} · A/B test {value.design.id}",
            labels=self._labels,
            sentence=self.sentence(),
            head=AB_COLUMNS,
            rows=[list(row.values()) for row in value.rows()],
            notes=value.notes,
        )
