"""The Dask cluster that does the work, and the connection to its scheduler, with one clear error for each failure."""

from __future__ import annotations

import asyncio
import logging
import re
import warnings
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Final

from loomlib.errors import ClusterError, MissingExtraError

from .connection import ClusterConnection, check_versions

PROCESS: Final = "process"
"""The runner that works in this process."""

DASK: Final = "dask"
"""The runner that gives the work to a Dask cluster."""

_ADDRESS: Final = re.compile(r"(tcp|tls|ws|wss|ucx)://\S+:\d+")


@dataclass(frozen=True, slots=True, kw_only=True)
class DaskCluster:
    """A Dask cluster by the address of its scheduler.

    Examples:
        >>> agent.evaluate(evalset, dask=DaskCluster(address="tcp://scheduler:8786", batch=10))

    Attributes:
        address: The scheduler's address. With `tls://` the certificates are those of Dask's own configuration.
        batch: Cases in one task, run concurrently by one thread of a worker. Larger batches cost the scheduler
            less; a worker that is killed loses its unfinished ones.
        connect_timeout_s: Seconds to wait for the scheduler.
    """

    address: str
    batch: int = 1
    connect_timeout_s: float = 10.0

    def __post_init__(self) -> None:
        if not _ADDRESS.fullmatch(self.address):
            raise ValueError(f"a scheduler's address is like tcp://host:8786, not {self.address!r}")
        if self.batch < 1:
            raise ValueError(f"batch must be at least 1, not {self.batch}")

    @asynccontextmanager
    async def connected(
        self, *, at_once: int | None, report: Callable[[str], None]
    ) -> AsyncGenerator[ClusterConnection, None]:
        """Connect to the scheduler for the block; at its end, unfinished tasks are withdrawn.

        Args:
            at_once: The maximum number of units given to the cluster at once; None for twice what its threads can do.
            report: Receives what the connection waits for, and "" when it continues.

        Raises:
            MissingExtraError: `distributed` is not installed.
            ClusterError: The scheduler cannot be reached, or it or a worker has another version of Python or Dask.
        """
        try:
            from distributed import Client
        except ModuleNotFoundError as error:
            raise MissingExtraError(
                "Dask is not installed", on=str(error.name), try_="pip install 'loomlib[dask]'"
            ) from error
        report(f"connecting to {self.address}")
        client: Any = Client(
            self.address, asynchronous=True, timeout=self.connect_timeout_s, set_as_default=False, name="loom"
        )
        try:
            # The same mismatch is an error below, with what to do; Dask only warns and then fails somewhere else.
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                await client
                versions = await client.get_versions()
        except (OSError, TimeoutError) as error:
            with suppress(OSError, TimeoutError):
                await client.close(timeout=1)
            raise ClusterError(
                "The Dask scheduler cannot be reached",
                on=self.address,
                try_="start it (`dask scheduler`), or correct the address; a firewall must let this machine and every "
                "worker reach it",
            ) from error
        connection = ClusterConnection(client, self.address, batch=self.batch, at_once=at_once, report=report)
        with _quiet_client():
            try:
                check_versions(versions, self.address)
                async with connection:
                    yield connection
            finally:
                with suppress(OSError, TimeoutError, asyncio.TimeoutError):
                    await client.close()


def chosen_cluster(runner: str, dask: DaskCluster | str | None) -> DaskCluster | None:
    """Return the cluster that does the work; None for this process.

    Args:
        runner: "process" or "dask".
        dask: The cluster, or the address of its scheduler, which alone is enough to choose the runner "dask".

    Raises:
        ValueError: The runner is unknown, or "dask" without an address.
    """
    if runner not in (PROCESS, DASK):
        raise ValueError(f'runner must be "process" or "dask", not {runner!r}')
    if dask is None:
        if runner == DASK:
            raise ValueError('runner="dask" needs the scheduler: dask="tcp://host:8786"')
        return None
    return DaskCluster(address=dask) if isinstance(dask, str) else dask


@contextmanager
def _quiet_client() -> Generator[None, None, None]:
    """Silence the log of Dask's client for the block: the run itself reports that the scheduler ended."""
    logger = logging.getLogger("distributed.client")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(level)
