"""The store: one database, migrated to the schema of this release."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from ..errors import StoreDamagedError, StoreError
from ..recovery import set_aside
from .agents import Agents
from .alerts import Alerts
from .call_figures import CallFigureQueries
from .call_search import CallSearch
from .credits import Credits
from .database import Database
from .eval_answers import EvalAnswers
from .eval_runs import EvalRuns
from .figures import FigureQueries
from .groups import AgentGroups
from .history import StoredHistory
from .invocations import Invocations
from .measurements import Measurements
from .releases import StoredReleases
from .schema import migrate
from .studies import Studies
from .tenancy import DEFAULT_TENANT, StoreIdentity
from .traces import StoredTraces


class Store:
    """The database of a workbench. Safe for several threads and processes.

    Examples:
        >>> with Store.open("sqlite:///loom.db") as store:
        ...     store.agents.list()

    Every method raises only Loom's errors: `StoreFullError` when the database cannot grow, `StoreTooNewError` when it
    opens the database of a later release, else `StoreError`.
    """

    def __init__(self, database: Database, identity: StoreIdentity) -> None:
        self._database = database
        self.identity = identity
        self.agents = Agents(database)
        self.invocations = Invocations(database)
        self.credits = Credits(database)
        self.studies = Studies(database)
        self.measurements = Measurements(database)
        self.traces = StoredTraces(database)
        self.eval_runs = EvalRuns(database)
        self.eval_answers = EvalAnswers(database)
        self.figures = FigureQueries(database)
        self.call_figures = CallFigureQueries(database)
        self.alerts = Alerts(database)
        self.releases = StoredReleases(database)
        self.groups = AgentGroups(database)
        self.call_search = CallSearch(database)
        self.history = StoredHistory(database, identity)

    @classmethod
    def open(cls, url: str, *, tenant: str = DEFAULT_TENANT, user: str = "", lock_timeout_s: float = 30.0) -> Store:
        """Open the store at a database URL; create or migrate it as needed.

        A new SQLite file and its folder are readable by the user only. A damaged file is set aside, and its readable
        rows are copied into a new one (`loomlib.recovery`).

        Args:
            url: An SQLAlchemy address, such as `sqlite:///loom.db`.
            tenant: The tenant whose rows the store reads and writes.
            user: The user whose rows it writes; empty if unknown.
            lock_timeout_s: Seconds to wait for the lock of another process.
        """
        identity = StoreIdentity(tenant=tenant, user=user)
        database = _open(url, lock_timeout_s)
        try:
            return cls(database, database.limit_to(identity))
        except BaseException:
            database.close()
            raise

    @property
    def url(self) -> str:
        """The database's address, with `***` for a password."""
        return self._database.place

    @property
    def is_administrators(self) -> bool:
        """Whether the store may show what other tenants use: its address is not a tenant's, and no tenant is named."""
        return not self._database.is_tenants_address and self.identity.tenant == DEFAULT_TENANT

    def close(self) -> None:
        """Close the connections; the store can be opened again."""
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Store({self.url!r})"


def _open(url: str, lock_timeout_s: float, *, attempts: int = 3) -> Database:
    database = Database(url, lock_timeout_s=lock_timeout_s)
    try:
        migrate(database)
    except BaseException as error:
        database.close()
        if attempts == 1 or not isinstance(error, StoreError):
            raise
        if database.is_recovered and database.file is not None:
            set_aside(database.file, f"the recovered data is incomplete: {error.what}")
        elif not isinstance(error, StoreDamagedError):
            raise
        # The schema is read here; if it is damaged, opening the file again recovers it.
        return _open(url, lock_timeout_s, attempts=attempts - 1)
    return database
