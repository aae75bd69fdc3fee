"""Credit that a load test reserves from its tenant: an amount for each call of a step, before the step sends any.

The engine's processes do not store the calls that they make, so credit is charged for a whole step. The study records
the reservation: a step that was stopped or killed reserves nothing twice when it continues.
"""

from __future__ import annotations

from typing import Any

from loomlib.errors import CreditsUsedUpError
from loomlib.experiments import StudyLedger
from loomlib.store import Store


class StepCredit:
    """The credit of one step's calls; without effect for a tenant whose credit is unlimited.

    Args:
        store: The store of the tenant's credit.
        ledger: The study.
        position: The step's place.

    Attributes:
        sent_before: Number of the step's calls for which credit was reserved before it was interrupted.
    """

    def __init__(self, store: Store, ledger: StudyLedger, position: int) -> None:
        self._store, self._ledger, self._name = store, ledger, str(position)
        self.sent_before = int(self._stored_step().get("calls", 0))

    def hold(self, calls: int, fewest: int, *, opening: int = 0) -> int:
        """Reserve credit, and return how many of the step's calls it covers.

        Args:
            calls: The most calls that the step may make, those before an interruption included.
            fewest: Number of calls that must be covered for the step to continue.
            opening: Calls that open sessions before the step. Their credit is reserved separately and not released.

        Raises:
            CreditsUsedUpError: The remaining credit covers fewer calls; nothing is reserved then.
        """
        apart = self._store.credits.hold(opening, fewest=opening) if opening else None
        try:
            return self._hold(calls, fewest)
        except CreditsUsedUpError:
            if apart is not None:
                self._store.credits.release(apart.picos)
            raise

    def _hold(self, calls: int, fewest: int) -> int:
        record = self._stored_step()
        before = int(record.get("calls", 0))
        if calls <= before:
            return calls
        hold = self._store.credits.hold(calls - before, fewest=max(1, fewest - before))
        if hold is None:
            return calls
        self._keep(before + hold.calls, int(record.get("picos", 0)) + hold.picos)
        return before + hold.calls

    def settle(self, sent_calls: int) -> None:
        """Release the credit of the calls that were not sent; the calls that were sent keep theirs.

        Args:
            sent_calls: How many calls of the step were sent.
        """
        record = self._stored_step()
        calls, picos = int(record.get("calls", 0)), int(record.get("picos", 0))
        if sent_calls < calls:
            rest = picos * (calls - sent_calls) // calls
            self._store.credits.release(rest)
            self._keep(sent_calls, picos - rest)

    def _all(self) -> dict[str, Any]:
        return dict(self._ledger.stored.environment.get("credit", {}))

    def _stored_step(self) -> dict[str, Any]:
        return self._all().get(self._name, {})

    def _keep(self, calls: int, picos: int) -> None:
        noted = {**self._all(), self._name: {"calls": calls, "picos": picos}}
        self._ledger.save(self._ledger.stored.state, credit=noted)
