"""The store: one database, its tables, always at this release's schema."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from .agents import Agents
from .alerts import Alerts
from .database import Database
from .eval_answers import EvalAnswers
from .eval_runs import EvalRuns
from .figures import Figures
from .invocations import Invocations
from .measurements import Measurements
from .schema import bring_up_to_date
from .studies import Studies
from .traces import Traces


class Store:
    """What Loom remembers. Safe for threads and for several processes at once.

    >>> with Store.open("sqlite:///loom.db") as store:
    ...     store.agents.list()

    Every method raises only Loom's errors: `StoreFullError` when the database cannot grow, `StoreTooNewError` on opening one of
    a later release, else `StoreError`.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self.agents = Agents(database)
        self.invocations = Invocations(database)
        self.studies = Studies(database)
        self.measurements = Measurements(database)
        self.traces = Traces(database)
        self.eval_runs = EvalRuns(database)
        self.eval_answers = EvalAnswers(database)
        self.figures = Figures(database)
        self.alerts = Alerts(database)

    @classmethod
    def open(cls, url: str, *, lock_timeout_s: float = 30.0) -> Store:
        """The store at a database address, created or migrated as needed.

        A lock of another process is waited for `lock_timeout_s`. A new SQLite file and its folder are readable by the
        user only.
        """
        database = Database(url, lock_timeout_s=lock_timeout_s)
        try:
            bring_up_to_date(database)
        except BaseException:
            database.close()
            raise
        return cls(database)

    @property
    def url(self) -> str:
        """The database's address, a password shown as ***."""
        return self._database.place

    def close(self) -> None:
        """Closes the connections; the store can be opened again."""
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Store({self.url!r})"
